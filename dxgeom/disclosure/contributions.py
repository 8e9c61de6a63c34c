"""What each release adds to what was told, attribute by attribute, on the raw values that any policy tells apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.disclosure.raw_values import attribute_of, refined
from dxgeom.errors import UnsupportedCombination
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.numeric.rounding import round_up
from dxgeom.policy.policy import Policy
from dxgeom.universe.attributes import OUTSIDE

RECORDS: Final = "records"
"""What stands for an attribute where a table lists the records."""

_MOST_VALUES: Final = 2000
"""Of an attribute with more raw values not every pair is looked at."""


@final
@dataclass(frozen=True, eq=False)
class Term:
    """A release's part: ``spend`` times the metric of ``policy`` between records that differ in one attribute.

    ``codes`` (m,): of the raw values under that policy, which are ``stride`` records apart; between a value that is
    none there and one that is lies ``absence``, the distance to the absent record, infinite where there is none.
    """

    policy: Policy
    spend: float
    stride: int
    codes: NDArray[np.int64]
    absence: float

    def told(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """spend·d between raw values, by their places, elementwise, up to the rounding of distances."""
        first, second = self.codes[i], self.codes[j]
        outside = (first == OUTSIDE) | (second == OUTSIDE)
        # Compiled metrics of attributes do not ask what the other attributes are, as long as these are the same.
        i, j = (np.where(outside, 0, codes) * self.stride for codes in (first, second))
        apart = self.policy.metric.distance(i, j)
        apart = np.where(outside, np.where(first == second, 0.0, self.absence), apart)
        return np.asarray(apart * self.spend, dtype=np.float64)


@final
@dataclass(frozen=True, eq=False)
class Contribution:
    """All releases' parts about one column: ``codes`` (m,) are of the policy that is asked about.

    Raw values that are none under a policy without presence are in no row: its release would have refused the table, or
    said how many rows it dropped. ``squares``: what was told is the root of the sum of the terms' squares, which is a
    distance, too.
    """

    codes: NDArray[np.int64]
    terms: tuple[Term, ...]
    squares: bool = False

    @property
    def possible(self) -> NDArray[np.int64]:
        """Places of the raw values that rows may have."""
        refused = [(term.codes == OUTSIDE) & (term.absence == math.inf) for term in self.terms]
        return np.flatnonzero((self.codes != OUTSIDE) & ~np.any([*refused, self.codes == OUTSIDE], axis=0))

    def told(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """What was told of raw values, by their places, elementwise, up to the rounding of distances."""
        shape = np.broadcast_shapes(i.shape, j.shape)
        if self.squares:
            return np.sqrt(sum((term.told(i, j) ** 2 for term in self.terms), np.zeros(shape)))
        return sum((term.told(i, j) for term in self.terms), np.zeros(shape))


@final
@dataclass(frozen=True)
class Contributions:
    """What was told by attribute: the policy's ``own``, and those of columns that it lacks; and of ``presence``."""

    own: dict[str, Contribution]
    foreign: tuple[Contribution, ...]
    exact: bool
    presence: float


@final
@dataclass(frozen=True)
class Spread:
    """``worst``: the most that was told between raw values of different codes, None where there is one code only;
    ``pair``: these codes, None where not all were looked at. ``within``: the most between raw values of one code."""

    worst: float | None
    pair: tuple[int, int] | None
    within: float


def contributions(policy: Policy, released: Sequence[tuple[Policy, Fraction]], squares: bool = False) -> Contributions:
    """The parts of each release, by attribute; ``squares``: theirs add up. Raises: UnsupportedCombination."""
    exact = all(_digest(other) == _digest(policy) for other, _ in released)
    absences = [round_up(spend) * _absence(other) for other, spend in released]
    presence = math.hypot(*absences) if squares else math.fsum(absences)
    listing = [one.name for one in (policy, *(other for other, _ in released)) if one.universe.listed is not None]
    if listing and exact:
        return Contributions({RECORDS: _of_records(policy, released, squares)}, (), exact, presence)
    if listing:
        raise UnsupportedCombination(
            f"the policy '{listing[0]}' lists its records in a table, so what was told does not add up by attribute; "
            "it can be compared with policies that list the same records only"
        )
    names = dict.fromkeys(name for one, _ in released for name in one.universe.names)
    own = {name: _contribution(policy, released, name, squares) for name in policy.universe.names}
    foreign = tuple(one for name in names if name not in own for one in _free(policy, released, name, squares))
    return Contributions(own, foreign, exact, presence)


