"""Fifth phase: the simplest exact description of the metric, still in exact numbers.

Each attribute's bounds are reduced to few: constants become one ceiling, sensitivities by value one list, and a bound
that another one undercuts everywhere is dropped. What is left says which structured form the metric takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.bounds.joint_bound import JointBound
from dxgeom.policy.bounds.reduction import reduced
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.resolve.rules import stated_alone
from dxgeom.universe.attributes import Attribute


@final
@dataclass(frozen=True)
class AttributeDescription:
    """The closure of ``bounds`` on one attribute, then the minimum with ``ceiling`` where there is one.

    No bounds and no ceiling: nothing about this attribute is protected.
    """

    attribute: Attribute
    bounds: tuple[Bound, ...]
    ceiling: Fraction | None


@final
@dataclass(frozen=True)
class MetricDescription:
    """The closure of attributes' distances that add and of ``joint`` bounds; then the minimum with ``ceiling``.

    ``ceiling`` bounds all pairs of records. What the ``ties`` in ``joint`` state for records that differ in one
    attribute alone is among that attribute's own bounds already. ``presence``: how far a record is from its absence,
    None where every record is present; it comes last.
    """

    parts: tuple[AttributeDescription, ...]
    ceiling: Fraction | None
    joint: tuple[JointBound, ...] = ()
    presence: Fraction | None = None

    @property
    def groups(self) -> tuple[tuple[JointBound, Fraction], ...]:
        """The constants among the joint bounds."""
        found = ((bound, bound.constant) for bound in self.joint)
        return tuple((bound, epsilon) for bound, epsilon in found if epsilon is not None)

    @property
    def ties(self) -> tuple[JointBound, ...]:
        """The others, which tie their attributes to each other."""
        return tuple(bound for bound in self.joint if bound.constant is None)


def describe(policy: ResolvedPolicy) -> MetricDescription:
    """The description of a policy's metric: the closure of all its rules."""
    everything = [rule.everything for rule in policy.rules if rule.everything is not None]
    parts = []
    for attribute in policy.universe.attributes:
        bounds, least = reduced([bound for _, bound in stated_alone(policy.rules, attribute.name)])
        parts.append(AttributeDescription(attribute, bounds, least))
    ceiling = min(everything, default=None)
    joint = list(dict.fromkeys(rule.joint for rule in policy.rules if rule.joint is not None))
    kept = tuple(bound for bound in joint if not bound.is_undercut(joint, ceiling))
    presence = [rule.presence for rule in policy.rules if rule.presence is not None]
    return MetricDescription(tuple(parts), ceiling, kept, min(presence, default=None))
