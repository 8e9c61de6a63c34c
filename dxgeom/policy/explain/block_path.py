"""The shortest path inside a block of attributes that rules tie to each other, each step with its rule."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np

from dxgeom.policy.bounds.bounds import AllAtOnce, Growing
from dxgeom.policy.explain.shortest_path import Amount, Row, StatedBounds, amounts, bound_between, dijkstra, row_of
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.universe.attributes import Attribute

Codes: TypeAlias = tuple[int, ...]


@final
@dataclass(frozen=True)
class BlockStep:
    """From the codes of all attributes of a block to the next, under one rule; ``bound`` as for a step of one."""

    rule: ResolvedRule
    start: Codes
    end: Codes
    bound: Amount


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
        stated = [rule.alone(attribute.name) for rule in self.rules for attribute in self.attributes]
        return not any(isinstance(bound, Growing) and bound.axis.grain is None for bound in stated)

    def path(self, start: Codes, end: Codes) -> tuple[BlockStep, ...]:
        """The steps of a shortest path; there always is one, because the rules that tie a block join its values."""
        if start == end:
            return ()
        if self.direct:
            return (self.step(start, end),)
        shape = tuple(attribute.size for attribute in self.attributes)
        ends = [int(np.ravel_multi_index(codes, shape)) for codes in (start, end)]
        kind = object if self.exact else np.float64
        nodes = dijkstra(math.prod(shape), ends[0], ends[1], self._rows(shape), kind) or []
        codes = [tuple(int(code) for code in np.unravel_index(node, shape)) for node in nodes]
        return tuple(map(self.step, codes, codes[1:]))

    def step(self, start: Codes, end: Codes) -> BlockStep:
        """The direct step between different codes, by the rule that states least; ∞ where none states anything."""
        bound, rule = min(((self._stated(rule, start, end), rule) for rule in self.rules), key=lambda one: one[0])
        return BlockStep(rule, start, end, bound)

    def _stated(self, rule: ResolvedRule, start: Codes, end: Codes) -> Amount:
        """What one rule states for two different combinations of values; ∞ where nothing."""
        apart = [place for place, (one, other) in enumerate(zip(start, end, strict=True)) if one != other]
        changed = [self.attributes[place] for place in apart]
        names = [attribute.name for attribute in changed]
        if len(apart) > 1 and (rule.joint is None or not set(names) <= set(rule.joint.names)):
            return math.inf
        if isinstance(rule.joint, AllAtOnce):
            return rule.joint.epsilon if set(names) <= set(rule.joint.names) else math.inf
        bounds = [rule.alone(name) for name in names]
        pairs = zip(changed, bounds, apart, strict=True)
        each = (
            math.inf if bound is None else bound_between(attribute, bound, start[place], end[place])
            for attribute, bound, place in pairs
        )
        return max(each)

    def _rows(self, shape: Codes) -> Callable[[int], Row]:
        """The smallest stated bound from one combination to every other, in whole numbers where it is exact."""
        unit = self._unit() if self.exact else None
        tables = [self._table(rule, shape, unit) for rule in self.rules]

        def row(node: int) -> Row:
            codes = tuple(int(code) for code in np.unravel_index(node, shape))
            least = np.full(shape, math.inf, dtype=np.float64 if unit is None else object)
            for table in tables:
                table(codes, least)
            return least.ravel()

        return row

    def _table(self, rule: ResolvedRule, shape: Codes, unit: int | None) -> Callable[[Codes, Row], None]:
        """Lowers a table of bounds to what one rule states from some codes."""
        stated: dict[int, Callable[[int], Row]] = {}
        for place, attribute in enumerate(self.attributes):
            bound = rule.alone(attribute.name)
            if bound is not None:
                stated[place] = row_of(attribute, bound, unit)
        together = [tuple(stated)] if rule.joint is not None else [(place,) for place in stated]
        constant = None if rule.constant is None else amounts([rule.constant], unit)[0]

        def lower(codes: Codes, least: Row) -> None:
            for places in together:
                inside = tuple(slice(None) if place in places else code for place, code in enumerate(codes))
                if constant is not None:
                    least[inside] = np.minimum(least[inside], constant)
                    continue
                largest = np.zeros([shape[place] for place in places], dtype=least.dtype)
                for axis, place in enumerate(places):
                    moves = stated[place](codes[place]).copy()
                    moves[codes[place]] = 0
                    largest = np.maximum(largest, moves.reshape([-1 if k == axis else 1 for k in range(len(places))]))
                least[inside] = np.minimum(least[inside], largest)

        return lower

    def _unit(self) -> int:
        found = {1, *(rule.constant.denominator for rule in self.rules if rule.constant is not None)}
        for attribute in self.attributes:
            bounds = [(rule, rule.alone(attribute.name)) for rule in self.rules]
            given = tuple((rule, bound) for rule, bound in bounds if bound is not None)
            found.add(StatedBounds(attribute, given).unit())
        return math.lcm(*found)
