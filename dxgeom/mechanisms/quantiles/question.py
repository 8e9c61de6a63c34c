"""Which quantiles of which records: everything that a quantile mechanism is asked, and what is public about it.

The values of one attribute in their order, and what an answer says with them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import array_of, described
from dxgeom.errors import DataError, UnsupportedCombination, WrongArgument
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.numeric.sealed import Sealed, seal
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import NumberColumn, texts_of
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.predicates import parse_predicate
from dxgeom.universe.selections import evaluate
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown

_ADVICE = "name an ordered attribute of the policy, or list one exact number for each possible record"


@final
@dataclass(frozen=True, eq=False)
class OrderedValues(Sealed):
    """T values, increasing, and the place among them of the value that each possible record has.

    ``labels`` (T,): as people write them; ``numbers`` (T,): exact, strictly increasing, days since the first for dates;
    ``places`` (N,): int64, 0 for the absent record where there is one. A value that raw numbers were rounded down to
    stands for all of them.
    """

    name: str
    labels: tuple[str, ...] = field(repr=False)
    numbers: tuple[Fraction, ...] = field(repr=False)
    places: NDArray[np.int64] = field(repr=False)

    @property
    def count(self) -> int:
        """T."""
        return len(self.numbers)

    def among(self, members: NDArray[np.int64]) -> OrderedValues:
        """The same values, for some of the possible records only."""
        return OrderedValues(self.name, self.labels, self.numbers, self.places[members])


@final
@dataclass(frozen=True, eq=False)
class QuantileAnswer:
    """The released quantiles, each a value of the attribute; empty where no record was asked about.

    ``at``: the levels q as asked; ``ranks``: which smallest value each is, ⌈q·n⌉, None where n is private,
    and where people count once, whose ranks are no whole numbers; ``places``:
    of the released ones among ``of``, not decreasing with the level.
    """

    of: OrderedValues = field(repr=False)
    at: tuple[Fraction, ...]
    ranks: tuple[int, ...] | None
    places: tuple[int, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The released values as people write them."""
        return tuple(self.of.labels[place] for place in self.places)

    @property
    def numbers(self) -> tuple[Fraction, ...]:
        """The released values as exact numbers; days since the first for dates."""
        return tuple(self.of.numbers[place] for place in self.places)

    def as_dict(self) -> dict[str, Any]:
        """The answer ready for JSON."""
        released = zip(self.at, self.labels, self.numbers, strict=True) if self.places else ()
        entries: list[dict[str, Any]] = [
            {"at": str(level), "value": label, "number": float(number), "exact": str(number)}
            for level, label, number in released
        ]
        for entry, rank in zip(entries, self.ranks or (), strict=False):
            entry["rank"] = rank
        return {"of": self.of.name, "quantiles": entries}


def ordered_values(metric: VerifiedMetric, attribute: str | Iterable[Any]) -> OrderedValues:
    """The values of an attribute of numbers or dates, by its name, or those listed for each possible record.

    Raises: WrongArgument, UnsupportedCombination for an unknown attribute, words, and numbers that do not fit.
    """
    if not isinstance(attribute, str):
        return _of_numbers(metric.size, metric.absent, attribute)
    if metric.universe is None:
        raise UnsupportedCombination(
            f"the metric has no attribute {shown(attribute)}, for it does not know its records: list one number for "
            "each possible record, or give verify_metric the universe"
        )
    place = _place(metric.universe, attribute)
    found = metric.universe.attributes[place]
    numbers = _numbers(found)
    ordered = sorted(set(numbers))
    rank = {number: position for position, number in enumerate(ordered)}
    by_code = np.array([rank[number] for number in numbers], dtype=np.int64)
    labels = dict(zip(reversed(numbers), reversed(found.labels), strict=True))
    places = metric.universe.laid_out(metric.universe.spread(place, by_code))
    return OrderedValues(attribute, tuple(labels[number] for number in ordered), tuple(ordered), places)


def _place(universe: Universe, attribute: str) -> int:
    if attribute not in universe.names:
        advice = did_you_mean(attribute, universe.names)
        raise UnsupportedCombination(f"there is no attribute {shown(attribute)}" + (f"; {advice}" if advice else ""))
    return universe.names.index(attribute)


