"""The metrics that stand on their own, on values without places or edges.

The discrete metric: every difference is equally sensitive. Numbers on a line: the further apart, the easier to tell
apart. A partition: values of one block are equally hard to tell apart, and blocks may be told apart. A star: every
individual has its own ε, two of them are bounded by the sum. Values: some are more sensitive than others. Before them,
the pairs of a sub-product, repeated wherever the other codes agree, and all pairs within many sets.

Attributes that move together by their largest change: pairs of classes of their values, by how near these come.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.metric import (
    PAIRS_PER_BLOCK,
    Metric,
    MetricCertificate,
    PairBlock,
    all_pairs,
    pairs_at_a_finite_distance,
    require,
)
from dxgeom.numeric.arrays import distinct_rows
from dxgeom.numeric.rounding import round_down, sum_round_down
from dxgeom.numeric.sealed import cached_property

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def pairs_along_axes(shape: Sequence[int], axes: Sequence[int], part: Metric) -> Iterator[PairBlock]:
    """The generating pairs of a metric on the codes of some axes, in every fibre of the whole product.

    Args: ``shape`` of the whole; ``axes`` of the fibres, in the order of ``part``'s codes, the last one fastest.
    """
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    others = [axis for axis in range(len(shape)) if axis not in axes]
    starts = _combined([shape[axis] for axis in others], [strides[axis] for axis in others])
    inside = _combined([shape[axis] for axis in axes], [strides[axis] for axis in axes])
    for pairs in part.generating_pairs():
        first, second = inside[pairs.first], inside[pairs.second]
        rows = max(1, PAIRS_PER_BLOCK // max(pairs.bound.size, 1))
        for start in range(0, starts.size, rows):
            here = starts[start : start + rows, None]
            yield PairBlock((here + first).ravel(), (here + second).ravel(), np.tile(pairs.bound, len(here)))


def _combined(sizes: Sequence[int], strides: Sequence[int]) -> NDArray[np.int64]:
    """Σ code·stride for every combination of codes, the last code fastest."""
    total = np.zeros(1, dtype=np.int64)
    for size, stride in zip(sizes, strides, strict=True):
        total = (total[:, None] + stride * np.arange(size, dtype=np.int64)).ravel()
    return total


def axis_labels(shape: Sequence[int], axes: Sequence[int]) -> NDArray[np.int64]:
    """For every record of a product, the number of the fibre along ``axes`` that it lies in."""
    sizes = [1 if axis in axes else size for axis, size in enumerate(shape)]
    labels = np.arange(math.prod(sizes), dtype=np.int64).reshape(sizes)
    return np.broadcast_to(labels, shape).ravel()


def pairs_within_sets(labels: NDArray[np.int64], members: NDArray[np.int64]) -> Iterator[Pairs]:
    """Every pair of different members with equal labels; what several sets have in common may come again.

    Args: ``labels``, ``members``: (N,); a set is the members of one label. Equal sets are gone through once.
    """
    rows, _ = distinct_rows(np.stack([labels, members], axis=1))
    starts = np.flatnonzero(np.diff(rows[:, 0], prepend=rows[0, 0] - 1))
    sizes = np.diff(starts, append=len(rows))
    for size in np.unique(sizes[sizes > 1]).tolist():
        places = starts[sizes == size][:, None] + np.arange(size)
        sets, _ = distinct_rows(rows[places, 1])
        yield from _pairs_of_rows(sets)


def _pairs_of_rows(sets: NDArray[np.int64]) -> Iterator[Pairs]:
    for one, other in all_pairs(sets.shape[1]):
        height = max(1, PAIRS_PER_BLOCK // one.size)
        for start in range(0, len(sets), height):
            here = sets[start : start + height]
            yield here[:, one].ravel(), here[:, other].ravel()


@final
@dataclass(frozen=True)
class DiscreteMetric(Metric):
    """d(i, j) = ε·[i ≠ j]: ordinary ε-differential privacy."""

    count: int
    epsilon: Fraction

    @property
    def size(self) -> int:
        return self.count

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        return np.where(np.asarray(i) == np.asarray(j), 0.0, round_down(self.epsilon))

    def generating_pairs(self) -> Iterator[PairBlock]:
        epsilon = round_down(self.epsilon)
        for first, second in all_pairs(self.count):
            yield PairBlock(first, second, np.full(first.size, epsilon))

    def certificate(self) -> MetricCertificate:
        require(self.epsilon > 0, f"epsilon is positive, found {self.epsilon}")
        return MetricCertificate("discrete", self.size, "a constant off the diagonal is a metric")


@final
@dataclass(frozen=True)
class LineMetric(Metric):
    """d(u, v) = rate·|position_u − position_v|, generated by consecutive values.

    ``positions``: strictly increasing; ``rate``: nats per unit of position.
    """

    positions: tuple[Fraction, ...]
    rate: Fraction

    @property
    def size(self) -> int:
        return len(self.positions)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        gap = np.abs(self._heights[first] - self._heights[second])
        # One subtraction of numbers that were each rounded once: three half-units of the larger one at most.
        error = np.maximum(self._heights[first], self._heights[second]) * 2.0**-51
        return np.where(first == second, 0.0, np.maximum(gap - error, 0.0))

    def generating_pairs(self) -> Iterator[PairBlock]:
        for start in range(0, self.size - 1, PAIRS_PER_BLOCK):
            first = np.arange(start, min(start + PAIRS_PER_BLOCK, self.size - 1))
            yield PairBlock(first, first + 1, self.gaps[first])

    def certificate(self) -> MetricCertificate:
        require(self.rate > 0, f"a rate is positive, found {self.rate}")
        rising = all(low < high for low, high in pairwise(self.positions))
        require(rising, "positions on a line increase strictly")
        return MetricCertificate("line", self.size, "rate times the absolute difference of numbers")

    @cached_property
    def gaps(self) -> NDArray[np.float64]:
        """(size − 1,): the distances of neighbours, *rounded down*."""
        return np.array([round_down(self.rate * (high - low)) for low, high in pairwise(self.positions)])

    @cached_property
    def _heights(self) -> NDArray[np.float64]:
        return np.array([float(self.rate * (position - self.positions[0])) for position in self.positions])


@final
@dataclass(frozen=True, eq=False)
class PartitionMetric(Metric):
    """d(i, j) = ε for i ≠ j of one block, ∞ for different blocks. ``blocks``: (N,), the block of each value, from 0."""

    blocks: NDArray[np.int64] = field(repr=False)
    epsilon: Fraction

    @property
    def size(self) -> int:
        return len(self.blocks)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.asarray(i), np.asarray(j)
        together = np.where(self.blocks[first] == self.blocks[second], round_down(self.epsilon), np.inf)
        return np.where(first == second, 0.0, together)

    def generating_pairs(self) -> Iterator[PairBlock]:
        epsilon = round_down(self.epsilon)
        for first, second in pairs_within_sets(self.blocks, np.arange(self.size)):
            yield PairBlock(first, second, np.full(first.size, epsilon))

    def certificate(self) -> MetricCertificate:
        require(self.epsilon > 0, f"epsilon is positive, found {self.epsilon}")
        blocks = len(np.unique(self.blocks))
        return MetricCertificate("partition", self.size, f"a constant inside each of {blocks:,} blocks is a metric")

    def components(self) -> tuple[int, NDArray[np.int64]]:
        """How many blocks there are, and the block of each value."""
        found, which = np.unique(self.blocks, return_inverse=True)
        return len(found), np.asarray(which, dtype=np.int64)


@final
@dataclass(frozen=True)
class StarMetric(Metric):
    """d(i, j) = ε_i + ε_j for i ≠ j: paths through a centre at distance ε_i from each i that is itself no record.

    All pairs generate it: ε_i + ε_j ≤ (ε_i + ε_k) + (ε_k + ε_j), so no detour over records is shorter. A bound on
    each record's way to the centre would ask for more than the pairs do (or, with a value chosen for the centre, for
    less), so it is never used in their place.
    """

    epsilons: tuple[Fraction, ...]

    @property
    def size(self) -> int:
        return len(self.epsilons)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.broadcast_arrays(np.asarray(i), np.asarray(j))
        return np.where(first == second, 0.0, sum_round_down(self.rounded[first], self.rounded[second]))

    def generating_pairs(self) -> Iterator[PairBlock]:
        for first, second in all_pairs(self.size):
            yield PairBlock(first, second, sum_round_down(self.rounded[first], self.rounded[second]))

    def certificate(self) -> MetricCertificate:
        least = min(self.epsilons)
        require(least > 0, f"every epsilon is positive, found {least}")
        return MetricCertificate("individuals", self.size, "ε_i + ε_j: paths through a centre that is no record")

    @cached_property
    def rounded(self) -> NDArray[np.float64]:
        """Each record's ε, *rounded down*."""
        return np.array([round_down(epsilon) for epsilon in self.epsilons])


