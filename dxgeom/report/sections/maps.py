"""A map of an attribute of places, with circles where the bands end."""

from __future__ import annotations

import math
from typing import Final

from dxgeom.policy.axes.places import PlacesAxis
from dxgeom.policy.bounds.per_distance import PerDistance
from dxgeom.policy.bounds.threshold import Threshold
from dxgeom.report.document.blocks import Picture
from dxgeom.report.drawing.place_map import flat, place_map
from dxgeom.report.facts.comparisons import PairDistances
from dxgeom.report.facts.facts import Facts
from dxgeom.universe.places import PointsAttribute
from dxgeom.wording.numbers import BANDS, amount, digits, odds

_MOST_RINGS: Final = 4
_CAPTION: Final = (
    "Each dot is a place, at one scale in all directions. Around the orange one, circles show how far two places may "
    "be from each other for the odds written on them, whole budget."
)


def map_of(facts: Facts, one: PairDistances) -> Picture | None:
    """The map, where the attribute is of places and their distance counts."""
    attribute = next((each for each in facts.policy.universe.attributes if each.name == one.name), None)
    present = None if attribute is None else attribute.present
    if not isinstance(present, PointsAttribute):
        return None
    spots = flat(present.coordinates, present.geometry)
    rings = _rings(facts, one.name, present.unit or "")
    scene = place_map(one.name, present.labels, spots, present.unit or "", rings)
    return Picture(scene, _CAPTION if rings else "Each dot is a place, at one scale in all directions.")


def _rings(facts: Facts, name: str, unit: str) -> list[tuple[float, str]]:
    """How far places are from each other where a rule by distance reaches the end of a band."""
    found: list[tuple[float, str]] = []
    for rule in facts.policy.rules:
        bound = dict(rule.bounds).get(name)
        if isinstance(bound, Threshold) and isinstance(bound.axis, PlacesAxis):
            near = f"{odds(float(bound.epsilon) * facts.budget)}, within {amount(bound.reach)} {unit}"
            found.append((float(bound.reach), near.rstrip()))
        elif isinstance(bound, PerDistance) and isinstance(bound.axis, PlacesAxis):
            found += _growing(bound, facts.budget, unit)
    return found[:_MOST_RINGS]


def _growing(bound: PerDistance, budget: float, unit: str) -> list[tuple[float, str]]:
    each = float(bound.rate) * budget
    limits = [(one.most, math.log(one.most)) for one in BANDS[:-1]]
    return [
        (limit / each, f"{amount(most)} to 1, about {digits(limit / each, 2)} {unit}".rstrip())
        for most, limit in limits
        if limit > float(bound.floor) * budget
    ]
