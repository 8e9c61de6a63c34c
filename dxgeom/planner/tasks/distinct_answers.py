"""How many different values there are, as it was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.distinct import DistinctCount
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.universe.tasks.questions import DistinctTask


@final
@dataclass(frozen=True, eq=False)
class DistinctAnswers(ShownAnswers):
    """One number: how many values at least one record has, an integer from 0 to all that there can be."""

    question: DistinctTask = field(repr=False)
    mechanism: DistinctCount = field(repr=False)
    number: int
    spent: Fraction

    @property
    def question_fingerprint(self) -> str:
        return self.question.fingerprint

    @property
    def by_name(self) -> Mapping[str, int]:
        return {self.question.called: self.number}

    @property
    def values(self) -> NDArray[np.float64]:
        return np.array([float(self.number)])

    @property
    def rmse(self) -> NDArray[np.float64]:
        """(1,): the root mean squared error is at most this."""
        return np.array([self.mechanism.root_mean_square(self.spent)])

    @property
    def biases(self) -> NDArray[np.float64]:
        return np.zeros(1)

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        return np.array([float(self.mechanism.half_width(level, self.spent))])

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint  # there is one
        return {
            "answers": [
                {
                    "name": self.question.called,
                    "unit": "values",
                    "value": float(self.number),
                    "exact": str(self.number),
                    "rmse": float(self.rmse[0]),
                    "interval": self.intervals(level)[0].tolist(),
                }
            ],
            "level": float(level),
            "warnings": [],
        }
