"""Rates w as large as A w ≤ 1 allows when the smallest counts: all rise together until a row stops some of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.reciprocal_program import Heaviest

_TIGHT = 1e-10
_LOOKS = 200
"""Looks for the row that stops a rise; each names a steeper one, and a handful is enough."""
_NAMED = 64


def max_min_fair_rates(heaviest: Heaviest, shape: NDArray[np.float64]) -> NDArray[np.float64]:
    """w ≥ 0 that is largest in its smallest w_k/shape_k, then in the next smallest among those still free, and so on.

    Args: ``heaviest``: as in :func:`dxgeom.mechanisms.linear.reciprocal_program.minimise_under_heaviest`;
    ``shape`` (K,): positive.
    Guarantee: rows are kept up to a relative 1e-10 (the caller rescales exactly), every w_k/shape_k is optimal up to
    that.
    Raises: CertificateRefused when the rows cannot be told apart in float64.
    """
    rates = np.zeros(len(shape))
    free = np.ones(len(shape), dtype=bool)
    height = 0.0
    while np.any(free):
        height, rows = _rise(heaviest, rates, np.where(free, shape, 0.0), height)
        stopped = free & np.any(rows > 0, axis=0)
        rates[stopped] = height * shape[stopped]
        free &= ~stopped
    return rates


def _rise(
    heaviest: Heaviest, fixed: NDArray[np.float64], rising: NDArray[np.float64], least: float
) -> tuple[float, NDArray[np.float64]]:
    """The largest h with A(fixed + h·rising) ≤ 1, found from above, and the rows (1, K) that stop it.

    Each look takes the height at which the row that stops earliest, of those that it finds too heavy, would be just
    full.
    """
    height, stopping = 1 / float(rising.max()), (rising == rising.max()).astype(np.float64)
    for _ in range(_LOOKS):
        loads, rows = heaviest(fixed + height * rising, _NAMED)
        slope = rows @ rising
        over = (loads > 1 + _TIGHT) & (slope > 0)
        if not np.any(over):
            return height, stopping[None]
        full = (1 - rows[over] @ fixed) / slope[over]
        stopping = rows[over][np.argmin(full)]
        if full.min() <= least:
            return least, stopping[None]
        height = float(full.min())
    raise CertificateRefused("the rows of the programme for fair rates did not settle")
