"""Tables of counts moved to what is known of them: projections in a weighted Euclidean norm, one after the other; and
whole counts near these: margins first, then tables of one or two attributes with exactly these. Counts in boxes along
a line, moved to the nearest that rise.

Kernel: a flow that is as large as possible; SciPy's isotonic regression.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from dxgeom.errors import UnsupportedCombination

Table: TypeAlias = NDArray[np.float64]
Tables: TypeAlias = list[Table]
Whole: TypeAlias = NDArray[np.int64]

_EXACTLY: Final = 2.0**-20
"""What has no error counts as if it had this part of the least."""
WORK: Final = 1.5e8
"""So many cells are looked at, times the subsets of attributes of their table; that is a few seconds. At least one step
is taken, however large the tables are."""
_MOST_STEPS: Final = 400


def on_simplex(values: Table, total: float) -> Table:
    """The nearest array of numbers that are not negative and have this sum.

    Definition: max(values − t, 0), t such that the sum is right; found by sorting. *Exact* up to float64.
    Source: Held, Wolfe & Crowder 1974.
    """
    # Only differences count, and those from the largest are not lost to its digits.
    values = values - values.max(initial=-np.inf)
    falling = np.sort(values, axis=None)[::-1]
    above = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    positive = int(np.count_nonzero(falling > above))
    return np.asarray(np.maximum(values - above[max(positive, 1) - 1], 0.0))


class Projected(NamedTuple):
    """``tables``: where the steps ended. ``moved``: Σ‖step‖², which the squared distance to the truth fell by at least.
    ``apart``: the most that two tables still differ by in a number that both contain, see
    :meth:`KnownOfTables.disagreement`. ``steps``: how often signs and agreement were met."""

    tables: Tables
    moved: float
    apart: float
    steps: int


@final
@dataclass(frozen=True, eq=False)
class KnownOfTables:
    """What is known of some tables: that they agree, what some of their parts are, and perhaps their signs and total.

    ``sizes``: how many values each attribute has. ``attribute_sets``: each table's attributes, rising. ``weights``:
    what squared errors in each table count, positive. ``exact``: the sets of attributes whose residual has no noise, by
    its table of sums zero along every attribute; of no attributes it is the number of records.
    """

    sizes: Sequence[int]
    attribute_sets: Sequence[tuple[int, ...]]
    weights: Sequence[float]
    exact: Mapping[tuple[int, ...], Table]

    @property
    def total(self) -> float | None:
        """The public number of records; None where it is private."""
        known = self.exact.get(())
        return None if known is None else float(known)

    @cached_property
    def of_records(self) -> bool:
        """Whether any such tables that agree, have no negative count and one total are those of some records, in parts.

        They are where the attribute sets can be taken away one by one, each of whose attributes with others is inside
        one that stays (a junction tree of the tables themselves).
        Source: Beeri, Fagin, Maier & Yannakakis 1983, Theorem 3.4; Vorob'ev 1962.
        """
        sets = {frozenset(own) for own in self.attribute_sets}
        sets = {one for one in sets if not any(one < other for other in sets)}
        while len(sets) > 1:
            ear = next((one for one in sets if _is_ear(one, sets - {one})), None)
            if ear is None:
                return False
            sets.remove(ear)
        return True

    def squares(self, tables: Sequence[Table]) -> float:
        """The squared norm."""
        return sum(weight * float(np.vdot(one, one)) for weight, one in zip(self.weights, tables, strict=True))

    def nonnegative(self, tables: Sequence[Table]) -> Tables:
        """The nearest tables without negative counts, each of the public total where there is one."""
        total = self.total
        return [np.maximum(one, 0.0) if total is None else on_simplex(one, total) for one in tables]

    def agreeing(self, tables: Sequence[Table]) -> tuple[Tables, float]:
        """The nearest tables of which any two agree in what they share; and how far some part was from that at most.

        Definition: the residual of S is averaged over the tables A ⊇ S with the weights u_A/Π_{a∈A∖S} n_a; exact ones
        are put in place.
        """
        found, apart = [one.copy() for one in tables], 0.0
        for inside, places in self._shared:
            parts = [self._residual(tables[place], place, inside) for place in places]
            known = self.exact.get(inside)
            if known is None:
                shares = np.array([self.weights[place] / self._cells_beside(place, inside) for place in places])
                known = np.tensordot(shares / shares.sum(), np.array(parts), axes=1)
            for place, part in zip(places, parts, strict=True):
                change = known - part
                apart = max(apart, float(np.abs(change).max()))
                found[place] += self._spread(change, place, inside)
        return found, apart

    def settled(self, tables: Sequence[Table], tolerance: float, steps: int | None = None) -> Projected:
        """These tables projected on signs and totals, then on agreement, and so on, with signs and totals at the end.

        Args: ``tolerance``: tables that are not further apart agree. ``steps``: exactly so many, whatever comes out.
        Guarantee: in the norm of the weights, no truth of which all this is known is further from what comes out than
        from ``tables``, wherever the steps end, up to float64: each is a projection on a convex set that holds it.
        """
        most = max(1, min(_MOST_STEPS, int(WORK / work_of(tables)))) if steps is None else steps
        place = self.nonnegative(tables)
        moved = self._step(tables, place)
        for step in range(most):
            agreed, apart = self.agreeing(place)
            if apart <= tolerance and steps is None:
                return Projected(place, moved, self.disagreement(place), step)
            signed = self.nonnegative(agreed)
            moved += self._step(place, agreed) + self._step(agreed, signed)
            place = signed
        return Projected(place, moved, self.disagreement(place), most)

    def disagreement(self, tables: Sequence[Table]) -> float:
        """The most that two tables differ by in a number that both contain, margins among them; or one from what is
        known of it."""
        most = 0.0
        for inside, places in self._shared:
            sums = [tables[place].sum(axis=self._beside(place, inside)) for place in places]
            if all(part in self.exact for part in subsets(inside)):
                sums.append(sum((self._share(part, inside) for part in subsets(inside)), np.zeros(sums[0].shape)))
            most = max(most, float(np.ptp(np.array(sums), axis=0).max(initial=0.0)))
        return most

    def _share(self, part: tuple[int, ...], inside: tuple[int, ...]) -> Table:
        """What the exact part adds to each sum of a set of attributes that holds its own."""
        shape = [self.sizes[a] if a in part else 1 for a in inside]
        return np.asarray(self.exact[part]).reshape(shape) / math.prod(self.sizes[a] for a in inside if a not in part)

    def _step(self, before: Sequence[Table], after: Sequence[Table]) -> float:
        return self.squares([one - other for one, other in zip(before, after, strict=True)])

    @cached_property
    def _shared(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Every set of attributes that several tables are over, or of which something is known, and these tables."""
        found: dict[tuple[int, ...], list[int]] = {}
        for place, own in enumerate(self.attribute_sets):
            for inside in subsets(own):
                found.setdefault(inside, []).append(place)
        return tuple((s, tuple(places)) for s, places in found.items() if len(places) > 1 or s in self.exact)

    def _beside(self, place: int, inside: tuple[int, ...]) -> tuple[int, ...]:
        """The axes of a table that are of other attributes."""
        return tuple(axis for axis, a in enumerate(self.attribute_sets[place]) if a not in inside)

    def _cells_beside(self, place: int, inside: tuple[int, ...]) -> int:
        own = self.attribute_sets[place]
        return math.prod(self.sizes[own[axis]] for axis in self._beside(place, inside))

    def _residual(self, table: Table, place: int, inside: tuple[int, ...]) -> Table:
        return residual(table, self._beside(place, inside))

    def _spread(self, part: Table, place: int, inside: tuple[int, ...]) -> Table:
        shape = [self.sizes[a] if a in inside else 1 for a in self.attribute_sets[place]]
        return (part / self._cells_beside(place, inside)).reshape(shape)


