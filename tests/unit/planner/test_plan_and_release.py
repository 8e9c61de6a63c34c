from __future__ import annotations

import json
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.errors import (
    BudgetExceeded,
    DataError,
    LedgerError,
    TooLarge,
    UnsupportedCombination,
    WrongArgument,
)
from dxgeom.mechanisms.linear.laplace import GAP
from dxgeom.numeric.qhull import HullLimits
from dxgeom.planner.candidates import Kind, names
from dxgeom.planner.choose import plan as choose
from dxgeom.policy.policy import parse_policy


def distances(count, seed=0):
    points = np.random.default_rng(seed).random((count, 2)) * 10
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))


def random_queries(count, size, seed=0):
    matrix = np.random.default_rng(seed).random((count, size))
    return dx.LinearQueries.from_matrix([f"q{k}" for k in range(count)], matrix)


@pytest.fixture
def plan():
    return dx.plan(dx.verify_metric(distances(12)), random_queries(3, 12))


ALWAYS_BUILT = names(Kind.SHAPE, Kind.PURE, Kind.ORDINARY)
COUNTS = np.arange(12)
POLICY = """
policy: two attributes
universe:
  attributes:
    x: {x}
    y: {y}
rules:
  - change: x
    epsilon: 0.01
  - change: y
    epsilon: 5
"""


def test_the_chosen_mechanism_is_the_best_candidate(plan):
    predicted = {candidate.name: candidate.predicted_mse for candidate in plan.candidates}
    assert set(predicted) == set(ALWAYS_BUILT)
    assert plan.predicted_mse == min(predicted.values()) == predicted["hull"]
    assert predicted[plan.mechanism.name] == plan.predicted_mse
    assert plan.lower_bound < plan.predicted_mse < predicted["epsilon-dp"]


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(3, 9))
@example(25026, 4, 5)  # weights of a wide map at which an inverse loses its sign
def test_auto_is_never_worse_than_any_candidate_and_never_below_the_bound(seed, count, size):
    chosen = dx.plan(dx.verify_metric(distances(size, seed)), random_queries(count, size, seed))
    for candidate in chosen.candidates:
        # Among equals, up to the duality gap of the scales, the simplest is taken.
        assert candidate.predicted_mse is None or chosen.predicted_mse <= candidate.predicted_mse * (1 + 2 * GAP)
    assert chosen.lower_bound <= chosen.predicted_mse * (1 + 1e-9)


@pytest.mark.long
@pytest.mark.parametrize("count", [8, 9])
def test_auto_is_never_worse_than_any_candidate_beyond_the_hull_either(count):
    metric = dx.verify_metric(distances(30, count))
    chosen = choose(metric, random_queries(count, 30, count), search=dx.Search(coarse_facets=2_500), thorough=True)
    losses = {candidate.name: candidate.loss for candidate in chosen.candidates}
    assert losses["hull"] is None
    assert losses["coarse-hull"] is not None
    # Among equals, up to the duality gap of the scales, the simplest is taken.
    assert chosen.lower_bound < chosen.loss <= min(filter(None, losses.values())) * (1 + 2 * GAP)


def test_facets_are_given_for_error_as_the_caller_likes():
    metric, queries = dx.verify_metric(distances(30, 8)), random_queries(8, 30, 8)
    coarse, fine = (
        choose(metric, queries, mechanism="coarse-hull", search=dx.Search(coarse_facets=facets))
        for facets in (400, 3_000)
    )
    assert fine.predicted_mse < coarse.predicted_mse
    rows = [next(row for row in each.candidates if row.name == "coarse-hull") for each in (coarse, fine)]
    facets = [int(row.build_cost.split()[0].replace(",", "")) for row in rows]
    assert facets[0] <= 400 < facets[1] <= 3_000
    assert re.search(rf"coarse-hull +total MSE {fine.predicted_mse:<12.6g}", "\n".join(fine.lines()))
    assert json.loads(fine.to_json())["mechanism"] == "coarse-hull"
    assert fine.fingerprint != coarse.fingerprint
    with pytest.raises(TooLarge, match="at least 256 facets"):
        choose(metric, queries, mechanism="coarse-hull", search=dx.Search(coarse_facets=255))


