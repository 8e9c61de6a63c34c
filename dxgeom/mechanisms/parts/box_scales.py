"""Kernel: how much noise each block of boxes gets, by SciPy's sparse matrices of costs and budgets; and the proof.

What a metric promises about each attribute's changes, as the factors tell them apart, is read from the verified metric.
One dual variable for each kind of change makes the total error small; so the worst, where bad errors count for more.

A block has a level of each attribute. With noise of variance σ_l² that is new in block l, boxes have the error
Σ_l w_l·σ_l², w_l = Σ_q c_q·Π_a h_a(q, l_a), where c_q is what a squared error in box q counts and h_a the coefficients
of the attribute's factor. A change of attribute a moves block l by what its factor says, times what a record is of the
other attributes' levels; one that comes or goes by what it is of all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.distance_bounds import distance_bounds_of, parts_of
from dxgeom.mechanisms.parts.factors import Factor, Path
from dxgeom.mechanisms.parts.joint_totals import RoundSteps
from dxgeom.mechanisms.parts.loads import (
    LARGEST_SCALE,
    ChangeBounds,
    Limit,
    Load,
    enlarged_until,
    loads_in,
    within_limits,
)
from dxgeom.mechanisms.parts.program import Budgets, least_cost_rates
from dxgeom.mechanisms.parts.scales import only_taken, rates_of_tables
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.over_periods import OverPeriods
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.sealed import Closed, cached_property
from dxgeom.universe.workloads.box_queries import BoxQueries

_MOST_BLOCKS: Final = 20_000
_FEWEST_AROUND: Final = 3
Levels = tuple[int, ...]


@final
@dataclass(frozen=True, eq=False)
class BoxQuestion(Closed):
    """Boxes, measured along ``factors``, one for each of the queries' columns, under what is promised. ``dual_weights``
    (K,): what squared errors count besides, where some are to be smaller than the total asks for."""

    queries: BoxQueries
    factors: tuple[Factor, ...]
    change_bounds: ChangeBounds
    normal: bool
    dual_weights: NDArray[np.float64] | None = None

    @cached_property
    def blocks(self) -> tuple[Levels, ...]:
        """Every level of every set of attributes that boxes restrict.

        Raises: TooLarge.
        """
        found: dict[Levels, None] = {}
        for columns, _ in self.queries.supports:
            ranges = [range(one.levels if place in columns else 1) for place, one in enumerate(self.factors)]
            if np.prod([len(one) for one in ranges], dtype=np.float64) + len(found) > _MOST_BLOCKS:
                raise TooLarge(f"these boxes are measured in more than {_MOST_BLOCKS:,} blocks: ask for fewer at once")
            found.update(dict.fromkeys(itertools.product(*ranges)))
        return tuple(found)

    @cached_property
    def places(self) -> Mapping[Levels, int]:
        """The number of each block."""
        return MappingProxyType({block: number for number, block in enumerate(self.blocks)})

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """(K,): c."""
        stated = self.queries.costs
        return stated if self.dual_weights is None else stated * self.dual_weights

    @cached_property
    def coefficients(self) -> tuple[NDArray[np.float64], ...]:
        """Of each attribute (K, levels): h."""
        each = zip(self.factors, self.queries.lower.T, self.queries.upper.T, strict=True)
        return tuple(factor.coefficients(lower, upper) for factor, lower, upper in each)

    def _among(self, columns: Sequence[int]) -> Iterator[tuple[Levels, list[int]]]:
        for levels in itertools.product(*(range(self.factors[place].levels) for place in columns)):
            whole = [0] * len(self.factors)
            for place, level in zip(columns, levels, strict=True):
                whole[place] = level
            yield tuple(whole), list(levels)

    def _taken(self, columns: Sequence[int], boxes: NDArray[np.int64], levels: Sequence[int]) -> NDArray[np.float64]:
        taken = np.ones(len(boxes))
        for place, level in zip(columns, levels, strict=True):
            taken = taken * self.coefficients[place][boxes, level]
        return taken

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(blocks,): w."""
        found = np.zeros(len(self.blocks))
        for columns, boxes in self.queries.supports:
            for block, levels in self._among(columns):
                found[self.places[block]] += self.costs[boxes] @ self._taken(columns, boxes, levels)
        return found

    def variances(self, each: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,): of every box, from what is new in each block (blocks,)."""
        found = np.zeros(self.queries.count)
        for columns, boxes in self.queries.supports:
            for block, levels in self._among(columns):
                if each[self.places[block]]:
                    found[boxes] += each[self.places[block]] * self._taken(columns, boxes, levels)
        return found

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """What noise in each block uses of the limits."""
        parts = (
            (number, [(a, level) for a, level in enumerate(block) if level]) for number, block in enumerate(self.blocks)
        )
        return tuple(loads_in(self.factors, parts, self.change_bounds, self.normal))

    @cached_property
    def limits(self) -> Mapping[Limit, Fraction]:
        """The distance of each limit."""
        return MappingProxyType(self.change_bounds.limits)

    @cached_property
    def protected(self) -> NDArray[np.bool_]:
        """(blocks,): whether some record can move the block at a finite distance."""
        found = np.zeros(len(self.blocks), dtype=bool)
        found[[load.number for load in self.loads]] = True
        return found

    def budgets(self, among: NDArray[np.int64]) -> Budgets:
        """Of the rates of these blocks: of 1/σ² for normal noise, else of 1/b."""
        from scipy import sparse

        place = np.full(len(self.blocks), -1)
        place[among] = np.arange(len(among))
        column = {limit: at for at, limit in enumerate(self.limits)}
        entries = [
            (place[number], column[limit], top / bottom)
            for limit, number, top, bottom in self.loads
            if place[number] >= 0
        ]
        rows, columns, values = zip(*entries, strict=True)
        shape = (len(among), len(self.limits))
        matrix = sparse.csr_matrix((values, (rows, columns)), shape)
        limits = np.array([float(one) for one in self.limits.values()])
        used = np.flatnonzero(np.asarray(matrix.sum(axis=0)).ravel() > 0)
        return Budgets(matrix[:, used].tocsr(), (limits**2 if self.normal else limits)[used])


def round_steps(metric: VerifiedMetric, merged: BoxQueries) -> RoundSteps | None:
    """What it promises of values that go round, of whose attribute alone these boxes are; None where they do not.

    Guarantee: distances of different attributes add up, and every change of this one is made of such steps; a step
    through absence is no further than both records are long. Raises: TooLarge where distances do not add up.
    """
    if len(merged.columns) != 1 or metric.over_periods is not None:
        return None
    presence = metric.metric.epsilon if isinstance(metric.metric, PresenceMetric) else None
    inner = metric.metric.inner if isinstance(metric.metric, PresenceMetric) else metric.metric
    (column,), size = merged.columns, merged.sizes[0]
    apart = np.full(size, math.inf)
    own = parts_of(inner, merged.universe.shape)[column.axis]
    if not isinstance(own, GraphMetric) or size < _FEWEST_AROUND:
        return None
    low, high = (np.sort(column.codes[np.stack([own.first, own.second])], axis=0)[place] for place in (0, 1))
    told = low != high
    over = (low == 0) & (high == size - 1)
    if not np.all((high == low + 1) | over | ~told) or not np.any(over):
        return None
    np.minimum.at(apart, np.where(over, size - 1, low)[told], own.bounds[told])
    if presence is not None:
        apart[apart >= 2 * float(presence)] = math.inf
    if np.any(apart <= 0) or (presence is None and np.any(np.isinf(apart))):
        return None
    return RoundSteps(size, presence, apart)


def line_gaps(metric: VerifiedMetric | OverPeriods, boxes: BoxQueries) -> list[NDArray[np.float64] | None]:
    """For each column the distances of neighbouring values that are told apart, *rounded down*, where they are on a
    line; else None."""
    own = metric.metric.inner if isinstance(metric.metric, PresenceMetric) else metric.metric
    parts = parts_of(own, boxes.universe.shape)
    found = [parts[one.axis] for one in boxes.columns]
    cuts = [np.flatnonzero(np.diff(one.codes)) for one in boxes.columns]
    return [one.gaps[at] if isinstance(one, LineMetric) else None for one, at in zip(found, cuts, strict=True)]


def promised_of(metric: VerifiedMetric | OverPeriods, boxes: BoxQueries, factors: Sequence[Factor]) -> ChangeBounds:
    """The distances of every factor's kinds of change. On a line neighbours are enough: all other changes are made of
    theirs.

    Raises: TooLarge where the metric is no sum over attributes, or a path is to measure what is no line.
    """
    if len(factors) != len(boxes.columns) or any(
        Factor not in type(one).__mro__ or one.size != size for one, size in zip(factors, boxes.sizes, strict=False)
    ):
        raise TooLarge("there is a factor for each column, of as many values")
    gaps = line_gaps(metric, boxes)
    kinds = []
    for own, one, factor in zip(gaps, boxes.columns, factors, strict=True):
        if own is not None:
            kinds.append(factor.kinds(own))
        elif isinstance(factor, Path):
            raise TooLarge("cuts along a line measure attributes whose values are on a line")
        else:
            kinds.append(factor.kinds(_least(metric, boxes, {one.axis: one.codes})))
    presence = metric.metric.epsilon if isinstance(metric.metric, PresenceMetric) else None
    return ChangeBounds(tuple(kinds), presence)


def _least(
    metric: VerifiedMetric | OverPeriods, boxes: BoxQueries, classes: dict[int, NDArray[np.int64]]
) -> Fraction | None:
    return distance_bounds_of(metric.metric, boxes.universe.shape, classes).least[0]


_MOST_TOLD: Final = 4_000_000


@final
@dataclass(frozen=True, eq=False)
class BlockTables:
    """The blocks as tables with Laplace noise, each of which tells of the blocks below it."""

    question: BoxQuestion

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self.question.blocks)

    @cached_property
    def cells(self) -> NDArray[np.float64]:
        """(blocks,): how many numbers each has."""
        each = [
            [one.cells(level) for one, level in zip(self.question.factors, block, strict=True)]
            for block in self.question.blocks
        ]
        return np.asarray(np.prod(np.array(each, dtype=np.float64), axis=1))

    @property
    def protected(self) -> NDArray[np.bool_]:
        """(blocks,): whether a record can move it at a finite distance."""
        return self.question.protected

    @property
    def measurable(self) -> NDArray[np.int64]:
        """The protected blocks."""
        return np.flatnonzero(self.protected)

    @cached_property
    def measurements(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Every protected block, with each that tells of it, and how many of its numbers add up to one.

        Raises: TooLarge.
        """
        levels = np.array(self.question.blocks)
        if len(levels) ** 2 > _MOST_TOLD:
            raise TooLarge(f"{len(levels):,} blocks are too many to tell which tells of which: ask for fewer boxes")
        spread = np.ones((len(levels), len(levels)))
        for place, factor in enumerate(self.question.factors):
            own = np.array(
                [[factor.tells(one, other) for other in range(factor.levels)] for one in range(factor.levels)]
            )
            spread *= own[levels[:, place][:, None], levels[:, place]]
        spread[~self.protected] = 0
        spread[:, ~self.protected] = 0
        outer, inner = np.nonzero(spread)
        return inner, outer, spread[outer, inner]

    @cached_property
    def laplace_budgets(self) -> Budgets:
        """Of the rates 1/b of ``measurable``."""
        return self.question.budgets(self.measurable)


