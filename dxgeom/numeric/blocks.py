"""Vectors and matrices that are made of blocks, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray


def block_slices(sizes: Iterable[int]) -> list[slice]:
    """Where blocks of these sizes lie when they follow each other."""
    return [slice(start, end) for start, end in pairwise([0, *accumulate(sizes)])]


def block_diagonal(matrices: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Square matrices along the diagonal, zeros elsewhere."""
    blocks = block_slices(map(len, matrices))
    whole = np.zeros((blocks[-1].stop, blocks[-1].stop))
    for matrix, block in zip(matrices, blocks, strict=True):
        whole[block, block] = matrix
    return whole
