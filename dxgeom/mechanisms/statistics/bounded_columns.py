"""Columns of bounded numbers: each value is moved into its box and onto a grid before anything is computed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.universe.decimals import NotANumber, exact

Number: TypeAlias = int | float | str | Decimal | Fraction

FINEST = 2**24
"""A column has at most so many grid steps: beyond, float64 data would not tell neighbouring grid points apart safely
after a product, and sums would leave 64-bit integers early."""
DEFAULT_STEPS = 2**20
"""Grid steps of a column without a step of its own: a value moves by at most a two-millionth of the range."""


@final
@dataclass(frozen=True)
class BoundedColumn:
    """The grid ``low, low + step, …, high``; a value is clipped to [low, high] and moved to a nearest grid point.

    All three are exact rationals, ``steps`` = (high − low)/step is a whole number. What a record holds outside the
    box is not looked at any further, so the sensitivity of whatever is computed from grid points is bounded.
    """

    name: str
    low: Fraction
    high: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise UnsupportedCombination(f"column '{self.name}' needs low < high, found {self.low} and {self.high}")
        if not (self.step > 0 and ((self.high - self.low) / self.step).denominator == 1):
            raise UnsupportedCombination(f"the step {self.step} of column '{self.name}' does not divide high − low")
        if self.steps > FINEST:
            raise UnsupportedCombination(f"column '{self.name}' has {self.steps:,} grid steps; {FINEST:,} are allowed")

    @property
    def steps(self) -> int:
        """The number of grid steps from low to high."""
        return int((self.high - self.low) / self.step)

    def grid_points(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The grid point, counted from low, of each value.

        Guarantee: within 0…steps, and a function of the value alone; a nearest point up to the rounding of float64.
        Raises: DataError for NaN, which is nowhere.
        """
        if np.any(np.isnan(values)):
            raise DataError(f"column '{self.name}' holds a value that is no number; drop such records first")
        clipped = np.clip(values, float(self.low), float(self.high))
        places = np.rint((clipped - float(self.low)) / float(self.step)).astype(np.int64)
        return np.clip(places, 0, self.steps)


def bounded_column(name: str, low: Number, high: Number, step: Number | None = None) -> BoundedColumn:
    """A column of numbers between two public bounds, which must not be read off the data.

    Numbers are taken as written: 0.1 is a tenth. Without a step there are 2²⁰ grid steps.
    Raises: UnsupportedCombination for bounds that make no box.
    """
    bounds = _number(low, name), _number(high, name)
    width = (bounds[1] - bounds[0]) / DEFAULT_STEPS if step is None else _number(step, name)
    return BoundedColumn(name, *bounds, width)


def grid_table(columns: Sequence[BoundedColumn], table: ArrayLike) -> NDArray[np.int64]:
    """The grid points (n, p) of a table (n, p) with one column of numbers for each bounded column.

    Raises: DataError when the table has another shape, or holds what is no number.
    """
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("a table of bounded columns holds numbers only") from error
    if values.ndim != 2 or values.shape[1] != len(columns):
        raise DataError(f"the table needs {len(columns)} columns, one row per record; found shape {values.shape}")
    placed = [column.grid_points(values[:, index]) for index, column in enumerate(columns)]
    return np.stack(placed, axis=1)


def universe_digest(columns: Iterable[BoundedColumn]) -> str:
    """SHA-256 of all records that these columns can hold, in whatever order they stand: names, bounds and steps."""
    boxes = sorted((column.name, str(column.low), str(column.high), str(column.step)) for column in columns)
    return hashlib.sha256(repr(("any record for any other", boxes)).encode()).hexdigest()


def _number(number: Number, name: str) -> Fraction:
    if isinstance(number, Fraction):
        return number
    above, slash, below = str(number).strip().partition("/")
    try:
        return exact(above) / exact(below) if slash else exact(above)
    except (NotANumber, ZeroDivisionError) as error:
        raise UnsupportedCombination(
            f"the bounds and step of column '{name}' are numbers such as 0.25 or 1/4, found {number!r}"
        ) from error
