"""Where tables, absence and individuals meet groups, partitions, graphs and regions."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.random_policies import GRAPH, PLACES, compiled, joint, with_data_files
from reference.random_tables import compiled_table, tables
from reference.region_maps import LOCATED, MAP, written
from typer.testing import CliRunner

from dxgeom.audit.claims import claims_of
from dxgeom.audit.policy_audit import audit_policy
from dxgeom.cli.main import app
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import CertificateRefused, DataError, PolicyError
from dxgeom.metrics.combinations import GroupedMetric, MaxMetric, PresenceMetric
from dxgeom.policy.policy import Policy, parse_policy

STAFF = "region,sex,age\nn,F,20\nn,M,30\nn,M,40\ns,F,20\ns,F,40\n"
HEAD = "policy: p\nuniverse: {table: staff.csv, attributes: {age: {range: [20, 40], step: 10}}}\n"
AGREE = "- {secrets: {partition: region}, epsilon: 1}\n"
TIMES = """policy: p
universe: {table: times.csv, attributes: {noon: {range: [0, 3], step: 1}, night: {range: [0, 3], step: 1}}}
"""
LARGEST = "- {change: [noon, night], together: true, measure: max, epsilon: 0.5, per: 1}\n"
PLAIN = "policy: p\nuniverse: {attributes: {region: [n, s], sex: [F, M], age: {range: [20, 40], step: 10}}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "staff.csv").write_text(STAFF)
    (tmp_path / "times.csv").write_text("noon,night\n0,0\n1,3\n3,2\n2,2\n")
    return with_data_files(tmp_path)


def policy(folder: Path, head: str, rules: str) -> Policy:
    return parse_policy(f"{head}rules:\n{rules}", folder=folder)


def told(found: Policy) -> list[list[float]]:
    """All distances, without what is lost by rounding down: that is for the laws of random policies."""
    everyone = np.arange(found.universe.size)
    return np.round(found.compile().distance(everyone[:, None], everyone[None, :]), 9).tolist()


def rederived(found: Policy) -> str:
    claims = json.loads(json.dumps(claims_of(found.compile(), "policy")))
    lines = audit_policy(claims, found).lines
    place, entry = next((k, one) for k, one in enumerate(claims["distances"]) if one[2] not in (0, "inf"))
    claims["distances"][place] = [*entry[:2], float(entry[2]) * 1.001]
    with pytest.raises(CertificateRefused, match="raised"):
        audit_policy(claims, found)
    return lines[1]


def test_a_partition_of_listed_records_bounds_those_that_agree_and_no_others(folder):
    found = policy(folder, HEAD + "unconnected: allow\n", AGREE)
    distances = np.array(told(found))
    blocks = np.array([0, 0, 0, 1, 1])
    expected = np.where(blocks[:, None] == blocks[None, :], 1.0, math.inf)
    np.fill_diagonal(expected, 0)
    assert np.array_equal(distances, expected)
    assert "DX155" in str(caught(folder, HEAD, AGREE))
    assert "(no rule is about 'region')" in str(caught(folder, HEAD, AGREE))


def caught(folder: Path, head: str, rules: str) -> PolicyError:
    with pytest.raises(PolicyError) as found:
        policy(folder, head, rules)
    return found.value


def test_a_path_of_groups_goes_through_listed_records_only(folder):
    """Over the product n,M,30 → s,M,30 → s,F,20 would cost 1.2; s,M is not listed, so it changes back to F first."""
    rules = "- {change: region, epsilon: 0.2}\n- {change: [sex, age], together: true, epsilon: 1}\n"
    listed, product = policy(folder, HEAD, rules), policy(folder, PLAIN, rules)
    start, end = {"region": "n", "sex": "M", "age": 30}, {"region": "s", "sex": "F", "age": 40}
    assert product.explain(start, end).distance == Fraction(6, 5)
    explained = listed.explain(start, end)
    assert explained.distance == Fraction(11, 5)
    assert [(hop.attribute, hop.together, hop.start, hop.end) for hop in explained.hops] == [
        (None, ("sex", "age"), "M, 30", "F, 20"),
        ("region", (), "n", "s"),
        ("age", (), "20", "40"),
    ]
    assert "sex, age: M, 30 → F, 20: 1 by" in "\n".join(explained.lines())


def test_the_largest_change_counts_between_listed_records_without_the_steps_between(folder):
    found = policy(folder, TIMES, LARGEST)
    noon, night = np.array([0, 1, 3, 2]), np.array([0, 3, 2, 2])
    apart = np.maximum(abs(noon[:, None] - noon), abs(night[:, None] - night))
    assert told(found) == (0.5 * apart).tolist()
    assert "re-derived" in rederived(found)


def test_places_that_move_together_are_measured_between_listed_records(folder):
    (folder / "times.csv").write_text("home,work\nq0,q0\nq1,q3\nq2,q1\n")
    places = "{points: p.csv, key: id, x: x, y: y, unit: km}"
    head = f"policy: p\nuniverse: {{table: times.csv, attributes: {{home: {places}, work: {places}}}}}\n"
    rule = "- {change: [home, work], together: true, measure: max, epsilon: 1, per: 2 km}\n"
    found = policy(folder, head, rule)
    assert told(found) == [[0, 5, 2], [5, 0, 3.5], [2, 3.5, 0]]
    assert "re-derived" in rederived(found)
    assert found.explain(0, 1).distance == pytest.approx(5)


def test_absence_joins_the_blocks_of_a_partition(folder):
    for head in (HEAD, PLAIN):
        found = policy(folder, head, AGREE + "- {presence: true, epsilon: 0.75}\n")
        assert found.unprotected == ()
        distances = np.array(told(found))
        assert set(distances[:-1, :-1].ravel()) == {0.0, 1.0, 1.5}
        assert set(distances[-1, :-1]) == {0.75}
        assert "re-derived" in rederived(found)


@pytest.mark.parametrize(
    "rules",
    [
        "- {between: everything, epsilon: 1}\n",
        "- {change: [region, sex, age], together: true, epsilon: 1}\n",
        "- {change: [region, sex, age], together: true, epsilon: 1}\n- {between: everything, epsilon: 2}\n",
    ],
)
def test_a_rule_about_all_records_says_nothing_about_their_absence(folder, rules):
    for head in (HEAD, PLAIN):
        distances = np.array(told(policy(folder, head, rules + "- {presence: true, epsilon: 3}\n")))
        assert set(distances[-1, :-1]) == {3.0}
        assert distances[:-1, :-1].max() == 1.0


def test_absence_is_outermost_over_groups_and_largest_changes(folder):
    head = "policy: p\nuniverse:\n  attributes:\n    sex: [F, M]\n    kind: [a, b]\n    town: [u, v]\n"
    head += "    noon: {range: [0, 3], step: 1}\n    night: {range: [0, 3], step: 1}\n"
    rules = "- {change: [sex, kind, town], epsilon: 1}\n- {change: [sex, kind], together: true, epsilon: 1.5}\n"
    found = policy(folder, head, rules + LARGEST + "- {presence: true, epsilon: 2}\n")
    assert isinstance(found.metric, PresenceMetric)
    assert isinstance(found.metric.inner, GroupedMetric)
    assert any(isinstance(part, MaxMetric) for part in found.metric.inner.parts)
    start = {"sex": "F", "kind": "a", "noon": 0, "night": 0}
    assert found.explain(start, {**start, "sex": "M", "kind": "b", "noon": 3, "night": 2}).distance == 3
    far = found.explain({**start, "town": "u"}, {"sex": "M", "kind": "b", "town": "v", "noon": 3, "night": 2})
    assert far.distance == 4
    assert (far.otherwise, [hop.end for hop in far.hops]) == (None, ["M, b", "v", "3, 2"])
    assert "re-derived" in rederived(found)


def test_individuals_are_given_by_the_nodes_of_a_graph_and_by_properties_of_regions(folder):
    head = "policy: p\nuniverse: {attributes: {n: {graph: roads.csv, nodes: nodes.csv}}}\n"
    found = policy(folder, head, "- {change: n, individuals: own}\n")
    assert found.explain({"n": "n0"}, {"n": "n4"}).distance == Fraction(3, 10) + Fraction(1, 10)
    written(folder, MAP)
    head = "policy: p\nuniverse: {attributes: {area: {regions: map.geojson, key: name}}}\n"
    found = policy(folder, head, "- {change: area, individuals: wards}\n")
    assert found.explain({"area": "west"}, {"area": "isles"}).distance == 4
    assert "DX147" in str(caught(folder, head, "- {change: area, individuals: kind}\n"))
    assert "'height' does not hold numbers only" in str(caught(folder, head, "- {change: area, individuals: height}\n"))


def test_individuals_add_up_with_the_other_attributes_of_a_group(folder):
    rules = (
        "- {change: sex, individuals: {F: 0.1, M: 0.3}}\n- {change: [sex, age], together: true, epsilon: 1}\n"
        "- {change: [region, age], epsilon: 2}\n"
    )
    found = policy(folder, PLAIN, rules)
    start = {"sex": "F", "age": 20}
    assert found.explain(start, {"sex": "M", "age": 20}).distance == Fraction(2, 5)
    assert found.explain(start, {"sex": "M", "age": 40}).distance == 1
    assert "re-derived" in rederived(found)


def test_data_with_coordinates_belong_to_the_listed_records_of_their_region(folder):
    written(folder, MAP)
    (folder / "staff.csv").write_text("area,sex\neast,F\nwest,F\nwest,M\n")
    head = f"policy: p\nuniverse: {{table: staff.csv, attributes: {{area: {{{LOCATED}}}}}}}\n"
    found = policy(folder, head, "- {change: [area, sex], together: true, epsilon: 1}\n")
    rows = pd.DataFrame({"lon": [0.5, 0.5, 1.5], "lat": [0.5, 0.5, 0.5], "sex": ["F", "M", "F"]})
    assert histogram_of_table(rows, found.universe).counts.tolist() == [1, 1, 1]
    rows["sex"] = "M"
    with pytest.raises(DataError, match=r"data row 3: each value exists, but the policy's table lists no such record"):
        histogram_of_table(rows, found.universe)


@pytest.mark.parametrize("rule", ["per: 2 km", "per: 1 steps", "within: 2 km", "within: 4 km, beyond: linear"])
def test_rules_along_a_graph_bound_listed_records_by_the_graph_and_not_by_what_is_listed(folder, rule):
    (folder / "staff.csv").write_text("sex,n\nF,n0\nF,n2\nM,n3\nM,n1\nM,n0\n")
    head = "policy: p\nunconnected: allow\nuniverse: {table: staff.csv, attributes: {n: {%s}}}\n"
    found = policy(folder, head % "graph: roads.csv, length: long, unit: km", f"- {{change: n, epsilon: 1, {rule}}}\n")
    expected = {"per: 2 km": (1, 1.25), "per: 1 steps": (1, 2), "within: 2 km": (1, 2)}
    near, far = expected.get(rule, (1, 1))
    distances = np.array(told(found))
    assert (distances[0, 1], distances[2, 3]) == (near, math.inf if rule == "within: 2 km" else far)
    assert math.isinf(distances[0, 4])
    assert "re-derived" in rederived(found)


def test_too_many_listed_pairs_of_a_partition_are_an_error_and_not_a_hang(folder):
    (folder / "staff.csv").write_text("region,x\n" + "".join(f"n,{k}\n" for k in range(4000)) + "s,0\n")
    rules = "- {secrets: {partition: region}, epsilon: 1}\n- {change: region, epsilon: 1}\n"
    found = caught(folder, "policy: p\nuniverse: {table: staff.csv}\n", rules)
    assert "DX138" in str(found)
    assert "pairs of listed records differ only in 'x'" in str(found)


def test_reviews_name_rules_on_groups_of_listed_records_that_never_bind(folder):
    rules = AGREE + "- {change: [sex, age], together: true, epsilon: 2}\n- {change: [region, sex], epsilon: 3}\n"
    found = policy(folder, HEAD, rules)
    review = found.review()
    assert [rule.redundant for rule in review.rules] == [False, True, False]
    assert review.rules[0].sentence.startswith("two records that agree in region")
    assert [form.form for form in found.forms()] == ["listed pairs"] * 3 + ["graph"]
    presence = policy(folder, PLAIN, AGREE + "- {presence: true, epsilon: 0.25}\n").review()
    assert [rule.redundant for rule in presence.rules] == [True, False]
    assert "no record against" not in presence.rules[1].belief
    assert "there being a record against there being none" in presence.rules[1].belief


def test_answers_about_listed_records_in_groups_are_released_with_private_numbers(folder):
    text = HEAD + f"rules:\n{AGREE}- {{change: [region, sex], together: true, epsilon: 2}}\n"
    (folder / "p.yaml").write_text(text + "- {presence: true, epsilon: 1}\n")
    (folder / "q.yaml").write_text("queries:\n- count: true\n- count: region == 'n'\n- sum: age\n  where: sex == 'M'\n")
    (folder / "data.csv").write_text("region,sex,age\n" + "n,F,20\ns,F,44\n" * 30 + "s,M,20\n")
    files = [str(folder / name) for name in ("p.yaml", "data.csv", "q.yaml")]
    options = ["--ledger", str(folder / "l.db"), "--spend", "1/2", "--format", "json"]
    refused = CliRunner().invoke(app, ["release", *files, *options])
    assert refused.exit_code == 1
    assert "some rows do not fit the policy: age" in refused.stderr and "44" not in refused.stderr
    (folder / "data.csv").write_text("region,sex,age\n" + "n,F,20\nn,M,34\n" * 30)
    result = CliRunner().invoke(app, ["release", *files, *options])
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["records"], len(answer["answers"])) == (None, 3)
    told = CliRunner().invoke(app, ["explain", files[0], "absent", "region=n,sex=M,age=30"])
    assert "no record → n, M, 30: 1 by" in told.stdout
    check = CliRunner().invoke(app, ["check", files[0], "--explain", "--certificate", str(folder / "c.json")])
    assert check.exit_code == 0, check.output
    audit = CliRunner().invoke(app, ["audit", "certificate", str(folder / "c.json"), files[0]])
    assert audit.exit_code == 0, audit.output


some = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@some
@given(st.one_of(joint(), tables()))
@pytest.mark.long
def test_the_audit_derives_the_distances_of_random_policies_again(folder, drawn):
    found = compiled(*drawn, folder) if len(drawn) == 2 else compiled_table(*drawn, folder)
    claims = json.loads(json.dumps(claims_of(found.compile(), "policy")))
    total = len(claims["distances"])
    assert audit_policy(claims, found).lines[1].startswith(f"{total:,} of {total:,} claimed distances re-derived")
    for place, (i, j, distance) in enumerate(claims["distances"][:40:7]):
        if distance not in (0, "inf") and not {PLACES, GRAPH} & set(drawn[0]):
            wrong = [*claims["distances"]]
            wrong[7 * place] = [i, j, distance * 1.0001]
            with pytest.raises(CertificateRefused, match="raised"):
                audit_policy({**claims, "distances": wrong}, found)
