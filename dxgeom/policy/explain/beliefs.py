"""What a rule means to an observer: how far all releases together can move a belief, on an example."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Final

import numpy as np

from dxgeom.metrics.metric import Metric
from dxgeom.policy.bounds.bounds import Bound, ByIndividual, ByValue, Edges
from dxgeom.policy.explain.sentences import odds
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.wording import shown

OBSERVER: Final = (
    "Odds are those of an observer who may know every other record, or believe of the others anything that does not "
    "depend on this person's record."
)
_ROUNDED_DOWN: Final = 1 + Fraction(1, 10**9)
_MOST_VALUES: Final = 100_000


def belief(
    rule: ResolvedRule,
    attributes: Mapping[str, tuple[Attribute, Metric]],
    everything: Fraction | None,
    budget: Fraction,
) -> str:
    """A sentence about two values that the rule is about; empty where it selects none that could be shown.

    Definition: odds of x against y after seeing all releases ≤ e^(budget·d(x, y)) · odds before, for every prior.
    Args: each attribute with its metric, none where a table lists the records; ``everything``: the smallest bound on
    all pairs of records.
    Guarantee: the factor is *rounded up*.
    Source: Chatzikokolakis et al. 2013, Theorem 4 for neighbourhoods of two.
    """
    if rule.everything is not None:
        stated = rule.everything if everything is None else min(rule.everything, everything)
        return _sentence("one record against another", stated * budget)
    if rule.presence is not None:
        return _sentence("there being a record against there being none", rule.presence * budget)
    for name, bound in rule.bounds:
        if name not in attributes:
            return ""
        attribute, metric = attributes[name]
        pair = _example(metric, bound)
        if pair is not None:
            distance = Fraction(float(metric.distance(*pair))) * _ROUNDED_DOWN
            distance = distance if everything is None else min(distance, everything)
            one, other = (shown(attribute.labels[code]) for code in pair)
            return _sentence(f"{name} {one} against {other}", distance * budget)
    return ""


def _sentence(what: str, epsilon: Fraction) -> str:
    factor = odds(epsilon).removesuffix(" : 1")
    moved = f"all releases together move the odds of {what} by at most a factor {factor}"
    return f"whatever an observer believed before, {moved}"


def _example(metric: Metric, bound: Bound) -> tuple[int, int] | None:
    """Two values that the bound is about: an edge, or a value (the most sensitive one) and its nearest."""
    if isinstance(bound, Edges):
        return bound.pairs[0]
    start = 0
    if isinstance(bound, ByValue | ByIndividual):
        start = min(range(metric.size), key=lambda code: math.inf if (e := bound.epsilons[code]) is None else e)
    others = np.arange(min(metric.size, _MOST_VALUES))
    others = others[others != start]
    if others.size == 0:
        return None
    distances = metric.distance(start, others)
    apart = (distances > 0) & np.isfinite(distances)
    if not apart.any():
        return None
    return start, int(others[np.argmin(np.where(apart, distances, np.inf))])
