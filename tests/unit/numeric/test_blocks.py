from __future__ import annotations

import numpy as np

from dxgeom.numeric.arrays import block_diagonal, block_slices


def test_blocks_follow_each_other_without_gaps():
    assert block_slices([2, 0, 3]) == [slice(0, 2), slice(2, 2), slice(2, 5)]
    assert block_slices([]) == []


def test_matrices_along_the_diagonal_leave_zeros_elsewhere():
    whole = block_diagonal([np.full((1, 1), 7.0), np.ones((2, 2))])
    assert whole.tolist() == [[7, 0, 0], [0, 1, 1], [0, 1, 1]]
