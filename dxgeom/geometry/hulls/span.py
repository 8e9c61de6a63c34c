"""The subspace that differences span: some coordinates may follow exactly from others."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.numeric.integer_solve import solve_exactly
from dxgeom.numeric.qhull import far_apart

_DEPENDENT = 1e-9


class SpannedSpace(NamedTuple):
    """``pivots``: indices of coordinates whose differences are independent; ``combinations`` (K, m) rationals with
    Δ_k = Σ_j combinations[k, j]·Δ_pivots[j] for every difference, exactly."""

    pivots: NDArray[np.int64]
    combinations: NDArray[Any]


def span_of(differences: NDArray[np.int64], bounds: NDArray[np.float64], most: int) -> SpannedSpace:
    """The span of integer differences (E, K); pivots are queries that stay far apart when divided by the bounds (E,).

    Raises: TooLarge when it has more than ``most`` dimensions; NotANormBall when queries are so nearly dependent that
    float64 takes them for dependent and exact integers do not.
    """
    points = differences / bounds[:, None]
    pivots = independent_columns(points, most)
    independent = differences[:, pivots]
    rows = far_apart(points[:, pivots] / np.max(np.abs(points[:, pivots]), axis=0))
    determinant, numerators = solve_exactly(independent[rows][None], differences[rows][None])
    if determinant[0] == 0:
        raise NotANormBall("the queries are too nearly dependent to tell their span")
    _check_dependence(differences, independent, int(determinant[0]), numerators[0])
    combinations = [[Fraction(int(entry), int(determinant[0])) for entry in column] for column in numerators[0].T]
    return SpannedSpace(pivots, np.array(combinations, dtype=object).reshape(differences.shape[1], len(pivots)))


def independent_columns(points: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """Columns by pivoted Gram–Schmidt, the longest remaining first; in ascending order.

    Raises: TooLarge when there are more than ``most``.
    """
    largest = np.max(np.abs(points), axis=0, initial=0)
    left = points / np.where(largest > 0, largest, 1)
    threshold = _DEPENDENT * np.sqrt(len(left))
    chosen: list[int] = []
    while True:
        lengths = np.linalg.norm(left, axis=0)
        longest = int(lengths.argmax())
        if lengths[longest] <= threshold:
            return np.array(sorted(chosen), dtype=np.int64)
        if len(chosen) == most:
            raise TooLarge(f"the queries span more than {most} dimensions")
        chosen.append(longest)
        direction = left[:, longest] / lengths[longest]
        left = left - np.outer(direction, direction @ left)
        left[:, chosen] = 0


def _check_dependence(
    differences: NDArray[np.int64], independent: NDArray[np.int64], determinant: int, numerators: NDArray[Any]
) -> None:
    """determinant·Δ = Δ_pivots·numerators for every difference, in integers that cannot overflow."""
    reach = max(abs(determinant), *(abs(int(entry)) for entry in numerators.ravel()))
    largest = int(np.abs(differences).max())
    kind = np.int64 if reach * largest * len(numerators) < 2**62 else object
    combined = independent.astype(kind) @ numerators.astype(kind)
    if np.any(combined != differences.astype(kind) * determinant):
        raise NotANormBall("the queries are so nearly dependent that their span cannot be told in float64")
