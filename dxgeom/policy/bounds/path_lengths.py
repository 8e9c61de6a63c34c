"""Distances along a graph's edges, exactly: in steps, or in the lengths of its edges."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.bounded_shortest_paths import UNREACHED, Neighbours, lengths_from, neighbours_of, pairs_in_reach
from dxgeom.policy.bounds.bounds import Axis
from dxgeom.universe.graphs import GraphAttribute
from dxgeom.universe.wording import shown

Reached: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]


@final
@dataclass(frozen=True, eq=False)
class PathLengths:
    """Shortest paths of a graph attribute along one axis, in whole multiples of ``grain``; every length is *exact*."""

    attribute: GraphAttribute
    axis: Axis

    @property
    def grain(self) -> Fraction:
        """What lengths are multiples of: one step, or a part of the attribute's unit."""
        return Fraction(1) if self.axis == "hops" else self.attribute.grain

    @cached_property
    def of_edges(self) -> NDArray[np.int64]:
        """The length of each edge. Raises: UnsupportedCombination when the graph has none along this axis."""
        if self.axis == "hops":
            return np.ones(self.attribute.first.size, dtype=np.int64)
        if self.axis != "paths" or self.attribute.lengths is None:
            raise UnsupportedCombination(f"the edges of {shown(self.attribute.name)} have no lengths")
        return self.attribute.lengths

    def near(self, reach: Fraction, most: int) -> Reached | None:
        """Pairs of nodes with a path of at most ``reach``, lower code first, and its length; None beyond ``most``."""
        return pairs_in_reach(self._neighbours, int(reach / self.grain), most)

    def reached_from(self, code: int) -> list[int | float]:
        """The length of the shortest path to every node, ∞ where there is none."""
        lengths = lengths_from(self._neighbours, code).tolist()
        return [float("inf") if length == UNREACHED else length for length in lengths]

    def between(self, start: int, end: int) -> Fraction | float:
        """The length of a shortest path in the axis' unit, ∞ where there is none."""
        length = self.reached_from(start)[end]
        return length * self.grain if isinstance(length, int) else length

    @cached_property
    def _neighbours(self) -> Neighbours:
        return neighbours_of(self.attribute.size, self.attribute.first, self.attribute.second, self.of_edges)
