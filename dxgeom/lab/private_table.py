"""From a table of probabilities to a mechanism: the exact check that it honours its metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from typing import TypeAlias, final

from dxgeom.errors import CertificateRefused, DxgeomError, UnsupportedCombination
from dxgeom.lab.finite_mechanism import (
    FiniteMechanism,
    LikelihoodRatioBounds,
    Losses,
    Prior,
    bayes_remap,
    likelihood_ratio_bounds,
)
from dxgeom.mechanisms.contract.secret_mechanism import SecretMechanism
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest

Weights: TypeAlias = Sequence[Sequence[Fraction]]

_DOOR = object()
_GRID = 192
"""Bits of the probabilities of a table that was rounded."""
_SHARE_BITS = 96
_LARGEST_SHARE = Fraction(1, 1000)
_ATTEMPTS = 8


@final
@dataclass(frozen=True, eq=False)
class PrivateTable(SecretMechanism[int]):
    """A finite mechanism that was found to honour a metric; only :func:`honouring` and :func:`repaired` make one.

    Guarantee: replacing the secret i by j changes the odds of any answer by at most e^(spend·d(i, j)), decided in
    exact rationals on the metric's generating pairs. Unlike additive noise it serves this one spend.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    law: FiniteMechanism = field(repr=False)
    spend: Fraction
    door: InitVar[object] = None

    def __post_init__(self, door: object) -> None:
        if door is not _DOOR:
            raise DxgeomError("a PrivateTable is made by honouring(metric, law), which checks it, never by hand")

    def expected_loss(self, prior: Prior, losses: Losses) -> Fraction:
        """The expected loss under a prior, *exact*."""
        return self.law.expected_loss(prior, losses)

    def with_best_guesses(self, prior: Prior, losses: Losses) -> PrivateTable:
        """The same mechanism, each answer replaced by the guess that costs least over its posterior."""
        law = self.law.followed_by(bayes_remap(self.law, prior, losses), len(losses[0]))
        return honouring(self.metric, law, f"{self.name}, remapped", self.spend)

    def report(self, secret: int, randomness: Randomness) -> int:
        return self.law.draw(secret, randomness)

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("table", self.metric.fingerprint, self.name, self.spend, self.law.rows)


def honouring(metric: VerifiedMetric, law: FiniteMechanism, name: str, spend: Fraction = Fraction(1)) -> PrivateTable:
    """Check, in exact rationals, that the law hides spend·d, and say so in its type.

    Raises: CertificateRefused with the pair and the answer that show too much.
    """
    if spend <= 0:
        raise UnsupportedCombination(f"a spend is a positive multiple of the metric, found {spend}")
    _require_hidden(likelihood_ratio_bounds(metric, spend), law)
    return PrivateTable(name, metric, law, spend, _DOOR)


def _require_hidden(hidden: LikelihoodRatioBounds, law: FiniteMechanism) -> None:
    """Raises: CertificateRefused with the pair and the answer that show too much."""
    excess = hidden.excess(law)
    if excess is not None:
        x, y, z = excess
        shown = law.rows[x][z] / law.rows[y][z] if law.rows[y][z] else float("inf")
        raise CertificateRefused(
            f"answer {z} has odds {float(shown):.6g} between the secrets {x} and {y}, more than the metric hides"
        )


def rounded_and_mixed(weights: Weights, hidden: LikelihoodRatioBounds) -> FiniteMechanism:
    """A law near these weights that hides the odds *exactly*: rounded to a grid and mixed with a little uniform.

    Rounding breaks odds that are met with equality, above all of tiny probabilities. A share η of the uniform law over
    the M answers forgives an excess P(z | x) − h·P(z | y) up to η(h − 1)/M, so η is taken from the largest excess.
    Raises: CertificateRefused when more than a thousandth would be needed: the weights were not private.
    """
    ideal = [_on_grid(row) for row in weights]
    share = _needed_share(ideal, hidden)
    for _ in range(_ATTEMPTS):
        if share > _LARGEST_SHARE * (1 << _SHARE_BITS):
            break
        law = _mixed(ideal, math.ceil(share))
        if hidden.excess(law) is None:
            return law
        share = 2 * share + 1
    raise CertificateRefused("these probabilities are too far from hiding the metric for a small repair")


def repaired(
    metric: VerifiedMetric, hidden: LikelihoodRatioBounds, weights: Weights, name: str, spend: Fraction
) -> PrivateTable:
    """The mechanism of a law near these weights that hides spend·d, ``hidden``. Raises: as rounded_and_mixed."""
    return PrivateTable(name, metric, rounded_and_mixed(weights, hidden), spend, _DOOR)


def _on_grid(row: Sequence[Fraction]) -> list[int]:
    """The row's probabilities in units of 2⁻¹⁹², rounded down; what is missing goes to the most likely answer."""
    total = sum(row, Fraction(0))
    if not total > 0 or min(row) < 0:
        raise DxgeomError("each row of weights is not negative and has a positive sum")
    return _completed(
        [(weight.numerator * total.denominator << _GRID) // (weight.denominator * total.numerator) for weight in row]
    )


def _completed(cells: list[int]) -> list[int]:
    cells[max(range(len(cells)), key=cells.__getitem__)] += (1 << _GRID) - sum(cells)
    return cells


def _needed_share(cells: list[list[int]], hidden: LikelihoodRatioBounds) -> Fraction:
    """η in units of 2⁻⁹⁶."""
    needed = Fraction(0)
    for x, y, most in hidden.pairs:
        above, below = most.numerator, most.denominator
        for one, other in ((x, y), (y, x)):
            worst = max(p * below - above * q for p, q in zip(cells[one], cells[other], strict=True))
            if worst > 0:
                excess = Fraction(worst, below << _GRID)
                needed = max(needed, excess / (excess + (most - 1) / len(cells[0])))
    return needed * (1 << _SHARE_BITS)


def _mixed(cells: list[list[int]], share: int) -> FiniteMechanism:
    kept, even = (1 << _SHARE_BITS) - share, (share << _GRID) // len(cells[0])
    rows = [_completed([(cell * kept + even) >> _SHARE_BITS for cell in row]) for row in cells]
    return FiniteMechanism(tuple(tuple(Fraction(cell, 1 << _GRID) for cell in row) for row in rows))
