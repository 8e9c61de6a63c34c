"""Maps that change no faster than a metric: the Lipschitz constant of one map, and the nearest such maps to it.

The constant takes one reduction per attribute, whatever the number of records. The nearest maps are the lower and the
upper extension of McShane.

Where every individual has a weight w it is the largest (v_i − v_j)/(w_i + w_j), found in a few linear passes instead
of over all pairs. For a slope s, the largest v_i − v_j − s·(w_i + w_j) separates: it is max(v_i − s·w_i) + max(−v_j −
s·w_j). While it is positive its two ends form a steeper quotient, which is the next slope (Dinkelbach 1967); i = j
gives −2s·w_i, never more than 0, so it need not be excluded. Products and differences are kept in two floats each, so
that nothing cancels.

How much noise each of very many counts needs where each gets its own: rates that add up to no more than a distance.

Keys are what the values of some attributes, together, put records into; a record that changes its key lowers one count
and raises another. Noise of rate r_k on the count of key k, on each its own, hides that where r_k + r_l ≤ d(i, j) for
all records i of k and j of l ≠ k. Laplace noise has the scale 1/r_k.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import NUMBER, array_of, require
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.metrics.combinations import (
    CapMetric,
    GroupedMetric,
    MaxMetric,
    OneMoreMetric,
    PresenceMetric,
    ReorderedMetric,
    SumMetric,
)
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric, StarMetric, ValueSensitivityMetric
from dxgeom.metrics.generating_pairs import axes_of_parts, refuse_cells
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.near_places import TREE_FROM, separation_of, steepest_quotient
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.restriction import (
    largest_changes,
    largest_changes_from_earlier,
    largest_range,
    largest_steps,
    lowest_along_line,
    tiles,
    without_idle_attributes,
)
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.rounding import quotient_round_up, round_down, round_up
from dxgeom.numeric.sealed import Sealed
from dxgeom.numeric.shortest_paths import edge_graph, lowest_arrivals

_SPLITTER = 2.0**27 + 1
_ERROR = 2.0**-98
"""Each of the two ends is off by less than 2⁻¹⁰¹ of its terms, and so is their sum."""
_TINY = 2.0**-1000
"""What a term too small for float64 can have lost, once values are of the order of 1."""
_LARGEST = 2.0**500
"""Products of larger numbers could overflow: a larger weight is lowered to this, a larger slope counts as infinite."""

_SMALLEST_NORMAL = float(np.finfo(np.float64).smallest_normal)


class _Excess(NamedTuple):
    """value up − value down − slope·(their weights) in a fibre, at two of its places."""

    size: float
    up: float
    down: float
    first: int
    second: int


def _product(one: float, other: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """one·other as floats and their errors (Dekker)."""
    product = one * other
    high, low = _halves(np.float64(one))
    top, rest = _halves(other)
    return product, ((high * top - product) + high * rest + low * top) + low * rest


def _halves(number: Any) -> tuple[Any, Any]:
    raised = number * _SPLITTER
    high = raised - (raised - number)
    return high, number - high


def _sum(one: Any, other: Any) -> tuple[Any, Any]:
    """one + other as a float and its error (Knuth)."""
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


def _highest(
    values: NDArray[np.float64], lowered_by: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """For each fibre the largest value − slope·weight as a float and its error, and its place."""
    products, product_errors = lowered_by
    totals, errors = _sum(values, -products[:, None])
    totals, errors = _sum(totals, errors - product_errors[:, None])
    highest = totals.max(axis=1, keepdims=True)
    errors[totals != highest] = -np.inf
    places = errors.argmax(axis=1)
    return highest[:, 0], np.take_along_axis(errors, places[:, None], axis=1)[:, 0], places


def _worst(grid: NDArray[np.float64], weights: NDArray[np.float64], slope: float) -> _Excess:
    """The largest excess over all fibres ``grid[o, :, i]``, the two values and the two places behind it."""
    worst, lowered_by = _Excess(-np.inf, 0.0, 0.0, 0, 0), _product(slope, weights)
    for tile in tiles(grid):
        up, up_errors, first = _highest(tile, lowered_by)
        down, down_errors, second = _highest(-tile, lowered_by)
        totals, errors = _sum(up, down)
        excesses = totals + (errors + (up_errors + down_errors))
        o, i = np.unravel_index(int(excesses.argmax()), excesses.shape)
        if excesses[o, i] > worst.size:
            one, other = int(first[o, i]), int(second[o, i])
            worst = _Excess(float(excesses[o, i]), float(tile[o, one, i]), float(tile[o, other, i]), one, other)
    return worst


def steepest_star_quotient(grid: NDArray[Any], weights: NDArray[np.float64]) -> float:
    """max over fibres ``grid[o, :, i]`` and i ≠ j of |v_i − v_j|/(w_i + w_j), *rounded up*.

    Args: ``grid`` C-contiguous, int64 below 2⁵² in magnitude or finite float64; ``weights`` positive.
    Guarantee: never below the exact quotient; above it by a relative 2⁻⁵¹ and by 2⁻⁹⁵·reach/(smallest weight), where
    reach is the range of the whole grid for integers and its largest magnitude for floats.
    """
    values, scale = _of_order_one(grid)
    weights = np.minimum(weights, _LARGEST)
    slope = 0.0
    while True:
        worst = _worst(values, weights, slope)
        if worst.up <= worst.down:
            break
        together = Fraction(weights[worst.first]) + Fraction(weights[worst.second])
        steeper = round_up((Fraction(worst.up) - Fraction(worst.down)) / together)
        if steeper <= slope:
            break
        if steeper > _LARGEST:
            return math.inf
        slope = steeper
    if slope == 0:
        return 0.0
    # A pair with slope·w above the range is no steeper whatever was rounded; the others' terms are below this.
    reach = float(np.abs(values).max() + 2 * np.ptp(values))
    certain = slope + (max(worst.size, 0.0) + reach * _ERROR + _TINY) / float(weights.min())
    return _scaled_up(math.nextafter(certain, math.inf) if certain > slope else slope, scale)


def _scaled_up(number: float, scale: float) -> float:
    """number·scale for a power of two, *rounded up*; float64 has fewer digits below its normal numbers."""
    product = number * scale
    return product if product >= _SMALLEST_NORMAL else math.nextafter(product, math.inf)


def _of_order_one(grid: NDArray[Any]) -> tuple[NDArray[np.float64], float]:
    """The values over a power of two, integers counted from the smallest, so that they neither cancel nor overflow."""
    if grid.dtype.kind != "f":
        return (grid - grid.min()).astype(np.float64), 1.0
    exponent = int(np.frexp(np.max(np.abs(grid), initial=0.0))[1])
    exponent = min(max(exponent, -1000), 1000)
    return np.ascontiguousarray(np.ldexp(grid, -exponent)), 2.0**exponent


COMPARISON_LIMIT = 100_000_000_000
"""More comparisons than this would take several minutes."""
_INTEGERS_BELOW = 2**52
_ROUNDING_OF_A_PRODUCT = 2.0**-51


def lipschitz(metric: VerifiedMetric | Metric, values: ArrayLike, tolerance: float = 0.0) -> float:
    """The Lipschitz constant max |v_i − v_j| / d(i, j) of one map (N,), *rounded up*.

    It is the smallest scale of Laplace noise that hides the map's value for one record under d.

    0 when the map never changes along a generating pair; ∞ when it separates records at distance 0.

    Args: ``values``: integers below 2⁵² in magnitude, whose differences are exact; or finite float64, whose differences
    are rounded up by one unit in the last place. The quotient is rounded up once more either way.
    ``tolerance``: how much too large, relatively, the result for places may be; 1e-9 saves time on near-linear maps.
    Guarantee: not below the exact constant for the metric's bounds; above it by a relative 2⁻⁵⁰ at most. From 3000
    places on, which are not compared pair by pair, their distances are lowered by another relative 2·10⁻¹⁴ first.
    Raises: TooLarge for wider integers, or beyond the stated number of comparisons.
    """
    require(metric, (VerifiedMetric, Metric), "metric", "compile a policy, or use dx.verify_metric(matrix)")
    require(tolerance, NUMBER, "tolerance", "leave it out, for the constant itself")
    if not 0 <= tolerance <= 1:
        raise UnsupportedCombination(f"a tolerance lies between 0 and 1, found {tolerance}")
    bare = metric.metric if isinstance(metric, VerifiedMetric) else metric
    rows = _checked(bare, array_of(values, "values", "give one number for each possible record"))[None, :]
    fewer, rows = without_idle_attributes(bare, rows)
    return _along(fewer, np.ascontiguousarray(rows).reshape(1, -1, 1), tolerance)


def _along(metric: Metric, grid: NDArray[Any], tolerance: float) -> float:
    """The constant of the steepest fibre ``grid[o, :, i]``, each a map on the metric's records."""
    match metric:
        case DiscreteMetric(epsilon=epsilon):
            return _over_one(largest_range(grid), epsilon)
        case CapMetric(inner=inner, epsilon=epsilon):
            ceiling = DiscreteMetric(inner.size, epsilon)
            return max(_along(inner, grid, tolerance), _along(ceiling, grid, tolerance))
        case OneMoreMetric(inner=inner, epsilon=None):
            return _along(inner, np.ascontiguousarray(grid[:, :-1]), tolerance)
        case PresenceMetric(inner=inner, epsilon=epsilon) | OneMoreMetric(inner=inner, epsilon=Fraction() as epsilon):
            present = np.ascontiguousarray(grid[:, :-1])
            gone = np.max(np.abs(present - grid[:, -1:]))
            return max(_along(inner, present, tolerance), _over_one(gone, epsilon))
        case SumMetric(parts=parts):
            return max(_along(part, metric.grid_along(grid, k), tolerance) for k, part in enumerate(parts))
        case GroupedMetric(parts=parts, groups=groups):
            by_groups = (_over_one(_widest(grid, metric, group.places), group.epsilon) for group in groups)
            return max([_along(SumMetric(parts), grid, tolerance), *by_groups])
        case PartitionMetric(blocks=blocks, epsilon=epsilon):
            return _over_one(_widest_block(grid, blocks), epsilon)
        case MaxMetric(step=Fraction() as step):
            return _over_one(_widest_cube(grid, metric), step)
        case LineMetric():
            return _steepest(largest_steps(grid), metric.gaps)
        case ValueSensitivityMetric():
            return _by_value(metric, grid)
        case StarMetric(epsilons=epsilons) if len(epsilons) > 1:
            # A generating bound is a sum of two floats rounded down: below it by less than 3·2⁻⁵³.
            quotient = steepest_star_quotient(grid, metric.rounded)
            return math.nextafter(quotient * (1 + _ROUNDING_OF_A_PRODUCT), math.inf) if quotient else 0.0
        case PointsMetric(coordinates=coordinates) if metric.size >= TREE_FROM and coordinates.shape[1] <= 3:
            return _by_tree(metric, grid, tolerance)
        case _:
            return _pair_by_pair(metric, grid)


