"""What a policy's rules state about several attributes together, and shortest paths over them, from the definition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias, final

from dxgeom.audit.paths import INFINITE, Exact
from dxgeom.audit.stated_bounds import Enclosure, StatedBounds
from dxgeom.policy.bounds.joint_bound import JointBound
from dxgeom.policy.bounds.joint_constant import JointConstant
from dxgeom.policy.bounds.largest_change import LargestChange
from dxgeom.universe.attributes import Attribute

Moves: TypeAlias = Mapping[int, tuple[int, int]]
"""By the place of an attribute, the two codes between which it moves."""


@final
@dataclass(frozen=True, eq=False)
class Several:
    """The joint bounds of all rules over a universe's attributes."""

    attributes: tuple[Attribute, ...]
    joint: tuple[JointBound, ...]

    def stated(self, moves: Moves) -> Enclosure:
        """The smallest bound for two records that differ by these moves."""
        all_of_it = frozenset(moves)
        found = [self._of(place, moves) for place, names in enumerate(self.places) if all_of_it <= names]
        low = min((low for low, _ in found), default=INFINITE)
        high = min((high for _, high in found), default=INFINITE)
        return low, high

    def shortest(self, moves: Moves, alone: Mapping[int, Exact], side: int) -> Exact:
        """The least sum that makes all the moves: each on its own, at its cost ``alone``, or several under one bound.

        Guarantee: an upper bound of the distance, and the distance itself where :meth:`separate` holds.
        Args: ``side`` of each enclosure that counts, 0 for lower bounds.
        """
        known: dict[frozenset[int], Exact] = {frozenset(): Fraction(0)}

        def least(left: frozenset[int]) -> Exact:
            if left not in known:
                first = min(left)
                ways = [alone[first] + least(left - {first})]
                for place, names in enumerate(self.places):
                    if first in names:
                        taken = {one: moves[one] for one in left & names}
                        ways.append(self._of(place, taken)[side] + least(left - names))
                known[left] = min(ways)
            return known[left]

        return least(frozenset(moves))

    def separate(self, bounded: set[str]) -> bool:
        """Whether every largest change is the only thing said inside its attributes; ``bounded``: those with own rules.

        Then a path cannot mix it with others: it makes the moves of all its attributes, or a constant does.
        """
        for place, bound in enumerate(self.joint):
            if isinstance(bound, JointConstant):
                continue
            if bounded & set(bound.names):
                return False
            for other, another in zip(self.places, self.joint, strict=True):
                whole = isinstance(another, JointConstant) and self.places[place] <= other
                if not (whole or another == bound or self.places[place].isdisjoint(other)):
                    return False
        return True

    @property
    def slack(self) -> Fraction:
        """By how much a distance computed in float64, from below, may fall short because positions are subtracted."""
        return sum((bounds.slack for each in self._growths for bounds in each.values()), Fraction(0))

    def _of(self, number: int, moves: Moves) -> Enclosure:
        bound = self.joint[number]
        if isinstance(bound, JointConstant):
            return bound.epsilon, bound.epsilon
        ends = [self._growths[number][place].between(a, b) for place, (a, b) in moves.items()]
        return max(low for low, _ in ends), max(high for _, high in ends)

    @cached_property
    def places(self) -> tuple[frozenset[int], ...]:
        """The places of the attributes that each joint bound is about."""
        place_of = {attribute.name: place for place, attribute in enumerate(self.attributes)}
        return tuple(frozenset(place_of[name] for name in bound.names) for bound in self.joint)

    @cached_property
    def _growths(self) -> tuple[dict[int, StatedBounds], ...]:
        place_of = {attribute.name: place for place, attribute in enumerate(self.attributes)}
        found: list[dict[int, StatedBounds]] = []
        for bound in self.joint:
            each = zip(bound.names, bound.each, strict=True) if isinstance(bound, LargestChange) else ()
            places = ((place_of[name], growing) for name, growing in each)
            found.append({place: StatedBounds(self.attributes[place], (growing,)) for place, growing in places})
        return tuple(found)
