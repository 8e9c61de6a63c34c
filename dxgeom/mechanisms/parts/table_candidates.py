"""Noise for whole tables of counts as a candidate of plans: normal in residuals, or Laplace in tables.

Which queries are whole tables of counts, and of what: read from their weights, whatever wrote them. The parts of whole
tables of counts that noise is added to: residuals, or tables; with the proof of its scales.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.lattice import LatticeQueries, tables_over
from dxgeom.mechanisms.linear.mixing import (
    Block,
    Classes,
    FirstLessSecond,
    IntegerMixing,
    MeasuredNumbers,
    Siblings,
    lattice_step,
)
from dxgeom.mechanisms.linear.promises import Promise, promise_of
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.counts_with_noise import (
    SHARES,
    measured_shape,
    measurement_shares,
    spread_of_residual,
    spread_of_table,
    subsets,
)
from dxgeom.mechanisms.parts.loads import enlarged, hides_everything
from dxgeom.mechanisms.parts.scales import (
    GaussianScales,
    LaplaceScales,
    best_gaussian_scales,
    best_laplace_scales,
    cell_variances,
)
from dxgeom.mechanisms.parts.tables import MarginalQuestion, SetFamily, family_of
from dxgeom.mechanisms.parts.volumes import tables_volume_bound
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.differenced import DifferencedNormals
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.sealed import cached_property, freeze_arrays, frozen_integers, seal
from dxgeom.privacy.currencies import require_for_normal_noise
from dxgeom.universe.universe import Universe

Values: TypeAlias = bytes
"""Some values of an attribute: a byte for each, 1 where it is among them."""
_Cell: TypeAlias = dict[int, Values]

_NO_TABLES: Final = "these queries are not whole tables of counts"


@final
@dataclass(frozen=True, eq=False)
class CountTables:
    """Queries that are every cell of some marginals, each once.

    ``classes``: of each attribute looked at, by its place, the class of every value, the same in all tables. ``asked``:
    the attributes of each table, as places among these; ``queries``: the query of each of its cells, the last
    attribute's class running fastest.
    """

    classes: dict[int, NDArray[np.int64]] = field(repr=False)
    asked: tuple[tuple[int, ...], ...]
    queries: tuple[NDArray[np.int64], ...] = field(repr=False)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many classes each attribute has that is looked at."""
        return tuple(int(own.max()) + 1 for _, own in sorted(self.classes.items()))


def _count_tables(queries: LatticeQueries, universe: Universe | None) -> CountTables:
    """The tables that the queries are. Raises: TooLarge where they are none."""
    if universe is None or universe.listed is not None:
        raise TooLarge(f"{_NO_TABLES}: nobody says which attributes the records have, or a table lists them")
    by_axes: dict[tuple[int, ...], dict[tuple[Values, ...], int]] = {}
    for query, cell in _cells(queries, universe):
        axes = tuple(sorted(cell))
        found = by_axes.setdefault(axes, {})
        key = tuple(cell[axis] for axis in axes)
        if key in found:
            raise TooLarge(f"{_NO_TABLES}: '{queries.names[query]}' is asked twice")
        found[key] = query
    parts = _partitions(by_axes, queries)
    places = {axis: place for place, axis in enumerate(sorted(parts))}
    tables = [_ordered(axes, cells, parts) for axes, cells in by_axes.items()]
    classes = {axis: _class_of_each(own) for axis, own in parts.items()}
    return CountTables(classes, tuple(tuple(places[axis] for axis in axes) for axes in by_axes), tuple(tables))


def _cells(queries: LatticeQueries, universe: Universe) -> Iterator[tuple[int, _Cell]]:
    """Every query as the one cell that it counts."""
    for table in tables_over(queries, universe):
        flat = table.flat
        place = flat.argmax(axis=1)
        single = (np.count_nonzero(flat, axis=1) == 1) & (flat.min(axis=1) >= 0)
        for row, query in enumerate(table.queries.tolist()):
            if not single[row] and flat.shape[1] > 1:
                raise TooLarge(f"{_NO_TABLES}: '{queries.names[query]}' is no count of one cell")
            if Fraction(int(flat[row, place[row]])) * queries.steps[query] != 1:
                raise TooLarge(f"{_NO_TABLES}: '{queries.names[query]}' does not count each record once")
            own = np.unravel_index(place[row], table.shape) if table.axes else ()
            both = zip(table.axes, table.classes, own, strict=True)
            yield query, {axis: (classes == one).astype(np.uint8).tobytes() for axis, classes, one in both}


def _partitions(
    by_axes: dict[tuple[int, ...], dict[tuple[Values, ...], int]], queries: LatticeQueries
) -> dict[int, list[Values]]:
    """The classes of each attribute, by their first value: they do not overlap, and leave no value out."""
    parts: dict[int, list[Values]] = {}
    for axes, cells in by_axes.items():
        for place, axis in enumerate(axes):
            own = sorted({key[place] for key in cells}, reverse=True)
            if parts.setdefault(axis, own) != own:
                raise TooLarge(f"{_NO_TABLES} over the same values everywhere")
        if len(cells) != math.prod(len(parts[axis]) for axis in axes):
            raise TooLarge(f"{_NO_TABLES}: some cell is missing, or the cells overlap")
    for own in parts.values():
        if not np.all(np.sum([np.frombuffer(part, dtype=np.uint8) for part in own], axis=0) == 1):
            raise TooLarge(f"{_NO_TABLES}: their cells overlap, or leave values out")
    return parts


