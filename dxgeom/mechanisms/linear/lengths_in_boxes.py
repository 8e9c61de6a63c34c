"""What noise in the answers to counts in boxes hides of a record, with no number for each box and each record.

A record moves the answers whose boxes it is in, each by one: w, of zeros and ones. With V = L·N its length is ‖L⁻¹·w‖.
In square that is a sum of entries of (L·Lᵀ)⁻¹ over all pairs of boxes that both hold the record. What two boxes have in
common is a box. So an entry is added at the corners of that, with a sign, and all records together take one running sum
along each attribute.

The boxes that linear queries count the records in, read from their weights and held against them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.distance_bounds import joint_distance_bounds_of
from dxgeom.mechanisms.linear.lattice import LatticeQueries, tables_over
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.triangular import TriangularNormals
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, round_down
from dxgeom.numeric.sealed import Sealed, seal
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import LARGEST_NUMERATOR, WeightTable
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.spans import boxes_of_tables


def boxes_left(sensitivity: Sensitivity) -> tuple[BoxQueries, NDArray[np.int64]]:
    """The boxes of all queries but those that public numbers imply, which weigh nothing; and the places of these
    queries. Guarantee, Raises: as :func:`counted_boxes`."""
    queries = sensitivity.queries
    left = np.arange(len(queries.names)) if queries.public is None else np.flatnonzero(~queries.public.implied)
    if not left.size:
        raise TooLarge("these queries are no boxes: nothing is asked of the data")
    asked = queries if left.size == len(queries.names) else queries.only(left.tolist())
    return _counted(asked, sensitivity.universe), left


def counted_boxes(sensitivity: Sensitivity) -> BoxQueries:
    """The boxes that the queries count the records in, each once, in their order.

    Guarantee: *exact*. Of the very weights that a release multiplies with the histogram, each is 1 inside its query's
    box and 0 outside; the boxes that were found are held against them once more.
    Raises: TooLarge where they count anything else.
    """
    return _counted(sensitivity.queries, sensitivity.universe)


def _counted(queries: LatticeQueries, universe: Universe | None) -> BoxQueries:
    if universe is None or universe.listed is not None:
        raise TooLarge("these queries are no boxes: nobody says which attributes the records have, or a table does")
    tables = [_per_record(table, queries) for table in tables_over(queries, universe)]
    try:
        found = replace(boxes_of_tables(universe, tables), records=queries.records)
    except UnsupportedCombination as error:
        raise TooLarge(f"these queries are no boxes: {error}") from error
    if not all(_reproduces(found, table) for table in tables):
        raise TooLarge("these queries are no boxes: the boxes between their ends have other weights")
    return found


def _per_record(table: WeightTable, queries: LatticeQueries) -> WeightTable:
    """The weights of records in place of steps. Raises: TooLarge where one is neither 0 nor 1."""
    ones = [1 / queries.steps[query] for query in table.queries.tolist()]
    proper = np.array([one.denominator == 1 and one < LARGEST_NUMERATOR for one in ones])
    units = np.array([one.numerator if whole else 1 for one, whole in zip(ones, proper.tolist(), strict=True)])
    if table.dense is None:
        proper &= units == 1
    else:
        counted = table.flat != 0
        proper &= ~np.any(counted & (table.flat != units[:, None]), axis=1)
        table = replace(table, dense=counted.reshape(table.dense.shape).astype(np.int64))
    if not np.all(proper):
        name = queries.names[table.queries[int(proper.argmin())]]
        raise TooLarge(f"these queries are no boxes: not every weight of '{name}' is 0 or 1")
    return table


def _reproduces(boxes: BoxQueries, table: WeightTable) -> bool:
    """Whether each query of the table has the weight 1 in its box, and 0 elsewhere; *exact*."""
    columns = {one.axis: place for place, one in enumerate(boxes.columns)}
    elsewhere = [place for axis, place in columns.items() if axis not in table.axes]
    lower, upper = boxes.lower[table.queries], boxes.upper[table.queries]
    whole = np.all((lower == 0) & (upper == np.array(boxes.sizes)), axis=0)
    inside = []
    for axis, classes in zip(table.axes, table.classes, strict=True):
        if axis not in columns:  # of one value
            inside.append(np.ones((len(table.queries), 1), dtype=bool))
            continue
        sizes, low, high = np.bincount(classes), lower[:, columns[axis]], upper[:, columns[axis]]
        first, last = _ends_of(classes)
        within = (low[:, None] <= first) & (last < high[:, None])
        if np.any(within @ sizes != high - low):  # some class is cut in two
            return False
        inside.append(within)
    if table.counted is not None:
        places = np.unravel_index(table.counted, table.shape)
        each = zip(inside, table.shape, places, strict=True)
        same = all(np.array_equal(within, np.arange(size) == own[:, None]) for within, size, own in each)
    else:
        product = np.ones(len(table.queries), dtype=bool)
        for within in inside:
            product = product[..., None] & within.reshape(len(within), *[1] * (product.ndim - 1), -1)
        same = np.array_equal(table.weights, product)
    return same and bool(np.all(whole[elsewhere]))


def _ends_of(classes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last code of each class."""
    order = np.argsort(classes, kind="stable")
    bounds = np.cumsum(np.bincount(classes))
    return order[bounds - np.bincount(classes)], order[bounds - 1]


