"""What counts of successes say about a probability, with confidence.

Kernel: SciPy's incomplete beta function.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv


def lower_chance(successes: ArrayLike, trials: int, error: float) -> NDArray[np.float64]:
    """A bound below each probability, wrong with a chance of at most ``error``.

    Guarantee: *exact* in law (Clopper & Pearson 1934), up to the rounding of float64.
    """
    hits = np.asarray(successes)
    return np.where(hits == 0, 0.0, betaincinv(np.maximum(hits, 1), trials - hits + 1, error))


def upper_chance(successes: ArrayLike, trials: int, error: float) -> NDArray[np.float64]:
    """A bound above each probability, wrong with a chance of at most ``error``; as :func:`lower_chance`."""
    return 1 - lower_chance(trials - np.asarray(successes), trials, error)
