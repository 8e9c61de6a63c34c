from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.mechanisms.contract.composition import Parallel, Sequential
from dxgeom.planner.quantile_plan import plan_quantiles
from dxgeom.universe.quantile_queries import QuantileQueries

POLICY = """policy: wards
unconnected: allow
universe:
  attributes:
    ward: [A, B, C]
    sex: [F, M]
    age: {range: [0, 9], step: 1, whole: true}
    day: {dates: [2026-01-01, 2026-01-05], step: 1}
rules:
  - {change: age, epsilon: 1, per: 1}
  - {change: [sex, day], epsilon: 1}
"""
BOTH = """records: 120
queries:
  - median: age
  - {name: days, quantiles: day, at: [0, 1]}
  - {name: by ward, quantiles: age, at: [1/4, 3/4], by: ward}
"""


@pytest.fixture(scope="module")
def policy() -> dx.Policy:
    return dx.parse_policy(POLICY)


@pytest.fixture(scope="module")
def metric(policy) -> dx.VerifiedMetric:
    return policy.compile()


def queries(text: str, policy: dx.Policy) -> QuantileQueries:
    return dx.parse_queries(text, policy)


def histogram(policy: dx.Policy, records: int, seed: int = 0) -> np.ndarray:
    size = policy.universe.size
    return np.random.default_rng(seed).multinomial(records, np.full(size, 1 / size)).astype(np.int64)


def test_one_query_is_the_mechanism_that_errs_less(policy, metric):
    asked = queries("queries:\n  - median: age\n", policy)
    for records, spend in ((3, Fraction(1, 2)), (10_000, Fraction(1)), (100, Fraction(1, 100))):
        plan = plan_quantiles(metric, asked, records=records, spend=spend)
        choice = dx.quantiles.quantile_choice(metric, "age", "1/2", records=records, spend=spend)
        assert plan.mechanism.fingerprint == choice.mechanism.fingerprint
        assert plan.parts[0].forms == (choice.form,)
        assert plan.parts[0].errors == {one.name: one.expected_error for one in choice.candidates}
    forms = {plan_quantiles(metric, asked, records=n).parts[0].forms for n in (1, 10_000)}
    assert forms == {("laplace",), ("transport",)}


def test_several_queries_are_one_charge_of_equal_shares(policy, metric):
    plan = dx.plan(metric, queries(BOTH, policy))
    assert isinstance(plan.mechanism, Sequential)
    assert plan.mechanism.shares == (Fraction(1, 3),) * 3
    assert isinstance(plan.mechanism.parts[2], Parallel)
    release = plan.release(histogram(policy, 120), ledger=":memory:", spend="3/4")
    assert (release.spent, release.remaining) == (Fraction(3, 4), Fraction(1, 4))


