"""Shortest paths between values, blocks and records, listed or not, each step with the rule that bounds it."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, Final, TypeAlias, final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.policy.axes import Amount, Codes, Row
from dxgeom.policy.bounds.bound import Bound, common_unit
from dxgeom.policy.bounds.joint_bounds import JointBound, Table
from dxgeom.policy.bounds.value_bounds import reduced
from dxgeom.policy.lower.blocks import Block, MetricDescription, blocks_of, only_tie
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.resolve.rules import ResolvedRule, stated_alone
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.wording import shown

MOST_VALUES: Final = 20_000
_MOST_EXACT: Final = 2000
"""Exact whole numbers of any size are compared one by one: ten times slower than float64."""

Steps: TypeAlias = Callable[[int], tuple[Codes, Row]]
"""From a node, other nodes (each once) and the bound of a step to each; ∞ is no step."""


Combination: TypeAlias = tuple[int, ...]
"""A code of each of some attributes."""


@final
@dataclass(frozen=True)
class Step:
    """From the codes of some attributes to the next ones, under one rule.

    ``bound`` is exact, or a float *rounded down* between places.
    """

    rule: ResolvedRule
    start: Combination
    end: Combination
    bound: Amount


@final
@dataclass(frozen=True)
class AttributeRules:
    """What the policy's rules state about one attribute, rule by rule, before any closure."""

    attribute: Attribute
    as_written: tuple[tuple[ResolvedRule, Bound], ...]

    @property
    def exact(self) -> bool:
        """Whether the shortest path is found in exact numbers; otherwise in float64, and exact up to its rounding."""
        stated_exactly = all(bound.exact for _, bound in self.as_written)
        return stated_exactly and (self._straight or self.attribute.size <= _MOST_EXACT)

    def path(self, start: Combination, end: Combination) -> tuple[Step, ...] | None:
        """The steps of a shortest path, none when the code is the same; None when no chain of rules joins the two.

        Raises: TooLarge.
        """
        if start == end:
            return ()
        (here,), (there,) = start, end
        if self._straight:
            # No rule, or two parts of a graph, or two blocks.
            nodes = [here, there] if self.as_written and self._step(here, there).bound < math.inf else None
        elif self.attribute.size > MOST_VALUES:
            raise TooLarge(
                f"the attribute {shown(self.attribute.name)} has {self.attribute.size:,} values; "
                f"paths through its rules are sought among at most {MOST_VALUES:,}"
            )
        else:
            kind = object if self.exact else np.float64
            nodes = shortest_path(self.attribute.size, here, there, self._steps(), kind)
        return None if nodes is None else tuple(map(self._step, nodes, nodes[1:]))

    def _step(self, start: int, end: int) -> Step:
        """The direct step between different codes, by the rule that states least; ∞ where none states anything."""
        each = [(bound.between(start, end), rule) for rule, bound in self.as_written]
        bound, rule = min(each, key=lambda one: one[0])
        return Step(rule, (start,), (end,), bound)

    @cached_property
    def _straight(self) -> bool:
        """A detour never pays under constants and one bound that is a metric as it stands."""
        bounds, _ = reduced([bound for _, bound in self.as_written])
        return not bounds or (len(bounds) == 1 and bounds[0].closed)

    def _steps(self) -> Steps:
        """The smallest stated bound from one code to every code, in units that are whole numbers where it is exact."""
        size = self.attribute.size
        unit = common_unit(bound.denominator for _, bound in self.as_written) if self.exact else None
        rows = [bound.rows(size, unit) for _, bound in self.as_written]
        everyone = np.arange(size)
        return lambda code: (everyone, np.minimum.reduce([row(code) for row in rows]))


def shortest_path(size: int, start: int, end: int, steps: Steps, numbers: Any) -> list[int] | None:
    """The nodes 0..size-1 of a shortest path, None where there is none (Dijkstra).

    A detour replaces a direct step only when it is strictly shorter; of nodes equally far the lowest goes first.
    Args: ``numbers``, the kind of what is added up: object for exact numbers, else float64.
    """
    reached = np.full(size, math.inf, dtype=numbers)
    reached[start] = 0
    before = np.full(size, start)
    done = np.zeros(size, dtype=bool)
    waiting: list[tuple[Any, int]] = [(reached[start], start)]
    while waiting and not done[end]:
        length, node = heapq.heappop(waiting)
        if done[node]:
            continue
        done[node] = True
        others, bounds = steps(node)
        through = length + bounds
        shorter = ~done[others] & np.asarray(through < reached[others], dtype=bool)
        better, lengths = others[shorter], through[shorter]
        reached[better], before[better] = lengths, node
        for waits in zip(lengths.tolist(), better.tolist(), strict=True):
            heapq.heappush(waiting, waits)
    if not done[end]:
        return None
    nodes = [end]
    while nodes[-1] != start:
        nodes.append(int(before[nodes[-1]]))
    return nodes[::-1]


