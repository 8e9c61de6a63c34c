"""Multiplicative weights on queries that change more slowly than those asked for."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import QueryError, UnsupportedCombination, WrongArgument
from dxgeom.mechanisms.synthetic.multiplicative_weights import mwem
from dxgeom.mechanisms.synthetic.slower_queries import bias_hull, public_tables, slower_queries
from dxgeom.metrics.verification import verify_metric
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.universe.queries import LinearQueries

PLACES = np.array([0, 1, 3, 4, 8])
LINE = verify_metric(np.abs(PLACES[:, None] - PLACES), title="line", budget=2)
ROWS = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 1, 2, 3, 4], [1, 0, 0, -2, 0]])
WORKLOAD = LinearQueries.from_matrix(list("abcd"), ROWS)
COUNTS = np.array([70, 10, 5, 40, 25])


def plane(seed, size):
    places = np.random.default_rng(seed).uniform(0, 10, (size, 2))
    return verify_metric(np.hypot(*(places[:, None] - places).transpose(2, 0, 1)), title="plane", budget=1)


def pairs_of(metric, size):
    return [(i, j, float(metric.distance(i, j))) for i, j in itertools.combinations(range(size), 2)]


def bias_of_all_pairs(metric, rows, steepness):
    """As it is defined, pair by pair."""
    excess = [np.abs(rows[:, i] - rows[:, j]).max() - steepness * d for i, j, d in pairs_of(metric, rows.shape[1])]
    return max(0.0, *excess) / 2


@pytest.mark.parametrize("seed", range(6))
def test_the_hull_knows_how_far_off_queries_are_at_every_steepness(seed):
    draws = np.random.default_rng(seed)
    metric, rows = plane(seed, 12), draws.integers(-20, 30, (3, 12))
    hull = bias_hull(metric.metric, rows)
    for steepness in np.concatenate([[0.0], draws.uniform(0, 30, 20), hull.breakpoints]):
        assert hull.bias(steepness) == pytest.approx(bias_of_all_pairs(metric, rows, steepness), abs=1e-9)
    assert np.all(np.diff(hull.breakpoints) < 0)


@pytest.mark.parametrize("power", [1 / 3, 1 / 2, 1])
def test_the_least_bound_is_at_most_that_of_a_fine_grid(power):
    """Problem (8) with the bound of multiplicative weights: one number, found at a breakpoint or at 0."""
    inside = 0
    for seed, price in itertools.product(range(4), (0.1, 1.0, 10.0, 40.0, 100.0)):
        metric, rows = plane(seed, 12), np.random.default_rng(seed).integers(0, 30, (4, 12))
        hull, records = bias_hull(metric.metric, rows), 10
        least = hull.least(records, price, power)
        cost = records * hull.bias(least) + price * least**power
        top = float(hull.breakpoints.max())
        grid = np.linspace(0, 1.2 * top, 10_001)
        biases = (hull.rises[:, None] - grid * hull.runs[:, None]).max(axis=0) / 2
        assert cost <= np.min(records * biases + price * grid**power) * (1 + 1e-12)
        inside += 0 < least < top
    assert inside or power < 1


@pytest.mark.parametrize("part", [Fraction(4, 5), Fraction(1, 4), Fraction(1, 50)])
def test_slower_queries_are_as_slow_as_they_are_to_be_and_as_near_as_can_be(part):
    metric, rows = plane(3, 9), np.random.default_rng(3).integers(0, 30, (4, 9))
    rows[3] //= 30
    asked = LinearQueries.from_matrix(list("abcd"), rows)
    found = slower_queries(metric.metric, asked, part)
    pairs = pairs_of(metric, 9)
    own = [max(abs(int(row[i] - row[j])) / d for i, j, d in pairs) for row in rows]
    limit = float(part) * max(own)
    changed = np.array([[float(one * unit) for one in row.tolist()] for row, unit in _rows_of(found.queries)])
    for row, before, steep, shift in zip(changed, rows, own, found.shifts.shifts, strict=True):
        assert max(abs(row[i] - row[j]) / d for i, j, d in pairs) <= min(limit, steep) * (1 + 1e-9)
        assert float(shift) == np.abs(row - before).max()
        best = bias_of_all_pairs(metric, before[None, :], limit)
        assert best - 1e-9 <= float(shift) <= best + 1e-5
        assert (shift == 0) == (steep <= limit)


def _rows_of(queries):
    return zip(queries.numerators, queries.units, strict=True)


def test_nothing_is_changed_where_no_query_is_steep():
    assert slower_queries(LINE.metric, WORKLOAD, Fraction(1)) is None
    assert mwem(LINE, WORKLOAD, steepness=1).fingerprint == mwem(LINE, WORKLOAD).fingerprint


def test_noise_hides_what_is_measured_in_place_of_what_was_asked():
    mechanism = mwem(LINE, WORKLOAD, steepness=Fraction(1, 4), rounds=2)
    measured = np.array([[one * unit for one in row.tolist()] for row, unit in _rows_of(mechanism.workload.queries)])
    unit = mechanism.workload.unit
    for row, slope in zip(measured, mechanism.query_sensitivities.tolist(), strict=True):
        steepest = max(abs(row[i] - row[j]) / Fraction(d) for i, j, d in pairs_of(LINE, 5))
        assert steepest <= Fraction(slope) * unit <= steepest * (1 + Fraction(1, 10**9))
    assert mechanism.fingerprint != mwem(LINE, WORKLOAD, rounds=2).fingerprint


@pytest.mark.parametrize("rounds", [1, 2])
def test_bounds_count_what_slower_queries_are_off(rounds):
    """So much is spent that there is no noise: what is left of a bound is the bias, which no answer passes."""
    apart = verify_metric(10**9 * np.abs(PLACES[:, None] - PLACES), title="line", budget=10**9)
    mechanism = mwem(apart, WORKLOAD, steepness=Fraction(1, 10), rounds=rounds)
    for counts in (COUNTS, np.array([150, 0, 0, 0, 0]), np.array([0, 0, 0, 0, 150])):
        answer = mechanism.draw(counts, Fraction(1000), InsecureSeededRandomness(1))
        errors, bounds = np.abs(answer.answers - ROWS @ counts), answer.error_bounds(1 - 1e-9)
        assert np.all(errors <= bounds)
        assert np.array_equal(answer.biases, [float(150 * one) for one in mechanism.shifts.shifts])
        assert np.all(answer.biases >= 0.5)


def test_without_the_bias_a_bound_would_be_untrue():
    """All are at the first place. A histogram that answers as was measured of the first query is off by its bias."""
    apart = verify_metric(10**9 * np.abs(PLACES[:, None] - PLACES), title="line", budget=10**9)
    mechanism = mwem(apart, WORKLOAD, steepness=Fraction(1, 10), rounds=4)
    counts = np.array([150, 0, 0, 0, 0])
    answer = mechanism.draw(counts, Fraction(1000), InsecureSeededRandomness(1))
    value = next(float(one.value) for one in answer.measurements if one.query == 0)
    made = replace(answer, distribution=np.array([value / 150, 0, 1 - value / 150, 0, 0]))
    error, bound = abs(made.answers[0] - 150), made.error_bounds(1 - 1e-9)[0]
    assert bound - made.biases[0] < 1 < error <= bound


def test_what_a_ledger_keeps_is_read_back_as_it_was():
    mechanism = mwem(LINE, WORKLOAD, steepness=Fraction(1, 4), rounds=2)
    answer = mechanism.draw(COUNTS, Fraction(1), InsecureSeededRandomness(2))
    again = mechanism.decode_answer(mechanism.encode_answer(answer))
    assert again.queries is mechanism.shifts.asked
    assert np.array_equal(again.answers, answer.answers)
    assert np.array_equal(again.error_bounds(), answer.error_bounds())


@pytest.mark.long
def test_the_steepness_is_chosen_by_public_numbers_and_errs_less_where_records_are_few():
    """On data that the choice has not seen; 20 draws each, seeded. It keeps the queries where records are many."""
    metric = plane(8, 25)
    draws = np.random.default_rng(8)
    rows = (draws.uniform(0, 1, (12, 25)) < 0.4).astype(np.int64)
    queries = LinearQueries.from_matrix([f"q{one}" for one in range(12)], rows)
    few = mwem(metric, queries, records=100)
    assert few.shifts is not None
    assert few.fingerprint == mwem(metric, queries, records=100, spend=1).fingerprint
    assert few.fingerprint == mwem(metric, queries, steepness=few.shifts.part).fingerprint
    assert mwem(metric, queries, records=10**4).shifts is None
    counts = draws.multinomial(100, draws.dirichlet(np.full(25, 0.3)))
    errors = [
        np.mean(
            [
                np.abs(one.draw(counts, Fraction(1), InsecureSeededRandomness(seed)).answers - rows @ counts).max()
                for seed in range(20)
            ]
        )
        for one in (few, mwem(metric, queries))
    ]
    assert errors[0] < 0.9 * errors[1]


def test_public_tables_are_the_same_every_time():
    first, again = public_tables(LINE.metric, 1000), public_tables(LINE.metric, 1000)
    assert [one.sum() for one in first] == [1000] * 3
    assert all(map(np.array_equal, first, again))


def test_what_makes_no_sense_is_refused():
    with pytest.raises(WrongArgument, match="exactly"):
        mwem(LINE, WORKLOAD, steepness=0.5)
    with pytest.raises(UnsupportedCombination, match="at most 1, found 2"):
        mwem(LINE, WORKLOAD, steepness=2)
    with pytest.raises(WrongArgument, match="leave it out beside 'steepness'"):
        mwem(LINE, WORKLOAD, steepness=Fraction(1, 2), records=100)
    with pytest.raises(UnsupportedCombination, match="positive number of records, found 0"):
        mwem(LINE, WORKLOAD, records=0)


POLICY = dx.Policy.from_dict(
    {
        "policy": "p",
        "universe": {"attributes": {"age": {"range": [0, 9], "step": 1}, "sex": ["f", "m"]}},
        "budget": "5",
        "rules": [{"change": "age", "epsilon": 1, "per": 9}, {"change": "sex", "epsilon": 1}],
    }
)


def tasks(steepness, **more):
    body = {"workload": [{"marginal": "age"}, {"marginal": "sex"}], "rounds": 2}
    body |= {} if steepness is None else {"steepness": steepness}
    return dx.queries_from_dict({"tasks": [{"name": "few", "synthesize": body}], **more}, POLICY)


@pytest.mark.long
def test_a_task_says_how_steep_queries_are_and_its_file_keeps_it(tmp_path):
    plan = dx.plan(POLICY.compile(), tasks("1/4", records=30))
    said = plan.statements(1)[0]
    assert "at most 0.25 of the steepest one's change, which was asked for" in said[1]
    assert "no answer is off by more than" in said[1]
    dx.save_plan(plan, tmp_path / "plan.json", policy=POLICY)
    again = dx.load_plan(tmp_path / "plan.json")
    assert again.fingerprint == plan.fingerprint != dx.plan(POLICY.compile(), tasks(None)).fingerprint
    counts = np.full(20, 3, dtype=np.int64) // 2
    counts[:10] += 1
    answer = plan.release(counts, ledger=":memory:", spend=1)["few"]
    assert np.all(answer.bounds() >= plan.parts[0].decided.shifts.biases(30))


@pytest.mark.long
def test_a_task_has_the_steepness_chosen_where_the_number_of_records_is_known():
    plan = dx.plan(POLICY.compile(), tasks("auto", records=10**6))
    assert "no slower ones erred less" in plan.statements(1)[0][1]
    with pytest.raises(dx.UnsupportedCombination, match="follows from the number of records"):
        dx.plan(POLICY.compile(), tasks("auto"))


@pytest.mark.parametrize("steepness", ["0", "2", "steep", "-1/2"])
def test_a_steepness_that_is_none_is_refused_by_its_place(steepness):
    with pytest.raises(QueryError, match="'steepness' is a part of the steepest query's"):
        tasks(steepness)


@pytest.mark.parametrize("offset", [2**30, 2**41, 2**45])
def test_weights_far_from_zero_are_changed_in_whole_numbers_that_fit(offset):
    """Made finer beyond 64 bits they would begin again at 0, and answers be off by far more than the shifts say."""
    asked = LinearQueries.from_matrix(list("abcd"), np.minimum(ROWS, 1) + offset)
    slower = slower_queries(LINE.metric, asked, Fraction(1, 2))
    units = zip(slower.queries.numerators, slower.queries.units, asked.numerators, asked.units, strict=True)
    for shift, (own, unit, other, before) in zip(slower.shifts.shifts, units, strict=True):
        assert shift == max(abs(int(a) * unit - int(b) * before) for a, b in zip(own, other, strict=True))
