"""Noise for whole tables of counts as a candidate of plans: normal in residuals or along bases, or Laplace in tables.

Which queries are whole tables of counts, and of what: read from their weights, whatever wrote them. The parts of whole
tables of counts that noise is added to: residuals, or tables; with the proof of its scales.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds, distance_bounds_of
from dxgeom.mechanisms.linear.lattice import LatticeQueries, tables_over
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.bases import ValueDistances, uneven_distances
from dxgeom.mechanisms.parts.loads import enlarged
from dxgeom.mechanisms.parts.measured_parts import AskedBoxes, parts_in_answers
from dxgeom.mechanisms.parts.public_tables import public_tables
from dxgeom.mechanisms.parts.scales import (
    LAPLACE,
    NORMAL,
    GaussianScales,
    best_gaussian_scales,
    scales_of_laplace,
)
from dxgeom.mechanisms.parts.table_mechanism import KRONECKER, Bases, TableMechanism
from dxgeom.mechanisms.parts.tables import MarginalQuestion, SetFamily, family_of
from dxgeom.mechanisms.parts.volumes import tables_volume_bound
from dxgeom.mechanisms.shapes.strategy_program import outgrows_a_search
from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.universe import Universe
from dxgeom.universe.workloads.groups import Groups
from dxgeom.universe.workloads.whole_tables import MarginalQueries

Values: TypeAlias = bytes
"""Some values of an attribute: a byte for each, 1 where it is among them."""
_Cell: TypeAlias = dict[int, Values]

_NO_TABLES: Final = "these queries are not whole tables of counts"


@final
@dataclass(frozen=True, eq=False)
class CountTables:
    """Queries that are every cell of some marginals, each once.

    ``classes``: of each attribute looked at, by its place, the class of every value, the same in all tables. ``boxes``:
    the attributes of each table, as places among these; ``queries``: the query of each of its cells, the last
    attribute's class running fastest.
    """

    classes: dict[int, NDArray[np.int64]] = field(repr=False)
    attribute_sets: tuple[tuple[int, ...], ...]
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
    distance_bounds: DistanceBounds
    costs: NDArray[np.float64] = field(repr=False)
    least_costs: NDArray[np.float64] = field(repr=False)
    worst: bool

    @cached_property
    def told(self) -> frozenset[int]:
        """The sets of attributes whose residual public numbers tell, and that no answer asks of the data."""
        if self.sensitivity.queries.public is None:
            return frozenset()
        return frozenset(public_tables(self.sensitivity.metric, self.queries, self.family))

    @cached_property
    def family(self) -> SetFamily:
        """The tables, and all sets of attributes inside them."""
        return family_of(self.tables.sizes, self.tables.attribute_sets)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each attribute of the records has."""
        return () if self.sensitivity.universe is None else self.sensitivity.universe.shape

    @cached_property
    def queries(self) -> MarginalQueries:
        """The tables, as they are asked for without names for their cells. Raises: TooLarge."""
        universe, classes = self.sensitivity.universe, self.tables.classes
        if universe is None or min(self.tables.sizes, default=2) < 2:
            raise TooLarge(f"{_NO_TABLES} of attributes with two values or more")
        columns = tuple(
            Groups(universe, universe.names[axis], axis, tuple(map(str, range(int(own.max()) + 1))), own)
            for axis, own in sorted(classes.items())
        )
        return MarginalQueries(universe, columns, self.tables.attribute_sets)

    @cached_property
    def boxes(self) -> tuple[AskedBoxes, ...]:
        """The tables' cells, each the answer to a query."""
        found = []
        for columns, answers in zip(self.tables.attribute_sets, self.tables.queries, strict=True):
            shape = [self.tables.sizes[place] for place in columns]
            lower = np.indices(shape).reshape(len(shape), len(answers)).T
            found.append(AskedBoxes(columns, answers, lower, lower + 1))
        return tuple(found)

    @property
    def overlaps(self) -> bool:
        """Whether some table is of two attributes or more, or answers are too many for a search to suit all of them."""
        return len(self.family.levels) > 2 or outgrows_a_search(sum(map(len, self.tables.queries)))

    @property
    def optimal(self) -> bool:
        """Whether no Gaussian noise under this metric is better than the best found here."""
        return self.distance_bounds.exact and np.array_equal(self.costs, self.least_costs)

    @cached_property
    def question(self) -> MarginalQuestion:
        """With the constants that noise has to honour."""
        return self._question(self.distance_bounds.least, self.costs)

    def _question(self, constants: tuple[Fraction | None, ...], costs: NDArray[np.float64]) -> MarginalQuestion:
        return MarginalQuestion.under(self.family, constants, self.distance_bounds.presence, costs, self.told)

    @cached_property
    def best(self) -> GaussianScales:
        """The best normal noise, with its bound."""
        return best_gaussian_scales(self.question, self.worst)

    @cached_property
    def bound(self) -> float:
        """What no Gaussian noise has a smaller objective than, nor any additive noise that stretches to every spend."""
        if self.optimal:
            return self.best.bound
        return best_gaussian_scales(self._question(self.distance_bounds.most, self.least_costs), self.worst).bound

    @cached_property
    def volume_bound(self) -> float:
        """What no pure noise that stretches to every spend has a smaller objective than."""
        if self.told:  # a volume of all that the tables are
            return 0.0
        constants = self._question(self.distance_bounds.most, self.least_costs).constants
        return tables_volume_bound(self.family, constants, self.least_costs, self.worst)


