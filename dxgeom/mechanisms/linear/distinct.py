"""How many of some groups anybody is in: a number of different values, with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.errors import UnboundedLoss, UnsupportedCombination
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.mechanisms.linear.sensitivity import on_records_of
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.weight_table import with_axes
from dxgeom.universe.weight_tables import require_nothing_for_absence

_FINE = 4.0
"""From this deviation on, rounding a normal number adds 1/12 to its square, to less than 10⁻¹⁰⁰."""


@final
@dataclass(frozen=True, eq=False)
class DistinctCount(HistogramMechanism[int]):
    """The number of groups that at least one record is in, and noise; an integer from 0 to their number K.

    Definition: f(x) + round(V), moved to 0 or K where it lies beyond, with f(x) = #{k : some record of x is in group
    k}. ``groups``: a count for each group k, which weighs a record of the group 1 and any other 0; no record is in two.
    V is a Laplace number of scale s/spend, or in concentrated privacy a normal one of that deviation.
    ``scale``: s = max 1/d(i, j) over all i and j whose groups differ, *rounded up*; no group, and
    absence, count as one more group.
    Guarantee: replacing record i by j changes the odds of any answer by at most e^(spend·d(i, j)); in concentrated
    privacy it has D_α ≤ α·(spend·d(i, j))²/2. Losing i empties at most one group, and gaining j fills at most one, so
    f changes by at most 1, and not at all within a group. Rounding adds to an integer, and the ends are public. The
    proof is in docs/decisions/066-different-values.md.
    Raises: UnsupportedCombination where people are spread over their rows, one of whom may fill any number of groups,
    for groups that overlap, of other records, or that count the absent record; UnboundedLoss where records of different
    groups are at distance 0; TooLarge.
    """

    metric: VerifiedMetric = field(repr=False)
    groups: LinearQueries
    name: str = field(default="distinct count", init=False)

    def __post_init__(self) -> None:
        on_records_of(self.metric, self.groups, "groups")
        if self.absent is not None:
            require_nothing_for_absence(self.groups.tables, self.absent)
        if self.shares > 1:
            raise UnsupportedCombination(
                "a number of different values is of whole records: where people are spread over their rows, the rows "
                "of one person may hold any number of values, and no noise of a useful size hides that. Let people be "
                "'single', or count the first rows of each: {count: rows, at_most: 1, order: COLUMN}"
            )
        if math.isinf(self.scale):
            raise UnboundedLoss("records of different groups are at distance 0, so no noise can hide how many occur")

    @property
    def most(self) -> int:
        """K."""
        return self.groups.count

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """(N,): the group of each possible record, from 1 on; 0 for none, and for an absent record."""
        tables = self.groups.tables
        number, many = np.zeros((2, *tables.shape), dtype=np.int64)
        apart = all(unit == 1 for unit in self.groups.units)
        for table in tables.tables:
            weights = table.weights.reshape(len(table.queries), -1)
            apart = apart and bool(np.all((weights == 0) | (weights == 1)))
            cells = np.stack([(table.queries + 1) @ weights, weights.sum(axis=0)]).reshape(2, *table.shape)
            spread = with_axes(cells[np.ix_(np.arange(2), *table.classes)], table.axes, range(len(tables.shape)))
            number += spread[0]
            many += spread[1]
        if not apart or many.max(initial=0) > 1:
            raise UnsupportedCombination("groups are counts of records, of which none is in two")
        return np.append(number, np.zeros(int(tables.absent), dtype=np.int64))

    @cached_property
    def scale(self) -> float:
        """s; 0 where nobody protected can change the answer.

        Groups differ if and only if their places do in some binary digit, and each digit is a map of 0 and 1, whose
        constant is the largest 1/d(i, j) of records on which it differs.
        """
        digits = range(self.most.bit_length())
        return max(lipschitz(self.metric, self.places >> digit & 1) for digit in digits)

    @cached_property
    def law(self) -> LaplaceNoise | GaussianNoise | None:
        """The noise before it is stretched by 1/spend; None where none is needed."""
        if self.scale == 0:
            return None
        if self.metric.privacy == "concentrated":
            return GaussianNoise(Ellipsoid(np.array([[self.scale]])))
        return LaplaceNoise(np.array([self.scale]))

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest(self.name, self.metric.fingerprint, self.groups.fingerprint, self.law)

    def half_width(self, level: float = 0.95, spend: Fraction = Fraction(1)) -> int:
        """With probability *at least* ``level`` the answer is off by no more than this.

        Definition: the least integer t ≥ 0 with P(|V| ≥ t + ½) ≤ 1 − level, at most K; up to the rounding of float64.
        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        require_level(level)
        tail = 1 - level
        normal = isinstance(self.law, GaussianNoise)
        size = -NormalDist().inv_cdf(tail / 2) if normal else -math.log(tail)
        return min(max(0, math.ceil(size * self.scale / float(spend) - 0.5)), self.most)

    def root_mean_square(self, spend: Fraction = Fraction(1)) -> float:
        """√E(error²) is at most this, whatever the data: that of round(V), at most K; up to the rounding of float64."""
        if self.law is None:
            return 0.0
        scale = self.scale / float(spend)
        if isinstance(self.law, LaplaceNoise):
            # Σ (2t − 1)·P(|V| ≥ t − ½) over t ≥ 1, of P(|V| ≥ t) = e^(−t/scale).
            square = math.exp(-0.5 / scale) * (1 + math.exp(-1 / scale)) / math.expm1(-1 / scale) ** 2
        elif scale < _FINE:
            square = sum((2 * t - 1) * math.erfc((t - 0.5) / scale / math.sqrt(2)) for t in range(1, 200))
        else:
            square = scale**2 + 1 / 12
        return min(math.sqrt(square), float(self.most))

    def check_size(self, records: int, spend: Fraction) -> None:
        if self.law is not None:
            self.law.check_size(1 / spend)

    def drawn(self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness) -> list[int]:
        found = np.unique(self.places[counts > 0])
        true = int((found > 0).sum())
        noise = [0] * count if self.law is None else self.law.draw(count, randomness, 1 / spend)[:, 0].tolist()
        return [min(max(true + one, 0), self.most) for one in noise]


def distinct_count(metric: VerifiedMetric, groups: LinearQueries) -> DistinctCount:
    """The mechanism that counts the groups which somebody is in; on the records that the groups know.

    Raises: as :class:`DistinctCount`; UnsupportedCombination where metric and groups are about other records.
    """
    return DistinctCount(on_records_of(metric, groups, "groups"), groups)
