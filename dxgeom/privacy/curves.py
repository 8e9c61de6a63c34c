"""What Gaussian noise, or any concentrated mechanism, tells at a distance μ, in balls and rounded the safe way.

With noise of covariance Σ and a shift Δ, μ² = ΔᵀΣ⁻¹Δ; several releases have μ² = Σ μ_k². The logarithm of the odds is
normal with mean μ²/2 and variance μ² when the first of two records is true. Rounding and other post-processing tell no
more. The formulas for Gaussian noise are exact, and true of accounts in which every entry is Gaussian noise only.

Of any concentrated mechanism the promise is D_α ≤ α·μ²/2 for all α > 1, both ways; ρ = μ²/2. Accounts with other
entries are told by bounds from this, on one release and on whole ledgers, adaptive ones included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from flint import arb, ctx

from dxgeom.arguments import NUMBER, require
from dxgeom.errors import UnsupportedCombination

_PRECISION: Final = 256
_CLOSE: Final = 1e-12
_LARGEST: Final = 1e6


def gaussian_delta(epsilon: float, distance: float) -> float:
    """δ(ε) of Gaussian noise at a distance μ, *rounded up*: P[M(x) ∈ S] ≤ e^ε·P[M(x′) ∈ S] + δ for every S.

    Definition: Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ); no smaller δ will do. Adaptive sequences included.
    Raises: UnsupportedCombination unless ε ≥ 0 and 0 ≤ μ ≤ 10⁶.
    Source: Balle & Wang 2018, Theorem 8; Dong, Roth & Su 2022.
    """
    require_curve(distance, epsilon=epsilon)
    if distance == 0:
        return 0.0

    def exact() -> arb:
        mu, shift = arb(distance), arb(epsilon)
        return normal_below(mu / 2 - shift / mu) - shift.exp() * normal_below(-mu / 2 - shift / mu)

    return min(1.0, max(0.0, rounded_up(exact)))


def gaussian_epsilon(delta: float, distance: float) -> float:
    """The least ε ≥ 0 with :func:`gaussian_delta` at most δ, *rounded up*, to within 1e-9.

    Raises: UnsupportedCombination unless 0 < δ < 1 and 0 ≤ μ ≤ 10⁶.
    """
    require_curve(distance, delta=delta)
    return least(lambda epsilon: gaussian_delta(epsilon, distance) <= delta)


def gaussian_distance(epsilon: float, delta: float) -> float:
    """The largest distance μ at which Gaussian noise is (ε, δ)-private, *rounded down*, to within 1e-9 of itself.

    Raises: UnsupportedCombination unless ε ≥ 0 and 0 < δ < 1.
    """
    require_curve(0.0, epsilon=epsilon, delta=delta)
    low, high = 0.0, 1.0
    while gaussian_delta(epsilon, high) <= delta:
        low, high = high, 2 * high
        if high > _LARGEST:
            return low
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(epsilon, middle) <= delta else (low, middle)
    return low


def gaussian_tail(log_odds: float, distance: float, *, either_way: bool = False, adaptive: bool = True) -> float:
    """The chance that answers move log-odds by more than t towards the true record, *rounded up*. It is no δ.

    Definition: Φ(μ/2 − t/μ) for noise that was fixed beforehand; ``either_way`` adds Φ(−μ/2 − t/μ), for log-odds below
    −t. ``adaptive``: later questions may depend on earlier answers, as in any ledger; then somebody may stop when the
    odds are worst, and the chance is larger by e^t·Φ(−μ/2 − t/μ), that of log-odds below −t by e^{−t}·Φ(μ/2 − t/μ), by
    reflection.
    Raises: UnsupportedCombination unless t ≥ 0 and 0 ≤ μ ≤ 10⁶.
    """
    require_curve(distance, log_odds=log_odds)
    if distance == 0:
        return 0.0

    def exact() -> arb:
        mu, t = arb(distance), arb(log_odds)
        towards, away = normal_below(mu / 2 - t / mu), normal_below(-mu / 2 - t / mu)
        reflected = t.exp() * away if adaptive else arb(0)
        # Log-odds ever below −t: a walk of drift μ²/2 from 0, by reflection e^{−t}·Φ(μ/2 − t/μ) + Φ(−μ/2 − t/μ).
        back = away + (towards * (-t).exp() if adaptive else arb(0)) if either_way else arb(0)
        return towards + reflected + back

    return min(1.0, rounded_up(exact))


def gaussian_right_guess(distance: float) -> float:
    """The chance Φ(μ/2) of a right guess between two records that were equally likely, at best, *rounded up*.

    Raises: UnsupportedCombination unless 0 ≤ μ ≤ 10⁶.
    """
    require_curve(distance)
    return min(1.0, rounded_up(lambda: normal_below(arb(distance) / 2)))


def normal_below(number: arb) -> arb:
    """Φ, the chance that a standard normal number is below, as a ball."""
    root: arb = arb(2).sqrt()
    return (-number / root).erfc() / 2


def rounded_up(exact: Callable[[], arb]) -> float:
    """A float64 not below the exact number."""
    with ctx.workprec(_PRECISION):
        number = exact().upper()
        nearest = float(number)
        return nearest if bool(arb(nearest) >= number) else math.nextafter(nearest, math.inf)


def least(enough: Callable[[float], bool]) -> float:
    """The least number ≥ 0 that is enough, *rounded up* to within 1e-12 of itself; more than enough is enough."""
    if enough(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not enough(high):
        low, high = high, 2 * high
        if math.isinf(high):
            return math.inf
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def require_curve(
    distance: float, *, epsilon: float | None = None, delta: float | None = None, log_odds: float | None = None
) -> None:
    """Raises: UnsupportedCombination for what is no distance, ε, δ or log-odds."""
    for what, given in (("distance", distance), ("epsilon", epsilon), ("delta", delta), ("log_odds", log_odds)):
        if given is not None or what == "distance":
            require(given, NUMBER, what, "give a number such as 0.5")
    if not 0 <= distance <= _LARGEST:
        raise UnsupportedCombination(f"curves are for distances from 0 to {_LARGEST:g}, found {distance!r}")
    for name, number in (("an epsilon", epsilon), ("the logarithm of odds", log_odds)):
        if number is not None and not 0 <= number < math.inf:
            raise UnsupportedCombination(f"{name} is a finite number of at least 0 here, found {number!r}")
    if delta is not None and not 0 < delta < 1:
        raise UnsupportedCombination(f"a delta lies between 0 and 1, found {delta!r}")


_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 80


def concentrated_delta(epsilon: float, distance: float) -> float:
    """δ(ε) at a distance μ, *rounded up*: P[M(x) ∈ S] ≤ e^ε·P[M(x′) ∈ S] + δ for every S.

    Definition: inf over α > 1 of e^{(α−1)(αρ−ε)}·(1−1/α)^α/(α−1). Every α gives a bound; the one used is nearly best.
    Raises: UnsupportedCombination unless ε ≥ 0 and 0 ≤ μ ≤ 10⁶.
    Source: Canonne, Kamath & Steinke 2020, Prop. 12.
    """
    require_curve(distance, epsilon=epsilon)
    if distance == 0:
        return 0.0
    rho = distance**2 / 2

    def logarithm(excess: float) -> float:
        """Of the bound at α = 1 + e^excess; convex near its least."""
        beyond = math.exp(excess)
        order = 1 + beyond
        return beyond * (order * rho - epsilon) + order * math.log(beyond / order) - excess

    low, high = -40.0, 20.0
    for _ in range(_STEPS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if logarithm(left) <= logarithm(right) else (left, high)
    excess = math.exp((low + high) / 2)

    def exact() -> arb:
        beyond = arb(excess)
        order, loss = beyond + 1, arb(distance) ** 2 / 2
        power = beyond * (order * loss - arb(epsilon)) + order * (beyond / order).log()
        return power.exp() / beyond

    return min(1.0, rounded_up(exact))


def concentrated_epsilon(delta: float, distance: float) -> float:
    """The least ε ≥ 0 with :func:`concentrated_delta` at most δ, *rounded up*.

    Raises: UnsupportedCombination unless 0 < δ < 1 and 0 ≤ μ ≤ 10⁶.
    """
    require_curve(distance, delta=delta)
    return least(lambda epsilon: concentrated_delta(epsilon, distance) <= delta)


def concentrated_tail(log_odds: float, distance: float) -> float:
    """The chance that answers move log-odds by more than t towards the true record, *rounded up*. It is no δ.

    Definition: e^{−(t−ρ)²/(4ρ)} for t > ρ, else 1.
    Raises: UnsupportedCombination unless t ≥ 0 and 0 ≤ μ ≤ 10⁶.
    Source: Bun & Steinke 2016, Lemma 3.5 (its proof).
    """
    require_curve(distance, log_odds=log_odds)
    if distance == 0:
        return 0.0

    def exact() -> arb:
        rho = arb(distance) ** 2 / 2
        beyond = arb(log_odds) - rho
        return (-(beyond * beyond) / (4 * rho)).exp() if bool(beyond > 0) else arb(1)

    return min(1.0, rounded_up(exact))


def concentrated_odds(chance: float, distance: float) -> float:
    """The t that log-odds are moved by, towards the true record, by more than with this chance at most: *rounded up*.

    Definition: ρ + 2·√(ρ·ln(1/chance)).
    Raises: UnsupportedCombination unless 0 < chance < 1 and 0 ≤ μ ≤ 10⁶.
    """
    require_curve(distance, delta=chance)

    def exact() -> arb:
        rho = arb(distance) ** 2 / 2
        return rho + 2 * (rho * -arb(chance).log()).sqrt()

    return rounded_up(exact) if distance > 0 else 0.0


def concentrated_right_guess(distance: float) -> float:
    """The chance of a right guess between two records that were equally likely, at best, *rounded up*.

    Definition: (1 + v)/2, v the smallest of three bounds on the total variation: √(ρ/2) (Pinsker), √(1 − e^{−ρ})
    (Bretagnolle & Huber), and δ(0).
    Raises: UnsupportedCombination unless 0 ≤ μ ≤ 10⁶.
    """
    require_curve(distance)
    rho = arb(distance) ** 2 / 2
    bounds = (
        rounded_up(lambda: (rho / 2).sqrt()),
        rounded_up(lambda: (1 - (-rho).exp()).sqrt()),
        concentrated_delta(0.0, distance),
    )
    return min(1.0, rounded_up(lambda: (1 + arb(min(bounds))) / 2))
