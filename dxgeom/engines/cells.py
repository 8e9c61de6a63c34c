"""The cells of a column as words, as numbers, as days or as moments, and batches of them as indices of possible
records.

A missing cell is null (or NaN among numbers); one that is there but is no number is infinite, which no value is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dxgeom.engines.read_cells import (
    holds_text,
    missing_days,
    missing_numbers,
    read_there,
    spellings,
    word_of_typed,
)
from dxgeom.engines.source import Source, ibis
from dxgeom.errors import DataError
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.reading.reading import CellReading
from dxgeom.universe.reading.written import BLANKS, CellRules
from dxgeom.universe.universe import Universe

_DAY: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK: Final = "[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?"
MOMENT_OR_DAY: Final = f"^{_DAY}({_CLOCK})?$"
_OFFSET: Final = "(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
_NUMBER: Final = "^ *[-+]?[0-9]{1,99}([.][0-9]{0,99})?([eE][-+]?[0-9]{1,2})? *$"
_DECIMAL_NAME: Final = "^ *[-+]?[0-9]+([.]0*|([.][0-9]*)?[eE][-+]?[0-9]+) *$"
"""Whole numbers as programs write them that took names for decimals: 7.0, or 1.5e+07 for several people at once."""
_ENDS: Final = f"^[{BLANKS}]+|[{BLANKS}]+$"
_INSTANT: Final = "timestamp('UTC')"


_SAY_HOW: Final = """, or say in the policy how they are written, as in 'reading: {decimal: ","}'"""


def number_cell(source: Source, position: int, name: str, rules: CellRules | None = None) -> Any:
    """As float64. Raises: DataError for a column whose type does not fit."""
    column, kind = source.rows[f"k{position}"], source.types[position]
    if _is_number(kind):
        number = column.cast("float64")
        gone = [] if rules is None else missing_numbers(rules)
        return ibis.ifelse(number.isin(gone), ibis.null("float64"), number) if gone else number
    if rules is not None and is_text(kind):
        return read_there("number", source.rows, position, rules)
    if is_text(kind) and (source.text is not None or _holds_nothing(source, position)):
        unreadable = ibis.ifelse(column.isnull(), ibis.null("float64"), ibis.literal(math.inf))
        return ibis.coalesce(column.try_cast("float64"), unreadable)
    advice = "convert the column to numbers" + (_SAY_HOW if is_text(kind) else "")
    raise wrong_type(source, name, kind, "numbers", advice)


def word_cell(source: Source, position: int, name: str, rules: CellRules | None = None) -> Any:
    """As text. Raises: DataError for a column whose type does not fit."""
    column, kind = source.rows[f"k{position}"], source.types[position]
    if is_text(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        if rules is not None and is_text(kind):
            return read_there("clean", source.rows, position, rules)
        text = column if is_text(kind) else column.cast("string")
        return text if rules is None else word_of_typed(rules, text)
    raise wrong_type(source, name, kind, "text", "convert the column to text, written as the policy writes its values")


def day_cell(source: Source, position: int, name: str, rules: CellRules | None = None, zone: str | None = None) -> Any:
    """As text, year-month-day; of instants the day that calendars show in ``zone``.

    Raises: DataError for a column whose type does not fit.
    """
    column, kind = source.rows[f"k{position}"], source.types[position]
    knows_zone = pa.types.is_timestamp(kind) and kind.tz is not None
    if rules is not None and is_text(kind):
        return read_there("day", source.rows, position, rules, zone)
    if rules is not None and missing_days(rules):
        day = day_cell(source, position, name, zone=zone)
        return ibis.ifelse(day.isin(missing_days(rules)), ibis.null("string"), day)
    if zone is not None and is_text(kind):
        day = at_clocks(zone, instants_of_text(column)).date().cast("string")
        return ibis.coalesce(day, column)
    if zone is not None and knows_zone:
        return at_clocks(zone, column).date().cast("string")
    if is_text(kind):
        return ibis.coalesce(moments_of_text(column, with_hours=False).date().cast("string"), column)
    if zone is None and (pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and not knows_zone)):
        return column.cast("date").cast("string")
    if _holds_nothing(source, position):
        return column.cast("string")
    advice = "convert the column to dates, or to text such as 2024-02-29"
    if knows_zone:
        advice = "its days depend on the time zone: convert the column to dates in the one meant, or say 'zone'"
    elif zone is not None:
        advice = "its moments know no zone of their own: leave out 'zone'"
    raise wrong_type(source, name, kind, "dates", advice)


def person_cell(source: Source, position: int, name: str, *, trimmed: bool = False) -> Any:
    """Whose a row is, as text or a whole number, never in small letters; null where it does not say.

    Raises: DataError for a column whose type does not fit.
    """
    column, kind = source.rows[f"k{position}"], source.types[position]
    if is_text(kind):
        # The engine that has the rows does it: they are put together there, person by person.
        said = (column.re_replace(_ENDS, "") if trimmed else column).nullif("")
        otherwise = said.re_search(_DECIMAL_NAME)
        return said if source.text is None else ibis.ifelse(otherwise, ibis.null("string"), said)
    if pa.types.is_integer(kind):
        return column
    raise wrong_type(source, name, kind, "text or whole numbers that say whose a row is", "convert the column")


def place_cell(source: Source, position: int, name: str) -> Any:
    """The place of a row in the order of a person's rows; null where it does not say.

    Raises: DataError for a column whose type does not fit.
    """
    column, kind = source.rows[f"k{position}"], source.types[position]
    if is_text(kind):
        return column.nullif("")
    if pa.types.is_floating(kind):
        return ibis.ifelse(column.isnan(), ibis.null(column.type()), column)
    plain = (pa.types.is_integer, pa.types.is_decimal, pa.types.is_date, pa.types.is_timestamp)
    if any(fits(kind) for fits in plain):
        return column
    raise wrong_type(
        source, name, kind, "numbers, text, dates or moments, which have an order", "choose another column"
    )


def in_order_of_text(place: Any) -> list[Any]:
    """What puts texts in order on every engine: those that may be numbers by size, 9 before 10; words after them."""
    number = ibis.ifelse(place.re_search(_NUMBER), place, ibis.null("string")).cast("float64")
    return [number.isnull(), number, place]


def wrong_type(source: Source, name: str, kind: pa.DataType, needed: str, advice: str) -> DataError:
    """The refusal of a column that does not hold what is needed."""
    found = "text" if is_text(kind) else str(kind)
    return DataError(f"column '{name}' of {source.described} must hold {needed}, but holds {found}; {advice}")


is_text: Final = holds_text


def repeats(kind: pa.DataType) -> bool:
    """Whether cells of this type are often equal."""
    return bool(pa.types.is_integer(kind)) or is_text(kind)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _holds_nothing(source: Source, position: int) -> bool:
    held = source.rows.agg(held=source.rows[f"k{position}"].count())
    return all(batch.column("held").to_pylist() == [0] for batch in source.finished(held, lambda counted: counted))


def _of_the_engine(zone: str, instant: Any) -> Any:
    """Named only; the engine has the function."""


@cache
def _clocks() -> Any:
    signature = ((ibis.dtype("string"), ibis.dtype(_INSTANT)), ibis.dtype("timestamp"))
    return ibis.udf.scalar.builtin(name="timezone", signature=signature)(_of_the_engine)


def at_clocks(zone: str | None, instant: Any) -> Any:
    """What clocks in a zone show at an instant."""
    return _clocks()(ibis.literal(zone), instant)


def moments_of_text(column: Any, *, with_hours: bool) -> Any:
    """The moments that texts such as 2024-02-29 or 2024-02-29 13:45 name; null for any other, and for those that name
    a zone, which would be left unheard."""
    named = column.re_search(f"^{_DAY}{_CLOCK}$" if with_hours else MOMENT_OR_DAY)
    return ibis.ifelse(named, column, ibis.null("string")).try_cast("timestamp")


def instants_of_text(column: Any) -> Any:
    """The instants that texts such as 2024-02-29T13:45Z or 2024-02-29 13:45+01:00 name; null for any other."""
    named = column.re_search(f"^{_DAY}{_CLOCK}{_OFFSET}$")
    return ibis.ifelse(named, column, ibis.null("string")).try_cast(_INSTANT)


class _Words(NamedTuple):
    """The codes of words that were met, and the value that a word is read as where it is spelled otherwise."""

    met: dict[str | None, int]
    spelled: dict[str, str]


_FEW = 1 << 16
"""Rows: Arrow's own functions take longer to load than so few rows to walk, in some columns."""
_WHOLE = 1 << 53
"""Whole numbers up to it are numbers of float64, too."""


