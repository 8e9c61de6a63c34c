"""Fifth phase: the simplest exact description of the metric, still in exact numbers.

Each attribute's bounds are reduced to few: constants become one ceiling, sensitivities by value one list, and a bound
that another one undercuts everywhere is dropped. What is left says which structured form the metric takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dxgeom.policy.bounds.bounds import (
    AllAtOnce,
    Blocks,
    Bound,
    ByIndividual,
    ByValue,
    Constant,
    Edges,
    Growing,
    JointBound,
    LargestChange,
    Near,
)
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
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

    ``ceiling`` bounds all pairs of records. What the largest changes in ``joint`` state for records that differ in one
    attribute alone is among that attribute's own bounds already. ``presence``: how far a record is from its absence,
    None where every record is present; it comes last.
    """

    parts: tuple[AttributeDescription, ...]
    ceiling: Fraction | None
    joint: tuple[JointBound, ...] = ()
    presence: Fraction | None = None

    @property
    def groups(self) -> tuple[AllAtOnce, ...]:
        """The constants among the joint bounds."""
        return tuple(bound for bound in self.joint if isinstance(bound, AllAtOnce))

    @property
    def largest(self) -> tuple[LargestChange, ...]:
        """The largest changes among the joint bounds."""
        return tuple(bound for bound in self.joint if isinstance(bound, LargestChange))


def describe(policy: ResolvedPolicy) -> MetricDescription:
    """The description of a policy's metric: the closure of all its rules."""
    everything = [rule.everything for rule in policy.rules if rule.everything is not None]
    parts = []
    for attribute in policy.universe.attributes:
        stated = [bound for rule in policy.rules for name, bound in rule.bounds if name == attribute.name]
        parts.append(_simplest(attribute, [*stated, *_largest_of(attribute, policy)]))
    ceiling = min(everything, default=None)
    joint = list(dict.fromkeys(rule.joint for rule in policy.rules if rule.joint is not None))
    kept = tuple(bound for bound in joint if not is_undercut(bound, joint, ceiling))
    presence = [rule.presence for rule in policy.rules if rule.presence is not None]
    return MetricDescription(tuple(parts), ceiling, kept, min(presence, default=None))


def _largest_of(attribute: Attribute, policy: ResolvedPolicy) -> Sequence[Bound]:
    rules = [rule for rule in policy.rules if isinstance(rule.joint, LargestChange)]
    return [bound for rule in rules if (bound := rule.alone(attribute.name)) is not None]


def is_undercut(bound: JointBound, others: Sequence[JointBound], ceiling: Fraction | None) -> bool:
    """Whether one of the others (or the ceiling on all pairs) is at most this one on every pair that it bounds."""
    if isinstance(bound, AllAtOnce):
        return (ceiling is not None and ceiling <= bound.epsilon) or any(
            isinstance(other, AllAtOnce)
            and other != bound
            and other.epsilon <= bound.epsilon
            and set(bound.names) <= set(other.names)
            for other in others
        )
    return any(isinstance(other, LargestChange) and other != bound and _below(other, bound) for other in others)


def _below(other: LargestChange, bound: LargestChange) -> bool:
    lower = dict(zip(other.names, other.each, strict=True))
    pairs = [(lower.get(name), one) for name, one in zip(bound.names, bound.each, strict=True)]
    return all(less is not None and less.axis == one.axis and less.rate <= one.rate for less, one in pairs)


def _simplest(attribute: Attribute, stated: Sequence[Bound]) -> AttributeDescription:
    """A ceiling may be applied after the closure: a path through a pair bounded by ε is itself at least ε long."""
    ceiling = min((bound.epsilon for bound in stated if isinstance(bound, Constant)), default=None)
    by_value = [bound for bound in stated if isinstance(bound, ByValue)]
    rest = list(
        dict.fromkeys(bound for bound in stated if isinstance(bound, Growing | Near | Edges | Blocks | ByIndividual))
    )
    kept: list[Bound] = [bound for bound in rest if not _undercut(bound, rest, ceiling)]
    if by_value:
        # The list takes the ceiling in.
        return AttributeDescription(attribute, (_merged(by_value, ceiling), *kept), None)
    return AttributeDescription(attribute, tuple(kept), ceiling)


def _merged(lists: Sequence[ByValue], ceiling: Fraction | None) -> ByValue:
    """min(min(a_i, a_j), min(b_i, b_j)) = min(min(a_i, b_i), min(a_j, b_j)), and the same with a constant."""
    columns = zip(*(bound.epsilons for bound in lists), strict=True)
    return ByValue(tuple(min((e for e in (*column, ceiling) if e is not None), default=None) for column in columns))


def _undercut(bound: Bound, others: Sequence[Bound], ceiling: Fraction | None) -> bool:
    """Whether another bound is at most this one on every pair (and the bounds differ)."""
    match bound:
        case Growing(axis=axis, rate=rate, floor=floor):
            return (ceiling is not None and ceiling <= floor) or any(
                isinstance(other, Growing)
                and other != bound
                and other.axis == axis
                and other.rate <= rate
                and other.floor <= floor
                for other in others
            )
        case Near(axis=axis, epsilon=epsilon, reach=reach):
            return (ceiling is not None and ceiling <= epsilon) or any(
                other != bound and other.axis == axis and _near_by_others(other, epsilon, reach)
                for other in others
                if isinstance(other, Near | Growing)
            )
        case ByIndividual(epsilons=epsilons):
            nearest = sorted(epsilon for epsilon in epsilons if epsilon is not None)[:2]
            return (ceiling is not None and ceiling <= sum(nearest)) or any(
                isinstance(other, ByIndividual) and other != bound and _nowhere_above(other, bound) for other in others
            )
        case Edges(epsilons=epsilons):
            return ceiling is not None and ceiling <= min(epsilons)
        case Blocks(epsilon=epsilon):
            return (ceiling is not None and ceiling <= epsilon) or any(
                isinstance(other, Blocks)
                and other != bound
                and other.epsilon <= epsilon
                and len(set(zip(bound.blocks, other.blocks, strict=True))) == len(set(bound.blocks))
                for other in others
            )
        case _:
            return False


def _nowhere_above(one: ByIndividual, other: ByIndividual) -> bool:
    pairs = zip(one.epsilons, other.epsilons, strict=True)
    return all(theirs is None or (mine is not None and mine <= theirs) for mine, theirs in pairs)


def _near_by_others(other: Near | Growing, epsilon: Fraction, reach: Fraction) -> bool:
    """Whether ``other`` is at most ε on all pairs within ``reach``."""
    if isinstance(other, Near):
        return other.epsilon <= epsilon and other.reach >= reach
    return max(other.floor, other.rate * reach) <= epsilon
