"""Whole tables of counts over universes that no histogram can count: planned, read, released, remembered."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dxgeom as dx
from dxgeom.engines.counted_tables import table_counts
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError, DxgeomError, TooLarge, UnsupportedCombination
from dxgeom.ledger.ledger import Ledger

MarginalQueries = dx.universe.MarginalQueries
SIZES = (2, 3, 5, 4, 7) * 8


def policy(sizes=SIZES, privacy="concentrated", presence=False, budget=100):
    return dx.Policy.from_dict(
        {
            "policy": "wide",
            "universe": {
                "attributes": {f"a{i}": {"values": [f"v{j}" for j in range(size)]} for i, size in enumerate(sizes)}
            },
            "rules": [
                *({"change": f"a{i}", "epsilon": 1} for i in range(len(sizes))),
                *([{"presence": True, "epsilon": 1}] if presence else []),
            ],
            "privacy": privacy,
            "budget": budget,
        }
    )


def rows(sizes=SIZES, number=3000, seed=0):
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {f"a{i}": [f"v{code}" for code in generator.integers(0, size, number)] for i, size in enumerate(sizes)}
    )


def test_normal_noise_is_refused_where_odds_are_promised_by_the_mechanism_itself():
    own = policy(sizes=(2, 3))
    made = dx.plan(own.compile(), MarginalQueries.of(own.universe, [["a0", "a1"]])).mechanism
    with pytest.raises(UnsupportedCombination, match="bounds no odds"):
        replace(made, metric=policy(sizes=(2, 3), privacy="pure").compile())


@pytest.mark.parametrize(
    ("privacy", "presence"),
    [
        ("pure", True),
        ("concentrated", False),
        pytest.param("pure", False, marks=pytest.mark.long),
        pytest.param("concentrated", True, marks=pytest.mark.long),
    ],
)
def test_a_wide_table_is_released_as_exactly_as_planned_and_tables_agree(privacy, presence):
    own, data = policy(privacy=privacy, presence=presence), rows()
    queries = MarginalQueries.of(own.universe, [["a0", "a1"], ["a2", "a1"], ["a3", "a7", "a9"], []])
    plan = dx.plan(own.compile(), queries)
    assert plan.mechanism.name == ("marginal-laplace" if privacy == "pure" else "marginal-gaussian")
    assert plan.gap < (40 if privacy == "pure" else 1 + 1e-9)
    errors = []
    for seed in range(60):
        released = plan.release(data, ledger=":memory:", spend=1, insecure_test_seed=seed)
        first, second = released.answer.exact.numerators[:2]
        over = released.answer.exact.divisors
        ones = first.reshape(2, 3).sum(axis=0).astype(object) * over[1]
        assert list(ones) == list(second.reshape(3, 5).sum(axis=1).astype(object) * over[0])
        truth = pd.crosstab(data["a0"], data["a1"]).to_numpy()
        errors.append(((released.answer.table("a1, a0") - truth) ** 2).mean())
    assert np.mean(errors) == pytest.approx(float(plan.rmse()[0] ** 2), rel=0.35)
    assert released.records == (None if presence else 3000)
    exact = released.answer.table([])[()] if not presence else None
    assert exact in (None, 3000)


def test_counts_are_those_of_a_histogram_where_there_is_one():
    own, data = policy((2, 3, 4)), rows((2, 3, 4))
    queries = MarginalQueries.of(own.universe, [["a0", "a2"], ["a1"], []])
    histogram = histogram_of_table(data, own.universe).counts.reshape(2, 3, 4)
    found = table_counts(data, queries)
    assert np.array_equal(found.cells[0].reshape(2, 4), histogram.sum(axis=1))
    assert np.array_equal(found.cells[1], histogram.sum(axis=(0, 2)))
    assert int(found.cells[2][0]) == found.total == 3000


def test_the_closed_form_is_that_of_plans_with_a_histogram():
    own = policy((2, 3, 4))
    metric = own.compile()
    wide = dx.plan(metric, MarginalQueries.of(own.universe, ways=2))
    listed = dx.plan(metric, dx.LinearQueries.marginals(own.universe, ways=2))
    assert wide.loss == pytest.approx(listed.loss, rel=1e-3)
    assert wide.lower_bound == pytest.approx(listed.lower_bound, rel=1e-9)


def test_rows_stand_for_many_and_rows_outside_are_refused_or_dropped():
    own, data = policy((2, 3, 4)), rows((2, 3, 4), 50)
    queries = MarginalQueries.of(own.universe, [["a0"]])
    data["many"] = 2
    assert table_counts(data, queries, count_column="many").total == 100
    data.loc[3, "a2"] = "elsewhere"
    with pytest.raises(DataError):
        table_counts(data, queries)
    dropped = table_counts(data, queries, outside="drop")
    assert (dropped.total, dropped.dropped) == (49, 1)
    with pytest.raises(DataError):
        table_counts(data.iloc[:0], queries)
    with pytest.raises(DataError, match="from rows"):
        table_counts(np.ones(24, dtype=np.int64), queries)


def test_the_same_key_gives_the_same_answer_and_reads_no_data(tmp_path):
    own = policy()
    queries = MarginalQueries.of(own.universe, ways=2)
    plan = dx.plan(own.compile(), queries, mechanism="marginal-gaussian")
    with Ledger.open(
        tmp_path / "one.db",
        policy_fingerprint=own.fingerprint,
        policy_name="wide",
        budget=own.budget,
        privacy_measure="concentrated",
    ) as ledger:
        first = plan.release(rows(), ledger=ledger, spend=1, id="once")
        again = plan.release("nowhere.parquet", ledger=ledger, spend=1, id="once")
    assert again.repeated
    each = zip(first.answer.exact.numerators, again.answer.exact.numerators, strict=True)
    assert all(np.array_equal(one, other) for one, other in each)
    assert first.answer.exact.divisors == again.answer.exact.divisors


def test_answers_are_arrays_frames_and_json():
    own = policy(privacy="pure")
    plan = dx.plan(own.compile(), MarginalQueries.of(own.universe, [["a0", "a2"], ["a4"]]))
    released = plan.rehearse(spend=2)
    assert released.rehearsal
    frame = released.to_pandas("a0, a2", level=0.9)
    assert list(frame.columns) == ["a0", "a2", "value", "low", "high", "rmse"]
    assert len(frame) == 10
    assert np.all(frame["low"] < frame["high"])
    written = json.loads(released.to_json())
    assert [one["table"] for one in written["tables"]] == [["a0", "a2"], ["a4"]]
    cells = np.array(written["tables"][0]["cells"]) / int(written["tables"][0]["divisor"])
    assert np.array_equal(cells, frame["value"])
    with pytest.raises(UnsupportedCombination, match="no table"):
        released.answer.table("a0, a1")
    every = released.to_pandas()
    assert list(every.columns) == [
        "table",
        "column 1",
        "value 1",
        "column 2",
        "value 2",
        "count",
        "low",
        "high",
        "rmse",
    ]
    assert set(every["table"]) == {"a0, a2", "a4"}
    assert every[every["table"] == "a0, a2"]["count"].tolist() == frame["value"].tolist()
    assert every[every["table"] == "a4"]["value 2"].isna().all()
    assert released.to_arrow().to_pydict()["value 1"] == every["value 1"].tolist()


def test_a_stated_number_of_records_is_not_compared_with_one_that_is_private():
    own = policy((2, 3), presence=True)
    with pytest.raises(UnsupportedCombination, match="keeps private"):
        dx.plan(own.compile(), MarginalQueries.of(own.universe, ways=2, records=100))
    with pytest.raises(UnsupportedCombination, match="keeps private"):
        dx.plan(own.compile(), dx.universe.BoxQueries.of(own.universe, [{"a0": (0, 1)}], records=100))


@pytest.mark.long
def test_half_widths_hold():
    own, data = policy((2, 3, 4), privacy="pure"), rows((2, 3, 4))
    plan = dx.plan(own.compile(), MarginalQueries.of(own.universe, ways=2))
    truth = pd.crosstab(data["a1"], data["a2"]).to_numpy()
    held = []
    for seed in range(300):
        answer = plan.release(data, ledger=":memory:", spend=1, insecure_test_seed=seed).answer
        held.append(np.abs(answer.table("a1, a2") - truth) <= answer.half_widths(0.9)[answer.queries.table("a1, a2")])
    assert np.mean(held) >= 0.9


@pytest.mark.long
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_half_widths_hold_where_noise_is_narrower_than_a_step_of_the_lattice(privacy):
    """Rounding does not become less when more is spent."""
    own, data = policy((2, 3, 4), privacy, budget=10_000), rows((2, 3, 4), 200)
    plan = dx.plan(own.compile(), MarginalQueries.of(own.universe, ways=2))
    truth, held, errors = pd.crosstab(data["a1"], data["a2"]).to_numpy(), [], []
    for seed in range(60):
        answer = plan.release(data, ledger=":memory:", spend=300, insecure_test_seed=seed).answer
        errors.append(answer.table("a1, a2") - truth)
        held.append(np.abs(errors[-1]) <= answer.half_widths(0.9)[answer.queries.table("a1, a2")])
    assert np.mean(held) >= 0.9
    assert np.sqrt(np.mean(np.square(errors))) <= 1.1 * answer.rmse[answer.queries.table("a1, a2")]
    beyond = dx.plan(own.compile(), plan.queries, errors=["1e-9"] * 3)
    with pytest.raises(UnsupportedCombination, match="rounding"):
        beyond.least_spend  # noqa: B018


@pytest.mark.long
def test_wanted_errors_are_met_at_the_least_spend():
    own = policy()
    queries = MarginalQueries.of(own.universe, [["a0", "a1"], ["a2"], ["a3", "a4"]], errors=[3, 1, None])
    plan = dx.plan(own.compile(), queries)
    assert plan.objective == "max"
    assert plan.rmse(plan.least_spend)[0] <= 3
    assert plan.rmse(plan.least_spend)[1] <= 1


def test_what_needs_a_histogram_refuses_and_says_so():
    own = policy()
    with pytest.raises(TooLarge, match="histograms need a count of every possible record"):
        histogram_of_table(rows(), own.universe)
    with pytest.raises(UnsupportedCombination, match="'hull' needs a count of every possible record"):
        dx.plan(own.compile(), MarginalQueries.of(own.universe, [["a0"]]), mechanism="hull")
    with pytest.raises(
        UnsupportedCombination,
        match="heeds errors, importance, mechanism and objective, and not 'records': leave it out",
    ):
        dx.plan(own.compile(), MarginalQueries.of(own.universe, [["a0"]]), records=3)


def joint(rules, sizes=(2,) * 40, privacy="pure"):
    attributes = {f"a{i}": {"values": [f"v{j}" for j in range(size)]} for i, size in enumerate(sizes)}
    stated = {"policy": "joint", "universe": {"attributes": attributes}, "rules": rules, "unconnected": "allow"}
    return dx.Policy.from_dict({**stated, "privacy": privacy, "budget": 10})


def test_a_largest_change_keeps_the_limit():
    attributes = {f"a{i}": {"range": [0, 3], "step": 1} for i in range(40)}
    rule = {"change": ["a0", "a1"], "together": True, "measure": "max", "epsilon": 1, "per": 1}
    with pytest.raises(DxgeomError, match="DX116"):
        dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": [rule]})


ALONE = [{"change": f"a{i}", "epsilon": epsilon} for i, epsilon in enumerate((1, "0.5", 2))]
TOGETHER = {
    "any change": [*ALONE, {"between": "everything", "epsilon": "1.2"}],
    "nothing but any change": [{"between": "everything", "epsilon": "0.7"}],
    "two groups that cross": [
        *ALONE,
        {"change": ["a0", "a1"], "together": True, "epsilon": "1.1"},
        {"change": ["a1", "a2"], "together": True, "epsilon": "0.9"},
    ],
    "a group and no rule": [ALONE[0], {"change": ["a1", "a2"], "together": True, "epsilon": "0.9"}],
    "absence nearer than a group": [*ALONE, {"between": "everything", "epsilon": 2}, {"presence": True, "epsilon": 1}],
    "a group nearer than absence": [*ALONE, {"between": "everything", "epsilon": 1}, {"presence": True, "epsilon": 1}],
}


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("name", TOGETHER)
def test_no_pair_of_records_is_told_apart_by_more_than_rules_together_allow(name, privacy):
    """Every pair of a small universe, against the compiled metric: what tables with noise show of it, summed up."""
    sizes = (2, 3, 2)
    own = joint(TOGETHER[name], sizes, privacy)
    metric = own.compile()
    queries = MarginalQueries.of(own.universe, [["a0", "a1"], ["a1", "a2"], ["a2"], []])
    plan = dx.plan(metric, queries, mechanism="auto" if privacy == "pure" else "marginal-gaussian")
    mechanism, family, types = plan.mechanism, plan.mechanism.question.family, 12
    records = [np.zeros(sizes) for _ in range(types + 1)]
    for place in range(types):
        records[place].flat[place] = 1  # and the last one is nobody
    worst = 0.0
    for i in range(metric.size):
        for j in range(i):
            change, shown = records[i] - records[j], 0.0
            for place in np.flatnonzero(mechanism.scales > 0).tolist():
                members = family.members_of(place % family.count)
                margin = change.sum(axis=tuple(axis for axis in range(3) if axis not in members))
                for axis in range(margin.ndim):
                    if mechanism.normal:
                        margin = margin - margin.mean(axis=axis, keepdims=True)
                    elif place >= family.count and margin.shape[axis] == 2:
                        margin = margin.take([1], axis) - margin.take([0], axis)
                part = np.square(margin).sum() if mechanism.normal else np.abs(margin).sum()
                shown += float(part / mechanism.scales[place] ** (2 if mechanism.normal else 1))
            shown = shown**0.5 if mechanism.normal else shown
            apart = float(metric.distance(i, j))
            assert shown <= apart * (1 + 1e-9)
            worst = max(worst, shown / apart) if np.isfinite(apart) else worst
    assert worst > 0.3
    assert 1 - 1e-9 <= plan.gap < np.inf


@pytest.mark.parametrize("name", ["any change", "two groups that cross"])
def test_the_bound_under_rules_together_is_below_the_best_of_the_general_solver(name):
    own = joint(TOGETHER[name], (2, 3, 2), "concentrated")
    wide = dx.plan(own.compile(), MarginalQueries.of(own.universe, ways=2), mechanism="marginal-gaussian")
    listed = dx.plan(own.compile(), dx.LinearQueries.marginals(own.universe, ways=2), mechanism="gaussian")
    assert wide.lower_bound <= listed.loss * (1 + 1e-9)
    assert listed.loss <= wide.loss * (1 + 1e-6)


@pytest.mark.parametrize(
    "rule",
    [{"between": "everything", "epsilon": 5}, {"change": ["a0", "a1", "a7"], "together": True, "epsilon": "1.5"}],
)
def test_rules_about_several_attributes_together_are_for_wide_universes_too(rule):
    own = joint([*({"change": f"a{i}", "epsilon": 1} for i in range(40)), rule])
    plan = dx.plan(own.compile(), MarginalQueries.of(own.universe, [["a0", "a1"], ["a7"]]))
    assert 1 < plan.gap < np.inf
    assert own.review().size == 2**40
    released = plan.release(rows((2,) * 40, 500), ledger=":memory:", spend=1, insecure_test_seed=1)
    assert released.answer.table("a7").sum() == 500
    with pytest.raises(TooLarge, match="add up over attributes"):
        dx.plan(own.compile(), dx.universe.BoxQueries.of(own.universe, [{"a0": (0, 1)}]))


def test_a_wide_policy_is_reviewed_and_its_certificate_written(tmp_path):
    from dxgeom.audit.claims import claims_of

    own = policy()
    assert own.review().size == np.prod([float(size) for size in SIZES]) or own.review().size > 10**20
    assert claims_of(own.compile(), "policy")["distances"] == []


def test_wrong_tables_are_refused():
    own = policy()
    for groups in ([["a0", "a0"]], [["a0"], ["a0"]], [["nobody"]]):
        with pytest.raises(UnsupportedCombination):
            MarginalQueries.of(own.universe, groups)
    with pytest.raises(UnsupportedCombination):
        MarginalQueries.of(own.universe, ways=41)
    with pytest.raises(UnsupportedCombination):
        dx.plan(policy((2, 3)).compile(), MarginalQueries.of(own.universe, [["a0"]]))
    with pytest.raises(UnsupportedCombination, match="concentrated"):
        dx.plan(
            policy(privacy="pure").compile(), MarginalQueries.of(own.universe, [["a0"]]), mechanism="marginal-gaussian"
        )


def test_tables_of_more_cells_than_memory_holds_are_refused_before_a_row_is_read():
    own = policy(sizes=(200,) * 4)
    plan = dx.plan(own.compile(), MarginalQueries.of(own.universe, [["a0", "a1", "a2", "a3"]]))
    (said,) = plan.warnings
    assert said.startswith("of more than 50,000,000 cells a release is refused") and f"  {said}" in plan.lines()
    with pytest.raises(TooLarge, match="1,600,000,000 cells, and at most"):
        plan.release(rows((200,) * 4, 3), ledger=":memory:", spend=1)


def test_cells_by_the_hundred_thousand_are_kept_and_not_written_out():
    own = policy((50,) * 20)
    plan = dx.plan(own.compile(), MarginalQueries.of(own.universe, ways=2), mechanism="marginal-gaussian")
    released = plan.rehearse(spend=1)
    assert all(one["cells"] is None for one in released.as_dict()["tables"])
    mechanism = plan.mechanism
    again = mechanism.decode_answer(json.loads(json.dumps(mechanism.encode_answer(released.answer.exact))))
    each = zip(again.numerators, released.answer.exact.numerators, strict=True)
    assert all(np.array_equal(one, other) for one, other in each)


@pytest.mark.parametrize("epsilon", [1e6, 1e9])
def test_noise_far_below_one_count_is_drawn_on_a_lattice_that_64_bits_have_room_for(epsilon):
    attributes = {"a": {"values": ["x", "y", "z"]}, "b": {"values": ["p", "q", "r", "s"]}}
    rules = [{"change": name, "epsilon": epsilon} for name in attributes]
    own = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})
    plan = dx.plan(own.compile(), dx.universe.MarginalQueries.of(own.universe, [("a",), ("a", "b")]))
    rows = pd.DataFrame({"a": ["x", "y", "y"], "b": ["p", "q", "q"]})
    answer = plan.release(rows, ledger=":memory:", spend=1, insecure_test_seed=1).answer
    first, both = (np.ravel(answer.table(name)) for name in ("a", "a, b"))
    assert first == pytest.approx([1, 2, 0], abs=1e-3)
    assert both == pytest.approx([1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0], abs=1e-3)
    assert np.all(answer.rmse < 1e-3)
