"""What a bound states for given pairs of values, many at a time and before any closure."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.rounding import round_down, sum_round_down
from dxgeom.policy.bounds.bounds import Blocks, Bound, ByIndividual, ByValue, Constant, Edges, Growing, Near
from dxgeom.policy.lower.attribute_metrics import form
from dxgeom.universe.attributes import Attribute

Codes = NDArray[np.int64]


def bounds_of_pairs(attribute: Attribute, bound: Bound, first: Codes, second: Codes) -> NDArray[np.float64]:
    """The bound of each pair of different codes, *rounded down*; ∞ where nothing is stated."""
    match bound:
        case Constant(epsilon=epsilon):
            return np.full(first.shape, round_down(epsilon))
        case ByValue(epsilons=epsilons):
            own = _rounded(epsilons)
            return np.minimum(own[first], own[second])
        case ByIndividual(epsilons=epsilons):
            own = _rounded(epsilons)
            return sum_round_down(own[first], own[second])
        case Growing():
            return form(attribute, bound).distance(first, second)
        case Near(axis=axis, epsilon=epsilon, reach=reach):
            return np.where(axis.within(reach)(first, second), round_down(epsilon), np.inf)
        case Edges(pairs=pairs, epsilons=epsilons):
            return _listed(attribute.size, pairs, epsilons, first, second)
        case Blocks(blocks=blocks, epsilon=epsilon):
            block = np.array(blocks, dtype=np.int64)
            return np.where(block[first] == block[second], round_down(epsilon), np.inf)


def _rounded(epsilons: Sequence[Fraction | None]) -> NDArray[np.float64]:
    return np.array([np.inf if epsilon is None else round_down(epsilon) for epsilon in epsilons])


def _listed(
    size: int, pairs: Sequence[tuple[int, int]], epsilons: Sequence[Fraction], first: Codes, second: Codes
) -> NDArray[np.float64]:
    """The listed pairs increase, so they are found by halving."""
    known = np.array([one * size + other for one, other in pairs], dtype=np.int64)
    wanted = _pair_numbers(size, first, second)
    at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    return np.where(known[at] == wanted, _rounded(epsilons)[at], np.inf)


def _pair_numbers(size: int, first: Codes, second: Codes) -> Codes:
    """One number for each unordered pair of codes."""
    return np.minimum(first, second) * size + np.maximum(first, second)
