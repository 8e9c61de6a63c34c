"""All prefixes and all ranges of a line, where a record comes or goes at distance 1: bounds in closed form.

For any U of norm at most 1 and weights p of records, Σ_i √p_i·(Uᵀ·W)_ii is at most the sum of the singular values of
W·diag(p)^{1/2}. Squared, and with the best p, that is Σ_i (Uᵀ·W)_ii². U is the polar factor of W, whose singular
vectors are sines and cosines. See ``docs/decisions/070-bounds-at-any-size.md``.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.bounds.root_trace import UNIT

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]

_TERMS: Final = 1 << 22
"""Sines that are looked up; of longer lines neighbouring records are taken together, which lowers the bound a bit."""
_MOST_VALUES: Final = 1 << 20
_SINE: Final = 2.0**-47
"""NumPy's sines are nearer than 2⁻⁴⁸ to the true ones; and what is made of two of them is nearer than this."""
_DOWNWARD: Final = 1 - 2.0**-30


def prefixes_bound(size: int) -> float:
    """What the total squared error of all prefixes of so many values, the whole line among them, is not below.

    Definition: Σ_i H_ii² with H = (PᵀP)^{1/2}, P the lower triangle of ones: H_ii = Σ_k σ_k·w_k(i)²,
    σ_k = 1/(2·sin φ_k), w_k(i)² = (4/(2n+1))·cos²((2i − 1)·φ_k), φ_k = (2k − 1)π/(4n + 2).
    Guarantee: *rounded down*, as far as NumPy's sines are within 2⁻⁴⁸. Of normal noise; pure noise that
    stretches has twice that. 0 beyond 2²⁰ values.
    """
    if not 0 < size <= _MOST_VALUES:
        return 0.0
    # Σ_{i ≤ b} cos((2i − 1)·2φ_k) = sin(4b·φ_k)/(2·sin 2φ_k).
    odd, whole = 2 * np.arange(1, size + 1) - 1, 2 * size + 1
    inverse = 0.5 / _sine(odd, whole)
    ends, sines = _ends(size), np.sin(np.arange(whole) * (2 * np.pi / whole))
    waves = [sines[end * odd % whole] * inverse for end in ends.tolist()]
    return _squares(ends, 0.5 / _sine(odd, 2 * whole), waves, inverse, 2 / whole)


def ranges_bound(size: int) -> float:
    """The same of all ranges of so many values: WᵀW is n + 1 times the inverse of the second difference, so
    σ_k = √(n + 1)/(2·sin(θ_k/2)) and w_k(i)² = (2/(n + 1))·sin²(i·θ_k), θ_k = kπ/(n + 1)."""
    if not 0 < size <= _MOST_VALUES:
        return 0.0
    # Σ_{i ≤ b} cos(2i·θ_k) = (sin((2b + 1)·θ_k)/sin θ_k − 1)/2.
    number, whole = np.arange(1, size + 1), size + 1
    inverse = 0.5 / _sine(number, whole)
    ends, sines = _ends(size), np.sin(np.arange(2 * whole) * (np.pi / whole))
    waves = [0.5 - sines[(2 * end + 1) * number % (2 * whole)] * inverse for end in ends.tolist()]
    return _squares(ends, np.sqrt(size + 1.0) * 0.5 / _sine(number, 2 * whole), waves, inverse + 1, 1 / whole)


def _sine(numbers: Wholes, whole: int) -> Floats:
    """sin(π·k/whole) for 0 < k < whole, relatively as near as small ones are."""
    return np.asarray(np.sin(np.minimum(numbers, whole - numbers) * (np.pi / whole)))


def _ends(size: int) -> Wholes:
    """Where groups of neighbours begin and end, 0 and ``size`` among them."""
    groups = min(size, max(16, _TERMS // size))
    return np.unique(np.rint(np.linspace(0, size, groups + 1)).astype(np.int64))


def _squares(ends: Wholes, lengths: Floats, waves: list[Floats], largest: Floats, share: float) -> float:
    """Σ of the groups' (Σ H_ii)²/size, which Σ H_ii² is not below; Σ_{i ≤ b} H_ii = share·Σ_k σ_k·(b + wave_k)."""
    total = np.array([lengths @ (end + wave) for end, wave in zip(ends.tolist(), waves, strict=True)])
    off = (_SINE + len(lengths) * UNIT) * float(lengths @ (ends[-1] + largest))
    sums = np.maximum(np.diff(total) - 4 * off, 0.0) * share
    return float(np.sum(sums * sums / np.diff(ends))) * _DOWNWARD
