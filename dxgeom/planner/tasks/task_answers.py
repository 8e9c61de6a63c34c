"""What several tasks answered in one release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from dxgeom.errors import UnsupportedCombination
from dxgeom.planner.answers.answer_table import Columns
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.columns import plain
from dxgeom.universe.tasks.tasks import Tasks
from dxgeom.universe.wording import did_you_mean, shown
from dxgeom.universe.workloads.groups import AnswerOrigin

TASK = "task"


@final
@dataclass(frozen=True, eq=False)
class TaskAnswers(ShownAnswers):
    """What each task answered, in the order of the file, at its share of the spend."""

    no_numbers = no_bars = no_rmse = no_biases = no_law = not_to_agree = Unknown(
        "several tasks have answers of several kinds", "take those of one of them by its name, release['its name']"
    )

    tasks: Tasks = field(repr=False)
    answers: tuple[ShownAnswers, ...]
    spent: Fraction

    @property
    def asked_fingerprint(self) -> str:
        return self.tasks.fingerprint

    @property
    def by_name(self) -> Mapping[str, ShownAnswers]:
        """The answers of each task by its name."""
        return dict(zip(self.tasks.names, self.answers, strict=True))

    def __getitem__(self, name: str) -> ShownAnswers:
        """The answers of the task of that name.

        Raises: UnsupportedCombination where there is none.
        """
        found = self.by_name.get(name)
        if found is None:
            advice = did_you_mean(str(name), self.tasks.names)
            raise UnsupportedCombination(f"no task is called {shown(str(name))}" + (f"; {advice}" if advice else ""))
        return found

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        return tuple(map(AnswerOrigin, self.tasks.names))

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """The table of one task, or, where none is named, those of all, one below the other: a first column names the
        task, and a cell is empty where a task has no such column.

        Args: ``query``: the name of a task.
        Raises: UnsupportedCombination for an unknown task.
        """
        if query is not None:
            return self[query].columns(level, joint=joint)
        tables = [answers.columns(level, joint=joint) for answers in self.answers]
        titles = dict.fromkeys(title for table in tables for title in table)
        lengths = [len(table["name"]) for table in tables]
        each = [*zip(self.tasks.names, tables, lengths, strict=True)]
        return {
            TASK: [name for name, _, length in each for _ in range(length)],
            **{
                title: _alike([cell for _, table, length in each for cell in table.get(title, [None] * length)])
                for title in titles
            },
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        each = zip(self.tasks.parts, self.answers, strict=True)
        return tuple(
            f"'{part.name}', at its share {plain(part.share)}: {warning}"
            for part, answers in each
            for warning in answers.warnings
        )

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        return {
            "tasks": [
                {
                    "name": part.name,
                    "kind": part.asked.word,
                    "share": str(part.share),
                    "spent": str(part.share * self.spent),
                    **answers.document(level, joint=joint),
                }
                for part, answers in zip(self.tasks.parts, self.answers, strict=True)
            ]
        }


def _alike(cells: list[Any]) -> list[Any]:
    """Cells of one column: all as text where words are among them."""
    if any(isinstance(cell, str) for cell in cells):
        return [cell if cell is None else str(cell) for cell in cells]
    return cells
