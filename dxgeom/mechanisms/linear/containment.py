"""Whether noise hides every difference: the one check that all shapes of noise pass before they are used."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.noise.laws.composed import LinearImageNoise
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.numeric.rounding import quotient_round_up

_ENTRIES_PER_BLOCK = 4_000_000
_MARGINS = (1e-13, 1e-10, 1e-7)
"""By how much more than the load noise is enlarged, each tried when the one before was not enough."""


def hiding(
    inner: NoiseLaw, image: NDArray[np.float64], differences: NDArray[np.int64], bounds: NDArray[np.float64]
) -> LinearImageNoise:
    """The noise f·image·V, V ~ ``inner``, with the smallest factor f that hides every difference, up to 1e-7.

    Args: ``image`` (m, n) of rank m; ``differences`` (E, m), magnitudes below 2⁵³; ``bounds`` (E,), positive.
    Guarantee: the law returned has ‖Δ_e‖ ≤ b_e for all e, established for the very numbers it holds.
    Raises: CertificateRefused when float64 cannot show it.
    """
    for margin in _MARGINS:
        load = largest_load(LinearImageNoise(inner, image), differences, bounds)
        if not 0 < load < math.inf:
            break
        image = image * (load * (1 + margin))
        law = LinearImageNoise(inner, image)
        if largest_load(law, differences, bounds) <= 1:
            return law
    raise CertificateRefused("the shape of this noise is too badly scaled to prove that it hides every difference")


def largest_load(law: NoiseLaw, differences: NDArray[np.int64], bounds: NDArray[np.float64]) -> float:
    """max_e ‖Δ_e‖/b_e in the norm up to which ``law`` hides shifts, *rounded up*, as the law itself bounds it."""
    rows = max(1, _ENTRIES_PER_BLOCK // differences.shape[1])
    largest = 0.0
    for start in range(0, len(bounds), rows):
        here = differences[start : start + rows].astype(np.float64)
        gauges = law.loss_upper_bounds(here, np.zeros_like(here))
        # What overflows is not a number, which this keeps and no comparison accepts.
        largest = float(np.maximum(largest, quotient_round_up(gauges, bounds[start : start + rows]).max()))
    return largest
