"""Estimates of whole tables, boxes and long lists: what is promised holds for any truth, and nothing is read again."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.errors import TooLarge, UnsupportedCombination, WrongArgument
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.estimates.estimate import EstimateWish
from dxgeom.planner.estimates.exact_projection import nearest_in_floats
from dxgeom.planner.estimates.listed import require_few
from dxgeom.planner.estimates.projection import (
    KnownOfTables,
    on_simplex,
    rounded_to_margins,
    rounded_to_sum,
)
from dxgeom.planner.estimates.worth import worth_of
from dxgeom.universe.workloads.whole_tables import MarginalQueries

SIZES = (3, 4, 2, 5)
PAIRS = tuple(itertools.combinations(range(4), 2))


def policy_of(privacy="pure", presence=False, sizes=SIZES):
    attributes = {f"a{k}": {"values": [f"v{j}" for j in range(size)]} for k, size in enumerate(sizes)}
    rules = [{"presence": True, "epsilon": 1}] if presence else [{"change": name, "epsilon": 1} for name in attributes]
    return dx.Policy.from_dict(
        {"policy": "p", "privacy": privacy, "universe": {"attributes": attributes}, "rules": rules}
    )


def tables_of(counts, sets):
    return [np.asarray(counts.sum(axis=tuple(a for a in range(counts.ndim) if a not in own))) for own in sets]


def released(privacy="pure", presence=False, seed=0, spend=1, rows=60, **asked):
    policy = policy_of(privacy, presence)
    plan = dx.plan(policy.compile(), MarginalQueries.of(policy.universe, **(asked or {"ways": 2}), records=None))
    counts = np.random.default_rng(seed).multinomial(rows, np.random.default_rng(seed).dirichlet([0.2] * 120))
    table = [dict(zip(policy.universe.names, words, strict=True)) for words in _rows(counts.reshape(SIZES))]
    release = plan.release(pd.DataFrame(table), ledger=":memory:", spend=spend, insecure_test_seed=seed)
    return plan, release, tables_of(counts.reshape(SIZES), plan.queries.attribute_sets)


def _rows(counts):
    for place in np.ndindex(counts.shape):
        yield from [[f"v{code}" for code in place]] * int(counts[place])


weights = st.lists(st.floats(0.1, 10), min_size=6, max_size=6)


@settings(max_examples=30)
@given(st.integers(0, 10**6), weights, st.booleans(), st.integers(0, 12))
def test_no_truth_is_further_from_an_estimate_than_from_the_released_tables(seed, weighed, public, steps):
    """The lemma, wherever the steps end, whatever the noise; and the distance falls by what the steps were long."""
    generator = np.random.default_rng(seed)
    truth = tables_of(generator.multinomial(40, generator.dirichlet([0.1] * 120)).reshape(SIZES), PAIRS)
    raw = [one + generator.standard_cauchy(one.shape) * 3 for one in truth]
    known = KnownOfTables(SIZES, PAIRS, weighed, {(): np.array(40.0)} if public else {})
    found = known.settled(raw, 0.0, steps)
    before, after = (known.squares([a - b for a, b in zip(some, truth, strict=True)]) for some in (raw, found.tables))
    assert after <= (before - found.moved) + 1e-9 * before
    assert min(float(one.min()) for one in found.tables) >= 0
    if public:
        assert [one.sum() for one in found.tables] == pytest.approx([40.0] * 6)


@settings(max_examples=20)
@given(st.integers(0, 10**6), weights, st.booleans(), st.integers(0, 6))
def test_no_number_that_two_tables_tell_differs_by_more_than_is_said(seed, weighed, public, steps):
    """By adding up every two tables over all that one of them does not have."""
    raw = [np.random.default_rng(seed).normal(5, 20, [SIZES[a] for a in own]) for own in PAIRS]
    known = KnownOfTables(SIZES, PAIRS, weighed, {(): np.array(40.0)} if public else {})
    found = known.settled(raw, 0.0, steps)
    most = 0.0
    for (one, first), (other, second) in itertools.combinations(zip(PAIRS, found.tables, strict=True), 2):
        for shared in (set(one) & set(other), set()):
            sums = [
                table.sum(axis=tuple(axis for axis, a in enumerate(own) if a not in shared))
                for own, table in ((one, first), (other, second))
            ]
            most = max(most, float(np.max(np.abs(sums[0] - sums[1]))))
    assert found.apart == pytest.approx(most, rel=1e-9, abs=1e-9)


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=30), st.floats(0, 100))
def test_the_simplex_has_no_nearer_point(values, total):
    """By the obtuse angle to every corner."""
    point = np.array(values)
    found = on_simplex(point, total)
    assert found.min() >= 0 and found.sum() == pytest.approx(total, abs=1e-6)
    corners = total * np.eye(len(point)) - found
    assert np.max(corners @ (point - found)) <= 1e-6 * (1 + total) * 100


@settings(max_examples=25)
@given(st.integers(0, 10**6), weights)
def test_agreement_is_the_weighted_projection_on_tables_of_one_histogram(seed, weighed):
    """Least squares over all histograms, of any signs, of a public total."""
    generator = np.random.default_rng(seed)
    raw = [generator.normal(0, 5, [SIZES[a] for a in own]) for own in PAIRS]
    known = KnownOfTables(SIZES, PAIRS, weighed, {(): np.array(7.0)})
    found = np.concatenate([one.ravel() for one in known.agreeing(raw)[0]])
    cells = np.eye(120).reshape(*SIZES, 120)
    rows = np.vstack([cells.sum(axis=tuple(a for a in range(4) if a not in own)).reshape(-1, 120) for own in PAIRS])
    roots = np.sqrt(np.repeat(weighed, [one.size for one in raw]))
    start = np.full(120, 7 / 120)
    flat = np.concatenate([one.ravel() for one in raw])
    centred = rows - rows.mean(axis=1, keepdims=True)
    move = np.linalg.lstsq(centred * roots[:, None], (flat - rows @ start) * roots, rcond=None)[0]
    assert found == pytest.approx(rows @ start + centred @ move, abs=1e-7)


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("presence", [False, True])
def test_a_release_of_tables_is_estimated_and_stays_as_it_was(privacy, presence):
    _, release, truth = released(privacy, presence, spend="1/2")
    before = [release.answer.table(name).copy() for name in release.names]
    estimate = release.estimate()
    assert [one.min() >= 0 for one in estimate.tables] == [True] * 6
    assert (estimate.total is None) == presence
    if not presence:
        assert [one.sum() for one in estimate.tables] == pytest.approx([60] * 6)
    raw, near = (
        sum(float(np.sum((a - b) ** 2)) for a, b in zip(some, truth, strict=True)) for some in (before, estimate.tables)
    )
    assert near <= raw
    assert all(np.array_equal(release.answer.table(name), one) for name, one in zip(release.names, before, strict=True))
    assert "estimate" not in release.as_dict()
    assert (estimate.errors.estimated is None) == (privacy == "pure") == (estimate.errors.probes == 0)
    assert "no budget spent" in estimate.done[0] and estimate.errors.in_words == estimate.done[-1]


def test_bars_are_the_released_ones_less_what_cannot_be():
    _, release, truth = released(spend="1/4")
    estimate = release.estimate()
    rows, width = estimate.columns(), release.half_widths()
    raw = np.concatenate([release.answer.table(name).ravel() for name in release.names])
    wide = np.repeat(width, [one.size for one in truth])
    assert rows["estimate_low"] == pytest.approx(np.clip(raw - wide, 0, 60))
    assert rows["estimate_high"] == pytest.approx(np.clip(raw + wide, 0, 60))
    exact = np.concatenate([one.ravel() for one in truth])
    held = np.abs(raw - exact) <= wide
    assert np.all(((rows["estimate_low"] <= exact) & (exact <= rows["estimate_high"]))[held])
    document = estimate.document()
    outside = sum(one["outside_released_interval"] for one in document["tables"])
    assert outside == np.count_nonzero(np.abs(rows["estimate"] - raw) > wide)


def test_a_known_number_of_records_is_taken_and_said_to_weaken_the_promise():
    _, release, _ = released(presence=True)
    estimate = release.estimate(totals={"all records": 60})
    assert estimate.total == 60 and [one.sum() for one in estimate.tables] == pytest.approx([60] * 6)
    assert any("rule out" in said for said in estimate.done)
    with pytest.raises(UnsupportedCombination, match="only the number of 'all records'"):
        release.estimate(totals={"a0": 3})


@pytest.mark.long
def test_whole_counts_have_the_same_margins_in_all_tables():
    _, release, _ = released(spend="1/3")
    estimate = release.estimate("integers")
    margins = {}
    for own, table in zip(release.answer.queries.attribute_sets, estimate.tables, strict=True):
        assert table.dtype.kind == "i" and table.min() >= 0 and table.sum() == 60
        for axis, a in enumerate(own):
            assert margins.setdefault(a, table.sum(axis=1 - axis).tolist()) == table.sum(axis=1 - axis).tolist()
    assert estimate.errors.moved > 0
    _, three, _ = released(ways=3)
    with pytest.raises(UnsupportedCombination, match="three attributes"):
        three.estimate("integers")


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 6))
def test_rounding_to_margins_keeps_them_and_moves_no_count_far(seed, height, width):
    generator = np.random.default_rng(seed)
    table = generator.exponential(2, (height, width))
    total = round(table.sum())
    rows, columns = rounded_to_sum(table.sum(axis=1), total), rounded_to_sum(table.sum(axis=0), total)
    whole = rounded_to_margins(table, rows, columns)
    assert whole.min() >= 0
    assert whole.sum(axis=1).tolist() == rows.tolist() and whole.sum(axis=0).tolist() == columns.tolist()
    assert np.abs(rows - table.sum(axis=1)).max() < 1 + abs(total - table.sum())
    assert np.abs(whole - table).max() < 2


def test_tables_along_a_tree_of_attributes_are_those_of_some_records_and_round_ones_may_not_be():
    chain, circle = ((0, 1), (1, 2), (2, 3)), ((0, 1), (1, 2), (0, 2))
    assert KnownOfTables(SIZES, chain, [1.0] * 3, {}).of_records
    assert not KnownOfTables(SIZES, circle, [1.0] * 3, {}).of_records
    assert KnownOfTables(SIZES, (*circle, (0, 1, 2)), [1.0] * 4, {}).of_records


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_the_worth_told_beforehand_bounds_errors_where_records_are_few(privacy):
    """Of one type, where a bound is nearest; by three standard deviations and more, since it is no tight one."""
    policy = policy_of(privacy)
    plan = dx.plan(policy.compile(), MarginalQueries.of(policy.universe, ways=2, records=8))
    worth = plan.estimate_worth(spend="1/4")
    assert worth.at_most.sum() < 0.7 * worth.released.sum() and "at 8 records" in worth.in_words
    assert plan.estimate_worth(spend="1/4", records=10**9).at_most == pytest.approx(worth.released)
    assert worth_of(plan.mechanism, plan.at_spend("1/4"), None).records is None
    alike = pd.DataFrame({name: ["v0"] * 8 for name in policy.universe.names})
    estimate = plan.release(alike, ledger=":memory:", spend="1/4", insecure_test_seed=1).estimate()
    squares = [float(np.sum(one**2) - one.flat[0] ** 2 + (8 - one.flat[0]) ** 2) for one in estimate.tables]
    assert sum(squares) < worth.at_most.sum() == pytest.approx(estimate.errors.at_most)
    assert json.dumps(worth.as_dict())


def test_what_is_asked_of_estimates_in_a_wrong_way_is_told_before_anything_is_spent():
    policy = policy_of()
    plan = dx.plan(policy.compile(), MarginalQueries.of(policy.universe, ways=3))
    for asked, error, words in (
        ("nonsense", WrongArgument, "'estimate' is one of 'auto'"),
        ("integers", UnsupportedCombination, "three attributes"),
        ("consistent", UnsupportedCombination, "agree as they are"),
    ):
        with pytest.raises(error, match=words):
            plan.release("no such file.csv", ledger=":memory:", spend=1, estimate=asked)


@pytest.mark.long
def test_a_release_that_was_asked_for_an_estimate_holds_it_in_its_file():
    plan, _, _ = released()
    document = json.loads(plan.rehearse(spend=1).to_json())
    assert "estimate" not in document
    asked = dx.plan(policy_of().compile(), plan.queries)
    found = asked.release(_frame(), ledger=":memory:", spend=1, estimate="auto", insecure_test_seed=1)
    document = json.loads(found.to_json())
    assert document["estimate"]["level"] == 0.95 and len(document["estimate"]["tables"]) == 6
    assert document["tables"][0]["cells"] is not None
    assert found.public_dict()["estimate"] == found.as_dict()["estimate"]


def _frame():
    return pd.DataFrame({f"a{k}": ["v0", "v1", "v0"] for k in range(4)})


@pytest.mark.long
def test_boxes_are_clipped_so_that_no_count_is_further_off():
    attributes = {"age": {"range": [0, 6], "step": 1}}
    policy = dx.Policy.from_dict(
        {"policy": "p", "universe": {"attributes": attributes}, "rules": [{"change": "age", "epsilon": 1}]}
    )
    boxes = dx.universe.BoxQueries.of(policy.universe, [{"age": (k, j)} for k in range(6) for j in range(k + 1, 7)])
    plan = dx.plan(policy.compile(), boxes)
    ages = [0] * 20 + [3]
    release = plan.release(pd.DataFrame({"age": ages}), ledger=":memory:", spend="1/3", insecure_test_seed=1)
    estimate = release.estimate()
    truth = np.array([sum(k <= age < j for age in ages) for k in range(6) for j in range(k + 1, 7)])
    assert np.all(np.abs(estimate.values - truth) <= np.abs(release.values - truth))
    assert estimate.values.min() == 0 and estimate.values.max() <= 21
    (rows,) = estimate.batches()
    assert rows["estimate_low"].min() == 0 and rows["estimate_high"].max() <= 21
    assert np.all(release.estimate("integers").values % 1 == 0)


def prefix_queries(count):
    return dx.LinearQueries.from_matrix([f"q{k}" for k in range(count)], np.tril(np.ones((count, count), dtype=int)))


def long_release(count, seed=0, presence=False):
    metric = dx.verify_metric(1 - np.eye(count))
    counts = np.random.default_rng(seed).multinomial(500, np.full(count, 1 / count))
    plan = dx.plan(metric, prefix_queries(count), mechanism="epsilon-dp")
    return counts, plan.release(counts, ledger=":memory:", spend=1, insecure_test_seed=seed)


@pytest.mark.long
def test_beyond_rationals_answers_agree_up_to_float64_and_no_truth_is_further():
    """The last prefix is the public number of records; weights of one record, and their sums, imply nothing else."""
    counts, release = long_release(330)
    estimate = release.estimate()
    truth = np.cumsum(counts)
    assert estimate.values[-1] == pytest.approx(500) and estimate.values.min() >= 0
    assert np.sum((estimate.values - truth) ** 2) <= np.sum((release.values - truth) ** 2)
    assert any("float64" in said for said in estimate.done)
    bars = estimate.intervals()
    assert bars.min() >= -1e-6 and bars.max() <= 500 + 1e-6
    with pytest.raises(TooLarge, match="integers that agree"):
        require_few(1001, EstimateWish(integers=True))
    assert math.isfinite(estimate.errors.at_most)


@pytest.mark.parametrize("named", ["auto", "consistent"])
def test_float64_comes_near_to_what_rationals_find(named):
    """Of tables whose equations are many; signs that are met in turn end near the nearest point, not at it."""
    policy = policy_of()
    queries = dx.LinearQueries.marginals(policy.universe, [["a0", "a1"], ["a1", "a2"], ["a1"]])
    counts = np.random.default_rng(0).integers(0, 2, 120)
    plan = dx.plan(policy.compile(), queries, mechanism="laplace")
    release = plan.release(counts, ledger=":memory:", spend=1, insecure_test_seed=0)
    exact = release.estimate(named)
    bounded = set(range(queries.count)) if named == "auto" else set()
    lattice = plan.mechanism.sensitivity.queries
    found = nearest_in_floats(lattice, release.records, release.values, exact.variances, {}, bounded)
    truth = np.array([float(answer) for answer in queries.answers(counts)])
    assert np.sum((found.values - truth) ** 2) <= np.sum((release.values - truth) ** 2)
    assert found.equations == 4 + 4 + 1
    if named == "consistent":
        assert found.values == pytest.approx(exact.values, abs=1e-7)
    else:
        assert found.values.min() >= 0 and found.values[:12].sum() == pytest.approx(counts.sum(), abs=1e-3)


@pytest.mark.long
@pytest.mark.parametrize("people", [10**6, 10**8])
def test_no_equation_is_made_of_what_float64_leaves_of_an_exact_answer(people):
    """A sum of years is nearly a count of all times 2010, which is exact; what is left of that is no equation."""
    size = 320
    cells = np.eye(size, dtype=int)
    weights = np.array([2000 + np.arange(size) % 20, np.ones(size, dtype=int), *cells[:312]])
    queries = dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(weights))], weights)
    plan = dx.plan(dx.verify_metric(1 - np.eye(size)), queries, mechanism="epsilon-dp")
    histogram = np.zeros(size, dtype=np.int64)
    histogram[-1] = people
    release = plan.release(histogram, ledger=":memory:", spend=1, insecure_test_seed=1)
    truth = queries.answers(histogram)
    before, after = (
        sum(float(one - other) ** 2 for one, other in zip(values, truth, strict=True))
        for values in (release.exact_values, release.estimate().exact_values)
    )
    assert after <= before


def test_a_total_that_contradicts_the_public_number_is_refused():
    policy = policy_of()
    queries = MarginalQueries.of(policy.universe, ways=1)
    rows = pd.DataFrame({f"a{k}": ["v0"] * 7 for k in range(4)})
    release = dx.plan(policy.compile(), queries).release(rows, ledger=":memory:", spend=1)
    for number, said in ((8, "is public, 7"), (-3, "from 0 on")):
        with pytest.raises(UnsupportedCombination, match=said):
            release.estimate(totals={"all records": number})
    assert release.estimate(totals={"all records": 7}).total == 7


def test_whole_numbers_of_people_in_shares_are_refused_before_anything_is_charged():
    policy = dx.Policy.from_dict(
        {
            "policy": "p",
            "people": {"column": "who", "count": "once"},
            "universe": {"attributes": {"a": ["x", "y"]}},
            "rules": [{"change": "a", "epsilon": 1}],
        }
    )
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"queries": [{"marginal": "a"}]}, policy))
    with pytest.raises(UnsupportedCombination, match="leave integers out"):
        plan.require_estimate("integers")


def test_wide_tables_are_rounded_in_the_memory_of_their_cells_and_sums_are_kept_near_the_ends_of_float64():
    table = np.random.default_rng(3).gamma(0.4, size=(4000, 2)) * 3
    rows, columns = np.floor(table.sum(axis=1)).astype(np.int64), np.zeros(2, dtype=np.int64)
    columns[0] = rows.sum() // 2
    columns[1] = rows.sum() - columns[0]
    whole = rounded_to_margins(table, rows, columns)
    assert whole.min() >= 0 and (whole.sum(axis=1) == rows).all() and (whole.sum(axis=0) == columns).all()
    far = rounded_to_sum(np.array([2.0**61, 0.5, 0.5]), 2**61 - 7)
    assert far.min() >= 0 and int(far.sum()) == 2**61 - 7
    assert on_simplex(np.array([1e18, 5.0]), 1.0).sum() == 1


@pytest.fixture(scope="module")
def few():
    """Three tables of 47 cells, planned for 60 records, and a public table of 30."""
    policy = policy_of(sizes=(4, 5, 3))
    plan = dx.plan(policy.compile(), MarginalQueries.of(policy.universe, ways=2, records=60))
    return plan, pd.DataFrame({name: [f"v{k % 2}" for k in range(30)] for name in policy.universe.names})


def test_what_an_estimate_is_worth_is_tried_out_on_a_public_table_before_the_data(few):
    """The released error that is found lies where the plan says (10 draws from the plan's own seed, so always the
    same), and in no draw below the estimate's, which is the lemma."""
    plan, rows = few
    found = plan.simulate_estimate(rows, draws=10)
    assert found.records == 30 and found.draws == 10 and found.names == plan.queries.names
    assert found.released**2 == pytest.approx(plan.predicted_mse, rel=0.25)
    totals = found.squares.sum(axis=1)
    assert np.all(totals[:, 1] <= totals[:, 0]) and found.estimated < 0.8 * found.released
    assert "30 records, with 10 draws" in found.in_words and found.as_dict()["estimate_total_rmse"] == found.estimated
    again = plan.simulate_estimate(rows, draws=1)
    assert math.isinf(again.deviation) and "standard deviation" not in again.in_words
    assert "spending 1: " in again.in_words and "one standard deviation of that: " in found.in_words
    assert "standard deviation" not in replace(found, squares=found.squares[:7]).in_words
    assert again.squares[0] == pytest.approx(found.squares[0])


