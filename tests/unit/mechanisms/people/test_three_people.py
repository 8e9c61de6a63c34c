"""All tables of three people with up to three rows on four possible records: odds against the earth mover's
distance."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from reference.families import members
from reference.mechanisms import CASES
from reference.people import POLICY, earth_mover, fractions_of

from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.mechanisms.linear.score_sensitivities import over_common_unit
from dxgeom.mechanisms.selection.selections import selection
from dxgeom.mechanisms.selection.small_databases import small_database
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.choose import plan
from dxgeom.policy.policy import parse_policy
from dxgeom.universe.people.people import SHARES, ShareCounter
from dxgeom.universe.queries import LinearQueries

TYPES = 4
ONCE = parse_policy(POLICY.replace("COUNT", "once"))
METRIC = ONCE.compile()
PEOPLE = [rows for n in (1, 2, 3) for rows in itertools.combinations_with_replacement(range(TYPES), n)]
NAMES = ("p", "q", "r", "s")
WEIGHTS = [[3, 0, 0, -1], [0, 2, 0, 1], [1, 1, 5, 0], [0, 0, 0, 0]]
CANDIDATES = LinearQueries.from_matrix(NAMES, np.array(WEIGHTS), universe=ONCE.universe)


def spread(rows: tuple[int, ...]) -> np.ndarray:
    counter = ShareCounter(TYPES, lambda records: np.zeros(records.shape, dtype=np.int64))
    counter.add(np.zeros(len(rows), dtype=np.int64), np.array(rows), np.ones(len(rows), dtype=np.int64))
    return counter.histogram(None)


SPREAD = np.array([spread(rows) for rows in PEOPLE])


@pytest.fixture(scope="module")
def movers() -> np.ndarray:
    """(P, P): the earth mover's distance of any two people."""
    parts = [fractions_of(rows, TYPES) for rows in PEOPLE]

    def distance(i: int, j: int) -> float:
        return float(METRIC.distance(i, j))

    found = np.zeros((len(PEOPLE), len(PEOPLE)))
    for i, j in itertools.combinations(range(len(PEOPLE)), 2):
        found[i, j] = found[j, i] = earth_mover(parts[i], parts[j], distance)
    return found


def test_shares_of_up_to_three_rows_are_the_fractions():
    assert len(PEOPLE) == 34
    for rows, shares in zip(PEOPLE, SPREAD, strict=True):
        assert [Fraction(int(share), SHARES) for share in shares] == fractions_of(rows, TYPES)


@pytest.mark.parametrize("spend", [Fraction(1), Fraction(1, 3)])
def test_the_exact_odds_of_a_selection_stay_within_the_earth_movers_distance(movers, spend):
    """P(r) ∝ e^(rate·u_r): of all 34³ tables, every one-person change, every output, at the law that draws use."""
    mechanism = selection(METRIC, CANDIDATES, "exponential")
    numerators, _ = over_common_unit(CANDIDATES)
    rate = float(spend) / SHARES / mechanism.range_sensitivity
    others = np.array([SPREAD[a] + SPREAD[b] for a in range(34) for b in range(a, 34)])
    tables = others[:, None] + SPREAD  # (pairs of others, the person who changes, types)
    scores = (tables @ numerators.T).astype(np.float64) * rate
    logs = (
        scores
        - np.log(np.exp(scores - scores.max(axis=2, keepdims=True)).sum(axis=2, keepdims=True))
        - scores.max(axis=2, keepdims=True)
    )
    worst = np.zeros((34, 34))
    for r in range(len(WEIGHTS)):
        worst = np.maximum(worst, np.abs(logs[:, :, None, r] - logs[:, None, :, r]).max(axis=0))
    assert np.all(worst <= float(spend) * movers + 1e-9)
    assert (worst / np.maximum(float(spend) * movers, 1e-12)).max() > 0.3  # the bound is near, not void


def test_the_shifts_of_sums_stay_within_the_earth_movers_distance(movers):
    """Noise of the norm ‖·‖_K: a person who changes shifts the answers by a w with ‖w‖_K ≤ W."""
    mechanism = plan(
        METRIC, LinearQueries.from_matrix(NAMES[:2], np.eye(TYPES, dtype=int)[:2], universe=ONCE.universe)
    ).mechanism
    weights = mechanism.sensitivity.queries.numerators
    for i, j in itertools.combinations(range(34), 2):
        shift = np.array([weights @ (SPREAD[i] - SPREAD[j])], dtype=np.float64) / SHARES
        assert mechanism.law.loss_upper_bounds(shift, np.zeros_like(shift))[0] <= movers[i, j] * (1 + 1e-9) + 1e-12


def test_draws_are_of_the_law_of_shares():
    """The selection is drawn at spend/L on shares: three people in one room are three records in it."""
    mechanism = selection(METRIC, CANDIDATES, "exponential")
    plain = selection(parse_policy(POLICY.replace("people: {column: who, count: COUNT}\n", "")).compile(), WITHOUT)
    counts = np.array([1, 0, 2, 0], dtype=np.int64)
    for seed in range(50):
        one = mechanism.draw(counts * SHARES, Fraction(1, 2), InsecureSeededRandomness(seed))
        assert 0 <= one < len(WEIGHTS)
    assert mechanism.shortfall() == pytest.approx(plain.shortfall())


WITHOUT = LinearQueries.from_matrix(
    NAMES,
    np.array(WEIGHTS),
    universe=parse_policy(POLICY.replace("people: {column: who, count: COUNT}\n", "")).universe,
)


def test_a_small_database_stands_for_people():
    mechanism = small_database(METRIC, CANDIDATES, 0.7)
    drawn = mechanism.draw(SPREAD[5] + SPREAD[20] + SPREAD[33], Fraction(1), InsecureSeededRandomness(1))
    assert drawn.records == 3


def test_no_family_draws_past_the_place_where_the_spend_is_divided():
    assert CASES  # every family is imported
    families = members(HistogramMechanism)
    assert len(families) >= 7
    assert [kind.__name__ for kind in families if {"draw", "draws", "shares"} & set(vars(kind))] == []