@final
@dataclass(frozen=True)
class BlockBounds:
    """What rules state inside a block of attributes; ``direct``: one largest change is all, so no detour is shorter."""

    attributes: tuple[Attribute, ...]
    rules: tuple[ResolvedRule, ...]
    direct: bool

    @property
    def exact(self) -> bool:
        """Whether paths are found in exact numbers."""
        return all(denominator is not None for denominator in self._denominators())

    def path(self, start: Combination, end: Combination) -> tuple[Step, ...]:
        """The steps of a shortest path; there always is one, because the rules that tie a block join its values."""
        if start == end:
            return ()
        if self.direct:
            return (self.step(start, end),)
        shape = tuple(attribute.size for attribute in self.attributes)
        ends = [int(np.ravel_multi_index(codes, shape)) for codes in (start, end)]
        kind = object if self.exact else np.float64
        nodes = shortest_path(math.prod(shape), ends[0], ends[1], self._steps(shape), kind) or []
        codes = [tuple(int(code) for code in np.unravel_index(node, shape)) for node in nodes]
        return tuple(map(self.step, codes, codes[1:]))

    def step(self, start: Combination, end: Combination) -> Step:
        """The direct step between different codes, by the rule that states least; ∞ where none states anything."""
        pairs = zip(self.attributes, start, end, strict=True)
        moves = {attribute.name: (one, other) for attribute, one, other in pairs if one != other}
        bound, rule = min(((rule.between(moves), rule) for rule in self.rules), key=lambda one: one[0])
        return Step(rule, start, end, bound)

    def _steps(self, shape: Combination) -> Steps:
        """The smallest stated bound from one combination to every other, in whole numbers where it is exact."""
        unit = common_unit(self._denominators()) if self.exact else None
        tables = [(places, _table(bound, unit)) for places, bound in self._as_written()]
        everyone = np.arange(math.prod(shape))

        def steps(node: int) -> tuple[Row, Row]:
            codes = tuple(int(code) for code in np.unravel_index(node, shape))
            least = np.full(shape, math.inf, dtype=np.float64 if unit is None else object)
            for places, table in tables:
                inside = tuple(slice(None) if place in places else code for place, code in enumerate(codes))
                stated = table([codes[place] for place in places], [shape[place] for place in places])
                least[inside] = np.minimum(least[inside], stated)
            return everyone, least.ravel()

        return steps

    def _as_written(self) -> Iterator[tuple[Combination, Bound | JointBound]]:
        """Each bound with the places of the attributes that it is about."""
        place_of = {attribute.name: place for place, attribute in enumerate(self.attributes)}
        for rule in self.rules:
            if rule.joint is not None:
                yield tuple(place_of[name] for name in rule.joint.names), rule.joint
            yield from (((place_of[name],), bound) for name, bound in rule.bounds if name in place_of)

    def _denominators(self) -> Iterator[int | None]:
        return (bound.denominator for _, bound in self._as_written())


def _table(bound: Bound | JointBound, unit: int | None) -> Table:
    if isinstance(bound, JointBound):
        return bound.table(unit)
    stated = bound.as_written(unit)
    return lambda codes, sizes: stated(np.full(sizes[0], codes[0]), np.arange(sizes[0]))


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


MOST_RECORDS: Final = 20_000
MOST_PAIRS: Final = 2_000_000

_Alike: TypeAlias = dict[tuple[Block, Combination], list[int]]
"""By some attributes' places and the codes of all others, the records."""


def listed_path(policy: ResolvedPolicy, start: Sequence[int], end: Sequence[int]) -> RecordPath:
    """A shortest path through listed records under all rules but those about all pairs.

    Raises: TooLarge.
    """
    universe = policy.universe
    if universe.record_types > MOST_RECORDS:
        raise TooLarge(f"paths are sought among at most {MOST_RECORDS:,} listed records")
    about = [rule for rule in policy.rules if rule.bounds or rule.joint is not None]
    bounds = BlockBounds(universe.attributes, tuple(about), direct=False)
    names: set[tuple[str, ...]] = {(name,) for rule in about for name, _ in rule.bounds}
    names |= {rule.joint.names for rule in about if rule.joint is not None}
    choices = [tuple(place for place, name in enumerate(universe.names) if name in some) for some in names]
    records = sorted(zip(*(column.tolist() for column in universe.listed_codes), strict=True))
    nodes = _nodes(records, records.index(tuple(start)), records.index(tuple(end)), bounds, choices)
    if nodes is None:
        pairs = zip(universe.names, start, end, strict=True)
        return RecordPath((), tuple(name for name, one, other in pairs if one != other), math.inf)
    everywhere = tuple(range(len(universe.attributes)))
    taken = itertools.pairwise(records[node] for node in nodes)
    steps = tuple(step_inside(everywhere, bounds.step(one, other)) for one, other in taken)
    length: Amount = sum((step.bound for step in steps), Fraction(0))
    return RecordPath(steps, (), length if bounds.exact else float(length))


def _nodes(
    records: Sequence[Combination], start: int, end: int, bounds: BlockBounds, choices: Sequence[Block]
) -> list[int] | None:
    """The places of a shortest path's records; None when there is none."""
    alike = _alike(records, choices)

    def steps(node: int) -> tuple[Codes, Row]:
        record = records[node]
        near = {other for places in choices for other in alike[places, _without(record, places)]}
        others = sorted(near - {node})
        each = np.empty(len(others), dtype=object)
        each[:] = [bounds.step(record, records[other]).bound for other in others]
        return np.array(others, dtype=np.int64), each

    return shortest_path(len(records), start, end, steps, object)


def _alike(records: Iterable[Combination], choices: Iterable[Block]) -> _Alike:
    alike: _Alike = defaultdict(list)
    for (node, record), places in itertools.product(enumerate(records), choices):
        alike[places, _without(record, places)].append(node)
    pairs = sum(len(group) * (len(group) - 1) // 2 for group in alike.values())
    if pairs > MOST_PAIRS:
        raise TooLarge(
            f"{pairs:,} pairs of listed records differ in what one rule is about; paths are sought over {MOST_PAIRS:,}"
        )
    return alike


def _without(record: Combination, places: Block) -> Combination:
    return tuple(code for place, code in enumerate(record) if place not in places)
