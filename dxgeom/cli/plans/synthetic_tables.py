"""Synthetic records as a file: which task makes them, and what the file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dxgeom.errors import UnsupportedCombination

if TYPE_CHECKING:
    from dxgeom.planner.release import Release

SUFFIXES = (".csv", ".parquet")
"""How the names of files end that hold a table of records; a release as JSON goes into any other."""
KINDS = ("synthesize", "small_database")
"""The kinds of tasks that make records."""


def is_table(target: Path | None) -> bool:
    """Whether a file is to hold records."""
    return target is not None and target.suffix.lower() in SUFFIXES


def task_of_records(plan: Any, target: Path) -> str:
    """The name of the task whose records the file is to hold.

    Raises: UnsupportedCombination unless there is just one.
    """
    from dxgeom.planner.tasks.task_plan import TaskPlan

    parts = plan.tasks.parts if isinstance(plan, TaskPlan) else ()
    names = [part.name for part in parts if part.asked.word in KINDS]
    if len(names) == 1:
        return str(names[0])
    found = f"found {', '.join(map(repr, names))}" if names else "and here none does"
    raise UnsupportedCombination(
        f"{target} is a table of synthetic records: one task makes them ({' or '.join(KINDS)}), {found}; a release is "
        "written as JSON into a file that ends in .json"
    )


def records_of(released: Release[Any], task: str, target: Path) -> bytes:
    """The content of the file."""
    return content(released.answer[task].record_columns, target)


def content(columns: dict[str, list[Any]], target: Path) -> bytes:
    """Records as columns, as the file is to hold them."""
    from dxgeom.engines.results.table_files import table_bytes

    return table_bytes(columns, ".csv" if target.suffix.lower() == ".csv" else ".parquet")
