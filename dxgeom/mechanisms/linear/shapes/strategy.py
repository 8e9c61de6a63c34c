"""Laplace noise on more sums than there are dimensions, from which the answers follow by least squares."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.reciprocal_program import minimise_reciprocal_squares
from dxgeom.mechanisms.linear.shapes.round_spaces import RoundSpace
from dxgeom.mechanisms.linear.shapes.row_weights import STEPS, weighted_rows
from dxgeom.mechanisms.linear.shapes.strategy_program import WORK, improved_strategy, loads_of, spread_of
from dxgeom.mechanisms.linear.shapes.strategy_rows import determined_rows
from dxgeom.mechanisms.linear.shapes.working_points import refined
from dxgeom.noise.round_laws import LaplaceNoise

MOST_ROWS = 1_200
_POLISH = WORK / 5
_FEW_STEPS = 8


def strategy_mechanism(space: RoundSpace, sums: NDArray[np.float64]) -> AdditiveMechanism:
    """The matrix mechanism: noise A⁺Z with Z_k ~ Lap(1) on p ≥ m sums A of which the answers are combinations.

    Definition: ‖A Δ_e‖₁ ≤ b_e on all generating pairs, ‖A⁺‖ small; A⁺ the left inverse of least squares. Rows are the
    queries, counts of the classes that these tell apart, of blocks of neighbouring classes and in lower marginals, and
    the rotated Laplace noise's own; several sets of them are weighted by gradient, and the best improved as a whole.

    Guarantee: what is released is y + A⁺Z for the exact answers y, rounded. Let u with A⁺u = Δ: then y + Δ + A⁺Z is the
    same function of Z + u as y + A⁺Z is of Z, so the odds change by at most e^‖u‖₁. For each generating difference that
    u is computed from the very matrix that noise is drawn through, with all rounding errors counted against it; that
    matrix need not be the inverse of anything. The error is exact, the strategy a local optimum only.
    Args: ``sums`` A in round coordinates, from :func:`best_sums`.
    Raises: CertificateRefused when float64 cannot show it.
    Source: Li, Miklau, Hay, McGregor and Rastogi, The matrix mechanism, 2015.
    """
    return space.mechanism("strategy", LaplaceNoise(np.ones(len(sums))), np.asarray(np.linalg.pinv(sums)))


def best_sums(space: RoundSpace, square: NDArray[np.float64]) -> NDArray[np.float64]:
    """The matrix A (p, m) in round coordinates with ‖A x_e‖₁ ≤ 1 for the points x_e, up to rounding.

    Args: ``square`` the rotated Laplace noise's strategy, from ``best_strategy``.
    Raises: CertificateRefused where none is found.
    """
    best = best_of(space.points, row_sets(space, square))
    if best is None:
        raise CertificateRefused("no sums that all answers follow from were found within float64")
    if spread_of(best) < spread_of(square):
        best = improved_strategy(space.points, best, _POLISH)
    return refined(space, best, _POLISH)


def glimpsed_sums(space: RoundSpace, square: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same after a short search, which fits some differences only: of the order of what a longer one finds."""
    best = best_of(space.points, row_sets(space, square), _FEW_STEPS)
    return square if best is None else best


def row_sets(space: RoundSpace, square: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Sets of rows (p, m), each of rank m, as a search may start from."""
    own = [_queries_themselves(space), determined_rows(space, "cells"), determined_rows(space, "blocks")]
    queries, cells, blocks = (_balanced(space.points, rows) for rows in own)
    sets = [queries, cells, blocks, np.vstack([queries, square]), np.vstack([cells, square])]
    return [rows for rows in sets if _reaches(rows, space.dimension)]


def _queries_themselves(space: RoundSpace) -> NDArray[np.float64]:
    """(k, m): the queries with the scales of optimal Laplace noise, as they are where float64 does not tell these."""
    costs = (space.scales * space.sensitivity.queries.float_steps[space.noisy]) ** 2
    with suppress(CertificateRefused):
        rates = minimise_reciprocal_squares(np.abs(space.points @ space.axes.T), costs / costs.max()).rates
        return np.asarray(rates[:, None] * space.axes)
    return space.axes


def best_of(
    points: NDArray[np.float64], sets: list[NDArray[np.float64]], steps: int = STEPS
) -> NDArray[np.float64] | None:
    """The set that is best when weighted, in so many ``steps``; None of none."""
    return min((weighted_rows(points, rows, steps) for rows in sets), key=spread_of, default=None)


def _balanced(points: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same rows without zeros, together as heavy as the points allow."""
    rows = rows[np.abs(rows).max(axis=1) > 0]
    return rows if len(rows) == 0 else np.asarray(rows / loads_of(points, rows).max())


def _reaches(rows: NDArray[np.float64], dimension: int) -> bool:
    return dimension <= len(rows) <= MOST_ROWS and bool(np.isfinite(spread_of(rows)))
