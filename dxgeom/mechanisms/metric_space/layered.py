"""Mechanisms made of layers, at the level their proof gives or at the level they measurably have."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, DxgeomError
from dxgeom.mechanisms.finite.finite_mechanism import FiniteMechanism, Losses, Prior
from dxgeom.mechanisms.finite.private_table import PrivateTable, honouring
from dxgeom.mechanisms.finite.ratio_bounds import LAW_BITS, odds_below
from dxgeom.mechanisms.metric_space.dataset_space import UNREACHABLE, DatasetSpace
from dxgeom.mechanisms.metric_space.layers import Layers, composed_layers

_HALVINGS = 60
_STEEPEST = 64.0


def layered_law(layers: Layers, odds: Fraction) -> FiniteMechanism:
    """P(r | x) ∝ odds^(−layers[x, r]), counting each answer once; *exact*. Unreachable answers have probability 0."""
    made: dict[tuple[int, ...], tuple[Fraction, ...]] = {}
    rows = []
    for row in map(tuple, layers.tolist()):
        if row not in made:
            deepest = max((layer for layer in row if layer < UNREACHABLE), default=0)
            weights = [
                odds.denominator**layer * odds.numerator ** (deepest - layer) if layer < UNREACHABLE else 0
                for layer in row
            ]
            total = sum(weights)
            made[row] = tuple(Fraction(weight, total) for weight in weights)
        rows.append(made[row])
    return FiniteMechanism(tuple(rows))


def layered_table(
    space: DatasetSpace, layers: Layers, rate: Fraction, name: str, spend: Fraction = Fraction(1)
) -> PrivateTable:
    """The mechanism of these layers that hides rate·d by its proof: with ε = rate/2.

    Raises: CertificateRefused when the layers of neighbours differ by more than their distance.
    Source: Wu, Xia & He 2017, Theorems 1 to 6.
    """
    # The metric's bounds are float64, rounded down: up to 2⁻⁵² smaller than the rate says.
    epsilon = rate * spend / 2 * (1 - Fraction(1, 1 << 52))
    law = layered_law(layers, odds_below(epsilon, LAW_BITS))
    return honouring(space.metric(rate), law, name, spend)


def calibrated_table(
    space: DatasetSpace,
    layers: Layers,
    rate: Fraction,
    name: str,
    spend: Fraction = Fraction(1),
    *,
    title: str = "datasets",
    budget: Fraction = Fraction(1),
) -> PrivateTable:
    """The same layers with the largest ε for which the odds still stay within rate·d.

    The proofs' 2ε counts the exponential and its normaliser in full; mostly they do not add up. How much they do is a
    fact of the whole public space, never of the real dataset.
    Args: ``title``, ``budget``: of the account that a release charges.
    Guarantee: checked *exactly*; the ε found is maximal as far as the level grows with ε, to 1e-9.
    Raises: CertificateRefused when not even ε = rate/2 keeps the level.
    """
    target = float(rate * spend)
    low, high = target / 2, target / 2
    while _level(space, layers, high) <= target and high < _STEEPEST * target:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _level(space, layers, middle) <= target else (low, middle)
    odds = odds_below(Fraction(low * (1 - 1e-10)), LAW_BITS)
    return honouring(space.metric(rate, title, budget), layered_law(layers, odds), name, spend)


def tuned_composed_table(
    space: DatasetSpace, rate: Fraction, widths: Iterable[Fraction], prior: Prior, losses: Losses
) -> PrivateTable:
    """Theorem 3 with one width for all datasets: of those offered, calibrated, the one of least expected loss.

    Raises: DxgeomError when no width is offered.
    """
    tables = [
        calibrated_table(space, composed_layers(space, [width] * space.size), rate, f"composed, width {width}")
        for width in dict.fromkeys(widths)
    ]
    if not tables:
        raise DxgeomError("at least one width to choose from")
    return min(tables, key=lambda table: table.expected_loss(prior, losses))


def _level(space: DatasetSpace, layers: Layers, epsilon: float) -> float:
    """max |ln P(r | x)/P(r | y)|/length over the edges, in float64."""
    logs = _logarithms(layers, epsilon)
    apart = np.isinf(logs[space.first]) != np.isinf(logs[space.second])
    if np.any(apart):
        raise CertificateRefused("an answer is possible for one dataset and impossible for its neighbour")
    both = np.where(np.isinf(logs), 0.0, logs)
    gaps = np.abs(both[space.first] - both[space.second]).max(axis=1, initial=0.0) / space.lengths
    return float(gaps.max(initial=0.0))


def _logarithms(layers: Layers, epsilon: float) -> NDArray[np.float64]:
    scores = np.where(layers < UNREACHABLE, -epsilon * layers, -np.inf)
    top = scores.max(axis=1, keepdims=True)
    return np.asarray(scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True)))
