"""Which columns are read, as what, and in which batches.

What a policy makes of a row's cells, and codes of its numbers, in the engine's own terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, final

import pyarrow as pa

from dxgeom.engines.cells import (
    MOMENT_OR_DAY,
    at_clocks,
    day_cell,
    instants_of_text,
    is_text,
    moments_of_text,
    number_cell,
    repeats,
    word_cell,
    wrong_type,
)
from dxgeom.engines.read_cells import missing_days, named, prepare, read_there
from dxgeom.engines.source import ROWS, Source, ibis
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.columns import may_be_fractions
from dxgeom.universe.numbers.numeric_attributes import NumericAttribute
from dxgeom.universe.reading.expressions import (
    Arithmetic,
    Expression,
    LocalDay,
    MomentPart,
    Number,
    NumberCell,
    WordCell,
)
from dxgeom.universe.reading.reading import CellReading
from dxgeom.universe.reading.written import CellRules
from dxgeom.universe.universe import Universe

_MOST_COMPARED: Final = 256
"""Edges at unequal steps are found by comparing with one after the other, halving; more are left to NumPy."""
_EXACT: Final = 2**52
"""Whole numbers below it, and their sums, are float64; so a quotient of two of them is rounded once."""
_ALL_WHOLE: Final = 2.0**53
_SURE: Final = 2**40
"""Among fewer cells between 0 and the farthest edge a quotient of float64 is at most one cell off."""


@final
@dataclass(frozen=True)
class _Steps:
    """Edges (start + step·k)/unit in whole numbers; in float64 each is the edge that :class:`NumericAttribute` has."""

    start: int
    step: int
    unit: int

    def edge(self, code: Any) -> Any:
        """The edge of each code, rounded to float64 once."""
        top = code.cast("float64")
        top = top if self.step == 1 else top * _number(self.step)
        top = top if self.start == 0 else top + _number(self.start)
        return top if self.unit == 1 else top / _number(self.unit)

    def nearly(self, cell: Any) -> Any:
        """The code of each cell, or one of its neighbours."""
        above = cell if self.unit == 1 else cell * _number(self.unit)
        above = above if self.start == 0 else above - _number(self.start)
        return (above if self.step == 1 else above / _number(self.step)).floor().cast("int64")


def coded_by(attribute: Attribute, reading: CellReading) -> NumericAttribute | None:
    """The attribute of numbers whose codes :func:`codes_of` can give instead of it; None where it can not."""
    inner = attribute.present
    if not isinstance(inner, NumericAttribute) or reading.unlisted is not None or reading.cells != 1:
        return None
    return inner if len(inner.floors) <= _MOST_COMPARED or _steps(inner.floors) else None


def codes_of(attribute: NumericAttribute, cell: Any) -> Any:
    """The code of each float64 cell as ``attribute.encode`` gives it; null where the cell is null or NaN."""
    low, high = map(float, attribute.raw.true_ends or attribute.ends)
    inside = (cell >= _number(low)) & (cell <= _number(high))
    if attribute.raw.clamped and attribute.raw.true_ends is None:
        inside = (cell > _number(-math.inf)) & (cell < _number(math.inf))
    if attribute.raw.whole:
        # Beyond 2⁵³ every float64 is whole, and some pass what an engine's whole numbers hold.
        near = (cell > _number(-_ALL_WHOLE)) & (cell < _number(_ALL_WHOLE))
        inside &= ibis.ifelse(near, cell == cell.floor().cast("float64"), inside)
    edges, last = [float(edge) for edge in attribute.lower], _code(attribute.size - 1)
    steps = _steps(attribute.floors)
    between = _compared(cell, edges, 0) if steps is None else _reckoned(cell, steps)
    found = ibis.cases((cell < _number(edges[0]), _code(0)), (cell >= _number(edges[-1]), last), else_=between)
    nothing = cell.isnull() | cell.isnan()
    return ibis.cases((nothing, ibis.null("int32")), (inside, found), else_=_code(OUTSIDE))


def _steps(floors: Sequence[Fraction]) -> _Steps | None:
    """The floors as whole numbers at equal steps; None where they are not, or where float64 could not be sure."""
    if len(floors) < 2 or any(b - a != floors[1] - floors[0] for a, b in pairwise(floors)):
        return None
    unit = math.lcm(floors[0].denominator, floors[1].denominator)
    start, step = int(floors[0] * unit), int((floors[1] - floors[0]) * unit)
    farthest = abs(start) + step * len(floors)
    if max(farthest, unit) >= _EXACT or farthest >= _SURE * step:
        return None
    return _Steps(start, step, unit)


def _reckoned(cell: Any, steps: _Steps) -> Any:
    near = steps.nearly(cell)
    code = ibis.cases((cell < steps.edge(near), near - 1), (cell >= steps.edge(near + 1), near + 1), else_=near)
    return code.cast("int32")


def _compared(cell: Any, edges: Sequence[float], first: int) -> Any:
    if len(edges) == 1:
        return _code(first)
    middle = len(edges) // 2
    below = _compared(cell, edges[:middle], first)
    return ibis.ifelse(cell < _number(edges[middle]), below, _compared(cell, edges[middle:], first + middle))


def _code(code: int) -> Any:
    return ibis.literal(code, "int32")


def _number(number: float) -> Any:
    # As text, because engines read long decimals less exactly than their text.
    return ibis.literal(repr(float(number))).cast("float64")


_PARTS: Final[dict[str, Callable[[Any], Any]]] = {
    "year": lambda moment: moment.year(),
    "quarter": lambda moment: moment.quarter(),
    "month": lambda moment: moment.month(),
    "weekday": lambda moment: moment.day_of_week.index() + 1,
    "hour": lambda moment: moment.hour(),
}


def carried_out(source: Source, expression: Expression, places: dict[str, int], rules: CellRules | None = None) -> Any:
    """What an expression makes of each row, as :func:`cells_of` hands cells over.

    Args: ``places``: where each of its columns stands in the source; ``rules``: what their cells mean.
    Raises: DataError for a column whose type does not fit.
    """
    match expression:
        case WordCell(column=column, length=length):
            word = word_cell(source, places[column], column, rules)
            return word if length is None else word.substr(0, length)
        case LocalDay(column=column, zone=zone):
            return day_cell(source, places[column], column, rules, zone)
        case MomentPart(column=column):
            return _moment_part(source, expression, places[column], rules)
        case _:
            return _numbers(source, expression, places, rules)


def _moment_part(source: Source, expression: MomentPart, place: int, rules: CellRules | None) -> Any:
    """Missing where the cell is, infinite where it is no moment."""
    column, kind = source.rows[f"k{place}"], source.types[place]
    knows_zone = pa.types.is_timestamp(kind) and kind.tz is not None
    shows_clocks = pa.types.is_timestamp(kind) or (pa.types.is_date(kind) and expression.part != "hour")
    gone = column.isnull()
    if is_text(kind) and rules is not None:
        moment = read_there("moment", source.rows, place, rules, expression.zone)
        gone = read_there("clean", source.rows, place, rules, expression.zone).isnull()
    elif is_text(kind) and expression.zone is None:
        moment = moments_of_text(column, with_hours=expression.part == "hour")
    elif is_text(kind):
        moment = at_clocks(expression.zone, instants_of_text(column))
    elif knows_zone and expression.zone is not None:
        moment = at_clocks(expression.zone, column)
    elif shows_clocks and not knows_zone and expression.zone is None:
        moment = column.cast("timestamp")
    else:
        raise _no_moments(source, expression, kind, knows_zone)
    if rules is not None and not is_text(kind) and (days := missing_days(rules)):
        gone |= moment.date().cast("string").isin(days)
    part = _PARTS[expression.part](moment).cast("float64")
    return ibis.ifelse(gone, ibis.null("float64"), ibis.coalesce(part, ibis.literal(math.inf)))


def _no_moments(source: Source, expression: MomentPart, kind: pa.DataType, knows_zone: bool) -> Exception:
    advice = f"convert it to dates or times, of which the {expression.part} can be told"
    if knows_zone:
        advice = "its moments know their own zone: say beside 'as' which clocks count, as in 'zone: Europe/Berlin'"
    elif expression.zone is not None and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        advice = "its moments know no zone of their own: leave out 'zone'"
    return wrong_type(source, expression.column, kind, "moments", advice)


def _numbers(source: Source, expression: Expression, places: dict[str, int], rules: CellRules | None) -> Any:
    """Missing where an operand is or a divisor is 0, infinite where an operand cannot be read or a number is too large.

    Operands are tried before anything is worked out, so that infinities never meet.
    """
    cells = {column: number_cell(source, places[column], column, rules) for column in expression.columns}
    missing = _any([cell.isnull() | cell.isnan() for cell in cells.values()])
    unreadable = _any([cell.isinf() for cell in cells.values()])
    found = _worked_out(expression, cells)
    sound = ibis.ifelse(found.isnan(), ibis.literal(math.inf), found)
    nothing = ibis.null("float64")
    return ibis.ifelse(missing, nothing, ibis.ifelse(unreadable, ibis.literal(math.inf), sound))


def _worked_out(expression: Expression, cells: dict[str, Any]) -> Any:
    match expression:
        case NumberCell(column=column):
            return cells[column]
        case Number(value=value):
            return _number(float(value))
        case Arithmetic(sign=sign, left=left, right=right):
            one, other = (_worked_out(side, cells) for side in (left, right))
            match sign:
                case "+":
                    return one + other
                case "-":
                    return one - other
                case "*":
                    return one * other
                case "/":
                    return one / other.nullif(ibis.literal(0.0))
    raise TypeError(f"no engine knows a {type(expression).__name__}")


def _any(parts: list[Any]) -> Any:
    found = parts[0]
    for part in parts[1:]:
        found = found | part
    return found


SMALL: Final = 1 << 23
"""Bytes of a file whose rows are read one by one."""
_BLANKS: Final = "' \t\n\r\v\f'"


def statement(source: Source, universe: Universe, records: str | None) -> str | None:
    """The cells k0, k1, … of each row, and the last column as ``records`` if that is a name; None where Ibis is needed.

    That is for other tables than small files of text, which are read in less time than Ibis takes to load, and for what
    a policy makes of columns. Cells are what :mod:`dxgeom.engines.cells` makes of them; few rows come one by one.
    """
    reading, text = universe.reading, source.text
    if text is None or text.path.suffix == ".gz" or text.path.stat().st_size > SMALL:
        return None
    if any(one.expression is not None for one in reading.attributes):
        return None
    each = zip(reading.attributes, reading.places, strict=True)
    cells = [_cell(one, place) for one, places in each for place in places]
    columns = [f"{cell} AS k{number}" for number, cell in enumerate(cells)]
    if records is not None:
        columns.append(f"{_whole(len(reading.columns))} AS {records}")
    return f"SELECT {', '.join(columns)} FROM {ROWS}"  # noqa: S608


def _cell(reading: CellReading, place: int) -> str:
    if reading.rules is not None:
        read = {"days": "day", "numbers": "number", "words": "clean"}[reading.read_as]
        return f"{read}_{named(reading.rules)}_{place}"
    if reading.read_as == "days":
        moment = f"CASE WHEN regexp_matches(k{place}, '{MOMENT_OR_DAY}') THEN k{place} END"
        return f"coalesce(CAST(CAST(try_cast({moment} AS TIMESTAMP) AS DATE) AS VARCHAR), k{place})"
    if reading.read_as != "numbers":
        return f"k{place}"
    return (
        f"coalesce(try_cast(k{place} AS DOUBLE), CASE WHEN k{place} IS NULL THEN NULL ELSE CAST('inf' AS DOUBLE) END)"
    )


def _whole(place: int) -> str:
    """A whole number of records; a cast alone would round 1.5 to 2."""
    digits = f"trim(k{place}, {_BLANKS})"
    return f"CASE WHEN regexp_matches({digits}, '^[0-9]+$') THEN try_cast({digits} AS BIGINT) ELSE NULL END"


RECORDS: Final = "records"
"""The column of a batch that says how many records a row of it stands for."""
_FEW_WHOLE_NUMBERS: Final = 1000
_EXACT_DIGITS: Final = 15
"""Decimals of so many digits are quotients of two whole numbers in float64, which every engine rounds once."""


@final
@dataclass(frozen=True)
class Grouping:
    """How equal rows are put together before anything is encoded.

    ``keys``: what rows are equal in, over the source's rows: columns as they are, k0, k1, …, and cells that the engine
    works out, c0, c1, …; ``coded``: the attributes, by place, whose cells are worked out to their codes.
    """

    keys: dict[str, Any]
    coded: frozenset[int]
    universe: Universe
    source: Source

    def cells(self, rows: ibis.Table, axes: Iterable[int] | None = None) -> dict[str, Any]:
        """k0, k1, …: what each attribute in order is handed of a table that has the keys; of these ``axes`` alone where
        they are given."""
        reading, found = self.universe.reading, dict[str, Any]()
        for axis in range(len(reading.attributes)) if axes is None else axes:
            own = reading.cells[axis]
            if f"c{own[0]}" in self.keys:
                cells = [rows[f"c{cell}"] for cell in own]
            else:
                cells = _cells(replace(self.source, made=lambda: rows), reading.attributes[axis], reading.places[axis])
            found |= {f"k{cell}": made for cell, made in zip(own, cells, strict=True)}
        return found

    def keys_of(self, axes: Iterable[int]) -> dict[str, Any]:
        """The keys in which rows that these attributes have the same of are equal."""
        reading, found = self.universe.reading, dict[str, Any]()
        for axis in axes:
            worked_out = f"c{reading.cells[axis][0]}" in self.keys
            names = [f"c{cell}" for cell in reading.cells[axis]] if worked_out else []
            found |= {name: self.keys[name] for name in names or [f"k{place}" for place in reading.places[axis]]}
        return found


@final
@dataclass(frozen=True)
class RecordReader:
    """How a table is read.

    ``count_column``: says how many records a row stands for; ``written``: a statement that gives ``cells`` without
    Ibis, None where there is none; ``outside_there``: whether rows are outside, where their server can tell.
    """

    source: Source
    universe: Universe
    count_column: str | None
    written: str | None
    outside_there: Callable[[ibis.Table], Any] | None = None

    @property
    def weighted(self) -> bool:
        """Whether rows are counted by a column."""
        return self.count_column is not None

    @cached_property
    def columns(self) -> dict[str, Any]:
        """k0, k1, …, what each attribute in order is handed of a row, text or float64, followed, if rows are counted by
        a column, by RECORDS (null where it is no whole number)."""
        reading = self.universe.reading
        each = zip(reading.attributes, reading.places, strict=True)
        cells = [cell for one, places in each for cell in _cells(self.source, one, places)]
        columns = {f"k{place}": cell for place, cell in enumerate(cells)}
        if self.count_column is not None:
            columns[RECORDS] = _records(self.source, len(reading.columns), self.count_column)
        return columns

    @cached_property
    def grouping(self) -> Grouping | None:
        """None where hardly two rows are equal."""
        cells = [cell for name, cell in self.columns.items() if name != RECORDS]
        return _grouping(self.source, self.universe, cells) if self.count_column is None else None

    @property
    def keys(self) -> Grouping:
        """The grouping, or one by all columns where hardly two rows are equal."""
        if self.grouping is not None:
            return self.grouping
        columns = {f"k{k}": self.source.rows[f"k{k}"] for k in range(len(self.universe.reading.columns))}
        return Grouping(columns, frozenset(), self.universe, self.source)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The cells of all rows, in the table's order."""
        if self.written is not None:
            return self.source.written(self.written)
        return self.source.batches(self.source.rows.select(**self.columns))

    def groups(self, grouping: Grouping) -> Iterator[pa.RecordBatch]:
        """The cells of distinct rows, some of them codes, and RECORDS, how many rows are so."""
        rows = self.source.rows.select(**grouping.keys)
        counted = rows.group_by(rows.columns).agg(**{RECORDS: ibis._.count()})
        return self.source.finished(
            counted, lambda groups: groups.select(**grouping.cells(groups), **{RECORDS: groups[RECORDS]})
        )

    @property
    def not_declared_whole(self) -> tuple[str, ...]:
        """The attributes that are read from a column of integers, and do not say that their numbers are whole."""
        reading = self.universe.reading
        each = zip(self.universe.attributes, reading.attributes, reading.places, strict=True)
        return tuple(
            attribute.name
            for attribute, one, places in each
            if one.expression is None
            and any(may_be_fractions(column) for column in attribute.columns[:1])
            and all(pa.types.is_integer(self.source.types[place]) for place in places)
        )

    def batches_with_text(self) -> Iterator[pa.RecordBatch]:
        """All rows in the table's order: the cells, then s0, s1, …, the columns as they stand in the table, as text."""
        return self.source.batches(self._with_text())

    def batches_outside(self, most: int) -> Iterator[pa.RecordBatch]:
        """The same; where the server can tell which rows are outside these alone, and at most so many."""
        if self.outside_there is None or self.grouping is None:
            return self.batches_with_text()
        keyed = self.source.rows.mutate(**self.grouping.keys)
        few = keyed.filter(self.outside_there(keyed)).select(self.source.rows.columns).limit(most)
        return self.source.finished(
            few, lambda rows: replace(self, source=replace(self.source, made=lambda: rows))._with_text()
        )

    def _with_text(self) -> ibis.Table:
        shown = {f"s{k}": self.source.rows[f"k{k}"].cast("string") for k in range(len(self.source.types))}
        return self.source.rows.select(**self.columns, **shown)


