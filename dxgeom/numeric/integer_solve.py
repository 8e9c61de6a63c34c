"""Many small integer linear systems, solved exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray


def solve_exactly(matrices: NDArray[Any], sides: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Determinants and Cramer numerators of F integer systems ``A x = b``.

    Args: ``matrices`` (F, m, m) and ``sides`` (F, m, r), integers of any size.
    Returns: signed determinants (F,) and numerators (F, m, r), Python integers, with ``x = numerators / determinant``;
    numerators are 0 where the determinant is.
    Guarantee: *exact*.
    """
    count, size, columns = sides.shape
    determinants = np.zeros(count, dtype=object)
    numerators = np.zeros((count, size * columns), dtype=object)
    systems = np.concatenate([matrices.astype(object), sides.astype(object)], axis=2).tolist()
    for place, (matrix, system) in enumerate(zip(matrices.tolist(), systems, strict=True)):
        determinant = fmpz_mat(matrix).det()
        if determinant == 0:
            continue
        reduced, common, _ = fmpz_mat(system).rref()
        # The reduced system is common·[1 | x]; by Cramer's rule determinant·x is whole.
        solution = (entry * determinant // common for row in reduced.tolist() for entry in row[size:])
        determinants[place] = int(determinant)
        numerators[place] = [int(entry) for entry in solution]
    return determinants, numerators.reshape(sides.shape)
