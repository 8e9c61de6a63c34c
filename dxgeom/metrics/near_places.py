"""Which of very many places are near: of two kinds the nearest, and the pairs that no shorter ones stand for.

Let B be K differences Δ_f of near places that span all. Whatever norm hides them, ‖Δ_f‖ ≤ b_f, has
‖Δ‖ ≤ Σ_f |(B⁻¹Δ)_f|·b_f for every Δ. A pair that is further apart than this is hidden as well, and need not be looked
at; with g_i = Σ_f |(B⁻¹(q_i − c))_f|·b_f none is needed that is further apart than the two largest g together.

Kernel: SciPy's k-d tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.dual_tree import Separation
from dxgeom.metrics.metric import PairBlock
from dxgeom.metrics.points import EARTH_RADIUS_KM, PointsMetric, absolute_error, on_the_unit_sphere
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, round_down

TREE_FROM: Final = 3000
"""Fewer places are compared pair by pair."""
_KINDS: Final = 256
_ROUNDING_OF_A_PRODUCT: Final = 2.0**-51
_ROUNDING_OF_A_CHORD: Final = 1e-14
"""Relative: more than a tree's distance of two points is rounded by."""

_NEIGHBOURS: Final = 8
_TRIED: Final = 20_000
"""Short differences that a basis is looked for among."""
_MOST_QUERIES: Final = 128
_NEW: Final = 1e-6
_CAUTION: Final = 1 + 1e-12
"""More than what sums and products of a few hundred terms round."""
_STEP: Final = 1.05
_ENTRIES_PER_BLOCK: Final = 1 << 20


def separation_of(metric: PointsMetric) -> tuple[NDArray[np.float64], Separation]:
    """The places as points in space, and how far their distance there keeps them apart at least; *rounded down*."""
    points, radius = metric.coordinates, 0.0
    if metric.geometry == "great circle":
        points, radius = on_the_unit_sphere(points), EARTH_RADIUS_KM
    error = absolute_error(metric.coordinates, metric.geometry)
    rate = round_down(metric.rate) * (1 - _ROUNDING_OF_A_PRODUCT)
    return points, Separation(rate, round_down(metric.floor), error, radius)


def few_kinds(metric: PointsMetric, which: NDArray[np.int64]) -> bool:
    """Whether places are so many, and of so few kinds, that trees are the way."""
    return metric.size >= TREE_FROM and int(which.max()) < _KINDS


def nearest_of_kinds(metric: PointsMetric, which: NDArray[np.int64]) -> Iterator[PairBlock]:
    """Every pair of kinds that occur, once, with a bound *not above* the distance of any two places of these kinds.

    Below the least of these by a relative 10⁻¹³ at most, and what the rounding of coordinates can do.
    """
    from scipy.spatial import cKDTree  # not before there are many places: most metrics have none

    points, separation = separation_of(metric)
    order = np.argsort(which, kind="stable")
    kinds, starts = np.unique(which[order], return_index=True)
    members = np.split(points[order], starts[1:])
    for place, kind in enumerate(kinds[:-1].tolist()):
        tree, others = cKDTree(members[place]), points[order][starts[place + 1] :]
        nearest = np.minimum.reduceat(tree.query(others)[0], starts[place + 1 :] - starts[place + 1])
        bounds = separation.at_least(nearest * (1 - _ROUNDING_OF_A_CHORD))
        yield PairBlock(np.full(len(bounds), kind), kinds[place + 1 :].astype(np.int64), bounds)


def nearest_at_all(metric: PointsMetric) -> float:
    """Not above the smallest positive distance of two places, by as little; ∞ where all are at one spot."""
    from scipy.spatial import cKDTree

    points, separation = separation_of(metric)
    floor = float(separation.floor)
    spots = np.unique(points, axis=0)
    if floor > 0 and len(spots) < len(points):
        return floor
    if len(spots) < 2:
        return np.inf
    nearest = cKDTree(spots).query(spots, k=2)[0][:, 1].min()
    return float(separation.at_least(np.array([nearest * (1 - _ROUNDING_OF_A_CHORD)]))[0])