def spread(contribution: Contribution) -> Spread:
    """The most that was told between and within the codes of the policy that is asked about, up to rounding."""
    kept = contribution.possible
    codes = contribution.codes[kept]
    every = np.unique(contribution.codes[contribution.codes != OUTSIDE])
    gone = np.setdiff1d(every, codes)
    found = _spread_from_one if len(kept) > _MOST_VALUES else _spread_of_all
    among = found(contribution, kept, codes)
    if gone.size == 0 or every.size < 2:
        return among
    # That nobody has such a value was told.
    return Spread(math.inf, (int(gone[0]), int(every[every != gone[0]][0])), among.within)


def _spread_of_all(contribution: Contribution, kept: NDArray[np.int64], codes: NDArray[np.int64]) -> Spread:
    worst, pair, within = -1.0, None, 0.0
    for place, code in zip(kept, codes, strict=True):
        amounts = contribution.told(np.full(len(kept), place), kept)
        within = max(within, float(amounts[codes == code].max()))
        others = np.where(codes == code, -1.0, amounts)
        if others.max() > worst:
            worst, pair = float(others.max()), (int(code), int(codes[int(others.argmax())]))
    return Spread(None if pair is None else worst, pair, within)


def _spread_from_one(contribution: Contribution, kept: NDArray[np.int64], codes: NDArray[np.int64]) -> Spread:
    """Two values are no further apart than both are from a third."""
    widest = 2 * float(contribution.told(np.full(len(kept), kept[0]), kept).max())
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    within = 2 * float(contribution.told(kept[first][which], kept).max())
    return Spread(widest if len(first) > 1 else None, None, within)


def _contribution(
    policy: Policy, released: Sequence[tuple[Policy, Fraction]], name: str, squares: bool
) -> Contribution:
    holders = [(other, spend) for other, spend in released if name in other.universe.names]
    mine = [attribute_of(policy.universe, name)] if name in policy.universe.names else []
    codes = refined([*mine, *(attribute_of(other.universe, name) for other, _ in holders)])
    if not mine:
        # Rows may also have a value there that none of these policies knows.
        codes = [np.append(under, OUTSIDE) for under in codes]
    terms = tuple(
        Term(other, round_up(spend), _stride(other, name), under, _absence(other))
        for (other, spend), under in zip(holders, codes[len(mine) :], strict=True)
    )
    # A column that the policy lacks is free: all its values are in every record.
    return Contribution(codes[0] if mine else np.zeros(len(codes[0]), dtype=np.int64), terms, squares)


def _free(policy: Policy, released: Sequence[tuple[Policy, Fraction]], name: str, squares: bool) -> list[Contribution]:
    """Of a column that the policy lacks: together, or each release on its own where they read it differently."""
    try:
        return [_contribution(policy, released, name, squares)]
    except UnsupportedCombination:
        holders = [one for one in released if name in one[0].universe.names]
        return [_contribution(policy, [holder], name, squares) for holder in holders]


def _of_records(policy: Policy, released: Sequence[tuple[Policy, Fraction]], squares: bool) -> Contribution:
    """Of whole records, which all these policies list alike."""
    codes = np.arange(policy.universe.record_types)
    terms = tuple(Term(other, round_up(spend), 1, codes, _absence(other)) for other, spend in released)
    return Contribution(codes, terms, squares)


def _digest(policy: Policy) -> list[Any]:
    """Equal digests make the same record of every row."""
    listed = policy.universe.listed
    read = [attribute_of(policy.universe, name).digest for name in policy.universe.names]
    return [read, None if listed is None else listed.tolist()]


def _stride(policy: Policy, name: str) -> int:
    """How many records lie between a value of the attribute and the next."""
    return math.prod(policy.universe.shape[policy.universe.names.index(name) + 1 :])


def _absence(policy: Policy) -> float:
    """The most that lies between a record and none, ∞ where that is not hidden."""
    metric = policy.metric
    return round_up(metric.epsilon) if isinstance(metric, PresenceMetric) else math.inf
