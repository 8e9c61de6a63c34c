"""Losses of generalised linear models: what a record's response costs at a score z = aᵀθ."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.numeric.sealed import DefinedByNumbers


class GlmLoss(DefinedByNumbers):
    """ℓ(z, y), convex and twice continuously differentiable in the score z, with a bounded slope.

    Laws: ``|ℓ′| ≤ steepest``, ``0 ≤ ℓ″ ≤ curvature``; ``slope`` and ``bend`` are ℓ′ and ℓ″, in float64 the first within
    ``slope_error``; ``exact_slope`` holds ℓ′ of everything in the balls that it is given. ``spread`` bounds
    |ℓ′(z, y) − ℓ′(z′, y)|, scores free and the response the same. A Poisson loss is none of these: neither its slope
    nor its curvature is bounded.
    """

    steepest: ClassVar[Fraction]
    """A bound on |ℓ′|."""
    spread: ClassVar[Fraction]
    """A bound on how far slopes of one response are apart."""
    curvature: ClassVar[Fraction]
    """A bound on ℓ″."""
    responses: ClassVar[tuple[Fraction, Fraction] | None]
    """The least and the largest response where a response is one of two, None where it is any finite number."""
    slope_error: ClassVar[float]
    """A bound on what float64 is off in a slope, of scores that are exact."""

    @abstractmethod
    def value(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        """ℓ, up to rounding: only where a solver goes depends on it."""

    @abstractmethod
    def slope(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        """ℓ′, each within ``slope_error``."""

    @abstractmethod
    def bend(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        """ℓ″, up to rounding: only where a solver goes depends on it."""

    @abstractmethod
    def exact_slope(self, score: arb, response: float) -> arb:
        """ℓ′ in ball arithmetic."""


@final
@dataclass(frozen=True)
class LogisticLoss(GlmLoss):
    """log(1 + e^z) − y·z for responses 0 and 1: ℓ′ = σ(z) − y, within (−1, 0) or (0, 1); ℓ″ ≤ 1/4."""

    steepest = spread = Fraction(1)
    curvature = Fraction(1, 4)
    responses = (Fraction(0), Fraction(1))
    slope_error = 2.0**-47
    """An exponential of a number below 0 within 16 units in the last place, where libraries promise 4; a sum, a
    quotient and a difference."""

    def value(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.logaddexp(0.0, scores) - responses * scores)

    def slope(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(_chance(scores) - responses)

    def bend(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        chance = _chance(scores)
        return np.asarray(chance * (1 - chance))

    def exact_slope(self, score: arb, response: float) -> arb:
        return 1 / (1 + (-score).exp()) - arb(response)


@final
@dataclass(frozen=True)
class PseudoHuberLoss(GlmLoss):
    """√(1 + (z − y)²) − 1 for any response: ℓ′ = r/√(1 + r²) with r = z − y, within (−1, 1); ℓ″ ≤ 1."""

    steepest = curvature = Fraction(1)
    spread = Fraction(2)
    responses = None
    slope_error = 2.0**-48
    """A difference, a length within 8 units in the last place, a quotient: relative errors of a number of at most
    1, whose derivative by log r is at most 1/2."""

    def value(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.hypot(1.0, scores - responses) - 1)

    def slope(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        residual = scores - responses
        return np.asarray(residual / np.hypot(1.0, residual))

    def bend(self, scores: NDArray[np.float64], responses: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.hypot(1.0, scores - responses) ** -3, dtype=np.float64)

    def exact_slope(self, score: arb, response: float) -> arb:
        residual = score - arb(response)
        return residual / (1 + residual * residual).sqrt()


def _chance(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/(1 + e^−z), without overflow."""
    small = np.exp(-np.abs(scores))
    return np.asarray(np.where(scores >= 0, 1.0, small) / (1 + small), dtype=np.float64)
