"""The candidates that a selection of several picked, and how far from the best for its place each can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.selection.top import TopSelection
from dxgeom.planner.answers.answer_table import Columns
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.tasks.selected import NO_SCORE, PICKED
from dxgeom.universe.tasks.asked import SelectTask
from dxgeom.universe.workloads.groups import AnswerOrigin
from dxgeom.wording.numbers import brief


@final
@dataclass(frozen=True, eq=False)
class SelectedFew(ShownAnswers):
    """What a selection of several answered: the candidates at these ``places`` of those asked for, the best first.

    With a stated probability, for all at once, each has a score at most :meth:`shortfall` below the best for its place.
    """

    no_numbers = no_bars = no_rmse = no_biases = NO_SCORE

    asked: SelectTask = field(repr=False)
    mechanism: TopSelection = field(repr=False)
    places: tuple[int, ...]
    spent: Fraction

    @property
    def picked(self) -> tuple[str, ...]:
        """What the candidates are called, the best first."""
        return tuple(self.asked.each_label[place] for place in self.places)

    @property
    def unit(self) -> str | None:
        """What the scores are measured in, None where nobody says."""
        return self.asked.candidates.measures[0] if self.asked.candidates.measures else None

    def shortfall(self, level: float = 0.95) -> float:
        """With probability *at least* ``level``, for all places: each score is above the best for it less this."""
        return self.mechanism.shortfall(level, self.spent)

    @property
    def asked_fingerprint(self) -> str:
        return self.asked.fingerprint

    @property
    def by_name(self) -> Mapping[str, tuple[str, ...]]:
        return {PICKED: self.picked}

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        return tuple(self.asked.candidates.each_origin[place] for place in self.places)

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """A row for each place: the candidate, and how far from the best for the place it can be."""
        del joint
        if query not in (None, PICKED):
            raise UnsupportedCombination(f"a selection has one answer, '{PICKED}'; found {query!r}")
        rows = len(self.places)
        return {
            "query": [PICKED] * rows,
            "name": list(self.picked),
            "shortfall": [self.shortfall(level)] * rows,
            "candidates": [self.asked.candidates.count] * rows,
            "unit": [self.unit] * rows,
        }

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        below = f"{brief(self.shortfall(level))}{'' if self.unit is None else f' {self.unit}'} below the best"
        at_once = f"at {level * 100:g} %, for all places at once"
        return (("error", f"proved: {at_once}, each score is less than {below} for its place"),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint
        return {
            "picked": list(self.picked),
            "places": list(self.places),
            "queries": [self.asked.candidates.names[place] for place in self.places],
            "candidates": self.asked.candidates.count,
            "law": self.mechanism.law,
            "unit": self.unit,
            "shortfall": {"level": float(level), "at_most": self.shortfall(level), "kind": "proved", "joint": True},
        }
