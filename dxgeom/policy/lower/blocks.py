"""Fifth phase: the simplest exact description of the metric, and which attributes must be looked at together.

Each attribute's bounds are reduced to few: constants become one ceiling, sensitivities by value one list, and a bound
that another one undercuts everywhere is dropped. What is left says which structured form the metric takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, final

from dxgeom.errors import TooLarge
from dxgeom.metrics.combinations import Group, ReorderedMetric, grouped
from dxgeom.metrics.families import pairs_along_axes
from dxgeom.metrics.metric import Metric, PairBlock
from dxgeom.policy.bounds.bound import MIXED_SIZE_LIMIT, Bound, closed
from dxgeom.policy.bounds.joint_bounds import JointBound
from dxgeom.policy.bounds.value_bounds import reduced
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


MOST_GROUPS: Final = 12
"""Every set of groups may be the one a shortest path uses."""

Block: TypeAlias = tuple[int, ...]
"""The places of some attributes, increasing."""


def blocks_of(description: MetricDescription) -> tuple[Block, ...]:
    """The finest partition of the attributes into blocks that no bound ties to each other but whole, by first place.

    A largest change ties its attributes. A constant for several attributes does not, where it covers whole blocks; one
    that covers a block in part ties all that it touches.
    """
    blocks = [{place} for place in range(len(description.parts))]
    for bound in description.ties:
        blocks = _tied(blocks, set(places_of(description, bound)))
    groups = [set(places_of(description, bound)) for bound, _ in description.groups]
    while crossing := next((group for group in groups if _crosses(group, blocks)), None):
        blocks = _tied(blocks, crossing)
    return tuple(sorted(tuple(sorted(block)) for block in blocks))


def places_of(description: MetricDescription, bound: JointBound) -> Block:
    """The places of the attributes that a joint bound is about."""
    return tuple(place for place, part in enumerate(description.parts) if part.attribute.name in bound.names)


def _tied(blocks: Sequence[set[int]], places: set[int]) -> list[set[int]]:
    touched = [block for block in blocks if block & places]
    return [*(block for block in blocks if not block & places), set[int]().union(*touched)]


def _crosses(group: set[int], blocks: Sequence[set[int]]) -> bool:
    """Whether a group covers a part of some block and something outside it; inside one block nothing is left to tie."""
    return any(group & block and block - group and group - block for block in blocks)


def joined(description: MetricDescription, parts: Sequence[Metric]) -> Metric:
    """The metric of all attributes before the ceiling, from each attribute's own.

    Raises: TooLarge.
    """
    blocks = blocks_of(description)
    metrics = [_of_block(block, description, parts) for block in blocks]
    groups = []
    for bound, epsilon in description.groups:
        covered = set(places_of(description, bound))
        places = tuple(number for number, block in enumerate(blocks) if covered.issuperset(block))
        if places:
            groups.append(Group(places, epsilon))
    if len(groups) > MOST_GROUPS:
        raise TooLarge(
            f"{len(groups)} constants for several attributes together, none of them undercut by another; at most "
            f"{MOST_GROUPS} are handled: leave out those that matter least, or join some"
        )
    inner = grouped(metrics, groups)
    order = tuple(place for block in blocks for place in block)
    if order == tuple(range(len(parts))):
        return inner
    return ReorderedMetric(inner, tuple(part.size for part in parts), order)


def _of_block(block: Block, description: MetricDescription, parts: Sequence[Metric]) -> Metric:
    if len(block) == 1:
        return parts[block[0]]
    shape = tuple(parts[place].size for place in block)
    alone = only_tie(block, description)
    if alone is not None:
        return alone.metric([parts[place] for place in block])
    _refuse_large(block, description, "are tied by rules of different kinds")
    return closed(math.prod(shape), _pairs(block, shape, description, parts))


def only_tie(block: Block, description: MetricDescription) -> JointBound | None:
    """The bound that ties a block of several attributes, where it is all that is said inside."""
    bounds = [bound for bound in description.joint if places_of(description, bound) == block]
    inside = [bound for bound in description.joint if set(places_of(description, bound)) <= set(block)]
    ties = [bound for bound in bounds if bound.constant is None]
    if len(ties) != 1 or any(bound not in bounds for bound in inside):
        return None
    parts = [description.parts[place] for place in block]
    alone = all(part.bounds == (ties[0].alone(part.attribute.name),) and part.ceiling is None for part in parts)
    return ties[0] if alone else None


def _pairs(
    block: Block, shape: Sequence[int], description: MetricDescription, parts: Sequence[Metric]
) -> Iterator[PairBlock]:
    """What every bound inside the block states: together these pairs generate its metric."""
    for axis, place in enumerate(block):
        yield from pairs_along_axes(shape, (axis,), parts[place])
    for bound in description.joint:
        places = places_of(description, bound)
        if not set(places) <= set(block):
            continue
        if bound.constant is None or len(places) < len(block):
            own = [description.parts[place].attribute for place in places]
            forms = [bound.alone(attribute.name).metric(attribute.size) for attribute in own]
            yield from pairs_along_axes(shape, tuple(block.index(place) for place in places), bound.metric(forms))


def _refuse_large(block: Block, description: MetricDescription, why: str) -> None:
    attributes = [description.parts[place].attribute for place in block]
    size = math.prod(attribute.size for attribute in attributes)
    if size > MIXED_SIZE_LIMIT:
        names = ", ".join(f"'{attribute.name}'" for attribute in attributes)
        raise TooLarge(
            f"the attributes {names} {why}, and have {size:,} combinations of values; at most {MIXED_SIZE_LIMIT:,} "
            "are handled: use fewer or coarser values, equal steps, or separate rules"
        )