@final
class BatchEncoder:
    """Encodes the columns k0, k1, … of batches; remembers the words it has met.

    ``coded``: the attributes, by place, whose cells are their codes already, null where they are missing. ``texts``: of
    attributes whose values nobody listed, by place, the texts that were met, in the order in which they were, which are
    their codes then; of others of this kind all texts are one code.
    """

    def __init__(
        self, universe: Universe, coded: frozenset[int], texts: Mapping[int, dict[str, int]] | None = None
    ) -> None:
        self._universe, self._texts = universe, {} if texts is None else texts
        self._coded = coded
        self._met: list[dict[str | None, int]] = [{} for _ in universe.attributes]
        each = zip(universe.attributes, universe.reading.attributes, strict=True)
        self._spelled = [
            {} if one.rules is None or one.read_as != "words" else spellings(attribute, one.rules)
            for attribute, one in each
        ]

    def codes(self, batch: pa.RecordBatch, axes: Sequence[int] | None = None) -> list[NDArray[np.int64]]:
        """For each attribute, or each of these, the codes of its columns, ``OUTSIDE`` where a cell is no value, or may
        not be missing."""
        reading, codes = self._universe.reading, []
        for place in range(len(self._universe.attributes)) if axes is None else axes:
            attribute, one, met = self._universe.attributes[place], reading.attributes[place], self._met[place]
            columns = [batch.column(f"k{cell}") for cell in reading.cells[place]]
            given = place in self._coded
            words = _Words(met, self._spelled[place])
            if place in self._texts:
                codes.append(_codes_of_texts(columns[0], self._texts[place]))
            else:
                codes.append(_given(attribute, columns[0]) if given else _codes(attribute, one, columns, words))
        return codes

    def indices(self, codes: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """The possible record of each row, ``OUTSIDE`` where there is none."""
        return self._universe.indices_of(codes)


def _given(attribute: Attribute, column: Any) -> NDArray[np.int64]:
    nothing = OUTSIDE if attribute.missing is None else attribute.missing
    codes = column.fill_null(nothing) if column.null_count else column
    return np.asarray(np.from_dlpack(codes)).astype(np.int64)


def _codes(attribute: Attribute, reading: CellReading, columns: list[Any], known: _Words) -> NDArray[np.int64]:
    beyond = OUTSIDE if reading.unlisted is None else reading.unlisted
    if reading.read_as == "numbers":
        numbers = [_numbers(column) for column in columns]
        readable = np.logical_and.reduce([np.isfinite(one) for one in numbers])
        codes = attribute.encode_cells(numbers)
        return np.where((codes == OUTSIDE) & readable, beyond, codes)
    (column,) = columns
    return _codes_of_words(attribute, column, known, beyond)


def _numbers(column: Any) -> NDArray[np.float64]:
    # Neither to_numpy, cast nor fill_null where they are not needed: they load pandas, or all that Arrow can compute.
    if column.null_count == 0 and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        plain = np.asarray(np.from_dlpack(column))
        if plain.dtype.kind == "f" or not np.any((plain > _WHOLE) | (plain < -_WHOLE)):
            return plain.astype(np.float64)
    numbers = column.cast(pa.float64())
    return np.asarray(np.from_dlpack(numbers.fill_null(np.nan) if numbers.null_count else numbers))


def _codes_of_words(attribute: Attribute, column: Any, known: _Words, beyond: int) -> NDArray[np.int64]:
    words, places = _distinct(column)
    met, each = known.met, dict.fromkeys(words)  # once each, where rows are few, too
    new = [word for word in each if word and word not in met]
    spelled = [known.spelled.get(word, word) for word in new]
    code_of = {word: int(code) for word, code in zip(new, attribute.encode_cells([spelled]), strict=True)}
    # Only true values are remembered: there are few of them, whatever the table holds.
    met.update({word: code for word, code in code_of.items() if code != OUTSIDE})
    nothing = OUTSIDE if attribute.missing is None else attribute.missing
    codes = {word: met.get(word, beyond) if word else nothing for word in each}
    return np.fromiter(map(codes.__getitem__, words), np.int64, len(words))[places]


def _codes_of_texts(column: Any, met: dict[str, int]) -> NDArray[np.int64]:
    """The place of each text among those that were ``met``, to which new ones are added; no cell has none."""
    words, places = _distinct(column)
    codes = [met.setdefault(word, len(met)) if word else OUTSIDE for word in words]
    return np.array(codes, dtype=np.int64)[places]


def _distinct(column: Any) -> tuple[list[str | None], NDArray[np.int64]]:
    """Words, and which of them stands in each row; of few rows no matter how often a word comes."""
    if len(column) <= _FEW:
        return column.to_pylist(), np.arange(len(column))
    coded = column.dictionary_encode(null_encoding="encode")
    return coded.dictionary.to_pylist(), np.asarray(np.from_dlpack(coded.indices), dtype=np.int64)
