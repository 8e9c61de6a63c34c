"""Gaussian noise for people with many rows: what a person's rows may shift, the law of the noise, and the account.

Each test of draws fails what is right with a chance of at most 1e-9.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from reference.people import POLICY, earth_mover, fractions_of
from scipy.stats import beta, chi2

from dxgeom import privacy
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.choose import plan
from dxgeom.planner.plan import Plan
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.universe.people.people import SHARES, ShareCounter
from dxgeom.universe.queries import LinearQueries

TYPES, MOST = 4, 3
PEOPLE = [rows for n in (1, 2, 3) for rows in itertools.combinations_with_replacement(range(TYPES), n)]
WEIGHTS = np.array([[3, 0, 0, -1], [0, 2, 0, 1], [3, 2, 0, 0]])
"""The third sum is that of the others: noise lies in two dimensions of three."""
ERROR = 1e-9
EPSILONS = (0.0, 0.2, 0.7)


def policy_of(count: str, privacy: str = "concentrated") -> Policy:
    return parse_policy(POLICY.replace("COUNT", count) + f"privacy: {privacy}\n")


ONCE, ROWS = policy_of("once"), policy_of(f"rows, at_most: {MOST}, order: at")


def planned(policy: Policy, mechanism: str = "gaussian") -> Plan:
    names = [f"q{k}" for k in range(len(WEIGHTS))]
    return plan(
        policy.compile(), LinearQueries.from_matrix(names, WEIGHTS, universe=policy.universe), mechanism=mechanism
    )


def spread(rows: tuple[int, ...]) -> np.ndarray:
    counter = ShareCounter(TYPES, lambda records: np.zeros(records.shape, dtype=np.int64))
    counter.add(np.zeros(len(rows), dtype=np.int64), np.array(rows), np.ones(len(rows), dtype=np.int64))
    return counter.histogram(None)


def mover(first: tuple[int, ...], second: tuple[int, ...]) -> float:
    def distance(i: int, j: int) -> float:
        return float(ONCE.metric.distance(i, j))

    return earth_mover(fractions_of(first, TYPES), fractions_of(second, TYPES), distance)


def told(one: Plan, shift: np.ndarray) -> float:
    """√(wᵀΣ⁻¹w) of a shift of the answers that carry noise, at spend 1, straight from the covariance."""
    mechanism = one.mechanism
    assert mechanism.law is not None
    steps = mechanism.sensitivity.queries.float_steps
    covariance = mechanism.float_mixing @ mechanism.law.second_moment @ mechanism.float_mixing.T
    scaled = shift / steps
    return float(np.sqrt(scaled @ np.linalg.pinv(covariance / np.outer(steps, steps)) @ scaled))


def test_a_person_who_counts_once_shifts_answers_by_the_earth_movers_distance_at_most() -> None:
    one = planned(ONCE)
    nearest = 0.0
    for first, second in itertools.combinations(PEOPLE, 2):
        shift = WEIGHTS @ (spread(first) - spread(second)) / SHARES
        allowed = mover(first, second)
        assert told(one, shift) <= allowed * (1 + 1e-9) + 1e-9
        nearest = max(nearest, told(one, shift) / allowed if allowed else 0.0)
    assert nearest > 0.999


def test_all_rows_of_a_person_together_shift_answers_by_the_sum_of_their_parts() -> None:
    """Each row has the metric d/m, so rows that change from r_k to r'_k shift by Σ d(r_k, r'_k)/m at most."""
    one, row = planned(ROWS), np.eye(TYPES, dtype=np.int64)
    worst = 0.0
    for changes in itertools.combinations_with_replacement(itertools.permutations(range(TYPES), 2), MOST):
        shift = WEIGHTS @ sum(row[j] - row[i] for i, j in changes)
        allowed = sum(float(ROWS.metric.distance(i, j)) for i, j in changes) / MOST
        assert told(one, shift) <= allowed * (1 + 1e-9)
        worst = max(worst, told(one, shift) / allowed)
    assert worst > 0.999


def errors_of(mechanism: HistogramMechanism, counts: np.ndarray, spend: Fraction, draws: int, seed: int) -> np.ndarray:
    drawn = mechanism.draws(counts, spend, draws, InsecureSeededRandomness(seed))
    return np.array(drawn, dtype=float)


@pytest.mark.parametrize("spend", [Fraction(1), Fraction(2, 5)])
def test_noise_on_shares_is_the_noise_of_whole_people_on_the_lattice_of_a_share(spend: Fraction) -> None:
    one, draws = planned(ONCE), 4000
    counts = spread((0, 1, 3)) + spread((2,))
    drawn = one.mechanism.draws(counts, spend, draws, InsecureSeededRandomness(3))
    steps = one.mechanism.sensitivity.queries.steps
    assert all(
        (value / step * SHARES).denominator == 1 for row in drawn for value, step in zip(row, steps, strict=True)
    )
    assert all(row[0] + row[1] == row[2] for row in drawn)
    errors = np.array(drawn, dtype=float) - WEIGHTS @ counts / SHARES
    variances = (errors**2).sum(axis=0) / one.mechanism.ideal_variances * float(spend) ** 2
    assert np.all(variances > chi2.ppf(ERROR / 6, draws)) and np.all(variances < chi2.ppf(1 - ERROR / 6, draws))
    # What is left beyond whole steps is as good as uniform: no fraction of a person stays bare.
    parts = np.array([float(row[0] / steps[0] % 1) for row in drawn])
    found = np.histogram(parts, bins=10, range=(0, 1))[0]
    assert ((found - draws / 10) ** 2).sum() / (draws / 10) < chi2.ppf(1 - ERROR, 9)


def hockey_stick(one: np.ndarray, other: np.ndarray, epsilon: float) -> float:
    """A lower bound of sup_t P[one > t] − e^ε·P[other > t]: t chosen on half of each sample, told by the other half."""
    (first, second), (first_left, second_left) = zip(*(np.array_split(part, 2) for part in (one, other)), strict=True)
    places = np.quantile(np.concatenate([first, second]), np.linspace(0.001, 0.999, 400))
    gains = [(first > t).mean() - np.exp(epsilon) * (second > t).mean() for t in places]
    threshold, count = places[int(np.argmax(gains))], len(first_left)
    hits, misses = int((first_left > threshold).sum()), int((second_left > threshold).sum())
    low = beta.ppf(ERROR / 20, hits, count - hits + 1) if hits else 0.0
    high = beta.ppf(1 - ERROR / 20, misses + 1, count - misses) if misses < count else 1.0
    return float(low - np.exp(epsilon) * high)


def audited(one: Plan, here: np.ndarray, there: np.ndarray, spend: Fraction, draws: int) -> list[float]:
    """What is told of two tables, at each ε, seen along the direction in which Gaussian noise tells them apart best."""
    mechanism, shares = one.mechanism, one.mechanism.shares
    covariance = mechanism.float_mixing @ mechanism.law.second_moment @ mechanism.float_mixing.T  # type: ignore[union-attr]
    direction = np.linalg.pinv(covariance) @ (WEIGHTS @ (here - there) / shares)
    views = [errors_of(mechanism, counts, spend, draws, k) @ direction for k, counts in enumerate((here, there), 1)]
    return [
        max(hockey_stick(*views, epsilon), hockey_stick(-views[1], -views[0], epsilon))  # type: ignore[call-arg]
        for epsilon in EPSILONS
    ]


@pytest.mark.parametrize(("before", "after"), [((0, 0, 1), (2, 3)), ((1, 1, 1), (0, 0)), ((0, 1), (0, 1, 1))])
def test_no_audit_finds_more_of_a_person_than_the_earth_movers_distance_allows(
    before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    one, spend = planned(ONCE), Fraction(3, 2)
    others = spread((0, 2)) + spread((3,))
    found = audited(one, others + spread(before), others + spread(after), spend, 4000)
    distance = float(spend) * mover(before, after)
    for loss, epsilon in zip(found, EPSILONS, strict=True):
        assert loss <= privacy.gaussian_delta(epsilon, distance)


def test_an_audit_would_notice_noise_that_forgot_the_shares() -> None:
    """At twice the spend, some pair passes what that spend allows."""
    one, losses = planned(ONCE), []
    for first, second in itertools.combinations(PEOPLE[:TYPES], 2):
        spend = Fraction(round(2 / mover(first, second)))
        allowed = float(spend) * mover(first, second)
        found = audited(one, spread(first), spread(second), 2 * spend, 4000)
        losses += [
            loss > privacy.gaussian_delta(epsilon, allowed) for loss, epsilon in zip(found, EPSILONS, strict=True)
        ]
    assert any(losses)


@pytest.mark.parametrize(("policy", "count"), [(ONCE, "once"), (ROWS, "rows")])
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_a_release_is_charged_in_squares_however_people_count(policy: Policy, count: str, mechanism: str) -> None:
    table = pd.DataFrame({"who": ["p", "p", "q"], "room": ["a", "b", "c"], "at": [1, 2, 3]})
    release = planned(policy, mechanism).release(table, ledger=":memory:", spend="0.6")
    assert (release.spent, release.remaining) == (Fraction("0.6"), Fraction("0.8"))
    assert release.mechanism.account.privacy_measure == "concentrated"
    assert isinstance(release.mechanism, Mechanism) and release.mechanism.metric.people.count == count  # type: ignore[attr-defined]


def test_two_people_are_told_apart_by_curves_and_not_by_odds_that_always_hold() -> None:
    lines = ONCE.explain_people([{"room": "a"}, {"room": "b"}], [{"room": "c"}]).lines()
    pure = policy_of("once", "pure").explain_people([{"room": "a"}, {"room": "b"}], [{"room": "c"}]).lines()
    (said,) = (line for line in lines if "odds at most" in line)
    assert said.endswith("(but one time in a million)")
    assert not any("million" in line for line in pure)
    assert any("Squares of spends add up" in line for line in ONCE.review().lines())
