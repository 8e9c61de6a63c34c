"""E|X| of signed sums of exponential numbers, exactly and without cancellation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mean_sizes(rising: NDArray[np.float64], falling: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,): E|Σ_i rising_i·E_i − Σ_j falling_j·F_j| for independent standard exponentials; (n, p) and (n, q), not
    negative; up to the rounding of float64, relatively.

    Definition: of a·E and b·F one outlasts the other, by a·E with chance a/(a + b) and by b·F otherwise, since what is
    left of an exponential is one. So with one term less f(A, B) = (a·f(A, B∖b) + b·f(A∖a, B))/(a + b), and where one
    side is empty f is the sum of the other. Nothing is subtracted.
    """
    rises, falls = np.cumsum(rising, axis=1), np.cumsum(falling, axis=1)
    nothing = np.zeros((len(rising), 1))
    found = np.hstack([nothing, falls])  # f of no rising terms, and the first j that fall
    for place in range(rising.shape[1]):
        a, before = rising[:, place], found
        found = np.empty_like(before)
        found[:, 0] = rises[:, place]
        for other in range(falling.shape[1]):
            b = falling[:, other]
            both = a + b
            share = np.divide(a, both, out=np.ones_like(both), where=both > 0)
            found[:, other + 1] = share * found[:, other] + (1 - share) * before[:, other + 1]
    return found[:, -1]


def mean_sizes_of_laplace(scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,): E|Σ_j Y_j| for independent Laplace numbers of these ``scales`` (n, m): each is the difference of two
    exponentials."""
    return mean_sizes(scales, scales)
