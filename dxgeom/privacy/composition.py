"""What several releases tell together of one pair: pure ones beside Gaussian ones, composed number by number.

Each release is dominated by a pair of laws: Gaussian noise at μ by N(0, 1) and N(μ, 1), pure noise at ε by randomised
response, whose log-odds are ±ε. Log-odds of a sequence are sums, adaptive sequences included; Gaussians together are
one Gaussian, so that only sums of ±ε are laid out, as a finite law whose log-odds and chances are rounded up.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

from flint import arb, ctx, fmpq

from dxgeom.errors import UnsupportedCombination
from dxgeom.privacy.concentrated_curves import concentrated_delta
from dxgeom.privacy.gaussian_curves import gaussian_delta, least, normal_below, require_curve, rounded_up

_ATOMS: Final = 1000
"""Points of a law; of more each goes to the two next to it on a grid of so many."""
_LOST: Final = 2.0**-80
"""Chance that may be counted as odds without limit."""
_PRECISION: Final = 128
_CLOSE: Final = 1e-9
_MOST: Final = 10_000


@final
@dataclass(frozen=True)
class Composition:
    """Releases at one distance: ``pure`` (ε and how many times), ``gaussian`` and ``concentrated``, roots of the sums
    of squares of the μ of Gaussian releases, and of those of which no more than the promise is known.

    Guarantee: all curves *rounded up*; true both ways, and of adaptive sequences whose ε and μ are settled beforehand.
    Source: Zhu, Dong & Wang 2022, Theorem 10 (dominating pairs compose); Kairouz, Oh & Viswanath 2015 (randomised
    response dominates); Meiser & Mohammadi 2018 (rounding up).
    """

    pure: tuple[tuple[float, int], ...] = ()
    gaussian: float = 0.0
    concentrated: float = 0.0

    def __post_init__(self) -> None:
        for epsilon, times in self.pure:
            require_curve(0.0, epsilon=epsilon)
            if not 0 < times <= _MOST:
                raise UnsupportedCombination(f"releases are counted from 1 to {_MOST:,}, found {times!r}")
        for distance in (self.gaussian, self.concentrated):
            require_curve(distance)

    @classmethod
    def of(
        cls, pure: Iterable[float] = (), gaussian: Iterable[float] = (), concentrated: Iterable[float] = ()
    ) -> Composition:
        """Of each release's ε or μ. Where more than ten thousand are alike, only their squares are added up."""
        counted = sorted(Counter(map(float, pure)).items())
        known = tuple((epsilon, times) for epsilon, times in counted if times <= _MOST and epsilon)
        many = (_root([epsilon] * times) for epsilon, times in counted if times > _MOST)
        return cls(known, _root(gaussian), _root([*concentrated, *many]))

    @property
    def distance(self) -> float:
        """The root of the sum of all squares, *rounded up*: D_α ≤ α·μ²/2."""
        return _root([self.gaussian, self.concentrated, *(e for e, times in self.pure for _ in range(times))])

    @property
    def ceiling(self) -> float:
        """The log-odds that are never exceeded, *rounded up*: ∞ unless all releases are pure."""
        if self.gaussian or self.concentrated:
            return math.inf
        return rounded_up(lambda: sum((arb(epsilon) * times for epsilon, times in self.pure), arb(0)))

    def delta(self, epsilon: float) -> float:
        """δ(ε): the smaller of the bound for concentrated mechanisms and, where all are known, the sum over odds."""
        require_curve(0.0, epsilon=epsilon)
        if epsilon >= self.ceiling:
            return 0.0
        bound = concentrated_delta(epsilon, self.distance)
        if self.concentrated:
            return bound
        if not self.pure:
            return min(bound, gaussian_delta(epsilon, self.gaussian))
        return min(bound, self._composed(epsilon))

    def epsilon(self, delta: float) -> float:
        """The least ε ≥ 0 with :meth:`delta` at most δ, to within 1e-9 of itself where that can be told."""
        require_curve(0.0, delta=delta)
        known = least(lambda epsilon: concentrated_delta(epsilon, self.distance) <= delta)
        known = min(known, self.ceiling)
        if self.concentrated or known == 0:
            return known
        guess = _crossing(self._nearly, delta, known) * (1 + _CLOSE)
        for _ in range(8):
            if guess >= known:
                break
            if self.delta(guess) <= delta:
                return guess
            guess *= 1 + 1e-7
        return known

    def right_guess(self) -> float:
        """The chance of a right guess between two records that were equally likely, at best: (1 + δ(0))/2."""
        return min(1.0, rounded_up(lambda: (1 + arb(self.delta(0.0))) / 2))

    @cached_property
    def _atoms(self) -> tuple[tuple[float, float], ...]:
        """Log-odds of the pure releases with their chances where the first record is true, both rounded up; ∞ last."""
        law = {0.0: 1.0}
        with ctx.workprec(_PRECISION):
            for epsilon, times in self.pure:
                law = _merged(_sums(law, _repeated(epsilon, times)))
        return tuple(sorted(law.items()))

    def _composed(self, epsilon: float) -> float:
        def exact() -> arb:
            total = arb(0)
            for loss, chance in self._atoms:
                if loss == math.inf:
                    total += arb(chance)
                    continue
                total += arb(chance) * self._beyond(arb(epsilon) - arb(loss))
            return total

        return min(1.0, rounded_up(exact))

    def _beyond(self, left: arb) -> arb:
        """δ of the Gaussian releases at a log-odds of any sign; of none, 1 − e^x below 0."""
        if self.gaussian:
            mu = arb(self.gaussian)
            return normal_below(mu / 2 - left / mu) - left.exp() * normal_below(-mu / 2 - left / mu)
        gain = 1 - left.exp()
        return arb(0) if bool(gain <= 0) else arb(max(gain.upper(), arb(0)))

    def _nearly(self, epsilon: float) -> float:
        """δ(ε) in float64, to look for a crossing with."""
        if not self.pure:
            return gaussian_delta(epsilon, self.gaussian)
        return math.fsum(chance * self._nearly_beyond(epsilon - loss) for loss, chance in self._atoms)

    def _nearly_beyond(self, left: float) -> float:
        if left == -math.inf:
            return 1.0
        if not self.gaussian:
            return max(0.0, -math.expm1(left))
        mu = self.gaussian
        below = 0.5 * math.erfc((left / mu - mu / 2) / math.sqrt(2))
        beside = 0.5 * math.erfc((left / mu + mu / 2) / math.sqrt(2))
        return below - math.exp(min(left, 700.0)) * beside


