"""What any concentrated mechanism tells at a distance μ: bounds for Gaussian noise, pure noise and all others.

The promise is D_α ≤ α·μ²/2 for all α > 1, both ways; ρ = μ²/2. Accounts with other entries than Gaussian noise are
told by these. They are bounds on one release and on whole ledgers, adaptive ones included.
"""

from __future__ import annotations

import math

from flint import arb

from dxgeom.privacy.gaussian_curves import least, require_curve, rounded_up

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
