"""Every generating pair of a workload, one after the other: the slow twin of listed and factored changes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def every_change(metric, matrix):
    """|Δ| of all generating pairs that change anything, with their bounds."""
    sizes, bounds = [np.empty((0, len(matrix)), dtype=np.int64)], [np.empty(0)]
    for pairs in metric.generating_pairs():
        change = np.abs(matrix[:, pairs.first] - matrix[:, pairs.second]).T
        moved = change.any(axis=1)
        sizes.append(change[moved])
        bounds.append(pairs.bound[moved])
    return np.concatenate(sizes), np.concatenate(bounds)


def exact_largest_load(sizes, bounds, rates):
    """max_e Σ_k |Δ_e,k|·rate_k/b_e in rationals."""
    rates = [Fraction(rate) for rate in rates]
    loads = (
        sum((int(size) * rate for size, rate in zip(row, rates, strict=True)), Fraction(0)) / Fraction(float(bound))
        for row, bound in zip(sizes, bounds, strict=True)
    )
    return max(loads, default=Fraction(0))
