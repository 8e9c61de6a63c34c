"""That noise in measured numbers hides the very weights that are released, and not others: checked in integers.

Let M be the measured numbers, each row integers over record types, V their noise, W the weights that a release takes of
the histogram x, and C and D what answers take of the noise. Released is W·x + D⁻¹·C·round(V). Let P be the 0/1
indicators of components, which are record types at finite distance, and U any integers. If D·W = C·M + U·P, that is
D⁻¹·(C·round(M·x + V) + U·P·x); a change of a record at finite distance leaves P·x as it is and shifts M·x, which V
hides. So it is enough to look at D·W - C·M: it has to be the same for all record types of a component, and 0 where one
of them is no record at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.lattice import LatticeQueries
from dxgeom.mechanisms.linear.marginals.promise import parts_of
from dxgeom.mechanisms.linear.marginals.recognised import tables_over
from dxgeom.mechanisms.linear.measured import MeasuredNumbers
from dxgeom.mechanisms.linear.mixing import IntegerMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rows import distinct_rows
from dxgeom.universe.weight_table import WeightTable, only
from dxgeom.universe.weight_tables import require_nothing_for_absence

_ENTRIES_AT_ONCE: Final = 1 << 22
_FITS: Final = 2**62


def require_measured(sensitivity: Sensitivity, mixing: IntegerMixing) -> None:
    """Raises: CertificateRefused unless every answer is, exactly, what ``mixing`` makes of measured numbers, and of
    what no change of a record at finite distance moves; TooLarge where the weights are too many to be looked at.
    """
    universe, queries, measured = sensitivity.universe, sensitivity.queries, mixing.measured
    answers, widths = len(queries.names), [block.size for block in measured.blocks]
    fits = mixing.numerators.shape == (answers, sum(widths)) and len(mixing.divisors) == answers
    _require(fits and universe is not None and universe.listed is None)
    _require(all(divisor > 0 for divisor in mixing.divisors))
    if universe is None:
        return
    if sensitivity.absent is not None:
        require_nothing_for_absence(queries.tables, sensitivity.absent)
    first_near = _first_near(sensitivity.metric.metric, universe.shape)
    for whole in tables_over(queries, universe):
        values = _told_apart(whole, measured)
        for table in _in_parts(whole, max(widths, default=1)):
            left = _left(table, queries, mixing, values)
            if first_near is None:
                _require(not np.any(left))
                continue
            for place, axis in enumerate(whole.axes):
                one, other = _near_kinds(whole.classes[place], measured.codes.get(axis), first_near[axis])
                _require(np.array_equal(left.take(one, axis=place + 1), left.take(other, axis=place + 1)))


def _require(holds: bool) -> None:
    if not holds:
        raise CertificateRefused(
            "the noise does not hide what the metric protects: the answers are not made of the numbers that have it"
        )


def _first_near(metric: Metric, shape: tuple[int, ...]) -> tuple[NDArray[np.int64], ...] | None:
    """Of each attribute, for every value the first one at a finite distance from it; None where all records are at one
    from no record.

    Raises: TooLarge where distances do not add up over attributes.
    """
    if isinstance(metric, PresenceMetric):
        return None
    found = []
    for part in parts_of(metric, shape):
        values = np.arange(part.size)
        first = np.full(part.size, -1)
        while np.any(first < 0):  # to be at a finite distance is an equivalence
            value = int((first < 0).argmax())
            first[np.isfinite(part.distance(np.full(part.size, value), values)) & (first < 0)] = value
            first[value] = value
        found.append(first)
    return tuple(found)


def _kinds(classes: NDArray[np.int64], codes: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The values of an attribute that queries or measured numbers tell apart: one of each kind, and each value's."""
    both = np.stack([classes, np.zeros_like(classes) if codes is None else codes], axis=1)
    which = distinct_rows(both)[1]
    return np.unique(which, return_index=True)[1], which


def _near_kinds(
    classes: NDArray[np.int64], codes: NDArray[np.int64] | None, first_near: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(2, pairs): kinds of values at a finite distance; all others that are so follow from these."""
    which = _kinds(classes, codes)[1]
    pairs = distinct_rows(np.stack([which, which[first_near]], axis=1))[0]
    return np.ascontiguousarray(pairs[pairs[:, 0] != pairs[:, 1]].T)


def _told_apart(table: WeightTable, measured: MeasuredNumbers) -> Mapping[int, NDArray[np.int64]]:
    """Of each attribute of the queries a value of each kind."""
    each = zip(table.axes, table.classes, strict=True)
    return {axis: _kinds(classes, measured.codes.get(axis))[0] for axis, classes in each}


def _in_parts(table: WeightTable, widest: int) -> Iterator[WeightTable]:
    """The table's queries, so many at a time as are laid out."""
    at_once, count = max(_ENTRIES_AT_ONCE // max(widest, table.cells), 1), len(table.queries)
    for start in range(0, count, at_once):
        places = range(start, min(start + at_once, count))
        yield replace(only(table, places), queries=table.queries[places.start : places.stop])


def _left(
    table: WeightTable, queries: LatticeQueries, mixing: IntegerMixing, values: Mapping[int, NDArray[np.int64]]
) -> NDArray[Any]:
    """(k, values of axis 1, …): what is left of D·W − C·M for these queries and values, times what makes D whole.

    All of it is summed in integers, of 64 bits where they suffice.
    Raises: CertificateRefused where C·M depends on another attribute.
    """
    rows = table.queries.tolist()
    divisors = [mixing.divisors[row] / mixing.measured.steps_per_count for row in rows]
    weights = table.weights
    for place, (axis, classes) in enumerate(zip(table.axes, table.classes, strict=True)):
        weights = weights.take(classes[values[axis]], axis=place + 1)
    largest = int(np.abs(weights).max(initial=0))
    sums = [mixing.row_sums[row] for row in rows]
    each = zip(divisors, sums, strict=True)
    reach = max(over.numerator * max(largest, 1) + over.denominator * max(total, 1) for over, total in each)
    kind: Any = np.int64 if reach < _FITS else object
    along = (-1, *[1] * len(table.axes))
    times, over = (
        np.array([getattr(one, part) for one in divisors], dtype=kind).reshape(along)
        for part in ("numerator", "denominator")
    )
    return np.asarray(times * weights.astype(kind) - over * _made(table, mixing, values, kind))


def _made(
    table: WeightTable, mixing: IntegerMixing, values: Mapping[int, NDArray[np.int64]], kind: Any
) -> NDArray[Any]:
    """(k, values of axis 1, …): C·M of these queries, per step; a length of 1 where it depends on no value."""
    found, start = np.zeros((len(table.queries), *[1] * len(table.axes)), dtype=kind), 0
    codes = mixing.measured.codes
    told = {axis: own[values[axis]] if axis in values else np.arange(int(own.max()) + 1) for axis, own in codes.items()}
    for block in mixing.measured.blocks:
        shares = mixing.numerators[table.queries, start : start + block.size].astype(kind)
        start += block.size
        if not np.any(shares):
            continue
        part, kept = block.of_records(shares, told), list(block.axes)
        for axis in block.axes:
            if axis not in values:
                place = kept.index(axis) + 1
                part = np.moveaxis(part, place, -1)
                _require(bool(np.all(part == part[..., :1])))
                part = part[..., 0]
                kept.remove(axis)
        order = sorted(range(len(kept)), key=lambda place: kept[place])
        part = part.transpose([0, *(place + 1 for place in order)])
        found = found + part.reshape([len(part), *(len(values[axis]) if axis in kept else 1 for axis in table.axes)])
    return found