def _widest(grid: NDArray[Any], metric: GroupedMetric, places: tuple[int, ...]) -> Any:
    """The largest difference between two records that differ in these parts only."""
    axes = tuple(place + 1 for place in places)
    laid_out = grid.reshape(len(grid), *metric.shape, -1)
    return (laid_out.max(axis=axes) - laid_out.min(axis=axes)).max()


def _widest_block(grid: NDArray[Any], blocks: NDArray[np.int64]) -> Any:
    """The largest difference between two values of one block."""
    order = np.argsort(blocks, kind="stable")
    starts = np.flatnonzero(np.diff(blocks[order], prepend=blocks[order[0]] - 1))
    by_block = grid[:, order]
    return (np.maximum.reduceat(by_block, starts, axis=1) - np.minimum.reduceat(by_block, starts, axis=1)).max()


def _widest_cube(grid: NDArray[Any], metric: MaxMetric) -> Any:
    """The largest difference of neighbours, whose codes all differ by at most one: both lie in one cube of side 1."""
    high = low = grid.reshape(len(grid), *metric.shape, -1)
    for axis, size in enumerate(metric.shape, start=1):
        if size > 1:
            one, other = ((slice(None),) * axis + (slice(start, size - 1 + start),) for start in (0, 1))
            high, low = np.maximum(high[one], high[other]), np.minimum(low[one], low[other])
    return (high - low).max()


