"""Where a metric meets a workload: the differences that noise has to hide. The only place that knows both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.errors import DataError, DxgeomError, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.lattice import LatticeQueries, on_lattice
from dxgeom.mechanisms.linear.working_sets import active_differences, corner_places
from dxgeom.metrics.changes import Changes, ListedChanges, factored_changes
from dxgeom.metrics.differences import differences_of_some, differences_of_tables
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.paired_changes import PairedChanges, changes_of_places, paired_changes
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_tables import WeightTables, require_nothing_for_absence

_DOOR = object()

FEW_QUERIES = 7
"""The changes of so few are listed, however many they are: hulls are built of them."""
MOST_LISTED_QUERIES = 10
"""The changes of so few are listed where there are too many pairs of kinds of records."""
MOST_KEPT_ENTRIES = 2_000_000
"""Differences with more entries than this in all are kept as pairs of kinds of records,"""
MOST_LISTED_ENTRIES = 20_000_000
"""and with more than this never listed."""
MOST_PAIRED_QUERIES = 512
"""No shape is sought for the tables of more queries than this, and their changes are kept in factors,"""
SMALL_MATRIX = 1 << 22
"""but where they have no more weights than this when laid out."""


@final
@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The generating differences Δ_e of a workload on its lattice, each with the distance b_e it has to honour.

    A norm ball K hides them iff ‖Δ_e‖_K ≤ b_e for all e. Only :func:`sensitivity_of` makes one. ``changes``: in lattice
    steps. ``absent``: the index that means no record, as the metric or the queries' universe knows it. ``universe``:
    the records, as the queries or the metric know them. ``whole``: whether these are all generating differences; noise
    is proved for no others.
    """

    metric: VerifiedMetric = field(repr=False)
    queries: LatticeQueries = field(repr=False)
    changes: Changes = field(repr=False)
    absent: int | None
    universe: Universe | None = field(repr=False)
    whole: bool = True
    door: InitVar[object] = None

    def __post_init__(self, door: object) -> None:
        if door is not _DOOR:
            raise DxgeomError(
                "a Sensitivity is made by sensitivity_of, never by hand: others' differences prove nothing"
            )

    @property
    def differences(self) -> NDArray[np.int64]:
        """(E, K): all of them, int64, without zeros, one of each pair ±Δ. Raises: TooLarge where they are too many."""
        return self._listed.differences

    @property
    def bounds(self) -> NDArray[np.float64]:
        """(E,): the distance of each difference, rounded down. Raises: as ``differences``."""
        return self._listed.bounds

    @property
    def of_each_query(self) -> NDArray[np.float64]:
        """(K,): max_e |Δ_e,k|/b_e in lattice steps, *rounded up*; 0 where a query never changes."""
        return self.changes.of_each_query

    @cached_property
    def shaping(self) -> ListedChanges:
        """The differences that shapes are fitted to: all, or those of them that seem to matter. Whatever is found is
        checked on all. Raises: TooLarge where they are kept in factors."""
        if isinstance(self.changes, PairedChanges):
            return active_differences(self.changes)
        corners = self.corners
        return self._listed if corners is None else ListedChanges(self.differences[corners], self.bounds[corners])

    @cached_property
    def corners(self) -> NDArray[np.int64] | None:
        """Where among all differences are those that the others lie between, up to rounding; None where that is not
        known. Raises: TooLarge where they are kept in factors or as pairs."""
        return corner_places(self._listed)

    @property
    def proved(self) -> ListedChanges | PairedChanges:
        """All differences, as containment is shown for them. Raises: as ``shaping``."""
        return self.changes if isinstance(self.changes, PairedChanges) else self._listed

    def only(self, places: Sequence[int]) -> Sensitivity:
        """That of the queries at these rising places, without another look at the metric.

        Raises: TooLarge where the differences of all are too many to list one by one.
        """
        listed = differences_of_some(self.differences, self.bounds, list(places))
        return replace(self, queries=self.queries.only(places), changes=ListedChanges(*listed), door=_DOOR)

    def glimpse(self, places: NDArray[np.int64]) -> Sensitivity:
        """That of the differences at these places alone, of which floors can be told and nothing can be proved.

        Raises: TooLarge where the differences are kept in factors.
        """
        if not isinstance(self.changes, ListedChanges | PairedChanges):
            raise TooLarge("differences that are kept in factors have no places")
        some = ListedChanges(self.changes.rows(places), self.changes.bounds[places])
        return replace(self, changes=some, whole=False, door=_DOOR)

    @cached_property
    def _listed(self) -> ListedChanges:
        if isinstance(self.changes, ListedChanges):
            return self.changes
        paired = self.changes if isinstance(self.changes, PairedChanges) else None
        if paired is not None and paired.count * len(self.queries.names) <= MOST_LISTED_ENTRIES:
            return paired.listed()
        raise TooLarge(f"the differences that {len(self.queries.names):,} queries make are too many to list one by one")


