"""Sets that are known by how far they reach: the least that shaping noise needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.rounding import round_up


class SupportOracle(ABC):
    """A bounded symmetric set S ⊂ ℝᵐ with support function h(u) = sup over s ∈ S of u·s.

    Law: ``u·furthest(u) ≤ reach_bounds(u)``, up to the rounding of float64 on the left.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number m of coordinates."""

    @abstractmethod
    def furthest(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each direction (F, m) a point of S far out along it, as far as float64 tells. A search, no proof."""

    @abstractmethod
    def reach_bounds(self, directions: NDArray[Any], scales: Sequence[int]) -> NDArray[np.float64]:
        """(F,): h(directions[f])/scales[f] for integer directions (F, m) and positive integer scales.

        Guarantee: *rounded up*. This is what privacy rests on.
        """


@final
@dataclass(frozen=True, eq=False)
class StatedSupport(SupportOracle):
    """A set somebody knows by other means: a search for its far points, and a bound that its owner has proved.

    ``search(directions)`` gives points (F, m) for directions (F, m); ``bound(direction)`` is at least the support
    function, and both take the set for symmetric. The body built from it hides the set only if ``bound`` is right.
    """

    size: int
    search: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    bound: Callable[[tuple[int, ...]], Fraction]

    @property
    def dimension(self) -> int:
        return self.size

    def furthest(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.search(directions), dtype=np.float64)

    def reach_bounds(self, directions: NDArray[Any], scales: Sequence[int]) -> NDArray[np.float64]:
        rows = zip(directions.tolist(), scales, strict=True)
        return np.array([round_up(Fraction(self.bound(tuple(row))) / scale) for row, scale in rows])