def _root(distances: Iterable[float]) -> float:
    return rounded_up(lambda: sum((arb(one) ** 2 for one in distances), arb(0)).sqrt())


def _repeated(epsilon: float, times: int) -> dict[float, float]:
    """The law of a sum of ±ε, each + with chance e^ε/(1 + e^ε); chances and log-odds rounded up."""
    ahead = arb(epsilon).exp() / (1 + arb(epsilon).exp())
    law: dict[float, float] = defaultdict(float)
    for plus in range(times + 1):
        chance = _binomial(times, plus) * ahead**plus * (1 - ahead) ** (times - plus)
        loss = _above(arb(epsilon) * (2 * plus - times))
        law[loss] = _up(law[loss] + _above(chance))
    return _merged(law)


def _binomial(times: int, plus: int) -> arb:
    return arb(fmpq(math.comb(times, plus)))


def _sums(law: dict[float, float], other: dict[float, float]) -> dict[float, float]:
    found: dict[float, float] = defaultdict(float)
    for loss, chance in law.items():
        for more, times in other.items():
            total = math.nextafter(loss + more, math.inf) if more and loss else loss + more
            found[total] = _up(found[total] + _up(chance * times))
    return dict(found)


def _merged(law: dict[float, float]) -> dict[float, float]:
    """At most about so many points: what is rarest above is odds without limit, what is rarest below goes up to the
    lowest, and every other point to its two neighbours on a grid."""
    rising = sorted(law.items())
    gone, top = 0.0, len(rising)
    while top > 1 and (rising[top - 1][0] == math.inf or gone + rising[top - 1][1] <= _LOST):
        top -= 1
        gone = _up(gone + rising[top][1])
    kept = rising[:top]
    found: dict[float, float] = defaultdict(float, {math.inf: gone} if gone else {})
    low = next((loss for loss, chance in kept if chance > _LOST / _ATOMS), kept[-1][0])
    step = (kept[-1][0] - low) / _ATOMS
    for loss, chance in kept:
        if len(kept) <= _ATOMS or step <= 0:
            found[loss] = _up(found[loss] + chance)
            continue
        below = low + math.floor((loss - low) / step) * step
        for place, part in _apart(max(low, loss), chance, below, below + step):
            found[place] = _up(found[place] + part)
    return dict(found)


def _apart(loss: float, chance: float, below: float, above: float) -> list[tuple[float, float]]:
    """The point as two with the same chances under both records, where it lies between them: likelihood ratios are
    spread about their mean, which raises every δ, and δ(ε) is convex in them. Rounded towards the one above.

    Source: Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022.
    """
    if not below <= loss <= above:
        return [(max(loss, above), chance)]
    part = chance * math.expm1(below - loss) / math.expm1(below - above) if loss > below else 0.0
    part = min(chance, part * (1 + _CLOSE))
    return [(below, _up(chance - part)), (above, part)]


def _up(number: float) -> float:
    return math.nextafter(number, math.inf) if number else number


def _above(ball: arb) -> float:
    number = ball.upper()
    nearest = float(number)
    return nearest if bool(arb(nearest) >= number) else math.nextafter(nearest, math.inf)


def _crossing(curve: Callable[[float], float], level: float, high: float) -> float:
    """About where a falling curve is as low as the level."""
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if curve(middle) <= level else (middle, high)
    return high
