"""Where a metric meets a workload: the differences that noise has to hide. The only place that knows both.

The differences that decide a shape, of many more: those that reach far. No privacy rests on the choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field, replace
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.errors import CertificateRefused, DataError, DxgeomError, TooLarge, UnsupportedCombination
from dxgeom.geometry.fan import few_extreme_points
from dxgeom.mechanisms.linear.lattice import LatticeQueries, on_lattice
from dxgeom.metrics.changes import Changes, ListedChanges, factored_changes, largest_first
from dxgeom.metrics.differences import collected, differences_of_some, differences_of_tables
from dxgeom.metrics.held_rings import MOST_RECORDS, ring_differences
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.paired_changes import PairedChanges, changes_of_places, paired_changes
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.numeric.arrays import FITS
from dxgeom.numeric.qhull import HullLimits
from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.public_shares import PublicPart
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_tables import WeightTables, require_nothing_for_absence

_ENTRIES: Final = 1_200_000
"""Of the differences that are kept, at most."""
_LEAST: Final = 2_000
_FLAT: Final = 1e-9
_FLAT_SQUARED: Final = 1e-13
"""Squares of lengths tell no smaller ones apart."""
_PER_QUERY: Final = 2
_MANY: Final = 2_000
"""Fewer differences are looked at as soon as their corners are told from the others."""
_MOST_QUERIES: Final = 8
_FEW_FACETS: Final = HullLimits(facets=3_000, seconds=np.inf)
"""A hull of more is not grown for its corners alone. No clock decides: the same differences are kept every time."""


def corner_places(changes: ListedChanges) -> NDArray[np.int64] | None:
    """Of very many differences of few queries the corners of their hull, where these are few: a norm ball that holds
    the corners over their bounds holds all. None where that is no help."""
    noisy = changes.of_each_query > 0
    if changes.count < _MANY or not 1 < np.sum(noisy) <= _MOST_QUERIES:
        return None
    points = changes.differences[:, noisy] / changes.bounds[:, None] / changes.of_each_query[noisy]
    _, reach, turned = np.linalg.svd(np.asarray(np.linalg.qr(points, mode="r")))
    spanning = reach > _FLAT * reach[0]
    try:
        return few_extreme_points(points @ (turned[spanning] / reach[spanning, None]).T, _FEW_FACETS)
    except TooLarge:
        return None


def active_differences(changes: PairedChanges) -> ListedChanges:
    """Of all differences some that reach furthest, in the directions of the queries and as differences spread.

    Among them are enough for their span to be that of all.
    """
    queries = changes.kinds.columns.shape[1]
    scales = np.where(changes.of_each_query > 0, changes.of_each_query, 1.0)
    count = max(_LEAST, _ENTRIES // queries)
    whitened = (changes.kinds.columns / scales) @ _whitening(changes, scales)
    lengths = np.concatenate([np.sqrt((rows**2).sum(axis=1)) / bounds for rows, bounds in changes.steps(whitened)])
    longest = largest_first(lengths, count)
    spread = np.linspace(0, changes.count - 1, min(changes.count, count // 8)).astype(np.int64)
    chosen = np.unique(np.concatenate([longest, spread, _furthest(changes, whitened)[0]]))
    chosen = _in_all_directions(changes, whitened, chosen, _FLAT * float(lengths.max()))
    return ListedChanges(changes.rows(chosen), changes.bounds[chosen])


def _whitening(changes: PairedChanges, scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """(K, m): takes differences over scales to where they spread alike in all directions of their span."""
    columns, first, second, bounds = changes.kinds
    weights = 1 / bounds**2
    degrees = np.bincount(first, weights, len(columns)) + np.bincount(second, weights, len(columns))
    centred = columns / scales
    centred -= centred.mean(axis=0)
    # The pairs' own second moment would need a row for each; with every kind as often as it is in pairs it is near.
    values, axes = np.linalg.eigh((centred * degrees[:, None]).T @ centred)
    kept = values > values[-1] * _FLAT_SQUARED
    return np.asarray(axes[:, kept] / np.sqrt(values[kept]))


def _in_all_directions(
    changes: PairedChanges, whitened: NDArray[np.float64], chosen: NDArray[np.int64], least: float
) -> NDArray[np.int64]:
    """With others, for as long as some reach further than ``least`` where the ``chosen`` do not reach at all."""
    _, first, second, bounds = changes.kinds
    while True:
        rows = (whitened[first[chosen]] - whitened[second[chosen]]) / bounds[chosen, None]
        _, reach, turned = np.linalg.svd(np.asarray(np.linalg.qr(rows, mode="r")), full_matrices=True)
        missing = turned[int(np.sum(reach > _FLAT * reach[0])) :]
        if len(missing) == 0:
            return chosen
        places, reached = _furthest(changes, whitened @ missing.T)
        fresh = np.setdiff1d(places[reached > least], chosen)
        if fresh.size == 0:
            return chosen
        chosen = np.union1d(chosen, fresh)


def _furthest(changes: PairedChanges, turned: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each coordinate (R, m) the pairs that reach furthest along it, and how far, (2·m,) both."""
    best = np.zeros((_PER_QUERY, turned.shape[1]), dtype=np.int64)
    reach = np.zeros((_PER_QUERY, turned.shape[1]))
    start = 0
    for rows, bounds in changes.steps(turned):
        sizes = np.abs(rows) / bounds[:, None]
        top = sizes.argmax(axis=0)
        found = sizes[top, np.arange(len(top))]
        better = found > reach[0]
        best[1], reach[1] = np.where(better, best[0], best[1]), np.where(better, reach[0], reach[1])
        best[0], reach[0] = np.where(better, start + top, best[0]), np.where(better, found, reach[0])
        start += len(bounds)
    return best.ravel(), reach.ravel()