def best_scales(question: BoxQuestion) -> NDArray[np.float64]:
    """(blocks,): standard deviations of normal noise, or scales of Laplace noise; 0 for blocks that are not measured,
    or need no noise. Normal ones are the best there are for these factors; Laplace ones a local optimum.

    Guarantee: proved to be enough, see :func:`require_enough`.
    Raises: CertificateRefused, TooLarge.
    """
    scales, weights = np.zeros(len(question.blocks)), question.weights
    if question.normal:
        among = np.flatnonzero(question.protected & (weights > 0))
        if among.size:
            scales[among] = 1 / np.sqrt(least_cost_rates(question.budgets(among), weights[among], 1).rates)
    elif np.any(question.protected):
        rates = rates_of_tables(BlockTables(question), weights[question.protected]).rates[: len(scales)]
        scales[rates > 0] = 1 / rates[rates > 0]
        scales = only_taken(BlockTables(question), scales, question.weights > 0)
    return enlarged_until(lambda wider: _within(question, wider), scales)


def require_enough(question: BoxQuestion, scales: NDArray[np.float64]) -> None:
    """Raises: CertificateRefused unless noise of these scales honours every limit: Σ share/σ² ≤ d² for normal noise,
    else Σ share/b ≤ d, over blocks that are measured; in integers, each summand rounded up."""
    proper = scales.shape == (len(question.blocks),) and bool(np.all((scales >= 0) & (scales <= LARGEST_SCALE)))
    if not (proper and _within(question, scales)):
        raise CertificateRefused("noise in the blocks of these boxes does not hide what the metric protects")


