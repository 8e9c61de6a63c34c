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
"""Modulo this, what integers have in their null space is sought."""
_STEPS: Final = 400
_NEAR: Final = 1e-6
"""Answers that miss their equations by less than this, in the deviations that they are weighed by, are left so."""
_RANK: Final = 1e-7
_OFF: Final = 1e-3
"""Float64 may miss the right side of an equation by this much, in the same deviations; what it may miss by more is no
equation here."""
_SMALL: Final = 1 << 24
"""Numbers of the exact equations are at most this; others are left out."""
_TRIES: Final = 8


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
    rows = np.zeros((0, len(place))) if found is None else found[0]
    right = np.zeros(0) if found is None else found[1]
    for k, total in known.items():
        rows = np.vstack([rows, np.eye(1, len(place), k)])
        right = np.append(right, float(total))
    # What is left of an equation is exact, and so is whether anything is: only its right side is rounded.
    off = 1e-15 * (np.abs(rows) @ np.abs(place) + np.abs(right))
    right = right - rows[:, ~free] @ place[~free]
    left = rows[:, free].any(axis=1)
    basis, target = _orthonormal(rows[np.ix_(left, free)] * deviations[free], right[left], off[left])
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
    """Rows and right sides of equations that answers satisfy whatever the records are; None where none are sought.

    Each is l with l·W = 0, W with a row of ones below, whose answer is the public number of records. Those of the null
    space modulo a prime are tried as integers, and kept where l·W is 0 *exactly*; rows are rounded once, to float64.
    """
    count = len(lattice.steps)
    if count > _MOST_ANSWERS:
        return None
    try:
        weights = lattice.numerators
    except TooLarge:
        return None
    ones = [np.ones((1, weights.shape[1]), dtype=np.int64)] if records is not None else []
    below = sparse.csr_matrix(np.vstack([weights, *ones]))
    largest = max(int(np.abs(below.data).max(initial=0)), 1)
    if float(largest) * max(largest, _SMALL) * max(weights.shape) >= FITS:
        return None
    gram = (below @ below.T).toarray()
    basis, nullity = nmod_mat(len(gram), len(gram), (gram % _PRIME).ravel().tolist(), _PRIME).nullspace()
    if not nullity:
        return np.zeros((0, count)), np.zeros(0)
    found = np.array(basis.tolist(), dtype=object).astype(np.int64)[:, :nullity].T
    found = np.where(found > _PRIME // 2, found - _PRIME, found)
    found = _in_integers(found)
    exact = found[[not (one @ below).any() for one in found]]
    rows = exact[:, :count] / lattice.float_steps
    rest = exact[:, count:].sum(axis=1)
    return rows, np.array([-float(int(one) * (records or 0)) for one in rest])


def _in_integers(vectors: NDArray[np.int64]) -> NDArray[np.int64]:
    """Vectors modulo the prime as small integers of which they are multiples; others are left out."""
    kept = []
    for one in vectors:
        found: NDArray[np.int64] | None = one
        if np.abs(one).max() > _SMALL:
            found = _cleared([int(entry) for entry in one])
        kept += [] if found is None else [found]
    return np.array(kept, dtype=np.int64).reshape(len(kept), vectors.shape[1])


def _cleared(entries: list[int]) -> NDArray[np.int64] | None:
    """Multiplied by denominators, by which the largest entry becomes small; None where that does not end soon."""
    for _ in range(_TRIES):
        largest = max(entries, key=abs)
        if abs(largest) <= _SMALL:
            return np.array(entries, dtype=np.int64)
        # Euclid's remainders of the prime and the entry: the first small one is the entry times some small number.
        (before, other), (rest, times) = (_PRIME, 0), (largest % _PRIME, 1)
        while rest > _SMALL:
            quotient = before // rest
            (before, other), (rest, times) = (rest, times), (before - quotient * rest, other - quotient * times)
        if not 0 < abs(times) <= _SMALL:
            return None
        entries = [(entry * times + _PRIME // 2) % _PRIME - _PRIME // 2 for entry in entries]
    return None


def _orthonormal(rows: Floats, right: Floats, off: Floats) -> tuple[Floats, Floats]:
    """The same equations with orthonormal rows; without directions that float64 cannot tell. ``off``: how far it may be
    off on the right.

    Raises: UnsupportedCombination where they contradict each other.
    """
    if not len(rows):
        return rows, right
    lengths = np.linalg.norm(rows, axis=1)
    rows, right, off = rows / lengths[:, None], right / lengths, off / lengths
    left, sizes, basis = linalg.svd(rows, full_matrices=False)
    turned, unsure = left.T @ right, np.abs(left.T) @ off
    known = sizes > _RANK * sizes.max(initial=0.0)
    if np.any(np.abs(turned[~known]) > 1e-6 * (1 + np.abs(right).max()) + unsure[~known]):
        raise UnsupportedCombination("no answers satisfy all of this at once: correct the totals")
    kept = known & (unsure <= _OFF * sizes)
    return basis[kept], turned[kept] / sizes[kept]
