"""Noise for whole tables of counts as a candidate of plans: normal in residuals, or Laplace in tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.marginals.assembly import (
    SHARES,
    measured_shape,
    measurement_shares,
    spread_of_residual,
    spread_of_table,
    subsets,
)
from dxgeom.mechanisms.linear.marginals.exact_loads import enlarged
from dxgeom.mechanisms.linear.marginals.gaussian_scales import GaussianScales, best_gaussian_scales, cell_variances
from dxgeom.mechanisms.linear.marginals.laplace_scales import LaplaceScales, best_laplace_scales
from dxgeom.mechanisms.linear.marginals.promise import Promise, promise_of
from dxgeom.mechanisms.linear.marginals.question import MarginalQuestion
from dxgeom.mechanisms.linear.marginals.recognised import CountTables, count_tables
from dxgeom.mechanisms.linear.marginals.set_family import SetFamily, family_of
from dxgeom.mechanisms.linear.marginals.table_measurement import TableMeasurement
from dxgeom.mechanisms.linear.marginals.volumes import tables_volume_bound
from dxgeom.mechanisms.linear.mixing import IntegerMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.numeric.sealed import cached_property

NORMAL: Final = "marginal-gaussian"
LAPLACE: Final = "marginal-laplace"
_MOST_ENTRIES: Final = 1 << 25
"""How noise reaches answers is not laid out beyond so many numbers."""
_ATTENTION_SHIFTS: Final = 12
_ALIKE: Final = 1 + 1e-3
_MANY: Final = 400
_UPWARD: Final = 1 + 1e-9
"""Distances are rounded down; a bound needs them rounded up."""
_LONGEST_DISTANCE: Final = 20.0


@final
@dataclass(frozen=True, eq=False)
class MarginalSpace:
    """A workload of whole tables of counts under constants for attributes.

    ``costs`` (tables,): what the squared error of each of a table's answers counts on average; ``least_costs``: what
    that of any of them counts at least. ``worst``: whether the worst answer counts, else all together.
    """

    sensitivity: Sensitivity
    tables: CountTables
    promise: Promise
    costs: NDArray[np.float64] = field(repr=False)
    least_costs: NDArray[np.float64] = field(repr=False)
    worst: bool

    @cached_property
    def family(self) -> SetFamily:
        """The tables, and all sets of attributes inside them."""
        return family_of(self.tables.sizes, self.tables.asked)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each attribute of the records has."""
        return () if self.sensitivity.universe is None else self.sensitivity.universe.shape

    @property
    def overlaps(self) -> bool:
        """Whether some table is of two attributes or more, or there are very many answers."""
        return len(self.family.levels) > 2 or sum(map(len, self.tables.queries)) > _MANY

    @property
    def optimal(self) -> bool:
        """Whether no Gaussian noise under this metric is better than the best found here."""
        return self.promise.exact and np.array_equal(self.costs, self.least_costs)

    @cached_property
    def question(self) -> MarginalQuestion:
        """With the constants that noise has to honour."""
        return self._question(self.promise.least, self.costs)

    def _question(self, constants: tuple[Fraction | None, ...], costs: NDArray[np.float64]) -> MarginalQuestion:
        return MarginalQuestion.under(self.family, constants, self.promise.presence, costs)

    @cached_property
    def best(self) -> GaussianScales:
        """The best normal noise, with its bound."""
        return best_gaussian_scales(self.question, self.worst)

    @cached_property
    def bound(self) -> float:
        """What no Gaussian noise has a smaller objective than, nor any additive noise that stretches to every spend."""
        if self.optimal:
            return self.best.bound
        return best_gaussian_scales(self._question(self.promise.most, self.least_costs), self.worst).bound

    @cached_property
    def volume_bound(self) -> float:
        """What no pure noise that stretches to every spend has a smaller objective than."""
        constants = self._question(self.promise.most, self.least_costs).constants
        return tables_volume_bound(self.family, constants, self.least_costs, self.worst)


