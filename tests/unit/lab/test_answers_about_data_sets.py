"""Answers about one small data set: a graph, or a database."""

from __future__ import annotations

import itertools
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from dxgeom.errors import DataError, PolicyError, TooLarge, UnsupportedCombination
from dxgeom.lab.answers import answer, plan_answer
from dxgeom.lab.data_sets import data_set_policy_from_dict, load_policy_of_secrets
from dxgeom.lab.dataset_space import average, database_distance, percentile
from dxgeom.policy.policy import Policy

FRIENDS = data_set_policy_from_dict({"policy": "friends", "graphs": {"nodes": 4, "epsilon": 1}, "budget": 2})
MARKS = data_set_policy_from_dict(
    {"policy": "marks", "database": {"individuals": 3, "largest": 10, "step": "0.5", "epsilon": "0.4"}}
)
MOVED = data_set_policy_from_dict(
    {"policy": "moved", "database": {"individuals": 2, "largest": 3, "under": "maximum", "epsilon": 1}}
)
STATISTICS = ("triangles", "edges", {"stars": 2}, {"pattern": [["a", "b"], ["b", "c"], ["c", "d"], ["d", "a"]]})


@pytest.mark.parametrize("word", ["privacy_first", "ladder", "composed", "staircase"])
@pytest.mark.parametrize("of", STATISTICS, ids=str)
def test_statistics_of_a_graph_are_answered_within_the_budget(word, of, tmp_path):
    plan = plan_answer(FRIENDS, {"answer": word, "of": of}, spend=1)
    assert plan.errors[0].startswith("off by")
    assert plan.rehearse().rehearsal
    released = plan.release("ann-bob, bob-cy, cy-ann, dot", ledger=tmp_path / "a.db", id="x")
    assert released.remaining == 1
    again = plan.release(nx.Graph([(1, 2), (2, 3), (3, 1)]), ledger=tmp_path / "a.db", id="x")
    assert again.answer == released.answer


def test_all_statistics_of_one_space_share_an_account(tmp_path):
    for word, of in (("ladder", "triangles"), ("staircase", "edges")):
        remaining = answer(FRIENDS, {"answer": word, "of": of}, "a-b", ledger=tmp_path / "a.db", spend=1).remaining
    assert remaining == 0


@pytest.mark.parametrize("of", ["sum", "average", {"percentile": 50}], ids=str)
@pytest.mark.parametrize("under", ["hamming", "normalised manhattan", "manhattan", "maximum"])
def test_a_query_on_a_database_is_answered_under_every_metric(of, under):
    policy = data_set_policy_from_dict(
        {"policy": "m", "database": {"individuals": 3, "largest": 6, "under": under, "epsilon": 1}}
    )
    secrets = plan_answer(policy, {"answer": "truncated_geometric", "of": of}, spend=1).secrets
    wanted = {"sum": 9, "average": average([4, None, 5])}.get(str(of), percentile([4, None, 5], 50))
    assert secrets.label(secrets.index_of("4, absent, 5")) == str(wanted)
    assert answer(policy, {"answer": "staircase", "of": of}, [4, None, 5], ledger=":memory:", spend=1).answer.in_words


def test_values_of_a_database_are_multiples_of_its_step():
    secrets = plan_answer(MARKS, {"answer": "optimal", "of": "sum"}, spend=1).secrets
    assert secrets.label(secrets.index_of(["0.5", Fraction(3, 2), None])) == "2"
    for wrong in ("1, 2", "1, 2, 0.7", "1, 2, 6", "1, 2, x", "absent, absent, absent", 3, [1, 2, "a lot"]):
        with pytest.raises(DataError):
            secrets.index_of(wrong)


@pytest.mark.parametrize("word", ["privacy_first", "composed", "ladder"])
@pytest.mark.parametrize("of", ["sum", "average", {"percentile": 50}], ids=str)
@pytest.mark.parametrize("under", ["hamming", "normalised manhattan", "manhattan"])
def test_layers_of_a_database_hide_every_two_databases(word, of, under):
    """By every two databases with names, whose distance is the paper's; and as much as is allowed is used somewhere."""
    stated = {"individuals": 3, "largest": 3, "step": "0.5", "under": under, "epsilon": "1.2"}
    policy = data_set_policy_from_dict({"policy": "m", "database": stated})
    if word == "ladder" and under != "hamming":
        with pytest.raises(UnsupportedCombination, match="edges of length 1"):
            plan_answer(policy, {"answer": word, "of": of}, spend=1)
        return
    planned = plan_answer(policy, {"answer": word, "of": of}, spend=1)
    databases = [one for one in itertools.product([None, 0, 1, 2, 3], repeat=3) if any(x is not None for x in one)]
    halved = [[None if one is None else Fraction(one, 2) for one in database] for database in databases]
    places = [planned.secrets.index_of(database) for database in halved]
    logs = np.log(np.array(planned.prepared.mechanism.law.rows, dtype=np.float64))[places]
    unit = {"manhattan": 0.5}.get(under, 1)
    apart = [[float(database_distance(a, b, under, 3)) * unit * 1.2 for b in databases] for a in databases]
    losses = np.abs(logs[:, None] - logs[None]).max(axis=2)
    assert np.all(losses <= np.array(apart) * (1 + 1e-9) + 1e-12)
    assert np.max(losses / np.maximum(apart, 1e-9)) > 0.99