def test_the_answers_are_those_of_the_mechanism(policy, metric):
    """At a spend at which noise is nothing they are the exact quantiles."""
    rows = np.random.default_rng(4).integers(0, [3, 2, 10, 5], (400, 4))
    counts = np.zeros(policy.universe.shape, dtype=np.int64)
    np.add.at(counts, tuple(rows.T), 1)
    relaxed = dx.parse_policy(POLICY.replace("epsilon: 1", "epsilon: 400"))
    plan = dx.plan(relaxed.compile(), queries(BOTH.replace("120", "400"), relaxed))
    release = plan.release(counts.ravel(), ledger=":memory:", spend=1)

    def lower(values, level):
        return sorted(values)[max(1, -(-level.numerator * len(values) // level.denominator)) - 1]

    assert release["median age"].value == lower(rows[:, 2], Fraction(1, 2))
    assert [release[f"days at {level}"].value for level in (0, 1)] == ["2026-01-01", "2026-01-05"]
    for place, ward in enumerate("ABC"):
        own = rows[rows[:, 0] == place, 2]
        for level in (Fraction(1, 4), Fraction(3, 4)):
            found = release[f"by ward at {level}, ward={ward}"]
            assert found.value == lower(own, level)
            assert found.rank == -(-level.numerator * len(own) // level.denominator)
            assert found.about.group == (("ward", ward),)


def test_the_table_has_a_row_for_each_quantile(policy, metric):
    plan = dx.plan(metric, queries(BOTH, policy))
    release = plan.release(histogram(policy, 120), ledger=":memory:", spend=1)
    table = release.to_arrow().to_pydict()
    assert list(table) == ["query", "name", "ward", "at", "value", "rank", "of"]
    assert table["query"] == ["median age"] + ["days"] * 2 + ["by ward"] * 6
    assert table["ward"] == [None] * 3 + ["A", "A", "B", "B", "C", "C"]
    assert table["at"][-2:] == ["1/4", "3/4"]
    assert all(isinstance(value, str) for value in table["value"])
    ages = release.to_pandas("by ward")
    assert ages["value"].dtype == np.float64
    assert ages["rank"].dtype == np.int64
    document = json.loads(release.to_json())
    assert [one["name"] for one in document["quantiles"]] == list(table["name"])
    assert document["statements"] == list(release.answer.statements)
    assert document["queries_fingerprint"] == plan.queries.fingerprint
    with pytest.raises(dx.UnsupportedCombination, match=r"it has several: take to_arrow\(query='by ward'\)"):
        release["by ward"]
    with pytest.raises(dx.UnsupportedCombination, match="no query is called 'by wrad'; did you mean 'by ward'"):
        release.to_arrow("by wrad")


def test_a_group_without_records_has_no_row(policy, metric):
    plan = dx.plan(metric, queries("queries:\n  - {median: age, by: ward, where: ward != 'B'}\n", policy))
    counts = histogram(policy, 50).reshape(policy.universe.shape)
    counts[2] = 0
    release = plan.release(counts.ravel(), ledger=":memory:", spend=1)
    assert release.to_arrow()["ward"].to_pylist() == ["A"]


REFUSED = [
    ("{median: age, where: sex == 'F'}", "'median age where sex == 'F'': how many records 'where' is true of"),
    ("{name: m, median: age, by: sex}", "'m': .*hides"),
]


@pytest.mark.parametrize(("query", "message"), REFUSED)
def test_what_a_record_could_leave_is_refused_by_name(policy, metric, query, message):
    asked = queries(f"queries:\n  - median: age\n  - {query}\n", policy)
    with pytest.raises(dx.UnsupportedCombination, match=message):
        dx.plan(metric, asked)


def test_presence_has_quantiles_without_ranks_and_no_groups():
    policy = dx.parse_policy(POLICY + "  - {presence: true, epsilon: 2}\n")
    metric = policy.compile()
    plan = dx.plan(metric, queries("queries:\n  - median: age\n", policy))
    assert plan.parts[0].forms == ("transport",)
    counts = histogram(policy, 80)
    release = plan.release(counts, ledger=":memory:", spend=1)
    assert release["median age"].rank is None
    assert release.to_arrow()["rank"].to_pylist() == [None]
    with pytest.raises(dx.UnsupportedCombination, match="'m': where records may be absent"):
        dx.plan(metric, queries("queries:\n  - {name: m, median: age, by: ward}\n", policy))
    with pytest.raises(dx.UnsupportedCombination, match="keeps the number of records private"):
        dx.plan(metric, queries("queries:\n  - median: age\n", policy), records=80)


def test_what_is_said_of_errors_claims_nothing_of_numbers_that_nobody_knows(policy, metric):
    text = "queries:\n  - {median: age, where: ward == 'A'}\n  - {quantiles: age, at: [1/4, 3/4], by: ward}\n"
    plan = dx.plan(metric, queries(text, policy), records=10_000)
    assert {form for part in plan.parts for form in part.forms} == {"transport"}
    one, several = plan.statements(1)
    alone = plan.parts[0].mechanism.rank_bound(10**12, spend=Fraction(1, 2))
    assert one == f"with probability 0.95 the rank of each answer is off by at most {alone:,}"
    assert several.startswith("in each group: with probability 0.95")
    assert several.endswith("where the ranks asked for are further apart than that")


def test_what_rounding_to_values_adds_is_said_beside_the_ranks():
    rounded = POLICY.replace("[0, 9], step: 1, whole: true", "[0, 90], step: 10").replace(
        "ward: [A, B, C]", "dose: {range: [0, 9], step: 3}"
    )
    policy = dx.parse_policy(rounded)
    text = "queries:\n  - median: age\n  - {median: age, where: dose <= 3}\n  - {median: age, where: dose >= 3}\n"
    text += "  - {name: days, median: day}\n"
    plain, stepped, cut, days = dx.plan(policy.compile(), queries(text, policy)).statements(1, records=100)
    assert "a value of 'age' stands for all up to the next one, and the quantile of the numbers" in plain
    assert stepped.endswith("with < and >= there is none") and "asks which value of 'dose' a record has" in stepped
    assert "'dose'" not in cut
    assert "stands for" not in days


def test_a_rehearsal_reads_nothing_and_says_so(policy, metric):
    made_up = dx.plan(metric, queries(BOTH, policy)).rehearse(spend="1/2")
    assert (made_up.rehearsal, made_up.receipt, made_up.records) == (True, None, 120)


def test_the_same_key_returns_the_same_quantiles(policy, metric, tmp_path):
    plan = dx.plan(metric, queries(BOTH, policy))
    first = plan.release(histogram(policy, 120), ledger=tmp_path / "l.db", spend="1/4", id="one")
    again = plan.release("nowhere.csv", ledger=tmp_path / "l.db", spend="1/4", id="one")
    assert again.repeated
    assert again.answer.as_dicts() == first.answer.as_dicts()
    assert again.remaining == first.remaining


@pytest.mark.parametrize("option", [{"objective": "mse"}, {"search": dx.Search(coarse_facets=100)}, {"errors": [1]}])
def test_options_about_linear_noise_are_refused(policy, metric, option):
    with pytest.raises(dx.UnsupportedCombination, match="a plan of quantiles heeds"):
        dx.plan(metric, queries("queries:\n  - median: age\n", policy), **option)


def test_queries_of_another_policy_and_numbers_that_disagree_are_refused(policy, metric):
    other = dx.parse_policy(POLICY.replace("[A, B, C]", "[A, B]"))
    with pytest.raises(dx.UnsupportedCombination, match="about other records than the metric"):
        dx.plan(metric, queries("queries:\n  - median: age\n", other))
    with pytest.raises(dx.UnsupportedCombination, match="120, as the queries say; found 100"):
        dx.plan(metric, queries(BOTH, policy), records=100)


def test_a_mechanism_may_be_named_and_the_table_still_has_both_with_bounds_of_one_kind(policy, metric):
    asked = queries("queries:\n  - median: age\n", policy)
    chosen = dx.plan(metric, asked, records=1000, spend=10)
    for name in ("transport", "laplace"):
        plan = dx.plan(metric, asked, records=1000, spend=10, mechanism=name)
        assert plan.parts[0].forms == (name,)
        assert plan.parts[0].errors == chosen.parts[0].errors
        assert plan.as_dict()["chosen_by"] == "name"
        assert plan.mechanism.fingerprint == dx.quantiles.quantile_mechanism(metric, "age", form=name).fingerprint
    assert chosen.as_dict()["chosen_by"] == "expected error if evenly spread, a model"
    (told,) = chosen.as_dict()["quantiles"]
    transport, laplace = told["candidates"]
    # 2/10·ln(10/0.05) = 1.06 nats are one year; noise of scale 1/10 is within 0.3, and the nearest year adds a half.
    assert transport["proved_error"] == 1.0
    assert laplace["proved_error"] == pytest.approx(0.8, abs=0.01)
    assert (transport["proved_ranks"], laplace["proved_ranks"]) == (1, None)
    with pytest.raises(dx.UnsupportedCombination, match="transport, laplace, or 'auto'"):
        dx.plan(metric, asked, mechanism="hull")


def test_where_noise_does_not_fit_the_table_says_why():
    policy = dx.parse_policy(POLICY + "  - {presence: true, epsilon: 2}\n")
    asked = queries("queries:\n  - median: age\n", policy)
    transport, laplace = dx.plan(policy.compile(), asked).parts[0].candidates
    assert (transport.proved, transport.proved_ranks, laplace.mechanism) == (None, 11, None)
    assert "where records may be absent" in laplace.as_dict()["reason"]
    with pytest.raises(dx.UnsupportedCombination, match="where records may be absent"):
        dx.plan(policy.compile(), asked, mechanism="laplace")


def test_forms_may_be_said(policy, metric):
    asked = queries(BOTH, policy)
    stated = plan_quantiles(metric, asked, forms=[["laplace"], ["transport"], ["laplace", "transport", "laplace"]])
    assert [part.forms for part in stated.parts] == [
        ("laplace",),
        ("transport",),
        ("laplace", "transport", "laplace"),
    ]
    for wrong in ([["laplace"], ["transport"], ["laplace"]], [["laplace"], ["transport"], ["laplace"] * 4]):
        with pytest.raises(dx.UnsupportedCombination, match="'by ward': there is a form for each"):
            plan_quantiles(metric, asked, forms=wrong)
    with pytest.raises(dx.UnsupportedCombination, match="'form' is one of transport, laplace; found 'best'"):
        plan_quantiles(metric, asked, forms=[["best"], ["transport"], ["laplace"] * 3])


def test_files_in_answers_out(policy, tmp_path):
    (tmp_path / "q.yaml").write_text("queries:\n  - median: age\n")
    release = dx.compile_and_release(
        policy, histogram(policy, 100), tmp_path / "q.yaml", ledger=":memory:", spend="1/2", records=100
    )
    assert release["median age"].rank == 50
    with pytest.raises(dx.UnsupportedCombination, match="a plan of quantiles heeds"):
        dx.compile_and_release(
            policy, histogram(policy, 9), tmp_path / "q.yaml", ledger=":memory:", spend=1, objective="mse"
        )