def unbiased_tables_bound(space: MarginalSpace, concentrated: bool) -> float:
    """What no unbiased mechanism has a smaller objective than, additive or not: as ``unbiased_bound``, of records that
    differ in one attribute, or are absent."""
    promise = space.promise

    def allowed(constant: Fraction | None) -> float:
        distance = math.inf if constant is None else float(constant) * _UPWARD
        if distance > _LONGEST_DISTANCE:
            return math.inf
        return math.sqrt(math.expm1(distance**2)) if concentrated else 2 * math.sinh(distance / 2)

    constants, presence = np.array([allowed(one) for one in promise.most]), allowed(promise.presence)
    return best_gaussian_scales(
        MarginalQuestion(space.family, constants, presence, space.least_costs), space.worst
    ).bound


def marginal_space(sensitivity: Sensitivity, factors: NDArray[np.float64] | None, worst: bool) -> MarginalSpace:
    """The space of a workload; ``factors`` (K,): what squared errors count.

    Raises: TooLarge where the queries are not whole tables, or the metric is no sum over attributes.
    """
    tables = count_tables(sensitivity.queries, sensitivity.universe)
    if sensitivity.universe is None:
        raise TooLarge("nobody says which attributes the records have")
    promise = promise_of(sensitivity.metric.metric, sensitivity.universe.shape, tables.classes)
    each = [np.ones(len(queries)) if factors is None else factors[queries] for queries in tables.queries]
    costs = np.array([one.max() if worst else one.mean() for one in each])
    return MarginalSpace(sensitivity, tables, promise, costs, np.array([one.min() for one in each]), worst)


def marginal_gaussian(space: MarginalSpace) -> AdditiveMechanism:
    """Normal noise of the best covariance, of least total or least worst error, in closed form.

    Guarantee: every budget is checked in integers for the very scales that noise is drawn with. Answers agree with each
    other: tables have equal margins, exactly.
    Raises: TooLarge, CertificateRefused; UnsupportedCombination where the metric counts pure privacy.
    """
    return with_marginal_scales(NORMAL, space, np.sqrt(space.best.variances))


def marginal_laplace(space: MarginalSpace) -> AdditiveMechanism:
    """Laplace noise in the tables, and in smaller ones inside them, put together by least squares.

    Guarantee: as :func:`marginal_gaussian`, for pure privacy; of little error, a local optimum.
    Raises: TooLarge, CertificateRefused.
    """
    return with_marginal_scales(LAPLACE, space, scales_of_laplace(space.question, space.worst))


def scales_of_laplace(question: MarginalQuestion, worst: bool) -> NDArray[np.float64]:
    """(2·sets,): the scales of Laplace noise in measured tables, 0 where none is, before they are proved."""
    rates = _worst_rates(question) if worst else best_laplace_scales(question).rates
    return np.asarray(np.where(rates > 0, 1 / np.where(rates > 0, rates, 1.0), 0.0))


def _worst_rates(question: MarginalQuestion) -> NDArray[np.float64]:
    """Attention is shifted to the tables that come out worst, each time from the rates of the time before; the best of
    what that finds."""
    family = question.family
    attention, best, least = question.costs / family.cells[family.asked], np.zeros(2 * family.count), math.inf
    found: LaplaceScales | None = None
    for _ in range(_ATTENTION_SHIFTS):
        found = best_laplace_scales(question, attention, found)
        errors = cell_variances(question, residual_variances(question, found.rates)) * question.costs
        if float(errors.max()) < least:
            best, least = found.rates, float(errors.max())
        if float(errors.max()) <= _ALIKE * float(errors.min()):
            break
        attention = attention * np.sqrt(np.maximum(errors / max(float(errors.max()), 1e-300), 1e-6))
    return best


