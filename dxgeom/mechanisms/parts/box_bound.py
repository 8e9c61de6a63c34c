"""Kernel: what no noise for boxes has a smaller total error than; by SciPy's sparse matrices and L-BFGS.

By duality, on pairs of which an average is known. For pure noise also by the volume of all changes' hull along random
directions: the change that a direction sees most of is found smoothly.

Noise that hides a body K of m dimensions at distance 1, and stretches, has a mean square of at least
m(m + 1)·(Vol K/ω_m)^(2/m). In an ellipsoid's coordinates Vol K is the ellipsoid's times the mean of ‖u‖_K^(−m) over
directions u, uniform on the sphere. A positive number is above c times its mean with a chance of at most 1/c. So what
some directions have says what the mean is not below, up to a chance as small as one likes: c goes into the bound to the
power 2/m, which is next to nothing where m is some hundreds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.bounds.workload_bound import weighed_workload
from dxgeom.mechanisms.parts.box_bound_at_once import (
    UPWARD,
    each_alone,
    most_of,
    of_all_prefixes,
    of_prefixes_by_category,
    of_whole_products,
    spread,
    where_records_go,
)
from dxgeom.mechanisms.parts.box_scales import line_gaps, round_steps
from dxgeom.mechanisms.parts.joint_totals import gram_of_ranges, round_bound
from dxgeom.mechanisms.parts.tables import family_of
from dxgeom.mechanisms.parts.volumes import tables_volume_bound
from dxgeom.mechanisms.parts.weighed_totals import prefixes_bound_by_weights
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.sealed import cached_property
from dxgeom.privacy.measures import PURE, privacy_measure_of
from dxgeom.universe.workloads.box_queries import BoxQueries

Floats = NDArray[np.float64]


class Pairs(NamedTuple):
    """Two values each, ``first`` and ``second`` (P,), every pair in both orders; ``inverse`` (P,): one over a distance
    that is not below theirs."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    inverse: Floats


def every_pair(size: int, distance: float) -> Pairs:
    """All of so many values, at one distance."""
    first, second = np.nonzero(~np.eye(size, dtype=np.bool_))
    return Pairs(first, second, np.full(len(first), 1 / distance))


def neighbours(gaps: Floats) -> Pairs:
    """On a line."""
    below = np.flatnonzero(np.isfinite(gaps))
    first, second = np.concatenate([below, below + 1]), np.concatenate([below + 1, below])
    return Pairs(first, second, np.tile(1 / gaps[below], 2))


