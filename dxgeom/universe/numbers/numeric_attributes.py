"""Attributes of numbers: cells that lie side by side on a line."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.attributes import OUTSIDE, Attribute, NotAValue
from dxgeom.universe.columns import Column, NumberColumn, plain, texts_of
from dxgeom.universe.decimals import NotANumber, exact, meant
from dxgeom.universe.numbers.number_cells import AS_THEY_ARE, NumberCells, RawNumbers
from dxgeom.universe.wording import shown

FINEST: Final = 2**50
"""Neighbouring numbers of one attribute differ by more than this fraction of the largest, or float64 merges them."""

_ROUNDS: Final = (7, 12, 24, 60, 360)
"""Rounds that people know: weekdays, months, hours, minutes, degrees."""


def _as_meant(found: str) -> str:
    """Which number a cell means that writes it in another way."""
    said = meant(found)
    return f" ({said}; pandas.read_csv(…, decimal=',') reads commas)" if "," in found and said else ""


class NumericAttribute(Attribute):
    """Cells that lie side by side on a line: a raw number from the lowest to the highest belongs to one of them.

    ``raw``: which other numbers are taken, and whether they are whole; ``wraps``: whether the first cell follows the
    last one, as hours of a day do.
    """

    raw: RawNumbers
    wraps: bool

    @property
    def around(self) -> Fraction:
        """From the lowest number through all cells to the end of the last one: the round of values that wrap."""
        return self.ends[1] - self.ends[0]

    @property
    @abstractmethod
    def ends(self) -> tuple[Fraction, Fraction]:
        """The lowest and the highest raw number that is not clamped."""

    @property
    @abstractmethod
    def floors(self) -> tuple[Fraction, ...]:
        """The lowest raw number of each code, increasing."""

    @cached_property
    def lower(self) -> NDArray[np.float64]:
        """(size,) ``floors`` as float64."""
        return np.array([float(floor) for floor in self.floors])

    @cached_property
    def stands_for(self) -> NumberCells:
        """The raw numbers behind each code."""
        return NumberCells(self.floors, self.ends[1], self.raw)

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        # The decimal 0.1 in a table is on the edge 0.1.
        numbers = np.asarray(raw, dtype=np.float64)
        codes = np.searchsorted(self.lower, numbers, side="right").astype(np.int64) - 1
        low, high = self.raw.true_ends or self.ends
        inside = (numbers >= float(low)) & (numbers <= float(high))
        if self.raw.clamped:
            inside = inside if self.raw.true_ends else np.isfinite(numbers)
            codes = np.clip(codes, 0, self.size - 1)
        if self.raw.whole:
            inside &= numbers == np.floor(numbers)
        return np.where(inside, codes, OUTSIDE)

    def code_of(self, text: str) -> int:
        if text in self._code_of_label:
            return self._code_of_label[text]
        try:
            code = int(self.encode([float(exact(text.strip()))])[0])
        except NotANumber as error:
            raise NotAValue(f"{self.name} is a number, found {shown(text)}: {error}") from error
        if code == OUTSIDE:
            raise NotAValue(f"{self.name} runs from {self.labels[0]} to {self.labels[-1]}, found {shown(text)}")
        return code

    def accepted(self, found: str) -> str:
        what = "whole numbers" if self.raw.whole else "numbers"
        if self.raw.clamped and self.raw.true_ends is None:
            return f"accepted are {what}{_as_meant(found)}"
        low, high = self.raw.true_ends or self.ends
        return f"accepted are {what} from {plain(low)} to {plain(high)}{_as_meant(found)}"

    @property
    def beyond_labels(self) -> Sequence[Any]:
        return (*self.raw.digest, *(("wraps",) if self.wraps else ()))


@final
@dataclass(frozen=True)
class RangeAttribute(NumericAttribute):
    """The numbers low, low + step, …, up to high. A raw number in [low, high] is rounded *down* to the step."""

    name: str
    low: Fraction
    high: Fraction
    step: Fraction
    raw: RawNumbers = AS_THEY_ARE
    wraps: bool = False

    @property
    def around(self) -> Fraction:
        return self.step * self.size

    @property
    def labels(self) -> tuple[str, ...]:
        return self._labels

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        return texts_of(self.numbers)

    @cached_property
    def numbers(self) -> tuple[Fraction, ...]:
        """The value of each code."""
        count = (self.high - self.low) // self.step + 1
        return tuple(self.low + self.step * k for k in range(count))

    @property
    def columns(self) -> tuple[Column, ...]:
        return (NumberColumn(self.name, self.numbers, rounded=True, stands_for=self.stands_for),)

    @property
    def size(self) -> int:
        return len(self.numbers)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.low, self.high

    @property
    def beyond_labels(self) -> Sequence[Any]:
        # Where a step reaches the upper end, the last label tells it.
        top = () if self.numbers[-1] == self.high else (plain(self.high),)
        return (*top, *super().beyond_labels)

    @property
    def floors(self) -> tuple[Fraction, ...]:
        return self.numbers

    @property
    def doubts(self) -> tuple[str, ...]:
        rest = (self.high - self.low) % self.step
        if self.wraps and not rest and self.low == 0 and self.high in _ROUNDS:
            name, high = shown(self.name), plain(self.high)
            return (
                f"{name} wraps, and its values 0 and {high} are two: a round of it is {plain(self.around)}; where "
                f"{high} is 0 again, end the range before it",
            )
        if self.wraps or not rest:
            return ()
        last, high = plain(self.high - rest), plain(self.high)
        return (
            f"the step of {shown(self.name)}, {plain(self.step)}, does not divide its range, {plain(self.low)} to "
            f"{high}: its last value, {last}, stands for numbers up to {high} only; take "
            f"a step that divides {plain(self.high - self.low)}",
        )


@final
@dataclass(frozen=True)
class BinnedAttribute(NumericAttribute):
    """Cells [e₀, e₁), [e₁, e₂), …, [eₙ₋₁, eₙ]; for distances a cell's number is its midpoint."""

    name: str
    edges: tuple[Fraction, ...]
    raw: RawNumbers = AS_THEY_ARE
    wraps: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        return self._labels

    @cached_property
    def _labels(self) -> tuple[str, ...]:
        words = texts_of(self.edges)
        last = len(words) - 2
        return tuple(f"[{low}, {high}{']' if k == last else ')'}" for k, (low, high) in enumerate(pairwise(words)))

    @property
    def numbers(self) -> tuple[Fraction, ...]:
        """The midpoint of each cell."""
        return tuple((low + high) / 2 for low, high in pairwise(self.edges))

    @property
    def cells(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The interval of each code, out to the true ends where they are stated."""
        low, high = self.raw.true_ends or self.ends
        return tuple(pairwise((low, *self.edges[1:-1], high)))

    @property
    def columns(self) -> tuple[Column, ...]:
        return (NumberColumn(self.name, self.numbers, self.cells, stands_for=self.stands_for),)

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.edges[0], self.edges[-1]

    @property
    def floors(self) -> tuple[Fraction, ...]:
        return self.edges[:-1]


def numbers_of(attribute: Attribute) -> tuple[Fraction, ...]:
    """The exact number behind each code.

    Raises: UnsupportedCombination when the attribute's values are words or places.
    """
    column = attribute.columns[0]
    if isinstance(column, NumberColumn) and not column.missing:
        return column.numbers
    raise UnsupportedCombination(f"the values of '{attribute.name}' are not numbers")
