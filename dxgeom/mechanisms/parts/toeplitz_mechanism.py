"""Counts of intervals of one attribute, or of boxes, as differences of running totals with noise through a triangular
matrix of each attribute; of prefixes also for each value of others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.contract.readers import CountedTables, require_own_records
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.distance_bounds import joint_distance_bounds_of
from dxgeom.mechanisms.linear.lattice import tables_over
from dxgeom.mechanisms.linear.mixing import Classes, IntegerMixing, RunningTotals, Summing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.box_mechanism import BoxedCounts
from dxgeom.mechanisms.parts.box_scales import line_gaps, promised_of, round_steps
from dxgeom.mechanisms.parts.factors import Factor, Path, Tree
from dxgeom.mechanisms.parts.joint_totals import JointStrategy, RoundSteps, round_strategy
from dxgeom.mechanisms.parts.lattice_noise import FAR, LEAST_ROOM
from dxgeom.mechanisms.parts.measured_parts import MOST_ENTRIES
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds, ToeplitzStrategy, uneven
from dxgeom.mechanisms.parts.totals_by_category import (
    AskedByCategory,
    CategoryStrategy,
    asked_by_category,
    category_bounds,
)
from dxgeom.mechanisms.parts.weighed_totals import WeighedStrategy
from dxgeom.metrics.over_periods import OverPeriods
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.law import NoiseLaw
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal
from dxgeom.privacy.measures import require_for_normal_noise
from dxgeom.universe.workloads.box_queries import BoxQueries

TOEPLITZ: Final = "toeplitz-gaussian"
"""Its name is that of its first form; a triangular matrix by weights of changes goes by it, too, and one of each of
several attributes, or of the mean of categories and of what is across it."""
LineStrategy = ToeplitzStrategy | WeighedStrategy
TotalsStrategy = LineStrategy | JointStrategy | CategoryStrategy
_BITS: Final = 61
_MOST_TAKEN: Final = 1 << 28


def line_bounds(metric: VerifiedMetric | OverPeriods, merged: BoxQueries) -> LineBounds:
    """What the metric promises of the values that boxes along one attribute tell apart.

    Raises: TooLarge where boxes are along several, or distances do not add up over attributes, or nobody is protected.
    """
    if len(merged.columns) != 1 or not any(columns for columns, _ in merged.supports):
        raise TooLarge("noise in running totals is for boxes along one attribute")
    size = merged.sizes[0]
    (gaps,) = line_gaps(metric, merged)
    factor: Factor = Tree(size, (size,)) if gaps is None else Path(size)
    promised = promised_of(metric, merged, (factor,))
    found = LineBounds(promised.presence, promised.kinds[0][0], gaps is not None, gaps=uneven(gaps))
    if found.presence is None and found.apart is None:
        raise TooLarge("no record moves these counts at a finite distance, so they need no noise")
    return found


def length_of_line(merged: BoxQueries) -> int:
    """How many values the attribute has whose running totals noise is in. Raises: TooLarge for other boxes."""
    return merged.sizes[0] if len(merged.columns) == 1 else asked_by_category(merged, merged.costs).shape[1]


def bounds_over_periods(metric: VerifiedMetric, merged: BoxQueries) -> LineBounds | None:
    """What it promises of several periods beside single records, where boxes are along these; None where it promises
    distances of records alone, or boxes are along something else. Raises: TooLarge as :func:`line_bounds`.

    Noise that hides all of it keeps the promise: every path of changes is made of such within periods, and of such of
    single records.
    """
    over = metric.over_periods
    if over is None or [one.axis for one in merged.columns] != [over.axis]:
        return None
    classes = tuple(merged.columns[0].codes.tolist())
    return replace(line_bounds(over, merged), spans=over.spans, classes=classes)


def joint_presence(metric: VerifiedMetric, merged: BoxQueries) -> Fraction:
    """How far a record is from none, where that is all that limits what noise in joint totals of these attributes may
    tell. Raises: TooLarge where something else does, or no box restricts all of them."""
    if not any(len(columns) == len(merged.columns) for columns, _ in merged.supports):
        raise TooLarge("noise in joint totals is for boxes of which one restricts all attributes that any does")
    bounds = joint_distance_bounds_of(
        metric.metric, merged.universe.shape, {one.axis: one.codes for one in merged.columns}
    )
    if bounds.presence is None or any(one is not None for one in bounds.least):
        raise TooLarge("noise in joint totals is for records that come and go, and no nearer changes")
    return bounds.presence


@final
@dataclass(frozen=True, eq=False)
class ToeplitzMechanism(BoxedCounts):
    """Counts of intervals of one attribute, or of boxes: noise of ``strategy``, times the one of ``scales``, in running
    totals.

    Every count is a difference of two along each attribute; or of prefixes in several categories the sum of some.

    Guarantee: replacing record i by j makes D_α at most α·(s·d(i, j))²/2 where s is spent; or where the metric promises
    something of several periods, what it promises of these takes d's place. Whatever is released is made
    of whole running totals with exactly rounded noise, and of nothing else of the data; that the noise hides what the
    metric protects is proved of the very coefficients that are drawn with.
    Raises: CertificateRefused for a scale that is too small; TooLarge as :func:`line_bounds`, or for joint totals as
    :func:`joint_presence`; UnsupportedCombination where the metric counts pure privacy, and for a stated number of
    records where it keeps that private.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    boxes: BoxQueries = field(repr=False)
    strategy: TotalsStrategy
    scales: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        seal(self)
        require_own_records(self.metric, self.boxes.universe)
        if self.name != TOEPLITZ:
            raise CertificateRefused(f"noise in running totals is {TOEPLITZ}")
        require_for_normal_noise(self.metric.privacy)
        self.require_no_number()
        known = type(self.strategy) in (ToeplitzStrategy, WeighedStrategy, JointStrategy, CategoryStrategy)
        if self.scales.shape != (1,) or self.scales.dtype != np.float64 or not known:
            raise CertificateRefused("noise in running totals has one scale, of a strategy")
        if not self._hides():
            raise CertificateRefused("noise in these running totals does not hide what the metric protects")

    def _hides(self) -> bool:
        if isinstance(self.strategy, JointStrategy):
            steps = round_steps(self.metric, self.merged)
            if steps is not None:
                return self.strategy.hides_around(self.scale, steps)
            return self.strategy.sizes == self.merged.sizes and self._hides_jointly(self.strategy)
        if isinstance(self.strategy, CategoryStrategy):
            before, size, within = self._asked.shape
            fits = (self.strategy.categories, self.strategy.size) == (before * within, size)
            return fits and self.strategy.hides(self.scale, category_bounds(self.metric, self.merged, self._asked.line))
        bounds, over = line_bounds(self.metric, self.merged), bounds_over_periods(self.metric, self.merged)
        return self.strategy.size == self.merged.sizes[0] and (
            self.strategy.hides(self.scale, bounds) or (over is not None and self.strategy.hides(self.scale, over))
        )

    def _hides_jointly(self, strategy: JointStrategy) -> bool:
        if len(strategy.roots) > 1:
            return strategy.hides(self.scale, joint_presence(self.metric, self.merged))
        bounds, over = line_bounds(self.metric, self.merged), bounds_over_periods(self.metric, self.merged)
        alone = strategy.hides_along(self.scale, bounds)
        return alone or (over is not None and strategy.hides_along(self.scale, over))

    @cached_property
    def _asked(self) -> AskedByCategory:
        return asked_by_category(self.merged, self.merged.costs)

    @cached_property
    def lines(self) -> tuple[int, ...]:
        """The columns whose running totals they are; others are counted value by value."""
        if isinstance(self.strategy, CategoryStrategy):
            return (self._asked.line,)
        return tuple(range(len(self.merged.columns)))

    @property
    def factors(self) -> tuple[Any, ...]:
        """How each attribute is measured; None for those that are counted value by value."""
        if isinstance(self.strategy, JointStrategy):
            return self.strategy.roots
        return tuple(self.strategy if place in self.lines else None for place in range(len(self.merged.columns)))

    @property
    def scale(self) -> float:
        """What the columns' lengths are times."""
        return float(self.scales[0])

    @property
    def normal(self) -> bool:
        return True

    @cached_property
    def fingerprint(self) -> str:
        asked = self.name, self.metric.fingerprint, self.boxes.fingerprint
        return canonical_digest("running totals with noise", *asked, *self.strategy.identity, self.scales)

    def told_within(self, width: int) -> Fraction | None:
        """The square of what any change within so many values in a row reveals where 1 is spent, one record of each, at
        most; *rounded up*. None where totals are not along one attribute. Raises: TooLarge."""
        if isinstance(self.strategy, CategoryStrategy) or len(self.merged.columns) != 1:
            return None
        classes = tuple(self.merged.columns[0].codes.tolist())
        bounds = LineBounds(None, None, True, spans=((width, Fraction(1)),), classes=classes)
        return max(self.strategy.within(self.scale, bounds))

    def periods_of_totals(self, axis: int, periods: int) -> NDArray[np.int64] | None:
        """(n,): the last of so many values of an attribute that each total counts; None where totals are not of these,
        one by one, and of nothing else."""
        codes = self.codes.get(axis)
        if codes is None or not np.array_equal(codes, np.arange(periods)):
            return None
        if self.lines != (place := list(self.codes).index(axis),):
            return None
        before = math.prod(self.merged.sizes[:place])
        return np.tile(np.repeat(np.arange(periods), math.prod(self.merged.sizes[place + 1 :])), before)

    @property
    def taken(self) -> NDArray[np.int8]:
        """(K, n): what each box takes of each total: 1 of the last one inside, and -1 of the one before the first.
        Raises: TooLarge."""
        merged, size = self.merged, math.prod(self.merged.sizes)
        if merged.count * size > _MOST_TAKEN:
            raise TooLarge(f"what {merged.count:,} answers take of {size:,} noisy totals is not laid out")
        found = np.ones((merged.count, 1), dtype=np.int8)
        for place, size in enumerate(merged.sizes):
            low, high, codes = merged.lower[:, place, None], merged.upper[:, place, None], np.arange(size)
            own = (codes >= low) & (codes < high)
            if place in self.lines:
                own = (codes == high - 1).astype(np.int8) - (codes == low - 1)
            found = (found[:, :, None] * own[:, None, :]).reshape(merged.count, -1)
        return found

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """(K,): mean squared error of each box where 1 is spent, rounding to the lattice left out. Raises: TooLarge."""
        if isinstance(self.strategy, JointStrategy):
            return self.strategy.variances(self.scale, self.merged.lower, self.merged.upper)
        if isinstance(self.strategy, CategoryStrategy):
            return self.strategy.variances(self.scale, self._asked.upper, self._asked.counted)
        return self.strategy.variances(self.scale, self.merged.lower[:, 0], self.merged.upper[:, 0])

    @property
    def rounding_part(self) -> float:
        """Each total has some noise of this scale that no total before it has; and each of two along an attribute is
        rounded. Of several categories, along their mean too."""
        narrowest = self.scale * (1.0 if isinstance(self.strategy, LineStrategy) else self.strategy.narrowest)
        return 2.0 ** len(self.lines) * (float(self.step) / self.shares) ** 2 / (12 * narrowest**2)

    @property
    def noisy(self) -> Sequence[int]:
        return (0,)

    def sums_of(self, number: int) -> Mapping[int, Summing]:
        return {
            place: RunningTotals(size) if place in self.lines else Classes(size)
            for place, size in enumerate(self.merged.sizes)
        }

    def law_of(self, number: int, step: float) -> tuple[NoiseLaw, int]:
        return (self._law if step == float(self.step) else self._law_in(step)), 1

    def _law_in(self, step: float) -> NoiseLaw:
        if isinstance(self.strategy, CategoryStrategy):
            return self.strategy.law(self.scale, step, self._asked.shape)
        return self.strategy.law(self.scale, step)

    @cached_property
    def _law(self) -> NoiseLaw:
        return self._law_in(float(self.step))

    def averages(self) -> Iterator[tuple[Mapping[int, int], Mapping[int, int]]]:
        yield dict.fromkeys(range(len(self.factors)), 1), {0: 1}

    def check(self, data: CountedTables, spend: Fraction) -> None:
        self.require_counts(data)
        self._law.check_size(self.shares / spend)
        if self._most_records(spend) < LEAST_ROOM:
            raise TooLarge("noise of this size does not fit 64-bit integers; spend more")

    def _most_records(self, spend: Fraction) -> int:
        """So many that every total stays below 2⁶², and so their sum over categories, for noise up to what has a chance
        below e⁻¹⁰⁰."""
        together = self.strategy.categories if isinstance(self.strategy, CategoryStrategy) else 1
        reach = self._law.amplitude * FAR / float(spend / self.shares) * together
        return max(0, int((2.0**_BITS - reach) / (self.shares * self.step.denominator)))

    @property
    def _finest(self) -> Fraction:
        return Fraction(1, 2 ** (_BITS - 1 - LEAST_ROOM.bit_length()))

    def answered(self, data: CountedTables, noise: Mapping[int, NDArray[np.int64]]) -> tuple[float, ...]:
        table, ends = self.with_noise(0, data, noise[0]), list[tuple[tuple[float, NDArray[np.int64]], ...]]()
        for place, size in enumerate(self.merged.sizes):
            low, high = self.merged.lower[:, place], self.merged.upper[:, place]
            if place in self.lines:
                table = np.pad(table, [(int(one == place), 0) for one in range(table.ndim)])
                ends.append(((-1.0, low), (1.0, high)))
            else:
                table = np.concatenate([table, table.sum(axis=place, keepdims=True)], axis=place)
                ends.append(((1.0, np.where(high - low == size, size, low)),))
        totals = np.asarray(table * (float(self.step) / self.shares), dtype=np.float64)
        answers = np.zeros(self.boxes.count)
        for corner in itertools.product(*ends):
            answers += math.prod(sign for sign, _ in corner) * totals[tuple(places for _, places in corner)]
        return tuple(answers.tolist())


