"""Which value of each attribute a row has, worked out on a server, so that rows need not come to be told apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, final

import numpy as np
import pyarrow as pa

from dxgeom.engines.cells import is_text
from dxgeom.engines.encoding import BatchEncoder
from dxgeom.engines.reading import Grouping, RecordReader
from dxgeom.engines.tables.later import ibis
from dxgeom.universe.attributes import OUTSIDE

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