def sensitivity_of(metric: VerifiedMetric, queries: LinearQueries) -> Sensitivity:
    """Put the queries on a lattice and collect their differences along the metric's generating pairs.

    Guarantee: differences *exact*, of the very integers that a release multiplies with the histogram.
    Raises: UnsupportedCombination when they are not about the same records; UnboundedLoss when no finite noise
    can honour the metric; TooLarge.
    """
    metric = on_records_of(metric, queries)
    absent = absent_record(metric, queries)
    if absent is not None:
        require_nothing_for_absence(queries.tables, absent)
        if queries.records is not None:
            raise UnsupportedCombination("where records may be absent, no query divides by their number")
    universe = metric.universe
    changes = _changes(metric.metric, queries.tables)
    lattice = on_lattice(queries, changes.of_each_query)
    if absent is not None and any(lattice.weight_errors):
        _refuse_rounding(lattice)
    if any(step > unit for unit, step in zip(queries.units, lattice.steps, strict=True)):
        # Also where nothing was rounded away: differences in coarser steps are smaller numbers.
        return Sensitivity(metric, lattice, _changes(metric.metric, lattice.tables), absent, universe, door=_DOOR)
    finer = [int(unit / step) for unit, step in zip(queries.units, lattice.steps, strict=True)]
    return Sensitivity(metric, lattice, changes.scaled(np.array(finer, dtype=np.int64)), absent, universe, door=_DOOR)


def require_same_records(metric: VerifiedMetric, queries: LinearQueries, called: str = "queries") -> None:
    """Raises: UnsupportedCombination unless the metric is verified and on the records that the queries weigh.

    ``called``: the argument that the queries came as.
    """
    require_verified(metric)
    require(queries, LinearQueries, called, "load them with dx.load_queries, or use dx.LinearQueries.from_matrix")
    if metric.size != queries.size:
        raise UnsupportedCombination(
            f"the metric is on {metric.size:,} record types, the queries on {queries.size:,}; they must be the same"
        )
    if metric.universe and queries.universe and not metric.universe.lists_the_same_records(queries.universe):
        raise UnsupportedCombination(
            "the metric and the queries are about different universes: load both from one policy"
        )


def on_records_of(metric: VerifiedMetric, queries: LinearQueries, called: str = "queries") -> VerifiedMetric:
    """The metric on the records of the queries, where these know them: a ledger then tells them from any others.

    That of a block stays as it is, on some of its policy's records, whatever the queries call them.
    Raises: UnsupportedCombination as :func:`require_same_records`.
    """
    require_same_records(metric, queries, called)
    return metric if queries.universe is None or metric.block is not None else metric.on(queries.universe)


def require_public_number(metric: VerifiedMetric, queries: LinearQueries) -> None:
    """Raises: UnsupportedCombination where records may be absent: how many there are is then private."""
    if absent_record(metric, queries) is not None:
        raise UnsupportedCombination(
            "this mechanism uses the number of records, which a policy with a rule about presence keeps private"
        )


def require_written_for(stated: int | None, records: int) -> None:
    """Raises: DataError when queries were divided by another public number of records than there are."""
    if stated is not None and stated != records:
        raise DataError(
            f"the queries were written for {stated:,} records, the table has {records:,}; "
            f"a mean divides by that public number: correct 'records' in the queries, or --records, to {records}"
        )


def absent_record(metric: VerifiedMetric, queries: LinearQueries) -> int | None:
    """The index that means no record, as the metric knows it or, where that is a bare matrix, the queries' universe.

    None: the number of records is public.
    """
    if metric.absent is not None or metric.universe is not None or queries.universe is None:
        return metric.absent
    return queries.universe.absent


def _changes(metric: Metric, tables: WeightTables) -> Changes:
    """Listed where queries or changes are few; as pairs of kinds of records where these are; in factors for workloads
    in tables."""
    refused: TooLarge | None = None
    for way in _ways(tables):
        try:
            return way(metric, tables)
        except TooLarge as error:
            refused = error
    if refused is not None and (tables.is_matrix or len(tables.shared[0]) == 1):
        raise refused  # along one attribute factors are the pairs once more
    return factored_changes(metric, tables)


def _ways(tables: WeightTables) -> tuple[Callable[[Metric, WeightTables], Changes], ...]:
    """What is tried, in this order."""
    if tables.count <= FEW_QUERIES:
        return (_one_by_one,)
    flat = tables.is_matrix or tables.absent
    small = flat or tables.count <= MOST_PAIRED_QUERIES or tables.count * tables.size <= SMALL_MATRIX
    in_pairs = (_in_pairs,) if small else ()
    # So few have far fewer differences than pairs of kinds, where there are too many of these.
    return (*in_pairs, _one_by_one) if tables.count <= MOST_LISTED_QUERIES else in_pairs


def _one_by_one(metric: Metric, tables: WeightTables) -> ListedChanges | PairedChanges:
    near = changes_of_places(metric, tables)
    return ListedChanges(*differences_of_tables(metric, tables)) if near is None else _listed_if_few(near)


def _in_pairs(metric: Metric, tables: WeightTables) -> ListedChanges | PairedChanges:
    return _listed_if_few(paired_changes(metric, tables))


def _listed_if_few(paired: PairedChanges) -> ListedChanges | PairedChanges:
    return paired.listed() if paired.count * paired.kinds.columns.shape[1] <= MOST_KEPT_ENTRIES else paired


def _refuse_rounding(lattice: LatticeQueries) -> None:
    """What rounding weights does to an answer grows with the number of records, so error bars would tell it."""
    rounded = next(name for name, error in zip(lattice.names, lattice.weight_errors, strict=True) if error)
    raise UnsupportedCombination(
        f"the weights of query '{rounded}' would have to be rounded, and how much that changes its answer depends on "
        "the number of records, which this policy keeps private: give weights with at most nine digits, as integers "
        "or Fractions"
    )
