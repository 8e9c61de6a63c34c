"""Private answers to linear queries, and what is known of their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.planner.answers.error_bars import ErrorBars
from dxgeom.planner.answers.ratios import (
    EVERYTHING,
    Combined,
    Range,
    RatioAnswer,
    combination_of,
    ratio_answers,
    ratio_of,
)
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.answers.tables import origin_words
from dxgeom.planner.objectives.usefulness import UselessAnswer, useless_answers
from dxgeom.planner.public_numbers import public_sentences, public_words
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.groups import AnswerOrigin
from dxgeom.wording.numbers import brief

if TYPE_CHECKING:
    from dxgeom.planner.estimates.estimate import EstimateWish
    from dxgeom.planner.estimates.listed import ListedEstimate


@final
@dataclass(frozen=True)
class ReleasedAnswer:
    """One private answer.

    ``interval``: the true answer lies between these with probability *at least* 0.95. ``rmse``: the root mean squared
    error, at its worst where the answer has a known bias, ``bias``. ``unit``: what it is measured in, where that is
    known. ``query``: the query of a file that it answers; ``group``: the values of columns that it is about, if any.
    """

    name: str
    value: float
    exact_value: Fraction = field(repr=False)
    interval: tuple[float, float]
    rmse: float
    bias: float
    unit: str | None
    query: str = field(repr=False)
    group: Mapping[str, str] = field(repr=False)


@final
@dataclass(frozen=True, eq=False)
class LinearAnswers(ShownAnswers):
    """What a mechanism answered to queries at a spend.

    ``exact_values`` (K,): the released numbers as exact rationals. ``records``: their public number, None where it is
    private. ``loss_factors`` (K,): what the plan's loss counts each squared error; None for all alike.
    """

    answers_a_list = True

    queries: LinearQueries = field(repr=False)
    mechanism: AdditiveMechanism
    exact_values: tuple[Fraction, ...] = field(repr=False)
    spent: Fraction
    records: int | None
    loss_factors: NDArray[np.float64] | None = field(default=None, repr=False)

    @property
    def question_fingerprint(self) -> str:
        return self.queries.fingerprint

    @property
    def names(self) -> tuple[str, ...]:
        return self.queries.names

    @property
    def values(self) -> NDArray[np.float64]:
        return np.array([float(value) for value in self.exact_values])

    @cached_property
    def bars(self) -> ErrorBars:
        """Their error bars."""
        return ErrorBars(self.queries, self.mechanism, self.spent, self.records, self.exact_values)

    @property
    def rmse(self) -> NDArray[np.float64]:
        return self.bars.rmse

    @property
    def biases(self) -> NDArray[np.float64]:
        return self.bars.biases

    @property
    def reads_stepped_values(self) -> bool:
        return any(one.per_record for one in self.queries.each_rounding)

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        return self.bars.half_widths(level, joint=joint)

    @cached_property
    def useless(self) -> tuple[UselessAnswer, ...]:
        """The answers whose expected error exceeds all that they can be, and what spend would have helped."""
        return useless_answers(self.queries, self.mechanism, self.spent, self.records)

    def ratios(self, level: float = 0.95, *, joint: bool = False) -> tuple[RatioAnswer, ...]:
        """The ratios that were asked for, each in its intervals with probability *at least* ``level``; with ``joint``
        all at once, for the chances that one misses add up."""
        each = 1 - (1 - level) / max(1, len(self.queries.derived)) if joint else level
        if each not in self._ratios_by_level:
            self._ratios_by_level[each] = ratio_answers(self, each)
        return self._ratios_by_level[each]

    @cached_property
    def _ratios_by_level(self) -> dict[float, tuple[RatioAnswer, ...]]:
        """Those that were asked for already: a release is stored and shown."""
        return {}

    def ratio(
        self,
        numerator: Combined,
        denominator: Combined,
        level: float = 0.95,
        *,
        within: Range = EVERYTHING,
    ) -> RatioAnswer:
        return ratio_of(self, numerator, denominator, level, within)

    def combination(self, shares: Combined, level: float = 0.95) -> tuple[float, float]:
        return combination_of(self, shares, level)

    def estimated(self, plan_fingerprint: str, wish: EstimateWish) -> ListedEstimate:
        from dxgeom.planner.estimates.listed import estimate_of_list  # and a solver with it

        return estimate_of_list(self, plan_fingerprint, wish)

    @cached_property
    def by_name(self) -> Mapping[str, ReleasedAnswer | RatioAnswer]:
        """Every answer and every ratio by its name, with its interval at 95 %."""
        table = self.columns()
        columns = (table[title] for title in ("name", "value", "low", "high", "rmse", "bias", "unit"))
        # Ratios come below the answers.
        each = zip(self.exact_values, self.queries.each_origin, *columns, strict=False)
        found: dict[str, ReleasedAnswer | RatioAnswer] = {
            name: ReleasedAnswer(name, value, exact, (low, high), rmse, bias, unit, origin.query, dict(origin.group))
            for exact, origin, name, value, low, high, rmse, bias, unit in each
        }
        return {ratio.name: ratio for ratio in self.ratios()} | found

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        """What each answer and each ratio is about."""
        return *self.queries.each_origin, *(ratio.origin for ratio in self.queries.derived)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(one.in_words for one in self.useless)

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        del level
        changed = self.mechanism.biases
        worst = int(changed.argmax())
        bias = f"at most {brief(changed[worst])} ('{self.names[worst]}'), within the error bars"
        off = [*([] if self.mechanism.change is None else [bias]), *self.bars.in_words()]
        public = public_sentences(self.mechanism)
        return (*(("public", sentence) for sentence in public), *(("bias", sentence) for sentence in off))

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        measures = self.queries.measures or (None,) * self.queries.count
        ratios = []
        for one, asked in zip(self.ratios(level, joint=joint), self.queries.derived, strict=True):
            # A ratio is measured in what its numerator is, unless that is its denominator's; a variance in its squares.
            unit, other = measures[asked.measured_as], measures[asked.denominator]
            words = origin_words(one.name, asked.origin)
            ratios.append({**one.as_dict(), "unit": None if unit == other else unit, **words})
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
                **public,
            }
            for name, measure, value, error, bias, ends, origin, public in zip(
                self.names,
                self.queries.measures or (None,) * self.queries.count,
                self.exact_values,
                self.rmse,
                self.bars.bias_of_each(),
                self.intervals(level, joint=joint),
                self.queries.each_origin,
                public_words(self.mechanism),
                strict=True,
            )
        ]
