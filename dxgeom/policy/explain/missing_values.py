"""What a policy says of values that may be missing, for its author to read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from dxgeom.metrics.combinations import OneMoreMetric
from dxgeom.metrics.diameters import closed_form
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import round_down, round_up
from dxgeom.policy.explain.tightening import EXAMINED_SIZE, EXAMINED_WORK, work_of
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import plain


@final
@dataclass(frozen=True)
class MissingReview:
    """What it means that an attribute may be missing.

    ``epsilon``: how far the missing value is from every other, None where it is public whether there is one;
    ``before`` and ``after``: the largest distance of values that are there, without and with it, by the attribute's own
    rules and ceilings; None where it is not known.
    """

    attribute: str
    epsilon: Fraction | None
    before: float | None
    after: float | None

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"'{self.attribute}' may be missing, and whether it is, is told exactly (missing: public)"
        far = f"'{self.attribute}' may be missing, {plain(self.epsilon)} from every value"
        if self.before is None or self.after is None:
            return far
        if self.before == math.inf:
            return f"{far}: that joins values that no rule joins, which are now at most {self.after:.4g} apart"
        if self.after >= self.before:
            return f"{far}: that lowers no distance (half of the largest, {self.before:.4g}, or more never does)"
        return (
            f"{far}: the largest distance of two values falls from {self.before:.4g} to {self.after:.4g}, the noise "
            f"that hides it grows by up to {self.before / self.after:.4g}; from epsilon {self.before / 2:.4g} on "
            "nothing falls"
        )

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON; infinite distances are written "inf"."""
        before = "inf" if self.before == math.inf else self.before
        return {
            "attribute": self.attribute,
            "public": self.epsilon is None,
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "largest_without": before,
            "largest_with": self.after,
            "factor": self.before / self.after if self.before and self.after and self.before < math.inf else None,
        }


def missing_reviews(policy: ResolvedPolicy, parts: tuple[Metric, ...]) -> tuple[MissingReview, ...]:
    """One for each attribute that may be missing; ``parts``: their metrics, none where a table lists the records."""
    metrics = parts or (None,) * len(policy.universe.attributes)
    each = zip(policy.universe.attributes, metrics, strict=True)
    return tuple(
        _of_attribute(policy, attribute, metric) for attribute, metric in each if attribute.missing is not None
    )


def _of_attribute(policy: ResolvedPolicy, attribute: Attribute, metric: Metric | None) -> MissingReview:
    if attribute.name in policy.public:
        return MissingReview(attribute.name, None, None, None)
    own = [rule.alone(attribute.name) for rule in policy.rules if rule.missing]
    stated = min(bound.extremes[0] for bound in own if bound is not None)
    if not isinstance(metric, OneMoreMetric):
        return MissingReview(attribute.name, stated, None, None)
    ceilings = [rule.constant for rule in policy.rules if _covers(rule, attribute.name) and rule.constant is not None]
    ceilings += [2 * rule.presence for rule in policy.rules if rule.presence is not None]
    most = min((round_up(one) for one in ceilings), default=math.inf)
    before = _diameter(metric.inner)
    after = None if before is None else min(before, 2 * round_down(stated), most)
    return MissingReview(attribute.name, stated, None if before is None else min(before, most), after)


def _covers(rule: ResolvedRule, name: str) -> bool:
    return name in rule.names([name])


def _diameter(metric: Metric) -> float | None:
    """The largest distance; None where there are too many values to look and it is not known otherwise."""
    if metric.size > EXAMINED_SIZE or work_of(metric) > EXAMINED_WORK:
        return closed_form(metric)[0]
    codes = np.arange(metric.size)
    return float(metric.distance(codes[:, None], codes[None, :]).max())