@final
@dataclass(frozen=True, eq=False)
class BoxChanges:
    """Changes v_e = √c·Δ_e/d_e of weighted boxes that restrict one attribute or two.

    ``inside``: of each attribute (K, n): 1 where a box counts the value. ``supports``: the attributes that boxes
    restrict, and which boxes. ``pairs``: of each attribute, None where no change of it is looked at. ``roots`` (K,).
    """

    inside: tuple[Floats, ...]
    supports: tuple[tuple[tuple[int, ...], NDArray[np.int64]], ...]
    pairs: tuple[Pairs | None, ...]
    roots: Floats

    @cached_property
    def count(self) -> int:
        """How many changes there are."""
        sizes = [one.shape[1] for one in self.inside]
        each = ((one, size) for one, size in zip(self.pairs, sizes, strict=True) if one is not None)
        return sum(len(one.first) * math.prod(sizes) // size for one, size in each)

    @cached_property
    def entries(self) -> int:
        """How many numbers one look at all of them takes."""
        total = 0
        for place, own in enumerate(self.pairs):
            beside = [self.inside[_other(columns, place)].shape[1] for columns, _ in self._of(place)]
            total += 0 if own is None else len(own.first) * sum(beside)
        return total

    def _of(self, place: int) -> list[tuple[tuple[int, ...], int]]:
        return [(columns, number) for number, (columns, _) in enumerate(self.supports) if place in columns]

    def moment(self) -> Floats | None:
        """(K, K): the average of v·vᵀ over the attributes, the pairs of each, and the others' values, all alike; None
        where there is no change."""
        alike = [one @ one.T / one.shape[1] for one in self.inside]
        found = []
        for place, own in enumerate(self.pairs):
            if own is not None and len(own.first):
                moved = (self.inside[place][:, own.first] - self.inside[place][:, own.second]) * own.inverse
                others = [one for number, one in enumerate(alike) if number != place]
                found.append(math.prod(others, start=moved @ moved.T / len(own.first)))
        return self.roots[:, None] * sum(found[1:], found[0]) / len(found) * self.roots if found else None

    def smooth(self, direction: Floats, sharpness: float) -> tuple[float, Floats]:
        """(log Σ_e exp(t·⟨y, v_e⟩))/t at t = ``sharpness`` for a direction y (K,), which is above every ⟨y, v_e⟩; and
        its gradient (K,), a mean of changes.

        Values of the other attributes are free, and each table has at most one of them: so sums are taken table by
        table.
        """
        tables = self._scores(direction * self.roots)
        chances, inside = [], []
        for place, own in enumerate(self.pairs):
            found, beside = self._of_attribute(place, own, tables, sharpness) if own is not None else (np.zeros(0), {})
            chances.append(found)
            inside.append(beside)
        whole = float(logsumexp(np.concatenate(chances)))
        means = [np.zeros_like(one) for one in tables]
        for place, own in enumerate(self.pairs):
            if own is not None:
                weights = np.exp(chances[place] - whole) * own.inverse
                self._add_means(means, place, own, weights, inside[place])
        return whole / sharpness, self.roots * self._counted(means)

    def _of_attribute(
        self, place: int, own: Pairs, tables: Sequence[Floats], sharpness: float
    ) -> tuple[Floats, dict[int, Floats]]:
        """Of each pair the logarithm of its sum, and of each table the chances (P, n) of the other attribute."""
        logs, beside = np.zeros(len(own.first)), {}
        for columns, number in self._of(place):
            table = tables[number] if columns[0] == place else tables[number].T
            steps = (table[own.first] - table[own.second]) * (sharpness * own.inverse)[:, None]
            most = steps.max(axis=1, keepdims=True)
            powers = np.exp(steps - most)
            sums = powers.sum(axis=1, keepdims=True)
            # A table of this attribute alone says nothing of the others.
            logs += (most + np.log(sums))[:, 0]
            beside[number] = powers / sums
        return logs, beside

    def _add_means(
        self, means: list[Floats], place: int, own: Pairs, weights: Floats, beside: dict[int, Floats]
    ) -> None:
        for columns, number in self._of(place):
            table = means[number] if columns[0] == place else means[number].T
            each = weights[:, None] * beside[number]
            np.add.at(table, own.first, each)
            np.subtract.at(table, own.second, each)

    def _scores(self, weights: Floats) -> list[Floats]:
        """Of every support (n, n′), or (n, 1): the weights of the boxes that count a cell."""
        found = []
        for columns, boxes in self.supports:
            one = self.inside[columns[0]][boxes]
            other = self.inside[columns[1]][boxes] if len(columns) == 2 else np.ones((len(boxes), 1))
            found.append((one * weights[boxes, None]).T @ other)
        return found

    def _counted(self, tables: Sequence[Floats]) -> Floats:
        """(K,): what boxes count in these tables."""
        found = np.zeros(len(self.roots))
        for (columns, boxes), table in zip(self.supports, tables, strict=True):
            sums = self.inside[columns[0]][boxes] @ table
            found[boxes] = (sums * self.inside[columns[1]][boxes]).sum(axis=1) if len(columns) == 2 else sums[:, 0]
        return found


def _other(columns: tuple[int, ...], place: int) -> int:
    return next((one for one in columns if one != place), place)


CHANCE: Final = 1e-9
"""That the bound does not hold, over the directions drawn."""
_MOST_BOXES: Final = 1_600
MOST_ENTRIES: Final = 1 << 20
_LEAST_DIMENSION: Final = 16
_FITTED, _DRAWN = 4, 8
_BINS: Final = 14
_FARTHEST: Final = 4.0
_RANK: Final = 1e-9
_SHARPNESS: Final = ((4.0, 100), (14.0, 250))
"""In units of what tells the best of all changes from the others, and the most steps with it."""
_SHARP: Final = 1e4
"""So sharp that the smooth maximum is the maximum, next to nothing apart."""
_CAUTION: Final = 1 - 1e-6


class BoundedGauge(NamedTuple):
    """``above``: the gauge is no larger; ``away``: for each axis what the direction's part there adds to it, over the
    average."""

    above: float
    away: Floats


def random_volume_bound(changes: BoxChanges) -> float:
    """Total squared error, each times its cost, that no pure noise which stretches to every spend is below; 0 where
    there is nothing to measure, or too much.

    Guarantee: up to a chance of 10⁻⁹ in drawing the directions, which come from a fixed seed; up to the rounding of
    float64, for which a millionth is taken off. Of each direction the gauge is bounded from above, by weights of
    changes whose sum is nearly the direction; what is left is bounded by the ellipsoid of the changes' mean square,
    which the hull contains.
    Source: Markov's inequality; ``docs/decisions/050-volumes-along-random-directions.md``.
    """
    if not changes.supports or len(changes.roots) > _MOST_BOXES or changes.entries > MOST_ENTRIES:
        return 0.0
    moment = changes.moment()
    if moment is None:
        return 0.0
    squares, axes = np.linalg.eigh(moment)
    kept = squares > _RANK * squares.max(initial=0.0)
    if np.count_nonzero(kept) < _LEAST_DIMENSION:
        return 0.0
    generator = np.random.default_rng(0)
    hull = _Hull(changes, axes[:, kept], squares[kept])
    lengths = _fitted(hull, generator)
    gauges = np.array([hull.gauge(lengths, _direction(hull.dimension, generator)).above for _ in range(_DRAWN)])
    return _bound(np.sort(gauges), float(np.log(lengths).sum()), hull.dimension)


def _bound(gauges: Floats, log_lengths: float, dimension: int) -> float:
    """From gauges in rising order: at least j of n of them have a power above c times the mean with a chance of at most
    C(n, j)·c^(−j), and one of the n such statements is taken."""
    best, drawn = 0.0, len(gauges)
    for place, gauge in enumerate(gauges.tolist(), start=1):
        if math.isfinite(gauge):
            caution = (math.log(math.comb(drawn, place)) + math.log(drawn / CHANCE)) / place
            best = max(best, math.exp(2 / dimension * (log_lengths - caution)) / gauge**2)
    return dimension * (dimension + 1) * best * _CAUTION


def _direction(dimension: int, generator: np.random.Generator) -> Floats:
    found = generator.standard_normal(dimension)
    return np.asarray(found / np.linalg.norm(found))


@final
@dataclass(frozen=True, eq=False)
class _Hull:
    """The changes in the space that they span: ``axes`` (K, m) and their mean ``squares`` (m,) along these, rising."""

    changes: BoxChanges
    axes: Floats
    squares: Floats

    @property
    def dimension(self) -> int:
        """m."""
        return len(self.squares)

    def gauge(self, lengths: Floats, direction: Floats) -> BoundedGauge:
        """Of a direction u (m,) of length 1 in the coordinates of an ellipsoid with these ``lengths`` along the axes.

        Definition: the least of the smooth maximum of ⟨z, v_e⟩ over z with ⟨z, u⟩ = 1. There its gradient, a mean of
        changes, is nearly a multiple g of u, and so ‖u‖ ≤ (1 + ‖rest‖)/g.
        """
        from scipy.optimize import minimize

        scaled = self.axes / lengths
        place = direction

        def smooth(sharpness: float) -> Callable[[Floats], tuple[float, Floats]]:
            def value(free: Floats) -> tuple[float, Floats]:
                along = float(free @ direction)
                value, mean = self.changes.smooth(scaled @ (free / along), sharpness)
                mean = scaled.T @ mean
                return value, (mean - direction * float(mean @ free) / along) / along

            return value

        sharpness = 1.0
        for times, steps in _SHARPNESS:
            largest, _ = self.changes.smooth(scaled @ place, _SHARP * sharpness)
            sharpness = times * math.log(self.changes.count) / (3 * largest)
            options = {"maxiter": steps, "maxcor": 20}
            free = minimize(smooth(sharpness), place, jac=True, method="L-BFGS-B", options=options).x
            place = free / float(free @ direction)
        mean = scaled.T @ self.changes.smooth(scaled @ place, sharpness)[1]
        reached = float(mean @ direction)
        if not reached > 0:
            return BoundedGauge(math.inf, np.ones(self.dimension))
        rest = float(np.linalg.norm((mean - reached * direction) * lengths / np.sqrt(self.squares)))
        return BoundedGauge((1 + rest) / reached, place * direction * self.dimension)


def _fitted(hull: _Hull, generator: np.random.Generator) -> Floats:
    """(m,): lengths of the axes for which every part of a direction adds its share to the gauge, on average: where
    they do, no other lengths have a larger mean of logarithms. Any lengths make a bound."""
    lengths = np.sqrt(hull.squares)
    parts = np.array([hull.gauge(lengths, _direction(hull.dimension, generator)).away for _ in range(_FITTED)])
    for own in np.array_split(np.arange(hull.dimension), max(1, min(_BINS, hull.dimension // 4))):
        share = float(np.clip(parts[:, own].mean(), 1 / _FARTHEST, _FARTHEST))
        lengths[own] /= math.sqrt(share)
    return lengths


_TOGETHER: Final = (1_600, 800, 400, 200, 100)
"""So many boxes have one bound, the most that the work allows; the groups' bounds add up."""
WORK_OF_WEIGHTS: Final = 5e9
"""Multiplications that a search for weights of pairs may take;"""
_WORK_OF_GROUPS: Final = 6e10
"""and so many the groups: 1,600 boxes together, or up to some 14,000 in groups of 800."""
_STEPS: Final = 4


def boxes_bound(metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]) -> float:
    """Total squared error, each times its cost (K,), that no additive noise which stretches to every spend is below.

    Definition: v_e = √c·Δ_e/d_e; for weights p of some pairs e, Σ p = 1, every Gaussian covariance has
    tr(C·Σ) ≥ (tr A^{1/2})², A = Σ p_e v_e v_eᵀ, and other noise ``least_mean_square`` times that. The
    pairs: of each attribute neighbours on its line, or all values, with every value of the others alike; and a record
    and none. Of all values the average of (u_i − u_j)² is 2n/(n−1) times the variance of u. More than 1,600 boxes are
    taken in groups, whose bounds add up; very many prefixes in closed form. Each box alone needs the variance of noise
    of its own or more; where these add up to more than a group's bound, they are taken. For pure privacy boxes that are
    whole tables, or restrict one attribute or two, have the bounds of volumes, if these and the others' add up to more.
    Guarantee: up to the rounding of float64 in eigenvalues, for which it is made smaller by 2⁻²⁰; and for pure privacy
    up to a chance of 10⁻⁹ in drawing directions, see :func:`random_volume_bound`.
    """
    boxes, least = boxes.merged, privacy_measure_of(metric.privacy).least_mean_square
    alone = costs * each_alone(metric, boxes)
    every = np.arange(boxes.count)
    found = of_prefixes_by_category(metric, boxes, costs) if metric.privacy != PURE else 0.0
    if found:
        return found * least / UPWARD
    found = max(_by_duality(metric, boxes, costs, alone, every), _by_weights(metric, boxes, costs))
    found = max(found, _of_prefixes_along_a_line(metric, boxes, costs), _around(metric, boxes, costs)) * least
    if metric.privacy == PURE:
        for known, among in (_of_whole_tables(metric, boxes, costs), _by_directions(metric, boxes, costs)):
            if known:
                rest = _by_duality(metric, boxes, costs, alone, np.setdiff1d(every, among))
                found = max(found, known + rest * least)
    return found / UPWARD


def _by_duality(
    metric: VerifiedMetric,
    boxes: BoxQueries,
    costs: NDArray[np.float64],
    alone: NDArray[np.float64],
    among: NDArray[np.int64],
) -> float:
    """Of some of the boxes, with normal noise."""
    known, left = 0.0, among
    if len(among) == boxes.count > _TOGETHER[0]:
        known, of_products = of_whole_products(metric, boxes, costs)
        left = np.setdiff1d(left, of_products)
    for place in range(len(boxes.columns) if len(among) == boxes.count else 0):
        alike = of_all_prefixes(metric, boxes, costs, place, _TOGETHER[1])
        own, of_line = max(alike, where_records_go(metric, boxes, costs, place, left), key=lambda one: one[0])
        if own:
            known, left = known + own, np.setdiff1d(left, of_line)
    found = [float(alone[among].sum()), known + _in_groups(metric, boxes, costs, alone, left)]
    if known and len(among) <= _TOGETHER[0]:
        found.append(_in_groups(metric, boxes, costs, alone, among))
    return max(found)


def _in_groups(
    metric: VerifiedMetric,
    boxes: BoxQueries,
    costs: NDArray[np.float64],
    alone: NDArray[np.float64],
    among: NDArray[np.int64],
) -> float:
    """So many together as there is time for; the bounds of groups add up."""
    total = 0.0
    groups = _groups_of(len(among), len(boxes.columns) + 1)
    for start in range(groups):
        own = among[start::groups]
        total += max(_of_group(_moments(metric, boxes, own), np.sqrt(costs[own])), float(alone[own].sum()))
    return total


def _groups_of(count: int, kinds: int) -> int:
    """Into how many groups so many boxes go: each takes a few eigenvectors, and products for each kind of pairs."""
    for together in _TOGETHER:
        groups = -(-count // together)
        if groups * _STEPS * (2 + kinds / 4) * float(min(count, together)) ** 3 <= _WORK_OF_GROUPS:
            return groups
    return -(-count // _TOGETHER[-1])


def _by_weights(metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]) -> float:
    """Of all boxes together, by weights of pairs that are sought; 0 where they are too many."""
    try:
        workload = weighed_workload(metric.metric, boxes.tables, np.sqrt(costs))
        return 0.0 if workload is None else workload.bound(WORK_OF_WEIGHTS)
    except TooLarge:
        return 0.0


def _of_whole_tables(
    metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]
) -> tuple[float, NDArray[np.int64]]:
    """The boxes that are every cell of tables of one attribute or two, and the bound that pure noise for tables has."""
    asked, least, among = [], [], []
    for columns, places in boxes.supports:
        sizes = [boxes.sizes[place] for place in columns]
        lower, upper = boxes.lower[places][:, list(columns)], boxes.upper[places][:, list(columns)]
        cells = np.flatnonzero(np.all(upper - lower == 1, axis=1))
        if not 1 <= len(columns) <= 2 or len(cells) < math.prod(sizes):
            continue
        _, first = np.unique(np.ravel_multi_index(tuple(lower[cells].T), sizes), return_index=True)
        if len(first) == math.prod(sizes):
            own = places[cells[first]]
            asked.append(columns)
            least.append(float(costs[own].min()))
            among.append(own)
    if not asked:
        return 0.0, np.zeros(0, dtype=np.int64)
    most = [most_of(metric, boxes, place) for place in range(len(boxes.columns))]
    constants = np.array([math.inf if one is None else float(one) for one in most])
    bound = tables_volume_bound(family_of(boxes.sizes, asked), constants, np.array(least), worst=False)
    return bound, np.concatenate(among)


def _by_directions(
    metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]
) -> tuple[float, NDArray[np.int64]]:
    """The boxes that restrict one attribute or two, and the bound by the volume of all that changes do to them."""
    few = [places for columns, places in boxes.supports if 1 <= len(columns) <= 2]
    among = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *few]))
    if not 0 < len(among) <= _TOGETHER[0]:
        return 0.0, among
    own = replace(boxes, lower=boxes.lower[among], upper=boxes.upper[among], importance=None, errors=()).merged
    values = [np.arange(size) for size in own.sizes]
    ends = zip(values, own.lower.T, own.upper.T, strict=True)
    inside = tuple(((low[:, None] <= one) & (one < high[:, None])).astype(np.float64) for one, low, high in ends)
    pairs: list[Pairs | None] = []
    for place, (line, size) in enumerate(zip(line_gaps(metric, own), own.sizes, strict=True)):
        if line is not None:
            pairs.append(neighbours(line * UPWARD))
        else:
            most = most_of(metric, own, place)
            pairs.append(None if most is None or size**2 > MOST_ENTRIES else every_pair(size, float(most) * UPWARD))
    supports = tuple((columns, places) for columns, places in own.supports if columns)
    return random_volume_bound(BoxChanges(inside, supports, tuple(pairs), np.sqrt(costs[among]))), among


