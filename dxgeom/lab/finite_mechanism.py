"""Mechanisms with finitely many secrets and answers, exactly: the best guesses after their answers; the check that a
table of probabilities honours its metric.

What has to stay hidden, in exact odds: for pairs of secrets, a rational not above e^d.

What a finite mechanism reveals, exactly: its privacy level, and what an observer can learn from one answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from typing import TypeAlias, final

import numpy as np
from flint import arb, ctx, fmpq

from dxgeom.arguments import NUMBER, require, require_exact
from dxgeom.errors import CertificateRefused, DxgeomError, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.contract.mechanism import SecretMechanism
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.numeric.exact_numbers import exact_middle, rational
from dxgeom.numeric.randomness import Randomness, uniform_integer
from dxgeom.numeric.rounding import round_down, round_up
from dxgeom.numeric.sealed import cached_property, canonical_digest

Odds: TypeAlias = Fraction | float
"""A ratio of probabilities: an exact rational, or ∞ where one of them is 0."""
Prior: TypeAlias = Sequence[Fraction]
"""The probability of each secret."""
Losses: TypeAlias = Sequence[Sequence[Fraction]]
"""``losses[x][w]``: what the answer w costs when the secret is x."""

_INFINITE = float("inf")


@final
@dataclass(frozen=True)
class FiniteMechanism:
    """``rows[x][z]``: the exact probability of answer z when the secret is x; each row sums to 1."""

    rows: tuple[tuple[Fraction, ...], ...] = field(repr=False)

    def __post_init__(self) -> None:
        if not self.rows or len({len(row) for row in self.rows}) != 1:
            raise DxgeomError("a mechanism has a row of equal length for each secret, and at least one")
        for x, row in enumerate(self.rows):
            exact = all(isinstance(chance, Fraction) and chance >= 0 for chance in row)
            if not exact or sum((integers := _over_one_denominator(row))[0]) != integers[1]:
                raise DxgeomError(f"row {x} of a mechanism holds exact fractions of at least 0 that sum to 1")

    @classmethod
    def from_weights(cls, weights: Sequence[Sequence[Fraction | int]]) -> FiniteMechanism:
        """The mechanism whose rows are proportional to these weights of at least 0, *exactly*."""
        totals = [sum(row, Fraction(0)) for row in weights]
        if not all(total > 0 for total in totals):
            raise DxgeomError("each row of weights has a positive sum")
        return cls(
            tuple(tuple(Fraction(weight) / total for weight in row) for row, total in zip(weights, totals, strict=True))
        )

    @property
    def secrets(self) -> int:
        """How many secrets there are."""
        return len(self.rows)

    @property
    def answers(self) -> int:
        """How many answers there are."""
        return len(self.rows[0])

    @cached_property
    def weights(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Each row as integers over their sum."""
        return tuple(map(_over_one_denominator, self.rows))

    def odds(self, x: int, y: int) -> tuple[Odds, int]:
        """The largest ratio P(z | x)/P(z | y) over answers z, and an answer that attains it.

        Definition: exp of the one-sided distinguishability of x from y; *exact*. Answers that neither row can give
        do not count.
        """
        ratios = [ratio(one, other) for one, other in zip(self.rows[x], self.rows[y], strict=True)]
        z = max(range(self.answers), key=lambda answer: ratios[answer])
        return ratios[z], z

    def odds_between(self, x: int, y: int) -> Odds:
        """exp d_M(x, y): the larger of the odds in both directions. d_M is the mechanism's own metric; *exact*."""
        return max(self.odds(x, y)[0], self.odds(y, x)[0])

    def expected_losses(self, losses: Losses) -> tuple[Fraction, ...]:
        """The expected loss of each secret, *exact*.

        Raises: DxgeomError when there is not a loss for each secret and answer.
        """
        if len(losses) != self.secrets or any(len(row) != self.answers for row in losses):
            raise DxgeomError(f"losses form a table of {self.secrets} secrets by {self.answers} answers")
        return tuple(_mean(*integers, costs) for integers, costs in zip(self.weights, losses, strict=True))

    def expected_loss(self, prior: Prior, losses: Losses) -> Fraction:
        """The expected loss under a prior, *exact*. Raises: DxgeomError when the prior is none."""
        require_prior(prior, self.secrets)
        return sum((p * loss for p, loss in zip(prior, self.expected_losses(losses), strict=True)), Fraction(0))

    def followed_by(self, remap: Sequence[int], answers: int) -> FiniteMechanism:
        """Report ``remap[z]`` of 0..answers−1 in place of z: post-processing, which can only hide more."""
        if len(remap) != self.answers or not all(0 <= w < answers for w in remap):
            raise DxgeomError(f"a remap names one of {answers} answers for each of {self.answers}")
        rows = []
        for row in self.rows:
            merged = [Fraction(0)] * answers
            for chance, w in zip(row, remap, strict=True):
                merged[w] += chance
            rows.append(tuple(merged))
        return FiniteMechanism(tuple(rows))

    def draw(self, secret: int, randomness: Randomness) -> int:
        """An answer. Charges no ledger: whoever releases it has to.

        Guarantee: *exactly* the law of the row, in integers; the time it takes is not hidden.
        Raises: IndexError when there is no such secret.
        """
        if not 0 <= secret < self.secrets:
            raise IndexError(f"secrets run from 0 to {self.secrets - 1}")
        weights, total = self.weights[secret]
        left = uniform_integer(total, randomness)
        for z, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return z
        raise DxgeomError("the weights of a row do not sum to their denominator")


