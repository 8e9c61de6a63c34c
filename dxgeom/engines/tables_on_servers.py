"""Whole tables of counts, however many, on a server whose rows would have to come all at once: only counts come.

Every row, or every share of a person, is spread there over the cells that it lies in, a few tables at a time, and equal
cells are put together. That takes the server longer than to hand its rows over, and needs no room for them here.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dxgeom.engines.cells import BatchEncoder, is_text
from dxgeom.engines.histogram import Tally
from dxgeom.engines.people import KEPT, MARKS, PERSON, CountedPeople, Flaws, keys_of_people, marked_rows
from dxgeom.engines.reading import Grouping, RecordReader
from dxgeom.engines.source import Source, ibis
from dxgeom.engines.watching import changed_meanwhile
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.people.people import SHARES, ComponentKeys, require_room
from dxgeom.universe.workloads.whole_tables import MarginalQueries

_DAY: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOST_SPELLINGS: Final = 1 << 14
"""More distinct cells are not named in a statement."""


@final
@dataclass(frozen=True, eq=False)
class CodesThere:
    """Codes of attributes as expressions over the keys of a grouping, made on a server.

    ``spelled``: of each attribute that is read from one column as it stands, by place, which cells mean what. Others
    are ``coded`` by the engine already. ``met``: of each such column, by place, the distinct cells that were there.
    Guarantee: *exactly* what :class:`BatchEncoder` gives, while no cells are there but those that were ``met``.
    """

    grouping: Grouping
    spelled: dict[int, _Spelled]
    met: dict[int, set[str]]

    def of(self, rows: ibis.Table) -> dict[str, Any]:
        """a0, a1, …: the code of each attribute, and ``worst``, the least of them, of a table that has the keys."""
        codes = [self._code(rows, axis) for axis in range(len(self.grouping.universe.attributes))]
        worst = ibis.least(*codes) if len(codes) > 1 else codes[0]
        return {**{f"a{axis}": code for axis, code in enumerate(codes)}, "worst": worst}

    def _code(self, rows: ibis.Table, axis: int) -> Any:
        universe = self.grouping.universe
        attribute, reading = universe.attributes[axis], universe.reading
        if axis in self.grouping.coded:
            nothing = OUTSIDE if attribute.missing is None else attribute.missing
            return rows[f"c{reading.cells[axis][0]}"].fill_null(nothing).cast("int64")
        own, column = self.spelled[axis], rows[f"k{reading.places[axis][0]}"]
        code = _whole(own.otherwise)
        if own.words:
            place = _position()(ibis.literal(own.words, type="array<string>"), column.cast("string"))
            code = taken_from([own.otherwise, *own.codes], place)
        return ibis.ifelse(column.isnull(), _whole(own.missing), code)

    def still_all(self, reader: RecordReader) -> bool:
        """Whether the cells that are there now are those that were met."""
        return not self.met or _met(reader, sorted(self.met)) == self.met


@final
@dataclass(frozen=True)
class _Spelled:
    """The code of each of some cells, as text, of all others, and of a missing one. Cells that mean nothing, or all the
    same, are not named: statements are kept by servers, and these may be anything."""

    words: list[str]
    codes: list[int]
    otherwise: int
    missing: int


def codes_there(reader: RecordReader, grouping: Grouping) -> CodesThere | None:
    """None where the server cannot say them: attributes made of several columns or of moments, or very many cells."""
    reading = grouping.universe.reading
    axes = [axis for axis in range(len(reading.attributes)) if axis not in grouping.coded]
    places = sorted({place for axis in axes for place in reading.places[axis]})
    alone = all(len(reading.places[axis]) == 1 for axis in axes)
    if not alone or not all(_told_by_text(reader.source.types[place]) for place in places):
        return None
    met = _met(reader, places) if places else {}
    return None if met is None else CodesThere(grouping, _spelled(reader, grouping, axes, met), met)


def taken_from(values: Sequence[int], place: Any) -> Any:
    """The value at a place, from 0, of a few whole numbers."""
    return element(ibis.literal(list(values), type="array<int64>"), place + 1)


def element(numbers: Any, place: Any) -> Any:
    """The number at a place, from 1, of an array."""
    return _element()(numbers, place if isinstance(place, int) else place.cast("int32"))


def _told_by_text(kind: pa.DataType) -> bool:
    """Whether cells of this type have the same text exactly when they are equal, and a text that means one of them."""
    return is_text(kind) or any(fits(kind) for fits in (pa.types.is_integer, pa.types.is_boolean, pa.types.is_date))


def _is_read(word: str, kind: pa.DataType) -> bool:
    """Whether it is no day of a year before 1 or after 9999, which no attribute has, and none of which are named."""
    return not pa.types.is_date(kind) or _DAY.fullmatch(word) is not None


def _met(reader: RecordReader, places: Sequence[int]) -> dict[int, set[str]] | None:
    """The distinct cells of these columns, but for missing ones, as text; None where there are too many."""
    rows = reader.source.rows
    entries = ibis.array([ibis.literal(f"{place}:") + rows[f"k{place}"].cast("string") for place in places])
    distinct = rows.select(entry=entries.unnest()).distinct().limit(MOST_SPELLINGS + 2)
    met: dict[int, set[str]] = {place: set() for place in places}
    for batch in reader.source.finished(distinct, lambda entry: entry):
        for entry in filter(None, batch.column("entry").to_pylist()):
            place, _, text = entry.partition(":")
            met[int(place)].add(text)
    return met if sum(map(len, met.values())) <= MOST_SPELLINGS else None


def _spelled(
    reader: RecordReader, grouping: Grouping, axes: Sequence[int], met: dict[int, set[str]]
) -> dict[int, _Spelled]:
    """What the cells that were met mean, encoded as rows are; a missing one after all others."""
    if not axes:
        return {}
    kinds, reading = reader.source.types, grouping.universe.reading
    cells = {place: [one for one in sorted(own) if _is_read(one, kinds[place])] for place, own in met.items()}
    long = 1 + max(map(len, cells.values()))
    columns = {
        f"k{place}": pa.array([*own, *[None] * (long - len(own))], pa.string()).cast(kinds[place])
        for place, own in cells.items()
    }
    batches = reader.source.worked_out(pa.table(columns), lambda rows: rows.select(**grouping.cells(rows, axes)))
    encoder = BatchEncoder(grouping.universe, grouping.coded)
    parts = [encoder.codes(batch, axes) for batch in batches]
    found = dict[int, _Spelled]()
    for axis, *each in zip(axes, *parts, strict=True):
        codes, unlisted = np.concatenate(each).tolist(), reading.attributes[axis].unlisted
        otherwise = OUTSIDE if unlisted is None else unlisted
        own = cells[reading.places[axis][0]]
        told = {word: code for word, code in zip(own, codes, strict=False) if code != otherwise}
        found[axis] = _Spelled(list(told), list(told.values()), otherwise, codes[len(own)])
    return found


def _whole(number: int) -> Any:
    return ibis.literal(number, type="int64")


def _of_the_engine(numbers: Any, place: Any) -> Any:
    """Named only; the engine has the function."""


@cache
def _position() -> Any:
    signature = ((ibis.dtype("array<string>"), ibis.dtype("string")), ibis.dtype("int64"))
    return ibis.udf.scalar.builtin(name="array_position", signature=signature)(_of_the_engine)


@cache
def _element() -> Any:
    signature = ((ibis.dtype("array<int64>"), ibis.dtype("int32")), ibis.dtype("int64"))
    return ibis.udf.scalar.builtin(name="element_at", signature=signature)(_of_the_engine)


WEIGHED: Final = ("inside", "weight", "rows", "widest", "present", "left_out", *MARKS)
"""Beside a0, a1, …, the code of each attribute: whether a row is ``inside`` the universe; what ``weight`` it adds to
cells; how many ``rows`` it stands for, and how many its person has who is spread, the ``widest``; how many records or
people are ``present`` or ``left_out`` by it; and what is wrong with it."""


def rows_as_they_count(reader: RecordReader, people: CountedPeople | None, codes: CodesThere) -> ibis.Table:
    """Every row once; of people whose rows count, or who have a single one, those count that do, and others are there
    for their flaws alone."""
    if people is None:
        keyed = reader.source.rows.select(**codes.grouping.keys)
        keyed = keyed.mutate(**{KEPT: True, **dict.fromkeys(MARKS, False)})
    else:
        keyed = marked_rows(reader, people)
    coded = keyed.select(**codes.of(keyed), **{name: keyed[name] for name in (KEPT, *MARKS)})
    inside, one = coded[KEPT] & (coded.worst >= 0), coded[KEPT].cast("int64")
    present = inside.cast("int64")
    counted = {"weight": one, "rows": one, "widest": one, "present": present, "left_out": one - present}
    return coded.mutate(inside=inside, **counted).select(*_codes(codes), *WEIGHED)


def people_in_shares(
    reader: RecordReader, people: CountedPeople, codes: CodesThere, component_keys: ComponentKeys
) -> ibis.Table:
    """Groups of equal rows of a person, each with its part of the shares.

    Guarantee: *exactly* the shares of :func:`dxgeom.engines.counted_tables.tallied_in_shares`: quotients,
    below 2⁵⁰, are of numbers that the divisor divides, so that those of float64 are within 1/2 of them.
    """
    keyed = reader.source.rows.select(**codes.grouping.keys, **{PERSON: keys_of_people(reader, people)[PERSON]})
    coded = keyed.select(**codes.of(keyed), **{PERSON: keyed[PERSON]})
    inside = coded.worst >= 0
    there = {name: ibis.ifelse(inside, coded[name], 0) for name in _codes(codes)}
    rows = coded.select(**there, inside=inside, **{PERSON: coded[PERSON]})
    groups = rows.group_by(rows.columns).agg(rows=ibis._.count())
    kept = ibis.literal(True) if reader.universe.absent is not None else groups.inside
    groups = groups.mutate(kept=kept).mutate(counted=lambda group: group.kept.ifelse(group.rows, 0))
    components = (taken_from(component.tolist(), groups[f"a{axis}"]) for axis, component in component_keys)
    order = [groups.kept.desc(), *components, groups.inside.desc()]
    here = ibis.window(group_by=PERSON, order_by=[*order, *(groups[name] for name in _codes(codes))])
    placed = groups.mutate(
        upto=groups.counted.sum().over(here),
        all=ibis.greatest(groups.counted.sum().over(ibis.window(group_by=PERSON)), 1).cast("int64"),
        first=(ibis.row_number().over(here) == 0).cast("int64"),
    )
    counts = ibis.least(placed.all, people.most_rows)
    shares = _reached(placed.upto, counts, placed.all) - _reached(placed.upto - placed.counted, counts, placed.all)
    return placed.select(
        *_codes(codes), "rows", "inside", weight=shares, widest=placed.all,
        present=placed.kept.ifelse(placed["first"] * counts, 0), left_out=placed.kept.ifelse(0, placed["first"]),
        **{MARKS[0]: placed[PERSON].isnull()}, **dict.fromkeys(MARKS[1:], ibis.literal(False)),
    ).select(*_codes(codes), *WEIGHED)  # fmt: skip


def _codes(codes: CodesThere) -> list[str]:
    return [f"a{axis}" for axis in range(len(codes.grouping.universe.attributes))]


def _reached(rows: Any, counts: Any, everything: Any) -> Any:
    """⌊rows·counts·SHARES/everything⌋, of which no product passes counts·SHARES or everything²."""
    handed = counts * SHARES
    rest = rows * (handed % everything)
    return rows * _quotient(handed, everything) + _quotient(rest, everything)


def _quotient(number: Any, divisor: Any) -> Any:
    return ((number - number % divisor) / divisor).round().cast("int64")


MOST_ROWS: Final = 3 * 10**9
"""Of more of one person the square passes 64 bits."""
MOST_CELLS: Final = 1 << 16
"""So many cells are put together at a time, and in one table rather than many where that has no more."""
CODES: Final = "codes"


def tallied_there(
    reader: RecordReader, queries: MarginalQueries, component_keys: ComponentKeys | None
) -> tuple[Tally, RecordReader] | None:
    """What a pass over rows finds, and a reader that looks for examples of rows outside there; None where rows flow by
    and need no room, stand for several records, or have cells that the server cannot tell, or where people count in
    each period by themselves, who are gathered here.

    Guarantee: counts are *exactly* those of a pass over the same rows.
    Raises: DataError as a pass; also where tables do not agree, since they would be of different rows.
    """
    source, people = reader.source, queries.universe.reading.people
    grouping = None if source.there is None or source.there.flows else reader.grouping
    codes = None if grouping is None else codes_there(reader, grouping)
    if source.there is None or codes is None or (people is not None and people.within is not None):
        return None
    spread = people is not None and people.in_shares
    if people is not None and spread:
        weighed = people_in_shares(reader, people, codes, component_keys or ())
    else:
        weighed = rows_as_they_count(reader, people, codes)
    with source.holding(source.there, _in_classes(weighed, queries)) as held:
        (batch,) = held.finished(_summary(held.rows), lambda sums: sums)
        summary = batch.to_pylist()[0]
        if summary["most"] > MOST_ROWS:
            return None
        if people is not None:
            flaws = Flaws()
            flaws.note(batch)
            flaws.refuse(reader, people)
        if spread:
            require_room(summary["present"])
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
    return rows.agg(**sums, **flaws, within=within, outside=beyond, most=rows.widest.max().fill_null(0))


def _tables(held: Source, queries: MarginalQueries, within: int) -> Iterator[NDArray[np.int64]]:
    """The counts of every table that is asked for; ``within``: what all cells of each add up to.

    Raises: DataError where they cannot be of the same rows.
    """
    margins: dict[tuple[int, ...], NDArray[np.int64]] = {(): np.array(within)}
    whole = tuple(range(len(queries.columns)))
    if len(queries.attribute_sets) > 1 and math.prod(queries.sizes) <= MOST_CELLS:
        (everything,) = _counted(held, [whole], [queries.sizes])
        tables = (everything.sum(axis=tuple({*whole} - {*one}), dtype=np.int64) for one in queries.attribute_sets)
    else:
        portions = (
            (queries.attribute_sets[start:end], queries.shapes[start:end]) for start, end in _portions(queries.shapes)
        )
        tables = (table for asked, shapes in portions for table in _counted(held, asked, shapes))
    for one, table in zip(queries.attribute_sets, tables, strict=True):
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
    held: Source, attribute_sets: Sequence[Sequence[int]], shapes: Sequence[tuple[int, ...]]
) -> list[NDArray[np.int64]]:
    """Some tables, by one statement: each row is spread over its cells, one in every table, and equal ones are added.

    A table is told as the number of its first cell, then where each of its columns stands and what a step of it counts.
    """
    ends = np.cumsum([0, *map(math.prod, shapes)])
    ways = max(map(len, attribute_sets))
    told = []
    for first, one, shape in zip(ends[:-1].tolist(), attribute_sets, shapes, strict=True):
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


def _same(
    margins: dict[tuple[int, ...], NDArray[np.int64]], attributes: Sequence[int], table: NDArray[np.int64]
) -> bool:
    """Whether what a table has in common with those before is the same: the server may look at its rows anew for every
    few tables, and in what noise of one draw hides they may not differ."""
    for kept in itertools.chain.from_iterable(
        itertools.combinations(range(table.ndim), r) for r in range(len(attributes) + 1)
    ):
        dropped = tuple(axis for axis in range(table.ndim) if axis not in kept)
        margin = table.sum(axis=dropped, dtype=np.int64)
        if not np.array_equal(margins.setdefault(tuple(attributes[axis] for axis in kept), margin), margin):
            return False
    return True
