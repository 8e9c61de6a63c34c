"""The candidate that a selection picked, and how far from the best it can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.selection.selections import Selection
from dxgeom.planner.answers.answer_table import Columns
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.tasks.asked import SelectTask
from dxgeom.universe.workloads.groups import AnswerOrigin
from dxgeom.wording.numbers import brief

PICKED = "picked"
NO_SCORE = Unknown(
    "a selection tells which candidate it picked, and no score", "shortfall() says how far from the best it can be"
)


@final
@dataclass(frozen=True, eq=False)
class SelectedCandidate(ShownAnswers):
    """What a selection answered: the candidate at a ``place`` of those that were asked for.

    With a stated probability its score is at most :meth:`shortfall` below the best one.
    """

    no_numbers = no_bars = no_rmse = no_biases = NO_SCORE

    asked: SelectTask = field(repr=False)
    mechanism: Selection = field(repr=False)
    place: int
    spent: Fraction

    @property
    def picked(self) -> str:
        """What the candidate is called."""
        return self.asked.each_label[self.place]

    @property
    def unit(self) -> str | None:
        """What the scores are measured in, None where nobody says."""
        return self.asked.candidates.measures[0] if self.asked.candidates.measures else None

    def shortfall(self, level: float = 0.95) -> float:
        """With probability *at least* ``level`` the score is above the best score less this; whatever the data."""
        return self.mechanism.shortfall(level, self.spent)

    @property
    def asked_fingerprint(self) -> str:
        return self.asked.fingerprint

    @property
    def by_name(self) -> Mapping[str, str]:
        return {PICKED: self.picked}

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        return (self.asked.candidates.each_origin[self.place],)

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """One row: the candidate, and how far from the best it can be."""
        del joint
        if query not in (None, PICKED):
            raise UnsupportedCombination(f"a selection has one answer, '{PICKED}'; found {query!r}")
        return {
            "query": [PICKED],
            "name": [self.picked],
            "shortfall": [self.shortfall(level)],
            "candidates": [self.asked.candidates.count],
            "unit": [self.unit],
        }

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        below = f"less than {brief(self.shortfall(level))}{'' if self.unit is None else f' {self.unit}'} below the best"
        return (("error", f"proved: at {level * 100:g} % its score is {below}"),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint
        return {
            "picked": self.picked,
            "place": self.place,
            "query": self.asked.candidates.names[self.place],
            "candidates": self.asked.candidates.count,
            "law": self.mechanism.name,
            "unit": self.unit,
            "shortfall": {"level": float(level), "at_most": self.shortfall(level), "kind": "proved"},
        }