def _over_one_denominator(row: Sequence[Fraction]) -> tuple[tuple[int, ...], int]:
    total = math.lcm(*(chance.denominator for chance in row))
    return tuple(chance.numerator * (total // chance.denominator) for chance in row), total


def _mean(weights: Sequence[int], total: int, costs: Sequence[Fraction]) -> Fraction:
    """In integers, because adding fractions would reduce every partial sum."""
    unit = math.lcm(*(cost.denominator for cost in costs))
    exact = sum(w * cost.numerator * (unit // cost.denominator) for w, cost in zip(weights, costs, strict=True))
    return Fraction(exact, total * unit)


def ratio(one: Fraction, other: Fraction) -> Odds:
    """one/other; 0/0 is 0, because an answer that neither secret can give tells nothing."""
    if other == 0:
        return Fraction(0) if one == 0 else _INFINITE
    return one / other


def require_prior(prior: Prior, secrets: int) -> None:
    """Raises: DxgeomError unless there is a probability for each secret, and they sum to 1."""
    require(prior, (Sequence, np.ndarray), "prior", "list the probability of each secret")
    for chance in prior:
        require(chance, NUMBER, "prior", "list numbers, such as Fraction(1, 3)")
    if len(prior) != secrets or any(chance < 0 for chance in prior) or sum(prior) != 1:
        raise DxgeomError("a prior has a probability for each secret, and they sum to 1")


def bayes_remap(law: FiniteMechanism, prior: Prior, losses: Losses) -> tuple[int, ...]:
    """For each answer z the guess w that costs least on average over the posterior; the first among equals.

    Definition: argmin_w Σ_x π(x)·P(z | x)·losses[x][w]; *exact*. Reads no data, so it reveals nothing.
    Raises: DxgeomError when prior or losses do not fit.
    Source: Ghosh, Roughgarden & Sundararajan 2009; Chatzikokolakis et al. 2013, §4.2.
    """
    require_prior(prior, law.secrets)
    guesses = len(losses[0]) if len(losses) == law.secrets else 0
    if guesses == 0 or any(len(row) != guesses for row in losses):
        raise DxgeomError(f"losses form a table with a row of equal length for each of {law.secrets} secrets")
    return tuple(
        min(
            range(guesses), key=_costs([p * row[z] for p, row in zip(prior, law.rows, strict=True)], losses).__getitem__
        )
        for z in range(law.answers)
    )


def remapped_loss(law: FiniteMechanism, prior: Prior, losses: Losses) -> Fraction:
    """The expected loss of whoever knows the prior and guesses best, *exact*."""
    remap = bayes_remap(law, prior, losses)
    return law.followed_by(remap, len(losses[0])).expected_loss(prior, losses)


def _costs(joint: list[Fraction], losses: Losses) -> list[Fraction]:
    return [
        sum((chance * row[w] for chance, row in zip(joint, losses, strict=True)), Fraction(0))
        for w in range(len(losses[0]))
    ]


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
            raise DxgeomError("a PrivateTable is made by honouring(metric, law), which checks it, never directly")

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


_BITS = (128, 512, 4096)


@final
@dataclass(frozen=True)
class PrivacyLevel:
    """sup |ln P(z | x)/P(z | y)| / d(x, y), enclosed in [``lower``, ``upper``] and attained at ``secrets``, ``answer``.

    ``odds``: the exact ratio there, ``distance``: the exact d there. All None, and the level 0, when every row is
    equal; the level is ∞ when an answer rules out a secret at a finite distance.
    """

    lower: float
    upper: float
    secrets: tuple[int, int] | None = None
    answer: int | None = None
    odds: Odds | None = None
    distance: Fraction | None = None


def privacy_level(mechanism: FiniteMechanism, distances: Sequence[Sequence[Odds]]) -> PrivacyLevel:
    """The smallest factor c such that the mechanism is c·d-private.

    Args: ``distances`` (N, N), exact rationals or ∞, in any unit; the level is then in nats per unit.
    Guarantee: the bounds enclose the level; the witness has the largest quotient as far as 4096 bits can tell, and of
    quotients that cannot be told apart it is one. Two secrets at distance 0 must have equal rows, else the level is ∞.
    Source: Chatzikokolakis et al. 2013, Definition 1.
    Raises: DxgeomError when the distances do not fit the mechanism.
    """
    _require_fit(mechanism, distances)
    found: list[tuple[int, int, int, Odds, Fraction]] = []
    for x, y in permutations(range(mechanism.secrets), 2):
        distance = distances[x][y]
        odds, z = mechanism.odds(x, y)
        if distance == _INFINITE or odds <= 1:
            continue
        if odds == _INFINITE or distance == 0:
            return PrivacyLevel(_INFINITE, _INFINITE, (x, y), z, odds, Fraction(distance))
        found.append((x, y, z, odds, Fraction(distance)))
    if not found:
        return PrivacyLevel(0.0, 0.0)
    return _largest(found)


def is_private(mechanism: FiniteMechanism, hidden: Sequence[Sequence[Odds]]) -> bool:
    """Whether P(z | x) ≤ hidden[x][y]·P(z | y) for all x, y, z: d-privacy with hidden = exp(d), decided *exactly*.

    Source: Chatzikokolakis et al. 2013, Definition 1.
    """
    _require_fit(mechanism, hidden)
    return all(mechanism.odds(x, y)[0] <= hidden[x][y] for x, y in permutations(range(mechanism.secrets), 2))


def posterior(mechanism: FiniteMechanism, prior: Sequence[Fraction], answer: int) -> tuple[Fraction, ...]:
    """Bayes' rule after one answer, *exact*.

    Raises: DxgeomError when the prior is none, or rules the answer out.
    """
    require_prior(prior, mechanism.secrets)
    joint = [chance * row[answer] for chance, row in zip(prior, mechanism.rows, strict=True)]
    total = sum(joint)
    if total == 0:
        raise DxgeomError(f"answer {answer} cannot occur under this prior")
    return tuple(Fraction(chance) / total for chance in joint)


def most_learned(mechanism: FiniteMechanism, neighbourhood: Iterable[int]) -> Odds:
    """How far an answer can move an observer who knows that the secret lies in the neighbourhood, over all priors.

    Definition: sup over priors, answers and x in N of max(posterior(x)/prior(x), prior(x)/posterior(x)), both
    restricted to N. Equals the largest odds between two secrets of N; approached by priors that all but rule one out.
    Guarantee: *exact*; a d-private mechanism has at most exp(diameter of N under d).
    Source: Chatzikokolakis et al. 2013, Theorem 4 and its converse for neighbourhoods of two.
    """
    pairs = combinations(sorted(set(neighbourhood)), 2)
    return max((mechanism.odds_between(x, y) for x, y in pairs), default=Fraction(1))


def most_hidden(mechanism: FiniteMechanism, hiding: Sequence[int]) -> Odds:
    """How much an observer's conclusions can depend on whether x or ``hiding[x]`` was fed to the mechanism.

    Definition: sup over priors, answers and secrets of the ratio, either way up, between the posteriors with and
    without hiding. With r(x) = P(z | x)/P(z | hiding[x]) it is the largest max r / min r over answers z.
    Guarantee: *exact*; a d-private mechanism has at most exp(2·max d(x, hiding[x])).
    Source: Chatzikokolakis et al. 2013, Theorem 3.
    Raises: DxgeomError when the hiding function does not map secrets to secrets.
    """
    inside = len(hiding) == mechanism.secrets and all(0 <= y < mechanism.secrets for y in hiding)
    if not inside:
        raise DxgeomError("a hiding function names a secret for each secret")
    worst: Odds = Fraction(1)
    for z in range(mechanism.answers):
        chances = [(mechanism.rows[x][z], mechanism.rows[y][z]) for x, y in enumerate(hiding)]
        possible = [pair for pair in chances if any(pair)]
        if possible:
            up = max(ratio(one, other) for one, other in possible)
            down = max(ratio(other, one) for one, other in possible)
            worst = max(worst, _INFINITE if _INFINITE in (up, down) else up * down)
    return worst


def _require_fit(mechanism: FiniteMechanism, table: Sequence[Sequence[Odds]]) -> None:
    size = mechanism.secrets
    if len(table) != size or any(len(row) != size for row in table):
        raise DxgeomError(f"{size} secrets need a table of {size} by {size} numbers")
    entries = [entry for row in table for entry in row]
    if any(not isinstance(entry, Fraction | int) and entry != _INFINITE for entry in entries):
        raise DxgeomError("the numbers are exact fractions, or infinity")
    if any(entry < 0 for entry in entries):
        raise DxgeomError("the numbers are not negative")


def _largest(found: list[tuple[int, int, int, Odds, Fraction]]) -> PrivacyLevel:
    """More bits while candidates overlap and more could help; equal quotients never separate and need not."""
    candidates = found
    for bits in _BITS:
        with ctx.workprec(bits):
            quotients = [_level(odds, distance) for _, _, _, odds, distance in candidates]
            bar = max(quotient.lower() for quotient in quotients)
            kept = [pair for pair in zip(candidates, quotients, strict=True) if not pair[1] < bar]
            highest = max(quotient.upper() for _, quotient in kept)
        candidates = [candidate for candidate, _ in kept]
        if len(kept) == 1 or len({(odds, distance) for _, _, _, odds, distance in candidates}) == 1:
            break
    x, y, z, odds, distance = candidates[0]
    return PrivacyLevel(round_down(exact_middle(bar)), round_up(exact_middle(highest)), (x, y), z, odds, distance)


def _level(odds: Odds, distance: Fraction) -> arb:
    if not isinstance(odds, Fraction):
        raise CertificateRefused("a quotient of infinite odds was compared")
    return arb(rational(odds)).log() / arb(rational(distance))
