"""Queries that change more slowly than those asked for, with a known bias, for multiplicative weights.

It pays where records are few. How far off such queries are follows from pairs of records, as lines whose upper hull is
looked at as a whole. Which steepness is taken is tried out on public tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.biased import RANGE_BITS, WEIGHT_LIMIT, closest_map
from dxgeom.mechanisms.linear.score_sensitivities import LARGEST_WEIGHT, over_common_unit, query_sensitivities
from dxgeom.mechanisms.synthetic.synthetic import QueryShifts
from dxgeom.metrics.lipschitz_maps import distances_to_all
from dxgeom.metrics.metric import Metric
from dxgeom.universe.queries import LinearQueries

MOST_PLACES: Final = 4096
"""All pairs of records are looked at."""
PARTS: Final = tuple(Fraction(part, 100) for part in (80, 60, 45, 35, 25, 18, 12, 8, 5, 3))
"""Parts of the steepest query's own steepness that are tried."""
_FINEST: Final = 10**6
_BITS: Final = LARGEST_WEIGHT.bit_length() - 1
"""Weights that are changed stay within so many, so that they are exact."""
_SEED: Final = 29
_FURTHEST: Final = 2.0**60
"""Records further from each other are taken for told apart at no cost."""


@final
@dataclass(frozen=True, eq=False)
class BiasHull:
    """How far off queries are that change by at most c·d: b(c) = max (rise − c·run)/2 over all pairs, 0 at least.

    ``rises``, ``runs`` (H,): the pairs that are worst at some c, and (0, 0) before them, both rising.
    """

    rises: NDArray[np.float64]
    runs: NDArray[np.float64]

    def bias(self, steepness: float) -> float:
        """b(c), a convex function of c."""
        return float(np.max(self.rises - steepness * self.runs)) / 2

    @property
    def breakpoints(self) -> NDArray[np.float64]:
        """The c at which another pair is worst; from the largest on nothing is off."""
        return np.asarray(np.diff(self.rises) / np.diff(self.runs))

    def least(self, records: int, price: float, power: float) -> float:
        """The c ≥ 0 at which records·b(c) + price·c^power is least, for a power of at most 1.

        Between breakpoints b is linear and the power concave, so the least is at one of them or at 0.
        Source: Kamalaruban et al. 2020, problem (8), with the bound of multiplicative weights.
        """
        tried = np.concatenate([[0.0], self.breakpoints])
        costs = [records * self.bias(one) + price * one**power for one in tried.tolist()]
        return float(tried[int(np.argmin(costs))])


def bias_hull(metric: Metric, rows: NDArray[np.int64]) -> BiasHull:
    """That of rows (K, N); *approximate within* the rounding of distances.

    The best rows of steepness c are half-way between both extensions, off by half of what the worst pair exceeds c·d.
    Raises: TooLarge beyond :data:`MOST_PLACES` records.
    """
    if metric.size > MOST_PLACES:
        raise TooLarge(f"all pairs of at most {MOST_PLACES:,} records are looked at, found {metric.size:,}")
    values = (rows - rows.min(axis=1, keepdims=True)).astype(np.float64)
    found = [_rising(np.zeros(1), np.zeros(1))]
    for one in range(1, metric.size):
        runs = distances_to_all(metric, one, _FURTHEST)[:one]
        rises = np.abs(values[:, :one] - values[:, one : one + 1]).max(axis=0)
        near = (runs < _FURTHEST) & (runs > 0)
        found.append(_rising(runs[near], rises[near]))
    runs, rises = _rising(*(np.concatenate(each) for each in zip(*found, strict=True)))
    hull: list[int] = []
    for place in range(len(runs)):
        while len(hull) > 1 and _below(runs, rises, hull[-2], hull[-1], place):
            hull.pop()
        hull.append(place)
    return BiasHull(rises[hull], runs[hull])


