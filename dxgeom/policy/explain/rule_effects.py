"""Rules that change nothing: because they select no pair, or because the others ask for more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from dxgeom.numeric.rounding import round_down, round_up
from dxgeom.policy.explain.tightening import LISTED, AttributeExamination
from dxgeom.policy.resolve.rules import ResolvedRule

_TOLERANCE: Final = 1e-9
"""Distances are each rounded down; a ceiling this near to their sum may bind."""


def idle(number: int, rule: ResolvedRule, examined: Mapping[str, AttributeExamination]) -> bool:
    """Whether a rule selects no pair of any attribute it is about; an attribute too large to look at counts as some."""
    about = [LISTED] if LISTED in examined else rule.names(examined)
    return rule.presence is None and all(number in examined[name].idle for name in about)


def redundant(
    number: int, rule: ResolvedRule, rules: Sequence[ResolvedRule], examined: Mapping[str, AttributeExamination]
) -> bool:
    """Whether the metric is the same without a rule because it gives less on every pair; not sure counts as no."""
    if idle(number, rule, examined):
        return False
    nearest = min((other.presence for other in rules if other.presence is not None), default=None)
    if rule.presence is not None and nearest is not None:
        return nearest < rule.presence
    constant = rule.constant
    if nearest is not None and constant is not None and 2 * nearest < constant:
        return True
    if LISTED in examined:
        return number in examined[LISTED].slack
    if rule.joint is not None and constant is None:
        joint = [other.joint for other in rules if other.joint is not None]
        return rule.joint.is_undercut(joint, None)
    if constant is None:
        about = [examined[name] for name, _ in rule.bounds]
        return all(number in one.slack or number in one.idle for one in about)
    # Records may differ in all of these attributes at once: then the distances add, or other constants cover some.
    names = set(rule.names(examined))
    farthest = {name: math.inf if one.diameter is None else one.diameter for name, one in examined.items()}
    others = [(other.constant, set(other.names(examined))) for other in rules if other.constant is not None]
    if any(epsilon <= constant and names < wider for epsilon, wider in others):
        return True
    ways = [0.0, *(round_up(epsilon) for epsilon, _ in others)]
    covered = [set[str](), *(wider for _, wider in others)]
    most = min(way + sum(farthest[name] for name in names - cover) for way, cover in zip(ways, covered, strict=True))
    return most * (1 + _TOLERANCE) < round_down(constant)
