"""What has to stay hidden, in exact odds: for pairs of secrets, a rational not above e^d."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import TypeAlias, final

from flint import arb, ctx, fmpq

from dxgeom.arguments import require_exact
from dxgeom.errors import DxgeomError, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.finite.finite_mechanism import FiniteMechanism
from dxgeom.metrics.verification import VerifiedMetric, require_verified

HIDDEN_BITS = 128
"""Of the odds a mechanism is held to."""
LAW_BITS = 48
"""Of the odds a law is made of: fewer, so that products of a law's odds stay below the odds it is held to."""
LARGEST_TABLE = 2048
"""Secrets of a finite mechanism: its table, and the check of every pair, grow with their square."""
_FURTHEST = 1024
"""Nats; what is further apart is hidden this well, so that the odds stay numbers of a few thousand bits."""
TOGETHER = "two secrets have distance 0, so that no answer may tell them apart: list one of them only"

Excess: TypeAlias = tuple[int, int, int]
"""Secrets x, y and an answer z with P(z | x) > most·P(z | y)."""


def odds_below(distance: Fraction, bits: int = HIDDEN_BITS) -> Fraction:
    """A rational of about so many bits strictly below e^distance, and at least 1; 1 at distance 0.

    Guarantee: *rounded down*, by at most a relative 2^(2−bits) for distances up to 1024, and to e^1024 beyond.
    Raises: DxgeomError for a negative distance.
    """
    if distance < 0:
        raise DxgeomError(f"a distance is not negative, found {distance}")
    near = min(distance, Fraction(_FURTHEST))
    with ctx.workprec(bits + 64):
        scale = arb(fmpq(near.numerator, near.denominator)).exp().lower()
        mantissa, exponent = scale.mid().man_exp()
    number, power = int(mantissa), int(exponent)
    spare = max(number.bit_length() - bits, 0)
    # One unit less, because a rational whose last bits are 0 would not have been rounded at all.
    below = Fraction((number >> spare) - 1) * Fraction(2) ** (power + spare)
    return max(below, Fraction(1))


@final
@dataclass(frozen=True, eq=False)
class LikelihoodRatioBounds:
    """For each (x, y, most) of the ``pairs``, most bounds P(z | x)/P(z | y) both ways for every answer z.

    Pairs that generate a metric are enough: bounds multiply along a shortest path.
    """

    secrets: int
    pairs: tuple[tuple[int, int, Fraction], ...] = field(repr=False)

    def excess(self, law: FiniteMechanism) -> Excess | None:
        """A pair and an answer whose odds exceed their bound, or None: decided *exactly*, pair by pair.

        Raises: UnsupportedCombination when the law is not about so many secrets.
        """
        if law.secrets != self.secrets:
            raise UnsupportedCombination(f"the metric is on {self.secrets} secrets, the mechanism on {law.secrets}")
        # Secrets that answer alike share their row, so a pair of rows need not be compared twice.
        compared: set[tuple[int, int, Fraction]] = set()
        for x, y, most in self.pairs:
            rows = (id(law.rows[x]), id(law.rows[y]), most)
            if rows in compared:
                continue
            compared.add(rows)
            for one, other in ((x, y), (y, x)):
                (above, total), (below, sum_below) = law.weights[one], law.weights[other]
                left, right = sum_below * most.denominator, total * most.numerator
                for z, (p, q) in enumerate(zip(above, below, strict=True)):
                    if p * left > q * right:
                        return one, other, z
        return None


def require_metric_and_spend(metric: object, spend: object) -> None:
    """Raises: WrongArgument unless the metric is verified and the spend an exact number above 0."""
    require_verified(metric)
    require_exact(spend, "spend")


def likelihood_ratio_bounds(metric: VerifiedMetric, spend: Fraction = Fraction(1)) -> LikelihoodRatioBounds:
    """The odds e^(spend·d) along the metric's generating pairs, *rounded down*.

    Raises: TooLarge beyond 2,048 secrets; WrongArgument as :func:`require_metric_and_spend`.
    """
    require_metric_and_spend(metric, spend)
    if metric.size > LARGEST_TABLE:
        raise TooLarge(f"a finite mechanism has at most {LARGEST_TABLE:,} secrets, the metric {metric.size:,}")
    odds = cache(lambda bound: odds_below(Fraction(bound) * spend))
    pairs: list[tuple[int, int, Fraction]] = []
    for block in metric.metric.generating_pairs():
        pairs += zip(block.first.tolist(), block.second.tolist(), map(odds, block.bound.tolist()), strict=True)
    return LikelihoodRatioBounds(metric.size, tuple(pairs))


def likelihood_ratio_bounds_of_table(table: Sequence[Sequence[Fraction | float]]) -> LikelihoodRatioBounds:
    """The same from a symmetric table of exact odds e^d, ∞ where nothing is hidden."""
    size = len(table)
    pairs = [(x, y, table[x][y]) for x in range(size) for y in range(x + 1, size)]
    kept = [(x, y, Fraction(most)) for x, y, most in pairs if most != float("inf")]
    if any(len(row) != size for row in table) or any(table[x][y] != table[y][x] for x, y, _ in pairs):
        raise DxgeomError("odds form a symmetric square table")
    if any(most < 1 for _, _, most in kept):
        raise DxgeomError("odds that stay hidden are at least 1")
    return LikelihoodRatioBounds(size, tuple(kept))
