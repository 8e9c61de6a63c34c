"""Private answers to linear queries, and what is known of their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.planner.answers.answer_table import (
    Columns,
    ReleasedAnswer,
    answer_columns,
    answers_by_name,
    origin_words,
    ratio_units,
)
from dxgeom.planner.answers.error_bars import ErrorBars
from dxgeom.planner.answers.ratios import RatioAnswer, asked_ratios
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.objectives.usefulness import UselessAnswer, useless_answers
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.groups import AnswerOrigin
from dxgeom.wording.numbers import brief


@final
@dataclass(frozen=True, eq=False)
class LinearAnswers(ShownAnswers):
    """What a mechanism answered to queries at a spend.

    ``exact_values`` (K,): the released numbers as exact rationals. ``records``: their public number, None where it is
    private.
    """

    queries: LinearQueries = field(repr=False)
    mechanism: AdditiveMechanism
    exact_values: tuple[Fraction, ...] = field(repr=False)
    spent: Fraction
    records: int | None

    @property
    def asked_fingerprint(self) -> str:
        return self.queries.fingerprint

    @property
    def names(self) -> tuple[str, ...]:
        """The queries' names."""
        return self.queries.names

    @property
    def values(self) -> NDArray[np.float64]:
        """(K,): the private answers in float64."""
        return np.array([float(value) for value in self.exact_values])

    @cached_property
    def bars(self) -> ErrorBars:
        """Their error bars."""
        return ErrorBars(self.queries, self.mechanism, self.spent, self.records, self.exact_values)

    @property
    def rmse(self) -> NDArray[np.float64]:
        """(K,): root mean squared error of each answer, at its worst where answers have a known bias; what rounding of
        values adds is counted as by half widths at 95 %."""
        return self.bars.rmse

    @property
    def biases(self) -> NDArray[np.float64]:
        """(K,): how far each answer can be off apart from its noise: by what values stand for, and by changed queries;
        infinite where that grows with a private number of records."""
        return self.bars.biases

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K,): each answer's error is at most this with probability *at least* ``level``, each on its own; with
        ``joint`` all are at once."""
        return self.bars.joint_half_widths(level) if joint else self.bars.half_widths(level)

    def intervals(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K, 2): each true answer lies between these with probability *at least* ``level``, each on its own; with
        ``joint`` all do at once."""
        widths = self.half_widths(level, joint=joint)
        return np.column_stack([self.values - widths, self.values + widths])

    @cached_property
    def useless(self) -> tuple[UselessAnswer, ...]:
        """The answers whose expected error exceeds all that they can be, and what spend would have helped."""
        return useless_answers(self.queries, self.mechanism, self.spent, self.records)

    def ratios(self, level: float = 0.95, *, joint: bool = False) -> tuple[RatioAnswer, ...]:
        """The ratios that were asked for, each in its intervals with probability *at least* ``level``; with ``joint``
        all at once, for the chances that one misses add up."""
        return asked_ratios(self, 1 - (1 - level) / max(1, len(self.queries.ratios)) if joint else level)

    @cached_property
    def by_name(self) -> Mapping[str, ReleasedAnswer | RatioAnswer]:
        """Every answer and every ratio by its name, with its interval at 95 %."""
        return answers_by_name(self)

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        """What each answer and each ratio is about."""
        return *self.queries.each_origin, *(ratio.origin for ratio in self.queries.ratios)

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """A row for each answer: see :meth:`dxgeom.Release.to_arrow`. Raises: UnsupportedCombination."""
        return answer_columns(self, level, query, joint=joint)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(one.in_words for one in self.useless)

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        del level
        changed = self.mechanism.biases
        worst = int(changed.argmax())
        bias = f"at most {brief(changed[worst])} ('{self.names[worst]}'), within the error bars"
        return tuple(
            ("bias", sentence) for sentence in ([] if self.mechanism.change is None else [bias]) + self.bars.in_words()
        )

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        each = zip(self.ratios(level, joint=joint), ratio_units(self), self.queries.ratios, strict=True)
        ratios = [{**one.as_dict(), "unit": unit, **origin_words(one.name, asked.origin)} for one, unit, asked in each]
        return {
            "answers": self.as_dicts(level, joint),
            "level": float(level),
            **({"joint": True} if joint else {}),
            "warnings": [useless.as_dict() for useless in self.useless],
            **({"ratios": ratios} if ratios else {}),
        }

    def as_dicts(self, level: float = 0.95, joint: bool = False) -> list[dict[str, Any]]:
        """Every answer ready for JSON."""
        return [
            {
                "name": name,
                "unit": measure,
                "value": float(value),
                "exact": str(value),
                "rmse": float(error),
                "bias": bias,
                "interval": [float(end) if np.isfinite(end) else None for end in ends],
                **origin_words(name, origin),
            }
            for name, measure, value, error, bias, ends, origin in zip(
                self.names,
                self.queries.measures or (None,) * self.queries.count,
                self.exact_values,
                self.rmse,
                self.bars.bias_of_each(),
                self.intervals(level, joint=joint),
                self.queries.each_origin,
                strict=True,
            )
        ]
