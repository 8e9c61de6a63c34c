"""Estimates of more answers to a list of queries than rationals are used for: projections in float64, in turn.

Kernel: sparse products of weights; null spaces and row spaces of small dense matrices.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from flint import nmod_mat
from numpy.typing import NDArray
from scipy import linalg, sparse

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.lattice import LatticeQueries
from dxgeom.numeric.arrays import FITS

Floats = NDArray[np.float64]
_MOST_ANSWERS: Final = 2_500
"""Of more no equations are sought: that takes a matrix of their square, and time of their cube."""
_PRIME: Final = 2**61 - 1
"""Modulo this, the rank of integers is theirs but for a chance of some 10⁻¹⁵."""
_STEPS: Final = 400
_NEAR: Final = 1e-6
"""Answers that miss their equations by less than this, in the deviations that they are weighed by, are left so."""
_RANK: Final = 1e-9


class FloatEstimate(NamedTuple):
    """``values`` (K,): the estimates. ``equations``: how many were found. ``in_words``: how well they hold."""

    values: Floats
    equations: int
    in_words: tuple[str, ...]


def nearest_in_floats(
    lattice: LatticeQueries,
    records: int | None,
    values: Floats,
    variances: Sequence[Fraction],
    known: Mapping[int, Fraction],
    bounded: Collection[int],
) -> FloatEstimate:
    """Answers projected on their signs, then on what the queries imply and what is known, and so on, signs at the end.

    Guarantee: in Σ e²/variance, no truth of which all this is known is further from them than from ``values``, wherever
    the steps end, up to float64. Answers of variance 0 stay.
    Raises: UnsupportedCombination where nothing satisfies what is known.
    """
    deviations = np.sqrt([float(variance) for variance in variances])
    free = deviations > 0
    place = values.copy()
    signed = np.array([k in bounded for k in range(len(place))]) & free
    found = _equations(lattice, records)
    rows, right = (np.zeros((0, len(place))), np.zeros(0)) if found is None else found
    for k, total in known.items():
        rows = np.vstack([rows, np.eye(1, len(place), k)])
        right = np.append(right, float(total))
    right = right - rows[:, ~free] @ place[~free]
    basis, target = _orthonormal(rows[:, free] * deviations[free], right)
    apart, scaled = 0.0, place[free] / deviations[free]
    for _ in range(_STEPS):
        scaled = np.where(signed[free], np.maximum(scaled, 0.0), scaled)
        missing = basis @ scaled - target
        apart = float(np.abs(missing).max(initial=0.0))
        if apart <= _NEAR or not signed.any():
            scaled = scaled if apart <= _NEAR else scaled - basis.T @ missing
            break
        scaled = scaled - basis.T @ missing
    else:
        scaled = np.where(signed[free], np.maximum(scaled, 0.0), scaled)
    place[free] = scaled * deviations[free]
    return FloatEstimate(place, len(right) - len(known), _said(found is None, apart if signed.any() else 0.0))


def _said(unsought: bool, apart: float) -> tuple[str, ...]:
    if unsought:
        return (
            "which equations so many queries, or weights so large, imply was not sought: whole tables agree by "
            "themselves, and counts that are not negative were all that was asked for",
        )
    if apart <= _NEAR:
        return ("equations hold up to the rounding of float64",)
    return (f"equations hold up to {apart:.2g} deviations: signs and equations were met in turn, signs at the end",)


def _equations(lattice: LatticeQueries, records: int | None) -> tuple[Floats, Floats] | None:
    """Orthonormal rows, in answers over their largest weights, and right sides of all equations that answers satisfy
    whatever the records are; None where they are not sought.

    What is found is l with l·W = 0, W with a row of ones below, whose answer is the public number of records.
    """
    if len(lattice.steps) > _MOST_ANSWERS:
        return None
    try:
        weights = lattice.numerators
    except TooLarge:
        return None
    ones = [np.ones((1, weights.shape[1]), dtype=np.int64)] if records is not None else []
    below = sparse.csr_matrix(np.vstack([weights, *ones]))
    largest = np.maximum(np.abs(below).max(axis=1).toarray().ravel(), 1)
    if float(largest.max()) ** 2 * weights.shape[1] >= FITS:
        return None
    gram = (below @ below.T).toarray()
    rank = nmod_mat(len(gram), len(gram), (gram % _PRIME).ravel().tolist(), _PRIME).rank()
    _, vectors = linalg.eigh(gram / np.outer(largest, largest))
    null = vectors[:, : len(gram) - rank].T
    scales = largest[: len(weights)] * lattice.float_steps
    rest = null[:, len(weights) :] @ np.full(len(ones), float(records or 0))
    return null[:, : len(weights)] / scales, -rest


def _orthonormal(rows: Floats, right: Floats) -> tuple[Floats, Floats]:
    """The same equations with orthonormal rows. Raises: UnsupportedCombination where they contradict each other."""
    if not len(rows):
        return rows, right
    left, sizes, basis = linalg.svd(rows, full_matrices=False)
    kept = sizes > _RANK * sizes.max(initial=0.0)
    turned = left.T @ right
    if np.any(np.abs(turned[~kept]) > 1e-6 * (1 + np.abs(right).max())):
        raise UnsupportedCombination("no answers satisfy all of this at once: correct the totals")
    return basis[kept], turned[kept] / sizes[kept]
