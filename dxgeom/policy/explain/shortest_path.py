"""The shortest path between two values of an attribute under what the rules state, each step with its rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.numeric.rounding import product_round_down, round_down
from dxgeom.policy.bounds.bounds import Blocks, Bound, ByIndividual, ByValue, Constant, Edges, Growing, Near
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.wording import shown

MOST_VALUES: Final = 20_000
_MOST_EXACT: Final = 2000
"""Exact whole numbers of any size are compared one by one: ten times slower than float64."""

Row: TypeAlias = NDArray[Any]
Amount: TypeAlias = Fraction | float


@final
@dataclass(frozen=True)
class Step:
    """From one code to the next under one rule; ``bound`` is exact, or a float *rounded down* between places."""

    rule: ResolvedRule
    start: int
    end: int
    bound: Amount


@final
@dataclass(frozen=True)
class StatedBounds:
    """What the policy's rules state about one attribute, rule by rule, before any closure."""

    attribute: Attribute
    stated: tuple[tuple[ResolvedRule, Bound], ...]

    @property
    def stated_exactly(self) -> bool:
        """Whether every stated bound is an exact number: no distance between places is."""
        return not any(isinstance(bound, Growing) and bound.axis.grain is None for _, bound in self.stated)

    @property
    def exact(self) -> bool:
        """Whether the shortest path is found in exact numbers; otherwise in float64, and exact up to its rounding."""
        return self.stated_exactly and (self._straight or self.attribute.size <= _MOST_EXACT)

    def path(self, start: int, end: int) -> tuple[Step, ...] | None:
        """The steps of a shortest path, none when the codes are the same; None when no chain of rules joins them.

        Raises: TooLarge, UnsupportedCombination.
        """
        if start == end:
            return ()
        if self._straight:
            nodes: list[int] | None = [start, end] if self.stated else None
            if nodes is not None and self.step(start, end).bound == math.inf:
                nodes = None  # in two parts of a graph
        elif self.attribute.size > MOST_VALUES:
            raise TooLarge(
                f"the attribute {shown(self.attribute.name)} has {self.attribute.size:,} values; "
                f"paths through its rules are sought among at most {MOST_VALUES:,}"
            )
        else:
            nodes = dijkstra(self.attribute.size, start, end, self._rows(), object if self.exact else np.float64)
        return None if nodes is None else tuple(map(self.step, nodes, nodes[1:]))

    @property
    def _straight(self) -> bool:
        """A detour never pays under constants and one bound that grows with distance."""
        growing = {bound for _, bound in self.stated if isinstance(bound, Growing)}
        return len(growing) <= 1 and all(isinstance(bound, Constant | Growing) for _, bound in self.stated)

    def step(self, start: int, end: int) -> Step:
        """The direct step between different codes, by the rule that states least; ∞ where none states anything."""
        each = [(bound_between(self.attribute, bound, start, end), rule) for rule, bound in self.stated]
        bound, rule = min(each, key=lambda one: one[0])
        return Step(rule, start, end, bound)

    def _rows(self) -> Callable[[int], Row]:
        """The smallest stated bound from one code to every code, in units that are whole numbers where it is exact."""
        unit = self.unit() if self.exact else None
        rows = [row_of(self.attribute, bound, unit) for _, bound in self.stated]
        return lambda code: np.minimum.reduce([row(code) for row in rows])

    def unit(self) -> int:
        """One over this divides every stated bound."""
        found = {1}
        for _, bound in self.stated:
            match bound:
                case Constant(epsilon=epsilon) | Near(epsilon=epsilon) | Blocks(epsilon=epsilon):
                    found.add(epsilon.denominator)
                case ByValue(epsilons=epsilons) | Edges(epsilons=epsilons) | ByIndividual(epsilons=epsilons):
                    found |= {epsilon.denominator for epsilon in epsilons if epsilon is not None}
                case Growing(axis=axis, rate=rate, floor=floor) if axis.grain is not None:
                    found |= {floor.denominator, (rate * axis.grain).denominator}
        return math.lcm(*found)


