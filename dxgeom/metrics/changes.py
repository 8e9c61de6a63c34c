"""What a change of one record does to the answers of a workload: listed difference by difference, or in factors.

Listed differences are rows of which most entries are zero. In factors, the largest change is the largest value of a
sum of tables that share variables, found by eliminating one variable after the other.

Kernel: SciPy's sparse matrices.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnboundedLoss
from dxgeom.metrics.differences import ENTRIES_PER_BLOCK, SEPARATES_THE_SAME
from dxgeom.metrics.generating_pairs import PairClasses, pair_classes_in_families, presence_of
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, quotient_round_up, round_down
from dxgeom.numeric.sealed import Sealed, cached_property
from dxgeom.universe.weight_table import WeightTable, class_of_shared, refuse_too_many, shared_classes
from dxgeom.universe.weight_tables import WeightTables


@final
@dataclass(frozen=True, eq=False)
class SparseRows:
    """A matrix of integers below 2⁵³ in magnitude, kept as float64, without its zeros."""

    matrix: Any = field(repr=False)

    @property
    def count(self) -> int:
        """The number of rows."""
        return int(self.matrix.shape[0])

    @property
    def entries(self) -> int:
        """How many are not zero."""
        return int(self.matrix.nnz)

    def times(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """The product with a vector; a row with n entries costs n products and n − 1 additions, each rounded."""
        return np.asarray(self.matrix @ vector)

    def rows(self, which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Some of the rows, dense."""
        return np.asarray(self.matrix[which].toarray())

    def largest_quotients(self, divisors: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each column the largest entry over its row's divisor, *rounded up*; the entries must not be negative."""
        largest = np.zeros(self.matrix.shape[1])
        by_row = np.repeat(divisors, np.diff(self.matrix.indptr))
        np.maximum.at(largest, self.matrix.indices, quotient_round_up(self.matrix.data, by_row))
        return largest

    def by_column(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Column after column the rows where it is not zero, rising, and its entries there; and where columns begin,
        and the last ends."""
        turned = self.matrix.tocsc()
        turned.sort_indices()
        return turned.indices.astype(np.int64), turned.data, turned.indptr.astype(np.int64)

    def with_columns_times(self, factors: NDArray[np.float64]) -> SparseRows:
        """Every column times its factor; exact while the products stay below 2⁵³."""
        return SparseRows(type(self.matrix)(self.matrix * factors[None, :]))


def sparse_rows(matrix: NDArray[np.int64]) -> SparseRows:
    """A dense matrix of integers below 2⁵³ in magnitude."""
    from scipy.sparse import csr_array  # only workloads too large to be listed need it, and it loads slowly

    places = np.nonzero(matrix)
    return SparseRows(csr_array((matrix[places].astype(np.float64), places), shape=matrix.shape))


def change_sizes(rows: SparseRows, pairs: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> SparseRows:
    """|rows[first] − rows[second]| for blocks of pairs, one below the other; exact for integers below 2⁵²."""
    from scipy.sparse import vstack

    blocks = []
    for first, second in pairs:
        changed = abs(rows.matrix[first] - rows.matrix[second])
        changed.eliminate_zeros()
        blocks.append(changed)
    return SparseRows(vstack(blocks, format="csr"))


Scope: TypeAlias = tuple[int, ...]


class Elimination(NamedTuple):
    """``order`` in which variables go; ``cells``: the most entries that a table has on the way, for each case."""

    order: tuple[int, ...]
    cells: int


class Largest(NamedTuple):
    """``values`` (P,): the maxima; ``choice``: for each variable the value (P,) that attains them."""

    values: NDArray[np.float64]
    choice: dict[int, NDArray[np.int64]]


def elimination_of(scopes: Sequence[Scope], sizes: Mapping[int, int]) -> Elimination:
    """Always the variable next whose elimination makes the smallest table."""
    left, order, most = [set(scope) for scope in scopes], [], 1
    while variables := set().union(*left):
        joined = {one: set().union(*(scope for scope in left if one in scope)) for one in sorted(variables)}
        cells = {one: math.prod(sizes[other] for other in scope) for one, scope in joined.items()}
        chosen = min(cells, key=lambda one: cells[one])
        most = max(most, cells[chosen])
        order.append(chosen)
        left = [scope for scope in left if chosen not in scope] + [joined[chosen] - {chosen}]
    return Elimination(tuple(order), most)


def largest_sum(tables: Sequence[tuple[Scope, NDArray[np.float64]]], order: Sequence[int]) -> Largest:
    """max over the variables of Σ tables, for each of P cases.

    Args: each table has the cases first and then one axis per variable of its scope, in increasing order of variables;
    ``order``: all variables.
    Guarantee: exact but for the additions, each of which is rounded to nearest; every summand goes through fewer
    additions than there are tables.
    """
    left = list(tables)
    steps: list[tuple[int, Scope, NDArray[np.int64]]] = []
    for variable in order:
        involved = [table for table in left if variable in table[0]]
        scope = tuple(sorted({one for variables, _ in involved for one in variables}))
        total = _added(involved, scope)
        place = 1 + scope.index(variable)
        others = tuple(one for one in scope if one != variable)
        steps.append((variable, others, total.argmax(axis=place)))
        left = [table for table in left if variable not in table[0]] + [(others, total.max(axis=place))]
    choice: dict[int, NDArray[np.int64]] = {}
    for variable, others, best in reversed(steps):
        choice[variable] = best[(np.arange(len(best)), *(choice[other] for other in others))]
    return Largest(_added(left, ()), choice)


def _added(tables: Sequence[tuple[Scope, NDArray[np.float64]]], scope: Scope) -> NDArray[np.float64]:
    total: NDArray[np.float64] | None = None
    for variables, entries in tables:
        sizes = iter(entries.shape[1:])
        spread = entries.reshape(len(entries), *(next(sizes) if one in variables else 1 for one in scope))
        total = spread if total is None else total + spread
    return np.zeros(1) if total is None else total


ENTRY_LIMIT = 30_000_000
"""More entries than this are not kept in factors."""
WORK_LIMIT = 300_000_000
"""More sums than this would have to be compared at every look for the heaviest change."""

_TOGETHER: Final = 1 << 18
"""What a record is is looked at over all attributes together up to so many cells, else table by table."""


class LargestLoads(NamedTuple):
    """Some changes Δ_e with their loads Σ_k |Δ_e,k|·rate_k/b_e: ``loads`` (W,), ``rows`` (W, K) = |Δ_e|/b_e."""

    loads: NDArray[np.float64]
    rows: NDArray[np.float64]


class Changes(Sealed, ABC):
    """All differences Δ_e of K integer queries along generating pairs, each with the distance b_e that it has to
    honour.

    Laws: ``of_each_query`` are the largest loads of each query alone; scaling the queries scales the loads.
    """

    @property
    @abstractmethod
    def of_each_query(self) -> NDArray[np.float64]:
        """(K,): max_e |Δ_e,k|/b_e, *rounded up*; 0 where a query never changes."""

    @abstractmethod
    def scaled(self, factors: NDArray[np.int64]) -> Changes:
        """The changes of queries that have been multiplied by integers."""

    @abstractmethod
    def largest_loads(self, rates: NDArray[np.float64], most: int) -> LargestLoads:
        """The change with the largest load at these rates (K,), and up to ``most`` others of large load.

        No summand of a load is rounded more than K + 4 times.
        """

    def largest_load(self, rates: NDArray[np.float64]) -> float:
        """max_e Σ_k |Δ_e,k|·rate_k/b_e, *rounded up*."""
        largest = float(self.largest_loads(rates, 1).loads.max(initial=0.0))
        return math.nextafter(largest * (1 + 2 * (len(rates) + 4) * UNIT_ROUNDOFF), math.inf)


@final
@dataclass(frozen=True, eq=False)
class ListedChanges(Changes):
    """``differences`` (E, K): int64, distinct, without zeros, one of each pair ±Δ; ``bounds`` (E,): rounded down."""

    differences: NDArray[np.int64] = field(repr=False)
    bounds: NDArray[np.float64] = field(repr=False)

    @property
    def count(self) -> int:
        """The number E of differences."""
        return len(self.bounds)

    @cached_property
    def of_each_query(self) -> NDArray[np.float64]:
        largest = np.zeros(self.differences.shape[1])
        for query, column in enumerate(self.differences.T):
            largest[query] = np.max(quotient_round_up(np.abs(column).astype(np.float64), self.bounds), initial=0.0)
        return largest

    def rows(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The differences at these places, (n, K)."""
        return self.differences[places]

    def scaled(self, factors: NDArray[np.int64]) -> ListedChanges:
        return ListedChanges(self.differences * factors, self.bounds)

    def largest_loads(self, rates: NDArray[np.float64], most: int) -> LargestLoads:
        loads = (self._sizes @ rates) / self.bounds
        worst = largest_first(loads, most)
        return LargestLoads(loads[worst], self._sizes[worst] / self.bounds[worst, None])

    @cached_property
    def _sizes(self) -> NDArray[np.float64]:
        return np.abs(self.differences).astype(np.float64)


class _Share(NamedTuple):
    """What one table contributes: a row of ``changes`` for every case and every value of the variables of ``scope``."""

    scope: Scope
    shape: tuple[int, ...]
    queries: NDArray[np.int64]
    changes: SparseRows


class _Family(NamedTuple):
    """Pairs that change the same attributes: ``bounds`` (P,), and what each table contributes to their loads."""

    bounds: NDArray[np.float64]
    shares: tuple[_Share, ...]
    order: tuple[int, ...]
    cells: int


@final
@dataclass(frozen=True, eq=False)
class FactoredChanges(Changes):
    """Never listed: a change is the sum of what it does to each table, and a table sees few attributes of its
    surroundings.

    The largest load is found by eliminating attributes one after the other. Where any record may become any other,
    loads may be larger than those of any pair, never smaller (see
    :func:`dxgeom.metrics.generating_pairs.pair_classes_in_families`).
    """

    count: int
    families: tuple[_Family, ...] = field(repr=False)

    @cached_property
    def of_each_query(self) -> NDArray[np.float64]:
        largest = np.zeros(self.count)
        for family in self.families:
            for share in family.shares:
                bounds = np.repeat(family.bounds, math.prod(share.shape))
                own = share.changes.largest_quotients(bounds)
                largest[share.queries] = np.maximum(largest[share.queries], own)
        return largest

    def scaled(self, factors: NDArray[np.int64]) -> FactoredChanges:
        families = []
        for family in self.families:
            shares = (
                share._replace(changes=share.changes.with_columns_times(factors[share.queries].astype(np.float64)))
                for share in family.shares
            )
            families.append(family._replace(shares=tuple(shares)))
        return FactoredChanges(self.count, tuple(families))

    def largest_loads(self, rates: NDArray[np.float64], most: int) -> LargestLoads:
        found = [_largest_loads_of(family, rates, most) for family in self.families]
        loads = np.concatenate([one.loads for one in found] or [np.empty(0)])
        rows = np.concatenate([one.rows for one in found] or [np.empty((0, self.count))])
        worst = largest_first(loads, most)
        return LargestLoads(loads[worst], rows[worst])


def factored_changes(metric: Metric, tables: WeightTables) -> FactoredChanges:
    """The changes of queries given as tables, without listing them.

    Raises: UnboundedLoss when a pair at distance 0 has a difference; TooLarge.
    """
    families: list[_Family] = []
    for members in pair_classes_in_families(metric, tables):
        families.append(_family(members[0]) if len(members) == 1 else _family_apart(members))
        _require_few(families)
    presence = presence_of(metric, tables)
    if presence is not None:
        families.append(_family_of_presence(tables, round_down(presence.epsilon)))
        _require_few(families)
    changes = FactoredChanges(tables.count, tuple(families))
    if np.any(np.isinf(changes.of_each_query)):
        raise UnboundedLoss(SEPARATES_THE_SAME)
    return changes


def _require_few(families: Sequence[_Family]) -> None:
    if sum(share.changes.entries for family in families for share in family.shares) > ENTRY_LIMIT:
        raise TooLarge(f"the queries' changes have more than {ENTRY_LIMIT:,} entries; ask fewer queries at once")


def _largest_loads_of(family: _Family, rates: NDArray[np.float64], most: int) -> LargestLoads:
    """For each pair of a family its worst surroundings; of these the heaviest."""
    cases = len(family.bounds)
    weighed = [
        (share.scope, share.changes.times(rates[share.queries]).reshape(cases, *share.shape)) for share in family.shares
    ]
    loads = np.empty(cases)
    choice = {variable: np.empty(cases, dtype=np.int64) for variable in family.order}
    step = max(1, ENTRIES_PER_BLOCK // family.cells)
    for start in range(0, cases, step):
        here = slice(start, start + step)
        largest = largest_sum([(scope, table[here]) for scope, table in weighed], family.order)
        loads[here] = largest.values / family.bounds[here]
        for variable, values in largest.choice.items():
            choice[variable][here] = values
    worst = largest_first(loads, most)
    rows = np.zeros((len(worst), len(rates)))
    for share in family.shares:
        place = worst
        for variable, size in zip(share.scope, share.shape, strict=True):
            place = place * size + choice[variable][worst]
        rows[:, share.queries] = share.changes.rows(place)
    return LargestLoads(loads[worst], rows / family.bounds[worst, None])


def _family(blocks: Sequence[PairClasses]) -> _Family:
    """Pairs that share their surroundings: the variables are the attributes that they leave alone."""
    shares: list[_Share] = []
    sizes: dict[int, int] = {}
    for place, table in enumerate(blocks[0].tables):
        sizes |= dict(zip(table.axes, table.weights.shape[1:], strict=True))
        scope = blocks[0].others(table)
        shares.append(_Share(scope, tuple(sizes[axis] for axis in scope), table.queries, _sizes(blocks, place)))
    bounds = np.concatenate([moves.bounds for moves in blocks])
    order, cells = elimination_of([share.scope for share in shares], sizes)
    if cells * len(bounds) > WORK_LIMIT:
        raise TooLarge(
            "the queries look at too many attributes at once to tell their heaviest change; ask fewer at once"
        )
    return _Family(bounds, tuple(shares), order, cells)


def _family_apart(members: Sequence[Sequence[PairClasses]]) -> _Family:
    """One case, in which each table chooses its own pair: that choice is a variable of its own."""
    shares = []
    for variable, blocks in enumerate(members):
        changes = _sizes(blocks, 0)
        shares.append(_Share((variable,), (changes.count,), blocks[0].tables[0].queries, changes))
    sizes = {variable: share.shape[0] for variable, share in enumerate(shares)}
    return _Family(members[0][0].bounds[:1], tuple(shares), *elimination_of([share.scope for share in shares], sizes))


def _family_of_presence(tables: WeightTables, bound: float) -> _Family:
    """A record that comes or goes moves answers by what it is: one case, whose variables are all its attributes; or,
    where they are looked at together by too many tables, each table has a record of its own, which adds up to no less.
    """
    looking = [table for table in tables.tables if table.axes]
    axes = sorted({axis for table in looking for axis in table.axes})
    classes = {axis: shared_classes(looking, axis) for axis in axes}
    sizes = {axis: int(own.max()) + 1 for axis, own in classes.items()}
    each = [*looking, *(table for table in tables.tables if not table.axes)]
    cells = [math.prod(sizes[axis] for axis in table.axes) for table in each]
    for table, count in zip(each, cells, strict=True):
        refuse_too_many(len(table.queries), count)
    scopes = [table.axes for table in each]
    if elimination_of(scopes, sizes).cells > _TOGETHER:
        scopes, sizes = [(place,) for place in range(len(each))], dict(enumerate(cells))
    shares = [
        _Share(scope, tuple(sizes[one] for one in scope), table.queries, _by_shared(table, classes))
        for scope, table in zip(scopes, each, strict=True)
    ]
    return _Family(np.array([bound]), tuple(shares), *elimination_of(scopes, sizes))


def _by_shared(table: WeightTable, classes: Mapping[int, NDArray[np.int64]]) -> SparseRows:
    """The sizes of one table's weights: a row for each cell of shared classes."""
    places = np.arange(table.cells).reshape(table.shape)
    for place, axis in enumerate(table.axes):
        places = places.take(class_of_shared(table, axis, classes[axis]), axis=place)
    return SparseRows(sparse_rows(np.abs(table.flat.T)).matrix[places.ravel()])


def _sizes(blocks: Sequence[PairClasses], place: int) -> SparseRows:
    """|Δ| of one table's queries: a row for each pair and each value of the attributes it looks at beside."""
    table = blocks[0].tables[place]
    beside = blocks[0].places(table, blocks[0].first[:1]).size
    if beside * sum(moves.bounds.size for moves in blocks) > ENTRY_LIMIT:
        raise TooLarge("too many pairs of records would have to be compared; ask fewer queries at once")
    pairs = ((moves.places(table, moves.first).ravel(), moves.places(table, moves.second).ravel()) for moves in blocks)
    return change_sizes(sparse_rows(table.flat.T), pairs)


def largest_first(loads: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """The places of the largest loads, the very largest first."""
    if len(loads) > most:
        chosen = np.argpartition(loads, len(loads) - most)[len(loads) - most :]
    else:
        chosen = np.arange(len(loads))
    return np.asarray(chosen[np.argsort(-loads[chosen], kind="stable")], dtype=np.int64)
