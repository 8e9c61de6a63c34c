"""Near pairs of points, by SciPy's k-d tree.

Kernel: SciPy's k-d tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree


def pairs_in_balls(points: NDArray[np.float64], radius: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Unordered pairs of rows of ``points`` at Euclidean distance at most ``radius``, lower index first."""
    pairs = cKDTree(points).query_pairs(radius, output_type="ndarray").astype(np.int64)
    return pairs[:, 0], pairs[:, 1]
