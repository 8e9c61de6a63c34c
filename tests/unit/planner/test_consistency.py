from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.errors import TooLarge, UnsupportedCombination, WrongArgument
from dxgeom.mechanisms.linear.laplace import optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.shapes.round_spaces import round_space
from dxgeom.mechanisms.shapes.strategy import ellipsoid_mechanism

SHAPE = (2, 3, 2)
CELLS = np.array(np.unravel_index(np.arange(12), SHAPE))
MARGINALS = ((0, 1), (0, 2), (0,))


def marginals():
    """Two tables that share an attribute, and that attribute alone."""
    rows, names = [], []
    for axes in MARGINALS:
        for values in np.ndindex(*[SHAPE[axis] for axis in axes]):
            rows.append(np.all(CELLS[list(axes)] == np.array(values)[:, None], axis=0).astype(int))
            names.append(f"{axes}={values}")
    return dx.LinearQueries.from_matrix(names, np.array(rows))


@pytest.fixture(scope="module")
def plans():
    """Noise of each answer's own, and noise that is shared; a plan would compare all mechanisms first."""
    metric, queries = dx.verify_metric(1 - np.eye(12)), marginals()
    one_count = dx.plan(metric, dx.LinearQueries.from_matrix(["one"], [[1, *[0] * 11]]))
    sensitivity = sensitivity_of(metric, queries)
    mechanisms = {
        "laplace": optimal_laplace(sensitivity),
        "ellipsoid": ellipsoid_mechanism(round_space(sensitivity)),
    }
    return {name: replace(one_count, question=queries, mechanism=each) for name, each in mechanisms.items()}


def released(plan, seed=1, size=3):
    counts = np.random.default_rng(seed).integers(0, size, 12)
    return counts, plan.release(counts, ledger=":memory:", spend=1, insecure_test_seed=seed)


def table(values, axes):
    """The answers of one marginal, as an array."""
    start = sum(int(np.prod([SHAPE[a] for a in before])) for before in MARGINALS[: MARGINALS.index(axes)])
    shape = tuple(SHAPE[axis] for axis in axes)
    return np.array(values[start : start + int(np.prod(shape))], dtype=object).reshape(shape)


@pytest.mark.parametrize("asked", [{}, {"nonnegative": True}, {"nonnegative": True, "integers": True}])
@pytest.mark.parametrize("seed", range(5))
def test_tables_that_share_an_attribute_agree_on_it_and_on_the_records(plans, seed, asked):
    _, release = released(plans["laplace"], seed)
    found = release.consistent(**asked)
    first, second, alone = (table(found.exact_values, axes) for axes in MARGINALS)
    assert list(first.sum(axis=1)) == list(second.sum(axis=1)) == list(alone)
    assert alone.sum() == release.records
    if "nonnegative" in asked:
        assert min(found.exact_values) >= 0
    if "integers" in asked:
        assert all(value.denominator == 1 for value in found.exact_values)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.sampled_from(["laplace", "ellipsoid"]), st.booleans())
def test_no_truth_is_further_than_it_was(plans, seed, other, name, nonnegative):
    """Any records of the same number: the released ones', and others."""
    counts, release = released(plans[name], seed)
    found = release.consistent(nonnegative=nonnegative)
    truths = [counts, np.bincount(np.random.default_rng(other).integers(0, 12, counts.sum()), minlength=12)]
    for truth in truths:
        exact = plans[name].queries.answers(truth)
        before, after = (
            sum((a - b) ** 2 / v for a, b, v in zip(values, exact, found.variances, strict=True))
            for values in (release.exact_values, found.exact_values)
        )
        assert after <= before


def test_consistent_answers_are_nearer_to_the_truth_on_average(plans):
    """40 releases with fixed seeds; Laplace noise of many overlapping counts leaves most of the error to gain."""
    before = after = 0.0
    for seed in range(40):
        counts, release = released(plans["laplace"], seed)
        truth = plans["laplace"].queries.matrix @ counts
        before += float(np.sum((release.values - truth) ** 2))
        after += float(np.sum((release.consistent(nonnegative=True).values - truth) ** 2))
    assert after < 0.5 * before


def test_known_totals_are_met_exactly_and_said(plans):
    counts, release = released(plans["laplace"])
    name = release.names[-1]
    truth = plans["laplace"].queries.answers(counts)[-1]
    found = release.consistent(totals={name: truth})
    assert found.exact_values[-1] == truth
    assert any("known" in sentence and name in sentence for sentence in found.done)
    assert release.consistent(totals={name: "2.5"}).exact_values[-1] == Fraction(5, 2)


def test_a_public_total_that_the_policy_hides_is_said_to_weaken_its_promise():
    kept = "policy: p\nuniverse: {attributes: {sex: [F, M], ward: [n, s]}}\nunconnected: allow\n"
    policy = dx.parse_policy(kept + "rules:\n  - {change: sex, epsilon: 1}\n")
    asked = "queries:\n  - {name: women, count: sex == 'F'}\n  - {name: north, count: ward == 'n'}\n"
    plan = dx.plan(policy.compile(), dx.parse_queries(asked, policy))
    release = plan.release(np.array([3, 4, 5, 6]), ledger=":memory:", spend=1)
    hidden = release.consistent(totals={"women": 7, "north": 8})
    (said,) = (sentence for sentence in hidden.as_dict()["done"] if "rule out" in sentence)
    assert said.startswith("whoever knows women exactly can rule out every table with other totals")
    for told in (release.consistent(totals={"north": 8}), release.consistent()):
        assert not any("rule out" in sentence for sentence in told.done)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"totals": {"nobody": 1}}, "no answer is called"),
        ({"totals": {"(0,)=(0,)": "many"}}, "is a number"),
        ({"totals": {"(0,)=(0,)": 1, "(0,)=(1,)": 1}}, "satisfy all of this"),
        ({"totals": {"(0,)=(0,)": -1}, "nonnegative": True}, "satisfy all of this"),
        ({"totals": {"(0,)=(0,)": 0.5}, "integers": True}, "satisfy all of this"),
    ],
)
def test_what_cannot_be_is_refused(plans, asked, words):
    _, release = released(plans["laplace"])
    with pytest.raises(UnsupportedCombination, match=words):
        release.consistent(**asked)


