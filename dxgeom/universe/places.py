"""Places: points on the globe or in a plane, regions that tables may find by coordinates, and nodes of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.universe.attributes import Attribute, CellType, codes_of_words
from dxgeom.universe.columns import Column, TextColumn
from dxgeom.universe.reading.nearest import Nearest
from dxgeom.universe.wording import accepted_words

if TYPE_CHECKING:
    from dxgeom.universe.polygons import Areas

LengthUnit: TypeAlias = Literal["", "m", "km"]
"""What lengths of edges are counted in; "" is the file's own unit."""


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

    @property
    def outside_words(self) -> str:
        """What a row must be, for a person whose row is none."""
        return "which is in none of"

    @property
    def digest(self) -> list[Any]:
        """The columns, and a hash of the areas."""
        return [self.longitude, self.latitude, self.areas.digest()]


@final
@dataclass(frozen=True)
class PointsAttribute(Attribute):
    """Named places. A raw value belongs iff it is one of the keys, letter for letter.

    ``coordinates``: shape (size, 2), float64; degrees (latitude, longitude) when ``geometry`` is "great circle",
    else plane coordinates in ``unit``. ``further``: the other columns of the points file, for queries.
    ``located``: for tables that hold coordinates instead of keys.
    """

    name: str
    keys: tuple[str, ...]
    geometry: Literal["plane", "great circle"]
    coordinates: NDArray[np.float64] = field(repr=False)
    unit: str
    further: tuple[Column, ...] = field(default=(), repr=False)
    located: Located | Nearest | None = field(default=None, repr=False)

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

    @property
    def read_as(self) -> CellType:
        return "words" if self.located is None else "numbers"

    def encode_cells(self, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> NDArray[np.int64]:
        return self.encode(columns[0]) if self.located is None else self.located.encode(*map(np.asarray, columns))

    def accepted(self, found: str) -> str:
        if self.located is not None:
            kind = "regions" if isinstance(self.located, Located) else "places"
            return f"{self.located.outside_words} the {self.size} {kind} of {self.name}"
        return accepted_words(self.keys, found)

    @property
    def beyond_labels(self) -> Sequence[Any]:
        coordinates = [[float(number).hex() for number in place] for place in self.coordinates]
        located = () if self.located is None else self.located.digest
        return (self.geometry, self.unit, coordinates, *located)


@final
@dataclass(frozen=True, eq=False)
class GraphAttribute(Attribute):
    """The nodes of an undirected graph. A raw value belongs iff it is one of them, letter for letter.

    ``first``, ``second``: (E,) codes of the ends, first < second, each pair once, in increasing order.
    ``lengths``: (E,) int64 above 0, in multiples of ``grain`` of the ``unit``; None where an edge is only a step.
    ``further``: columns of the nodes' file, for queries.
    """

    name: str
    nodes: tuple[str, ...]
    first: NDArray[np.int64] = field(repr=False)
    second: NDArray[np.int64] = field(repr=False)
    lengths: NDArray[np.int64] | None = field(repr=False)
    grain: Fraction = Fraction(1)
    unit: LengthUnit = ""
    further: tuple[Column, ...] = field(default=(), repr=False)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.nodes

    @property
    def columns(self) -> tuple[Column, ...]:
        return (TextColumn(self.name, self.nodes), *self.further)

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        return codes_of_words(self.nodes, raw)

    @property
    def beyond_labels(self) -> Sequence[Any]:
        ends = (self.first.tolist(), self.second.tolist())
        return ends if self.lengths is None else (*ends, self.unit, str(self.grain), self.lengths.tolist())
