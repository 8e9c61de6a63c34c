"""Attributes: the finite sets of values a record may have, and how a raw cell of a table finds its value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.columns import Column, NumberColumn, TextColumn, texts_of

if TYPE_CHECKING:
    from dxgeom.universe.polygons import Areas

OUTSIDE = -1
"""The code of a raw value that is no value of the attribute."""


class Attribute(ABC):
    """A finite list of values, numbered by *codes* 0..size-1.

    Laws: ``labels`` are distinct; ``encode(labels)`` is 0..size-1 for text attributes and
    ``encode(numbers)`` is 0..size-1 for numeric ones; whatever is no value encodes to ``OUTSIDE``.
    """

    name: str

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The values as a person writes them, one per code."""

    @property
    @abstractmethod
    def columns(self) -> tuple[Column, ...]:
        """What queries may mention; the first one bears the attribute's own name."""

    @abstractmethod
    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        """Codes of raw values, ``OUTSIDE`` where there is none.

        Text attributes take strings; numeric ones take numbers (NaN and None are outside).
        """

    @property
    def raw_columns(self) -> tuple[str, ...]:
        """The columns of a table that say which value a row has."""
        return (self.name,)

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.labels)

    @property
    def numeric(self) -> bool:
        """Whether raw values are numbers rather than words."""
        return isinstance(self.columns[0], NumberColumn)


@final
@dataclass(frozen=True)
class CategoricalAttribute(Attribute):
    """A list of words. A raw value belongs iff it is one of them, letter for letter."""

    name: str
    values: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return self.values

    @property
    def columns(self) -> tuple[Column, ...]:
        return (TextColumn(self.name, self.values),)

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        return codes_of_words(self.values, raw)


@final
@dataclass(frozen=True)
class RangeAttribute(Attribute):
    """The numbers low, low + step, …, up to high. A raw number in [low, high] is rounded *down* to the step."""

    name: str
    low: Fraction
    high: Fraction
    step: Fraction

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
        return (NumberColumn(self.name, self.numbers),)

    @property
    def size(self) -> int:
        return len(self.numbers)

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        return _codes_of_cells(self._lower, float(self.high), raw)

    @cached_property
    def _lower(self) -> NDArray[np.float64]:
        return np.array([float(number) for number in self.numbers])


@final
@dataclass(frozen=True)
class BinnedAttribute(Attribute):
    """Cells [e₀, e₁), [e₁, e₂), …, [eₙ₋₁, eₙ]; a cell's number, for sums and distances, is its midpoint."""

    name: str
    edges: tuple[Fraction, ...]

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
        return tuple((low + high) / 2 for low, high in self.cells)

    @property
    def cells(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """The interval of each code."""
        return tuple(zip(self.edges, self.edges[1:], strict=False))

    @property
    def columns(self) -> tuple[Column, ...]:
        return (NumberColumn(self.name, self.numbers, self.cells),)

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        return _codes_of_cells(self._lower, float(self.edges[-1]), raw)

    @cached_property
    def _lower(self) -> NDArray[np.float64]:
        return np.array([float(edge) for edge in self.edges[:-1]])


@final
@dataclass(frozen=True, eq=False)
class Located:
    """A table says where a row is, in two columns of degrees; its value is the first of the areas it lies in."""

    longitude: str
    latitude: str
    areas: Areas = field(repr=False)

    def encode(self, longitudes: NDArray[np.float64], latitudes: NDArray[np.float64]) -> NDArray[np.int64]:
        """The code of the area that each point lies in; a border belongs to its areas, ``OUTSIDE`` to none."""
        return self.areas.containing(longitudes, latitudes)


@final
@dataclass(frozen=True)
class PointsAttribute(Attribute):
    """Named places. A raw value belongs iff it is one of the keys, letter for letter.

    ``coordinates``: shape (size, 2), float64; degrees (latitude, longitude) when ``geometry`` is "great circle",
    else plane coordinates in ``unit``. ``further``: the other columns of the points file, for queries.
    ``located``: for regions whose tables hold coordinates instead of keys.
    """

    name: str
    keys: tuple[str, ...]
    geometry: Literal["plane", "great circle"]
    coordinates: NDArray[np.float64] = field(repr=False)
    unit: str
    further: tuple[Column, ...] = field(default=(), repr=False)
    located: Located | None = field(default=None, repr=False)

    @property
    def raw_columns(self) -> tuple[str, ...]:
        return (self.name,) if self.located is None else (self.located.longitude, self.located.latitude)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.keys

    @property
    def columns(self) -> tuple[Column, ...]:
        return (TextColumn(self.name, self.keys), *self.further)

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        return codes_of_words(self.keys, raw)


def numbers_of(attribute: Attribute) -> tuple[Fraction, ...]:
    """The exact number behind each code.

    Raises: UnsupportedCombination when the attribute's values are words or places.
    """
    column = attribute.columns[0]
    if isinstance(column, NumberColumn):
        return column.numbers
    raise UnsupportedCombination(f"the values of '{attribute.name}' are not numbers")


def codes_of_words(words: tuple[str, ...], raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """The place of each raw value among the words, letter for letter."""
    code_of = {word: code for code, word in enumerate(words)}
    return np.fromiter((code_of.get(value, OUTSIDE) for value in raw), dtype=np.int64, count=len(raw))


def _codes_of_cells(lower: NDArray[np.float64], high: float, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
    """The cell whose lower edge is the last one not above the number; the decimal 0.1 in a table is on the edge 0.1."""
    numbers = np.asarray(raw, dtype=np.float64)
    codes = np.searchsorted(lower, numbers, side="right").astype(np.int64) - 1
    inside = (numbers >= lower[0]) & (numbers <= high)
    return np.where(inside, codes, OUTSIDE)