def _numbers(attribute: Attribute) -> tuple[Fraction, ...]:
    """The number behind each code. Raises: UnsupportedCombination for words."""
    if attribute.missing is not None:
        raise UnsupportedCombination(
            f"{shown(attribute.name)} may be missing, and how many have a value is then private: no rank among these "
            "is known; ask for counts, such as its prefixes"
        )
    column = attribute.columns[0]
    if isinstance(column, NumberColumn):
        return column.numbers
    if isinstance(attribute, DateAttribute):
        return attribute.days
    raise UnsupportedCombination(
        f"a quantile is of an attribute with an order, and the values of {shown(attribute.name)} are words: name one "
        "of numbers or dates, or list a number for each possible record"
    )


def _of_numbers(size: int, absent: int | None, listed: Iterable[Any]) -> OrderedValues:
    """Raises: WrongArgument unless these are finite numbers, one for each possible record."""
    try:
        exact = [Fraction(number.item() if isinstance(number, np.generic) else number) for number in listed]
    except (TypeError, ValueError, OverflowError) as error:
        raise WrongArgument(f"'attribute' is text or numbers; found {described(listed)}: {_ADVICE}") from error
    types = size - (absent is not None)
    if len(exact) != types:
        raise WrongArgument(
            f"'attribute' lists a number for each of {types:,} possible records; found {len(exact):,}: {_ADVICE}"
        )
    ordered = sorted(set(exact))
    rank = {number: position for position, number in enumerate(ordered)}
    places = np.zeros(size, dtype=np.int64)
    places[:types] = [rank[number] for number in exact]
    return OrderedValues("value", texts_of(ordered), tuple(ordered), places)


MOST_VALUES = 1_000_000
"""Candidates among which a quantile is drawn."""
MOST_LEVELS = 1_000
_LEVELS = "list levels between 0 and 1, such as [0.25, 0.5, 0.75], or give one"


