"""Many small integer linear systems at once, solved exactly by fraction-free elimination."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def solve_exactly(matrices: NDArray[Any], sides: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Determinants and Cramer numerators of F integer systems ``A x = b``.

    Args: ``matrices`` (F, m, m) and ``sides`` (F, m, r), integers of any size.
    Returns: signed determinants (F,) and numerators (F, m, r), Python integers, with ``x = numerators / determinant``;
    numerators are 0 where the determinant is.
    Guarantee: *exact*.
    Source: E. H. Bareiss, Sylvester's identity and multistep integer-preserving Gaussian elimination, 1968.
    """
    work = np.concatenate([matrices, sides], axis=2).astype(object)
    count, size = work.shape[0], work.shape[1]
    sign = np.ones(count, dtype=object)
    previous = np.ones(count, dtype=object)
    regular = np.ones(count, dtype=object)
    for step in range(size):
        _pivot(work, sign, step)
        pivot = work[:, step, step].copy()
        multipliers = work[:, :, step].copy()
        row = work[:, step, :].copy()
        work = pivot[:, None, None] * work - multipliers[:, :, None] * row[:, None, :]
        work = work // np.where(previous == 0, 1, previous)[:, None, None]
        work[:, step, :] = row
        previous = pivot
        regular[pivot == 0] = 0
    sign = sign * regular
    return sign * previous, sign[:, None, None] * work[:, :, size:]


def _pivot(work: NDArray[Any], sign: NDArray[Any], step: int) -> None:
    """Bring a non-zero entry to the diagonal; a singular system keeps a zero there."""
    for system in np.flatnonzero(work[:, step, step] == 0):
        below = np.flatnonzero(work[system, step:, step] != 0)
        if below.size:
            other = step + int(below[0])
            work[system, [step, other]] = work[system, [other, step]]
            sign[system] = -sign[system]
