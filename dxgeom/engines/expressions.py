"""What a policy makes of a row's cells, and codes of its numbers, in the engine's own terms."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, final

import pyarrow as pa

from dxgeom.engines.cells import (
    at_clocks,
    day_cell,
    instants_of_text,
    is_text,
    moments_of_text,
    number_cell,
    word_cell,
    wrong_type,
)
from dxgeom.engines.read_cells import missing_days, read_there
from dxgeom.engines.source import Source, ibis
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.numbers.numeric_attributes import NumericAttribute
from dxgeom.universe.reading.cell_rules import CellRules
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
