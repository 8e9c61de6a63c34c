"""Ratios: their intervals follow from the joint noise, and hold whatever the denominator comes out as."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import UnsupportedCombination, WrongArgument
from dxgeom.mechanisms.linear.bars import CombinedNoise, error_norm
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.answers import ratios
from dxgeom.planner.answers.linear_answers import LinearAnswers

POLICY = """policy: p
universe:
  attributes:
    sex: [F, M]
    age: {range: [0, 8], step: 2}
rules:
  - {change: [sex, age], epsilon: 1}
"""
QUERIES = """queries:
  - {mean: age, where: sex == 'F'}
  - {share: sex == 'F'}
  - {share: age >= 4, where: sex == 'F'}
"""


def planned(mechanism="laplace", queries=QUERIES, policy=POLICY):
    parsed = dx.parse_policy(policy)
    return dx.plan(parsed.compile(), dx.parse_queries(queries, parsed), mechanism=mechanism)


def answers_of(plan, counts, spend, count, seed=1):
    drawn = plan.mechanism.draws(np.array(counts), spend, count, InsecureSeededRandomness(seed))
    return [LinearAnswers(plan.queries, plan.mechanism, values, spend, int(np.sum(counts))) for values in drawn]


COUNTS = [3, 5, 2, 0, 4, 1, 1, 7, 2, 5]


def test_a_mean_of_a_group_and_shares_become_sums_and_counts_that_are_asked_once():
    queries = planned().queries
    assert queries.names == (
        "sum of age where sex == 'F'",
        "records where sex == 'F'",
        "records",
        "records with age >= 4 where sex == 'F'",
    )
    assert [(one.name, one.numerator, one.denominator) for one in queries.ratios] == [
        ("mean age where sex == 'F'", 0, 1),
        ("share of sex == 'F'", 1, 2),
        ("share of age >= 4 where sex == 'F'", 3, 1),
    ]
    assert queries.ratios[0].within == (0, 8) and queries.each_rounding[0].counted_by == 1


def test_what_the_file_asks_for_anyway_is_not_asked_again():
    asked = planned(queries=QUERIES + "  - {name: women, count: sex == 'F'}\n").queries
    assert asked.count == 4 and asked.names[asked.ratios[0].denominator] == "women"
    named = planned(queries="queries:\n  - {name: hers, mean: age, where: sex == 'F'}\n").queries
    assert named.names == ("hers: sum of age where sex == 'F'", "hers: records where sex == 'F'")
    with pytest.raises(dx.errors.QueryError, match="DX203"):
        planned(queries="queries:\n  - {name: a, share: sex == 'F'}\n  - {name: a, count: sex == 'F'}\n")


def test_a_mean_keeps_its_rounding_beside_a_count_of_the_same_weights():
    """The middles of [-1, 1) and of 1 are 0 and 1, the weights of 'vote == 1'."""
    votes = POLICY.replace("age: {range: [0, 8], step: 2}", "vote: {range: [-1, 1], step: 2}").replace("age", "vote")
    asked = "queries:\n  - {count: vote == 1 and sex == 'F'}\n  - {mean: vote, where: sex == 'F'}\n"
    plan = planned(policy=votes, queries=asked)
    assert plan.queries.count == 3
    found = answers_of(plan, [10, 0, 0, 0], 10**4, 1)[0].ratios()[0]
    assert found.parts[0][0] <= -0.9 <= found.parts[0][1], "all ten voted -0.9"


@pytest.mark.long
@pytest.mark.parametrize("mechanism", ["laplace", "hull", "strategy"])
@pytest.mark.parametrize("spend", [Fraction(1), Fraction(1, 8)])
def test_the_true_ratio_is_held_as_often_as_is_said(mechanism, spend):
    """At spend 1/8 the group may be empty, as far as its noisy count tells."""
    plan, level, times = planned(mechanism), 0.9, 250
    shape = np.array(COUNTS).reshape(2, 5)
    lowest = np.array([0, 2, 4, 6, 8])
    truth = {
        "mean age where sex == 'F'": (lowest * shape[0]).sum() / shape[0].sum(),
        "share of sex == 'F'": shape[0].sum() / shape.sum(),
        "share of age >= 4 where sex == 'F'": shape[0, 2:].sum() / shape[0].sum(),
    }
    held = dict.fromkeys(truth, 0)
    for answers in answers_of(plan, COUNTS, spend, times):
        for ratio in answers.ratios(level):
            held[ratio.name] += any(low <= truth[ratio.name] <= high for low, high in ratio.parts)
            assert ratio.within[0] <= ratio.interval[0] <= ratio.interval[1] <= ratio.within[1]
    least = level - 5 * math.sqrt(level * (1 - level) / times)
    assert all(found / times >= least for found in held.values()), held
    if spend == 1:
        # 'records' is exact here: its ratio has the noise of a count, and is held no more often than its bars say.
        assert held["share of sex == 'F'"] / times <= level + 5 * math.sqrt(level * (1 - level) / times) + 0.03


@pytest.mark.parametrize("mechanism", ["laplace", "hull"])
def test_the_bound_of_every_direction_is_that_of_its_own_quantile(mechanism):
    plan = planned(mechanism)
    rows = np.eye(4)[:2]
    noise = CombinedNoise(plan.mechanism, Fraction(1), rows, None, np.zeros(4))
    norm = error_norm(noise, 0.9)
    ratios = np.array([-40.0, -3, 0, 0.7, 2.5, 4, 9, 300])
    directions = np.column_stack([np.ones(len(ratios)), -ratios])
    own = noise.quantiles(directions, 0.9) + noise.beside[0] + np.abs(ratios) * noise.beside[1]
    bounds = np.array([norm.at(ratio) for ratio in ratios])
    assert np.all(bounds >= own * (1 - 2e-3 * (mechanism == "hull") - 1e-9))
    assert np.all(bounds <= own * 1.01)


def test_fiellers_set_may_be_an_interval_two_rays_or_everything():
    plan = planned()
    noise = CombinedNoise(plan.mechanism, Fraction(1), np.eye(4)[:2], None, np.zeros(4))
    norm = error_norm(noise, 0.95)
    (part,) = norm.not_excluded(4000.0, 1000.0)
    assert part[0] < 4 < part[1] and part[1] - part[0] < 1
    below, above = norm.not_excluded(4000.0, 0.5)
    assert below[0] == -math.inf and above[1] == math.inf and below[1] < 0 < above[0]
    assert norm.not_excluded(0.1, 0.1) == [(-math.inf, math.inf)]
    for top, bottom in ((40.0, 30.0), (5.0, -80.0), (-7.0, 2.0)):
        parts = norm.not_excluded(top, bottom)
        for ratio in np.linspace(-30, 30, 6001):
            inside = any(low <= ratio <= high for low, high in parts)
            assert (
                inside == (abs(top - ratio * bottom) <= norm.at(ratio))
                or min(abs(ratio - end) for part in parts for end in part) < 1e-6
            )


def test_two_laplace_variables_have_their_exact_quantile():
    plan = planned()
    noise = CombinedNoise(plan.mechanism, Fraction(1), np.eye(4)[:2], None, np.zeros(4))
    draws = plan.mechanism.law.simulate(1 << 20, np.random.default_rng(3)) @ plan.mechanism.float_mixing[:2].T
    for ratio in (0.0, 1.0, 6.0):
        (quantile,) = noise.quantiles(np.array([[1.0, -ratio]]), 0.9)
        assert np.mean(np.abs(draws @ [1.0, -ratio]) <= quantile) == pytest.approx(0.9, abs=5 * 0.3 / 1024)


def test_an_empty_set_is_the_whole_range_and_nothing_is_said_of_nothing():
    plan = planned()
    (answers,) = answers_of(plan, COUNTS, Fraction(1), 1)
    impossible = replace(answers, exact_values=(Fraction(10**6), Fraction(5), Fraction(30), Fraction(1)))
    assert impossible.ratios()[0].parts == ((0.0, 8.0),)
    nobody = replace(answers, exact_values=(Fraction(0), Fraction(0), Fraction(30), Fraction(0)))
    assert nobody.ratios()[0].value is None and nobody.ratios()[0].interval == (0.0, 8.0)


def test_rounding_widens_a_mean_of_a_group_by_half_a_step():
    policy = POLICY.replace("step: 2", "step: 2, whole: true")
    sharp, wide = planned(policy=policy.replace("step: 2", "step: 1")), planned()
    assert [one.as_dict()["bias"]["rounding"] for one in answers_of(wide, COUNTS, Fraction(1), 1)[0].ratios()] == [
        pytest.approx(1, rel=1e-12),
        0,
        0,
    ]
    assert sharp.queries.each_rounding[0].per_record == 0


def test_differences_of_answers_and_of_ratios_have_intervals():
    release = planned().release(np.array(COUNTS) * 50, ledger=":memory:", spend=1, insecure_test_seed=4)
    value, width = release.combination({"records where sex == 'F'": 1, "records": Fraction(-1, 2)})
    assert abs(value - (14 - 15) * 50) <= 3 * width and 0 < width < 1000
    mean, share, older = release.ratios(0.975)
    between = older.minus(share)
    assert between.level == pytest.approx(0.95) and between.interval[0] < between.value < between.interval[1]
    same = release.ratio("sum of age where sex == 'F'", "records where sex == 'F'", 0.975, within=(0, 8))
    assert same.parts == mean.parts
    assert release.as_dict()["ratios"][0]["name"] == mean.name
    with pytest.raises(UnsupportedCombination, match="no answer is called 'men'"):
        release.ratio("men", "records")


NO_RANGES = (None, 5, "ab", ("a", "b"), (0,), (0, 1, 2), (1, 0), (math.nan, 1), (0, 10**400), (True, 2), {0, 1})


@pytest.mark.parametrize("within", NO_RANGES, ids=str)
def test_what_is_no_range_of_a_ratio_is_told(within):
    released = planned().release(np.array(COUNTS), ledger=":memory:", spend=1)
    with pytest.raises(WrongArgument, match="'within' is"):
        released.ratio("records where sex == 'F'", "records", within=within)


@pytest.mark.parametrize("combined", [None, 5, ["records"], {"records": 10**200}, {"records": Fraction(1, 10**200)}])
def test_what_is_no_combination_of_answers_is_told(combined):
    released = planned().release(np.array(COUNTS), ledger=":memory:", spend=1)
    for asked in (
        lambda: released.combination(combined),
        lambda: released.ratio(combined, "records"),
        lambda: released.ratio("records", combined),
    ):
        with pytest.raises(WrongArgument, match=r"'combination'|'coefficient'"):
            asked()


def test_a_level_may_be_an_exact_number():
    released = planned("hull").release(np.array(COUNTS), ledger=":memory:", spend=1)
    half = Fraction(1, 2)
    assert np.array_equal(released.intervals(half, joint=True), released.intervals(0.5, joint=True))
    assert released.to_json(half) == released.to_json(0.5)


def test_a_part_beyond_the_range_that_rounding_reaches_is_kept(monkeypatch):
    """Middles may have a ratio of 3 where that of the raw numbers is 2.2: in a range up to 2.5 it is not to be lost."""

    class TwoParts:
        def not_excluded(self, above, below):
            return [(-math.inf, 0.1), (3.0, math.inf)]

    monkeypatch.setattr(ratios, "error_norm", lambda noise, level: TwoParts())
    plan = planned(queries="queries:\n  - {mean: age, where: sex == 'F'}\n")
    (answers,) = answers_of(plan, COUNTS, Fraction(1), 1)
    found = ratios.ratio_of(answers, *plan.queries.names, 0.95, (0, 2.5))
    assert found.rounding == pytest.approx(1)
    assert np.array(found.parts) == pytest.approx(np.array([[0, 1.1], [2, 2.5]]))
    (only,) = ratios.ratio_of(answers, *plan.queries.names, 0.95, (0, 1.9)).parts
    assert only == pytest.approx((0, 1.1))
    assert ratios.ratio_of(answers, *plan.queries.names, 0.95, (1.2, 1.9)).parts == ((1.2, 1.9),), "nothing is known"


def test_a_release_computes_its_ratios_before_the_charge_and_once_of_what_it_drew(monkeypatch):
    counted = []

    def told(answers, level):
        counted.append(answers.exact_values)
        return ratios.ratio_answers(answers, level)

    monkeypatch.setattr("dxgeom.planner.answers.linear_answers.ratio_answers", told)
    policy = dx.parse_policy("policy: p\nuniverse: {attributes: {a: [x, y]}}\nrules: [{change: a, epsilon: 1}]\n")
    plan = dx.plan(policy.compile(), dx.parse_queries("queries:\n  - share: a == 'x'\n", policy))
    released = plan.release(np.array([30, 12]), spend=1, ledger=":memory:")
    assert released.as_dict()["ratios"]
    assert counted == [(0,) * len(plan.queries.names), released.answer.exact_values]
