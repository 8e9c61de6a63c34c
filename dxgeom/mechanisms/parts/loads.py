"""The proof that scales honour the constants: every budget summed in integers, each summand rounded up; and noise in
every part that a record can move."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.promises import Promise
from dxgeom.mechanisms.parts.tables import SetFamily

_BITS: Final = 200
_LARGEST: Final = 2.0**200
"""Larger noise is of no use, and float64 has no room for the weights of its averages."""
_MARGINS: Final = (0.0, 1e-14, 1e-12, 1e-10, 1e-7)
"""By how much more than float64 says noise is enlarged, each tried when the one before was not enough."""


def hides_everything(family: SetFamily, promise: Promise, scales: NDArray[np.float64], normal: bool) -> bool:
    """Whether noise of these ``scales`` (sets,) or (2·sets,), 0 for none, honours the constants: there is noise in
    every residual that a record can move at a finite distance, and it is :func:`within_budgets`; *exactly*.

    A residual that no table with noise measures would be released as it is, however little the others spend.
    """
    proper = scales.shape == (family.count * (1 if normal else 2),) and np.all((scales >= 0) & (scales <= _LARGEST))
    if not proper or np.any(moved(family, promise) & ~_noisy(family, scales > 0, normal)):
        return False
    return within_budgets(family, promise, scales, normal)


def moved(family: SetFamily, promise: Promise) -> NDArray[np.bool_]:
    """(sets,): whether a record can move the residual of the set, and the table of it, at a finite distance."""
    if promise.presence is not None:
        return np.ones(family.count, dtype=bool)
    finite = np.array([constant is not None for constant in promise.least], dtype=bool)
    return np.concatenate([finite[level].any(axis=1) for level in family.levels])


def _noisy(family: SetFamily, used: NDArray[np.bool_], normal: bool) -> NDArray[np.bool_]:
    """(sets,): whether the residual gets noise: its own, or that of a table, or of differences in which it is seen."""
    if normal:
        return used
    inner, outer, _ = family.inclusions
    told = used[outer] | (used[outer + family.count] & family.seen_in_differences)
    return np.asarray(np.bincount(inner[told], minlength=family.count) > 0)


def within_budgets(family: SetFamily, promise: Promise, scales: NDArray[np.float64], normal: bool) -> bool:
    """Whether noise of these ``scales`` (sets,) or (2·sets,), 0 for none, honours the constants; *exactly*.

    Definition: ``normal``, of standard deviation σ_S in residuals: Σ_{S∋k} 2·Π_{a∈S∖k}(1−1/n_a)/σ_S² ≤ ε_k² and
    Σ_S Π_{a∈S}(1−1/n_a)/σ_S² ≤ ε₀². Else of scale b_A in tables, or in their differences:
    Σ_{A∋k} 2/b_A ≤ ε_k and Σ_A 1/b_A ≤ ε₀. All of it in the units of counts. Summands are rounded up to 2⁻²⁰⁰, so what
    is near the budget by less is refused.
    """
    sizes = family.sizes.tolist()
    used = [0] * len(sizes)
    absent = 0
    for place, scale in enumerate(scales.tolist()):
        if scale <= 0:
            continue
        top, bottom = scale.as_integer_ratio()
        above, below = (bottom**2, top**2) if normal else (bottom, top)
        inside = family.members_of(place % family.count)
        over = math.prod(sizes[a] for a in inside) if normal else 1
        free = math.prod(sizes[a] - 1 for a in inside) if normal else 1
        absent += -(-(above * free << _BITS) // (below * over))
        for a in inside:
            one = sizes[a] - 1, sizes[a]
            part = (above * free * one[1], below * over * one[0]) if normal else (above, below)
            used[a] += -(-(2 * part[0] << _BITS) // part[1])
    limits = [*zip(used, promise.least, strict=True), (absent, promise.presence)]
    return all(limit is None or total <= _limit(limit, normal) for total, limit in limits)


def _limit(constant: Fraction, normal: bool) -> int:
    square: Fraction = constant * constant if normal else constant
    return int(square * 2**_BITS)


def enlarged(family: SetFamily, promise: Promise, scales: NDArray[np.float64], normal: bool) -> NDArray[np.float64]:
    """The scales, as much larger as the proof needs.

    Raises: CertificateRefused where 1e-7 is not enough, or something protected would get no noise.
    """
    for margin in _MARGINS:
        wider = np.asarray(scales * (1 + margin))
        if hides_everything(family, promise, wider, normal):
            return wider
    raise CertificateRefused("these scales are too badly conditioned to prove that they honour the metric")