@final
@dataclass(frozen=True, eq=False)
class QuantileQuestion(Sealed):
    """The r-th smallest values of an attribute, r = ⌈q·n⌉, among the n records that a condition is true of.

    Definition: for each level q in ``at``, r = ⌈q·n⌉, at least 1, of the n records asked about: q = 0 is the least,
    q = 1/2 of an even number the lower of the two in the middle, q = 1 the greatest.
    ``mask`` (N,): whether records of a type are asked about, None for all. ``may_be_empty``: whether n = 0 gets an
    empty answer rather than a refusal.
    Guarantee: no two possible records at finite distance differ in ``mask``. So n, and with it r, is the same in any
    two
    tables at finite distance, but for records that come or go where records may be absent. :func:`quantile_question`
    makes one.
    """

    metric: VerifiedMetric = field(repr=False)
    values: OrderedValues
    at: tuple[Fraction, ...]
    mask: NDArray[np.bool_] | None = field(default=None, repr=False)
    may_be_empty: bool = False

    def __post_init__(self) -> None:
        seal(self)
        require_verified(self.metric)
        if self.metric.absent is not None and self.absence is None:
            raise UnsupportedCombination(
                "where records may be absent, quantiles are answered under a rule of presence with one epsilon for all "
                "records only"
            )
        if self.mask is not None:
            present = self.mask if self.absence is None else self.mask[:-1]
            if lipschitz(self.present_metric, present.astype(np.int64)) != 0:
                raise UnsupportedCombination(
                    "how many records 'where' is true of has to be public, and the policy hides records that meet it "
                    "from records that do not: a record that moves between them changes the rank r itself. Ask by an "
                    "attribute that the policy keeps apart, or without a condition"
                )

    @property
    def absence(self) -> PresenceMetric | None:
        """The metric that lets records be absent; None where their number is public."""
        return self.metric.metric if isinstance(self.metric.metric, PresenceMetric) else None

    @property
    def present_metric(self) -> Metric:
        """The metric between records that are there."""
        return self.metric.metric if self.absence is None else self.absence.inner

    @property
    def defining(self) -> tuple[Any, ...]:
        """What the answers' law depends on, for digests."""
        values = self.values
        return self.metric.fingerprint, values.name, values.labels, values.numbers, values.places, self.at, self.mask

    def ranks(self, records: int) -> tuple[int, ...]:
        """r of each level, of so many records; at least one."""
        return ranks_of(self.at, records)

    def counts_asked(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The histogram (N,) of those asked about: without other records, and without what is absent."""
        kept = counts if self.mask is None else np.where(self.mask, counts, 0)
        if self.metric.absent is not None:
            kept = kept.copy()
            kept[self.metric.absent] = 0
        return kept

    def require_some(self, counts: NDArray[np.int64]) -> None:
        """Raises: DataError where no record is asked about and that is public."""
        if self.absence is None and not self.may_be_empty and not np.any(self.counts_asked(counts)):
            raise DataError("a quantile is of at least one record, and none here is asked about")


def quantile_question(
    metric: VerifiedMetric,
    attribute: str | Iterable[Any] | OrderedValues,
    at: Any,
    *,
    where: Any = None,
    may_be_empty: bool = False,
) -> QuantileQuestion:
    """The question as people put it.

    Args: ``attribute``: the name of one of numbers or dates, or a number for each possible record (N,). ``at``: a level
    between 0 and 1, or several; a float means its shortest decimal. ``where``: a condition such as ``"region ==
    'North'"``, or a bool for each possible record (N,).
    Raises: UnsupportedCombination where the condition can change at finite distance, for an unknown attribute, and for
    levels that are none; PredicateError for a condition that cannot be read.
    """
    require_verified(metric)
    values = attribute if isinstance(attribute, OrderedValues) else ordered_values(metric, attribute)
    if values.count > MOST_VALUES:
        raise UnsupportedCombination(
            f"a quantile is drawn among at most {MOST_VALUES:,} values, {values.name} has {values.count:,}: take a "
            "coarser step"
        )
    return QuantileQuestion(metric, values, _levels(at), mask_of(metric, where), may_be_empty)


def ranks_of(levels: Iterable[Fraction], records: int) -> tuple[int, ...]:
    """⌈q·n⌉, at least 1, for each level q of n records."""
    return tuple(max(1, math.ceil(level * records)) for level in levels)


def _levels(at: Any) -> tuple[Fraction, ...]:
    listed = at if isinstance(at, (list, tuple, np.ndarray)) else [at]
    if not 0 < len(listed) <= MOST_LEVELS:
        raise UnsupportedCombination(f"'at' lists 1 to {MOST_LEVELS:,} levels, found {len(listed):,}: {_LEVELS}")
    return tuple(map(_level, listed))


def _level(level: Any) -> Fraction:
    """A float means its shortest decimal, so that 0.1 is one tenth."""
    if isinstance(level, bool) or not isinstance(level, (int, float, str, Decimal, Fraction, np.number)):
        raise WrongArgument(f"'at' is a level; found {described(level)}: {_LEVELS}")
    try:
        exact = level if isinstance(level, Fraction) else Fraction(str(level).strip()[:64])
    except (ValueError, ZeroDivisionError) as error:
        raise WrongArgument(f"'at' is a level; found {level!r}: {_LEVELS}") from error
    if not 0 <= exact <= 1:
        raise WrongArgument(f"'at' is a level; found {level!r}: {_LEVELS}")
    return exact


def mask_of(metric: VerifiedMetric, where: Any) -> NDArray[np.bool_] | None:
    """(N,): where a condition is true, None for one that is left out.

    Raises: UnsupportedCombination, WrongArgument, PredicateError.
    """
    if where is None:
        return None
    if isinstance(where, str):
        if metric.universe is None:
            raise UnsupportedCombination("'where' in words needs a metric that knows its records: give it their bools")
        return evaluate(parse_predicate(where), metric.universe).over_universe()
    mask = array_of(where, "where", "write a condition, or give a bool for each possible record")
    if mask.dtype != np.bool_ or mask.shape != (metric.size,):
        raise WrongArgument(
            f"'where' is a condition or a bool for each of {metric.size:,} possible records; found {described(where)}: "
            "write a condition such as \"region == 'North'\""
        )
    return np.array(mask)
