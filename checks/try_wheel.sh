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
# What the demo does, on the command line: a plan, a rehearsal, a release, the ledger, and the answers once more.
"$dxgeom" plan us-cities/policy.yaml us-cities/queries.yaml --spend 0.25 --output us-cities-plan.json
"$dxgeom" release us-cities-plan.json --rehearse > rehearsal.txt
"$dxgeom" release us-cities-plan.json us-cities/people.csv --count-column residents --ledger us-cities.db --id demo
"$dxgeom" ledger show us-cities.db
"$dxgeom" explain us-cities/policy.yaml 0 1
"$dxgeom" examples clinic
"$dxgeom" plan clinic/policy.yaml clinic/queries.yaml
"$dxgeom" report clinic/policy.yaml clinic/queries.yaml --spend 0.5 -o report.html
"$dxgeom" release clinic/policy.yaml clinic/patients.csv clinic/queries.yaml --ledger clinic.db --spend 0.5
"$dxgeom" init clinic/patients.csv --one-row-each --values gender=M,F --values native=Yes,No --public-values age -o mine.yaml
"$dxgeom" check mine.yaml --table clinic/patients.csv
"$dxgeom" --show-completion bash | grep -q dxgeom
# Without an extra, one sentence says how to install it.
"$(dirname "$dxgeom")/python" - <<'PYTHON'
import dxgeom as dx
policy = dx.load_policy("clinic/policy.yaml")
plan = dx.plan(policy.compile(), dx.load_queries("clinic/queries.yaml", policy))
try:
    plan.plot()
    raise SystemExit("a picture was drawn without matplotlib")
except dx.DxgeomError as error:
    print(error)
PYTHON
printf '0,1,2\n1,0,1\n2,1,0\n' > distances.csv
"$dxgeom" verify distances.csv
