"""What selections picked, one candidate or the best few, and how far from the best each can be."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.selection.selections import Selection
from dxgeom.mechanisms.selection.top import TopSelection
from dxgeom.planner.answers.answer_table import Columns
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.tasks.questions import SelectTask
from dxgeom.universe.workloads.groups import AnswerOrigin
from dxgeom.wording.numbers import brief

PICKED = "picked"
NO_SCORE = Unknown(
    "a selection tells which candidate it picked, and no score", "shortfall() says how far from the best it can be"
)


class Selected(ShownAnswers):
    """What was picked of the candidates that were asked about, at a spend; a subclass is a dataclass of these
    fields."""

    no_numbers = no_bars = no_rmse = no_biases = NO_SCORE

    question: SelectTask
    mechanism: Selection | TopSelection
    spent: Fraction

    @property
    @abstractmethod
    def each_place(self) -> tuple[int, ...]:
        """Where those that were picked are among the candidates, the best first."""

    @property
    def each_picked(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(self.question.each_label[place] for place in self.each_place)

    @property
    def unit(self) -> str | None:
        """What the scores are measured in, None where nobody says."""
        return self.question.candidates.measures[0] if self.question.candidates.measures else None

    def shortfall(self, level: float = 0.95) -> float:
        """With probability *at least* ``level`` each score is above the best for its place less this; whatever the
        data, and for all places at once."""
        return self.mechanism.shortfall(level, self.spent)

    @property
    def question_fingerprint(self) -> str:
        return self.question.fingerprint

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        return tuple(self.question.candidates.each_origin[place] for place in self.each_place)

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """A row for each: the candidate, and how far from the best for its place it can be."""
        del joint
        if query not in (None, PICKED):
            raise UnsupportedCombination(f"a selection has one answer, '{PICKED}'; found {query!r}")
        rows = len(self.each_place)
        return {
            "query": [PICKED] * rows,
            "name": list(self.each_picked),
            "shortfall": [self.shortfall(level)] * rows,
            "candidates": [self.question.candidates.count] * rows,
            "unit": [self.unit] * rows,
        }

    @property
    def _below(self) -> str:
        return f"{'' if self.unit is None else f' {self.unit}'} below the best"


@final
@dataclass(frozen=True, eq=False)
class SelectedCandidate(Selected):
    """What a selection answered: the candidate at a ``place`` of those that were asked for.

    With a stated probability its score is at most :meth:`shortfall` below the best one.
    """

    question: SelectTask = field(repr=False)
    mechanism: Selection = field(repr=False)
    place: int
    spent: Fraction

    @property
    def each_place(self) -> tuple[int, ...]:
        return (self.place,)

    @property
    def picked(self) -> str:
        """What the candidate is called."""
        return self.each_picked[0]

    @property
    def by_name(self) -> Mapping[str, str]:
        return {PICKED: self.picked}

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        below = f"{brief(self.shortfall(level))}{self._below}"
        return (("error", f"proved: at {level * 100:g} % its score is less than {below}"),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint
        return {
            "picked": self.picked,
            "place": self.place,
            "query": self.question.candidates.names[self.place],
            "candidates": self.question.candidates.count,
            "law": self.mechanism.name,
            "unit": self.unit,
            "shortfall": {"level": float(level), "at_most": self.shortfall(level), "kind": "proved"},
        }


@final
@dataclass(frozen=True, eq=False)
class SelectedFew(Selected):
    """What a selection of several answered: the candidates at these ``places`` of those asked for, the best first.

    With a stated probability, for all at once, each has a score at most :meth:`shortfall` below the best for its place.
    """

    question: SelectTask = field(repr=False)
    mechanism: TopSelection = field(repr=False)
    places: tuple[int, ...]
    spent: Fraction

    @property
    def each_place(self) -> tuple[int, ...]:
        return self.places

    @property
    def picked(self) -> tuple[str, ...]:
        """What the candidates are called, the best first."""
        return self.each_picked

    @property
    def by_name(self) -> Mapping[str, tuple[str, ...]]:
        return {PICKED: self.picked}

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        below, at_once = f"{brief(self.shortfall(level))}{self._below}", f"at {level * 100:g} %, for all places at once"
        return (("error", f"proved: {at_once}, each score is less than {below} for its place"),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint
        return {
            "picked": list(self.picked),
            "places": list(self.places),
            "queries": [self.question.candidates.names[place] for place in self.places],
            "candidates": self.question.candidates.count,
            "law": self.mechanism.law,
            "unit": self.unit,
            "shortfall": {"level": float(level), "at_most": self.shortfall(level), "kind": "proved", "joint": True},
        }