def worst_alone(metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]) -> float:
    """The largest of all squared errors, each times its cost, that no such noise is below: of some box alone."""
    alone = float((costs * each_alone(metric, boxes.merged)).max())
    return alone * privacy_measure_of(metric.privacy).least_mean_square / UPWARD


def _of_prefixes_along_a_line(metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]) -> float:
    """Where records come and go, and every box is a prefix of one column."""
    if not isinstance(metric.metric, PresenceMetric) or len(boxes.columns) != 1 or np.any(boxes.lower):
        return 0.0
    gaps, size = line_gaps(metric, boxes)[0], boxes.sizes[0]
    each = np.bincount(boxes.upper[:, 0] - 1, costs, size).astype(np.float64)
    return prefixes_bound_by_weights(size, float(metric.metric.epsilon), gaps, each)


def _around(metric: VerifiedMetric, boxes: BoxQueries, costs: NDArray[np.float64]) -> float:
    """Of ranges of values that go round, by weights of records and of steps; 0 of others."""
    try:
        steps = round_steps(metric, boxes)
        if steps is None:
            return 0.0
        farther = replace(steps, apart=steps.apart * UPWARD)
        return round_bound(farther, gram_of_ranges(steps.size, boxes.lower[:, 0], boxes.upper[:, 0], costs)) / UPWARD
    except (TooLarge, CertificateRefused):
        return 0.0


