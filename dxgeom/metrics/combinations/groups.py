"""Attributes that may change together: a group's ε covers every difference in its attributes at once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.certificate import MetricCertificate, require
from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.combinations.product import MetricOfParts, SumMetric
from dxgeom.metrics.families.axis_pairs import pairs_along_axes
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.metric import Metric, PairBlock
from dxgeom.numeric.rounding import round_down, sum_round_down
from dxgeom.numeric.sealed import cached_property


@final
@dataclass(frozen=True)
class Group:
    """Records that differ only in the parts at ``places`` (increasing) are at most ``epsilon`` apart."""

    places: tuple[int, ...]
    epsilon: Fraction

    def undercuts(self, other: Group) -> bool:
        """Whether this bounds every pair that ``other`` bounds, by no more."""
        return self.epsilon <= other.epsilon and set(other.places) <= set(self.places)


@final
@dataclass(frozen=True)
class GroupedMetric(MetricOfParts):
    """The closure of distances that add over parts, together with an ε for every group of parts.

    Definition: d(i, j) = min over sets G of groups of Σ_{S∈G} ε_S + Σ_{k not in ∪G} d_k(i_k, j_k).
    Guarantee: *rounded down*; groups may nest or cross. A path from i to j uses the steps of some set G of groups, each
    at least once, and in a part that none of them covers it moves by that part's own steps, at least d_k in all.
    Conversely one step per group of G and a shortest path in each other part lead from i to j; with i = j, none.
    """

    groups: tuple[Group, ...]

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        apart = self.distances_of_parts(i, j)
        shape = np.broadcast_shapes(np.shape(i), np.shape(j))
        shortest = np.full(shape, np.inf)
        for covered, epsilon in self._choices.items():
            total = np.full(shape, round_down(epsilon))
            for place, distance in enumerate(apart):
                total = total if place in covered else sum_round_down(total, distance)
            shortest = np.minimum(shortest, total)
        return shortest

    def generating_pairs(self) -> Iterator[PairBlock]:
        yield from SumMetric(self.parts).generating_pairs()
        for group in self.groups:
            count = math.prod(self.shape[place] for place in group.places)
            yield from pairs_along_axes(self.shape, group.places, DiscreteMetric(count, group.epsilon))

    def certificate(self) -> MetricCertificate:
        for group in self.groups:
            require(group.epsilon > 0, f"epsilon is positive, found {group.epsilon}")
            places = set(group.places)
            inside = bool(places) and sorted(places) == list(group.places) and places <= set(range(len(self.parts)))
            require(inside, "a group lists some of the parts, each once, in their order")
        reason = f"closure of a sum and {len(self.groups)} groups' constants, in closed form"
        return self.certified("groups over a sum", reason)

    @cached_property
    def _choices(self) -> dict[frozenset[int], Fraction]:
        """What a set of groups can cover, and the smallest sum of their ε; nothing is covered for 0."""
        found: dict[frozenset[int], Fraction] = {frozenset(): Fraction(0)}
        for group in self.groups:
            for covered, epsilon in list(found.items()):
                wider = covered.union(group.places)
                found[wider] = min(epsilon + group.epsilon, found.get(wider, epsilon + group.epsilon))
        return found


def grouped(parts: Sequence[Metric], groups: Sequence[Group]) -> Metric:
    """The simplest form of a grouped metric: a cap for a group of one part or of all, nothing for one undercut."""
    kept = [group for group in dict.fromkeys(groups) if group.places]
    kept = [one for one in kept if not any(other != one and other.undercuts(one) for other in kept)]
    ceilings = {group.places[0]: group.epsilon for group in kept if len(group.places) == 1}
    capped = tuple(CapMetric(part, ceilings[k]) if k in ceilings else part for k, part in enumerate(parts))
    if len(capped) == 1:
        return capped[0]
    proper = tuple(group for group in kept if 1 < len(group.places) < len(capped))
    inner = GroupedMetric(capped, proper) if proper else SumMetric(capped)
    whole = [group.epsilon for group in kept if len(group.places) == len(capped)]
    return CapMetric(inner, whole[0]) if whole else inner
