"""The shortest path between two values of an attribute under what the rules state, each step with its rule."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeAlias, final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.policy.axes.axis import Amount, Codes, Row
from dxgeom.policy.bounds.bound import Bound, common_unit
from dxgeom.policy.bounds.reduction import reduced
from dxgeom.policy.resolve.rules import ResolvedRule
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
    stated: tuple[tuple[ResolvedRule, Bound], ...]

    @property
    def exact(self) -> bool:
        """Whether the shortest path is found in exact numbers; otherwise in float64, and exact up to its rounding."""
        stated_exactly = all(bound.exact for _, bound in self.stated)
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
            nodes = [here, there] if self.stated and self._step(here, there).bound < math.inf else None
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
        each = [(bound.between(start, end), rule) for rule, bound in self.stated]
        bound, rule = min(each, key=lambda one: one[0])
        return Step(rule, (start,), (end,), bound)

    @cached_property
    def _straight(self) -> bool:
        """A detour never pays under constants and one bound that is a metric as it stands."""
        bounds, _ = reduced([bound for _, bound in self.stated])
        return not bounds or (len(bounds) == 1 and bounds[0].closed)

    def _steps(self) -> Steps:
        """The smallest stated bound from one code to every code, in units that are whole numbers where it is exact."""
        size = self.attribute.size
        unit = common_unit(bound.denominator for _, bound in self.stated) if self.exact else None
        rows = [bound.rows(size, unit) for _, bound in self.stated]
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
