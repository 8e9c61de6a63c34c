"""Who is near whom: values of an attribute as places of a picture, and the shortest way between two of them."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.document.page import html_of
from dxgeom.document.scenes import MOST_VALUES, flat
from dxgeom.errors import UnsupportedCombination
from dxgeom.policy.explain.tightening import LISTED
from dxgeom.policy.policy import Policy
from dxgeom.privacy.measures import PURE
from dxgeom.report.facts import spoken
from dxgeom.report.rules import heat_map_of
from dxgeom.studio.comparing import reasons
from dxgeom.studio.draft import TriedPolicy, in_words
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.places import PointsAttribute

MOST_SHOWN: Final = 2000
"""Values that a picture has room for."""
_MOST_EDGES: Final = 400
_LEAST_GUESSES: Final = 500


def nearness(before: TriedPolicy, now: TriedPolicy, attribute: str, first: int, second: int) -> dict[str, Any]:
    """How well every value of an attribute is hidden from the ``first``, and why the ``second`` is as far as it is.

    Where the attribute is not there, its first is taken; a value that is not there is the first, or the last.
    """
    policy = now.policy
    if policy is None:
        raise UnsupportedCombination("the policy has mistakes: mend them first")
    names = _names(policy)
    if not names:
        raise UnsupportedCombination("there are too many possible records, or values, to show them one by one")
    name = attribute if attribute in names else next(iter(names))
    labels = labels_of(policy, name)
    first, second = (k if 0 <= k < len(labels) else other for k, other in ((first, 0), (second, len(labels) - 1)))
    told = distances_from(policy, name, first, len(labels)) * float(policy.budget)
    why = reasons(before, now, name, first, second)["now"]
    nodes, kind = _placed(policy, name, len(labels))
    return {
        "attributes": names,
        "attribute": name,
        "first": first,
        "second": second,
        "kind": kind,
        "nodes": [
            {"x": x, "y": y, "words": words, **_said(policy, float(distance))}
            for (x, y), words, distance in zip(nodes, labels, told, strict=True)
        ],
        "edges": _edges(policy, name, kind),
        "way": _way(why, _raw_labels(policy, name), first, second),
        "reason": why,
        "heat": _heat(now, name) if 2 < len(labels) <= MOST_VALUES else "",
    }


def _names(policy: Policy) -> dict[str, str]:
    """The attributes that can be shown, and what readers know them as."""
    universe = policy.universe
    if universe.listed is not None:
        return {LISTED: LISTED} if universe.record_types <= MOST_SHOWN else {}
    if not universe.indexable:
        return {}
    small = (one for one in universe.attributes if 1 < one.size <= MOST_SHOWN)
    return {one.name: policy.labels.attribute(one.name) for one in small}


def _attribute(policy: Policy, name: str) -> Attribute:
    return next(one for one in policy.universe.attributes if one.name == name)


def _raw_labels(policy: Policy, name: str) -> tuple[str, ...]:
    universe = policy.universe
    if name == LISTED:
        return tuple(", ".join(universe.record(k).values()) for k in range(universe.record_types))
    return _attribute(policy, name).labels


def labels_of(policy: Policy, name: str) -> list[str]:
    """An attribute's values, as readers know them."""
    raw = _raw_labels(policy, name)
    return list(raw) if name == LISTED else [spoken(policy.labels.value(name, label)) for label in raw]


def distances_from(policy: Policy, name: str, first: int, size: int) -> NDArray[np.float64]:
    """From one value to each, *rounded down*, by the compiled metric."""
    step = 1
    if name != LISTED:
        for one in reversed(policy.universe.attributes):
            if one.name == name:
                break
            step *= one.size
    here, every = np.full(size, first * step), np.arange(size) * step
    return np.asarray(np.maximum(policy.metric.distance(here, every), policy.metric.distance(every, here)))


def _said(policy: Policy, told: float) -> dict[str, Any]:
    found = in_words(policy, told)
    looks = {"look": found["look"] or _look(int(found["right"].replace(",", "")))}
    return {"odds": found["odds"], "right": found["right"], "band": found["band"], **looks}


def _look(right: int) -> str:
    """A colour for guesses, where no odds always hold."""
    ends = (552, 732, 953, 1000)
    return f"band-{1 + sum(right > end - 1 for end in ends)}" if right > _LEAST_GUESSES else "band-1"


def _placed(policy: Policy, name: str, size: int) -> tuple[list[tuple[float, float]], str]:
    """Where values stand in a picture, within −1 and 1: on a map, along a line, or in a circle."""
    if name != LISTED:
        present = _attribute(policy, name).present
        if isinstance(present, PointsAttribute):
            return _on_a_map(flat(present.coordinates, present.geometry), size), "map"
        bounds = [one for one in (rule.alone(name) for rule in policy.rules) if one is not None]
        if any(one.in_order for one in bounds):
            return _on_a_line(distances_from(policy, name, 0, size)), "line"
    turns = (2 * math.pi * k / size - math.pi / 2 for k in range(size))
    return [(round(math.cos(turn), 4), round(math.sin(turn), 4)) for turn in turns], "graph"


def _on_a_map(spots: NDArray[np.float64], size: int) -> list[tuple[float, float]]:
    """North is above; what is no place, such as a missing one, stands in the corner below."""
    low, high = spots.min(axis=0), spots.max(axis=0)
    middle, half = (low + high) / 2, max(float((high - low).max()) / 2, 1e-9)
    found = [(round(float(x), 4), round(float(-y), 4)) for x, y in (spots - middle) / half]
    return [*found, *[(-1.0, 1.0)] * (size - len(found))]


def _on_a_line(away: NDArray[np.float64]) -> list[tuple[float, float]]:
    """As far from the first value as the policy has them; at even steps where that has no end."""
    ends = away if np.all(np.isfinite(away)) and away.max() > 0 else np.arange(away.size, dtype=np.float64)
    return [(round(float(2 * one / ends.max() - 1), 4), 0.0) for one in ends]


def _edges(policy: Policy, name: str, kind: str) -> list[tuple[int, int]]:
    """The pairs that rules state one by one, where a picture has room for them; of a line none."""
    if name == LISTED or kind == "line":
        return []
    found: set[tuple[int, int]] = set()
    for rule in policy.rules:
        bound = rule.alone(name)
        pairs = None if bound is None else bound.few_pairs()
        if pairs is not None and pairs[0].size <= _MOST_EDGES:
            found |= set(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True))
    return sorted(found) if len(found) <= _MOST_EDGES else []


def _way(why: dict[str, Any], labels: tuple[str, ...], first: int, second: int) -> list[int]:
    """The values that the shortest path goes through."""
    place = {label: code for code, label in enumerate(labels)}
    between = [place[step["to"]] for step in why["steps"] if step["to"] in place]
    return [first, *between] if between and between[-1] == second else [first, second]


def _heat(now: TriedPolicy, name: str) -> str:
    facts = now.facts
    if facts is None or facts.policy.privacy != PURE:
        return ""
    one = next((each for each in facts.compared if each.name == name), None)
    return html_of([heat_map_of(facts, one)]) if one is not None else ""