def _by_value(metric: ValueSensitivityMetric, grid: NDArray[Any]) -> float:
    """In falling order of ε the bound of a value and any earlier one is the same: that of the later value."""
    falling = sorted(range(metric.size), key=lambda value: -metric.epsilons[value])
    order = np.array(falling, dtype=np.int64)
    return _steepest(largest_changes_from_earlier(grid, order)[1:], metric.distance(order[0], order[1:]))


def _by_tree(metric: PointsMetric, grid: NDArray[Any], tolerance: float) -> float:
    points, separation = separation_of(metric)
    fibres = grid.transpose(0, 2, 1).reshape(-1, metric.size).astype(np.float64)
    return max(steepest_quotient(points, fibre, separation, tolerance) for fibre in fibres)


def _pair_by_pair(metric: Metric, grid: NDArray[Any]) -> float:
    largest, seen, fibres = 0.0, 0, grid.size // metric.size
    for pairs in metric.generating_pairs():
        seen += fibres * pairs.bound.size
        if seen > COMPARISON_LIMIT:
            raise TooLarge(
                f"more than {COMPARISON_LIMIT:,} comparisons would be needed for the Lipschitz constant; "
                "let the map depend on fewer attributes, or take coarser attributes"
            )
        changes = largest_changes(grid, pairs.first.astype(np.int64), pairs.second.astype(np.int64))
        largest = max(largest, _steepest(changes, pairs.bound))
    return largest


