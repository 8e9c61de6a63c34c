"""Draws the guides' pictures of example policies anew: ``python docs/guide/pictures/draw.py [FOLDER]``."""

from __future__ import annotations

import itertools
import runpy
import sys
import tempfile
from pathlib import Path

import dxgeom as dx

HERE = Path(__file__).parent
POLICIES = HERE.parents[2] / "policies"
WIDTH = 6.4
GALLERY = {"library-loans": "subject", "mobility": "mast"}
"""One attribute of further examples."""


def draw(folder: Path) -> list[Path]:
    """All of them; answers are drawn with a fixed seed, of made-up people."""
    stays, _, plan = _planned("hospital-stays", 304)
    _, _, counts = _planned("clinic", None)
    districts = dx.load_policy(POLICIES / "districts" / "policy.yaml")
    with tempfile.TemporaryDirectory() as made:
        ledger = Path(made) / "stays.db"
        answers = plan.release(
            POLICIES / "hospital-stays" / "stays.csv", ledger=ledger, spend="0.5", insecure_test_seed=1
        )
    first, second = counts.queries.names[:2]
    gallery = [
        dx.report.save(dx.load_policy(POLICIES / name / "policy.yaml"), folder / f"{name}.svg", attribute, width=WIDTH)
        for name, attribute in GALLERY.items()
    ]
    others = (runpy.run_path(str(HERE / name))["draw"](folder) for name in ("steps.py", "figures.py"))
    return [
        *gallery,
        *itertools.chain.from_iterable(others),
        dx.report.save(stays, folder / "pairs-of-diagnoses.svg", "diagnosis", width=WIDTH),
        dx.report.save(stays, folder / "right-guesses.svg"),
        dx.report.save(districts, folder / "districts.svg", "district", width=WIDTH),
        dx.report.save(counts, folder / "noise-of-two-answers.svg", first, second),
        dx.report.save(plan, folder / "smaller-errors.svg", width=8.0),
        dx.report.save(answers, folder / "answers-with-bars.svg", width=8.0),
    ]


def _planned(name: str, records: int | None) -> tuple[dx.Policy, dx.LinearQueries, dx.Plan]:
    policy = dx.load_policy(POLICIES / name / "policy.yaml")
    queries = dx.load_queries(POLICIES / name / "queries.yaml", policy, records)
    return policy, queries, dx.plan(policy.compile(), queries)


if __name__ == "__main__":
    for path in draw(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(path.name)