def row_of(attribute: Attribute, bound: Bound, unit: int | None) -> Callable[[int], Row]:
    """The bound from one code to every code, in multiples of 1/``unit`` or as float64; ∞ where none is stated."""
    size = attribute.size
    match bound:
        case Constant(epsilon=epsilon):
            same = amounts([epsilon] * size, unit)
            return lambda code: same
        case ByValue(epsilons=epsilons):
            each = amounts([math.inf if epsilon is None else epsilon for epsilon in epsilons], unit)
            return lambda code: np.minimum(each, each[code])
        case ByIndividual(epsilons=epsilons):
            own = amounts([math.inf if epsilon is None else epsilon for epsilon in epsilons], unit)
            return lambda code: own + own[code]
        case Near(axis=axis, epsilon=epsilon, reach=reach):
            within, everyone = axis.within(reach), np.arange(size)
            near = amounts([epsilon], unit)[0]
            return lambda code: np.where(within(np.full(size, code), everyone), near, math.inf)
        case Blocks(blocks=blocks, epsilon=epsilon):
            here, alike = amounts([epsilon], unit)[0], np.array(blocks)
            return lambda code: np.where(alike == alike[code], here, math.inf)
        case Edges(pairs=pairs, epsilons=epsilons):
            return _edge_rows(size, pairs, amounts(epsilons, unit))
        case Growing(axis=axis, rate=rate, floor=floor):
            if axis.grain is None or unit is None:
                metric = axis.metric(rate, floor)
                return lambda code: metric.distance(code, np.arange(size))
            each, least = amounts([rate * axis.grain, floor], unit)
            return lambda code: np.maximum(_whole(axis.row(code)) * each, least)
    raise UnsupportedCombination(f"a rule on {shown(attribute.name)} has a bound whose paths cannot be told yet")


def _whole(row: Row) -> Row:
    """Whole numbers of any size, and ∞."""
    exact = np.empty(row.size, dtype=object)
    exact[:] = [one if one == math.inf else int(one) for one in row.tolist()]
    return exact


def _edge_rows(size: int, pairs: Sequence[tuple[int, int]], amounts: Row) -> Callable[[int], Row]:
    neighbours: dict[int, list[tuple[int, Any]]] = {}
    for (one, other), amount in zip(pairs, amounts, strict=True):
        neighbours.setdefault(one, []).append((other, amount))
        neighbours.setdefault(other, []).append((one, amount))

    def row(code: int) -> Row:
        stated = np.full(size, math.inf, dtype=amounts.dtype)
        for other, amount in neighbours.get(code, []):
            stated[other] = amount
        return stated

    return row


def amounts(given: Sequence[Amount], unit: int | None) -> Row:
    """Amounts as multiples of 1/``unit``, or as float64 *rounded down*."""
    if unit is None:
        return np.array([round_down(one) if isinstance(one, Fraction) else one for one in given], dtype=np.float64)
    whole = np.empty(len(given), dtype=object)
    whole[:] = [int(one * unit) if isinstance(one, Fraction) else one for one in given]
    return whole


def bound_between(attribute: Attribute, bound: Bound, start: int, end: int) -> Amount:
    """What a bound states for two different codes, exactly where no places are involved; ∞ where nothing."""
    match bound:
        case Constant(epsilon=epsilon):
            return epsilon
        case ByValue(epsilons=epsilons):
            stated = (epsilons[start], epsilons[end])
            return min((epsilon for epsilon in stated if epsilon is not None), default=math.inf)
        case ByIndividual(epsilons=epsilons):
            one, other = epsilons[start], epsilons[end]
            return math.inf if one is None or other is None else one + other
        case Near(axis=axis, epsilon=epsilon, reach=reach):
            return epsilon if axis.within(reach)(np.array(start), np.array(end)) else math.inf
        case Blocks(blocks=blocks, epsilon=epsilon):
            return epsilon if blocks[start] == blocks[end] else math.inf
        case Edges(pairs=pairs, epsilons=epsilons):
            return dict(zip(pairs, epsilons, strict=True)).get((min(start, end), max(start, end)), math.inf)
        case Growing(axis=axis, rate=rate, floor=floor):
            apart = axis.between(start, end)
            if axis.grain is None:
                return max(round_down(floor), float(product_round_down(round_down(rate), np.array(float(apart)))))
            return math.inf if apart == math.inf else max(floor, rate * apart)
    raise UnsupportedCombination(f"a rule on {shown(attribute.name)} has a bound whose paths cannot be told yet")


def dijkstra(size: int, start: int, end: int, row: Callable[[int], Row], numbers: Any) -> list[int] | None:
    """The nodes of a shortest path; a detour replaces a direct step only when it is strictly shorter."""
    reached = np.full(size, math.inf, dtype=numbers)
    reached[start] = 0
    before = np.full(size, start)
    done = np.zeros(size, dtype=bool)
    while not done[end]:
        waiting = np.where(done, math.inf, reached)
        node = int(np.argmin(waiting))
        if waiting[node] == math.inf:
            return None
        done[node] = True
        through = reached[node] + row(node)
        shorter = ~done & np.asarray(through < reached, dtype=bool)
        reached[shorter], before[shorter] = through[shorter], node
    nodes = [end]
    while nodes[-1] != start:
        nodes.append(int(before[nodes[-1]]))
    return nodes[::-1]
