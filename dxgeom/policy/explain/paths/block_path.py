"""The shortest path inside a block of attributes that rules tie to each other, each step with its rule."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from dxgeom.policy.axes.axis import Row
from dxgeom.policy.bounds.bound import Bound, common_unit
from dxgeom.policy.bounds.joint_bound import JointBound, Table
from dxgeom.policy.explain.paths.shortest_path import Combination, Step, Steps, shortest_path
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.universe.attributes import Attribute


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
        tables = [(places, _table(bound, unit)) for places, bound in self._stated()]
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

    def _stated(self) -> Iterator[tuple[Combination, Bound | JointBound]]:
        """Each bound with the places of the attributes that it is about."""
        place_of = {attribute.name: place for place, attribute in enumerate(self.attributes)}
        for rule in self.rules:
            if rule.joint is not None:
                yield tuple(place_of[name] for name in rule.joint.names), rule.joint
            yield from (((place_of[name],), bound) for name, bound in rule.bounds if name in place_of)

    def _denominators(self) -> Iterator[int | None]:
        return (bound.denominator for _, bound in self._stated())


def _table(bound: Bound | JointBound, unit: int | None) -> Table:
    if isinstance(bound, JointBound):
        return bound.table(unit)
    stated = bound.stated(unit)
    return lambda codes, sizes: stated(np.full(sizes[0], codes[0]), np.arange(sizes[0]))