def _within(question: BoxQuestion, scales: NDArray[np.float64]) -> bool:
    return within_limits(question.loads, question.limits, scales, question.normal)


def block_variances(question: BoxQuestion, scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """(blocks,): of what is new in each, put together from all that tells of it."""
    if question.normal:
        return np.asarray(scales**2)
    inner, outer, spread = BlockTables(question).measurements
    used = scales[outer] > 0
    precision = np.bincount(inner[used], 1 / (2 * spread[used] * scales[outer[used]] ** 2), len(scales))
    return np.asarray(np.where(precision > 0, 1 / np.where(precision > 0, precision, 1.0), 0.0))


_STEPS: Final = {True: 60, False: 6}
"""With normal noise, and with Laplace noise, whose scales take ten times as long."""
_LEFT: Final = 1e-2
"""So much of all is shared alike: what counts for nothing at all would get noise that no integer holds."""
_CLOSE: Final = 1 + 1e-3


@final
@dataclass(frozen=True, eq=False)
class WorstScales:
    """``scales`` (blocks,) as :func:`best_scales` has them; ``worst``: the largest error, times its cost;
    ``dual_weights`` (K,), which sum to 1: the worst error is no less than the total of errors, each times its cost and
    this."""

    scales: NDArray[np.float64]
    worst: float
    dual_weights: NDArray[np.float64]


def worst_scales(question: BoxQuestion) -> WorstScales:
    """Scales that are best for a total in which boxes count as much as makes their errors alike.

    Definition: max_λ min_σ Σ λ_q·c_q·Var_q(σ) over Σ λ = 1, concave in λ with the errors as its gradient, by
    multiplying λ with the errors; the σ with the smallest worst error is taken, and the λ with the largest total.
    Guarantee: the scales are proved to be enough; how near the worst is to the best, the bound at ``dual_weights``
    says.
    Raises: CertificateRefused, TooLarge.
    """
    boxes, costs = question.queries.count, question.costs
    shares = np.full(boxes, 1 / boxes)
    best = WorstScales(np.zeros(0), np.inf, shares)
    highest = 0.0
    for _ in range(_STEPS[question.normal]):
        scales = best_scales(replace(question, dual_weights=shares))
        errors = question.variances(block_variances(question, scales)) * costs
        worst, total = float(errors.max()), float(shares @ errors)
        highest, pressed = max((highest, best.dual_weights), (total, shares), key=lambda one: one[0])
        if worst < best.worst:
            best = WorstScales(scales, worst, pressed)
        best = replace(best, dual_weights=pressed)
        if worst <= total * _CLOSE or total == 0:
            break
        shares = shares * (errors / total)
        shares = (1 - _LEFT) * shares / shares.sum() + _LEFT / boxes
    return best
