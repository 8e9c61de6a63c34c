"""Which values of an attribute are near each other: exactly for numbers, on the safe side for places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.families.distances import lower_distance, pairs_within
from dxgeom.numeric.rounding import round_up
from dxgeom.policy.bounds.bounds import Axis
from dxgeom.policy.bounds.path_lengths import PathLengths, Reached
from dxgeom.universe.attributes import Attribute, numbers_of
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.graphs import GraphAttribute
from dxgeom.universe.places import PointsAttribute

MAX_PAIRS: Final = 20_000_000
_SAMPLED_DISTANCES: Final = 5_000_000

Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


def positions_on(attribute: Attribute, axis: Axis) -> tuple[Fraction, ...]:
    """Where each code stands on a line: its number, its day, or its step."""
    if isinstance(attribute, DateAttribute) and axis == "numbers":
        return attribute.days
    return tuple(map(Fraction, range(attribute.size))) if axis == "steps" else numbers_of(attribute)


def near_pairs(attribute: Attribute, axis: Axis, reach: Fraction) -> Pairs:
    """Pairs of codes at distance at most ``reach``; a pair whose distance cannot be told from it counts as near.

    Raises: TooLarge.
    """
    if isinstance(attribute, PointsAttribute):
        return _near_places(attribute, round_up(reach))
    if isinstance(attribute, GraphAttribute):
        return near_nodes(attribute, axis, reach)[:2]
    positions = positions_on(attribute, axis)
    first, last = _reaches(positions, reach)
    total = int(np.sum(last - first))
    if total > MAX_PAIRS:
        raise _too_many(total)
    starts = np.repeat(first, last - first)
    offsets = np.arange(total) - np.repeat(np.cumsum(last - first) - (last - first), last - first)
    return starts, starts + 1 + offsets


def near_nodes(attribute: GraphAttribute, axis: Axis, reach: Fraction) -> Reached:
    """Pairs of nodes with a path of at most ``reach``, and its length in the grains of :class:`PathLengths`; *exact*.

    Raises: TooLarge.
    """
    found = PathLengths(attribute, axis).near(reach, MAX_PAIRS)
    if found is None:
        raise _too_many(MAX_PAIRS, "more than")
    return found


def _reaches(positions: Sequence[Fraction], reach: Fraction) -> Pairs:
    """For every code, itself and the last code not farther than ``reach`` above it; both ends of the reach move up."""
    common = math.lcm(reach.denominator, *{position.denominator for position in positions})
    scaled = [int(position * common) for position in positions]
    limit, last, found = int(reach * common), 0, []
    for place, position in enumerate(scaled):
        last = max(last, place)
        while last + 1 < len(scaled) and scaled[last + 1] - position <= limit:
            last += 1
        found.append(last)
    return np.arange(len(scaled), dtype=np.int64), np.array(found, dtype=np.int64)


def _near_places(attribute: PointsAttribute, reach: float) -> Pairs:
    size = attribute.size
    if size * (size - 1) // 2 > MAX_PAIRS:
        expected = _expected_pairs(attribute, reach)
        if expected > MAX_PAIRS:
            raise _too_many(expected)
    first, second, _ = pairs_within(attribute.coordinates, attribute.geometry, reach)
    return first, second


def _expected_pairs(attribute: PointsAttribute, reach: float) -> int:
    """An estimate from evenly spaced rows of the file, so that the memory is known before it is taken."""
    sources = np.unique(
        np.linspace(0, attribute.size - 1, max(50, _SAMPLED_DISTANCES // attribute.size)).astype(np.int64)
    )
    everyone = np.arange(attribute.size)
    near = sum(
        int(np.sum(lower_distance(attribute.coordinates, attribute.geometry, source, everyone) <= reach)) - 1
        for source in sources
    )
    return near * attribute.size // (2 * sources.size)


def _too_many(count: int, about: str = "about") -> TooLarge:
    return TooLarge(
        f"'within' selects {about} {count:,} pairs of values; at most {MAX_PAIRS:,} are handled: "
        "use a shorter distance, coarser values, or 'per'"
    )
