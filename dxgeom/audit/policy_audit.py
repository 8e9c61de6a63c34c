"""Re-checking the certificate of a policy's metric from the policy's rules alone.

Re-checking the certificates of matrices and edge lists by plain loops.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.audit.claims import (
    INFINITE,
    Claims,
    Enclosure,
    Exact,
    Several,
    StatedBounds,
    claimed_distances,
    claimed_pairs,
    pairs_of_universe,
    require_equal,
    require_proof,
    shortest_paths,
)
from dxgeom.errors import CertificateRefused, UnsupportedCombination
from dxgeom.metrics.edges import Edge, fingerprint_of_edges, stated_edges
from dxgeom.metrics.matrices import ROUNDING_OF_INPUT, fingerprint_of, matrix_of
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, round_down
from dxgeom.policy.policy import Policy
from dxgeom.policy.resolve.rules import ResolvedRule

SMALL_UNIVERSE: Final = 64
"""Up to so many records, shortest paths are sought among whole records; beyond, attribute by attribute."""
SMALL_ATTRIBUTE: Final = 64
MOST_LISTED_STEPS: Final = 50_000
_RELATIVE = Fraction(1, 10**9)


@final
@dataclass(frozen=True)
class Audit:
    """What was re-checked, in words. An audit that fails raises CertificateRefused instead."""

    lines: tuple[str, ...]


def audit_policy(claims: Claims, policy: Policy) -> Audit:
    """Re-check a certificate against a policy.

    The fingerprint, the size, the budget and the tree of forms must be the policy's. The claimed distances are derived
    again by a textbook shortest-path search in exact rationals over what the rules state, without the structured
    metrics: each is refused when it is above the largest metric under all rules, or below it by more than 1e-9.
    Raises: CertificateRefused with the reason; UnsupportedCombination for rules this audit cannot re-derive.
    """
    require_equal("kind", claims["kind"], "policy")
    require_equal("fingerprint", claims["fingerprint"], policy.fingerprint)
    require_equal("title", claims["title"], policy.name)
    require_equal("size", claims["size"], policy.universe.size)
    require_equal("budget", claims["budget"], str(policy.budget))
    require_proof(claims["proof"], policy.compile().certificate.as_dict())
    rules, people = _Rules(policy), policy.universe.reading.people
    rows = 1 if people is None else people.most_rows
    claimed = claimed_distances(claims, pairs_of_universe(policy.universe))
    one_sided = sum(rules.check(i, j, d if rows == 1 or math.isinf(d) else Fraction(d) * rows) for i, j, d in claimed)
    total = len(claims["distances"])
    lines = [
        f"the fingerprint, size, budget and forms are those of policy '{policy.name}'",
        f"{total - one_sided:,} of {total:,} claimed distances re-derived from the rules, from above and below",
    ]
    if rows > 1:
        lines.append(f"each of them {rows} times: people count by at most so many rows, and claims are of a row")
    if one_sided:
        lines.append(
            f"{one_sided:,} compared from above only: an attribute of more than {SMALL_ATTRIBUTE} values mixes bounds, "
            "or rules on several attributes together meet others"
        )
    return Audit(tuple(lines))


@final
@dataclass(frozen=True, eq=False)
class _Rules:
    policy: Policy
    _found: dict[tuple[int, int, int], dict[int, Exact]] = field(default_factory=dict, init=False)
    _known: dict[tuple[int, int, int], Enclosure] = field(default_factory=dict, init=False)

    @property
    def rules(self) -> tuple[ResolvedRule, ...]:
        """Those that were compiled: of rules about several periods what is enough of each."""
        each = self.policy.each_period
        return self.policy.rules if each is None else each.rules

    def __post_init__(self) -> None:
        for rule in self.rules:
            if not rule.bounds and rule.everything is None and rule.joint is None and rule.presence is None:
                raise UnsupportedCombination(f"this audit cannot re-derive the rule in line {rule.line}: {rule.words}")

    @cached_property
    def parts(self) -> tuple[StatedBounds, ...]:
        return tuple(
            StatedBounds(
                attribute,
                tuple(bound for rule in self.rules for name, bound in rule.bounds if name == attribute.name),
            )
            for attribute in self.policy.universe.attributes
        )

    @cached_property
    def ceiling(self) -> Exact:
        stated = [rule.everything for rule in self.rules if rule.everything is not None]
        return min(stated, default=INFINITE)

    @cached_property
    def several(self) -> Several:
        """What is stated about several attributes together."""
        return Several(self.policy.universe.attributes, tuple(rule.joint for rule in self.rules if rule.joint))

    @cached_property
    def _exactly(self) -> bool:
        """Whether distances follow attribute by attribute and rule by rule, or only upper bounds of them do."""
        bounded = {name for rule in self.rules for name, _ in rule.bounds}
        return self.several.separate(bounded)

    @cached_property
    def presence(self) -> Exact:
        stated = [rule.presence for rule in self.rules if rule.presence is not None]
        return min(stated, default=INFINITE)

    @cached_property
    def _table(self) -> list[list[Enclosure]]:
        size = self.policy.universe.size
        return [[self._smallest_bound(i, j) for j in range(size)] for i in range(size)]

    def _between(self, place: int, a: int, b: int) -> Enclosure:
        key = (place, a, b)
        if key not in self._known:
            self._known[key] = self.parts[place].between(a, b)
        return self._known[key]

    def codes(self, record: int) -> list[int]:
        """The last attribute runs fastest; a table lists the places of its records."""
        codes = []
        listed = self.policy.universe.listed
        record = record if listed is None else int(listed[record])
        for part in reversed(self.parts):
            record, code = divmod(record, part.attribute.size)
            codes.append(code)
        return codes[::-1]

    def check(self, i: int, j: int, claimed: float | Fraction) -> bool:
        """Whether the claim could be compared from above only. Raises: CertificateRefused."""
        low, high = self._enclosure(i, j)
        exact = Fraction(claimed) if math.isfinite(claimed) else INFINITE
        words = f"the claimed distance of records {i} and {j} is {float(claimed)!r}, but the rules make it"
        if exact > high:
            raise CertificateRefused(f"{words} at most {float(high)!r}: it was raised")
        if low is None:
            return True
        slack = sum((part.slack for part in self.parts), self.several.slack)
        if (low == INFINITE) != (exact == INFINITE) or (low != INFINITE and exact < low * (1 - _RELATIVE) - slack):
            raise CertificateRefused(f"{words} at least {float(low)!r}: it was lowered")
        return False

    def _enclosure(self, i: int, j: int) -> tuple[Exact | None, Exact]:
        if self.policy.universe.size <= SMALL_UNIVERSE:
            low, high = (self._among_records(i, side).get(j, INFINITE) for side in (0, 1))
            return low, high
        if self.policy.universe.absent in (i, j):
            return self.presence, self.presence
        ceiling = min(self.ceiling, 2 * self.presence)
        if self.policy.universe.listed is not None:
            low, high = (self._among_listed(i, side).get(j, INFINITE) for side in (0, 1))
            return min(low, ceiling), min(high, ceiling)
        pairs = zip(self.parts, self.codes(i), self.codes(j), strict=True)
        moves = {place: (a, b) for place, (_, a, b) in enumerate(pairs) if a != b}
        sides = {place: self._along(place, a, b) for place, (a, b) in moves.items()}
        high = min(self.several.shortest(moves, {place: high for place, (_, high) in sides.items()}, 1), ceiling)
        lows = {place: low for place, (low, _) in sides.items() if low is not None}
        if len(lows) < len(sides) or not self._exactly:
            return None, high
        return min(self.several.shortest(moves, lows, 0), ceiling), high

    def _along(self, place: int, a: int, b: int) -> tuple[Exact | None, Exact]:
        part = self.parts[place]
        low, high = self._between(place, a, b)
        if part.closed:
            return low, high
        if part.attribute.size > SMALL_ATTRIBUTE:
            return None, high
        return (
            self._among_values(place, a, 0).get(b, INFINITE),
            self._among_values(place, a, 1).get(b, INFINITE),
        )

    def _among_values(self, place: int, a: int, side: int) -> dict[int, Exact]:
        return self._among(place, a, side, self.parts[place].attribute.size, partial(self._between, place))

    def _among_records(self, i: int, side: int) -> dict[int, Exact]:
        return self._among(-1, i, side, self.policy.universe.size, lambda one, other: self._table[one][other])

    def _among(
        self, what: int, start: int, side: int, size: int, stated: Callable[[int, int], Enclosure]
    ) -> dict[int, Exact]:
        """Shortest paths from one of so many things, of which every two have a stated bound."""
        key = (what, start, side)
        if key not in self._found:

            def steps(one: int) -> Iterator[tuple[int, Exact]]:
                return ((other, stated(one, other)[side]) for other in range(size) if other != one)

            self._found[key] = shortest_paths(start, steps)
        return self._found[key]

    @cached_property
    def _alike(self) -> dict[tuple[frozenset[int], tuple[int, ...]], list[int]]:
        """The listed records that agree in all attributes but those of one rule, by these and the other codes."""
        choices = {frozenset([place]) for place in range(len(self.parts))} | set(self.several.places)
        alike = defaultdict(list)
        for record in range(self.policy.universe.record_types):
            for places in choices:
                others = tuple(code for place, code in enumerate(self.codes(record)) if place not in places)
                alike[places, others].append(record)
        pairs = sum(len(records) ** 2 for records in alike.values())
        if pairs > MOST_LISTED_STEPS:
            raise UnsupportedCombination(
                f"this audit derives tables with up to {MOST_LISTED_STEPS:,} steps between records, found {pairs:,}"
            )
        return alike

    def _among_listed(self, i: int, side: int) -> dict[int, Exact]:
        key = (-2, i, side)
        if key not in self._found:
            self._found[key] = shortest_paths(i, lambda record: self._steps_among_listed[record][side])
        return self._found[key]

    @cached_property
    def _steps_among_listed(self) -> list[tuple[list[tuple[int, Exact]], ...]]:
        """From each listed record to those that some rule may bound, with the lower and with the upper bounds."""
        near: list[set[int]] = [set() for _ in range(self.policy.universe.record_types)]
        for records in self._alike.values():
            for record in records:
                near[record].update(records)
        found = []
        for record, others in enumerate(near):
            bounds = [(other, self._smallest_bound(record, other)) for other in sorted(others - {record})]
            found.append(tuple([(other, bound[side]) for other, bound in bounds] for side in (0, 1)))
        return found

    def _smallest_bound(self, i: int, j: int) -> Enclosure:
        """The smallest bound that any rule states for two records: on the attributes they differ in, or on all."""
        if self.policy.universe.absent in (i, j):
            return self.presence, self.presence
        codes = zip(self.codes(i), self.codes(j), strict=True)
        apart = [(place, a, b) for place, (a, b) in enumerate(codes) if a != b]
        low, high = self.ceiling, self.ceiling
        if len(apart) == 1:
            stated = self._between(*apart[0])
            low, high = min(low, stated[0]), min(high, stated[1])
        together = self.several.smallest_bound({place: (a, b) for place, a, b in apart}) if apart else (low, high)
        return min(low, together[0]), min(high, together[1])


MOST_TRIPLES: Final = 1_000_000_000
"""Beyond, evenly spread rows are compared instead of all."""
MOST_SOURCES: Final = 64


def audit_matrix(claims: Claims, matrix: ArrayLike) -> Audit:
    """Re-check a certificate against a matrix, one middle record at a time.

    Guarantee: up to a thousand records every triple is compared again; beyond, every detour of evenly spread rows.
    Raises: CertificateRefused with the reason; NotAMetric when this is no square matrix of numbers.
    """
    require_equal("kind", claims["kind"], "matrix")
    entries, factor = matrix_of(matrix)
    size = len(entries)
    shown = entries
    if factor != 1:
        shown = np.array([[_lowered(entry, factor) for entry in row] for row in entries.tolist()])
    require_equal("size", claims["size"], size)
    for i, j, claimed in claimed_distances(claims, claimed_pairs((size,))):
        require_equal(f"the distance of records {i} and {j}", claimed, float(shown[i, j]))
    require_equal("fingerprint", claims["fingerprint"], fingerprint_of(shown, factor))
    _require_entries(entries)
    rows = _spread(size, max(1, MOST_TRIPLES // (size * size)))
    excess = max((_worst_of_row(entries, row) for row in rows), default=0.0)
    whole = entries[np.isfinite(entries)]
    exact = bool(np.all(whole == np.trunc(whole)) and np.all(whole < 2.0**52))
    tolerance = 0.0 if exact else ROUNDING_OF_INPUT
    _require_verdict(claims, excess, tolerance, 0.0, len(rows) == size)
    _require_proof(
        claims,
        form="matrix",
        size=size,
        reason=f"every triple compared, in {'exact integers' if exact else 'float64'}",
        pairs=math.comb(size, 2),
        triples=3 * math.comb(size, 3),
        tolerance=tolerance,
    )
    return Audit(
        (
            "the fingerprint, size and distances are those of the matrix",
            f"every detour of {len(rows):,} of {size:,} records compared again, one by one",
        )
    )


def audit_edges(claims: Claims, edges: Sequence[Edge]) -> Audit:
    """Re-check a certificate against an edge list, by textbook searches in exact rationals from evenly spread records.

    Raises: CertificateRefused with the reason; NotAMetric when the list states no distances.
    """
    require_equal("kind", claims["kind"], "edges")
    stated = stated_edges(edges)
    require_equal("fingerprint", claims["fingerprint"], fingerprint_of_edges(stated))
    size = len(stated.names)
    require_equal("size", claims["size"], size)
    steps = _steps(edges, stated.names)
    sources = _spread(size, MOST_SOURCES)
    reached = {source: shortest_paths(source, lambda node: steps[node]) for source in sources}
    excess = max((_excess(steps[source], reached[source]) for source in sources), default=0.0)
    tolerance = 0.0 if stated.exact else max(ROUNDING_OF_INPUT, (size + 1) * UNIT_ROUNDOFF)
    # Sums along paths were rounded when the list was verified, and are not here.
    _require_verdict(claims, excess, tolerance, tolerance, False)
    _require_paths(claims, size, reached)
    _require_proof(
        claims,
        form="edge list",
        size=size,
        reason=f"every edge compared with the shortest path, {'exactly' if stated.exact else 'in float64'}",
        pairs=len(edges),
        triples=0,
        tolerance=tolerance,
    )
    return Audit(
        (
            "the fingerprint and size are those of the edge list",
            f"the edges of {len(sources):,} of {size:,} records compared with exact shortest paths",
        )
    )


def _require_proof(claims: Claims, **found: Any) -> None:
    """Compare the claimed form with what was found; its verdict and excess have been checked.

    Raises: CertificateRefused.
    """
    claimed = claims["proof"]
    require_proof(claimed, {**found, "verdict": claimed["verdict"], "excess": claimed["excess"], "parts": []})


def _steps(edges: Sequence[Edge], names: Sequence[str]) -> dict[int, list[tuple[int, Exact]]]:
    """The edges that leave each record. Raises: CertificateRefused."""
    index = {name: place for place, name in enumerate(names)}
    steps: dict[int, list[tuple[int, Exact]]] = defaultdict(list)
    for one, other, distance in edges:
        _require_length(one, other, distance)
        bound = Fraction(distance) if distance != INFINITE else INFINITE
        steps[index[one]].append((index[other], bound))
        steps[index[other]].append((index[one], bound))
    return steps


def _lowered(entry: float, factor: Fraction) -> float:
    return entry if math.isinf(entry) else round_down(Fraction(entry) * factor)


def _require_entries(entries: NDArray[np.float64]) -> None:
    if np.any(np.isnan(entries) | (entries < 0) | (entries != entries.T)) or np.any(np.diagonal(entries)):
        raise CertificateRefused("the matrix has undefined, negative, asymmetric or non-zero diagonal entries")


def _spread(size: int, most: int) -> list[int]:
    return list(range(size)) if size <= most else sorted({place * size // most for place in range(most)})


def _worst_of_row(entries: NDArray[np.float64], i: int) -> float:
    """The largest relative excess of d(i, j) over d(i, k) + d(k, j), over all k and j."""
    shortest = np.full(len(entries), np.inf)
    for k in range(len(entries)):
        shortest = np.minimum(shortest, entries[i, k] + entries[k])
    longer = shortest < entries[i]
    direct, detour = entries[i][longer], shortest[longer]
    with np.errstate(invalid="ignore"):
        excess = np.where(np.isinf(direct), 1.0, (direct - detour) / direct)
    return float(np.max(excess, initial=0.0))


def _require_verdict(claims: Claims, excess: float, tolerance: float, apart: float, complete: bool) -> None:
    proof: Any = claims["proof"]
    verdict = proof.get("verdict") if isinstance(proof, dict) else None
    claimed = proof.get("excess") if isinstance(proof, dict) else None
    if verdict not in ("holds", "within rounding") or not isinstance(claimed, float) or not 0 <= claimed <= tolerance:
        raise CertificateRefused("the certificate's verdict is 'holds' or 'within rounding', with an allowed excess")
    if excess > tolerance:
        raise CertificateRefused(f"the triangle inequality fails, by a relative {excess:.3g}")
    require_equal("whether it is within rounding only", verdict == "within rounding", claimed > 0)
    if excess > claimed + apart or (complete and excess < claimed - apart):
        raise CertificateRefused(f"the certificate claims an excess of {claimed:.3g}, found {excess:.3g}")


def _require_length(one: str, other: str, distance: Fraction | float | int) -> None:
    if not distance >= 0 or (one == other and distance != 0):
        raise CertificateRefused(f"the edge between '{one}' and '{other}' states {distance}, which is no distance")


def _excess(edges: Sequence[tuple[int, Exact]], reached: dict[int, Exact]) -> float:
    worst = 0.0
    for other, bound in edges:
        path = reached.get(other, INFINITE)
        if path < bound:
            worst = max(worst, 1.0 if bound == INFINITE else float((bound - path) / bound))
    return worst


def _require_paths(claims: Claims, size: int, reached: dict[int, dict[int, Exact]]) -> None:
    for i, j, claimed in claimed_distances(claims, claimed_pairs((size,))):
        for source, end in itertools.permutations((i, j)):
            if source not in reached:
                continue
            path = reached[source].get(end, INFINITE)
            exact = Fraction(claimed) if math.isfinite(claimed) else INFINITE
            if exact > path or (path == INFINITE) != (exact == INFINITE):
                raise CertificateRefused(f"the claimed distance of records {i} and {j} was raised above their path")
            if path != INFINITE and exact < path * (1 - _RELATIVE):
                raise CertificateRefused(f"the claimed distance of records {i} and {j} was lowered below their path")
