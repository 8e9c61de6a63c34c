"""What a certificate file claims about a metric, in numbers that somebody else can check; and shortest paths for it.

What a policy's rules state about two values, or several attributes together, straight from the definition.
"""

from __future__ import annotations

import heapq
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, final

from flint import arb, ctx

from dxgeom.errors import CertificateRefused, UnsupportedCombination, file_errors
from dxgeom.metrics.metric import MetricCertificate
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.exact_numbers import exact_middle, rational
from dxgeom.policy.bounds.bound import Bound, Constant
from dxgeom.policy.bounds.distance_bounds import Edges, Partition, PerDistance, Threshold
from dxgeom.policy.bounds.joint_bounds import JointBound, JointConstant, LargestChange
from dxgeom.policy.bounds.value_bounds import AmongPresent, ByIndividual, ByValue, MissingValue
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.numbers.numeric_attributes import BinnedAttribute, numbers_of
from dxgeom.universe.periods import PeriodAttribute
from dxgeom.universe.places import GraphAttribute, PointsAttribute
from dxgeom.universe.universe import Universe

Exact: TypeAlias = Fraction | float
"""An exact rational, or ∞."""

INFINITE = float("inf")


def shortest_paths(start: int, steps: Callable[[int], Iterable[tuple[int, Exact]]]) -> dict[int, Exact]:
    """Dijkstra from one node: the *exact* distance of every node that can be reached.

    Args: ``steps`` gives a node's neighbours with their bounds, at least 0; an infinite bound is no step.
    """
    reached: dict[int, Exact] = {}
    hoped: dict[int, Exact] = {}
    waiting: list[tuple[Exact, int]] = [(Fraction(0), start)]
    while waiting:
        distance, node = heapq.heappop(waiting)
        if node in reached:
            continue
        reached[node] = distance
        for neighbour, bound in steps(node):
            if neighbour in reached or bound == INFINITE:
                continue
            length = distance + bound
            if length < hoped.get(neighbour, INFINITE):
                hoped[neighbour] = length
                heapq.heappush(waiting, (length, neighbour))
    return reached


Kind: TypeAlias = Literal["policy", "matrix", "edges"]
Claims: TypeAlias = dict[str, Any]

FORMAT: Final = "dxgeom certificate 1"
KEYS: Final = frozenset({"format", "kind", "title", "fingerprint", "size", "budget", "proof", "distances"})
_LARGEST_FILE = 4_000_000
_ALL_PAIRS_UP_TO = 24
_ALONG_AN_AXIS = 32
_ANYWHERE = 64


def claims_of(verified: VerifiedMetric, kind: Kind, proof: MetricCertificate | None = None) -> Claims:
    """The certificate of a metric with the fingerprint of what it came from and a fixed selection of its distances.

    ``proof``: the certificate to claim where it says more than the metric's own. Titles are claimed for policies only.
    """
    pairs = claimed_pairs((verified.size,)) if verified.universe is None else pairs_of_universe(verified.universe)
    distances = verified.distance([i for i, _ in pairs], [j for _, j in pairs]).tolist() if pairs else []
    return {
        "format": FORMAT,
        "kind": kind,
        "title": verified.title if kind == "policy" else "",
        "fingerprint": verified.fingerprint,
        "size": verified.size,
        "budget": str(verified.budget),
        "proof": (proof or verified.certificate).as_dict(),
        "distances": [[i, j, _written(d)] for (i, j), d in zip(pairs, distances, strict=True)],
    }


