"""What selections picked, one candidate or the best few, and how far from the best each can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from dxgeom.mechanisms.selection.selections import Selection
from dxgeom.mechanisms.selection.top import TopSelection
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.tasks.questions import SelectTask
from dxgeom.universe.workloads.groups import AnswerOrigin
from dxgeom.wording.numbers import brief

PICKED = "picked"
NO_SCORE = Unknown(
    "a selection tells which candidate it picked, and no score", "shortfall() says how far from the best it can be"
)


@final
@dataclass(frozen=True, eq=False)
class Selected(ShownAnswers):
    """What was picked of the candidates that were asked about, at a spend; ``places``: where they are among these, the
    best first.

    With a stated probability, for all at once, each has a score at most :meth:`shortfall` below the best for its place.
    """

    no_numbers = no_bars = no_rmse = no_biases = NO_SCORE

    question: SelectTask = field(repr=False)
    mechanism: Selection | TopSelection = field(repr=False)
    places: tuple[int, ...]
    spent: Fraction

    @property
    def picked(self) -> str | tuple[str, ...]:
        """What the candidate is called; of several each, the best first."""
        labels = tuple(self.question.each_label[place] for place in self.places)
        return labels[0] if self.question.picks == 1 else labels

    def shortfall(self, level: float = 0.95) -> float:
        """With probability *at least* ``level`` each score is above the best for its place less this; whatever the
        data, and for all places at once."""
        return self.mechanism.shortfall(level, self.spent)

    @property
    def question_fingerprint(self) -> str:
        return self.question.fingerprint

    @property
    def by_name(self) -> Mapping[str, str | tuple[str, ...]]:
        return {PICKED: self.picked}

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        return tuple(self.question.candidates.each_origin[place] for place in self.places)

    @property
    def unit(self) -> str | None:
        """What the scores are measured in, None where nobody says."""
        return self.question.candidates.measures[0] if self.question.candidates.measures else None

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        unit = "" if self.unit is None else f" {self.unit}"
        below, at = f"less than {brief(self.shortfall(level))}{unit} below the best", f"proved: at {level * 100:g} %"
        if self.question.picks == 1:
            return (("error", f"{at} its score is {below}"),)
        return (("error", f"{at}, for all places at once, each score is {below} for its place"),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint  # they always hold at once
        queries, one = [self.question.candidates.names[place] for place in self.places], self.question.picks == 1
        return {
            "picked": self.picked if one else [*self.picked],
            **(
                {"place": self.places[0], "query": queries[0]}
                if one
                else {"places": [*self.places], "queries": queries}
            ),
            "candidates": self.question.candidates.count,
            "law": self.mechanism.name if isinstance(self.mechanism, Selection) else self.mechanism.law,
            "unit": self.unit,
            "shortfall": {
                "level": float(level),
                "at_most": self.shortfall(level),
                "kind": "proved",
                **({} if one else {"joint": True}),
            },
        }
