"""Which quantiles of which records: everything that a quantile mechanism is asked, and what is public about it."""

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
from dxgeom.mechanisms.quantiles.values import OrderedValues, ordered_values
from dxgeom.metrics.checking.verification import VerifiedMetric, require_verified
from dxgeom.metrics.operations.lipschitz_constants import lipschitz
from dxgeom.universe.predicates import parse_predicate
from dxgeom.universe.selections import evaluate

MOST_VALUES = 1_000_000
"""Candidates among which a quantile is drawn."""
MOST_LEVELS = 1_000
_LEVELS = "list levels between 0 and 1, such as [0.25, 0.5, 0.75], or give one"


@final
@dataclass(frozen=True, eq=False)
class QuantileQuestion:
    """The r-th smallest values of an attribute among the records that a condition is true of.

    Definition: for each level q in ``at``, r = ⌈q·n⌉, at least 1, of the n records asked about: q = 0 is the least,
    q = 1/2 of an even number the lower of the two in the middle, q = 1 the greatest.
    ``asked`` (N,): whether records of a type are asked about, None for all. ``may_be_empty``: whether n = 0 gets an
    empty answer rather than a refusal.
    Guarantee: n, and so r, is the same in any two tables at finite distance: no record may be absent, and no two record
    types at finite distance differ in ``asked``. :func:`quantile_question` alone makes one.
    """

    metric: VerifiedMetric = field(repr=False)
    values: OrderedValues
    at: tuple[Fraction, ...]
    asked: NDArray[np.bool_] | None = field(default=None, repr=False)
    may_be_empty: bool = False

    def __post_init__(self) -> None:
        require_verified(self.metric)
        if self.metric.absent is not None:
            raise UnsupportedCombination(
                "a quantile is the r-th smallest of a public number n of records, and where records may be absent n "
                "is private: one more record moves r itself. Ask for counts of prefixes instead, which hide it"
            )
        if self.asked is not None:
            self.asked.setflags(write=False)
            if lipschitz(self.metric, self.asked.astype(np.int64)) != 0:
                raise UnsupportedCombination(
                    "how many records 'where' is true of has to be public, and the policy hides records that meet it "
                    "from records that do not: a record that moves between them changes the rank r itself. Ask by an "
                    "attribute that the policy keeps apart, or without a condition"
                )

    @property
    def defining(self) -> tuple[Any, ...]:
        """What the answers' law depends on, for digests."""
        values = self.values
        return self.metric.fingerprint, values.name, values.labels, values.numbers, values.places, self.at, self.asked

    def ranks(self, records: int) -> tuple[int, ...]:
        """r of each level, of so many records; at least one."""
        return tuple(max(1, math.ceil(level * records)) for level in self.at)

    def counts_asked(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The histogram (N,) without the records that are not asked about."""
        return counts if self.asked is None else np.where(self.asked, counts, 0)

    def require_some(self, counts: NDArray[np.int64]) -> None:
        """Raises: DataError where no record is asked about, which is public."""
        if not self.may_be_empty and not np.any(self.counts_asked(counts)):
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

    Args: ``attribute``: the name of one of numbers or dates, or a number for each record type (N,). ``at``: a level
    between 0 and 1, or several; a float means its shortest decimal. ``where``: a condition such as ``"region ==
    'North'"``, or a bool for each record type (N,).
    Raises: UnsupportedCombination where records may be absent, where the condition can change at finite distance, for
    an unknown attribute, and for levels that are none; PredicateError for a condition that cannot be read.
    """
    require_verified(metric)
    values = attribute if isinstance(attribute, OrderedValues) else ordered_values(metric, attribute)
    if values.count > MOST_VALUES:
        raise UnsupportedCombination(
            f"a quantile is drawn among at most {MOST_VALUES:,} values, {values.name} has {values.count:,}: take a "
            "coarser step"
        )
    return QuantileQuestion(metric, values, _levels(at), _mask(metric, where), may_be_empty)


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


def _mask(metric: VerifiedMetric, where: Any) -> NDArray[np.bool_] | None:
    if where is None:
        return None
    if isinstance(where, str):
        if metric.universe is None:
            raise UnsupportedCombination("'where' in words needs a metric that knows its records: give it their bools")
        return evaluate(parse_predicate(where), metric.universe).over_universe()
    mask = array_of(where, "where", "write a condition, or give a bool for each record type")
    if mask.dtype != np.bool_ or mask.shape != (metric.size,):
        raise WrongArgument(
            f"'where' is a condition or a bool for each of {metric.size:,} record types; found {described(where)}: "
            "write a condition such as \"region == 'North'\""
        )
    return np.array(mask)