def _of_group(moments: Sequence[NDArray[np.float64]], roots: NDArray[np.float64]) -> float:
    """The best of some weights of the kinds of pairs, which are shifted to those that are worth more."""
    kinds = [roots[:, None] * one * roots for one in moments]
    shares, best = np.full(len(kinds), 1 / max(1, len(kinds))), 0.0
    for _ in range(_STEPS if len(kinds) > 1 else 1):
        whole = sum((share * one for share, one in zip(shares, kinds, strict=True)), np.zeros((len(roots),) * 2))
        values, vectors = np.linalg.eigh(whole)
        lengths = np.sqrt(np.maximum(values, 0.0))
        best = max(best, float(lengths.sum()) ** 2)
        inverse = np.where(lengths > lengths.max(initial=0) * 1e-6, 1 / np.where(lengths > 0, lengths, 1.0), 0.0)
        worth = np.array([float(((vectors.T @ one) * vectors.T).sum(axis=1) @ inverse) for one in kinds])
        if worth.max(initial=0) <= 0:
            break
        shares = shares * worth / (shares @ worth)
    return best


def _moments(metric: VerifiedMetric, boxes: BoxQueries, own: NDArray[np.int64]) -> list[NDArray[np.float64]]:
    """Of each kind of pairs the average of Δ·Δᵀ/d² over boxes; kinds without a finite distance left out."""
    lower, upper = boxes.lower[own], boxes.upper[own]
    alike = [_both(lower[:, place], upper[:, place]) / size for place, size in enumerate(boxes.sizes)]
    gaps, found = line_gaps(metric, boxes), []
    for place, size in enumerate(boxes.sizes):
        line = gaps[place]
        if line is None:
            change = _among_all(lower[:, place], upper[:, place], size, most_of(metric, boxes, place))
        else:
            change = _among_neighbours(lower[:, place], upper[:, place], line)
        if change is not None:
            others = [one for number, one in enumerate(alike) if number != place]
            found.append(np.asarray(math.prod(others, start=change)))
    if isinstance(metric.metric, PresenceMetric):
        found.append(math.prod(alike, start=np.full((len(own),) * 2, 1 / float(metric.metric.epsilon) ** 2)))
    return found