def test_a_release_of_a_coarsened_hull_is_near_the_truth():
    queries = random_queries(8, 30, 8)
    chosen = choose(
        dx.verify_metric(distances(30, 8)), queries, mechanism="coarse-hull", search=dx.Search(coarse_facets=400)
    )
    release = chosen.release(np.arange(30), ledger=":memory:", spend="1/2")
    assert np.all(np.abs(release.values - queries.matrix @ np.arange(30)) < 60 * release.rmse)


@pytest.mark.parametrize("name", ALWAYS_BUILT)
def test_a_named_mechanism_is_taken_whatever_its_error(name):
    chosen = dx.plan(dx.verify_metric(distances(12)), random_queries(3, 12), mechanism=name)
    assert chosen.mechanism.name == name


@pytest.mark.parametrize("choice", [{"mechanism": "magic"}, {"objective": "happiness"}])
def test_unknown_choices_are_refused_with_the_known_ones(choice):
    with pytest.raises(UnsupportedCombination, match="known are"):
        dx.plan(dx.verify_metric(distances(5)), random_queries(1, 5), **choice)


def test_planning_tells_what_it_builds_and_can_be_ended_there():
    metric, queries = dx.verify_metric(distances(40)), random_queries(4, 40)
    told = []
    chosen = choose(metric, queries, progress=told.append, thorough=True)
    # A search says how far it is below its candidate's name.
    begun = [re.split("[,;:]", what)[0] for what in told if not re.match("hull: |gaussian-with-jumps: round ", what)]
    assert [what for what in begun if what in ALWAYS_BUILT] == list(ALWAYS_BUILT)
    facets = [what for what in told if what.startswith("hull: ")]
    assert facets
    assert all(what.endswith(" facets so far") for what in facets)
    assert chosen.fingerprint == choose(metric, queries, thorough=True).fingerprint

    class EndOfWork(Exception):
        pass

    def ended(what):
        if what in facets:
            raise EndOfWork

    with pytest.raises(EndOfWork):
        choose(metric, queries, progress=ended, thorough=True)


def test_a_hull_beyond_its_budget_is_skipped_with_the_reason():
    metric, queries = dx.verify_metric(distances(40)), random_queries(5, 40)
    limits = HullLimits(facets=10)
    chosen = choose(metric, queries, search=dx.Search(hull_limits=limits))
    skipped = next(candidate for candidate in chosen.candidates if candidate.name == "hull")
    assert skipped.predicted_mse is None
    assert "10 facets" in skipped.reason
    assert chosen.mechanism.name != "hull"
    assert skipped.reason in "\n".join(chosen.lines())
    with pytest.raises(TooLarge, match="10 facets"):
        choose(metric, queries, mechanism="hull", search=dx.Search(hull_limits=limits))


def test_more_than_seven_dimensions_are_left_to_other_shapes_than_the_hull():
    chosen = dx.plan(dx.verify_metric(distances(12)), random_queries(8, 12))
    assert chosen.mechanism.name in ("rotated-laplace", "coarse-hull", "block-hulls")
    assert any("7 dimensions" in candidate.reason for candidate in chosen.candidates)


def test_a_plan_is_deterministic_and_hash_identified():
    first, second = (dx.plan(dx.verify_metric(distances(12)), random_queries(3, 12)) for _ in range(2))
    assert first.fingerprint == second.fingerprint
    assert first.to_json() == second.to_json()
    other = dx.plan(dx.verify_metric(distances(12, 1)), random_queries(3, 12))
    assert other.fingerprint != first.fingerprint
    assert json.loads(first.to_json())["mechanism"] == first.mechanism.name


def test_a_plan_survives_pickling(plan):
    again = pickle.loads(pickle.dumps(plan))
    assert again.fingerprint == plan.fingerprint
    assert np.array_equal(again.half_widths(), plan.half_widths())


def test_half_the_spend_doubles_the_error(plan):
    assert np.allclose(plan.rmse("1/2"), 2 * plan.rmse(), rtol=1e-6)
    assert np.allclose(plan.half_widths(0.9, 0.5), 2 * plan.half_widths(0.9), rtol=1e-6)


def test_rounding_to_the_lattice_costs_less_than_a_thousandth(plan):
    assert 0 < plan.mechanism.rounding_share < 1e-3