def residual_variances(question: MarginalQuestion, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """(sets,): the variance of the best average of what tables with noise of these rates say of each residual."""
    inner, outer, spread = question.measurements
    precision = np.bincount(inner, rates[outer] ** 2 / (2 * spread), question.family.count)
    return np.asarray(np.where(question.protected, 1 / np.where(precision > 0, precision, 1.0), 0.0))


def with_marginal_scales(name: str, space: MarginalSpace, scales: NDArray[np.float64]) -> AdditiveMechanism:
    """The mechanism with noise of these scales, in counts, enlarged until they are proved to be enough.

    Raises: TooLarge where there are too many answers to lay out what each takes; CertificateRefused.
    """
    if not np.any(space.question.protected):
        return without_noise(name, space.sensitivity)
    normal = name == NORMAL
    wider = enlarged(space.family, space.promise, scales, normal)
    return proved(name, space, wider)


def proved(name: str, space: MarginalSpace, scales: NDArray[np.float64]) -> AdditiveMechanism:
    """The mechanism with these very scales. Raises: CertificateRefused where they are too small; TooLarge."""
    sensitivity, normal = space.sensitivity, name == NORMAL
    measured = TableMeasurement(sensitivity.metric, space.shape, space.tables.classes, space.family, scales, normal)
    numerators, over = (of_residuals if normal else _of_tables)(space, scales)
    steps = sensitivity.queries.steps
    divisors = tuple(one * own * measured.steps_per_count for one, own in zip(over, steps, strict=True))
    return AdditiveMechanism(name, sensitivity, measured.law, IntegerMixing(numerators, divisors, measured))


def _blocks(family: SetFamily, scales: NDArray[np.float64], normal: bool) -> dict[int, slice]:
    """The coordinates of the noise in each part."""
    found, at = {}, 0
    for place in np.flatnonzero(scales > 0).tolist():
        own = family.sizes[list(family.members_of(place % family.count))]
        width = int(np.prod(own - 1)) if normal else math.prod(measured_shape(family, place))
        found[place] = slice(at, at + width)
        at += width
    return found


def _laid_out(space: MarginalSpace, blocks: dict[int, slice]) -> NDArray[np.int64]:
    answers, width = space.sensitivity.queries.tables.count, max(block.stop for block in blocks.values())
    if answers * width > _MOST_ENTRIES:
        raise TooLarge(
            f"{answers:,} answers that share {width:,} noisy numbers are not laid out; at most {_MOST_ENTRIES:,} pairs "
            "are: ask for them as dx.universe.MarginalQueries"
        )
    return np.zeros((answers, width), dtype=np.int64)


def _asked(space: MarginalSpace) -> Iterator[tuple[int, NDArray[np.int64]]]:
    yield from zip(space.family.asked.tolist(), space.tables.queries, strict=True)


def of_residuals(space: MarginalSpace, scales: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[int]]:
    """What each answer takes of the differences in the residuals with ``scales`` (sets,), and over what."""
    family, blocks = space.family, _blocks(space.family, scales, normal=True)
    numerators, over = _laid_out(space, blocks), [1] * space.sensitivity.queries.tables.count
    for number, queries in _asked(space):
        own = family.members_of(number)
        for inside in subsets(family, number):
            if inside in blocks:
                spread = spread_of_residual(family.members_of(inside), own, family.sizes)
                numerators[queries, blocks[inside]] = spread
        for query in queries.tolist():
            over[query] = int(family.cells[number])
    return numerators, over


def _of_tables(space: MarginalSpace, scales: NDArray[np.float64]) -> tuple[NDArray[np.int64], list[int]]:
    """What each answer takes of the noise in measured tables, and over what."""
    family, blocks = space.family, _blocks(space.family, scales, normal=False)
    numerators, over = _laid_out(space, blocks), [1] * space.sensitivity.queries.tables.count
    shares = measurement_shares(space.question, scales)
    for number, queries in _asked(space):
        own = family.members_of(number)
        for inside in subsets(family, number):
            for measured, share in shares.get(inside, {}).items():
                other, differing = family.members_of(measured % family.count), measured >= family.count
                spread = spread_of_table(family.members_of(inside), other, own, family.sizes, differing)
                numerators[queries, blocks[measured]] += share * spread
        for query in queries.tolist():
            over[query] = SHARES * int(family.cells[number])
    return numerators, over
