"""A table that lists the possible records."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.audit.claims import claims_of
from dxgeom.audit.policy_audit import audit_policy
from dxgeom.cli.main import app
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import CertificateRefused, DataError, PolicyError, TooLarge, UnsupportedCombination
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.queries.queries_file import parse_queries
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.universe import Universe

RECORDS = "sex,age,job\nF,5,none\nF,25,nurse\nM,25,nurse\nM,45,nurse\nM,45,clerk\nF,45,clerk\n"
HEAD = "policy: staff\nuniverse:\n  table: records.csv\n  attributes:\n    age: {range: [0, 60], step: 5}\n"
RULES = "rules:\n- {change: [sex, job], epsilon: 0.5}\n- {change: age, epsilon: 1, per: 20}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "records.csv").write_text(RECORDS)
    return tmp_path


def policy(folder: Path, rules: str = RULES, tail: str = "unconnected: allow\n") -> Policy:
    return parse_policy(HEAD + rules + tail, folder=folder)


def test_record_types_are_the_rows_in_the_order_of_the_table(folder):
    universe = policy(folder).universe
    assert (universe.size, universe.shape, universe.names) == (6, (2, 13, 3), ("sex", "age", "job"))
    assert universe.record(3) == {"sex": "M", "age": "45", "job": "nurse"}
    assert [universe.index(universe.record(k) | {"age": int(universe.record(k)["age"])}) for k in range(6)] == [
        *range(6)
    ]
    columns = {"sex": ["F", "M", "M", "X"], "age": [26.5, 26, 5, 5], "job": ["nurse", "clerk", "nurse", "none"]}
    assert universe.encode(columns).tolist() == [1, -1, -1, -1]


def test_paths_go_through_listed_records_only(folder):
    metric = policy(folder).compile()
    assert type(metric.metric) is GraphMetric
    # F 25 nurse – M 25 nurse – M 45 nurse – M 45 clerk – F 45 clerk: the way by F 45 nurse would be 1.5 long.
    assert metric.distance(1, 5) == pytest.approx(0.5 + 1 + 0.5 + 0.5)
    assert metric.distance(0, 1) == np.inf


def test_records_that_no_chain_joins_are_named(folder):
    with pytest.raises(PolicyError) as caught:
        policy(folder, tail="")
    (mistake,) = caught.value.diagnostics
    assert (mistake.code, mistake.line, mistake.column) == ("DX155", 3, 3)
    assert mistake.message.endswith(
        "2 groups of listed records that may be told apart exactly: 5 with 'F, 25, nurse', 1 with 'F, 5, none'"
    )
    assert policy(folder, RULES + "- {presence: true, epsilon: 3}\n", "").unprotected == ()
    assert policy(folder, RULES + "- {between: everything, epsilon: 3}\n", "").compile().distance(0, 1) == 3


def test_a_rule_about_everything_alone_is_the_discrete_metric(folder):
    found = policy(folder, "rules:\n- {between: everything, epsilon: 0.7}\n", "")
    assert found.metric == DiscreteMetric(6, Fraction(7, 10))
    assert found.review().attributes[0].diameter == pytest.approx(0.7)


def test_the_fingerprint_knows_which_records_are_listed_and_text_brings_them_back(folder):
    found = policy(folder)
    again = parse_policy(found.to_yaml(), folder=folder)
    assert (again.fingerprint, again.to_yaml()) == (found.fingerprint, found.to_yaml())
    assert "table: records.csv" in found.to_yaml()
    (folder / "records.csv").write_text(RECORDS.replace("F,5,none\n", ""))
    fewer = policy(folder)
    assert fewer.fingerprint != found.fingerprint
    assert not fewer.universe.lists_the_same_records(found.universe)


def test_cells_of_declared_columns_are_read_like_data(folder):
    (folder / "records.csv").write_text("sex,age,job\nF, 7.5 ,x\nF,1e1,x\n")
    assert [policy(folder).universe.record(k)["age"] for k in range(2)] == ["5", "10"]


def test_queries_select_listed_records(folder):
    found = policy(folder)
    text = (
        "queries:\n- count: sex == 'M' and age >= 25\n- count: not (job == 'nurse' or age < 25)\n- sum: age\n"
        "  where: sex == 'F'\n- marginal: [sex, job]\n"
    )
    queries = parse_queries(text, found)
    assert queries.numerators[0].tolist() == [0, 0, 1, 1, 1, 0]
    assert queries.numerators[1].tolist() == [0, 0, 0, 0, 1, 1]
    assert (queries.numerators[2] * queries.units[2]).tolist() == [7.5, 27.5, 0, 0, 0, 47.5]
    assert queries.numerators[3:].sum(axis=0).tolist() == [1] * 6
    assert queries.count == 3 + 6
    plan = dx.plan(found.compile(), queries, mechanism="laplace")
    # The child of 5 is far from everybody, so nothing hides it; women are told from men by 0.5.
    steps = plan.mechanism.sensitivity.queries.float_steps
    assert (plan.mechanism.sensitivity.of_each_query * steps)[1] == pytest.approx(2)


def test_data_that_is_valid_in_every_column_but_not_listed_is_outside(folder):
    found = policy(folder)
    (folder / "data.csv").write_text("sex,age,job\nF,27,nurse\nM,27,nurse\nM,27,clerk\nX,5,none\n")
    with pytest.raises(DataError) as caught:
        histogram_of_table(folder / "data.csv", found.universe)
    assert "2 of 4 rows are outside" in str(caught.value)
    assert "data row 3 (line 4): each value exists, but the policy's table lists no such record" in str(caught.value)
    assert "data row 4 (line 5): sex is 'X', accepted are 'F', 'M'" in str(caught.value)
    kept = histogram_of_table(folder / "data.csv", found.universe, outside="drop")
    assert (kept.counts.tolist(), kept.dropped) == ([0, 1, 1, 0, 0, 0], 2)


def test_the_review_compares_records_and_says_that_only_listed_ones_count(folder):
    found = policy(folder, RULES + "- {change: job, epsilon: 2}\n- {change: age, epsilon: 3, within: 1}\n")
    review = found.review()
    assert [(one.name, one.values) for one in review.attributes] == [
        ("listed records", 6), ("sex", 2), ("age", 13), ("job", 3)
    ]  # fmt: skip
    assert [rule.idle for rule in review.rules] == [False, False, False, True]
    assert [rule.redundant for rule in review.rules] == [False, False, True, False]
    (tightened,) = review.tightened
    assert "for 1 pair of listed records, e.g. M, 45, nurse → M, 45, clerk (rule line 7)" in str(tightened)
    assert any("distances can be larger" in line for line in review.lines())
    assert review.unprotected[0].startswith("the rules leave 2 groups of listed records")
    assert json.loads(json.dumps(review.as_dict()))["record_types"] == 6
    assert [form.form for form in found.forms()] == ["listed pairs"] * 3 + ["graph"]


def test_explanations_speak_of_whole_records(folder):
    found = policy(folder, RULES + "- {presence: true, epsilon: 5}\n")
    told = found.explain({"sex": "F", "age": 25, "job": "nurse"}, 5)
    assert [(hop.attribute, hop.start, hop.end) for hop in told.hops] == [
        ("sex", "F", "M"), ("age", "25", "45"), ("job", "nurse", "clerk"), ("sex", "M", "F")
    ]  # fmt: skip
    assert told.distance == Fraction(5, 2)
    assert found.explain(0, 1).distance == 10
    for first, message in (
        ({"sex": "F"}, "does not say its age"),
        ({"sex": "F", "age": 5, "job": "nurse"}, "lists no record F, 5, nurse"),
        (7, "numbered from 0 to 6"),
    ):
        with pytest.raises(DataError, match=message):
            found.explain(first, 1)
    apart = policy(folder).explain(0, 1)
    assert apart.apart == ("age", "job")


def grid(rows: int, columns: int) -> str:
    return "x,y\n" + "".join(f"{(37 * k) % columns},{k % rows}\n" for k in range(rows * columns // 2))


@pytest.mark.parametrize("size", [(6, 7), (12, 13)])
def test_the_audit_derives_distances_over_listed_records_again(folder, size):
    (folder / "records.csv").write_text(grid(*size))
    text = (
        "policy: p\nuniverse:\n  table: records.csv\n  attributes: {x: {range: [0, 100], step: 1}}\nrules:\n"
        "- {change: x, epsilon: 0.1, per: 3}\n- {change: y, values: {1: 0.1}, otherwise: 2}\n"
        "- {presence: true, epsilon: 3}\n- {between: everything, epsilon: 2.5}\n"
    )
    found = parse_policy(text, folder=folder)
    claims = json.loads(json.dumps(claims_of(found.compile(), "policy")))
    assert len(audit_policy(claims, found).lines) == 2
    row = next(row for row in claims["distances"] if 0.5 < row[2] < 2)
    row[2] *= 1.0001
    with pytest.raises(CertificateRefused, match="raised"):
        audit_policy(claims, found)


def test_an_audit_of_a_table_too_large_is_refused_and_not_a_hang(folder):
    (folder / "records.csv").write_text("x,y\n" + "".join(f"{k % 400},{k // 400}\n" for k in range(399)))
    text = "policy: p\nuniverse: {table: records.csv, attributes: {x: {range: [0, 999], step: 1}}}\n"
    found = parse_policy(text + "rules: [{change: x, epsilon: 1, per: 1}]\n", folder=folder)
    with pytest.raises(UnsupportedCombination, match="steps between records"):
        audit_policy(json.loads(json.dumps(claims_of(found.compile(), "policy"))), found)


def test_a_long_table_on_a_line_takes_pairs_of_neighbours_only(folder):
    (folder / "records.csv").write_text("x\n" + "".join(f"{k}\n" for k in range(1, 20_000)))
    head = "policy: p\nuniverse: {table: records.csv, attributes: {x: {range: [0, 20000], step: 1}}}\n"
    begin = time.process_time()
    found = parse_policy(head + "rules: [{change: x, epsilon: 1, per: 10}]\n", folder=folder)
    assert found.metric.first.size == 19_998
    assert found.compile().distance(0, 19_998) == pytest.approx(1999.8)
    near = parse_policy(head + "rules: [{change: x, epsilon: 1, within: 3}]\n", folder=folder)
    assert near.metric.first.size == 3 * 19_999 - 6
    assert time.process_time() - begin < 30
    assert near.review().not_examined == ("listed records",)


@pytest.mark.parametrize("rule", ["epsilon: 1", "values: {7: 1}, otherwise: 2", "epsilon: 1, within: 2000"])
def test_too_many_pairs_of_listed_records_are_an_error_and_not_a_hang(folder, rule):
    (folder / "records.csv").write_text("x\n" + "".join(f"{k}\n" for k in range(1, 4000)))
    head = "policy: p\nuniverse: {table: records.csv, attributes: {x: {range: [0, 4000], step: 1}}}\n"
    with pytest.raises(PolicyError, match=r"DX138.*pairs"):
        parse_policy(head + f"rules: [{{change: x, {rule}}}]\n", folder=folder)


def test_edges_of_a_long_table_are_joined_without_comparing_all_pairs(folder):
    (folder / "records.csv").write_text("x,y\n" + "".join(f"v{k},{k % 2}\n" for k in range(1, 8000)) + "v1,0\n")
    (folder / "edges.csv").write_text("a,b\nv1,v2\nv1,v3\nv2,v4\n")
    head = "policy: p\nunconnected: allow\nuniverse: {table: records.csv}\n"
    found = parse_policy(head + "rules: [{change: x, secrets: {edges: edges.csv}, epsilon: 1}]\n", folder=folder)
    pairs = zip(found.metric.first.tolist(), found.metric.second.tolist(), strict=True)
    named = {frozenset(", ".join(found.universe.record(k).values()) for k in pair) for pair in pairs}
    assert named == {frozenset(pair) for pair in (("v1, 1", "v3, 1"), ("v1, 0", "v2, 0"), ("v2, 0", "v4, 0"))}


def test_columns_with_too_many_combinations_are_an_error(folder):
    names = [f"c{k}" for k in range(32)]
    rows = "".join(",".join([str(k)] * 32) + "\n" for k in range(8))
    (folder / "records.csv").write_text(",".join(names) + "\n" + rows)
    with pytest.raises(PolicyError, match=r"DX116.*combinations"):
        parse_policy(
            "policy: p\nuniverse: {table: records.csv}\nrules: [{between: everything, epsilon: 1}]\n", folder=folder
        )
    (folder / "records.csv").write_text(",".join([*names, "more"]) + "\n" + "a," * 32 + "a\n")
    with pytest.raises(PolicyError, match=r"DX116.*33 columns"):
        parse_policy(
            "policy: p\nuniverse: {table: records.csv}\nrules: [{between: everything, epsilon: 1}]\n", folder=folder
        )


def test_a_table_too_long_is_an_error_and_not_a_hang(folder):
    (folder / "records.csv").write_text("x\n" + "".join(f"{k}\n" for k in range(1_000_001)))
    with pytest.raises(PolicyError, match=r"DX115.*more than 1,000,000 rows"):
        parse_policy(
            "policy: p\nuniverse: {table: records.csv}\nrules: [{between: everything, epsilon: 1}]\n", folder=folder
        )


def test_a_link_out_of_the_folder_is_refused(folder):
    home = folder / "home"
    home.mkdir()
    (home / "link.csv").symlink_to(folder / "records.csv")
    with pytest.raises(PolicyError, match=r"DX114.*leaves the policy's folder"):
        parse_policy(
            "policy: p\nuniverse: {table: link.csv}\nrules: [{between: everything, epsilon: 1}]\n", folder=home
        )
    with pytest.raises(PolicyError, match=r"DX114.*has no folder"):
        parse_policy("policy: p\nuniverse: {table: link.csv}\nrules: [{between: everything, epsilon: 1}]\n")


def test_a_universe_lists_records_of_its_attributes_and_none_twice():
    letters = (CategoricalAttribute("a", ("x", "y", "z")),)
    for listed in ([], [0, 0], [3], [-1]):
        with pytest.raises(DataError):
            Universe(letters, listed=np.array(listed, dtype=np.int64))
    assert Universe(letters, listed=np.array([2, 0])).record(0) == {"a": "z"}
    many = CategoricalAttribute("b", tuple(map(str, range(2**16))))
    with pytest.raises(TooLarge):
        Universe((many,) * 4, listed=np.array([0]))


def test_answers_about_a_table_are_released_from_the_command_line(folder):
    (folder / "staff.yaml").write_text(policy(folder, RULES + "- {presence: true, epsilon: 1}\n", "").to_yaml())
    (folder / "queries.yaml").write_text("queries:\n- count: job == 'nurse'\n- sum: age\n  where: sex == 'M'\n")
    (folder / "staff.csv").write_text("sex,age,job\n" + "F,27,nurse\nM,45,clerk\n" * 20)
    files = [str(folder / name) for name in ("staff.yaml", "staff.csv", "queries.yaml")]
    options = ["--ledger", str(folder / "l.db"), "--spend", "1/2", "--format", "json"]
    result = CliRunner().invoke(app, ["release", *files, *options])
    assert result.exit_code == 0, result.output
    assert (json.loads(result.stdout)["records"], len(json.loads(result.stdout)["answers"])) == (None, 2)
    check = CliRunner().invoke(app, ["check", files[0], "--explain", "--certificate", str(folder / "c.json")])
    assert check.exit_code == 0, check.output
    audit = CliRunner().invoke(app, ["audit", "certificate", str(folder / "c.json"), files[0]])
    assert audit.exit_code == 0, audit.output
