"""Sparse linear programmes, by HiGHS.

Kernel: SciPy's HiGHS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused

_TOLERANCE = 1e-10


@final
@dataclass(frozen=True)
class ConstraintRows:
    """The matrix with ``values[k]`` at (``rows[k]``, ``columns[k]``); entries at one place add up."""

    count: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]


def minimise_linear(
    costs: NDArray[np.float64], below_zero: ConstraintRows, equal: ConstraintRows, sides: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Minimise costs·x under A x ≤ 0, B x = sides, x ≥ 0.

    Args: ``costs`` (n,); ``below_zero`` A; ``equal`` B; ``sides``: one for each row of B.
    Guarantee: none beyond float64 and a tolerance of 1e-10 on each constraint; whoever rests a promise on the solution
    has to check it.
    Raises: CertificateRefused when no optimum was found.
    """
    from scipy.optimize import linprog  # not before a programme is solved: loading a plan solves none

    result = linprog(
        costs,
        A_ub=_matrix(below_zero, len(costs)) if below_zero.count else None,
        b_ub=np.zeros(below_zero.count) if below_zero.count else None,
        A_eq=_matrix(equal, len(costs)),
        b_eq=sides,
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if result.x is None or result.status != 0:
        raise CertificateRefused(f"the linear programme has no optimum that HiGHS could find: {result.message}")
    return np.asarray(result.x, dtype=np.float64)


def _matrix(rows: ConstraintRows, columns: int) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix((rows.values, (rows.rows, rows.columns)), shape=(rows.count, columns))
