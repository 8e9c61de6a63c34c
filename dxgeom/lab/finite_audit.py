"""What a finite mechanism reveals, exactly: its privacy level, and what an observer can learn from one answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations
from typing import final

from flint import arb, ctx

from dxgeom.errors import CertificateRefused, DxgeomError
from dxgeom.lab.finite_mechanism import FiniteMechanism, Odds, ratio, require_prior
from dxgeom.numeric.exact_numbers import exact_middle, rational
from dxgeom.numeric.rounding import round_down, round_up

_INFINITE = float("inf")
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