def work_of(tables: Sequence[Table]) -> int:
    """What one step takes, in the unit of :data:`WORK`."""
    return sum(one.size * 2 ** min(one.ndim, 16) for one in tables)


def _is_ear(one: frozenset[int], others: Collection[frozenset[int]]) -> bool:
    shared = frozenset(a for a in one if any(a in other for other in others))
    return any(shared <= other for other in others)


def subsets(own: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All subsets of a set, itself among them."""
    return (inside for width in range(len(own) + 1) for inside in combinations(own, width))


def residual(table: Table, beside: tuple[int, ...]) -> Table:
    """The margin over all axes but these, less its means along every axis that is left."""
    part = np.asarray(table.sum(axis=beside), dtype=np.float64)
    for axis in range(part.ndim):
        part = part - part.mean(axis=axis, keepdims=True)
    return part


def rounded_to_sum(values: Table, total: int) -> Whole:
    """Whole numbers that are not negative and have this sum: rounded down, and up where most was lost.

    Args: ``values`` (n,): not negative. Where they are near the sum already, no number moves by one or more.
    """
    down = np.floor(values).astype(np.int64)
    missing = total - int(down.sum())
    if missing < 0:
        down = np.floor(values * (total / values.sum())).astype(np.int64)
        missing = total - int(down.sum())
        while missing < 0:  # where float64 rounded the shares upward
            most = int(down.argmax())
            taken = min(-missing, int(down[most]))
            down[most], missing = down[most] - taken, missing + taken
    every, some = divmod(missing, len(values))
    down += every
    down[np.argsort(down - every - values, kind="stable")[:some]] += 1
    return down


def rounded_to_margins(table: Table, rows: Whole, columns: Whole) -> Whole:
    """Whole numbers that are not negative and have these margins, which have one sum; nearly all of them the table's
    rounded down or up.

    Definition: rounded down; then one more in as many cells of a fraction as the margins allow, by the largest flow
    from rows to columns; what the margins still miss goes wherever it fits.
    Source: controlled rounding as a flow, Cox & Ernst 1982.
    """
    down = _within(np.floor(table).astype(np.int64), rows, columns)
    height, width = down.shape
    cells = np.argwhere(table > down)
    source, sink = height + width, height + width + 1
    left, above = rows - down.sum(axis=1), columns - down.sum(axis=0)
    begins = np.concatenate([np.full(height, source), cells[:, 0], np.arange(height, height + width)])
    ends = np.concatenate([np.arange(height), cells[:, 1] + height, np.full(width, sink)])
    capacities = np.concatenate([left, np.ones(len(cells), dtype=np.int64), above]).astype(np.int32)
    graph = sparse.csr_matrix((capacities, (begins, ends)), shape=(sink + 1, sink + 1))
    flow = csgraph.maximum_flow(graph, source, sink).flow[:height, height : height + width].toarray()
    return _filled(down + np.maximum(flow, 0), rows, columns)


def _within(down: Whole, rows: Whole, columns: Whole) -> Whole:
    """The same with sums that are at most the margins: the largest counts give up what is too much."""
    for axis, margins in ((0, rows), (1, columns)):
        table = down if axis == 0 else down.T
        for place in np.flatnonzero(table.sum(axis=1) > margins).tolist():
            while (excess := int(table[place].sum() - margins[place])) > 0:
                most = int(table[place].argmax())
                table[place, most] -= min(excess, max(1, int(table[place, most]) // 2))
    return down


def _filled(table: Whole, rows: Whole, columns: Whole) -> Whole:
    """The same with exactly these margins: what is missing is put where row and column both miss some."""
    left, above = rows - table.sum(axis=1), columns - table.sum(axis=0)
    for row in np.flatnonzero(left).tolist():
        for column in np.flatnonzero(above).tolist():
            put = min(int(left[row]), int(above[column]))
            table[row, column] += put
            left[row] -= put
            above[column] -= put
    return table


def order_of_boxes(lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of boxes each of which lies in the next. Raises: UnsupportedCombination for others."""
    order = np.lexsort((*upper.T, *-lower.T, (upper - lower).sum(axis=1)))
    low, high = lower[order], upper[order]
    if not (np.all(low[1:] <= low[:-1]) and np.all(high[1:] >= high[:-1])):
        raise UnsupportedCombination(
            "a model of boxes is of those along a line, each of which lies in the next, such as the prefixes of one "
            "attribute: ask for 'auto', which estimates each by itself"
        )
    return order


def rising(values: NDArray[np.float64], errors: NDArray[np.float64], most: float) -> NDArray[np.float64]:
    """The nearest values that do not fall, between 0 and ``most``, squares being weighed by the errors' inverse.

    Definition: neighbours that fall are averaged until none does; then all are clipped, which is still the nearest.
    What has no error is moved by next to nothing.
    Source: Barlow, Bartholomew, Bremner & Brunk 1972.
    """
    from scipy.optimize import isotonic_regression  # slow to load

    least = float(errors[errors > 0].min(initial=math.inf))
    weights = (least / np.maximum(errors, least * _EXACTLY)) ** 2 if math.isfinite(least) else np.ones(len(errors))
    fit = np.asarray(isotonic_regression(values, weights=weights).x)
    return np.asarray(np.clip(fit, 0.0, most))
