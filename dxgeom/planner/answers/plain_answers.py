"""What a mechanism by itself answered: whatever it is, with nothing known of it but its form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from dxgeom.planner.answers.answer_table import Columns
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.releases.stored_form import plain_answer
from dxgeom.planner.unknown import Unknown

NAME = "the answer"
_NOT_PLANNED = "a mechanism by itself says no more than its answer"
_INSTEAD = "release.answer is what it answered; a plan of dx.plan tells errors, too"


@final
@dataclass(frozen=True, eq=False)
class PlainAnswers(ShownAnswers):
    """The ``answer`` of a mechanism that no plan asked for anything."""

    no_numbers = no_bars = no_rmse = no_biases = no_law = not_to_agree = Unknown(_NOT_PLANNED, _INSTEAD)

    answer: Any

    @property
    def question_fingerprint(self) -> None:
        return None

    @property
    def by_name(self) -> Mapping[str, Any]:
        return {NAME: self.answer}

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        raise self.no_numbers.refusal

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        return {"answer": plain_answer(self.answer)}
