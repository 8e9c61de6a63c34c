"""Codes of numbers in an engine's own SQL, the same ones that attributes give to float64.

Edges are float64 and are compared with, never reckoned by casting a quotient, which engines round in different ways.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, final

from dxgeom.engines.tables.later import ibis
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.numbers.numeric_attributes import NumericAttribute
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