@pytest.mark.long
def test_of_lists_and_boxes_it_is_tried_out_too_and_of_several_tasks_refused():
    policy = policy_of(sizes=(2, 3))
    rows = pd.DataFrame({"a0": ["v0"] * 9, "a1": ["v1"] * 9})
    boxes = dx.plan(policy.compile(), dx.universe.BoxQueries.prefixes(policy.universe, "a1"))
    tasks = dx.plan(
        policy.compile(), dx.queries_from_dict({"tasks": [{"name": "one", "queries": [{"marginal": "a0"}]}]}, policy)
    )
    for plan in (tasks.parts[0], boxes):
        found = plan.simulate_estimate(rows, draws=3)
        assert np.all(found.squares[..., 1].sum(axis=1) <= found.squares[..., 0].sum(axis=1))
    with pytest.raises(WrongArgument, match="from 1 to"):
        boxes.simulate_estimate(rows, draws=0)


def test_of_tasks_the_one_list_is_tried_out_at_its_share_of_the_spend():
    policy = policy_of(sizes=(2, 3))
    rows = pd.DataFrame({"a0": ["v0"] * 9, "a1": ["v1"] * 9})
    listed = {"name": "one", "queries": [{"marginal": "a0"}], "share": "1/4"}
    best = {"name": "best", "select": {"best": "a1", "by": "count"}, "share": "3/4"}
    tasks = dx.plan(policy.compile(), dx.queries_from_dict({"tasks": [listed, best]}, policy))
    found = tasks.simulate_estimate(rows, spend="1/2", draws=3)
    same = tasks.parts[0].simulate_estimate(rows, spend="1/8", draws=3)
    assert np.array_equal(found.squares, same.squares)
    assert "spending 0.125, the task's share of 0.5" in found.in_words and "spending 0.125: " in same.in_words
    assert (found.as_dict()["spend"], found.as_dict()["share"]) == ("1/2", "1/4")
    two = dx.queries_from_dict({"tasks": [listed, {**listed, "name": "two"}, {**best, "share": "1/2"}]}, policy)
    with pytest.raises(UnsupportedCombination, match="one task is a list"):
        dx.plan(policy.compile(), two).simulate_estimate(rows)