def plan_reading(source: Source, universe: Universe, count_column: str | None) -> RecordReader:
    """Decides how each column is read.

    Raises: DataError when a column's type does not fit its attribute.
    """
    source = prepare(source, universe.reading)
    written = statement(source, universe, None if count_column is None else RECORDS)
    reader = RecordReader(source, universe, count_column, written)
    if written is None:
        _ = reader.columns  # whose types are looked at
    return reader


def _grouping(source: Source, universe: Universe, cells: list[Any]) -> Grouping | None:
    """None where an attribute reads numbers that the engine cannot code, of which hardly two are equal.

    Measured on 10⁷ rows: grouping these doubles the time and triples the memory.
    """
    keys, coded, reading = dict[str, Any](), set[int](), universe.reading
    each = zip(universe.attributes, reading.attributes, reading.places, reading.cells, strict=True)
    for place, (attribute, one, places, own) in enumerate(each):
        numbers = coded_by(attribute, one)
        if _as_they_are(source, one, places, numbers):
            keys |= {f"k{column}": source.rows[f"k{column}"] for column in places}
        elif numbers is not None and _can_code(source, one, places):
            keys[f"c{own[0]}"] = codes_of(numbers, cells[own[0]])
            coded.add(place)
        elif source.there is not None and one.rules is not None:
            keys |= {f"k{column}": source.rows[f"k{column}"] for column in places}  # read here
        elif one.read_as == "numbers" and not isinstance(one.expression, MomentPart):
            return None
        elif source.there is not None:
            keys |= {f"k{column}": source.rows[f"k{column}"] for column in places}
        else:
            keys |= {f"c{cell}": cells[cell] for cell in own}
    return Grouping(keys, frozenset(coded), universe, source)


