"""What a bound states for given pairs of values, many at a time and before any closure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.families.distances import lower_distance
from dxgeom.numeric.rounding import round_down, round_up, sum_round_down
from dxgeom.policy.bounds.bounds import Axis, Blocks, Bound, ByIndividual, ByValue, Constant, Edges, Growing, Near
from dxgeom.policy.bounds.near_pairs import near_pairs, positions_on
from dxgeom.policy.lower.attribute_metrics import form
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.graphs import GraphAttribute
from dxgeom.universe.places import PointsAttribute

_FITS: Final = 2**61

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
            return np.where(_within(attribute, axis, reach, first, second), round_down(epsilon), np.inf)
        case Edges(pairs=pairs, epsilons=epsilons):
            return _listed(attribute.size, pairs, epsilons, first, second)
        case Blocks(blocks=blocks, epsilon=epsilon):
            block = np.array(blocks, dtype=np.int64)
            return np.where(block[first] == block[second], round_down(epsilon), np.inf)


def _rounded(epsilons: Sequence[Fraction | None]) -> NDArray[np.float64]:
    return np.array([np.inf if epsilon is None else round_down(epsilon) for epsilon in epsilons])


def _within(attribute: Attribute, axis: Axis, reach: Fraction, first: Codes, second: Codes) -> NDArray[np.bool_]:
    """Exactly for numbers and paths; a pair of places whose distance cannot be told from the reach counts as near."""
    if isinstance(attribute, PointsAttribute):
        return lower_distance(attribute.coordinates, attribute.geometry, first, second) <= round_up(reach)
    if isinstance(attribute, GraphAttribute):
        one, other = near_pairs(attribute, axis, reach)
        return np.isin(_pair_numbers(attribute.size, first, second), one * attribute.size + other)
    positions = positions_on(attribute, axis)
    common = math.lcm(reach.denominator, *{position.denominator for position in positions})
    whole = [int(position * common) for position in positions]
    small = max(map(abs, (*whole, int(reach * common)))) < _FITS
    spots = np.array(whole, dtype=np.int64 if small else object)
    return np.asarray(abs(spots[first] - spots[second]) <= int(reach * common), dtype=np.bool_)


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