def _rising(runs: NDArray[np.float64], rises: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Those that rise more than all which run no further."""
    order = np.lexsort((-rises, runs))
    runs, rises = runs[order], rises[order]
    kept = np.append(True, rises[1:] > np.maximum.accumulate(rises)[:-1])[: len(runs)]
    return runs[kept], rises[kept]


def _below(runs: NDArray[np.float64], rises: NDArray[np.float64], one: int, middle: int, other: int) -> bool:
    """Whether the middle point is on or below the line through the others."""
    return bool(
        (rises[middle] - rises[one]) * (runs[other] - runs[one])
        <= (rises[other] - rises[one]) * (runs[middle] - runs[one])
    )


@final
@dataclass(frozen=True, eq=False)
class SlowerQueries:
    """Queries in place of those asked for, and how far from them; ``part`` of the steepest one's own steepness."""

    queries: LinearQueries = field(repr=False)
    shifts: QueryShifts = field(repr=False)


def slower_queries(metric: Metric, asked: LinearQueries, part: Fraction) -> SlowerQueries | None:
    """Queries each of which is at most as steep as itself, and as ``part`` of the steepest; None where none is changed.

    Definition: c_k = max |q_k,i − q_k,j|/d(i, j), c = part·max c_k. Where c_k > c, the query is taken that changes by
    at most c·d and is least far from q_k; others stay as they are.
    Guarantee: shifts are *exact*. Whoever rests a promise on how steep the queries are computes it anew.
    Raises: TooLarge for more weights than are changed one by one; UnboundedLoss.
    """
    if asked.count * metric.size > WEIGHT_LIMIT:
        raise TooLarge(f"at most {WEIGHT_LIMIT:,} weights are changed one by one, found {asked.count * metric.size:,}")
    rows, unit = over_common_unit(asked)
    finer = max(0, min(RANGE_BITS - int(np.ptp(rows, axis=1).max()).bit_length(), _BITS - _largest(rows).bit_length()))
    fine = rows << finer
    own = query_sensitivities(metric, fine)
    limit = float(part) * float(own.max())
    lowest = fine.min(axis=1, keepdims=True)
    changed = fine.copy()
    for place in np.flatnonzero(own > limit).tolist():
        values = (fine[place] - lowest[place]).astype(np.float64)
        changed[place] = closest_map(metric, values, limit).astype(np.int64) + lowest[place]
    off = np.abs(changed - fine).max(axis=1)
    if not np.any(off):
        return None
    finest = unit / 2**finer
    queries = replace(asked, weights=changed, units=(finest,) * len(changed))
    return SlowerQueries(queries, QueryShifts(asked, part, tuple(int(one) * finest for one in off)))


def _largest(rows: NDArray[np.int64]) -> int:
    return int(np.abs(rows).max())


def parts_to_try(
    metric: Metric, asked: LinearQueries, records: int, price: float, power: float
) -> tuple[Fraction, ...]:
    """Parts of the steepest query's steepness, falling: some of all sizes, and the one at which a bound is least.

    ``price``: of one unit of the common unit of all queries, as that of :meth:`BiasHull.least`. Raises: TooLarge.
    """
    rows, _ = over_common_unit(asked)
    hull = bias_hull(metric, rows)
    if not hull.breakpoints.size:
        return ()
    best = hull.least(records, price, power) / float(query_sensitivities(metric, rows).max())
    by_bound = Fraction(int(best * _FINEST), _FINEST)
    return tuple(sorted({*PARTS, *((by_bound,) if 0 < by_bound < 1 else ())}, reverse=True))


def public_tables(metric: Metric, records: int) -> list[NDArray[np.int64]]:
    """Histograms (N,) of so many records on which mechanisms are tried out: falling along the order of records, in a
    few clusters, and without structure. The same every time, and of nobody's data."""
    draws, size = np.random.default_rng(_SEED), metric.size
    falling = 1 / np.arange(1.0, size + 1)
    clusters = np.zeros(size)
    for weight in (4, 2, 1):
        apart = distances_to_all(metric, int(draws.integers(size)), _FURTHEST)
        near = apart[apart < _FURTHEST]
        clusters += weight * np.exp(-4 * apart / max(float(near.mean()), np.finfo(np.float64).tiny))
    shapes = (falling, clusters, draws.dirichlet(np.full(size, 0.1)) + 1e-9)
    return [draws.multinomial(records, shape / shape.sum()).astype(np.int64) for shape in shapes]