def totals_in_answers(
    made: ToeplitzMechanism, sensitivity: Sensitivity, left: NDArray[np.int64] | None = None
) -> AdditiveMechanism:
    """The same noise in the answers to linear queries, in their order: each takes that of one total whole, less that of
    another. ``left``: the places of the boxes among these, None for all; other answers have none.

    Guarantee: that the answers are these differences is held against the weights that are released, in integers, where
    the mechanism is made. Raises: TooLarge where there are too many answers to lay out what each takes;
    CertificateRefused.
    """
    if isinstance(made.strategy, JointStrategy) and len(made.lines) > 1:
        raise TooLarge("what answers take of joint totals is not laid out: ask for them as BoxQueries")
    size, count = made._law.dimension, made.merged.count
    if count * size > MOST_ENTRIES:
        raise TooLarge(
            f"{count:,} answers that share {size:,} noisy totals are not laid out; at most {MOST_ENTRIES:,} pairs "
            "are: ask for them as BoxQueries"
        )
    divisors = tuple(step * made.steps_per_count for step in sensitivity.queries.steps)
    taken = np.zeros((len(divisors), size), dtype=np.int64)
    taken[slice(None) if left is None else left] = made.taken
    return AdditiveMechanism(made.name, sensitivity, made.law, IntegerMixing(taken, divisors, made))