def test_the_release_stays_as_it_was_and_the_record_says_both(plans):
    _, release = released(plans["laplace"])
    before = release.exact_values
    found = release.consistent(nonnegative=True, integers=True)
    assert release.exact_values == before
    assert "no budget spent" in found.done[0]
    written = json.loads(found.to_json())
    assert [answer["exact"] for answer in written["answers"]] == [str(value) for value in found.exact_values]
    assert [Fraction(answer["released"]) for answer in written["answers"]] == list(before)
    assert written["done"] == list(found.done)


def test_answers_that_are_exact_stay_and_the_others_follow():
    """Whether a record is on the left is public; how many of those on the left are a or b then sums to it."""
    inf = np.inf
    metric = dx.verify_metric([[0, 1, inf, inf], [1, 0, inf, inf], [inf, inf, 0, 1], [inf, inf, 1, 0]])
    queries = dx.LinearQueries.from_matrix(["left", "a", "b"], [[1, 1, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    release = dx.plan(metric, queries, mechanism="laplace").release(
        np.array([5, 2, 3, 3]), ledger=":memory:", spend=1, insecure_test_seed=0
    )
    left, a, b = release.consistent().exact_values
    assert left == release.exact_values[0] == 7
    assert a + b == 7


def test_weights_that_are_no_integers_are_not_rounded():
    metric = dx.verify_metric([[0, 1], [1, 0]])
    queries = dx.LinearQueries.from_matrix(["count", "half"], [[1, 0], [Fraction(1, 2), 0]])
    release = dx.plan(metric, queries, mechanism="laplace").release(
        np.array([6, 3]), ledger=":memory:", spend=1, insecure_test_seed=0
    )
    count, half = release.consistent(integers=True).exact_values
    assert count.denominator == 1
    assert half == count / 2


def test_too_many_answers_are_refused():
    """No integers of more than a thousand; others agree in rationals, or in float64 where they are more than 310."""
    metric = dx.verify_metric([[0, 1], [1, 0]])
    for number in (301, 1001):
        queries = dx.LinearQueries.from_matrix([f"q{k}" for k in range(number)], [[k + 1, 0] for k in range(number)])
        release = dx.plan(metric, queries, mechanism="epsilon-dp").release(
            np.array([6, 3]), ledger=":memory:", spend=1, insecure_test_seed=0
        )
        found = release.consistent()
        assert found.values == pytest.approx(found.values[0] * np.arange(1, number + 1), rel=1e-6)
        if number == 301:
            assert all(value == found.exact_values[0] * (k + 1) for k, value in enumerate(found.exact_values))
            continue
        with pytest.raises(TooLarge, match=r"1,001 answers integers that agree takes about 1e\+09 exact products"):
            release.consistent(integers=True)


@pytest.mark.parametrize("name", ["laplace", "ellipsoid"])
def test_the_errors_of_answers_that_agree_are_those_of_many_releases(plans, name):
    """Five standard deviations of a mean of 400 squared errors, whose own deviation is hardly above 3 of them."""
    counts = np.random.default_rng(2).integers(0, 9, 12)
    truth = np.array([float(answer) for answer in plans[name].queries.answers(counts)])
    found = [
        plans[name].release(counts, ledger=":memory:", spend=1, insecure_test_seed=seed).consistent()
        for seed in range(60)
    ]
    errors = np.array([one.values - truth for one in found])
    told = found[0].errors
    assert np.all(told.rmse <= found[0].released.rmse * (1 + 1e-9)) and told.at_most == told.released
    each = (errors**2).mean(axis=0) / told.rmse**2
    assert np.all(each > 0.3) and np.all(each < 2.5) and each.mean() == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("asked", [{"nonnegative": True}, {"nonnegative": True, "integers": True}])
def test_with_signs_and_integers_the_errors_are_bounded_together(plans, asked):
    counts, one = released(plans["laplace"], 4)
    found = one.consistent(**asked)
    truth = np.array([float(answer) for answer in plans["laplace"].queries.answers(counts)])
    weights = np.array([float(variance) for variance in found.variances])
    off = [np.sqrt(np.mean((values - truth) ** 2 / weights)) for values in (one.values, found.values)]
    assert off[1] <= off[0] + found.errors.moved + 1e-9
    assert found.errors.rmse is None and (found.errors.moved > 0) == ("integers" in asked)
    assert found.errors.in_words in found.done
    assert found.as_dict()["errors"]["at_most"] == found.errors.at_most


@pytest.mark.parametrize(
    "asked", [{"nonnegative": "yes"}, {"integers": 1}, {"totals": 5}, {"totals": [("one", 1)]}], ids=str
)
def test_what_is_asked_of_consistent_answers_in_a_wrong_way_is_told(plans, asked):
    _, release = released(plans["laplace"])
    with pytest.raises(WrongArgument, match=f"'{next(iter(asked))}' is of type"):
        release.consistent(**asked)
