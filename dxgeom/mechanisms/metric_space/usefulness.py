"""(α, δ)-usefulness: how far off an answer is, except with probability δ."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import acb, arb, ctx

from dxgeom.errors import UnsupportedCombination

_BITS = 128


def laplace_usefulness(sensitivity: float, epsilon: float, delta: float) -> float:
    """α with P(|noise| > α) = δ for Laplace noise of scale Δ/ε: Δ·ln(1/δ)/ε; *approximate within* float64.

    Raises: UnsupportedCombination unless 0 < δ < 1 and Δ, ε are positive.
    Source: Chatzikokolakis et al. 2013, Example 1 and Fig. 3.
    """
    _check(delta, sensitivity, epsilon)
    return sensitivity / epsilon * -math.log(delta)


def planar_usefulness(epsilon: float, delta: float) -> float:
    """α with P(r > α) = δ for the radius r of planar Laplace noise: (1 + εα)·e^(−εα) = δ; *rounded up*.

    Definition: εα = −1 − W₋₁(−δ/e), W₋₁ the lower branch of Lambert's function. E r = 2/ε, E r² = 6/ε².
    Raises: UnsupportedCombination unless 0 < δ < 1 and ε is positive.
    Source: Andrés, Bordenabe, Chatzikokolakis & Palamidessi 2013, §4; here the radius is Gamma(2, 1/ε).
    """
    _check(delta, epsilon)
    with ctx.workprec(_BITS):
        branch = acb(-arb(delta) / arb(1).exp()).lambertw(-1).real
        bound = (-1 - branch) / arb(epsilon)
        return math.nextafter(float(bound.upper()), math.inf)


def series_root_mean_square(readings: int, epsilon: float) -> tuple[float, float]:
    """The error of each of n readings that move together: by ℓ∞ noise, and by independent Laplace noise.

    Definition: √((n + 1)(n + 2)/3)/ε for the density ∝ e^(−ε·max|z_i|), and √2·n/ε, because n independent readings
    reveal n times what one does.
    Source: Chatzikokolakis et al. 2013, §6.1; corrected: Example 2 adds Laplace noise of scale 1/ε to each reading,
    which is n·ε-private under the maximum metric.
    """
    _check(0.5, readings, epsilon)
    return math.sqrt(Fraction((readings + 1) * (readings + 2), 3)) / epsilon, math.sqrt(2) * readings / epsilon


def _check(delta: float, *positive: float) -> None:
    if not (0 < delta < 1 and all(0 < number < math.inf for number in positive)):
        raise UnsupportedCombination("usefulness needs 0 < δ < 1 and positive, finite parameters")
