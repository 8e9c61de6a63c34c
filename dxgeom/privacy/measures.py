"""The currencies: what a distance promises, and how the spends of several releases add up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias, final

from dxgeom.arguments import require
from dxgeom.errors import UnsupportedCombination

PURE: Final = "pure"
"""Odds change by at most e^d, and spends add up."""
CONCENTRATED: Final = "concentrated"
"""D_α(M(x)‖M(x′)) ≤ α·d²/2 for all α > 1, and squares of spends add up."""

Privacy: TypeAlias = Literal["pure", "concentrated"]

_DIGITS: Final = 15


@final
@dataclass(frozen=True)
class PrivacyMeasure:
    """How spends of one account add up: Σ s ≤ S, or Σ s² ≤ S² with ``squares``.

    What is added up is the spend as :meth:`counted`, exactly; what is shown is brought back to a spend.
    Source: Bun & Steinke 2016, Lemma 2.3 (composition), Prop. 3.3 (pure privacy is concentrated); adaptive spends too.
    """

    name: Privacy
    squares: bool

    @property
    def least_mean_square(self) -> int:
        """The least E[W²] of any number W that, stretched by 1/s, hides a shift by 1 as a distance of s, for all s ≤ 1.

        Pure: 2, of Laplace noise. The density f of W has |f′| ≤ f, so for ψ(w) = sign(w)·(w² + 2|w|), continuously
        differentiable, 0 ≥ ∫ f·(ψ′ − |ψ|) = ∫ f·(2 − w²) = 2 − E[W²]. Concentrated: 1, of Gaussian noise: a shift by t
        has a χ² divergence of at most e^{t²} − 1, and at least t²/Var W (Chapman & Robbins 1951); let t be small.
        *Exact*: the two laws attain it.
        """
        return 1 if self.squares else 2

    def counted(self, spend: Fraction) -> Fraction:
        """What the spend adds to a sum. *Exact.*"""
        return spend * spend if self.squares else spend

    def spend_below(self, counted: Fraction) -> Fraction:
        """The largest spend that adds no more: *exact* where that is rational, else *rounded down* to 15 digits."""
        return _root(counted, up=False) if self.squares else counted

    def spend_above(self, counted: Fraction) -> Fraction:
        """The smallest spend that adds no less: *exact* where that is rational, else *rounded up* to 15 digits."""
        return _root(counted, up=True) if self.squares else counted


_PRIVACY_MEASURES: Final = {
    one.name: one for one in (PrivacyMeasure(PURE, squares=False), PrivacyMeasure(CONCENTRATED, squares=True))
}


def privacy_measure_of(name: str, what: str = "privacy") -> PrivacyMeasure:
    """The privacy measure of that name; ``what``: the argument that it came as.

    Raises: WrongArgument, UnsupportedCombination when it is neither "pure" nor "concentrated".
    """
    require(name, str, what, "write 'pure' or 'concentrated'")
    found = next((one for known, one in _PRIVACY_MEASURES.items() if known == name), None)
    if found is None:
        raise UnsupportedCombination(f"'{what}' is {' or '.join(map(repr, _PRIVACY_MEASURES))}; found {name!r}")
    return found


def require_for_normal_noise(privacy: Privacy) -> None:
    """Raises: UnsupportedCombination unless what is promised is what Gaussian noise can keep."""
    if privacy != CONCENTRATED:
        raise UnsupportedCombination(
            "Gaussian noise bounds no odds: it serves policies with 'privacy: concentrated', and this one counts "
            f"{privacy} privacy; choose another mechanism, or another policy"
        )


def _root(square: Fraction, *, up: bool) -> Fraction:
    above, below = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if above * above == square.numerator and below * below == square.denominator:
        return Fraction(above, below)
    # 10^k·√x has at least 15 digits before the point; integers from here on.
    places = _DIGITS - (len(str(square.numerator)) - len(str(square.denominator))) // 2
    shifted = square * Fraction(100) ** places
    whole = math.isqrt(shifted.numerator // shifted.denominator)
    return Fraction(whole + up) / Fraction(10) ** places
