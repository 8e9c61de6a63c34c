"""The noisy readings of one record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.time_series import SeriesMechanism
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.tasks.questions import SeriesTask


@final
@dataclass(frozen=True, eq=False)
class SeriesAnswers(ShownAnswers):
    """The noisy readings of one record, of values as the policy rounds them. ``exact_values``: exact rationals."""

    no_biases = Unknown(
        "bars of readings are about values as the policy rounds them, and say no more", "take rmse and half_widths()"
    )

    question: SeriesTask = field(repr=False)
    mechanism: SeriesMechanism = field(repr=False)
    exact_values: tuple[Fraction, ...] = field()
    spent: Fraction

    def half_width(self, level: float = 0.95) -> float:
        """With probability *at least* ``level`` no reading is off by more than this, all at once."""
        return self.mechanism.joint_half_width(level, self.spent)

    @property
    def values(self) -> NDArray[np.float64]:
        return np.array([float(value) for value in self.exact_values])

    @property
    def rmse(self) -> NDArray[np.float64]:
        """(K,): root mean squared error of each, but for the lattice, whose step does not shrink with the spend."""
        return np.full(len(self.exact_values), self.mechanism.root_mean_square / float(self.spent))

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K,): as :meth:`half_width`, all at once."""
        return np.full(len(self.exact_values), self.half_width(level))

    @property
    def question_fingerprint(self) -> str:
        return self.question.fingerprint

    @property
    def by_name(self) -> Mapping[str, float]:
        return {name: float(value) for name, value in zip(self.question.attributes, self.exact_values, strict=True)}

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        del level
        return (("error", "of values as the policy rounds them"),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint
        bound = self.half_width(level)
        return {
            "answers": [
                {"name": name, "value": float(value), "exact": str(value), "rmse": error, "bound": bound}
                for name, value, error in zip(
                    self.question.attributes, self.exact_values, self.rmse.tolist(), strict=True
                )
            ],
            "level": float(level),
            "bounds": "proved, all at once",
        }
