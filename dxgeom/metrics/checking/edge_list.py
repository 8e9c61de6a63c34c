"""What an edge list states, in exact numbers where it was written in them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from numbers import Rational, Real
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import described
from dxgeom.errors import NotAMetric, WrongArgument
from dxgeom.metrics.checking.closure import Distance
from dxgeom.metrics.checking.matrix_check import ROUNDING_OF_INPUT, over_common_denominator, refuse_broken
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.universe.columns import plain

Edge: TypeAlias = tuple[str, str, Fraction | float | int]


@final
@dataclass(frozen=True, eq=False)
class StatedEdges:
    """Ends as indices into the sorted ``names``, and lengths that times ``factor`` are the stated distances; all (E,).

    ``exact``: the lengths are integers below 2⁵² or infinite, so that sums up to any stated length are exact.
    """

    names: tuple[str, ...]
    first: NDArray[np.int64] = field(repr=False)
    second: NDArray[np.int64] = field(repr=False)
    lengths: NDArray[np.float64] = field(repr=False)
    factor: Fraction
    exact: bool

    @property
    def tolerance(self) -> float:
        """The relative excess over a path that rounding alone may cause."""
        return 0.0 if self.exact else max(ROUNDING_OF_INPUT, (len(self.names) + 1) * UNIT_ROUNDOFF)

    @property
    def joining(self) -> NDArray[np.bool_]:
        """(E,): which edges join two records by a path; the others state a distance of 0 or ∞."""
        return np.asarray(np.isfinite(self.lengths) & (self.first != self.second))

    def distance(self, length: float) -> Distance:
        """A length in the numbers that were given."""
        if not math.isfinite(length):
            return length
        return Fraction(length) * self.factor if self.exact else length


def stated_edges(edges: Iterable[Edge]) -> StatedEdges:
    """The edges with their names numbered in sorted order, so that the order of edges has no meaning.

    Raises: NotAMetric for an empty list, and for rationals that need integers beyond 2⁵²; WrongArgument for what is no
    list of edges.
    """
    given = list(edges) if isinstance(edges, Iterable) else [edges]
    if not all(map(_is_edge, given)):
        raise WrongArgument(
            "'edges' are triples of two names and a number, such as ('a', 'b', 2); found "
            f"{described(edges)} that holds others: write names as text or as whole numbers, and read a file first"
        )
    if not given:
        raise NotAMetric("a list of edges holds at least one edge", ())
    names = sorted({name for edge in given for name in edge[:2]})
    place = {name: number for number, name in enumerate(names)}
    ends = np.array([[place[name] for name in edge[:2]] for edge in given], dtype=np.int64)
    distances = [edge[2] if isinstance(edge[2], Rational) else float(edge[2]) for edge in given]
    exact = all(not isinstance(distance, float) or distance == math.inf for distance in distances)
    if exact:
        rationals = [None if distance == math.inf else Fraction(distance) for distance in distances]
        lengths, factor = over_common_denominator(rationals)
    else:
        lengths, factor = np.array(distances, dtype=np.float64), Fraction(1)
    return StatedEdges(tuple(names), ends[:, 0], ends[:, 1], lengths, factor, exact)


def _is_edge(edge: object) -> bool:
    if not isinstance(edge, (tuple, list)) or len(edge) != 3:
        return False
    first, second, distance = edge
    named = all(isinstance(name, (str, int, np.integer)) for name in (first, second)) and type(first) is type(second)
    return named and isinstance(distance, Real)


def check_bounds(stated: StatedEdges) -> None:
    """Refuse what no metric lies below. Raises: NotAMetric."""
    _refuse(stated, _bounds(stated))


def check_statements(stated: StatedEdges) -> None:
    """Refuse what breaks an axiom without any detour. Raises: NotAMetric with the count of each broken axiom."""
    low, high = np.minimum(stated.first, stated.second), np.maximum(stated.first, stated.second)
    order = np.lexsort((high, low))
    same = (low[order][1:] == low[order][:-1]) & (high[order][1:] == high[order][:-1])
    again = np.zeros(low.size, dtype=bool)
    again[order[1:]] = same & (stated.lengths[order][1:] != stated.lengths[order][:-1])
    apart = (low == high) & (stated.lengths != 0)
    rules = (
        (apart, "the distance of a record from itself is 0"),
        (again, "a pair that is stated twice has one distance, in both directions"),
    )
    _refuse(stated, (*_bounds(stated), *rules))


def fingerprint_of_edges(stated: StatedEdges) -> str:
    """SHA-256 of the statements; neither their order nor their direction nor saying one twice changes it."""
    lines = {
        (
            min(stated.names[i], stated.names[j]),
            max(stated.names[i], stated.names[j]),
            words_of(stated.distance(length)),
        )
        for i, j, length in zip(stated.first, stated.second, stated.lengths.tolist(), strict=True)
    }
    return sha256(json.dumps(["edges", *sorted(lines)]).encode()).hexdigest()


def words_of(distance: Distance) -> str:
    """A distance as a person writes it."""
    return plain(distance) if isinstance(distance, Fraction) else f"{distance:.17g}"


_Rule: TypeAlias = tuple[NDArray[np.bool_], str]


def _bounds(stated: StatedEdges) -> tuple[_Rule, ...]:
    return ((np.isnan(stated.lengths), "no distance is NaN"), (stated.lengths < 0, "no distance is negative"))


def _refuse(stated: StatedEdges, rules: tuple[_Rule, ...]) -> None:
    def found(place: int) -> tuple[str, tuple[int, int]]:
        i, j = int(stated.first[place]), int(stated.second[place])
        length = words_of(stated.distance(float(stated.lengths[place])))
        return f"{length} between '{stated.names[i]}' and '{stated.names[j]}'", (i, j)

    refuse_broken(rules, "edges", found)