_DOOR = object()
_PAIRS_LOOKED_AT: Final = 256
_ENTRIES_LOOKED_AT: Final = 1 << 23

FEW_QUERIES = 7
"""The changes of so few are listed, however many they are: hulls are built of them."""
MOST_LISTED_QUERIES = 10
"""The changes of so few are listed where there are too many pairs of kinds of records."""
MOST_KEPT_ENTRIES = 2_000_000
"""Differences with more entries than this in all are kept as pairs of kinds of records,"""
MOST_LISTED_ENTRIES = 20_000_000
"""and with more than this never listed."""


@final
@dataclass(frozen=True, eq=False)
class Sensitivity:
    """The generating differences Δ_e of a workload on its lattice, each with the distance b_e it has to honour.

    A norm ball K hides them iff ‖Δ_e‖_K ≤ b_e for all e. Only :func:`sensitivity_of` makes one. ``changes``: in lattice
    steps. ``absent``: the index that means no record, as the metric or the queries' universe knows it. ``universe``:
    the records, as the queries or the metric know them. ``whole``: whether these are all generating differences, or all
    others are averages of ± some of these at the same distance; noise is proved for no others.
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
                "a Sensitivity is made by sensitivity_of, never directly: others' differences prove nothing"
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

    def quick_estimate(self, places: NDArray[np.int64]) -> Sensitivity:
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


def sensitivity_of(metric: VerifiedMetric, queries: LinearQueries, public: PublicPart | None = None) -> Sensitivity:
    """Put the queries on a lattice and collect their differences along the metric's generating pairs.

    Args: ``public``: what public numbers add to the answers of these queries, which are then less than what was asked.
    Guarantee: differences *exact*, of the very integers that a release multiplies with the histogram.
    Raises: UnsupportedCombination when they are not about the same records; UnboundedLoss when no finite noise
    can honour the metric; TooLarge; CertificateRefused where changes are kept in factors and a pair that is drawn to
    look at them has a larger one.
    """
    metric = on_records_of(metric, queries)
    absent = _absent_record(metric, queries)
    if absent is not None:
        require_nothing_for_absence(queries.tables, absent)
        if queries.records is not None:
            raise UnsupportedCombination("where records may be absent, no query divides by their number")
    universe = metric.universe
    changes = _protected(metric, queries.tables)
    lattice = on_lattice(queries, changes.of_each_query, public)
    if absent is not None and any(lattice.weight_errors):
        _refuse_rounding(lattice)
    if any(step > unit for unit, step in zip(queries.units, lattice.steps, strict=True)):
        # Also where nothing was rounded away: differences in coarser steps are smaller numbers.
        return Sensitivity(metric, lattice, _protected(metric, lattice.tables), absent, universe, door=_DOOR)
    finer = [int(unit / step) for unit, step in zip(queries.units, lattice.steps, strict=True)]
    return Sensitivity(metric, lattice, changes.scaled(np.array(finer, dtype=np.int64)), absent, universe, door=_DOOR)


def _require_same_records(metric: VerifiedMetric, queries: LinearQueries, called: str = "queries") -> None:
    """Raises: UnsupportedCombination unless the metric is verified and on the records that the queries weigh.

    ``called``: the argument that the queries came as.
    """
    require_verified(metric)
    require(queries, LinearQueries, called, "load them with dx.load_queries, or use dx.LinearQueries.from_matrix")
    if metric.size != queries.size:
        raise UnsupportedCombination(
            f"the metric is on {metric.size:,} possible records, the queries on {queries.size:,}; they must be the "
            "same: give each query one weight for each possible record"
        )
    if metric.universe and queries.universe and not metric.universe.lists_the_same_records(queries.universe):
        raise UnsupportedCombination(
            "the metric and the queries are about different universes: load both from one policy"
        )


def on_records_of(metric: VerifiedMetric, queries: LinearQueries, called: str = "queries") -> VerifiedMetric:
    """The metric on the records of the queries, where these know them: a ledger then tells them from any others.

    That of a block stays as it is, on some of its policy's records, whatever the queries call them.
    Raises: UnsupportedCombination as :func:`_require_same_records`.
    """
    _require_same_records(metric, queries, called)
    return metric if queries.universe is None or metric.block is not None else metric.on(queries.universe)


def require_public_number(metric: VerifiedMetric, queries: LinearQueries) -> None:
    """Raises: UnsupportedCombination where records may be absent: how many there are is then private."""
    if _absent_record(metric, queries) is not None:
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


def _absent_record(metric: VerifiedMetric, queries: LinearQueries) -> int | None:
    """The index that means no record, as the metric knows it or, where that is a bare matrix, the queries' universe.

    None: the number of records is public.
    """
    if metric.absent is not None or metric.universe is not None or queries.universe is None:
        return metric.absent
    return queries.universe.absent


def _protected(metric: VerifiedMetric, tables: WeightTables) -> Changes:
    """What noise has to hide: changes of a record, and where the policy holds its distances for those who know its
    public counts, changes by rings of people. Raises: as :func:`sensitivity_of`."""
    if metric.held and metric.size > MOST_RECORDS:
        raise TooLarge(
            f"'hold' is worked out for lists of answers about at most {MOST_RECORDS:,} possible records, and these are "
            f"{metric.size:,}: give attributes fewer values, or leave 'hold' out and read in 'check' what is not held"
        )
    changes = _changes(metric.metric, tables)
    if not metric.held:
        return changes
    listed = changes.listed() if isinstance(changes, PairedChanges) else changes
    known, universe = metric.known, metric.universe
    if not isinstance(listed, ListedChanges) or known is None or universe is None:
        raise TooLarge("'hold' is worked out for lists of answers about a policy's records: ask for fewer answers")
    labels = known.classes.of_elements(universe)
    rings = ring_differences(metric.metric, tables.matrix(), labels, known.held_people)
    return ListedChanges(*collected(iter([(listed.differences, listed.bounds), rings]), tables.count))


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
    changes = factored_changes(metric, tables)
    _require_of_some_pairs(changes, metric, tables)
    return changes


def _require_of_some_pairs(changes: Changes, metric: Metric, tables: WeightTables) -> None:
    """Holds changes in factors against pairs of records drawn afresh each time, of which half differ in one attribute,
    and some are of a record and none: by other code, from the metric's distances and the records' weights.

    No proof, but whoever forgets a family of changes is found out. Raises: CertificateRefused.
    """
    types = math.prod(tables.shape)
    if types >= FITS:
        return
    generator, count = np.random.default_rng(), max(8, min(_PAIRS_LOOKED_AT, _ENTRIES_LOOKED_AT // tables.count))
    first, second = generator.integers(types, size=(2, count))
    codes = np.stack(np.unravel_index(second, tables.shape), axis=1)
    alike, axes = np.arange(count // 2), generator.integers(len(tables.shape), size=count // 2)
    own = np.stack(np.unravel_index(first[: count // 2], tables.shape), axis=1)
    own[alike, axes] = codes[alike, axes]
    second[: count // 2] = np.ravel_multi_index(tuple(own.T), tables.shape)
    if tables.absent:
        second[-count // 8 :] = types
    allowed = metric.distance(first, second) * (1 + 1e-9)
    finite = np.isfinite(allowed)
    moved = np.abs(tables.of_records(first[finite]) - tables.of_records(second[finite])).astype(np.float64)
    most, allowed = changes.of_each_query, allowed[finite, None]
    rates = np.divide(1.0, most, out=np.zeros_like(most), where=most > 0)
    if np.any(moved > most * allowed) or np.any(moved @ rates > changes.largest_load(rates) * allowed[:, 0]):
        raise CertificateRefused(
            "a pair of records moves these queries further than was found of all pairs, which is a fault of dxgeom: "
            "nothing is planned; please report the policy and the queries, and ask fewer queries at once meanwhile"
        )


def _ways(tables: WeightTables) -> tuple[Callable[[Metric, WeightTables], Changes], ...]:
    """What is tried, in this order."""
    if tables.count <= FEW_QUERIES:
        return (_one_by_one,)
    # So few have far fewer differences than pairs of kinds, where there are too many of these.
    return (_in_pairs, _one_by_one) if tables.count <= MOST_LISTED_QUERIES else (_in_pairs,)


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
