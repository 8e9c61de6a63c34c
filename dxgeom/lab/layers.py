"""Mechanisms made of layers, at the level their proof gives or at the level they measurably have.

Layers of answers around each dataset: the further out, the less likely.

A layer table L (N, R) of integers makes the mechanism P(r | x) ∝ e^(−ε·L(x, r)). When |L(x, r) − L(y, r)| ≤ d(x, y) for
all r, both the exponential and its normaliser change by at most e^(ε·d(x, y)), so it is 2ε·d-private. The tables differ
in what they look at: how wrong an answer is (utility first), or how far the datasets are that have it (privacy first).
Each depends on public facts only, never on which dataset is the real one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, DxgeomError, UnsupportedCombination
from dxgeom.lab.dataset_space import UNREACHABLE, ValuedDatasets
from dxgeom.lab.finite_mechanism import LAW_BITS, FiniteMechanism, Losses, Prior, PrivateTable, honouring, odds_below

Layers = NDArray[np.int64]


def global_sensitivity(space: ValuedDatasets) -> Fraction:
    """max d(f(x), f(y)) / length over the edges, d of values, in the space's unit; *exact*."""
    edges = zip(space.changes.tolist(), space.lengths.tolist(), strict=True)
    return max((Fraction(change, length) for change, length in edges), default=Fraction(0))


def staircase_layers(space: ValuedDatasets, offset: Fraction = Fraction(0)) -> Layers:
    """L(x, r) = ⌈(d(r, f(x)) − offset)/Δ⌉, at least 0, with Δ the global sensitivity; *exact*.

    Args: ``offset``: in the values' own unit, 0 ≤ offset < Δ.
    Source: Wu, Xia & He 2017, Theorem 1 and, with an offset, Example 9 after Geng & Viswanath 2016.
    """
    step, shift = global_sensitivity(space), offset / space.unit
    if step == 0:
        return np.where(space.misses == 0, 0, UNREACHABLE)
    if not 0 <= shift < step:
        raise DxgeomError(f"an offset is at least 0 and below the sensitivity {step * space.unit}, found {offset}")
    scale = shift.denominator * step.numerator
    above = space.misses * (shift.denominator * step.denominator) - shift.numerator * step.denominator
    return np.maximum(-(-above // scale), 0)


def ladder_layers(space: ValuedDatasets) -> Layers:
    """Rung i reaches as far as Σ_{j<i} Δ_j(x), Δ_j(x) the largest local sensitivity within distance j of x.

    Guarantee: *exact*.
    Raises: UnsupportedCombination unless every edge has length 1: local sensitivity speaks of single steps.
    Source: Zhang et al. 2015; Wu, Xia & He 2017, Example 10; corrected: rung 0 is {f(x)}. As printed, rung 0 is empty
    where nothing is nearer than Δ_0, and f(x) itself lies on no rung at all.
    """
    if np.any(space.lengths != 1):
        raise UnsupportedCombination("a ladder needs edges of length 1")
    reach = np.zeros(space.size, dtype=np.int64)
    layers = np.where(space.misses == 0, 0, UNREACHABLE)
    steepest = _local_sensitivity(space)
    widest = int(np.max(np.where(space.distances < UNREACHABLE, space.distances, 0), initial=0))
    for rung in range(1, int(space.misses.max(initial=0)) + widest + 2):
        reach = reach + steepest
        layers = np.where((layers == UNREACHABLE) & (space.misses <= reach[:, None]), rung, layers)
        steepest = _over_edges(space, steepest)
    return layers


def privacy_first_layers(space: ValuedDatasets) -> Layers:
    """L(x, r) = min {d(x, y) : f(y) = r}; *exact*.

    Source: Wu, Xia & He 2017, Theorem 2; for distances that are no integers the distance itself is the layer, because
    layers rounded up to integers can jump where the distance is small.
    """
    return composed_layers(space, [Fraction(0)] * space.size)


def composed_layers(space: ValuedDatasets, widths: Sequence[Fraction]) -> Layers:
    """L(x, r) = min {d(x, y) : d(r, f(y)) ≤ widths[y]}; *exact*.

    Source: Wu, Xia & He 2017, Theorem 3; corrected: what layer i takes away is all of the *ball* of radius i − 1. As
    printed, it is the shell only, so that an answer can lie on several layers.
    """
    if len(widths) != space.size or min(widths, default=Fraction(0)) < 0:
        raise DxgeomError("a width of at least 0 for each dataset")
    reached = [
        [miss * space.unit <= width for miss in row] for row, width in zip(space.misses.tolist(), widths, strict=True)
    ]
    return _nearest(space.distances, np.array(reached, dtype=np.bool_))


def utility_first_layers(space: ValuedDatasets, widths: Sequence[int]) -> Layers:
    """L(x, r) = min {S(x, f(y)) : r is the value of a dataset within widths[f(y)] of one with the value f(y)}.

    S is the staircase's layer; ``widths`` (R,): one for each value of the range, so that datasets of equal value look
    the same. Guarantee: *exact*.
    Source: Wu, Xia & He 2017, Theorem 4.
    """
    if len(widths) != len(space.range) or min(widths, default=0) < 0:
        raise DxgeomError("a width of at least 0 for each value of the range")
    place, count = space.places, len(space.range)
    within = space.distances <= np.array(widths)[place][:, None]
    holds = (place[:, None] == np.arange(count)).astype(np.float64)
    near = (within @ holds) > 0
    pooled = np.array([np.any(near[place == value], axis=0) for value in range(count)])
    return _nearest(staircase_layers(space), pooled)


def penalised_layers(layers: Layers, favoured: NDArray[np.bool_], penalty: int) -> Layers:
    """The same layers, those of answers that are not ``favoured`` (R,) moved out by ``penalty``.

    Which answers are favoured must not depend on the data.
    Source: Wu, Xia & He 2017, Theorems 5 and 6.
    """
    if penalty < 0 or favoured.shape != (layers.shape[1],):
        raise DxgeomError("a penalty is at least 0, and each answer is favoured or not")
    return np.where(favoured[None, :] | (layers >= UNREACHABLE), layers, layers + penalty)


def _nearest(distances: NDArray[np.int64], reached: NDArray[np.bool_]) -> Layers:
    """min over y of distances[x, y] where reached[y, r]."""
    columns = [np.min(distances[:, rows], axis=1, initial=UNREACHABLE) for rows in reached.T]
    return np.stack(columns, axis=1)


def _local_sensitivity(space: ValuedDatasets) -> NDArray[np.int64]:
    steps = space.changes
    largest = np.zeros(space.size, dtype=np.int64)
    np.maximum.at(largest, space.first, steps)
    np.maximum.at(largest, space.second, steps)
    return largest


def _over_edges(space: ValuedDatasets, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The largest number of each dataset and its neighbours."""
    grown = numbers.copy()
    np.maximum.at(grown, space.first, numbers[space.second])
    np.maximum.at(grown, space.second, numbers[space.first])
    return grown


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
    space: ValuedDatasets, layers: Layers, rate: Fraction, name: str, spend: Fraction = Fraction(1)
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
    space: ValuedDatasets,
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
    space: ValuedDatasets, rate: Fraction, widths: Iterable[Fraction], prior: Prior, losses: Losses
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


def _level(space: ValuedDatasets, layers: Layers, epsilon: float) -> float:
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
