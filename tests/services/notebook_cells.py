"""The cells of a notebook from a policy to a release; `{folder!r}` stands for the example's folder."""

from __future__ import annotations

CELLS = [
    "import dxgeom as dx\nfrom pathlib import Path\nfolder = Path({folder!r})",
    "policy = dx.load_policy(folder / 'policy.yaml')\npolicy",
    "metric = policy.compile()\nmetric",
    "queries = dx.load_queries(folder / 'queries.yaml', policy)\n"
    "plan = dx.plan(metric, queries, progress=dx.report.ProgressLine('planning'))\nplan",
    "plan.plot();",
    "release = plan.release(folder / 'patients.csv', ledger='clinic.db', spend='1/4')\nrelease",
    "metric.certificate",
]
