"""Nearest points by a tree.

Kernel: scipy.spatial.cKDTree, for the nearest of many points.
"""

from __future__ import annotations

from typing import Final, final

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

_TIED: Final = 4
"""So many equally near points at different spots are compared; on a lattice there are no more in the plane."""


@final
class NearestTree:
    """Points (n, d), each known by its place in the list."""

    def __init__(self, points: NDArray[np.float64]) -> None:
        self._spots, first = np.unique(points, axis=0, return_index=True)
        self._first = first
        self._tree = cKDTree(self._spots)

    def nearest(self, points: NDArray[np.float64], reach: float) -> NDArray[np.int64]:
        """The place of the nearest point, of equally near ones the first; -1 where none is within ``reach``."""
        if not len(points):
            return np.empty(0, dtype=np.int64)
        count = min(_TIED, len(self._spots))
        lengths, which = self._tree.query(points, k=list(range(1, count + 1)))
        places = np.where(lengths == lengths[:, :1], self._first[which], len(self._first) + self._first.max())
        return np.where(lengths[:, 0] <= reach, places.min(axis=1), -1).astype(np.int64)
