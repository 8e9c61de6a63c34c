#!/usr/bin/env bash
# What a newcomer does with an installed dxgeom, away from its source: writes an example, checks, plans, reports, releases,
# verifies, and begins with a table of their own.
set -euo pipefail
dxgeom=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
"$dxgeom" --version
"$dxgeom" examples > examples.txt
"$dxgeom" examples us-cities
"$dxgeom" check us-cities/policy.yaml
"$dxgeom" examples clinic
"$dxgeom" plan clinic/policy.yaml clinic/queries.yaml
"$dxgeom" report clinic/policy.yaml clinic/queries.yaml --spend 0.5 -o report.html
"$dxgeom" release clinic/policy.yaml clinic/patients.csv clinic/queries.yaml --ledger clinic.db --spend 0.5
"$dxgeom" init clinic/patients.csv --values gender=M,F --values native=Yes,No --public-values age -o mine.yaml
"$dxgeom" check mine.yaml
printf '0,1,2\n1,0,1\n2,1,0\n' > distances.csv
"$dxgeom" verify distances.csv
