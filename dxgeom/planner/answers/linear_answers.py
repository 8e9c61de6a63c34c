"""Private answers to linear queries, and what is known of their errors.

Error bars of answers to linear queries: their noise, and everything that is known to shift them beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.bars import half_widths, joint_half_widths
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
from dxgeom.planner.objectives.objective import UselessAnswer, useless_answers
from dxgeom.planner.public_numbers import public_sentences, public_words
from dxgeom.universe.columns import plain
from dxgeom.universe.numbers.value_rounding import rounding_biases
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.groups import AnswerOrigin
from dxgeom.universe.workloads.placed import nearest_of, placed
from dxgeom.wording.numbers import brief

if TYPE_CHECKING:
    from dxgeom.planner.estimates.estimate import EstimateWish
    from dxgeom.planner.estimates.listed import ListedEstimate


_LEVEL: Final = 0.95


@final
@dataclass(frozen=True, eq=False)
class ErrorBars:
    """How far answers of a mechanism at a spend can be from the truth about the raw records.

    ``records``: their public number, None where it is private or nobody stated it yet. ``answers`` (K,): what was
    released, None in a plan. Bars depend on these, on policy and plan only, never on data.
    """

    queries: LinearQueries = field(repr=False)
    mechanism: AdditiveMechanism
    spend: Fraction
    records: int | None
    answers: tuple[Fraction, ...] | None = field(default=None, repr=False)

    @cached_property
    def rounding(self) -> NDArray[np.float64]:
        """(K,): how far answers can be off because values stand for many numbers, *rounded up*; infinite where it
        grows with a number of records that is not known."""
        return rounding_biases(self.queries.each_rounding, self.records)

    @property
    def biases(self) -> NDArray[np.float64]:
        """(K,): how far each answer can be off apart from its noise: by rounding of values and by changed queries."""
        return np.asarray(self.rounding + self.mechanism.biases)

    @property
    def rmse(self) -> NDArray[np.float64]:
        """(K,): the root of E[noise²] + bias², the bias at its worst over all data, and that of rounding the one which
        half widths at 95 % count: of a sum whose records another released answer counts, for as many as that one says
        at most. Left out where nobody knows how many there are, and the half widths are infinite."""
        rounding = self._rounding_as_counted(_LEVEL)
        known = np.where(np.isfinite(rounding), rounding, 0.0)
        noise = self.mechanism.variances(self.spend) - self.mechanism.biases**2
        return np.asarray(np.sqrt(noise + (self.mechanism.biases + known) ** 2))

    def half_widths(self, level: float, *, joint: bool = False) -> NDArray[np.float64]:
        """(K,): each answer's error is at most this with probability *at least* ``level``, each on its own; with
        ``joint`` as :meth:`joint_half_widths`.

        A sum over records whose number is not public is off by so much for each of them. Where another answer counts
        them, half of 1 − level goes to an upper bound of that count, and half to the noise of the sum.
        """
        if joint:
            return self.joint_half_widths(level)
        widths = half_widths(self.mechanism, level, self.spend, self.records, self.rounding)
        counted = [] if self.answers is None else [*self._counted_by]
        if counted:
            rounding = self._rounding_as_counted(level)
            shared = half_widths(self.mechanism, (1 + level) / 2, self.spend, self.records, rounding)
            widths[counted] = shared[counted]
        return widths

    def _rounding_as_counted(self, level: float) -> NDArray[np.float64]:
        """(K,): :attr:`rounding`, but where a released answer counts the records, of no more than there are by it with
        probability at least (1 + ``level``)/2."""
        rounding = self.rounding.copy()
        if self.answers is None or not self._counted_by:
            return rounding
        counts = np.array([float(answer) for answer in self.answers])
        # Noise is symmetric: it is below −w with half the chance that it is beyond w; with a bias it may not be.
        counting = level if self.mechanism.change is None else (1 + level) / 2
        most = np.maximum(counts + half_widths(self.mechanism, counting, self.spend, self.records), 0.0)
        for query, count in self._counted_by.items():
            own = self.queries.each_rounding[query].bias(Fraction(most[count]))
            rounding[query] = min(rounding[query], own)
        return rounding

    def joint_half_widths(self, level: float) -> NDArray[np.float64]:
        """(K,): with probability *at least* ``level`` every answer's error is at most its own of these."""
        counted = {} if self.answers is None else self._counted_by
        rounding = self.rounding.copy()
        rounding[[*counted]] = 0.0
        widths = joint_half_widths(self.mechanism, level, self.spend, self.records, rounding)
        for query, count in counted.items():
            # Where all errors are within their widths, the counts are, too.
            most = max(float((self.answers or ())[count]) + widths[count], 0.0)
            bias = self.queries.each_rounding[query].bias(Fraction(most) if math.isfinite(most) else None)
            widths[query] += min(self.rounding[query], bias)
        return widths

    @cached_property
    def _counted_by(self) -> dict[int, int]:
        """Which answer counts the records of a sum, for those that rounding moves by an amount that grows with them."""
        each = enumerate(self.queries.each_rounding)
        return {query: one.counted_by for query, one in each if one.counted_by is not None and one.per_record}

    def bias_of_each(self) -> list[dict[str, Any]]:
        """What shifts each answer, ready for JSON: None for what grows with a number of records that is not known."""
        return [
            {
                "rounding": float(rounding) if np.isfinite(rounding) else None,
                "rounding_per_record": str(one.per_record),
                "changed": float(changed),
                **({"stepped": [*one.stepped]} if one.stepped else {}),
                **({"placed": [*near]} if near else {}),
            }
            for rounding, one, changed, near in zip(
                self.rounding, self.queries.each_rounding, self.mechanism.biases, self._placed, strict=True
            )
        ]

    def in_words(self) -> list[str]:
        """What is to be known of numbers that stand for many, in plain sentences; none where no query adds up such."""
        said = []
        each = self.queries.each_rounding
        known = [k for k, bias in enumerate(self.rounding) if 0 < bias < np.inf]
        if known:
            worst = max(known, key=lambda k: float(self.rounding[k]))
            said.append(
                f"values stand for many numbers: answers can be off by at most {self.rounding[worst]:.4g} "
                f"('{self.queries.names[worst]}') beside their noise, and error bars count it{self._counting(known)}"
            )
        unknown = [k for k, bias in enumerate(self.rounding) if np.isinf(bias)]
        if unknown:
            worst = max(unknown, key=lambda k: each[k].per_record)
            said.append(
                f"values stand for many numbers: beside its noise '{self.queries.names[worst]}' can be off by at most "
                f"{plain(each[worst].per_record)} for each record that it counts{self._advice(unknown)}"
            )
        clamped = tuple(dict.fromkeys(name for one in each for name in one.clamped))
        if clamped:
            said.append(
                f"numbers beyond an end count as that end: answers are about clamped {_listed(clamped)}, and bars say "
                "nothing of the difference"
            )
        return said + self._of_conditions() + self._of_places()

    def _of_conditions(self) -> list[str]:
        """That a condition counts records by the value that stands for their number, which no bound can cover."""
        asking = [place for place, one in enumerate(self.queries.each_rounding) if one.stepped]
        if not asking:
            return []
        columns = dict.fromkeys(name for place in asking for name in self.queries.each_rounding[place].stepped)
        return [
            f"a value of {_listed(tuple(columns))} stands for all up to the next one: "
            f"'{self.queries.names[asking[0]]}' asks which value a record has, not which number, and error bars say "
            "nothing of the difference; with < and >= there is none"
        ]

    def _of_places(self) -> list[str]:
        """That a row counts as at the nearest place, whose numbers are not those of where it is."""
        told = []
        for name, nearest in nearest_of(self.queries.universe).items():
            asking = [query for query, near in zip(self.queries.names, self._placed, strict=True) if name in near]
            if asking:
                told.append(
                    f"a row counts as at the nearest of '{name}', at most {nearest.at_most:g} {nearest.unit} from "
                    f"where it is: answers such as '{asking[0]}' are about these places, and error bars say nothing "
                    "of the difference"
                )
        return told

    @cached_property
    def _placed(self) -> tuple[tuple[str, ...], ...]:
        return placed(self.queries)

    def _counting(self, known: Sequence[int]) -> str:
        if self.answers is None or not any(query in self._counted_by for query in known):
            return ""
        return ", as rmse does, for no more records than the answer that counts them leaves, where one does"

    def _advice(self, unknown: Sequence[int]) -> str:
        if self.answers is None:
            return "; their number is not stated here"
        if all(query in self._counted_by for query in unknown):
            return "; error bars go by the answer that counts them"
        return "; ask for their count, too, and error bars will be finite"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


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
        public = public_sentences(self.queries, self.mechanism)
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
                public_words(self.queries, self.mechanism),
                strict=True,
            )
        ]