@pytest.mark.parametrize("word", ["privacy_first", "composed", "ladder"])
def test_layers_of_a_database_share_the_account_of_its_other_answers(word, tmp_path):
    stated = {"individuals": 2, "largest": 2, "under": "hamming", "epsilon": 1}
    policy = data_set_policy_from_dict({"policy": "m", "database": stated, "budget": 2})
    first = answer(policy, {"answer": word, "of": "sum"}, "1, absent", ledger=tmp_path / "a.db", spend=1)
    assert first.answer.errors[0].endswith("over all databases alike likely; exact")
    task = {"answer": "truncated_geometric", "of": "sum"}
    assert answer(policy, task, "1, absent", ledger=tmp_path / "a.db", spend=1).remaining == 0


def test_layers_of_many_databases_are_refused():
    many = data_set_policy_from_dict({"policy": "m", "database": {"individuals": 9, "largest": 9, "epsilon": 1}})
    with pytest.raises(TooLarge, match="92,377 databases of 9 individuals with 10 values"):
        plan_answer(many, {"answer": "privacy_first", "of": "sum"}, spend=1)
    two = data_set_policy_from_dict({"policy": "m", "database": {"individuals": 2, "largest": 2, "epsilon": 1}})
    secrets = plan_answer(two, {"answer": "privacy_first", "of": "sum"}, spend=1).secrets
    assert secrets.label(secrets.index_of("2, 1")) == secrets.label(secrets.index_of([1, 2])) == "3"
    for wrong in ("absent, absent", "1, 2, 3", "1, 9"):
        with pytest.raises(DataError):
            secrets.index_of(wrong)


@pytest.mark.parametrize(
    "graph",
    ["a-a", "a-b-c", "a-b, c-d, e-f", 3, [("a",), ("b", "c", "d")], nx.DiGraph([(1, 2)]), nx.MultiGraph([(1, 2)])],
    ids=str,
)
def test_what_is_no_graph_of_these_costs_nothing(graph, tmp_path):
    with pytest.raises(DataError):
        answer(FRIENDS, {"answer": "ladder", "of": "edges"}, graph, ledger=tmp_path / "a.db", spend=1)
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    ("policy", "task", "said"),
    [
        (FRIENDS, "ladder", "of: triangles"),
        (FRIENDS, {"answer": "ladder", "of": {"stars": 0}}, "whole number from 1"),
        (FRIENDS, {"answer": "ladder", "of": "triangles", "width": 1}, "about composed layers"),
        (MARKS, {"answer": "ladder", "of": "sum"}, "edges of length 1"),
        (MOVED, {"answer": "privacy_first", "of": "sum"}, "all individuals move at once"),
        (MARKS, {"answer": "optimal", "of": {"percentile": 100}}, "from 0 to 99"),
        (MARKS, {"answer": "optimal", "of": "median"}, "of: average"),
        (MARKS, {"answer": "planar", "of": "sum"}, "no coordinates"),
    ],
    ids=str,
)
def test_what_does_not_go_together_is_refused(policy, task, said):
    with pytest.raises(UnsupportedCombination, match=said):
        plan_answer(policy, task, spend=1)


def test_graphs_of_many_nodes_are_refused():
    many = data_set_policy_from_dict({"policy": "many", "graphs": {"nodes": 8, "epsilon": 1}})
    with pytest.raises(TooLarge, match="1 to 7"):
        plan_answer(many, {"answer": "ladder", "of": "edges"}, spend=1)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("policy: a\ngraphs: {nodes: 4}", "'epsilon' is missing"),
        ("policy: a\ngraphs: {nodes: 0, epsilon: 1}", "DX109"),
        ("policy: a\ngraphs: {nodes: 4, epsilon: 1, edge: 2}", "'edge' is not known"),
        ("policy: a\ndatabase: {individuals: 4, largest: 3, epsilon: 1, under: euclid}", "'hamming'"),
        ("policy: a\ngraphs: {nodes: 4, epsilon: 1}\ndatabase: {individuals: 4, largest: 3, epsilon: 1}", "DX107"),
        ("graphs: {nodes: 4, epsilon: 1}", "'policy' is missing"),
    ],
)
def test_mistakes_of_such_a_policy_are_told_with_their_places(content, said, tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text(content)
    with pytest.raises(PolicyError, match=said):
        load_policy_of_secrets(file)


def test_a_policy_of_records_is_loaded_as_ever(tmp_path):
    file = tmp_path / "policy.yaml"
    file.write_text("policy: p\nuniverse: {attributes: {ill: [no, yes]}}\nrules: [{change: ill, epsilon: 1}]\n")
    assert isinstance(load_policy_of_secrets(file), Policy)
    file.write_text("policy: f\ngraphs: {nodes: 4, epsilon: 1}\n")
    assert load_policy_of_secrets(file).kind == "graphs"
