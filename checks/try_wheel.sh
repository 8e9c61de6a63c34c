#!/usr/bin/env bash
# What a newcomer does with an installed dxgeom, away from its source: checks an example, plans, releases, verifies.
set -euo pipefail
dxgeom=$(realpath "$1")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -r "$(dirname "$0")/../policies" "$place"
cd "$place"
clinic=policies/clinic
"$dxgeom" --version
"$dxgeom" check $clinic/policy.yaml
"$dxgeom" plan $clinic/policy.yaml $clinic/queries.yaml
"$dxgeom" release $clinic/policy.yaml $clinic/patients.csv $clinic/queries.yaml --ledger clinic.db --spend 0.5
printf '0,1,2\n1,0,1\n2,1,0\n' > distances.csv
"$dxgeom" verify distances.csv
