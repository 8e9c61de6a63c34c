"""The shortest path between two records before any ceiling: attribute by attribute, block by block, and by groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TypeAlias, final

from dxgeom.policy.axes.axis import Amount
from dxgeom.policy.explain.paths.block_path import BlockBounds
from dxgeom.policy.explain.paths.shortest_path import AttributeRules, Combination, Step
from dxgeom.policy.lower.blocks import Block, blocks_of, only_tie
from dxgeom.policy.lower.describe import MetricDescription
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.resolve.rules import ResolvedRule, stated_alone


@final
@dataclass(frozen=True)
class RecordStep:
    """A step that changes the attributes at ``places``, from codes to codes, under one rule."""

    places: Block
    start: Combination
    end: Combination
    rule: ResolvedRule
    bound: Amount


@final
@dataclass(frozen=True)
class Hop:
    """One step of the path: from one value of an attribute to another.

    ``attribute`` is None when several change at once: those in ``together``, or whatever there is when it is empty.
    A step to the absent record ends at "no record", and one from it starts there.
    """

    attribute: str | None
    start: str
    end: str
    bound: Amount
    line: int
    rule: str
    together: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class RecordPath:
    """The steps of a shortest path; infinite when no chain of rules joins the values of the attributes in ``apart``."""

    steps: tuple[RecordStep, ...]
    apart: tuple[str, ...]
    length: Amount


_Way: TypeAlias = tuple[Amount, tuple[RecordStep, ...]]
"""The length of some steps, and the steps."""


def record_path(
    policy: ResolvedPolicy, description: MetricDescription, start: Sequence[int], end: Sequence[int]
) -> RecordPath:
    """A shortest path under all rules but those about all pairs.

    Some blocks move under their own rules, the others under a constant for several attributes at once: the best choice
    is found by covering the first block that has to move in every way there is.
    Raises: TooLarge, UnsupportedCombination.
    """
    blocks = blocks_of(description)
    moved = tuple(block for block in blocks if any(start[place] != end[place] for place in block))
    alone = {block: _inside(policy, description, block, start, end) for block in moved}
    exact = all(way_is_exact for _, way_is_exact in alone.values())
    groups = [rule for rule in policy.rules if rule.constant is not None and rule.joint in description.joint]
    covers = [(rule, frozenset(_covered(policy, rule, moved))) for rule in groups]

    @cache
    def shortest(left: tuple[Block, ...]) -> _Way:
        if not left:
            return Fraction(0), ()
        length, steps = shortest(left[1:])
        (own, own_steps), _ = alone[left[0]]
        best = (own + length, own_steps + steps)
        for rule, covered in covers:
            if left[0] in covered:
                taken = tuple(block for block in left if block in covered)
                length, steps = shortest(tuple(block for block in left if block not in covered))
                jump = _jump(rule, taken, start, end)
                best = min(best, (jump.bound + length, (jump, *steps)), key=lambda way: way[0])
        return best

    length, steps = shortest(moved)
    names = policy.universe.names
    joined = frozenset[Block]().union(*(covered for _, covered in covers))
    apart = tuple(names[block[0]] for block in moved if alone[block][0][0] == math.inf and block not in joined)
    return RecordPath(() if apart else steps, apart, length if exact or length == math.inf else float(length))


def _jump(rule: ResolvedRule, blocks: Sequence[Block], start: Sequence[int], end: Sequence[int]) -> RecordStep:
    places = tuple(sorted(place for block in blocks for place in block if start[place] != end[place]))
    epsilon = rule.constant if rule.constant is not None else Fraction(0)
    before, after = (tuple(codes[place] for place in places) for codes in (start, end))
    return RecordStep(places, before, after, rule, epsilon)


def _covered(policy: ResolvedPolicy, rule: ResolvedRule, blocks: Sequence[Block]) -> list[Block]:
    names = rule.names(policy.universe.names)
    return [block for block in blocks if all(policy.universe.names[place] in names for place in block)]


def _inside(
    policy: ResolvedPolicy, description: MetricDescription, block: Block, start: Sequence[int], end: Sequence[int]
) -> tuple[_Way, bool]:
    """The way through one block under its own rules, infinite when there is none; and whether its length is exact."""
    attributes = tuple(policy.universe.attributes[place] for place in block)
    bounds: AttributeRules | BlockBounds
    if len(block) == 1:
        bounds = AttributeRules(attributes[0], stated_alone(policy.rules, attributes[0].name))
    else:
        names = {attribute.name for attribute in attributes}
        inside = tuple(rule for rule in policy.rules if rule.everything is None and _is_inside(rule, names))
        bounds = BlockBounds(attributes, inside, only_tie(block, description) is not None)
    before, after = (tuple(codes[place] for place in block) for codes in (start, end))
    steps = bounds.path(before, after)
    if steps is None:
        return (math.inf, ()), True
    found = tuple(step_inside(block, one) for one in steps)
    return (sum((step.bound for step in found), Fraction(0)), found), bounds.exact


def step_inside(block: Block, step: Step) -> RecordStep:
    """A step of a block as one of the attributes that it changes."""
    moves = [(place, a, b) for place, a, b in zip(block, step.start, step.end, strict=True) if a != b]
    places, here, there = (tuple(move[field] for move in moves) for field in range(3))
    return RecordStep(places, here, there, step.rule, step.bound)


def _is_inside(rule: ResolvedRule, names: set[str]) -> bool:
    if rule.joint is not None:
        return set(rule.joint.names) <= names
    return any(name in names for name, _ in rule.bounds)