def pairs_of_classes(metric: StarMetric, which: NDArray[np.int64]) -> Iterator[PairBlock]:
    """Every pair of classes that occur in ``which`` (N,), the class of each individual, with the smallest bound of any
    two individuals in them: the sum of the smallest ε in each, since rounding down a sum keeps its order."""
    classes, place = np.unique(which, return_inverse=True)
    least = np.full(classes.size, np.inf)
    np.minimum.at(least, place.reshape(-1), metric.rounded)
    for first, second in all_pairs(classes.size):
        yield PairBlock(classes[first], classes[second], sum_round_down(least[first], least[second]))


@final
@dataclass(frozen=True)
class ValueSensitivityMetric(Metric):
    """The largest metric that gives values a ≠ b at most min(ε_a, ε_b).

    Definition: d(a, b) = min(ε_a, ε_b, 2·ε_min). The last term is the detour through the most sensitive value;
    it never binds for two values, and without it the triangle inequality fails for three.

    Source: Kamalaruban et al. 2020, eq. (3); corrected: as printed it is not a metric for three or more values.
    """

    epsilons: tuple[Fraction, ...]

    @property
    def size(self) -> int:
        return len(self.epsilons)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.asarray(i), np.asarray(j)
        direct = np.minimum(self._rounded[first], self._rounded[second])
        return np.where(first == second, 0.0, np.minimum(direct, 2 * self._rounded.min()))

    def generating_pairs(self) -> Iterator[PairBlock]:
        return pairs_at_a_finite_distance(self)

    def certificate(self) -> MetricCertificate:
        least = min(self.epsilons)
        require(least > 0, f"every epsilon is positive, found {least}")
        reason = "the smaller of two values' numbers, at most twice the least"
        return MetricCertificate("value sensitivities", self.size, reason)

    @cached_property
    def _rounded(self) -> NDArray[np.float64]:
        return np.array([round_down(epsilon) for epsilon in self.epsilons])


