"""Plan files of every kind of question and noise, as they stand in the golden files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from dxgeom.plan_files.loading import load_plan

PLANS = Path(__file__).parents[1] / "golden" / "kinds" / "plans"


def plan_names(*beginnings: str) -> list[str]:
    """Of those whose names begin so, or of all."""
    return [path.stem for path in sorted(PLANS.glob("*.json")) if path.stem.startswith(beginnings or ("",))]


@cache
def loaded_plan(name: str):
    """The plan of a file, proved as it is read."""
    return load_plan(PLANS / f"{name}.json")
