"""Quantiles of a symmetric number X from its characteristic function E[cos(uX)]: proved, with nothing simulated.

Let |X| > w have probability q at most, and h = π/w. For every t ≤ w

    P[|X| ≤ t] ≥ P[X mod 2w lies within ±t] − q,
    P[X mod 2w lies within ±t] = ht/π + (2/π)·Σ_{n ≥ 1} E[cos(nhX)]·sin(nht)/n.

Source: Feller 1971, XIX.5 (Poisson's summation formula); Abate & Whitt 1992.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

BEYOND: Final = 1e-10
"""q, wherever a quantile is looked for; of smaller chances nothing is said here."""
MOST_WAVES: Final = 4096
"""Who needs more is better simulated."""
_STEADY: Final = 7.0
"""Waves of a normal number end where e^(−24.5) is left of them."""
_FLOAT64: Final = 1e-10
"""More than float64 leaves open of a sum of so many sines: each is below 1/n, and off by some units in the last place
of its angle, which is below π·n."""
_HALVINGS: Final = 60
_OUTWARD: Final = 1 + 1e-9


def quantile(waves: NDArray[np.float64], rest: float, furthest: float, missed: float) -> float:
    """A t that |X| exceeds with probability ``missed`` at most: *rounded up*, within 3e-10 and ``rest`` of that chance.

    Args: ``missed``: ``BEYOND`` at least; ``waves`` (N,): E[cos(nhX)]; ``rest``: (2/π)·Σ_{n > N} |E[cos(nhX)]|/n at
    most; ``furthest``: w.
    """
    numbers = np.arange(1, len(waves) + 1)
    weights = waves * (2 / math.pi) / numbers
    left = BEYOND + rest + _FLOAT64
    low, high = 0.0, furthest
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        kept = middle / furthest + float(weights @ np.sin(numbers * (math.pi * middle / furthest)))
        low, high = (low, middle) if 1 - kept + left <= missed else (middle, high)
    return high * _OUTWARD


def waves_beside_normal(deviation: float, furthest: float) -> tuple[int, float]:
    """How many waves are enough for a number that has a normal part of this deviation, and what the rest is at most.

    Definition: from N on they add up to less than (2/π)·e^(−(Nhσ)²/2)/(Nhσ)².
    """
    many = math.ceil(_STEADY * furthest / (math.pi * deviation)) if deviation > 0 else MOST_WAVES + 1
    least = many * math.pi / furthest * deviation
    return many, (2 / math.pi) * math.exp(-(least**2) / 2) / max(least, 1.0) ** 2


def quantile_of_laplace(scales: NDArray[np.float64], missed: float) -> float | None:
    """The quantile of a sum of independent Laplace numbers of these ``scales`` (n,), all positive; None where it would
    take long: where few are large."""
    scales = np.sort(scales)[::-1]
    if len(scales) <= 2:
        return float(quantiles_of_two_laplace(np.resize(np.append(scales, 0.0), (1, 2)), missed)[0])
    furthest = _chernoff_of_laplace(scales)
    many = 64
    while many <= MOST_WAVES:
        turns = (np.arange(1, many + 1) * (math.pi / furthest))[:, None] * scales
        waves = np.exp(-np.log1p(turns**2).sum(axis=1))
        # From N on E[cos(nhX)] falls as (N/n)⁴ at least, but for what the two largest have left of their 1.
        rest = float(waves[-1] * np.prod(1 + turns[-1, :2] ** -2) / (2 * math.pi))
        if rest < BEYOND:
            return quantile(waves, rest, furthest, missed)
        many *= 2
    return None


def _chernoff_of_laplace(scales: NDArray[np.float64]) -> float:
    """P[|X| > w] ≤ 2e^(−θw)/Π(1 − θ²c²) for every θ below 1/max c: a w with ``BEYOND``."""
    rising = np.linspace(0.05, 0.95, 19)[:, None] / scales[0]
    widths = (math.log(2 / BEYOND) - np.log1p(-((rising * scales) ** 2)).sum(axis=1)) / rising[:, 0]
    return float(widths.min()) * _OUTWARD


def quantiles_of_two_laplace(scales: NDArray[np.float64], missed: float) -> NDArray[np.float64]:
    """(n,): t with P[|X + Y| > t] ≤ ``missed`` for independent Laplace X, Y of scales (n, 1 or 2); *rounded up*.

    With a ≥ b: P[|X + Y| > t] = (a²e^{−t/a} − b²e^{−t/b})/(a² − b²) = e^{−t/a}·(1 + t·b/(a(a + b))·φ), where
    φ = (1 − e^{−d})/d and d = t(a − b)/(ab).
    """
    large, small = scales.max(axis=1), scales.min(axis=1) if scales.shape[1] > 1 else np.zeros(len(scales))
    quiet = large == 0
    a, b = np.where(quiet, 1.0, large), np.where(quiet, 0.0, small)

    def beyond(t: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            d = np.where(b > 0, t * (a - b) / (a * b), np.inf)
            share = np.where(d > 0, np.where(np.isinf(d), 0.0, -np.expm1(-d) / d), 1.0)
        return np.asarray(np.exp(-t / a) * (1 + t * b / (a * (a + b)) * share))

    low, high = np.zeros(len(a)), 4 * a * (5 - np.log(missed))
    for _ in range(80):
        middle = (low + high) / 2
        enough = beyond(middle) <= missed
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(quiet, 0.0, high * _OUTWARD)