def _both(lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.float64]:
    """(K, K): how many values lie in both intervals."""
    shared = np.minimum(upper[:, None], upper) - np.maximum(lower[:, None], lower)
    return np.asarray(np.maximum(shared, 0), dtype=np.float64)


def _among_all(
    lower: NDArray[np.int64], upper: NDArray[np.int64], size: int, most: Fraction | None
) -> NDArray[np.float64] | None:
    """Of every two different values alike: 2n/(n−1)·(shared/n − own·other/n²)/d²."""
    if most is None:
        return None
    lengths = (upper - lower) / size
    average = _both(lower, upper) / size - lengths[:, None] * lengths
    return np.asarray(spread(size) * average / float(most) ** 2)


def _among_neighbours(
    lower: NDArray[np.int64], upper: NDArray[np.int64], gaps: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of neighbours on a line: a step over a box's lower end takes a record into it, over its upper end out of it. Each
    cut that is some box's end has the weight that is best for a count below it: as 1/d is to the others'."""
    size = len(gaps) + 1
    worth = np.zeros(len(gaps))
    used = np.unique(np.concatenate([lower[lower > 0], upper[upper < size]])) - 1
    if not used.size:
        return np.zeros((len(lower), len(lower)))
    worth[used] = gaps.min() / gaps[used]
    worth = np.concatenate([[0.0], worth / worth.sum() / (gaps * UPWARD) ** 2, [0.0]])
    change = np.zeros((len(lower), len(lower)))
    for ends, others, sign in ((lower, lower, 1), (upper, upper, 1), (lower, upper, -1), (upper, lower, -1)):
        change += sign * np.where(ends[:, None] == others, worth[np.where(ends < size, ends, 0)][:, None], 0.0)
    return change