@final
@dataclass(frozen=True, eq=False)
class WeightsAround:
    """Linear queries of one attribute whose values go round: ``totals`` (K, n): what each takes of the running totals,
    whole, in its own steps; ``prefixes``: these totals."""

    steps: RoundSteps
    totals: NDArray[np.int64] = field(repr=False)
    prefixes: BoxQueries = field(repr=False)

    @classmethod
    def of(cls, sensitivity: Sensitivity) -> WeightsAround:
        """Raises: TooLarge where they are of several attributes, or of one that does not go round."""
        queries, universe = sensitivity.queries, sensitivity.universe
        refused = TooLarge("these queries are not of one attribute whose values go round")
        if universe is None or universe.listed is not None:
            raise refused
        tables = [*tables_over(queries, universe)]
        axes = {axis for table in tables for axis in table.axes}
        if len(axes) != 1:
            raise refused
        (axis,) = axes
        size = universe.shape[axis]
        if len(queries.names) * size > MOST_ENTRIES:
            raise refused
        weights = np.zeros((len(queries.names), size + 1), dtype=np.int64)
        for table in tables:
            values = table.classes[0] if table.axes else np.zeros(size, dtype=np.int64)
            weights[table.queries, :size] = table.flat[:, values]
        prefixes = BoxQueries.of(universe, [{universe.attributes[axis].name: (0, end + 1)} for end in range(size)])
        steps = round_steps(sensitivity.metric, prefixes.merged)
        if steps is None or steps.size != size:
            raise refused
        return cls(steps, weights[:, :size] - weights[:, 1:], prefixes)

    def built(self, sensitivity: Sensitivity, costs: NDArray[np.float64]) -> AdditiveMechanism:
        """Noise in their running totals, for the least total of squared errors, each over its step and times its cost
        (K,). Guarantee: as :func:`totals_in_answers`. Raises: TooLarge, CertificateRefused."""
        strategy, scale = round_strategy(self.steps, self.gram(costs))
        return self.through(sensitivity, strategy, np.array([scale]))

    def through(
        self, sensitivity: Sensitivity, strategy: TotalsStrategy, scales: NDArray[np.float64]
    ) -> AdditiveMechanism:
        """The same with this strategy. Raises: CertificateRefused where it hides too little."""
        made = ToeplitzMechanism(TOEPLITZ, sensitivity.metric, self.prefixes, strategy, scales)
        divisors = (Fraction(made.steps_per_count),) * len(self.totals)
        return AdditiveMechanism(made.name, sensitivity, made.law, IntegerMixing(self.totals, divisors, made))

    def gram(self, costs: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, n): what squared errors in totals count."""
        return np.asarray((self.totals.T * costs) @ self.totals, dtype=np.float64)
