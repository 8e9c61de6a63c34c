"""A record and its absence: the number of records is private, and nothing that is released depends on it."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.audit.claims import claims_of
from dxgeom.audit.policy_audit import audit_policy
from dxgeom.cli.main import app
from dxgeom.errors import CertificateRefused, DataError, QueryError, UnsupportedCombination
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.verification import verify
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.queries.queries_file import parse_queries

HEAD = "policy: clinic\nuniverse:\n  attributes:\n    sex: [F, M]\n    age: {range: [0, 40], step: 10}\n"
SUMS = "- {change: sex, epsilon: 0.3}\n- {change: age, epsilon: 1, per: 10}\n"
QUERIES = "queries:\n- count: 'true'\n- count: sex == 'F'\n- sum: age\n"


def policy(presence: str = "0.5", rules: str = SUMS, tail: str = "") -> Policy:
    return parse_policy(f"{HEAD}rules:\n{rules}- {{presence: true, epsilon: {presence}}}\n{tail}")


def test_absence_is_one_element_more_at_epsilon_from_everybody_and_no_two_are_farther_apart_than_twice_that():
    metric = policy().compile()
    assert (metric.size, metric.absent) == (11, 10)
    everyone = np.arange(11)
    table = metric.distance(everyone[:, None], everyone[None, :])
    assert np.all(table[10, :10] == 0.5)
    plain = parse_policy(f"{HEAD}rules:\n{SUMS}").compile().distance(everyone[:10, None], everyone[None, :10])
    assert np.array_equal(table[:10, :10], np.minimum(plain, 1.0))


def test_the_universe_knows_the_absent_record():
    universe = policy().universe
    assert (universe.absent, universe.record_types, universe.size) == (10, 10, 11)
    assert universe.record(10) == {}
    assert [universe.index(universe.record(i)) for i in range(10)] == list(range(10))
    assert universe.encode({"sex": ["F", "x"], "age": [5, 5]}).tolist() == [0, -1]
    assert not universe.lists_the_same_records(parse_policy(f"{HEAD}rules:\n{SUMS}").universe)
    with pytest.raises(IndexError):
        universe.record(11)


def test_the_smallest_presence_counts_and_the_fingerprint_knows_it():
    twice = policy("0.5", SUMS + "- {presence: true, epsilon: 0.2}\n")
    assert twice.description.presence == Fraction(1, 5)
    assert len({policy().fingerprint, policy("0.6").fingerprint, twice.fingerprint}) == 3
    again = parse_policy(policy().to_yaml())
    assert (again.fingerprint, again.to_yaml()) == (policy().fingerprint, policy().to_yaml())
    data = {"policy": "p", "universe": {"attributes": {"a": ["x"]}}, "rules": [{"presence": True, "epsilon": 1}]}
    assert dx.Policy.from_dict(data).universe.absent == 1


def test_presence_alone_protects_every_pair():
    found = policy(rules="")
    assert found.unprotected == ()
    assert found.compile().distance(0, 9) == 1.0


def test_a_query_for_everybody_needs_noise_and_every_query_the_noise_of_its_own_size():
    found = policy()
    queries = parse_queries(QUERIES, found)
    assert queries.numerators[:, 10].tolist() == [0, 0, 0]
    plan = dx.plan(found.compile(), queries, mechanism="laplace")
    each = plan.mechanism.sensitivity.of_each_query * plan.mechanism.sensitivity.queries.float_steps
    # Everybody: 1/0.5. Women: 1/0.3 against men. Years: 10 per 1.0 and 40 against nobody at 0.5.
    assert each == pytest.approx([2, 1 / 0.3, 80])


def test_a_stated_number_of_records_is_refused_and_a_mean_divides_by_their_count():
    found = policy()
    asked = parse_queries("queries: [{mean: age}]", found)
    assert asked.names == ("sum of age", "records") and asked.ratios[0].name == "mean age"
    assert asked.records is None
    for text, given, line in (
        ("records: 20\nqueries: [{sum: age}]", None, 1),
        ("queries: [{sum: age}]", 20, 1),
    ):
        with pytest.raises(QueryError) as caught:
            parse_queries(text, found, given)
        assert [(one.code, one.line) for one in caught.value.diagnostics] == [("DX215", line)]


def test_a_matrix_may_leave_out_absence_but_never_weigh_it(tmp_path: Path):
    found = policy()
    made = dx.LinearQueries.from_matrix(["a"], np.arange(10)[None, :], found.universe)
    assert made.numerators.tolist() == [[*range(10), 0]]
    assert dx.LinearQueries.from_matrix(["a"], [[*range(10), 0]], found.universe).fingerprint == made.fingerprint
    with pytest.raises(UnsupportedCombination, match="the weight 0"):
        dx.LinearQueries.from_matrix(["a"], np.ones((1, 11), dtype=int), found.universe)
    with pytest.raises(UnsupportedCombination, match="the weight 0"):
        dx.plan(found.compile(), dx.LinearQueries.from_matrix(["a"], np.ones((1, 11), dtype=int)))
    bare = PresenceMetric(found.metric.inner, Fraction(1))
    with pytest.raises(UnsupportedCombination, match="the weight 0"):
        dx.plan(
            verify(bare, title="t", fingerprint="f", budget=Fraction(1)),
            dx.LinearQueries.from_matrix(["a"], np.ones((1, 11), dtype=int)),
        )
    (tmp_path / "weights.csv").write_text("w\n" + "".join(f"{k}\n" for k in range(10)))
    assert parse_queries("queries: [{matrix: weights.csv}]", found, folder=tmp_path).numerators[0, 10] == 0


def test_a_bare_matrix_of_distances_takes_the_absent_record_from_the_queries():
    found = policy()
    everyone = np.arange(11)
    bare = dx.verify_metric(found.compile().distance(everyone[:, None], everyone[None, :]))
    queries = parse_queries(QUERIES, found)
    release = dx.plan(bare, queries).release(np.ones(10, dtype=int), ledger=":memory:", spend=1, insecure_test_seed=1)
    assert (release.records, release.dropped) == (None, None)
    with pytest.raises(UnsupportedCombination, match="does not fit"):
        dx.verify_metric(np.zeros((2, 2)), universe=found.universe)


def test_weights_that_would_be_rounded_are_refused_because_their_error_tells_the_number_of_records():
    found = policy()
    fine = dx.LinearQueries.from_matrix(["a"], np.random.default_rng(1).random((1, 10)), found.universe)
    with pytest.raises(UnsupportedCombination, match="keeps private"):
        dx.plan(found.compile(), fine)


def test_a_metric_and_a_universe_agree_about_absence():
    found, public = policy(), parse_policy(f"{HEAD}rules:\n{SUMS}")
    with pytest.raises(UnsupportedCombination, match="does not fit"):
        verify(found.metric, title="t", fingerprint="f", budget=Fraction(1), universe=public.universe)
    with pytest.raises(UnsupportedCombination, match="must be the same"):
        dx.plan(found.compile(), parse_queries(QUERIES, public))


def released(found: Policy, table: object, **options: object) -> dict[str, object]:
    plan = dx.plan(found.compile(), parse_queries(QUERIES, found))
    release = plan.release(table, ledger=":memory:", spend=1, insecure_test_seed=3, **options)
    assert (release.records, release.dropped) == (None, None)
    return release.as_dict()


def test_a_release_tells_nothing_that_depends_on_the_number_of_records_but_its_noisy_answers(tmp_path: Path):
    found = policy()
    one, many = released(found, np.eye(10, dtype=int)[3]), released(found, 1000 * np.ones(10, dtype=int))
    for field in ("answers", "time"):
        widths = [
            [
                answer["interval"][1] - answer["interval"][0]
                for answer in release.get("answers", [])
                if answer["bias"]["rounding_per_record"] == "0"  # else the noisy count of everybody is in it
            ]
            for release in (one, many)
        ]
        assert one.pop(field) != many.pop(field) or field == "time"
        if field == "answers":
            assert np.allclose(*widths, rtol=1e-9)
    assert one == many
    (tmp_path / "some.csv").write_text("sex,age\nF,5\nX,5\n")
    (tmp_path / "none.csv").write_text("sex,age\nX,5\n")
    (tmp_path / "empty.csv").write_text("sex,age\n")
    for name in ("some", "none", "empty"):
        assert released(found, str(tmp_path / f"{name}.csv"), outside="drop")["records"] is None
    assert released(found, str(tmp_path / "empty.csv"))["dropped_rows"] is None


def test_nobody_is_counted_as_absent():
    found = policy()
    with pytest.raises(DataError, match="absent record"):
        released(found, np.ones(11, dtype=int))
    assert released(found, np.array([*range(10), 0]))["records"] is None
    with pytest.raises(DataError, match="shape"):
        released(found, np.ones(9, dtype=int))


def test_released_counts_with_presence_are_what_the_law_says():
    """Of 100 releases for 50 records the mean is off by seven standard errors with a chance below 1e-9 (Chernoff)."""
    found = policy()
    queries = parse_queries("queries:\n- count: 'true'\n", found)
    plan = dx.plan(found.compile(), queries)
    counts = np.full(10, 5)
    answers = [
        float(plan.release(counts, ledger=":memory:", spend=1, insecure_test_seed=k).exact_values[0])
        for k in range(100)
    ]
    assert abs(np.mean(answers) - 50) < 7 * plan.rmse()[0] / 10
    assert plan.rmse()[0] == pytest.approx(2 * 2**0.5, rel=1e-2)


def test_the_review_says_who_is_a_neighbour_and_how_absence_shortens():
    review = policy().review()
    assert any(
        "replaced by another, added or removed; the number of records is private" in one for one in review.lines()
    )
    assert review.rules[2].sentence == (
        "whether somebody has a record at all is told, whatever the record, with odds at most 1.65 to 1; "
        "and so any two records at most 2.72 to 1"
    )
    assert not review.rules[2].idle
    (tightened,) = review.tightened
    assert (tightened.line, tightened.given, tightened.path[0]) == (8, 1.0, (9, "no record"))
    assert "→ no record (rule line 9) → " in str(tightened)


@pytest.mark.parametrize(
    ("rules", "redundant"),
    [
        (SUMS + "- {presence: true, epsilon: 0.7}\n", [False, False, True, False]),
        (SUMS + "- {between: everything, epsilon: 1.1}\n", [False, False, True, False]),
        (SUMS + "- {between: everything, epsilon: 0.9}\n", [False, True, False, False]),
        ("- {change: sex, epsilon: 1.1}\n", [True, False]),
    ],
)
def test_rules_that_absence_makes_redundant_are_found_and_the_metric_is_the_same_without_them(rules, redundant):
    found = policy(rules=rules)
    assert [rule.redundant for rule in found.review().rules] == redundant
    kept = [line for line, idle in zip(rules.splitlines(True), redundant, strict=False) if not idle]
    everyone = np.arange(11)
    one, other = (
        each.compile().distance(everyone[:, None], everyone[None, :]) for each in (found, policy(rules="".join(kept)))
    )
    assert np.array_equal(one, other)


def test_a_word_without_letters_is_not_the_absent_record():
    found = dx.Policy.from_dict(
        {
            "policy": "p",
            "universe": {"attributes": {"a": ["", "x"]}},
            "rules": [{"presence": True, "epsilon": 1}, {"between": "everything", "epsilon": 1}],
        }
    )
    assert [(hop.start, hop.end) for hop in found.explain(0, 1).hops] == [("", "x")]


def test_an_explanation_goes_through_absence_or_ends_there():
    found = policy()
    told = found.explain({"age": 0}, {"age": 40})
    assert [(hop.start, hop.end, hop.bound) for hop in told.hops] == [
        ("0", "no record", Fraction(1, 2)),
        ("no record", "40", Fraction(1, 2)),
    ]
    assert told.lines()[-1].endswith("one attribute after another: 4")
    gone = found.explain({"age": 0}, "absent")
    assert (gone.distance, len(gone.hops), gone.lines()[1]) == (Fraction(1, 2), 1, "no record")
    assert found.explain(10, 10).distance == 0
    with pytest.raises(DataError, match="no 'presence' rule"):
        parse_policy(f"{HEAD}rules:\n{SUMS}").explain(0, "absent")


@pytest.mark.parametrize("ages", ["{range: [0, 40], step: 10}", "{range: [0, 400], step: 1}"])
def test_the_audit_derives_distances_to_the_absent_record_too(ages):
    text = f"{HEAD}rules:\n{SUMS}- {{presence: true, epsilon: 0.5}}\n".replace("{range: [0, 40], step: 10}", ages)
    found = parse_policy(text)
    claims = json.loads(json.dumps(claims_of(found.compile(), "policy")))
    assert "re-derived" in audit_policy(claims, found).lines[1]
    absent = [row for row in claims["distances"] if row[1] == found.universe.absent]
    assert absent
    absent[0][2] *= 1.001
    with pytest.raises(CertificateRefused, match="raised"):
        audit_policy(claims, found)


def test_from_the_command_line_the_number_of_records_stays_private(tmp_path: Path):
    (tmp_path / "clinic.yaml").write_text(policy().to_yaml())
    (tmp_path / "queries.yaml").write_text(QUERIES)
    (tmp_path / "clinic.csv").write_text("sex,age\n" + "F,5\nM,35\n" * 39 + "X,1\n")
    files = [str(tmp_path / name) for name in ("clinic.yaml", "clinic.csv", "queries.yaml")]
    result = CliRunner().invoke(
        app, ["release", *files, "--ledger", str(tmp_path / "l.db"), "--spend", "0.1", "--drop-outside"]
    )
    assert result.exit_code == 0, result.output
    assert "the number of people is private" in result.stdout
    assert "78" not in result.stdout
    assert "left out" not in result.stdout
    told = CliRunner().invoke(app, ["explain", files[0], "sex=F,age=0", "absent"])
    assert "0.5 by" in told.stdout