def claimed_pairs(shape: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of records whose distances are claimed: all of few, else some along every axis and some anywhere.

    The selection is a function of the shape, so that none can be left out unnoticed.
    """
    size = math.prod(shape)
    if size <= _ALL_PAIRS_UP_TO:
        return [(i, j) for i in range(size) for j in range(i + 1, size)]
    pairs: dict[tuple[int, int], None] = {}
    stride = 1
    for length in reversed(shape):
        codes = sorted({code * (length - 1) // _ALONG_AN_AXIS for code in range(1, _ALONG_AN_AXIS + 1)} - {0})
        pairs.update({(0, code * stride): None for code in codes})
        stride *= length
    state = size
    for _ in range(_ANYWHERE):
        # Any spread will do; Knuth's multiplier, so that every Python draws the same.
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        i, j = (state >> 33) % size, (state >> 13) % size
        if i != j:
            pairs[min(i, j), max(i, j)] = None
    return list(pairs)


def pairs_of_universe(universe: Universe) -> list[tuple[int, int]]:
    """The same for the records of a universe; some records are paired with the absent one. None of universes whose
    records are not numbered."""
    if not universe.indexable:
        return []
    shape = universe.layout
    if universe.absent is None or universe.size <= _ALL_PAIRS_UP_TO:
        return claimed_pairs(shape if universe.absent is None else (universe.size,))
    some = sorted({place * universe.record_types // _ALONG_AN_AXIS for place in range(_ALONG_AN_AXIS)})
    return [*claimed_pairs(shape), *((record, universe.absent) for record in some)]


def write_claims(path: Path, claims: Claims) -> None:
    """Write a new certificate file. Raises: DataError; nothing is overwritten."""
    with file_errors(path, "written"), path.open("x", encoding="ascii") as stream:
        stream.write(json.dumps(claims, indent=1, allow_nan=False) + "\n")


def read_claims(path: str | os.PathLike[str]) -> Claims:
    """Read a certificate file.

    Raises: DataError when it cannot be read; CertificateRefused when it is no certificate of this version.
    """
    with file_errors(path, "read"), Path(path).open("rb") as stream:
        content = stream.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise CertificateRefused(f"'{path}' is larger than any certificate ({_LARGEST_FILE:,} bytes)")
    try:
        claims = json.loads(content.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise CertificateRefused(f"'{path}' is not JSON, so no certificate") from error
    if not isinstance(claims, dict) or claims.get("format") != FORMAT or set(claims) != KEYS:
        raise CertificateRefused(f"'{path}' is not a '{FORMAT}' file with the keys {', '.join(sorted(KEYS))}")
    return claims


def claimed_distances(claims: Claims, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int, float]]:
    """The claimed distances, of exactly the pairs that have to be there. Raises: CertificateRefused."""
    rows = claims["distances"]
    if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != 3 for row in rows):
        raise CertificateRefused("the claimed distances are not a list of [record, record, distance]")
    if [tuple(row[:2]) for row in rows] != list(pairs):
        raise CertificateRefused("the claimed distances are not those of the pairs that a certificate has to list")
    return [(i, j, _read(distance)) for i, j, distance in rows]


def require_equal(name: str, claimed: object, found: object) -> None:
    """Raises: CertificateRefused, naming what differs."""
    if claimed != found or type(claimed) is not type(found):
        raise CertificateRefused(f"the certificate claims {name} {claimed!r}, found {found!r}")


def require_proof(claimed: object, found: dict[str, Any], place: str = "proof") -> None:
    """Compare a claimed tree of forms with one that was derived. Raises: CertificateRefused, naming the place."""
    if not isinstance(claimed, dict) or set(claimed) != set(found):
        raise CertificateRefused(f"the certificate's {place} does not have the keys {', '.join(found)}")
    for key, value in found.items():
        if key != "parts":
            require_equal(f"{place}.{key}", claimed[key], value)
    require_equal(f"{place}: number of parts", len(claimed["parts"]), len(found["parts"]))
    for number, (one, other) in enumerate(zip(claimed["parts"], found["parts"], strict=True)):
        require_proof(one, other, f"{place}.parts[{number}]")


def _written(distance: float) -> float | str:
    return distance if math.isfinite(distance) else "inf"


def _read(distance: object) -> float:
    if distance == "inf":
        return math.inf
    if not isinstance(distance, float) or not math.isfinite(distance) or distance < 0:
        raise CertificateRefused(f"a claimed distance is a number of at least 0 or 'inf', found {distance!r}")
    return distance


Enclosure: TypeAlias = tuple[Exact, Exact]
"""A lower and an upper bound; equal where the number is rational."""

_EARTH_RADIUS_KM = Fraction(63710088, 10000)
_ROOT_DIGITS = 10**30
_BITS = 200
_BORDER = Fraction(1, 10**9)
"""Whether a place this near (relatively) to a threshold is within it is left to the policy's own rounding."""
_COMPUTING = Fraction(1, 10**12)


@final
@dataclass(frozen=True, eq=False)
class StatedBounds:
    """The bounds of all rules on one attribute."""

    attribute: Attribute
    bounds: tuple[Bound, ...]
    _searched: dict[tuple[str, int], dict[int, Exact]] = field(default_factory=dict, init=False)
    _joined: dict[str, dict[int, list[tuple[int, Fraction]]]] = field(default_factory=dict, init=False)

    def between(self, a: int, b: int) -> Enclosure:
        """The smallest stated bound for the values of codes a ≠ b."""
        enclosures = [self._of(bound, a, b) for bound in self.bounds]
        low = min((low for low, _ in enclosures), default=INFINITE)
        high = min((high for _, high in enclosures), default=INFINITE)
        return low, high

    @property
    def there(self) -> Attribute:
        """The attribute without its missing value: what distances are about."""
        return self.attribute.present

    @property
    def closed(self) -> bool:
        """Whether the one bound there is, is a metric already: no chain of values undercuts it."""
        return not self.bounds or (
            len(self.bounds) == 1 and isinstance(self.bounds[0], Constant | PerDistance | Partition | ByIndividual)
        )

    @property
    def slack(self) -> Fraction:
        """By how much a distance computed in float64, from below, may fall short because positions are subtracted."""
        there = [bound.inner if isinstance(bound, AmongPresent) else bound for bound in self.bounds]
        growing = [bound for bound in there if isinstance(bound, PerDistance)]
        return sum((bound.rate * self._extent(bound.axis.name) * _COMPUTING for bound in growing), Fraction(0))

    def _of(self, bound: Bound, a: int, b: int) -> Enclosure:
        match bound:
            case Constant(epsilon=epsilon):
                return epsilon, epsilon
            case Edges(pairs=pairs, epsilons=epsilons):
                listed = [epsilon for pair, epsilon in zip(pairs, epsilons, strict=True) if set(pair) == {a, b}]
                smallest: Exact = min(listed, default=INFINITE)
                return smallest, smallest
            case Partition(blocks=blocks, epsilon=epsilon):
                here: Exact = epsilon if blocks[a] == blocks[b] else INFINITE
                return here, here
            case ByValue(epsilons=epsilons):
                given = [epsilon for epsilon in (epsilons[a], epsilons[b]) if epsilon is not None]
                least: Exact = min(given, default=INFINITE)
                return least, least
            case ByIndividual(epsilons=epsilons):
                one, other = epsilons[a], epsilons[b]
                both: Exact = INFINITE if one is None or other is None else one + other
                return both, both
            case PerDistance(axis=axis, rate=rate, floor=floor):
                low, high = self._apart(axis.name, a, b)
                return max(floor, rate * low), max(floor, rate * high)
            case MissingValue(missing=missing, epsilon=epsilon):
                away: Exact = epsilon if missing in (a, b) else INFINITE
                return away, away
            case AmongPresent(inner=inner, missing=missing):
                return (INFINITE, INFINITE) if missing in (a, b) else self._of(inner, a, b)
            case Threshold(axis=axis, epsilon=epsilon, reach=reach):
                low, high = self._apart(axis.name, a, b)
                border = reach if low == high else reach * (1 + _BORDER)
                return (epsilon if low <= border else INFINITE), (epsilon if high <= reach else INFINITE)
        raise UnsupportedCombination(f"this audit does not know bounds of the kind {type(bound).__name__}")

    def _apart(self, axis: str, a: int, b: int) -> tuple[Exact, Exact]:
        if axis == "hops" or axis == "paths":
            length = self._paths(axis, a).get(b, INFINITE)
            return length, length
        if axis.endswith("around"):
            numbers, over = self._around(axis == "steps around")
            way = abs(numbers[a] - numbers[b])
            way = min(way, numbers[-1] - numbers[0] + over - way)
            return way, way
        if axis == "steps":
            return Fraction(abs(a - b)), Fraction(abs(a - b))
        if isinstance(self.there, PointsAttribute):
            one, other = self._places[a], self._places[b]
            return _on_earth(one, other) if self.there.geometry == "great circle" else _in_the_plane(one, other)
        gap = abs(self._numbers[a] - self._numbers[b])
        return gap, gap

    def _paths(self, axis: str, a: int) -> dict[int, Exact]:
        """From one node along the graph's edges, one by one."""
        if (axis, a) not in self._searched:
            self._searched[axis, a] = shortest_paths(a, lambda node: self._edges(axis)[node])
        return self._searched[axis, a]

    def _edges(self, axis: str) -> dict[int, list[tuple[int, Fraction]]]:
        if axis not in self._joined:
            graph = self.there
            if not isinstance(graph, GraphAttribute) or (axis == "paths" and graph.lengths is None):
                raise UnsupportedCombination(f"'{graph.name}' has no edges with lengths")
            steps: dict[int, list[tuple[int, Fraction]]] = {node: [] for node in range(graph.size)}
            lengths = graph.first.size * [1] if graph.lengths is None or axis == "hops" else graph.lengths.tolist()
            grain = Fraction(1) if axis == "hops" else graph.grain
            for one, other, length in zip(graph.first.tolist(), graph.second.tolist(), lengths, strict=True):
                steps[one].append((other, length * grain))
                steps[other].append((one, length * grain))
            self._joined[axis] = steps
        return self._joined[axis]

    def _extent(self, axis: str) -> Fraction:
        if isinstance(self.there, GraphAttribute):
            return Fraction(0)  # nothing is subtracted along paths
        if axis.endswith("around"):
            return Fraction(0)  # nor around circles
        if axis == "steps":
            return Fraction(self.there.size)
        if isinstance(self.there, PointsAttribute):
            if self.there.geometry == "great circle":
                return 7 * _EARTH_RADIUS_KM
            return 4 * max(abs(number) for place in self._places for number in place)
        return 2 * max(map(abs, self._numbers))

    def _around(self, steps: bool) -> tuple[Sequence[Fraction], Fraction]:
        """Where the values that wrap stand, and the way from the last one to the first."""
        own = self.there
        if steps:
            return [Fraction(code) for code in range(own.size)], Fraction(1)
        if isinstance(own, BinnedAttribute):
            return self._numbers, own.edges[-1] - self._numbers[-1] + self._numbers[0] - own.edges[0]
        return self._numbers, self._numbers[1] - self._numbers[0]

    @cached_property
    def _numbers(self) -> tuple[Fraction, ...]:
        if isinstance(self.there, PeriodAttribute):
            return self.there.positions
        if isinstance(self.there, DateAttribute):
            return tuple(Fraction(date.fromisoformat(label).toordinal()) for label in self.there.labels)
        return numbers_of(self.there)

    @cached_property
    def _places(self) -> list[tuple[Fraction, ...]]:
        if not isinstance(self.there, PointsAttribute):
            raise UnsupportedCombination(f"'{self.there.name}' has no places")
        return [tuple(map(Fraction, row)) for row in self.there.coordinates.tolist()]


def _in_the_plane(one: Sequence[Fraction], other: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Pythagoras, and an integer root."""
    square = sum(((a - b) ** 2 for a, b in zip(one, other, strict=True)), Fraction(0))
    root = math.isqrt(square.numerator * square.denominator * _ROOT_DIGITS**2)
    scale = square.denominator * _ROOT_DIGITS
    return Fraction(root, scale), Fraction(root + 1, scale) if square else Fraction(0)


def _on_earth(one: Sequence[Fraction], other: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """The haversine formula in ball arithmetic."""
    if one == other:
        return Fraction(0), Fraction(0)
    with ctx.workprec(_BITS):
        (south, west), (north, east) = (tuple(map(_radians, place)) for place in (one, other))
        up, along = ((north - south) / 2).sin(), ((east - west) / 2).sin()
        # Not ** 2: the power of a ball around 0 is undefined.
        haversine = up * up + south.cos() * north.cos() * along * along
        length = 2 * arb.atan2(_root(haversine), _root(1 - haversine)) * arb(rational(_EARTH_RADIUS_KM))
        return max(exact_middle(length.lower()), Fraction(0)), exact_middle(length.upper())


def _root(square: arb) -> arb:
    """The root of a number that is not negative, though its ball may reach below 0."""
    ends = [max(exact_middle(end), Fraction(0)) for end in (square.lower(), square.upper())]
    low, high = (arb(rational(end)).sqrt() for end in ends)
    return low.union(high)


def _radians(degrees: Fraction) -> arb:
    return arb(rational(degrees)) * arb.pi() / 180


Moves: TypeAlias = Mapping[int, tuple[int, int]]
"""By the place of an attribute, the two codes between which it moves."""


@final
@dataclass(frozen=True, eq=False)
class Several:
    """The joint bounds of all rules over a universe's attributes."""

    attributes: tuple[Attribute, ...]
    joint: tuple[JointBound, ...]

    def smallest_bound(self, moves: Moves) -> Enclosure:
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
