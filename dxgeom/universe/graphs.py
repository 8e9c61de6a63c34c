"""Graphs: named nodes joined by edges, each one step or a stated length long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.universe.attributes import Attribute, codes_of_words
from dxgeom.universe.columns import Column, TextColumn

LengthUnit: TypeAlias = Literal["", "m", "km"]
"""What lengths of edges are counted in; "" is the file's own unit."""


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