def _over_one(change: Any, epsilon: Fraction) -> float:
    return _steepest(np.array([change]), np.array([round_down(epsilon)]))


def _steepest(changes: NDArray[Any], bounds: NDArray[np.float64]) -> float:
    """max changes/bounds, *rounded up*; differences of floats were rounded to nearest before."""
    heights = changes.astype(np.float64)
    if changes.dtype.kind == "f":
        heights = np.where(heights == 0, 0.0, np.nextafter(heights, np.inf))
    return float(np.max(quotient_round_up(heights, bounds), initial=0.0))


def _checked(metric: Metric, values: NDArray[Any]) -> NDArray[Any]:
    if values.shape != (metric.size,):
        raise UnsupportedCombination(
            f"a map has one number per possible record, {metric.size:,} here; found shape {values.shape}"
        )
    if values.dtype.kind not in "iuf":
        raise UnsupportedCombination(f"a map's values are integers or float64, found {values.dtype}")
    low, high = values.min(), values.max()
    if values.dtype.kind == "f":
        if not (np.isfinite(low) and np.isfinite(high)):
            raise UnsupportedCombination("a map's values are finite numbers")
        return values.astype(np.float64, copy=False)
    if high >= _INTEGERS_BELOW or low <= -_INTEGERS_BELOW:
        raise TooLarge("integer values must stay below 2**52 in magnitude, so that their differences are exact")
    return values.astype(np.int64, copy=False)


PAIR_LIMIT = 100_000_000
"""Where a metric has no structure all pairs are compared, up to so many."""
_ENTRIES_PER_BLOCK = 1 << 22


