"""The chance δ that a key shows which one person alone has, exactly, and the least threshold that keeps it small.

Where only keys that some record has get noise, a key that is reported proves a record. So the threshold has to hide the
keys that a person has alone: that one of them is reported has at most the chance δ.

*Definition.* A person has m rows at most. In any way these are w₁, w₂, … ≥ 1 rows of keys that nobody else has, of
w₁ + w₂ + … ≤ m. A key of w rows and of the rate of block b is reported with chance p_b(w) = P(round(V_b) ≥ θ − w), on
its own. So δ(θ) = max over all such splits, and all blocks for each key, of 1 − Π(1 − p(w_k)).

*Law.* With f(w) = max over b of −log(1 − p_b(w)) the best split of j rows has F(j) = max over w of f(w) + F(j − w), and
δ = 1 − e^(−F(m)). Neither one key of all rows nor rows of a key each is always the worst: Laplace noise of scale 1 and
four rows has the first, scale 4 and six rows the second.

*Why δ is enough.* Let x and x′ differ in the rows of one person. Given that no key is reported which is in one of them
only, the answers are noise on the keys of both, and the promise about records holds of these. That event has chance
1 − δ at least under either, independently of the other keys. So P = (1 − δ)·A + δ·B and P′ = (1 − δ)·A′ + δ·B′, where A
and A′ are as near as the promise says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.noise.rare_events import PRECISION, RareEvents, RareLaplace, RareNormal

MOST_SPLIT: Final = 4096
"""Rows of a person times kinds of noise: of so many each split is looked at."""
_HIGHEST: Final = 1 << 62


@final
@dataclass(frozen=True)
class OwnKeys:
    """What is reported of keys that one person alone has. ``noises``: the noise of each block, whose threshold is of no
    account; ``rows``: the most rows of a person, m.

    Raises: UnsupportedCombination for no noise or no row; TooLarge.
    """

    noises: tuple[RareLaplace | RareNormal, ...]
    rows: int
    _logs: dict[int, float] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.noises or self.rows < 1:
            raise UnsupportedCombination("a person has at least one row, and each key noise of its own")
        if len(self.noises) * self.rows > MOST_SPLIT:
            raise TooLarge(
                f"a person has up to {self.rows:,} rows, in keys of {len(self.noises):,} kinds of noise: at most "
                f"{MOST_SPLIT:,} of both together are looked at; state a smaller 'at_most'"
            )

    def delta(self, threshold: int) -> Fraction:
        """δ at a threshold θ from 1 on, *rounded up*: off by less than 10⁻⁹ of it, relatively."""
        best = self._best(threshold)
        with ctx.workprec(PRECISION):
            return _above(-(-arb(best)).expm1())

    def threshold(self, delta: Fraction) -> int:
        """The least θ from 1 on with δ(θ) ≤ delta. Guarantee: that holds of δ *rounded up*.

        Raises: UnsupportedCombination unless 0 < delta < 1; TooLarge where no threshold of 62 bits is enough.
        """
        if not 0 < delta < 1:
            raise UnsupportedCombination(f"a chance delta is above 0 and below 1; found {delta}")
        low, high = 0, 1
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > _HIGHEST:
                raise TooLarge("the threshold does not fit 64-bit integers; spend more of the budget on this release")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high

    def chance(self, noise: RareLaplace | RareNormal, threshold: int) -> arb:
        """P(round(V) ≥ threshold) for any whole threshold, as a ball of about 128 bits."""
        with ctx.workprec(PRECISION):
            if threshold >= 1:
                return _at(noise, threshold).chance
            # V is as likely −V, and no half is drawn: round(V) ≥ t where −V does not round to 1 − t or more.
            return 1 - _at(noise, 1 - threshold).chance

    def _best(self, threshold: int) -> float:
        """F(m), *rounded up*; ∞ where float64 knows no more."""
        each = np.array([self._log(threshold - own) for own in range(1, self.rows + 1)])
        found: NDArray[np.float64] = np.zeros(self.rows + 1)
        for rows in range(1, self.rows + 1):
            sums = each[:rows] + found[rows - 1 :: -1]
            found[rows] = math.nextafter(float(sums.max()), math.inf)
        return float(found[-1])

    def _log(self, threshold: int) -> float:
        """The largest −log(1 − p) of all noises, *rounded up*; thresholds are met many times."""
        if threshold not in self._logs:
            with ctx.workprec(PRECISION):
                logs = [-(-self.chance(noise, threshold)).log1p() for noise in self.noises]
                self._logs[threshold] = max(_float_above(one) for one in logs)
        return self._logs[threshold]


def own_keys(events: Sequence[RareEvents], rows: int) -> OwnKeys:
    """Of the events of each block; equal noises are one."""
    kinds = dict.fromkeys(_at(one, 1) for one in events if isinstance(one, RareLaplace | RareNormal))
    return OwnKeys(tuple(kinds), rows)


def _at(noise: RareEvents, threshold: int) -> RareLaplace | RareNormal:
    kind = RareNormal if isinstance(noise, RareNormal) else RareLaplace
    return kind(noise.scale, noise.factor, threshold)


def _float_above(ball: arb) -> float:
    """A float64 that no number of the ball is above."""
    return math.nextafter(float(ball.upper()), math.inf) if ball.is_finite() else math.inf


def _above(ball: arb) -> Fraction:
    """The same, exactly, and at most 1."""
    return min(Fraction(_float_above(ball)), Fraction(1)) if ball.is_finite() else Fraction(1)
