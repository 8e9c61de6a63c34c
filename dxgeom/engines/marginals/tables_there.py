"""Whole tables of counts, however many, on a server whose rows would have to come all at once: only counts come.

Every row, or every share of a person, is spread there over the cells that it lies in, a few tables at a time, and equal
cells are put together. That takes the server longer than to hand its rows over, and needs no room for them here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.failures import changed_meanwhile
from dxgeom.engines.marginals.codes_there import codes_there, element, taken_from
from dxgeom.engines.marginals.people_there import WEIGHED, people_in_shares, rows_as_they_count
from dxgeom.engines.people import MARKS, Flaws
from dxgeom.engines.reading import RecordReader
from dxgeom.engines.tables.later import ibis
from dxgeom.engines.tables.source import Source
from dxgeom.engines.tally import Tally
from dxgeom.errors import DataError
from dxgeom.numeric.arrays import LARGEST
from dxgeom.universe.people.people import SHARES
from dxgeom.universe.people.shares import ComponentKeys
from dxgeom.universe.workloads.whole_tables import MarginalQueries

MOST_CELLS: Final = 1 << 16
"""So many cells are put together at a time, and in one table rather than many where that has no more."""
CODES: Final = "codes"


def tallied_there(
    reader: RecordReader, queries: MarginalQueries, component_keys: ComponentKeys | None
) -> tuple[Tally, RecordReader] | None:
    """What a pass over rows finds, and a reader that looks for examples of rows outside there; None where rows flow by
    and need no room, stand for several records, or have cells that the server cannot tell.

    Guarantee: counts are *exactly* those of a pass over the same rows.
    Raises: DataError as a pass; also where tables do not agree, since they would be of different rows.
    """
    source, people = reader.source, queries.universe.reading.people
    grouping = None if source.there is None or source.there.flows else reader.grouping
    codes = None if grouping is None else codes_there(reader, grouping)
    if source.there is None or codes is None:
        return None
    once = people is not None and people.count == "once"
    if people is not None and once:
        weighed = people_in_shares(reader, people, codes, component_keys or ())
    else:
        weighed = rows_as_they_count(reader, people, codes)
    with source.holding(source.there, _in_classes(weighed, queries)) as held:
        (batch,) = held.finished(_summary(held.rows), lambda sums: sums)
        summary = batch.to_pylist()[0]
        if summary["most"] > LARGEST // SHARES:
            return None
        if people is not None:
            flaws = Flaws()
            flaws.note(batch)
            flaws.refuse(reader, people)
        if once and summary["present"] * SHARES > LARGEST:
            raise DataError(f"at most {LARGEST // SHARES:,} people are counted once; these are more")
        counts = np.concatenate([one.ravel() for one in _tables(held, queries, summary["within"])])
    if not codes.still_all(reader):
        raise changed_meanwhile(source.described)
    kept = replace(reader, outside_there=lambda rows: codes.of(rows)["worst"] < 0)
    return Tally(counts, summary["present"], summary["left_out"], summary["rows"], summary["outside"], 0), kept


def _in_classes(weighed: ibis.Table, queries: MarginalQueries) -> ibis.Table:
    """What is held of each row: the class of each attribute that is looked at, in one array, and what it counts."""
    narrow = "int16" if max(queries.sizes, default=0) < 1 << 15 else "int32"
    classes = []
    for column in queries.columns:
        code = ibis.greatest(weighed[f"a{column.axis}"], 0)
        own = column.codes.tolist()
        classes.append((code if own == list(range(len(own))) else taken_from(own, code)).cast(narrow))
    return weighed.select(*WEIGHED, **({CODES: ibis.array(classes)} if classes else {}))


def _summary(rows: ibis.Table) -> ibis.Table:
    """One row: sums of what is counted, how many rows are outside, and whether anything is wrong."""
    outside = ibis.ifelse(rows.inside, 0, rows.rows)
    sums = {name: rows[name].sum().fill_null(0).cast("int64") for name in ("rows", "present", "left_out")}
    flaws = {name: rows[name].any().fill_null(False) for name in MARKS}
    within = ibis.ifelse(rows.inside, rows.weight, 0).sum().fill_null(0).cast("int64")
    beyond = outside.sum().fill_null(0).cast("int64")
    return rows.agg(**sums, **flaws, within=within, outside=beyond, most=rows.rows.max().fill_null(0))


def _tables(held: Source, queries: MarginalQueries, within: int) -> Iterator[NDArray[np.int64]]:
    """The counts of every table that is asked for; ``within``: what all cells of each add up to.

    Raises: DataError where they cannot be of the same rows.
    """
    margins: dict[tuple[int, ...], NDArray[np.int64]] = {(): np.array(within)}
    whole = tuple(range(len(queries.columns)))
    if len(queries.asked) > 1 and math.prod(queries.sizes) <= MOST_CELLS:
        (everything,) = _counted(held, [whole], [queries.sizes])
        tables = (everything.sum(axis=tuple({*whole} - {*one}), dtype=np.int64) for one in queries.asked)
    else:
        portions = ((queries.asked[start:end], queries.shapes[start:end]) for start, end in _portions(queries.shapes))
        tables = (table for asked, shapes in portions for table in _counted(held, asked, shapes))
    for one, table in zip(queries.asked, tables, strict=True):
        if not _same(margins, one, table):
            raise changed_meanwhile(held.described)
        yield table


def _portions(shapes: Sequence[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """Tables next to each other that have few cells together, or one that has many."""
    start = cells = 0
    for place, shape in enumerate(shapes):
        if place > start and cells + math.prod(shape) > MOST_CELLS:
            yield start, place
            start, cells = place, 0
        cells += math.prod(shape)
    yield start, len(shapes)


def _counted(
    held: Source, asked: Sequence[Sequence[int]], shapes: Sequence[tuple[int, ...]]
) -> list[NDArray[np.int64]]:
    """Some tables, by one statement: each row is spread over its cells, one in every table, and equal ones are added.

    A table is told as the number of its first cell, then where each of its columns stands and what a step of it counts.
    """
    ends = np.cumsum([0, *map(math.prod, shapes)])
    ways = max(map(len, asked))
    told = []
    for first, one, shape in zip(ends[:-1].tolist(), asked, shapes, strict=True):
        steps = [math.prod(shape[place + 1 :]) for place in range(len(shape))]
        each = [*zip(one, steps, strict=True), *[(0, 0)] * (ways - len(one))]
        told.append([first, *(number for place, step in each for number in (place + 1, step))])
    rows = held.rows.filter(held.rows.inside)
    spread = rows.mutate(table=ibis.literal(told, type="array<array<int64>>").unnest())
    cell = element(spread.table, 1)
    for way in range(ways):
        cell += element(spread[CODES], element(spread.table, 2 * way + 2)) * element(spread.table, 2 * way + 3)
    counted = spread.select("weight", cell=cell).group_by("cell").agg(count=ibis._.weight.sum().cast("int64"))
    counts = np.zeros(int(ends[-1]), dtype=np.int64)
    for batch in held.finished(counted, lambda cells: cells):
        cells, found = (np.asarray(np.from_dlpack(batch.column(name))) for name in ("cell", "count"))
        counts[cells] = found
    each_table = np.split(counts, ends[1:-1])
    return [table.reshape(shape) for table, shape in zip(each_table, shapes, strict=True)]


def _same(margins: dict[tuple[int, ...], NDArray[np.int64]], asked: Sequence[int], table: NDArray[np.int64]) -> bool:
    """Whether what a table has in common with those before is the same: the server may look at its rows anew for every
    few tables, and in what noise of one draw hides they may not differ."""
    for kept in itertools.chain.from_iterable(
        itertools.combinations(range(table.ndim), r) for r in range(len(asked) + 1)
    ):
        dropped = tuple(axis for axis in range(table.ndim) if axis not in kept)
        margin = table.sum(axis=dropped, dtype=np.int64)
        if not np.array_equal(margins.setdefault(tuple(asked[axis] for axis in kept), margin), margin):
            return False
    return True
