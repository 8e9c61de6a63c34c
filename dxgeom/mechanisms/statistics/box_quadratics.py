"""Maxima of quadratics over the unit box, exactly, by looking at every face that can hold one.

A maximum over the box is attained at a point whose smallest face has the fewest free coordinates. There the gradient
along the face vanishes, and the Hessian along it is negative definite: were it singular, one could walk along its
kernel to a smaller face without losing height. So it suffices to solve one linear system per choice of {0, 1, free}
for every coordinate, free only where the quadratic bends downwards.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.statistics.polynomials import BoxPolynomials
from dxgeom.numeric.exact_numbers import solve_exactly

_Face: TypeAlias = tuple[list[int], list[int], list[int]]
"""The fixed coordinates, the free ones, and where the fixed ones are."""

MOST_VARIABLES = 10
"""Beyond, the faces of the box are too many (3¹⁰ is 59,049)."""


def quadratic_maxima(quadratics: BoxPolynomials) -> list[Fraction]:
    """The largest value of each quadratic on [0, 1]ᵖ.

    Guarantee: *exact*. Raises: TooLarge beyond ten variables; UnsupportedCombination beyond degree two.
    """
    hessians, slopes = _derivatives(quadratics, quadratics.coefficients)
    count = len(slopes)
    above = np.zeros(count, dtype=object)  # the corner 0 has value 0
    below = np.ones(count, dtype=object)
    for rows, (_, free, _), start, gradient in _candidates(hessians, slopes):
        determinant, places = _stationary(hessians[rows][:, free][:, :, free], gradient)
        inside = (determinant != 0) & np.all((places >= 0) & (places <= determinant[:, None]), axis=1)
        # On the face the height over the corner is half the gradient times the way to the stationary point.
        value, scale = 2 * determinant * start + np.sum(gradient * places, axis=1), 2 * determinant
        better = inside & (value * below[rows] > above[rows] * scale)
        above[rows[better]], below[rows[better]] = value[better], scale[better]
    return [Fraction(int(value), int(scale)) for value, scale in zip(above, below, strict=True)]


def float_maximisers(quadratics: BoxPolynomials, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (F, p) of [0, 1]ᵖ where the weighted sums of quadratics are largest, as far as float64 tells.

    Args: ``weights`` (F, R). A guess for searches; what a guarantee needs comes from :func:`quadratic_maxima`.
    """
    hessians, slopes = _derivatives(quadratics, weights @ quadratics.float_coefficients)
    best = np.zeros(len(weights))
    points = np.zeros((len(weights), quadratics.variables))
    for rows, (fixed, free, corner), start, gradient in _candidates(hessians, slopes):
        inner = hessians[rows][:, free][:, :, free]
        regular = np.abs(np.linalg.det(inner)) > 1e-12 * np.prod(np.abs(np.diagonal(inner, axis1=1, axis2=2)), axis=1)
        inner[~regular] = -np.eye(len(free))
        places = np.linalg.solve(inner, -gradient[:, :, None])[:, :, 0]
        height = start + np.sum(gradient * places, axis=1) / 2
        better = regular & np.all((places >= 0) & (places <= 1), axis=1) & (height > best[rows])
        chosen = rows[better]
        best[chosen] = height[better]
        points[np.ix_(chosen, fixed)] = corner
        points[np.ix_(chosen, free)] = places[better]
    return points


def _candidates(
    hessians: NDArray[Any], slopes: NDArray[Any]
) -> Iterator[tuple[NDArray[np.int64], _Face, NDArray[Any], NDArray[Any]]]:
    """For every face the rows whose quadratic bends downwards along all of its free coordinates, and, at its corner
    where those are 0, their values and their gradients along them."""
    variables = slopes.shape[1]
    if variables > MOST_VARIABLES:
        raise TooLarge(f"quadratics on a box are maximised in at most {MOST_VARIABLES} variables, found {variables}")
    for choice in itertools.product((0, 1, None), repeat=variables):
        fixed = [j for j, place in enumerate(choice) if place is not None]
        free = [j for j, place in enumerate(choice) if place is None]
        corner = [place for place in choice if place is not None]
        place = np.array(corner, dtype=np.int64)
        rows = np.flatnonzero(np.all(hessians[:, free, free] < 0, axis=1))
        if rows.size:
            along = hessians[rows][:, :, fixed] @ place
            doubled = 2 * (slopes[rows][:, fixed] @ place) + along[:, fixed] @ place
            values = doubled // 2 if hessians.dtype == object else doubled / 2
            yield rows, (fixed, free, corner), values, slopes[rows][:, free] + along[:, free]


def _derivatives(quadratics: BoxPolynomials, coefficients: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Hessians (F, p, p) and gradients at 0 (F, p)."""
    if quadratics.degree > 2:
        raise UnsupportedCombination(f"quadratics have degree at most 2, found {quadratics.degree}")
    count, variables = len(coefficients), quadratics.variables
    hessians = np.zeros((count, variables, variables), dtype=coefficients.dtype)
    slopes = np.zeros((count, variables), dtype=coefficients.dtype)
    for column, powers in zip(coefficients.T, quadratics.exponents, strict=True):
        used = np.flatnonzero(powers)
        if powers.sum() == 1:
            slopes[:, used[0]] += column
        else:
            hessians[:, used[0], used[-1]] += column
            hessians[:, used[-1], used[0]] += column
    return hessians, slopes


def _stationary(inner: NDArray[Any], gradient: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positive determinants (B,) and numerators (B, f) of the point where the gradient along the face vanishes."""
    if gradient.shape[1] == 0:
        return np.ones(len(gradient), dtype=object), gradient
    determinant, numerators = solve_exactly(inner, -gradient[:, :, None])
    sign = np.where(determinant < 0, -1, 1)
    return determinant * sign, numerators[:, :, 0] * sign[:, None]
