"""Re-checking the certificate of a policy's metric from the policy's rules alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, final

from dxgeom.audit.claims import Claims, claimed_distances, pairs_of_universe, require_equal, require_proof
from dxgeom.audit.paths import INFINITE, Exact, shortest_paths
from dxgeom.audit.stated_bounds import Enclosure, StatedBounds
from dxgeom.errors import CertificateRefused, UnsupportedCombination
from dxgeom.policy.policy import Policy

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
    rules = _Rules(policy)
    one_sided = sum(rules.check(i, j, d) for i, j, d in claimed_distances(claims, pairs_of_universe(policy.universe)))
    total = len(claims["distances"])
    lines = [
        f"the fingerprint, size, budget and forms are those of policy '{policy.name}'",
        f"{total - one_sided:,} of {total:,} claimed distances re-derived from the rules, from above and below",
    ]
    if one_sided:
        lines.append(
            f"{one_sided:,} compared from above only: an attribute of more than {SMALL_ATTRIBUTE} values mixes bounds"
        )
    return Audit(tuple(lines))


@final
@dataclass(frozen=True, eq=False)
class _Rules:
    policy: Policy

    def __post_init__(self) -> None:
        for rule in self.policy.rules:
            if not rule.bounds and rule.everything is None and rule.presence is None:
                raise UnsupportedCombination(f"this audit cannot re-derive the rule in line {rule.line}: {rule.words}")

    @cached_property
    def parts(self) -> tuple[StatedBounds, ...]:
        return tuple(
            StatedBounds(
                attribute,
                tuple(bound for rule in self.policy.rules for name, bound in rule.bounds if name == attribute.name),
            )
            for attribute in self.policy.universe.attributes
        )

    @cached_property
    def ceiling(self) -> Exact:
        stated = [rule.everything for rule in self.policy.rules if rule.everything is not None]
        return min(stated, default=INFINITE)

    @cached_property
    def presence(self) -> Exact:
        stated = [rule.presence for rule in self.policy.rules if rule.presence is not None]
        return min(stated, default=INFINITE)

    @cached_property
    def _found(self) -> dict[tuple[int, int, int], dict[int, Exact]]:
        return {}

    @cached_property
    def _known(self) -> dict[tuple[int, int, int], Enclosure]:
        return {}

    @cached_property
    def _table(self) -> list[list[Enclosure]]:
        size = self.policy.universe.size
        return [[self._stated(i, j) for j in range(size)] for i in range(size)]

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

    def check(self, i: int, j: int, claimed: float) -> bool:
        """Whether the claim could be compared from above only. Raises: CertificateRefused."""
        low, high = self._enclosure(i, j)
        exact = Fraction(claimed) if math.isfinite(claimed) else INFINITE
        words = f"the claimed distance of records {i} and {j} is {claimed!r}, but the rules make it"
        if exact > high:
            raise CertificateRefused(f"{words} at most {float(high)!r}: it was raised")
        if low is None:
            return True
        slack = sum((part.slack for part in self.parts), Fraction(0))
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
        sides = [self._along(place, a, b) for place, (_, a, b) in enumerate(pairs) if a != b]
        high = min(sum((high for _, high in sides), Fraction(0)), ceiling)
        lows = [low for low, _ in sides]
        if any(low is None for low in lows):
            return None, high
        return min(sum((low for low in lows if low is not None), Fraction(0)), ceiling), high

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
        key = (place, a, side)
        if key not in self._found:
            part = self.parts[place]

            def steps(value: int) -> Iterator[tuple[int, Exact]]:
                others = (other for other in range(part.attribute.size) if other != value)
                return ((other, self._between(place, value, other)[side]) for other in others)

            self._found[key] = shortest_paths(a, steps)
        return self._found[key]

    def _among_records(self, i: int, side: int) -> dict[int, Exact]:
        key = (-1, i, side)
        if key not in self._found:

            def steps(record: int) -> Iterator[tuple[int, Exact]]:
                others = (other for other in range(self.policy.universe.size) if other != record)
                return ((other, self._table[record][other][side]) for other in others)

            self._found[key] = shortest_paths(i, steps)
        return self._found[key]

    @cached_property
    def _alike(self) -> dict[tuple[int, ...], list[int]]:
        """The listed records that agree in all attributes but one, by that attribute and the other codes."""
        alike = defaultdict(list)
        for record in range(self.policy.universe.record_types):
            codes = self.codes(record)
            for place in range(len(codes)):
                alike[place, *codes[:place], *codes[place + 1 :]].append(record)
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
        """From each listed record to those that differ in one attribute, with the lower and with the upper bounds."""
        every = [self.codes(record) for record in range(self.policy.universe.record_types)]
        found = []
        for record, codes in enumerate(every):
            steps: tuple[list[tuple[int, Exact]], ...] = ([], [])
            for place, code in enumerate(codes):
                for other in self._alike[place, *codes[:place], *codes[place + 1 :]]:
                    if other != record:
                        for side, bound in enumerate(self._between(place, code, every[other][place])):
                            steps[side].append((other, bound))
            found.append(steps)
        return found

    def _stated(self, i: int, j: int) -> Enclosure:
        """The smallest bound that any rule states for two records: they differ in one attribute, or it bounds all."""
        if self.policy.universe.absent in (i, j):
            return self.presence, self.presence
        codes = zip(self.codes(i), self.codes(j), strict=True)
        apart = [(place, a, b) for place, (a, b) in enumerate(codes) if a != b]
        low, high = self.ceiling, self.ceiling
        if len(apart) == 1:
            stated = self._between(*apart[0])
            low, high = min(low, stated[0]), min(high, stated[1])
        return low, high