Floats = NDArray[np.float64]

_PAIRS_AT_ONCE: Final = 1 << 20
_MOST_CORNERS: Final = 1 << 27
"""So many corners of pairs of boxes are looked at, at most;"""
_MOST_CELLS: Final = 1 << 24
"""and so many kinds of records."""
_SUMMED: Final = 61
"""Bits of sums of whole numbers: all of them together stay inside 64."""
_TINY: Final = 2.0**-900


@final
@dataclass(frozen=True, eq=False)
class BoxPairs(Sealed):
    """All pairs of K boxes over cells (``shape``): ``lower``, ``upper`` (K, attributes).

    Raises: TooLarge where they are too many.
    """

    lower: NDArray[np.int64] = field(repr=False)
    upper: NDArray[np.int64] = field(repr=False)
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        seal(self)
        corners = float(self.count) ** 2 * 2.0 ** len(self.shape)
        if corners > _MOST_CORNERS or math.prod(self._padded) > _MOST_CELLS:
            raise TooLarge(
                f"what {self.count:,} boxes along {len(self.shape)} attributes have in common, two by two, is not "
                f"looked at; at most {_MOST_CORNERS:,} corners are, over {_MOST_CELLS:,} kinds of records"
            )

    @classmethod
    def of(cls, boxes: BoxQueries) -> BoxPairs:
        """Those of a workload, over the values that its boxes tell apart."""
        told = boxes.merged
        return cls(told.lower, told.upper, told.sizes)

    @property
    def count(self) -> int:
        """K."""
        return len(self.lower)

    @property
    def _padded(self) -> tuple[int, ...]:
        return tuple(size + 1 for size in self.shape)

    def _corners(self) -> Iterator[tuple[slice, int, NDArray[np.int64]]]:
        """For some rows at a time, each kind of corner of what their boxes have in common with every box: a sign, and
        the places (rows, K) in the padded cells. What has nothing in common has corners that cancel."""
        step = max(1, _PAIRS_AT_ONCE // self.count)
        for start in range(0, self.count, step):
            rows = slice(start, start + step)
            first = np.maximum(self.lower[rows, None], self.lower[None])
            ends = first, np.maximum(np.minimum(self.upper[rows, None], self.upper[None]), first)
            for upper in itertools.product((0, 1), repeat=len(self.shape)):
                places = np.zeros(first.shape[:2], dtype=np.int64)
                for axis, (end, size) in enumerate(zip(upper, self._padded, strict=True)):
                    places = places * size + ends[end][:, :, axis]
                yield rows, (-1) ** sum(upper), places

    def at_cells(self, matrix: NDArray[Any]) -> NDArray[Any]:
        """(cells): the sum of the entries of ``matrix`` (K, K) of all pairs of boxes that both hold the cell; of int64
        *exact* while it stays below 2⁶³, whatever is passed on the way."""
        found = np.zeros(math.prod(self._padded), dtype=matrix.dtype)
        for rows, sign, places in self._corners():
            if matrix.dtype == np.int64:
                np.add.at(found, places.ravel(), sign * matrix[rows].ravel())
            else:
                found += sign * np.bincount(places.ravel(), matrix[rows].ravel(), len(found))
        table = found.reshape(self._padded)
        for axis in range(len(self.shape)):
            table = np.cumsum(table, axis=axis)
        return np.ascontiguousarray(table[tuple(slice(size) for size in self.shape)])

    def of_cells(self, weights: Floats) -> Floats:
        """(K, K): the ``weights`` (cells) of what each two boxes have in common, added up; exact where float64 adds
        them without rounding."""
        table = np.zeros(self._padded)
        table[tuple(slice(1, None) for _ in self.shape)] = weights
        for axis in range(len(self.shape)):
            table = np.cumsum(table, axis=axis)
        found, whole = np.zeros((self.count, self.count)), table.ravel()
        for rows, sign, places in self._corners():
            found[rows] += (-1) ** len(self.shape) * sign * whole[places]
        return found


@np.errstate(all="ignore")
def length_of_records(pairs: BoxPairs, factor: Floats) -> float:
    """max_i ‖L⁻¹·w_i‖ over all cells, w_i what a record of the cell moves, L the ``factor`` (K, K); *rounded up*.

    With Y for the inverse in float64, F = Y·L − 1 and ‖F‖ < 1, L⁻¹·w = (1 + F)⁻¹·Y·w. The square of Y·w is summed in
    whole numbers, of entries of YᵀY that are off by less than half of one. Infinite where float64 does not tell.
    Source: Higham 2002, (3.13), for products in whatever order they add up.
    """
    size = len(factor)
    up = 1 + (size * size + 8) * 4 * UNIT_ROUNDOFF  # of sums of so many positive numbers, and a few more roundings
    try:
        near = np.linalg.inv(factor)
    except np.linalg.LinAlgError:
        return math.inf
    left = near @ factor
    left[np.diag_indices(size)] -= 1
    off = (size + 4) * 2 * UNIT_ROUNDOFF
    largest = float(np.linalg.norm(near)) * float(np.linalg.norm(factor)) * up
    apart = (float(np.linalg.norm(left)) + off * (largest + math.sqrt(size)) + _TINY) * up
    square = near.T @ near
    sizes = float(np.sum(np.abs(square))) * up
    if not (apart < 0.5 and 0 < sizes < 2.0**500):
        return math.inf
    bits = _SUMMED - math.frexp(sizes)[1]
    whole = np.rint(np.ldexp(square, bits)).astype(np.int64)
    most = int(pairs.at_cells(whole).max()) + size * size
    # |Y|ᵀ|Y| is what products are off by, over all entries at once.
    loose = off * float(np.sum(np.abs(near).sum(axis=1) ** 2)) * up + _TINY
    return math.sqrt(math.ldexp(float(most), -bits) + loose) / (1 - apart) * up


def load_in_boxes(law: NoiseLaw, sensitivity: Sensitivity, noisy: NDArray[np.bool_]) -> float:
    """How much of what is promised such noise in the answers to counts in boxes uses up; *rounded up*.

    Two records are no further apart than both are long, and where presence alone limits what noise may tell, that is
    promised of them too. Raises: TooLarge for other answers, other noise, and other promises.
    """
    metric, universe = sensitivity.metric, sensitivity.universe
    if metric.held or universe is None or not isinstance(law, TriangularNormals) or not np.all(noisy):
        raise TooLarge("differences in factors are held against noise in boxes alone, one number for each answer")
    told = counted_boxes(sensitivity).merged
    presence = required_presence(sensitivity, told)
    units = np.array([float(1 / step) for step in sensitivity.queries.steps])
    if not np.all(np.frexp(units)[0] == 0.5):  # times powers of two nothing is rounded
        raise TooLarge("noise in boxes is proved where counts are powers of two of lattice steps")
    return length_of_records(BoxPairs.of(told), law.factor / units[:, None]) / presence * (1 + 2.0**-50)


def required_presence(sensitivity: Sensitivity, told: BoxQueries) -> float:
    """How far a record is from none, *rounded down*, where nothing else limits what noise in these boxes may tell.

    Raises: TooLarge where something does.
    """
    classes = {one.axis: one.codes for one in told.columns}
    bounds = joint_distance_bounds_of(sensitivity.metric.metric, told.universe.shape, classes)
    if bounds.presence is None or any(one is not None for one in bounds.least):
        raise TooLarge("a covariance of so many boxes is for records that come and go, and no nearer changes")
    return round_down(bounds.presence)