def test_a_release_is_near_the_truth_and_says_what_it_cost(plan):
    release = plan.release(COUNTS, ledger=":memory:", spend=0.25)
    assert release.spent == Fraction(1, 4)
    assert release.remaining == Fraction(3, 4)
    assert release.records == COUNTS.sum()
    truth = plan.queries.matrix @ COUNTS
    assert np.all(np.abs(release.values - truth) < 60 * release.rmse)
    low, high = release.intervals(0.95).T
    assert np.all(low < release.values)
    assert np.allclose(high - low, 2 * plan.half_widths(0.95, 0.25, release.records))
    written = json.loads(release.to_json())
    assert [answer["value"] for answer in written["answers"]] == release.values.tolist()
    assert written["spent"] == "1/4"
    assert written["secure_randomness"] is True


def test_two_releases_differ_unless_a_test_seed_is_given(plan):
    fresh = [plan.release(COUNTS, ledger=":memory:", spend=1).exact_values for _ in range(2)]
    assert fresh[0] != fresh[1]
    seeded = [plan.release(COUNTS, ledger=":memory:", spend=1, insecure_test_seed=3) for _ in range(2)]
    assert seeded[0].exact_values == seeded[1].exact_values
    assert not seeded[0].secure


def test_released_values_lie_on_the_lattice(plan):
    release = plan.release(COUNTS, ledger=":memory:", spend=1)
    for value, step in zip(release.exact_values, plan.mechanism.sensitivity.queries.steps, strict=True):
        assert (value / step).denominator == 1


def test_the_budget_holds_over_releases_and_processes_of_one_ledger(plan, tmp_path):
    path = tmp_path / "privacy.db"
    for _ in range(10):
        plan.release(COUNTS, ledger=str(path), spend=0.1)
    with pytest.raises(BudgetExceeded):
        plan.release(COUNTS, ledger=str(path), spend=0.1)


def test_a_ledger_of_another_policy_is_refused(plan, tmp_path):
    path = tmp_path / "privacy.db"
    plan.release(COUNTS, ledger=str(path), spend=0.1)
    other = dx.plan(dx.verify_metric(distances(12, 5)), random_queries(3, 12))
    with pytest.raises(LedgerError):
        other.release(COUNTS, ledger=str(path), spend=0.1)
    metric = plan.metric
    with (
        dx.Ledger.open(
            path, policy_fingerprint=metric.fingerprint, policy_name=metric.title, budget=metric.budget
        ) as ledger,
    ):
        assert plan.release(COUNTS, ledger=ledger, spend=0.1).remaining == Fraction(4, 5)
        with pytest.raises(LedgerError, match="another policy"):
            other.release(COUNTS, ledger=ledger, spend=0.1)
        assert ledger.remaining() == Fraction(4, 5)


def test_an_open_ledger_with_a_larger_budget_is_refused(plan):
    metric = plan.metric
    with dx.Ledger.open(
        ":memory:", policy_fingerprint=metric.fingerprint, policy_name=metric.title, budget=Fraction(1000)
    ) as generous:
        with pytest.raises(LedgerError, match="budget"):
            plan.release(COUNTS, ledger=generous, spend=900)
        assert generous.spent() == 0


def test_queries_about_another_universe_of_the_same_size_are_refused():
    """Six records either way, but the sensitive attribute is another one: 500 times too little noise if it passed."""
    first = parse_policy(POLICY.format(x="[a, b]", y="[p, q, r]"))
    second = parse_policy(POLICY.format(x="[a, b, c]", y="[p, q]"))
    queries = dx.LinearQueries.from_matrix(["q"], [[0, 1, 0, 0, 1, 0]], second.universe)
    with pytest.raises(UnsupportedCombination, match="different universes"):
        dx.plan(first.compile(), queries)
    again = parse_policy(POLICY.format(x="[a, b, c]", y="[p, q]"))
    assert dx.plan(again.compile(), queries).predicted_mse > 0