def lower_extension(
    metric: Metric, values: NDArray[np.float64], scale: float, *, whole: bool = False
) -> NDArray[np.float64]:
    """(N,): the largest map below ``values`` (N,) that changes by at most scale·d.

    Definition: min_j (v_j + scale·d(i, j)), over *all* j: an excess builds up along a path, so generating pairs alone
    would show too little of it. Sums go axis by axis, lines in two passes, graphs by one shortest-path search, ceilings
    and constants by a minimum; other metrics compare all pairs.
    Args: ``whole``: for integer values, the largest *integer* map that changes by at most ⌊scale·b_e⌋ along every
    generating pair e.
    Guarantee: *exact* with ``whole`` for values below 2⁵¹, but that an allowance next to an integer may count as one
    less; else within float64's rounding.
    Raises: TooLarge beyond the stated number of pairs.
    """
    grid = np.asarray(values, dtype=np.float64).reshape(1, -1, 1)
    return _extended_along(metric, grid, _Allowance(scale, whole, float(np.ptp(grid)) + 2)).reshape(-1)


def upper_extension(
    metric: Metric, values: NDArray[np.float64], scale: float, *, whole: bool = False
) -> NDArray[np.float64]:
    """(N,): the smallest map above ``values`` that changes by at most scale·d, in the same sense."""
    return -lower_extension(metric, -np.asarray(values, dtype=np.float64), scale, whole=whole)


def distances_to_all(metric: Metric, record: int, most: float) -> NDArray[np.float64]:
    """(N,): min(d(record, j), most) for every j."""
    if isinstance(metric, GraphMetric):
        # One search instead of one from each record of a lower index, as symmetric rounding asks for.
        elsewhere = np.where(np.arange(metric.size) == record, 0.0, most)
        return lower_extension(metric, elsewhere, 1.0)
    return np.minimum(metric.distance(record, np.arange(metric.size)), most)