PAIR_LIMIT = 1_000_000_000
"""More pairs than this would take an hour."""


def cells_moving_together(nearest: Sequence[NDArray[np.float64]], shape: tuple[int, ...]) -> Iterator[PairBlock]:
    """All pairs of cells under the largest change, at the least distance of any of their records.

    In each part records of two classes can be chosen as near as there are, whatever is chosen in the others: the
    largest of the parts' least distances is the least of the largest.
    Args: ``nearest``: of each axis, how near two classes come, see :func:`nearest_of_classes`. Raises: TooLarge.
    """
    cells = math.prod(shape)
    refuse_pairs(cells * (cells - 1) // 2)
    for first, second in all_pairs(cells):
        codes = zip(np.unravel_index(first, shape), np.unravel_index(second, shape), strict=True)
        bounds = np.maximum.reduce([apart[ends] for apart, ends in zip(nearest, codes, strict=True)])
        finite = np.isfinite(bounds)
        yield PairBlock(first[finite], second[finite], bounds[finite])


def nearest_of_classes(part: Metric, classes: NDArray[np.int64]) -> NDArray[np.float64]:
    """(C, C): the least distance between a value of one class and one of the other, 0 for the same class; ``classes``
    (N,) from 0, each with a value. *Exact*: the least of the metric's own rounded distances. Raises: TooLarge."""
    refuse_pairs(part.size**2)
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(int(classes.max()) + 1))
    rows = np.empty((part.size, len(starts)))
    step = max(1, PAIRS_PER_BLOCK // part.size)
    for start in range(0, part.size, step):
        apart = part.distance(order[start : start + step, None], order[None, :])
        rows[start : start + step] = np.minimum.reduceat(apart, starts, axis=1)
    found = np.minimum.reduceat(rows, starts, axis=0)
    # Whichever way round a distance was rounded, the lower one counts.
    return np.asarray(np.minimum(found, found.T))


def refuse_pairs(pairs: int, limit: int = PAIR_LIMIT) -> None:
    """Raises: TooLarge for so many pairs."""
    if pairs > limit:
        raise TooLarge(
            f"{pairs:,} pairs of records would have to be compared, the limit is {limit:,}; "
            "ask fewer queries at once, or take coarser attributes"
        )