def unbiased_tables_bound(space: MarginalSpace, concentrated: bool) -> float:
    """What no unbiased mechanism has a smaller objective than, additive or not: as ``unbiased_bound``, of records that
    differ in one attribute, or are absent."""
    promise = space.distance_bounds

    def allowed(constant: Fraction | None) -> float:
        distance = math.inf if constant is None else float(constant) * _UPWARD
        if distance > _LONGEST_DISTANCE:
            return math.inf
        return math.sqrt(math.expm1(distance**2)) if concentrated else 2 * math.sinh(distance / 2)

    constants, presence = np.array([allowed(one) for one in promise.most]), allowed(promise.presence)
    return best_gaussian_scales(
        MarginalQuestion(space.family, constants, presence, space.least_costs, space.told), space.worst
    ).bound


def marginal_space(sensitivity: Sensitivity, factors: NDArray[np.float64] | None, worst: bool) -> MarginalSpace:
    """The space of a workload; ``factors`` (K,): what squared errors count.

    Raises: TooLarge where the queries are not whole tables, or the metric is no sum over attributes.
    """
    tables = _count_tables(_before_public(sensitivity.queries), sensitivity.universe)
    if sensitivity.universe is None:
        raise TooLarge("nobody says which attributes the records have")
    promise = distance_bounds_of(sensitivity.metric.metric, sensitivity.universe.shape, tables.classes)
    each = [np.ones(len(queries)) if factors is None else factors[queries] for queries in tables.queries]
    costs = np.array([one.max() if worst else one.mean() for one in each])
    return MarginalSpace(sensitivity, tables, promise, costs, np.array([one.min() for one in each]), worst)


def _before_public(queries: LatticeQueries) -> LatticeQueries:
    """What was asked, where answers are less public numbers. Raises: TooLarge where nobody kept it."""
    if queries.public is None:
        return queries
    asked = queries.public.before
    if asked is None:
        raise TooLarge(f"{_NO_TABLES}, less what is public")
    return LatticeQueries(queries.names, asked.tables, asked.units, queries.weight_errors, queries.records)


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


def _with_marginal_scales(name: str, space: MarginalSpace, scales: NDArray[np.float64]) -> AdditiveMechanism:
    """The mechanism with noise of these scales, in counts, enlarged until they are proved to be enough.

    Raises: TooLarge where there are too many answers to lay out what each takes; CertificateRefused.
    """
    if not np.any(space.question.protected):
        return without_noise(name, space.sensitivity)
    normal = name == NORMAL
    wider = enlarged(space.family, space.distance_bounds, scales, normal, space.told)
    return proved(name, space, wider)


def kronecker_gaussian(space: MarginalSpace) -> AdditiveMechanism:
    """Normal noise in residuals, along bases of their attributes.

    Guarantee: as :class:`TableMechanism`; answers agree with each other, exactly.
    Raises: TooLarge, CertificateRefused; UnsupportedCombination where the metric counts pure privacy.
    """
    from dxgeom.mechanisms.parts.basis_program import KroneckerQuestion  # not before it is needed

    if space.told:
        raise TooLarge("along bases tables are not known less public numbers")
    if not has_uneven_attributes(space):
        raise TooLarge("every attribute's values are equally far apart: marginal-gaussian is the best there is")
    found = KroneckerQuestion(
        space.family, space.distance_bounds, _uneven_attributes(space), space.costs, space.worst
    ).best()
    return proved(KRONECKER, space, found.spreads, found.bases)


def has_uneven_attributes(space: MarginalSpace) -> bool:
    """Whether the values of some attribute of the tables are not all equally far apart."""
    return any(one is not None for one in _uneven_attributes(space))


def _uneven_attributes(space: MarginalSpace) -> tuple[ValueDistances | None, ...]:
    return uneven_distances(space.sensitivity.metric.metric, space.shape, space.tables.classes)


def proved(name: str, space: MarginalSpace, scales: NDArray[np.float64], bases: Bases = ()) -> AdditiveMechanism:
    """The mechanism with these very scales, along these ``bases`` where it is along such.

    Raises: CertificateRefused where they are too small; TooLarge; UnsupportedCombination.
    """
    made = TableMechanism(name, space.sensitivity.metric, space.queries, bases, scales, bool(space.told))
    return parts_in_answers(made, space.sensitivity, space.boxes)