@final
@dataclass(frozen=True)
class _Allowance:
    """How far a map may change over a distance; more than ``most`` it never does."""

    scale: float
    whole: bool
    most: float

    def over(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        allowed = np.minimum(self.scale * distances, self.most)
        # A product that rounding lifted to the next integer must not be allowed more than the exact one.
        return np.asarray(np.floor(allowed * (1 - 2.0**-52)) if self.whole else allowed)

    def over_one(self, epsilon: float) -> float:
        return float(self.over(np.array([epsilon]))[0])


def _extended_along(metric: Metric, grid: NDArray[np.float64], allowed: _Allowance) -> NDArray[np.float64]:
    """The extension of every fibre ``grid[o, :, i]``, each a map on the metric's records."""
    match metric:
        case DiscreteMetric(epsilon=epsilon):
            return _under_ceiling(grid, grid, allowed.over_one(round_down(epsilon)))
        case CapMetric(inner=inner, epsilon=epsilon):
            return _under_ceiling(_extended_along(inner, grid, allowed), grid, allowed.over_one(round_down(epsilon)))
        case LineMetric():
            return lowest_along_line(np.ascontiguousarray(grid), allowed.over(metric.gaps))
        case StarMetric():
            # Through the centre; two arms rounded down allow no more than their sum rounded down.
            arms = allowed.over(metric.rounded)[:, None]
            return _under_ceiling(grid, grid + arms, arms)
        case SumMetric(parts=parts):
            for axis, part in enumerate(parts):
                grid = _extended_along(part, metric.grid_along(grid, axis), allowed).reshape(grid.shape)
            return grid
        case GraphMetric() if grid.size == metric.size:
            graph = edge_graph(metric.count, metric.first, metric.second, allowed.over(metric.bounds))
            return lowest_arrivals(graph, grid.reshape(-1)).reshape(grid.shape)
        case _:
            return _by_pairs(metric, grid, allowed)


def _under_ceiling(
    inner: NDArray[np.float64], grid: NDArray[np.float64], ceiling: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """No further above the lowest of the fibre's other entries than the ceiling."""
    return np.asarray(np.minimum(inner, grid.min(axis=1, keepdims=True) + ceiling))


def _by_pairs(metric: Metric, grid: NDArray[np.float64], allowed: _Allowance) -> NDArray[np.float64]:
    size, fibres = metric.size, grid.size // metric.size
    if size * size * fibres > PAIR_LIMIT:
        raise TooLarge(
            f"{size:,} records in {fibres:,} rows would be compared pair by pair; at most {PAIR_LIMIT:,} comparisons "
            "are made to find the best change of a query: take coarser attributes"
        )
    maps = np.moveaxis(grid, 1, 2).reshape(fibres, size)
    lowered = _one_pass(metric, maps, allowed)
    # Rounded allowances need not obey the triangle inequality, so a path of several steps may allow less than one.
    while allowed.whole and not np.array_equal(lowered, maps):
        maps, lowered = lowered, _one_pass(metric, lowered, allowed)
    return np.moveaxis(lowered.reshape(len(grid), -1, size), 2, 1)


def _one_pass(metric: Metric, maps: NDArray[np.float64], allowed: _Allowance) -> NDArray[np.float64]:
    lowered = np.empty_like(maps)
    everywhere = np.arange(metric.size)
    rows = max(1, _ENTRIES_PER_BLOCK // metric.size)
    for start in range(0, metric.size, rows):
        here = everywhere[start : start + rows]
        reach = allowed.over(metric.distance(here[:, None], everywhere[None, :]))
        for place, values in enumerate(maps):
            lowered[place, here] = (reach + values).min(axis=1)
    return lowered


Axes: TypeAlias = tuple[int, ...]
Classes: TypeAlias = dict[int, NDArray[np.int64]]


@final
@dataclass(frozen=True, eq=False)
class IndependentRates(Sealed):
    """Rates of keys, *rounded down*: that of a key is the least of ``limit`` and of its values' among ``rates``, one
    array for each attribute that keys are made of. ``presence``: how near a record is to none; None where it is no
    change that a record comes. ``uneven``: whether some distances are larger than what the rates make use of.

    Guarantee: r_k + r_l ≤ d(i, j) for all records i of key k and j of another key l, and r_k ≤ d(i, ⊥); ∞ where
    nothing limits them.
    """

    rates: tuple[NDArray[np.float64], ...] = field(repr=False)
    limit: float
    presence: float | None
    uneven: bool

    def of(self, codes: Sequence[int]) -> float:
        """The rate of one key, by the places of its values."""
        return min([self.limit, *(float(own[code]) for own, code in zip(self.rates, codes, strict=True))])


def independent_rates(metric: Metric, shape: Sequence[int], classes: Classes) -> IndependentRates:
    """Those of keys made of some attributes of a product of this ``shape``.

    Args: ``classes``: of each attribute that keys are made of, by its place, the class of every value; values of one
    class are not told apart. The rates are of these attributes by rising place.

    *Proof.* It is enough to look at pairs that generate the metric: moving from key to key costs r_k + r_l, which along
    a path is no less than from its first key to its last. A pair that changes one attribute from u to v has r_k + r_l ≤
    r(u) + r(v), since a key's rate is the least of its values'; and for each attribute r(u) + r(v) ≤ d(u, v) wherever
    these are told apart. A pair that may change several at once, at a bound ε, has r_k + r_l ≤ 2·(ε/2).
    Raises: TooLarge where an attribute has too many values to compare.
    """
    presence = metric.epsilon if isinstance(metric, PresenceMetric) else None
    found = _Limits({axis: np.full(int(own.max()) + 1, math.inf) for axis, own in classes.items()})
    axes = tuple(range(len(shape)))
    _narrow(metric.inner if isinstance(metric, PresenceMetric) else metric, tuple(shape), axes, classes, found)
    bound = math.inf if presence is None else round_down(presence)
    rates = tuple(np.minimum(found.rates[axis], bound) for axis in sorted(classes))
    least = {min(float(own.min()), found.limit) for own in rates if len(own) > 1}
    return IndependentRates(
        rates,
        min(found.limit, bound),
        None if presence is None else round_down(presence),
        found.uneven or len(least) > 1,
    )


@final
@dataclass
class _Limits:
    """What was found so far: by attribute, and for every key."""

    rates: dict[int, NDArray[np.float64]]
    limit: float = math.inf
    uneven: bool = False


def _narrow(metric: Metric, shape: Axes, axes: Axes, classes: Classes, found: _Limits) -> None:
    """Adds what a metric on these attributes asks for, of which the last one's code runs fastest."""
    if not any(axis in classes for axis in axes):
        return
    split = (
        axes_of_parts(metric.parts, shape, axes) if isinstance(metric, SumMetric | GroupedMetric | MaxMetric) else None
    )
    match metric:
        case SumMetric(parts=parts) | MaxMetric(parts=parts) if split is not None:
            # Of a largest change each is no less than that of any one attribute.
            for part, own in zip(parts, split, strict=True):
                _narrow(part, shape, own, classes, found)
        case GroupedMetric(parts=parts, groups=groups) if split is not None:
            for part, own in zip(parts, split, strict=True):
                _narrow(part, shape, own, classes, found)
            for group in groups:
                if any(axis in classes for place in group.places for axis in split[place]):
                    _at_once(group.epsilon, found)
        case ReorderedMetric(inner=inner, order=order) if len(order) == len(axes):
            _narrow(inner, shape, tuple(axes[place] for place in order), classes, found)
        case CapMetric(inner=inner, epsilon=epsilon):
            _narrow(inner, shape, axes, classes, found)
            _at_once(epsilon, found) if len(axes) > 1 else _alike(found, axes[0], _half(epsilon))
        case StarMetric() if len(axes) == 1:
            np.minimum.at(found.rates[axes[0]], classes[axes[0]], metric.rounded * (1 - 2.0**-50))
        case _:
            _by_least(metric, shape, axes, classes, found)


def _half(epsilon: Fraction) -> float:
    return round_down(epsilon) / 2


def _at_once(epsilon: Fraction, found: _Limits) -> None:
    found.limit = min(found.limit, _half(epsilon))


def _alike(found: _Limits, axis: int, rate: float) -> None:
    found.rates[axis] = np.minimum(found.rates[axis], rate)


def _by_least(metric: Metric, shape: Axes, axes: Axes, classes: Classes, found: _Limits) -> None:
    """Half of the least distance of values that are told apart, for all of them."""
    told = [axis for axis in axes if axis in classes and int(classes[axis].max()) > 0]
    if not told:
        return
    if isinstance(metric, DiscreteMetric):
        least = round_down(metric.epsilon)
    else:
        least = _least_distance(metric, _numbered(shape, axes, classes))
        found.uneven |= math.isfinite(least)
    for axis in told:
        _alike(found, axis, least / 2)


def _numbered(shape: Axes, axes: Axes, classes: Classes) -> NDArray[np.int64]:
    """(records of these attributes,): the key of each, as far as these attributes tell it."""
    sizes = [shape[axis] for axis in axes]
    refuse_cells(math.prod(sizes))
    number = np.zeros((1,) * len(sizes), dtype=np.int64)
    for place, axis in enumerate(axes):
        if axis in classes:
            along = [1] * len(sizes)
            along[place] = sizes[place]
            number = number * (int(classes[axis].max()) + 1) + classes[axis].reshape(along)
    return np.ascontiguousarray(np.broadcast_to(number, sizes)).ravel()


def _least_distance(metric: Metric, number: NDArray[np.int64]) -> float:
    """The least distance of two that are numbered otherwise, *rounded down*; ∞ where none is finite.

    Numbers differ if and only if some binary digit of them does, and each digit is a map of 0 and 1, whose constant is
    the largest 1/d of two that it tells apart.
    """
    digits = range(int(number.max()).bit_length())
    constant = max((lipschitz(metric, number >> digit & 1) for digit in digits), default=0.0)
    if constant == 0:
        return math.inf
    return math.nextafter(1 / constant, 0.0) if math.isfinite(constant) else 0.0


def blocks_of_rates(rates: IndependentRates) -> Iterator[tuple[tuple[NDArray[np.int64], ...], float]]:
    """The keys by rate: products of values, rising for each attribute, with the rate that all keys of it have."""
    groups = [[(float(rate), np.flatnonzero(own == rate)) for rate in np.unique(own)] for own in rates.rates]
    for chosen in itertools.product(*groups):
        yield tuple(members for _, members in chosen), min([rates.limit, *(rate for rate, _ in chosen)])