def test_records_at_distance_zero_that_queries_treat_alike_are_no_obstacle():
    metric = dx.verify_metric([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    chosen = dx.plan(metric, dx.LinearQueries.from_matrix(["a"], [[0, 0, 1]]))
    assert chosen.predicted_mse == pytest.approx(2, rel=1e-2)
    assert all(
        candidate.predicted_mse is not None or "one dimension" in candidate.reason for candidate in chosen.candidates
    )


@pytest.mark.parametrize("epsilon", [1e-3, 5e-10, 1e-12, 1e-20])
def test_a_count_stays_a_count_however_small_epsilon_is(epsilon):
    chosen = dx.plan(dx.verify_metric([[0, epsilon], [epsilon, 0]]), dx.LinearQueries.from_matrix(["a"], [[0, 1]]))
    assert chosen.predicted_mse == pytest.approx(2 / epsilon**2, rel=1e-2)
    assert not any(chosen.mechanism.sensitivity.queries.weight_errors)


@pytest.mark.parametrize("closeness", [1e-3, 1e-5, 1e-7])
def test_predictions_stay_above_the_bound_for_very_thin_bodies(closeness):
    """Two nearly coincident records next to an ordinary pair: answers follow from thin differences."""
    inf = np.inf
    metric = dx.verify_metric([[0, closeness, inf, inf], [closeness, 0, inf, inf], [inf, inf, 0, 1], [inf, inf, 1, 0]])
    queries = dx.LinearQueries.from_matrix(["a", "b", "c"], [[0, 0, 0, 10**6], [0, 3, 0, 3], [0, 2, 0, -1]])
    chosen = dx.plan(metric, queries)
    assert chosen.predicted_mse >= chosen.lower_bound * (1 - 1e-9)
    draws = chosen.mechanism.law.simulate(200_000, np.random.default_rng(0)) @ chosen.mechanism.float_mixing.T
    assert np.allclose((draws**2).mean(axis=0), chosen.mechanism.variances(), rtol=0.05)


@pytest.mark.parametrize("distance", [1e-300, 1e300, 1e308])
def test_distances_at_the_ends_of_float64_give_an_answer_or_a_clear_refusal(distance):
    metric = dx.verify_metric([[0, distance], [distance, 0]])
    with pytest.raises(TooLarge):
        dx.plan(metric, dx.LinearQueries.from_matrix(["a"], [[0, 1]]))


@pytest.mark.parametrize(
    "counts",
    [np.arange(11), -np.arange(12), np.arange(12) / 2, np.full(12, np.nan), np.arange(12).reshape(3, 4), [1, 2, "x"]],
)
def test_a_bad_histogram_is_refused_before_anything_is_spent(plan, tmp_path, counts):
    path = tmp_path / "privacy.db"
    with pytest.raises(DataError):
        plan.release(counts, ledger=str(path), spend=0.1)
    assert not path.exists()


def test_a_spend_too_small_for_its_noise_is_refused_before_it_is_charged(plan, tmp_path):
    path = tmp_path / "privacy.db"
    with pytest.raises(TooLarge, match="64-bit"):
        plan.release(COUNTS, ledger=str(path), spend="1e-20")
    assert not path.exists()


def test_a_table_needs_a_universe(plan, tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("a\n1\n")
    with pytest.raises(UnsupportedCombination, match="universe"):
        plan.release(str(path), ledger=":memory:", spend=1)


def test_importing_the_package_is_fast_and_light():
    import subprocess
    import sys

    code = (
        "import sys, dxgeom; "
        "heavy = {'numpy', 'scipy', 'numba', 'ibis', 'duckdb', 'pydantic', 'matplotlib', 'flint', 'typer'}; "
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there():
    for name in dx.__all__:
        assert getattr(dx, name) is not None
    with pytest.raises(AttributeError, match="no 'nothing'"):
        _ = dx.nothing


def test_candidates_tell_their_worst_query_and_what_they_take_to_set_up(plan):
    for candidate in plan.candidates:
        written = candidate.as_dict()
        assert max(candidate.per_query) == candidate.per_query[written["worst_query"]]
        assert "seconds" not in written
        assert candidate.seconds > 0
    costs = {candidate.name: candidate.build_cost for candidate in plan.candidates}
    differences = len(plan.mechanism.sensitivity.bounds)
    assert costs["laplace"] == costs["epsilon-dp"] == f"3 scales from {differences} differences"
    assert costs["hull"] == f"{plan.mechanism.law.body.facets} facets around {differences} differences"
    told = "\n".join(plan.lines())
    assert all(f"total MSE {candidate.predicted_mse:.6g}" in told for candidate in plan.candidates)


def test_a_plan_says_what_ordinary_privacy_would_have_cost(plan):
    ordinary = dx.plan(plan.metric, plan.queries, mechanism="epsilon-dp")
    assert plan.epsilon_dp_ratio == pytest.approx(ordinary.predicted_mse / plan.predicted_mse)
    assert ordinary.epsilon_dp_ratio == 1
    assert json.loads(plan.to_json())["epsilon_dp_ratio"] == plan.epsilon_dp_ratio
    assert f"{plan.epsilon_dp_ratio:.3g} times" in "\n".join(plan.lines())
    nothing = dx.plan(plan.metric, dx.LinearQueries.from_matrix(["all"], [[1] * 12]))
    assert nothing.epsilon_dp_ratio is None


METRIC = dx.verify_metric([[0, 1], [1, 0]])
QUERIES = dx.LinearQueries.from_matrix(list("a"), [[0, 1]])


@pytest.mark.parametrize(
    ("metric", "queries", "words"),
    [
        (QUERIES, METRIC, "the metric comes first: 'metric' and 'queries' are swapped"),
        ("policy.yaml", QUERIES, "'metric' is of type VerifiedMetric; found one of type str: compile a policy"),
        ([[0, 1], [1]], QUERIES, "found one of type list: .* dx.verify_metric"),
        ({"policy": "p"}, QUERIES, "found one of type dict"),
        (METRIC, "queries.yaml", "'queries' is of type LinearQueries; found one of type str: load them"),
        (METRIC, ["a count"], "found one of type list"),
        (METRIC, None, "found None"),
    ],
)
def test_an_argument_of_the_wrong_kind_gets_a_sentence(metric, queries, words):
    with pytest.raises(WrongArgument, match=words):
        dx.plan(metric, queries)


def test_importance_and_errors_are_lists():
    for wrong in (3, {"a": 1}):
        with pytest.raises(WrongArgument, match="for each query"):
            dx.plan(METRIC, QUERIES, importance=wrong)
    with pytest.raises(WrongArgument, match="for each query"):
        dx.plan(METRIC, QUERIES, errors=3)


def test_the_one_call_says_what_it_takes():
    for policy, queries, words in (
        (METRIC, "q.yaml", "'policy'"),
        (None, "q.yaml", "'policy'"),
        ("p", [1], "'queries'"),
    ):
        with pytest.raises(WrongArgument, match=words):
            dx.compile_and_release(policy, "data.csv", queries, ledger=":memory:", spend=1)


@pytest.mark.parametrize(
    "option",
    [
        {"records": "3"},
        {"records": 1.5},
        {"hull_limits": 3},
        {"published": "yes"},
        {"coarse_facets": None},
        {"progress": "loudly"},
    ],
)
def test_an_option_of_the_wrong_kind_gets_a_sentence(option):
    with pytest.raises(WrongArgument, match=f"'{next(iter(option))}' is "):
        dx.plan(METRIC, QUERIES, **option)


@pytest.mark.parametrize("records", [0, -5, 2.5, "x", True, 2**63])
def test_what_is_no_number_of_records_is_told_and_makes_no_bar_narrower(plan, records):
    for asked in (
        lambda: plan.half_widths(records=records),
        lambda: plan.useless_answers(records=records),
        lambda: plan.rehearse(spend=1, records=records),
    ):
        with pytest.raises(WrongArgument, match="'records' is"):
            asked()


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ({"id": 3}, "id"),
        ({"purpose": 3}, "purpose"),
        ({"allotment": "nobody's"}, "allotment"),
        ({"allotment": 3}, "allotment"),
        ({"ledger": 3}, "ledger"),
        ({"spend": 50}, "budget"),
        ({"table": "nowhere.csv"}, "nowhere"),
    ],
)
def test_what_no_plan_would_mend_is_refused_before_it_is_planned(monkeypatch, words, what):
    monkeypatch.setattr("dxgeom.pipeline.plan", lambda *_, **__: pytest.fail("planned"))
    policy = dx.Policy.from_dict(
        {"policy": "p", "universe": {"attributes": {"a": ["x", "y"]}}, "rules": [{"change": "a", "epsilon": 1}]}
    )
    asked = dx.queries_from_dict({"queries": [{"count": "a == 'x'"}]}, policy)
    said = {"ledger": ":memory:", "spend": 1, "table": {"a": ["x"]}} | words
    with pytest.raises(dx.DxgeomError, match=what):
        dx.compile_and_release(policy, said.pop("table"), asked, **said)