def _class_of_each(parts: list[Values]) -> NDArray[np.int64]:
    return np.asarray(np.argmax([np.frombuffer(part, dtype=np.uint8) for part in parts], axis=0))


def _ordered(
    axes: tuple[int, ...], cells: dict[tuple[Values, ...], int], parts: dict[int, list[Values]]
) -> NDArray[np.int64]:
    """(cells,): the query of each cell."""
    rank = [{part: place for place, part in enumerate(parts[axis])} for axis in axes]
    shape = tuple(len(one) for one in rank)
    ordered = np.empty(math.prod(shape), dtype=np.int64)
    for key, query in cells.items():
        place = 0
        for one, part, size in zip(rank, key, shape, strict=True):
            place = place * size + one[part]
        ordered[place] = query
    return ordered


@final
@dataclass(frozen=True, eq=False)
class TableMeasurement(MeasuredNumbers):
    """Residuals of the tables of ``family`` with normal noise, or the tables, and differences inside them, with Laplace
    noise, of these ``scales``. ``shape``: how many values each attribute of the records has.

    Guarantee: every budget of the metric's constants is summed in integers for these very scales.
    Raises: CertificateRefused for scales that are too small; TooLarge where the metric is no sum over attributes;
    UnsupportedCombination for normal noise where it counts pure privacy.
    """

    metric: VerifiedMetric
    shape: tuple[int, ...]
    classes: Mapping[int, NDArray[np.int64]] = field(repr=False)
    family: SetFamily = field(repr=False)
    scales: NDArray[np.float64] = field(repr=False)
    normal: bool

    def __post_init__(self) -> None:
        freeze_arrays(self, "scales")
        if self.normal:
            require_for_normal_noise(self.metric.privacy)
        object.__setattr__(self, "classes", {axis: frozen_integers(one) for axis, one in self.classes.items()})
        seal(self)
        require_same_attributes(self.family, self.classes, self.shape)
        if self.scales.shape != (self.family.count * (1 if self.normal else 2),) or not np.any(self.scales > 0):
            raise CertificateRefused(f"these tables have {self.family.count:,} parts, and noise in some of them")
        promise = promise_of(self.metric.metric, self.shape, dict(self.classes))
        if not hides_everything(self.family, promise, self.scales, self.normal):
            raise CertificateRefused("noise in the parts of these tables does not hide what the metric protects")
        _ = self.blocks, self.law  # worked out of what was proved, now

    @property
    def codes(self) -> Mapping[int, NDArray[np.int64]]:
        return self.classes

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        axes, found = sorted(self.classes), []
        for place in np.flatnonzero(self.scales > 0).tolist():
            members = self.family.members_of(place % self.family.count)
            sizes = [int(self.family.sizes[a]) for a in members]
            shape = measured_shape(self.family, place)
            sums = tuple(
                Siblings(1, size) if self.normal else Classes(size) if numbers > 1 else FirstLessSecond()
                for size, numbers in zip(sizes, shape, strict=True)
            )
            found.append(Block(tuple(axes[a] for a in members), sums))
        return tuple(found)

    @cached_property
    def law(self) -> ProductNoise | LaplaceNoise:
        used, step = np.flatnonzero(self.scales > 0).tolist(), float(lattice_step(self.scales))
        if not self.normal:
            numbers = [math.prod(measured_shape(self.family, place)) for place in used]
            return LaplaceNoise(np.repeat(self.scales[used] / step, numbers))
        sizes = [self.family.sizes[list(self.family.members_of(place))].astype(np.float64) for place in used]
        scales = (self.scales[used] / step).tolist()
        return ProductNoise(tuple(DifferencedNormals(scale, own) for scale, own in zip(scales, sizes, strict=True)))


def require_same_attributes(
    family: SetFamily, classes: Mapping[int, NDArray[np.int64]], shape: tuple[int, ...]
) -> None:
    """Raises: CertificateRefused unless the sets are of attributes with these classes of values."""
    each = [(np.unique(one), len(one) == shape[axis]) for axis, one in sorted(classes.items())]
    proper = all(whole and np.array_equal(one, np.arange(len(one))) for one, whole in each)
    if not proper or [len(one) for one, _ in each] != family.sizes.tolist():
        raise CertificateRefused("these are tables of other attributes than those that are measured")


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
    tables = _count_tables(sensitivity.queries, sensitivity.universe)
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
    return _with_marginal_scales(NORMAL, space, np.sqrt(space.best.variances))


def marginal_laplace(space: MarginalSpace) -> AdditiveMechanism:
    """Laplace noise in the tables, and in smaller ones inside them, put together by least squares.

    Guarantee: as :func:`marginal_gaussian`, for pure privacy; of little error, a local optimum.
    Raises: TooLarge, CertificateRefused.
    """
    return _with_marginal_scales(LAPLACE, space, scales_of_laplace(space.question, space.worst))


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


def _with_marginal_scales(name: str, space: MarginalSpace, scales: NDArray[np.float64]) -> AdditiveMechanism:
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