def test_errors_of_changed_queries_are_about_what_was_asked():
    """Against 100 seeded draws, whose errors are told from the weights asked for: within six standard deviations of
    the difference (false alarms below 1e-8)."""
    policy = policy_of(sizes=(4,))
    weights = np.array([[0.0, 8, 2, 3]])
    asked = replace(dx.LinearQueries.from_matrix(["q"], weights, policy.universe), records=3)
    plan = dx.plan(policy.compile(), asked, mechanism="changed-queries")
    counts = np.array([2, 1, 0, 0])
    found = plan.simulate_estimate(pd.DataFrame({"a0": ["v0", "v0", "v1"]}), spend=10**9, draws=1)
    changed = float(plan.mechanism.draw(counts, Fraction(10**9), InsecureSeededRandomness(1))[0])
    assert found.released == pytest.approx(abs(changed - weights[0] @ counts), abs=1e-6) and found.released > 0.1
    found = plan.simulate_estimate(pd.DataFrame({"a0": ["v0", "v0", "v1"]}), draws=100)
    draws = plan.mechanism.draws(counts, Fraction(1), 100, InsecureSeededRandomness(2))
    errors = np.array([float(answer[0]) - weights[0] @ counts for answer in draws]) ** 2
    spread = math.hypot(errors.std(), found.squares[:, 0, 0].std()) / 10
    assert abs(found.released**2 - errors.mean()) < 6 * spread


def test_where_numbers_are_rounded_it_is_said_that_errors_are_about_rounded_ones():
    policy = dx.Policy.from_dict(
        {
            "policy": "ages",
            "universe": {"attributes": {"age": {"range": [0, 40], "step": 10}}},
            "rules": [{"change": "age", "epsilon": 1}],
        }
    )
    rows = pd.DataFrame({"age": [3, 17, 22]})
    said = [
        dx.plan(
            policy.compile(), dx.queries_from_dict({"queries": [one]}, policy), mechanism="laplace"
        ).simulate_estimate(rows, draws=1)
        for one in ({"name": "s", "sum": "age"}, {"marginal": "age"})
    ]
    assert [one.rounded for one in said] == [True, False]
    assert "both about numbers as the policy rounds them" in said[0].in_words
    assert "rounds" not in said[1].in_words
