"""Strategies for prefixes along one line of every category apart, which hardly any normal noise errs less than.

Of K categories a record with the t-th value of the c-th moves e_c ⊗ q_t, a step along the line e_c ⊗ e_t, and one that
becomes another category's (e_c − e_d) ⊗ q_t. Where noise is alike in all categories it has two parts: J/K ⊗ S_m along
their mean, and (I − J/K) ⊗ S_d across it. With weights D₀ of records, D₁ of steps and D₂ of changes of category, all
over squared distances, the best are the roots of M·(D₀/K)·Mᵀ + D₁/K and M·(D₀/K + 2·D₂/(K − 1))·Mᵀ + D₁/K. So each is
a strategy of a line of its own, by weights of changes. V_c = D·Z_c + E·Σ Z is drawn, D near the root of S_d and E near
what that of S_m is beyond D, over K; both in whole multiples of a power of two. What is proved is proved of these.
See decision 097.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.parts.box_scales import line_gaps, promised_of
from dxgeom.mechanisms.parts.factors import Path, Tree
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds, uneven
from dxgeom.mechanisms.parts.weighed_totals import (
    BITS,
    ENOUGH,
    LEAST,
    MARGIN,
    ROUNDS,
    SHRUNK,
    STRIDE,
    WeighedStrategy,
    first_weights,
    gauges,
    nodes_for,
    root_trace_of,
    weight_of_steps,
)
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.in_categories import MOST_NUMBERS, CategoryNormals
from dxgeom.noise.triangular import LAID_OUT, TriangularNormals
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.sealed import Closed, cached_property
from dxgeom.universe.workloads.box_queries import BoxQueries

Floats = NDArray[np.float64]

_WIDE: Final = 8
"""The power of two of scales that totals have as noise which nobody asks for."""
_NARROWER: Final = 2.0**-16
"""By how much, relatively, a record is longer at most where such noise is 2⁸ scales, than where it is 2⁹."""
_GROWTH: Final = 1.3
_LONGEST_STRIDE: Final = 200.0


class _Lengths(NamedTuple):
    """Of the longest record, each step to the next value, and the longest change of category."""

    record: float
    steps: Floats
    change: float


@final
@dataclass(frozen=True)
class CategoryStrategy(Closed):
    """Noise in the running totals of so many ``categories``: ``mean``: along the mean of all, ``across``: across it,
    both by weights of changes, to one scale.

    Guarantee: whatever the weights are, privacy is what :meth:`hides` proves of the matrices that are drawn with, which
    are the same on every machine.
    """

    categories: int
    mean: WeighedStrategy
    across: WeighedStrategy

    def __post_init__(self) -> None:
        kinds = type(self.categories) is int and type(self.mean) is type(self.across) is WeighedStrategy
        if not (kinds and self.categories > 1):
            raise CertificateRefused("noise in categories is in two or more, by weights along their mean and across it")
        if (self.mean.size, self.mean.asked) != (self.across.size, self.across.asked):
            raise CertificateRefused("noise along the mean of categories and across it is in the same totals")
        if self.categories * self.size > MOST_NUMBERS:
            raise CertificateRefused(f"noise in categories is in at most {MOST_NUMBERS:,} totals")

    @property
    def size(self) -> int:
        """How many totals each category has."""
        return self.mean.size

    @cached_property
    def narrowest(self) -> float:
        """Each total has some noise of this scale, times that of all, which no total before it has; in any sum of
        categories, for each of them."""
        return min(1.0, self.mean.least / self.across.least) * (1 - 2.0**-20)

    @property
    def in_words(self) -> str:
        """What is measured, for a reader."""
        return (
            f"in running totals of each of {self.categories:,} categories, by weights of changes along their mean and "
            "across it: hardly any normal noise errs less"
        )

    @property
    def identity(self) -> tuple[object, ...]:
        """What a fingerprint holds of it."""
        return "categories", self.categories, *self.mean.identity, *self.across.identity

    def matrices(self, scale: float) -> tuple[Floats, Floats]:
        """(size, size) each: D and E, whole multiples of a power of two. Raises: CertificateRefused."""
        own, other = self.across.matrix(scale), scale * (self.mean.least / self.across.least)
        last = self.across.asked < self.size
        if last:  # asked by nobody, and wide enough
            own[-1, -1] = 2.0 ** (math.frexp(scale)[1] + _WIDE)
        if self.mean == self.across:
            return own, np.zeros_like(own)
        unit = 2.0 ** (math.frexp(min(scale, other))[1] - BITS)
        shared = self.mean.matrix(other)
        shared -= own
        shared /= self.categories * unit
        np.rint(shared, out=shared)
        shared *= unit
        if last:
            shared[-1, -1] = 0.0
        return own, shared

    def law(self, scale: float, step: float, shape: tuple[int, int, int]) -> CategoryNormals:
        """The noise in the running totals, in lattice steps of this size, a power of two; ``shape``: where the totals
        stand among categories."""
        own, shared = self.matrices(scale)
        return CategoryNormals(own / step, shared / step, shape)

    def _law(self, scale: float) -> CategoryNormals:
        return self.law(scale, 1.0, (self.categories, self.size, 1))

    def told_by_first(self, many: int, scale: float, bounds: LineBounds) -> float:
        """What the first so many totals of all categories reveal of a change at most, over what ``bounds`` promise;
        *rounded up*, and 1 where no presence is promised. Raises: CertificateRefused, TooLarge."""
        if bounds.presence is None or bounds.spans or many < 1:
            return 1.0
        own, shared = (one[:many, :many] for one in self.matrices(scale))
        records, steps, changes = self._each(CategoryNormals(own, shared, (self.categories, many, 1)))
        told = [float(records.max()) / float(bounds.presence)]
        if bounds.between is not None:
            told.append(min(float(changes.max()), 2 * float(records.max())) / float(bounds.between))
        if bounds.apart is not None:
            # The last of them steps out of these totals.
            moved = np.append(steps, records[-1])[: self.size - 1] / bounds.steps(self.size - 1)[:many]
            far = 2 * float(records.max()) / float(bounds.apart)
            told.append(min(float(moved.max(initial=0.0)), far) if bounds.line else far)
        return max(told) * (1 + 2.0**-40)

    def _lengths(self, law: CategoryNormals) -> _Lengths:
        records, steps, changes = self._each(law)
        return _Lengths(float(records.max()), steps, float(changes.max()))

    def _each(self, law: CategoryNormals) -> tuple[Floats, Floats, Floats]:
        """Of each record, each step to the next value and each change of category, what the law hides them as; *rounded
        up*."""
        up, count = 1 + (self.size + 16) * 2.0**-50, self.categories
        mean = _squares(law.of_mean, up)
        across = mean if law.of_mean is law.of_differences else _squares(law.of_differences, up)
        records, steps = ((one / count + other * (1 - 1 / count)) * up for one, other in zip(mean, across, strict=True))
        return np.sqrt(records) * up, np.sqrt(steps) * up, np.sqrt(2 * across[0]) * up

    def hides(self, scale: float, bounds: LineBounds) -> bool:
        """Whether noise of this scale hides what ``bounds`` promise; lengths *rounded up*, distances down.

        Any two records are no further apart than both are long; of the rest one that changes value and category takes
        one step after the other.
        """
        if bounds.presence is None or bounds.spans:
            return False
        try:
            found = self._lengths(self._law(scale))
        except (CertificateRefused, TooLarge):
            return False
        if found.record > round_down(bounds.presence):
            return False
        if bounds.between is not None and min(found.change, 2 * found.record) > round_down(bounds.between):
            return False
        if bounds.apart is None or 2 * found.record <= round_down(bounds.apart):
            return True
        return bounds.line and bool(np.all(found.steps <= bounds.steps(len(found.steps))))

    def least_scale(self, bounds: LineBounds) -> float:
        """Nearly the smallest scale that :meth:`hides`, which whoever takes it has proved. Raises: CertificateRefused,
        TooLarge."""
        if bounds.presence is None or bounds.spans:
            raise TooLarge("noise in categories is for records that come and go, each at its own distance")
        found = self._lengths(self._law(1.0))
        wanted = [found.record / float(bounds.presence)]
        if bounds.between is not None:
            wanted.append(min(found.change, 2 * found.record) / float(bounds.between))
        if bounds.apart is not None:
            each = float((found.steps / bounds.steps(len(found.steps))).max()) if bounds.line else math.inf
            wanted.append(min(each, 2 * found.record / float(bounds.apart)))
        scale = max(wanted) * (1 + MARGIN)
        enough = self.mean.asked == self.size or self.hides(scale, bounds)
        return scale if enough else scale * (1 + _NARROWER)

    def variances(self, scale: float, upper: NDArray[np.int64], counted: NDArray[np.int64]) -> Floats:
        """(K,): of the noise in how many records lie below ``upper`` (K,), in so many categories, ``counted`` (K,)."""
        mean, across = self._of_totals
        some = counted / self.categories
        return (counted * some * mean[upper - 1] + counted * (1 - some) * across[upper - 1]) * scale**2

    @cached_property
    def _of_totals(self) -> tuple[Floats, Floats]:
        law = self._law(1.0)
        mean, across = (np.einsum("ij,ij->i", one.factor, one.factor) for one in (law.of_mean, law.of_differences))
        return mean, across


def _squares(law: TriangularNormals, up: float) -> tuple[Floats, Floats]:
    """(n,) and (n − 1,): of what the law makes of a record of each value, and of steps to the next; *rounded up*."""
    near, off = law.preimages
    records = np.linalg.norm(near, axis=0) * up + off
    steps = np.linalg.norm(np.diff(near, axis=1), axis=0) * up + off[1:] + off[:-1]
    # A difference of columns is rounded itself, by 2⁻⁵³ of both at most.
    steps += (records[1:] + records[:-1]) * 2.0**-52
    return records**2 * up, steps**2 * up


@final
@dataclass(frozen=True, eq=False)
class CategoryCosts:
    """What squared errors count of prefixes of so many ``categories``, where these are alike: (size,) along the mean,
    ``mean``, and in each of the K − 1 parts across it, ``across``; the last ones 0 where nobody asks for all records.
    """

    categories: int
    mean: Floats
    across: Floats


class _Weights(NamedTuple):
    """(m,) each: of records, steps and changes of category, which add up to 1."""

    records: Floats
    steps: Floats
    changes: Floats


class _Found(NamedTuple):
    strategy: CategoryStrategy
    weights: _Weights


def category_strategy(bounds: LineBounds, costs: CategoryCosts) -> CategoryStrategy | None:
    """The one whose weights were found. None where there are too many values, where some prefix is not asked for, or
    where changes between any two values are promised more than presence says.

    Of its squared errors the total is mostly within 3·10⁻⁴ of what no normal noise errs less than, as far as 150 rounds
    come near to that.
    """
    found = _sought(bounds, costs)
    return None if found is None else found.strategy


def _sought(bounds: LineBounds, costs: CategoryCosts) -> _Found | None:
    size, count = len(costs.mean), costs.categories
    asked = size - (costs.mean[-1] == 0)
    presence = None if bounds.presence is None else float(bounds.presence)
    if presence is None or not (1 < size <= LAID_OUT and count > 1 and count * size <= MOST_NUMBERS):
        return None
    between = math.inf if bounds.between is None or bounds.between >= 2 * presence else float(bounds.between)
    apart = np.append(bounds.steps(size - 1), np.inf)[:asked]
    moved = apart < 2 * presence
    if not np.all(costs.mean[:asked] > 0) or not np.all(costs.across[:asked] > 0):
        return None
    if np.any(moved) and not bounds.line:
        return None
    largest = max(costs.mean.max(), costs.across.max())
    each = costs.mean[:asked] / largest, costs.across[:asked] / largest
    distances = _Lengths(presence, np.where(moved, apart, np.inf), between)
    weights, least, best = _beginning(asked, distances, moved), math.inf, None
    strides: list[Floats] = [np.full(asked, STRIDE) for _ in weights]
    before: list[Floats] | None = None
    for _ in range(ROUNDS):
        strategy = _strategy_of(size, count, weights, distances, each)
        worth = _worth(strategy, distances)
        total = float(sum(one @ own for one, own in zip(worth, weights, strict=True)))
        relative = [np.maximum(one / total, 0.0) for one in worth]
        excess = max(float(one.max(initial=0.0, where=own > 0)) for one, own in zip(relative, weights, strict=True)) - 1
        if excess < least:
            least, best = excess, _Found(strategy, weights)
        if excess < ENOUGH:
            break
        if before is not None:
            strides = [_strides(*each) for each in zip(strides, relative, before, strict=True)]
        before = relative
        weights = _raised(weights, relative, strides, LEAST / asked)
    return best


def _strides(strides: Floats, now: Floats, before: Floats) -> Floats:
    """Longer where a weight is still worth too little, or too much, and shorter where that has turned: small weights
    hardly change what they are worth themselves."""
    same = (now - 1) * (before - 1) > 0
    return np.clip(np.where(same, strides * _GROWTH, strides / 2), 1.0, _LONGEST_STRIDE)


def _raised(weights: _Weights, worth: list[Floats], strides: list[Floats], least: float) -> _Weights:
    raised = [own * np.minimum(one, 1.5) ** stride for own, one, stride in zip(weights, worth, strides, strict=True)]
    whole = float(sum(one.sum() for one in raised))
    kept = (np.where(own > 0, np.maximum(one / whole, least), 0.0) for own, one in zip(weights, raised, strict=True))
    return _Weights(*kept)


def _beginning(asked: int, distances: _Lengths, moved: NDArray[np.bool_]) -> _Weights:
    records, steps = first_weights(asked, float(distances.steps.min()) / distances.record, moved)
    if math.isinf(distances.change):
        return _Weights(records, steps, np.zeros(asked))
    return _Weights(records / 2, steps, records / 2)


def _strategy_of(
    size: int, count: int, weights: _Weights, distances: _Lengths, costs: tuple[Floats, Floats]
) -> CategoryStrategy:
    records, steps, changes = (
        weights.records / distances.record**2,
        weights.steps / distances.steps**2,
        weights.changes / distances.change**2,
    )
    along = records / count
    across = along + changes * (2 / (count - 1))
    parts = []
    for own, cost in zip((along, across), costs, strict=True):
        nodes = nodes_for(own, steps / count, cost)
        numbers = [tuple(one.tolist()) for one in (own, steps / count, cost)]
        parts.append(WeighedStrategy(size, numbers[0], numbers[1], numbers[2], nodes))
    return CategoryStrategy(count, parts[0], parts[1])


def _worth(strategy: CategoryStrategy, distances: _Lengths) -> _Weights:
    """What noise by these weights makes of records, steps and changes of category, in squares over those of their
    distances."""
    count = strategy.categories
    mean, across = gauges(strategy.mean.changes), gauges(strategy.across.changes)
    records, steps = (one / count + other * (1 - 1 / count) for one, other in zip(mean, across, strict=True))
    changes = 2 * across[0] / distances.change**2
    return _Weights(records / distances.record**2, steps / distances.steps**2, changes)


def category_bound(
    presence: float, gaps: Floats | None, farthest: float, bounds: LineBounds, costs: CategoryCosts
) -> float:
    """What the total squared error of prefixes of categories with these ``costs`` is not below, for any normal noise.

    Args: ``presence``: how far a record is from none; ``gaps`` (size − 1,): neighbouring values from each other;
    ``farthest``: two categories at the most. ``bounds`` guide the search.
    Definition: the square of tr A_m^{1/2} + (K − 1)·tr A_d^{1/2}, over Σ p, p the weights of changes. Guarantee:
    *rounded down*; 0 where no weights are sought.
    """
    found = _sought(bounds, costs)
    if found is None:
        return 0.0
    strategy, count = found.strategy, costs.categories
    trace = root_trace_of(strategy.mean.changes) + (count - 1) * root_trace_of(strategy.across.changes)
    along, across = np.array(strategy.mean.records), np.array(strategy.across.records)
    whole = count * (float(along.sum()) * presence**2 + weight_of_steps(strategy.mean.changes, presence, gaps))
    whole += float(np.maximum(across - along, 0.0).sum()) * (count - 1) / 2 * farthest**2
    largest = max(float(costs.mean.max()), float(costs.across.max()))
    return trace**2 / whole * largest * SHRUNK * (1 - 2.0**-30)


class AskedByCategory(NamedTuple):
    """Boxes along several columns, all prefixes of the one at ``line``, each of one combination of values of the others
    or of all: ``shape``, where totals stand among these; ``counted`` (K,): of how many; ``costs``; ``alike``: whether
    what is asked is the same for every combination."""

    line: int
    shape: tuple[int, int, int]
    upper: NDArray[np.int64]
    counted: NDArray[np.int64]
    costs: CategoryCosts
    alike: bool


def asked_by_category(merged: BoxQueries, costs: Floats) -> AskedByCategory:
    """What is asked, each error with its cost (K,). Raises: TooLarge for other boxes."""
    sizes, widths = merged.sizes, merged.upper - merged.lower
    lines = [place for place in range(len(sizes)) if not np.any(merged.lower[:, place])]
    line = max(lines, key=lambda place: sizes[place], default=-1)
    others = [place for place in range(len(sizes)) if place != line]
    whole = widths[:, others] == np.array([sizes[place] for place in others], dtype=np.int64)
    whole_table = any(len(columns) == len(sizes) for columns, _ in merged.supports)
    if line < 0 or not others or not whole_table or not np.all(whole | (widths[:, others] == 1)):
        raise TooLarge(
            "noise in running totals is for boxes along one attribute, or prefixes along one for each value of others "
            "and all of these"
        )
    each = [sizes[place] for place in others]
    count, upper = math.prod(each), merged.upper[:, line]
    counted = np.prod(widths[:, others], axis=1)
    along, across = np.zeros(sizes[line]), np.zeros(sizes[line])
    np.add.at(along, upper - 1, costs * counted**2 / count)
    np.add.at(across, upper - 1, costs * (counted - counted**2 / count) / (count - 1))
    single = counted == 1
    cells = np.ravel_multi_index(tuple(merged.lower[single][:, others].T), each)
    of_each = np.zeros((count, sizes[line]))
    np.add.at(of_each, (cells, upper[single] - 1), costs[single])
    alike = bool(np.all(single | (counted == count)) and np.all(of_each == of_each[0]))
    shape = math.prod(sizes[:line]), sizes[line], math.prod(sizes[line + 1 :])
    return AskedByCategory(line, shape, upper, counted, CategoryCosts(count, along, across), alike)


def category_bounds(metric: VerifiedMetric, merged: BoxQueries, line: int) -> LineBounds:
    """What the metric promises of values along the column at ``line``, and of two combinations of the others' values.

    Raises: TooLarge where distances do not add up over attributes, or records do not come and go.
    """
    gaps = line_gaps(metric, merged)[line]
    each = ((place, size) for place, size in enumerate(merged.sizes))
    factors = [Path(size) if place == line and gaps is not None else Tree(size, (size,)) for place, size in each]
    promised = promised_of(metric, merged, factors)
    nearest = [kinds[0] for place, kinds in enumerate(promised.kinds) if place != line and kinds[0] is not None]
    if promised.presence is None:
        raise TooLarge("noise in running totals of several categories is for records that come and go")
    between, own = min(nearest, default=None), promised.kinds[line][0]
    return LineBounds(promised.presence, own, gaps is not None, between=between, gaps=uneven(gaps))