class NearPairs(NamedTuple):
    """Pairs of places ``first``, ``second`` (E,)."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]


class _Basis(NamedTuple):
    """``pairs``: K of them, with ``bounds`` (K,); ``inverse`` (K, K): B⁻¹, each entry rounded to the nearest."""

    pairs: NearPairs
    bounds: NDArray[np.float64]
    inverse: NDArray[np.float64]

    def sizes(self, values: NDArray[np.float64], centre: NDArray[np.float64] | float = 0.0) -> NDArray[np.float64]:
        """(E,): Σ_f |(B⁻¹v)_f − centre_f|·b_f of values (E, K) that are whole, *rounded up*."""
        doubt = (np.abs(values) @ np.abs(self.inverse).T) * ((values.shape[1] + 4) * 2 * UNIT_ROUNDOFF)
        return np.asarray((np.abs(self.places(values) - centre) * _CAUTION + doubt) @ self.bounds * _CAUTION)

    def places(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """B⁻¹v, rounded."""
        return np.asarray(values @ self.inverse.T)


def near_pairs(metric: PointsMetric, values: NDArray[np.int64], most: int) -> NearPairs | None:
    """Pairs of places such that noise that hides theirs hides all differences of ``values`` (N, K) between places.

    None where no short differences span all, or more than ``most`` pairs would be left to look at.
    Guarantee: whatever norm keeps ‖Δ_e‖ at most the distance of these pairs keeps it so for all.
    """
    from scipy.spatial import cKDTree

    points, separation = separation_of(metric)
    tree = cKDTree(points)
    moved = (values - values[:1]).astype(np.float64)
    basis = _basis(metric, values, tree.query(points, k=min(_NEIGHBOURS, len(points)))[1])
    if basis is None:
        return None
    centre = np.median(basis.places(moved), axis=0)
    furthest = 2 * float(basis.sizes(moved, centre).max()) * _CAUTION
    reach, whole = float(np.finfo(np.float64).tiny), 2 * float(np.abs(points).max()) * np.sqrt(points.shape[1])
    if float(separation.at_least(np.array([0.0]))[0]) < furthest:
        reach = whole
        while float(separation.at_least(np.array([reach / _STEP]))[0]) >= furthest:
            reach /= _STEP
    reach *= 1 + 1e-9
    if (tree.count_neighbors(tree, reach) - len(points)) // 2 > most:
        return None
    pairs = tree.query_pairs(reach, output_type="ndarray").astype(np.int64)
    needed = _needed(metric, moved, basis, pairs)
    kept = np.concatenate([pairs[needed], np.stack(basis.pairs, axis=1)])
    return NearPairs(kept[:, 0], kept[:, 1])


def _needed(
    metric: PointsMetric, moved: NDArray[np.float64], basis: _Basis, pairs: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which pairs are nearer than what is known of their difference."""
    needed = np.ones(len(pairs), dtype=bool)
    at_once = max(1, _ENTRIES_PER_BLOCK // moved.shape[1])
    for start in range(0, len(pairs), at_once):
        first, second = pairs[start : start + at_once].T
        sizes = basis.sizes(moved[first] - moved[second])
        needed[start : start + at_once] = metric.distance(first, second) < sizes
    return needed


def _basis(metric: PointsMetric, values: NDArray[np.int64], neighbours: NDArray[np.int64]) -> _Basis | None:
    """Short differences, as many as there are queries and independent; None where too few are."""
    from flint import fmpz_mat

    count = values.shape[1]
    if count > _MOST_QUERIES:
        return None
    first, second = np.repeat(np.arange(len(values)), neighbours.shape[1]), neighbours.ravel().astype(np.int64)
    bounds = metric.distance(first, second)
    moving = np.flatnonzero((bounds > 0) & np.any(values[first] != values[second], axis=1))
    order = moving[np.argsort(bounds[moving], kind="stable")][:_TRIED]
    spanned, chosen = np.zeros((0, count)), []
    for place in order.tolist():
        difference = (values[first[place]] - values[second[place]]).astype(np.float64)
        left = difference - spanned.T @ (spanned @ difference)
        left = left - spanned.T @ (spanned @ left)
        length = float(np.linalg.norm(left))
        if length > _NEW * float(np.linalg.norm(difference)):
            spanned = np.vstack([spanned, left / length])
            chosen.append(place)
        if len(chosen) == count:
            break
    if len(chosen) < count:
        return None
    columns = (values[first[chosen]] - values[second[chosen]]).T
    inverse = fmpz_mat(columns.tolist()).inv()
    # Python divides whole numbers to the nearest float64.
    entries = [[int(entry.p) / int(entry.q) for entry in row] for row in inverse.tolist()]
    return _Basis(NearPairs(first[chosen], second[chosen]), bounds[chosen], np.array(entries))
