"""Sums, averages and percentiles of a small database, and how much they can change under each metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final, Literal, TypeAlias, final

from dxgeom.errors import DataError, DxgeomError, UnsupportedCombination
from dxgeom.mechanisms.contract.mechanism import digest_of
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.verification import VerifiedMetric, verify

Database: TypeAlias = Sequence[int | None]
"""The value of each individual in steps, 0..k, or None for who is absent; somebody is present."""
Under: TypeAlias = Literal["hamming", "normalised manhattan", "manhattan", "maximum"]
Query: TypeAlias = Literal["sum", "average", "percentile"]


def total(database: Database) -> int:
    """The sum of those present, in steps."""
    return sum(_present(database))


def average(database: Database) -> int:
    """The average of those present, in steps, rounded to the nearest; halves up.

    Rounded as ⌊v + ½⌋ it changes by at most as many steps as the average does, when that is a whole number of them.
    Source: Chatzikokolakis et al. 2013, §5.1; corrected: the average of m values is a multiple of 1/m, and halves
    rounded to even would double the sensitivity.
    """
    present = _present(database)
    return (2 * sum(present) + len(present)) // (2 * len(present))


def percentile(database: Database, p: int) -> int:
    """The ⌊p·m/100 + 1⌋-th smallest of the m values present, 0 ≤ p < 100: 0 is the minimum, 50 a median."""
    if not 0 <= p < 100:
        raise DxgeomError(f"a percentile lies in 0..99, found {p}")
    present = sorted(_present(database))
    return present[p * len(present) // 100]


def database_distance(one: Database, other: Database, under: Under, largest: int) -> Fraction:
    """The distance of two databases in steps (Hamming and normalised: in individuals); *exact*.

    Who is absent is as far from every value as values can be.
    """
    gaps = [_gap(a, b, largest) for a, b in zip(one, other, strict=True)]
    return _DISTANCES[under](gaps, largest)


@final
@dataclass(frozen=True)
class DatabasePolicy:
    """n individuals with values step·{0..largest} or absent, hidden by epsilon·(the metric ``under``).

    ``epsilon``: nats per unit of that metric.
    """

    individuals: int
    step: Fraction
    largest: int
    under: Under
    epsilon: Fraction

    def __post_init__(self) -> None:
        if not (self.individuals >= 1 and self.largest >= 1 and self.step > 0 and self.epsilon > 0):
            raise DxgeomError("a database has individuals, a positive step, values beyond 0, and epsilon > 0")
        if self.under not in _DISTANCES:
            raise UnsupportedCombination(f"there is no metric '{self.under}'; known are {', '.join(_DISTANCES)}")

    def sensitivity(self, query: Query) -> Fraction:
        """The largest |f(x) − f(x′)| over the distance of x and x′, *exact*.

        Source: Chatzikokolakis et al. 2013, Proposition 4 and Theorems 11 to 13; a sum under the maximum metric, which
        the paper leaves out, changes n times as much.
        """
        if query not in ("sum", "average", "percentile"):
            raise UnsupportedCombination(f"there is no query '{query}'; known are sum, average, percentile")
        if self.under in ("hamming", "normalised manhattan"):
            return self.step * self.largest
        return Fraction(self.individuals if self.under == "maximum" and query == "sum" else 1)

    def is_optimal(self, query: Query) -> bool:
        """Whether no other mechanism answers better than the truncated geometric one, for any prior and monotone loss.

        Source: Chatzikokolakis et al. 2013, Theorems 10 to 13; Theorem 9 after Brenner & Nissim says no for Hamming,
        unless values are 0 and 1 only, which makes it the normalised Manhattan metric.
        """
        if self.under == "maximum" and query == "sum":
            return self.individuals == 1
        return self.under != "hamming" or self.largest == 1

    def answers(self, query: Query) -> int:
        """How many values the query has: multiples of the step from 0."""
        return self.largest * (self.individuals if query == "sum" else 1) + 1

    def metric(self, query: Query, budget: Fraction = Fraction(1)) -> VerifiedMetric:
        """(epsilon/sensitivity)·|y − y′| on the query's values: a mechanism that honours it honours the policy.

        All queries' metrics carry the policy's fingerprint, so that one ledger accounts for all of them.
        Source: Chatzikokolakis et al. 2013, Fact 5.
        """
        positions = tuple(i * self.step for i in range(self.answers(query)))
        digest = digest_of("database", self.individuals, self.step, self.largest, self.under, self.epsilon)
        title = f"{self.individuals} individuals under the {self.under} metric"
        line = LineMetric(positions, self.epsilon / self.sensitivity(query))
        return verify(line, title=title, fingerprint=digest, budget=budget)


def _present(database: Database) -> list[int]:
    present = [value for value in database if value is not None]
    if not present:
        raise DataError("somebody is present in a database")
    return present


def _gap(one: int | None, other: int | None, largest: int) -> int:
    if one is None or other is None:
        return 0 if one is other else largest
    return abs(one - other)


_DISTANCES: Final[Mapping[str, Callable[[list[int], int], Fraction]]] = MappingProxyType(
    {
        "hamming": lambda gaps, largest: Fraction(sum(gap > 0 for gap in gaps)),
        "normalised manhattan": lambda gaps, largest: Fraction(sum(gaps), largest),
        "manhattan": lambda gaps, largest: Fraction(sum(gaps)),
        "maximum": lambda gaps, largest: Fraction(max(gaps)),
    }
)
