"""Sums of many int64 numbers that may pass what int64 holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST = 2**63 - 1
"""The most records a histogram can hold."""
_LIMB = 32


def exact_sum(numbers: NDArray[Any]) -> int:
    """The exact sum of fewer than 2³¹ non-negative integers of any integer dtype."""
    wide = numbers.astype(np.uint64)
    high = int(np.sum(wide >> np.uint64(_LIMB), dtype=np.uint64))
    low = int(np.sum(wide & np.uint64(2**_LIMB - 1), dtype=np.uint64))
    return (high << _LIMB) + low