def _can_code(source: Source, reading: CellReading, places: tuple[int, ...]) -> bool:
    """Whether the engine makes the same float64 of a row as this one does.

    Of long decimals, and of what a policy works out, engines may not: there the columns themselves come.
    """
    if source.there is None:
        return True
    kind = source.types[places[0]]
    short = not pa.types.is_decimal(kind) or kind.precision <= _EXACT_DIGITS
    return reading.expression is None and not is_text(kind) and short


def _as_they_are(
    source: Source, reading: CellReading, places: tuple[int, ...], numbers: NumericAttribute | None
) -> bool:
    """Whether rows with equal columns are many, so that cells are worked out once for all of them."""
    if reading.expression is not None or len(places) > 1:
        return False
    if reading.rules is not None and reading.read_as == "days" and source.there is None:
        return False  # many moments are one day
    kind = source.types[places[0]]
    if reading.read_as != "numbers":
        return repeats(kind) or pa.types.is_boolean(kind) or pa.types.is_date(kind)
    few = numbers is None or numbers.ends[1] - numbers.ends[0] <= max(_FEW_WHOLE_NUMBERS, 2 * numbers.size)
    return bool(pa.types.is_integer(kind)) and few


def _cells(source: Source, reading: CellReading, places: tuple[int, ...]) -> list[Any]:
    """What an attribute is handed of each row, from its columns, which stand at ``places`` of the source."""
    if reading.expression is not None:
        columns = dict(zip(reading.columns, places, strict=True))
        return [carried_out(source, reading.expression, columns, reading.rules)]
    read: Callable[..., Any] = {"days": day_cell, "numbers": number_cell, "words": word_cell}[reading.read_as]
    each = zip(places, reading.columns, strict=True)
    return [read(source, place, name, reading.rules) for place, name in each]


def _records(source: Source, position: int, name: str) -> Any:
    column, kind = source.rows[f"k{position}"], source.types[position]
    if is_text(kind) and source.text is not None:
        # A cast alone would round 1.5 to 2.
        digits = column.strip()
        return ibis.ifelse(digits.re_search("^[0-9]+$"), digits.try_cast("int64"), ibis.null("int64"))
    if pa.types.is_integer(kind):
        return ibis.ifelse(column >= 0, column.try_cast("int64"), ibis.null("int64"))
    raise wrong_type(source, name, kind, "whole numbers of records", "convert the column to integers")
