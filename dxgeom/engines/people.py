"""Rows of people, who may have many: put together person by person, or the first of each, in the engine's own SQL.

How many rows a person has, or all people have, is told to nobody: no message here says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, Protocol, final

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dxgeom.engines.cells import in_order_of_text, is_text, person_cell, place_cell
from dxgeom.engines.reading import RECORDS, Grouping, RecordReader
from dxgeom.engines.source import ibis
from dxgeom.errors import DataError

KEPT: Final = "kept"
PERSON: Final = "person"
ROWS_AT_ONCE: Final = 1 << 15
"""So many rows are encoded at a time."""
_PASSES: Final = (1, 8, 64, 512)
"""Into so many parts people are divided when they do not fit into memory together, the table read once for each."""


class CountedPeople(Protocol):
    """What is stated of people: the column that says whose a row is, and how many of a person's rows count.

    ``once``: all together as one record; ``rows``: the first ``at_most`` by the column ``order``, or, without it, all
    together as at most so many records; ``single``: there is one at most. ``in_shares``: whether a row may count a
    fraction; ``most_rows``: what a person counts at most. ``within``: the attribute in each of whose periods people
    count by themselves, None for all periods together.
    """

    @property
    def column(self) -> str: ...
    @property
    def count(self) -> Literal["once", "rows", "single"]: ...
    @property
    def at_most(self) -> int | None: ...
    @property
    def order(self) -> str | None: ...
    @property
    def within(self) -> str | None: ...
    @property
    def in_shares(self) -> bool: ...
    @property
    def most_rows(self) -> int: ...


def whole_people(
    reader: RecordReader, people: CountedPeople, encoded: Callable[[pa.RecordBatch], NDArray[np.int64]]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """Some people at a time, each with all their groups of equal rows: (G,) whose a group is, rising from 0; (G, …)
    what is ``encoded`` of it, of a batch an entry for each row; (G,) how many rows it stands for. Everybody comes once.

    Raises: DataError for rows that say no person.
    """
    yielded = False
    for passes in _PASSES:
        try:
            for part in range(passes):
                for batch in _gathered(people, reader, _in_order(reader, people, part, passes), encoded):
                    yield batch
                    yielded = True
            return
        except duckdb.OutOfMemoryException:
            # What flows by may flow differently the next time; then parts would not fit each other.
            if yielded or reader.source.anew is not None or passes == _PASSES[-1]:
                raise


def person_periods(person: NDArray[np.int64], period: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Groups (G,) in the order of persons and their periods, and then the number of each person in a period, from 0.

    Args: ``period`` (G,): the code of each group, ``OUTSIDE`` where it is of none, which is a period of its own.
    """
    order = np.lexsort((period, person))
    new = (np.diff(person[order], prepend=-1) != 0) | (np.diff(period[order], prepend=-2) != 0)
    return order, np.cumsum(new) - 1


def chosen_rows(reader: RecordReader, people: CountedPeople) -> Iterator[pa.RecordBatch]:
    """The rows that count as rows do: the first of each person, or the only ones. Batches as ``reader.groups`` has.

    Beside these there is KEPT, true of rows that count; others only bear the marks of flaws.
    Raises: DataError, after all rows were read, for rows without a person or a place in the order, for two of one
    person with the same place, and for a second row where there is to be one.
    """
    source, flaws, marked = reader.source, Flaws(), marked_rows(reader, people)
    rows = marked.group_by([*reader.keys.keys, KEPT]).agg(
        **{RECORDS: ibis._.count()}, **{mark: marked[mark].any() for mark in MARKS}
    )
    for batch in source.finished(rows, _with_cells(reader.keys, RECORDS, KEPT, *MARKS)):
        flaws.note(batch)
        yield batch.filter(batch.column(KEPT))
    flaws.refuse(reader, people)


def marked_rows(reader: RecordReader, people: CountedPeople) -> ibis.Table:
    """The keys of rows, of the first of each person or the only ones, with KEPT and MARKS, see :func:`chosen_rows`."""
    keyed = reader.source.rows.select(**reader.keys.keys, **keys_of_people(reader, people))
    return _marked_singles(keyed, reader.keys) if people.count == "single" else _marked_rows(keyed, reader, people)


def columns_of(people: CountedPeople | None) -> tuple[str, ...]:
    """The columns that are read to know whose a row is, to be opened after those of the universe."""
    if people is None:
        return ()
    return (people.column,) if people.order is None else (people.column, people.order)


MARKS: Final = ("nobodys", "unordered", "again")


@final
class Flaws:
    """What was found wrong with rows of people."""

    def __init__(self) -> None:
        self._found: set[str] = set()

    def note(self, batch: pa.RecordBatch) -> None:
        self._found |= {mark for mark in MARKS if any(batch.column(mark).to_pylist())}

    def refuse(self, reader: RecordReader, people: CountedPeople) -> None:
        """Raises: DataError, if there was anything; the same one whatever the order of rows."""
        where = reader.source.described
        if "nobodys" in self._found:
            raise nobodys(people, where)
        if "unordered" in self._found:
            raise DataError(
                f"the order of a person's rows is told by '{people.order}', but rows of {where} say none; fill it in, "
                "or leave these rows out of the table"
            )
        if "again" in self._found and people.count == "single":
            raise DataError(
                f"the policy says that each person has a single row ('count: single'), but '{people.column}' of "
                f"{where} names somebody on more than one: dxgeom check POLICY --table TABLE counts them; say "
                "'count: once' where people have many"
            )
        if "again" in self._found:
            raise DataError(
                f"the order of a person's rows is told by '{people.order}', but {where} has two rows of somebody in "
                f"'{people.column}' at the same place; choose a column without ties"
            )


