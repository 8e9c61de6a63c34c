"""How likely each candidate is to be picked, from the definitions, in 40 digits."""

from __future__ import annotations

import mpmath

DIGITS = 40


def exponential_chances(scores, rate):
    """P(r) ∝ e^(rate·score_r)."""
    with mpmath.workdps(DIGITS):
        weights = [mpmath.exp(_real(rate * (score - max(scores)))) for score in scores]
        return [weight / sum(weights) for weight in weights]


def permute_and_flip_chances(scores, rate):
    """Candidates come in random order, each is taken if its coin of chance p_r = e^(rate·(score_r − max)) falls so.

    With arrival times uniform on [0, 1], P(r) = p_r·∫ Π_{s ≠ r} (1 − u·p_s) du: expand the polynomial, integrate.
    """
    with mpmath.workdps(DIGITS):
        coins = [mpmath.exp(_real(rate * (score - max(scores)))) for score in scores]
        chances = []
        for r, coin in enumerate(coins):
            polynomial = [mpmath.mpf(1)]
            for s, other in enumerate(coins):
                if s != r:
                    shifted = [mpmath.mpf(0), *(-other * term for term in polynomial)]
                    polynomial = [a + b for a, b in zip([*polynomial, mpmath.mpf(0)], shifted, strict=True)]
            chances.append(coin * sum(term / (power + 1) for power, term in enumerate(polynomial)))
        return chances


CHANCES = {"exponential": exponential_chances, "permute-and-flip": permute_and_flip_chances}


def _real(number):
    return mpmath.mpf(number.numerator) / number.denominator