def nobodys(people: CountedPeople, where: str) -> DataError:
    """The refusal of rows that belong to nobody."""
    return DataError(
        f"every row belongs to a person, named by '{people.column}', but rows of {where} name nobody, or in a text "
        "file somebody by a number such as 7.0, which is not the name 7; fill it in, or leave out these rows"
    )


def keys_of_people(reader: RecordReader, people: CountedPeople) -> dict[str, Any]:
    """The person of each row, and its place in the order, null where a row does not say."""
    at = len(reader.universe.reading.columns)
    keys = {PERSON: person_cell(reader.source, at, people.column, trimmed=reader.universe.reading.trimmed)}
    return keys if people.order is None else {**keys, "place": place_cell(reader.source, at + 1, people.order)}


def _with_cells(keys: Grouping, *further: str) -> Callable[[ibis.Table], ibis.Table]:
    return lambda rows: rows.select(**keys.cells(rows), **{name: rows[name] for name in further})


def _in_order(reader: RecordReader, people: CountedPeople, part: int, passes: int) -> Iterator[pa.RecordBatch]:
    """k0, k1, …, RECORDS and PERSON, each person's rows together."""
    rows = reader.source.rows.select(**reader.keys.keys, **{PERSON: keys_of_people(reader, people)[PERSON]})
    if passes > 1:
        rows = rows.filter((rows[PERSON].hash().abs() % passes == part) | (rows[PERSON].isnull() & (part == 0)))
    counted = rows.group_by(rows.columns).agg(**{RECORDS: ibis._.count()})
    return reader.source.finished(counted, _with_cells(reader.keys, RECORDS, PERSON), PERSON)


def _marked_singles(rows: ibis.Table, grouping: Grouping) -> ibis.Table:
    """One row for each person."""
    each = rows.group_by(PERSON).agg(**{key: rows[key].min() for key in grouping.keys}, times=ibis._.count())
    nobody = each[PERSON].isnull()
    marks = {"nobodys": nobody, "unordered": ibis.literal(False), "again": ~nobody & (each.times > 1)}
    return each.select(*grouping.keys, **{KEPT: ibis.literal(True)}, **marks)


def _marked_rows(rows: ibis.Table, reader: RecordReader, people: CountedPeople) -> ibis.Table:
    """All rows; of those that are not kept nothing but flaws is left, so that few groups remain."""
    untyped = is_text(reader.source.types[len(reader.universe.reading.columns) + 1])
    order = in_order_of_text(rows.place) if untyped else [rows.place]
    here = ibis.window(group_by=PERSON, order_by=order)
    ranked = rows.mutate(
        **{KEPT: ibis.row_number().over(here) < people.at_most, "again": rows.place.lag().over(here) == rows.place}
    )
    nobody, unordered = ranked[PERSON].isnull(), ranked.place.isnull()
    again = ibis.ifelse(nobody | unordered, ibis.literal(False), ranked.again.fill_null(False))
    keys = {key: ibis.ifelse(ranked[KEPT], ranked[key], ibis.null(ranked[key].type())) for key in reader.keys.keys}
    return ranked.select(**keys, **{KEPT: ranked[KEPT]}, nobodys=nobody, unordered=unordered, again=again)


def _gathered(
    people: CountedPeople,
    reader: RecordReader,
    batches: Iterator[pa.RecordBatch],
    encoded: Callable[[pa.RecordBatch], NDArray[np.int64]],
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    waiting: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    last: Any = None
    for batch in in_parts(batches):
        persons = batch.column(PERSON)
        if persons.null_count:
            raise nobodys(people, reader.source.described)
        numbers = np.asarray(np.from_dlpack(persons.dictionary_encode().indices)).astype(np.int64)
        begins = np.flatnonzero(np.diff(numbers)) + 1
        records = encoded(batch)
        counts = np.asarray(np.from_dlpack(batch.column(RECORDS))).astype(np.int64)
        if waiting and persons[0].as_py() != last:
            yield _numbered(waiting, np.zeros(0, np.int64))
            waiting = []
        # The last person of a batch may go on in the next one.
        end = int(begins[-1]) if begins.size else 0
        if end:
            before = sum(len(one) for one, _ in waiting)
            waiting.append((records[:end], counts[:end]))
            yield _numbered(waiting, before + begins[:-1])
            waiting = []
        waiting.append((records[end:], counts[end:]))
        last = persons[len(persons) - 1].as_py()
    if waiting:
        yield _numbered(waiting, np.zeros(0, np.int64))


def in_parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows, of at most :data:`ROWS_AT_ONCE` at a time."""
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            yield batch.slice(start, ROWS_AT_ONCE)


def _numbered(
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]], begins: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The groups of whole people, who begin at 0 and at ``begins``."""
    records, rows = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    person = np.zeros(len(records), dtype=np.int64)
    person[begins] = 1
    return np.cumsum(person), records, rows


def rows_per_person(reader: RecordReader, people: CountedPeople) -> tuple[dict[int, int], int]:
    """How many people have each number of rows, and how many rows name nobody: for whoever holds the table."""
    rows = reader.source.rows.select(**{PERSON: keys_of_people(reader, people)[PERSON]})
    each = rows.group_by(PERSON).agg(times=ibis._.count())
    counted = each.group_by([each.times, each[PERSON].isnull().name("nobody")]).agg(number=ibis._.count())
    found, nobody = dict[int, int](), 0
    for batch in reader.source.finished(counted, lambda groups: groups):
        for row in batch.to_pylist():
            if row["nobody"]:
                nobody += row["times"] * row["number"]
            else:
                found[row["times"]] = found.get(row["times"], 0) + row["number"]
    return found, nobody
