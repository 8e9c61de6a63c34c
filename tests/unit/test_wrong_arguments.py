"""Arguments of the wrong kind are refused with a sentence that names the argument, at every door of the package.

A row of the table is a door, a call that is right, and for each argument what a person may hand over in its place.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import dxgeom as dx
from dxgeom.errors import DataError, WrongArgument
from dxgeom.plan_files.saving import plan_text
from dxgeom.planner.quantile_plan import plan_quantiles

POLICY = {
    "policy": "grades",
    "universe": {"attributes": {"grade": ["low", "middle", "high"]}},
    "rules": [{"change": "grade", "epsilon": 1}],
}
QUERIES = {"queries": [{"count": "grade == 'low'"}, {"count": "grade == 'high'"}]}
POLICY_TEXT = dx.Policy.from_dict(POLICY).to_yaml()
QUERIES_TEXT = "queries:\n  - count: grade == 'low'\n"

policy = dx.Policy.from_dict(POLICY)
metric = policy.compile()
queries = dx.queries_from_dict(QUERIES, policy)
universe = policy.universe
mechanism = dx.selection(metric, queries)
numbers = dx.Policy.from_dict(
    {
        "policy": "n",
        "universe": {"attributes": {"n": {"range": [0, 3], "step": 1}}},
        "rules": [{"change": "n", "epsilon": 1}],
    }
)
numbers_metric, medians = numbers.compile(), dx.queries_from_dict({"queries": [{"median": "n"}]}, numbers)
statistic = dx.lab.moments([dx.lab.bounded_column("age", 0, 100, 1)], 1)
matrix = np.array([[0.0, 1.0], [1.0, 0.0]])
RAGGED = [[0, 1], [1]]
EDGES = [("a", "b", 1), ("b", "c", 2)]
TABLE = pa.table({"grade": ["low", "high"]})
HALF = Fraction(1, 2)
PRIOR, LOSSES = (Fraction(1, 3),) * 3, ((0, 1, 1), (1, 0, 1), (1, 1, 0))
PLACES = np.array([[0, 0], [1, 0], [0, 1]])

NOT_A_METRIC = (None, "policy.yaml", Path("policy.yaml"), policy, queries, matrix, RAGGED, POLICY, metric.metric, TABLE)
NOT_QUERIES = (None, "queries.yaml", Path("queries.yaml"), metric, policy, ["low", "high"], QUERIES, matrix, TABLE)
NOT_A_POLICY = (None, "policy.yaml", Path("policy.yaml"), POLICY, metric, queries, 3)
NOT_A_PATH = (None, 3, math.nan, policy, POLICY, ["policy.yaml"], matrix)
NOT_TEXT = (None, 3, ["text"], POLICY, policy, Path("policy.yaml"), b"policy: grades")
NOT_A_FOLDER = (3, ["."], policy, POLICY)
NOT_A_MAPPING = (None, 3, "policy: grades", ["policy"], policy, TABLE)
NOT_EXACT = (None, "a half", math.nan, math.inf, 0.5, ["1/2"], {"spend": 1}, 0, -1, True, matrix, TABLE)
NOT_AN_AMOUNT = ("a half", math.nan, math.inf, ["1/2"], {"spend": 1}, 0, -1, True, matrix, metric)
NOT_A_COUNT = ("three", 2.5, math.nan, ["3"], {"records": 3}, -1, True, matrix, policy)
NOT_A_NUMBER = (None, "a tenth", math.nan, ["0.1"], {"alpha": 0.1}, -1, matrix, metric)
NOT_A_MATRIX = (
    None,
    "matrix.csv",
    Path("matrix.csv"),
    3,
    math.nan,
    RAGGED,
    {"a": 1},
    ["a", "b"],
    metric,
    policy,
    TABLE,
)
NOT_A_LEDGER = (None, 3, 2.5, ["ledger.db"], {"path": "ledger.db"}, policy, metric, matrix)
NOT_A_CHOICE = (None, 3, "fancy", ["box"], {"law": "box"}, metric)
NOT_A_MECHANISM = (None, "hull", metric, queries, policy, {"mechanism": "hull"}, matrix)
NOT_MECHANISMS = (None, 3, "hull", [], ["a", "b"], mechanism, {"a": mechanism}, [metric], [None])
NOT_A_FUNCTION = (None, "selection", 3, mechanism)
NOT_YES_OR_NO = (None, "yes", 3, [True])
NOT_A_BODY = (3, "box", ["box"], {"body": "box"}, matrix, metric, queries)
NOT_EDGES = (None, 3, "edges.csv", Path("edges.csv"), metric, ["ab", "bc"], [("a", "b")], [("a", "b", "far")], [1, 2])
NOT_EDGES += ([("a", "b", None)], [("a", "b", math.nan)], [(1, "b", 1)], {"a": 1}, TABLE, [])


NOT_A_POLICY_FILE = (None, POLICY, metric, queries, 3)
NOT_A_TASK = (None, 3, ["optimal"], metric, policy, {"task": "optimal"}, TABLE)

CALLED = {
    ("answer", "secret"): "'grade'",
    ("Policy.from_dict", "data"): "top level",
    ("Policy.explain", "first"): "record",
    ("Policy.explain", "second"): "record",
    ("queries_from_dict", "data"): "top level",
    ("LinearQueries.from_matrix", "matrix"): "weights",
    ("LinearQueries.kronecker", "factors"): "factor",
    ("LinearQueries.marginals", "groups"): "attribute",
    ("MarginalQueries.of", "groups"): "attribute",
    ("LinearQueries.boxes", "boxes"): "codes",
    ("BoxQueries.of", "boxes"): "box",
    ("plan", "errors"): "wanted error",
    ("plan_together", "errors"): "wanted error",
    ("Plan.release", "table"): "count",
    ("release", "data"): "count",
    ("compile_and_release", "table"): "count",
    ("Ledger.open", "policy_fingerprint"): "policy's fingerprint",
    ("Ledger.open", "policy_name"): "policy's name",
    ("in_parallel", "labels"): "label",
    ("init", "ranges"): "a range",
    ("lipschitz", "values"): "a map has one number",
    ("verify_metric", "matrix"): "distance",
}
"""Words by which a message may also name an argument."""


QUICKLY = {"mechanism": "laplace"}
"""No argument is wrong sooner or later for which noise is planned, and one noise is planned at once."""
PLAN = dx.plan(metric, queries, **QUICKLY)
PLAN_TEXT = plan_text(PLAN, policy)
ANSWERS_TEXT = PLAN.rehearse(spend=HALF, records=3).to_json()


class Door(NamedTuple):
    """A function, arguments that it takes, and what it refuses in the place of each."""

    call: Callable[..., Any]
    right: Mapping[str, Any]
    wrong: Mapping[str, tuple[Any, ...]]


SPENT = {"ledger": "ledger.db", "spend": HALF}
OF_A_RELEASE: dict[str, tuple[Any, ...]] = {
    "ledger": NOT_A_LEDGER,
    "spend": (None, *NOT_AN_AMOUNT),
    "purpose": NOT_TEXT[1:],
    "outside": NOT_A_CHOICE,
    "count_column": (3, ["n"], TABLE),
    "insecure_test_seed": ("one", 0.5, [1]),
    "id": NOT_TEXT[1:],
    "allotment": NOT_TEXT[1:],
    "quiet_data": NOT_YES_OR_NO,
}


def _line(mechanism: Any) -> Any:
    """A linear regression on plain arrays."""
    with dx.learning.open_ledger(":memory:", 1) as ledger:
        model = dx.learning.PrivateLinearRegression(
            epsilon=1, bounds=(0, 1), response=(0, 1), ledger=ledger, mechanism=mechanism
        )
        return model.fit(np.linspace(0, 1, 1000)[:, None], np.linspace(0, 1, 1000))


OF_DATA = (None, 3, math.nan, {"low": 1}, ["low"], RAGGED, [math.nan, 1, 1], matrix, metric, policy, queries)
NAMES = (3, ["a", 3], POLICY, policy)
DOORS: dict[str, Door] = {
    "init": Door(
        dx.init,
        {"table": TABLE},
        {
            "table": (3, math.nan, policy),
            "person": NAMES,
            "rows": NOT_A_COUNT,
            "one_row_each": NOT_YES_OR_NO,
            "values": (3, ["a"], {"grade": 3}, {"grade": [3]}),
            "ranges": (3, ["a"], {"grade": 3}, {"grade": "from low"}),
            "leave_out": NAMES,
            "take": NAMES,
            "accept": NOT_YES_OR_NO,
            "header": (2.5, ["1"], policy),
            "names": NAMES,
            "sheet": NOT_TEXT[1:],
            "encoding": NOT_TEXT[1:],
            "separator": NOT_TEXT[1:],
            "header_only": NOT_YES_OR_NO,
            "epsilon": NOT_AN_AMOUNT,
        },
    ),
    "load_policy": Door(dx.load_policy, {"path": "policy.yaml"}, {"path": NOT_A_PATH}),
    "parse_policy": Door(
        dx.parse_policy, {"content": POLICY_TEXT}, {"content": NOT_TEXT, "file": NOT_TEXT, "folder": NOT_A_FOLDER}
    ),
    "Policy.from_dict": Door(
        dx.Policy.from_dict, {"data": POLICY}, {"data": NOT_A_MAPPING, "file": NOT_TEXT, "folder": NOT_A_FOLDER}
    ),
    "Policy.explain_people": Door(
        policy.explain_people,
        {"first": [{"grade": "low"}], "second": [{"grade": "high"}]},
        dict.fromkeys(("first", "second"), (None, 3, "low", {"grade": "low"}, matrix, TABLE)),
    ),
    "Policy.explain": Door(
        policy.explain,
        {"first": 0, "second": {"grade": "low"}},
        {argument: (None, 2.5, math.nan, ["low"], "nobody", TABLE, metric) for argument in ("first", "second")},
    ),
    "load_queries": Door(
        dx.load_queries,
        {"path": "queries.yaml", "policy": policy},
        {"path": NOT_A_PATH, "policy": NOT_A_POLICY, "records": NOT_A_COUNT},
    ),
    "parse_queries": Door(
        dx.parse_queries,
        {"content": QUERIES_TEXT, "policy": policy},
        {
            "content": NOT_TEXT,
            "policy": NOT_A_POLICY,
            "records": NOT_A_COUNT,
            "file": NOT_TEXT,
            "folder": NOT_A_FOLDER,
        },
    ),
    "queries_from_dict": Door(
        dx.queries_from_dict,
        {"data": QUERIES, "policy": policy},
        {
            "data": NOT_A_MAPPING,
            "policy": NOT_A_POLICY,
            "records": NOT_A_COUNT,
            "file": NOT_TEXT,
            "folder": NOT_A_FOLDER,
        },
    ),
    "LinearQueries.from_matrix": Door(
        dx.LinearQueries.from_matrix,
        {"names": ["one", "two"], "matrix": [[1, 0, 1], [0, 1, 1]], "universe": universe},
        {
            "names": (None, 3, [1, 2], metric, TABLE),
            "matrix": NOT_A_MATRIX,
            "universe": (3, "policy.yaml", policy, metric, matrix),
        },
    ),
    "LinearQueries.kronecker": Door(
        dx.LinearQueries.kronecker,
        {"names": ["one"], "universe": universe, "factors": {"grade": [1, 0, 0]}},
        {
            "names": (None, 3, [1], metric),
            "universe": (None, 3, policy, metric),
            "factors": (None, 3, ["grade"], {"grade": RAGGED}, {"grade": None}, matrix),
            "unit": NOT_EXACT,
        },
    ),
    "LinearQueries.marginals": Door(
        dx.LinearQueries.marginals,
        {"universe": universe, "groups": [["grade"]]},
        {"universe": (None, 3, policy, metric), "groups": (3, "grade", ["grade"], [3], [[3]])},
    ),
    "MarginalQueries.of": Door(
        dx.universe.MarginalQueries.of,
        {"universe": universe, "groups": [["grade"]]},
        {
            "universe": (None, 3, policy, metric),
            "groups": (3, "grade", ["grade"], [3], [[3]]),
            "importance": (3, "1", [0.5], ["much"], [1, 2]),
            "errors": (3, "1", [0.5], ["small"], [1, 2]),
            "records": NOT_A_COUNT,
        },
    ),
    "BoxQueries.of": Door(
        dx.universe.BoxQueries.of,
        {"universe": universe, "boxes": [{"grade": (0, 1)}]},
        {
            "universe": (None, 3, policy, metric),
            "boxes": (3, [3], [{"grade": 3}], [{"grade": (0, 0.5)}]),
            "importance": (3, "1", [0.5], ["much"], [1, 2]),
            "errors": (3, "1", [0.5], ["small"], [1, 2]),
            "records": NOT_A_COUNT,
        },
    ),
    "BoxQueries.prefixes": Door(
        dx.universe.BoxQueries.prefixes,
        {"universe": universe, "attribute": "grade"},
        {"universe": (None, 3, policy, metric), "attribute": (None, 3, ["grade"], metric)},
    ),
    "LinearQueries.prefixes": Door(
        dx.LinearQueries.prefixes,
        {"universe": universe, "attribute": "grade"},
        {"universe": (None, 3, policy, metric), "attribute": (None, 3, ["grade"], metric)},
    ),
    "LinearQueries.ranges": Door(
        dx.LinearQueries.ranges,
        {"universe": universe, "attribute": "grade"},
        {"universe": (None, 3, policy, metric), "attribute": (None, 3, ["grade"], metric)},
    ),
    "LinearQueries.boxes": Door(
        dx.LinearQueries.boxes,
        {"universe": universe, "boxes": [{"grade": (0, 1)}]},
        {
            "universe": (None, 3, policy, metric),
            "boxes": (None, 3, "grade", ["grade"], [{"grade": 1}], [{"grade": ("low", "high")}], [{"grade": (0.5, 1)}]),
        },
    ),
    "LinearQueries.stack": Door(
        dx.LinearQueries.stack, {"parts": [queries]}, {"parts": (None, 3, "queries", [], ["a"], queries, [metric])}
    ),
    "plan": Door(
        dx.plan,
        {"metric": metric, "queries": queries},
        {
            "metric": NOT_A_METRIC,
            "queries": NOT_QUERIES,
            "objective": NOT_A_CHOICE,
            "importance": (3, "words", ["a", "b"], [1], {"a": 1}, [math.nan, 1]),
            "errors": (3, "words", ["a", "b"], [1], [math.nan, 1]),
            "mechanism": NOT_A_CHOICE,
            "records": NOT_A_COUNT,
            "thorough": NOT_YES_OR_NO,
            "search": (3, "long", {"published": True}),
            "progress": (3, "print"),
            "spend": NOT_AN_AMOUNT,
        },
    ),
    "Search": Door(
        dx.Search,
        {},
        {
            "published": NOT_YES_OR_NO,
            "hull_limits": (3, "few", {"facets": 3}),
            "coarse_facets": (None, "few", 2.5, [3]),
            "body": tuple(one for one in NOT_A_BODY if one is not matrix),  # whose rows are corners
            "work": (None, "much", [1], 0, -1e9, math.nan),
        },
    ),
    "plan_together": Door(
        dx.plan_together,
        {"metric": metric, "workloads": [queries], "spend": HALF},
        {
            "metric": NOT_A_METRIC,
            "workloads": (None, 3, "words", queries, [None], [metric], [], [3]),
            "errors": (3, "words", [None, None], [[1]], {"a": 1}),
            "spend": NOT_AN_AMOUNT,
            "importance": (3, "words", [1, 2], {"a": 1}, [math.nan]),
            "records": NOT_A_COUNT,
            "progress": (3, "print"),
        },
    ),
    "Plan.release": Door(
        PLAN.release,
        {"table": [1, 2, 3], **SPENT},
        {"table": OF_DATA, **OF_A_RELEASE, "estimate": (3, "best", True, ["auto"], np.ones(3))},
    ),
    "plan of quantiles": Door(
        plan_quantiles,
        {"metric": numbers_metric, "queries": medians},
        {
            "metric": NOT_A_METRIC,
            "queries": NOT_QUERIES,
            "records": NOT_A_COUNT,
            "spend": NOT_AN_AMOUNT,
            "forms": (3, "transport", ["transport"], [], [[3]], {"q": ["laplace"]}, metric),
            "mechanism": (None, 3, "hull", ["laplace"]),
        },
    ),
    "load_plan": Door(dx.load_plan, {"path": "plan.json"}, {"path": NOT_A_PATH}),
    "save_plan": Door(
        dx.save_plan,
        {"plan": PLAN, "path": "new-plan.json", "policy": policy},
        {"plan": (None, 3, queries, metric), "path": NOT_A_PATH, "policy": (None, 3, POLICY), "spend": NOT_AN_AMOUNT},
    ),
    "release": Door(
        dx.release,
        {"mechanism": mechanism, "data": [1, 2, 3], **SPENT},
        {"mechanism": NOT_A_MECHANISM, "data": OF_DATA, **OF_A_RELEASE},
    ),
    "compile_and_release": Door(
        dx.compile_and_release,
        {"policy": policy, "table": [1, 2, 3], "queries": queries, **QUICKLY, **SPENT},
        {
            "policy": (None, 3, POLICY, metric, queries),
            "table": OF_DATA,
            "queries": (None, 3, QUERIES, metric, policy, ["low"]),
            "ledger": NOT_A_LEDGER,
            "spend": (None, *NOT_AN_AMOUNT),
            "objective": NOT_A_CHOICE,
            "mechanism": NOT_A_CHOICE,
            "outside": NOT_A_CHOICE,
            "id": NOT_TEXT[1:],
            "allotment": NOT_TEXT[1:],
            "quiet_data": NOT_YES_OR_NO,
            "purpose": NOT_TEXT[1:],
            "count_column": (3, ["n"], TABLE),
            "records": NOT_A_COUNT,
        },
    ),
    "Ledger.open": Door(
        dx.Ledger.open,
        {"path": "ledger.db", "policy_fingerprint": "f", "policy_name": "n", "budget": Fraction(1)},
        {
            "path": NOT_A_PATH,
            "policy_fingerprint": NOT_TEXT,
            "policy_name": NOT_TEXT,
            "budget": NOT_EXACT,
            "data_set": (None, 3, "data", ["data"]),
            "policy": (3, ["policy"], policy),
            "privacy_measure": NOT_A_CHOICE,
            "alike": (3, "the policy's text", ["policy"]),
            "delta": tuple(one for one in NOT_EXACT if one is not None),
        },
    ),
    "selection": Door(
        dx.selection,
        {"metric": metric, "candidates": queries},
        {
            "metric": NOT_A_METRIC,
            "candidates": NOT_QUERIES,
            "law": NOT_A_CHOICE,
            "records": NOT_A_COUNT,
            "spend": NOT_EXACT,
        },
    ),
    "top_selection": Door(
        dx.mechanisms.selection.top_selection,
        {"metric": metric, "candidates": queries, "picks": 1},
        {"metric": NOT_A_METRIC, "candidates": NOT_QUERIES, "picks": (None, *NOT_A_COUNT), "law": NOT_A_CHOICE},
    ),
    "tabled_selection": Door(
        dx.mechanisms.selection.tabled_selection,
        {"metric": metric, "candidates": ["a"], "score": lambda counts: [0], "records": 1},
        {
            "metric": NOT_A_METRIC,
            "candidates": (None, 3, [3], []),
            "score": NOT_A_FUNCTION,
            "records": (None, *NOT_A_COUNT),
            "law": NOT_A_CHOICE,
        },
    ),
    "declared_selection": Door(
        dx.mechanisms.selection.declared_selection,
        {"metric": metric, "candidates": ["a"], "score": lambda counts: [0], "sensitivity": 1, "version": "1"},
        {
            "metric": NOT_A_METRIC,
            "candidates": (None, 3, [3], []),
            "score": NOT_A_FUNCTION,
            "sensitivity": (None, "far", math.nan, math.inf, -1, [1]),
            "version": NOT_TEXT,
            "one_way": NOT_YES_OR_NO,
            "law": NOT_A_CHOICE,
        },
    ),
    "quantile_mechanism": Door(
        dx.quantiles.quantile_mechanism,
        {"metric": metric, "attribute": [1, 2, 3], "at": 0.5, "where": np.array([True] * 3)},
        {
            "metric": NOT_A_METRIC,
            "attribute": (
                None,
                3,
                "grade",
                "nothing",
                ["a", "b", "c"],
                [1, 2],
                [math.nan, 1, 2],
                RAGGED,
                metric,
                TABLE,
            ),
            "at": (None, "half", 1.5, -0.1, math.nan, [], ["half"], {"at": 0.5}, True, metric),
            "where": (3, [1, 0, 1], [True], np.array([True, False, True]), RAGGED, metric, TABLE),
            "form": NOT_A_CHOICE,
        },
    ),
    "small_database": Door(
        dx.mechanisms.selection.small_database,
        {"metric": metric, "queries": queries, "alpha": 0.5},
        {
            "metric": NOT_A_METRIC,
            "queries": NOT_QUERIES,
            "alpha": NOT_A_NUMBER,
            "law": NOT_A_CHOICE,
            "records": NOT_A_COUNT,
            "rows": NOT_A_COUNT,
        },
    ),
    "mwem": Door(
        dx.mechanisms.synthetic.mwem,
        {"metric": metric, "queries": queries},
        {
            "metric": NOT_A_METRIC,
            "queries": NOT_QUERIES,
            "rounds": NOT_A_COUNT,
            "start": (3, "even", ["a", "b", "c"], RAGGED, {"a": 1}, [math.nan, 1, 1], metric),
            "records": NOT_A_COUNT,
            "spend": (0.5, "half", -1, 0, [1], metric),
            "steepness": (0.5, "half", -1, 0, 2, [1], metric),
        },
    ),
    "optimal_table": Door(
        dx.lab.optimal_table,
        {"metric": metric, "prior": PRIOR, "losses": LOSSES},
        {
            "metric": NOT_A_METRIC,
            "prior": (None, 3, "even", ["a", "b", "c"], {"a": 1}, [math.nan, 0, 1], [HALF], metric, queries),
            "losses": (None, 3, "none", ["a", "b", "c"], {"a": 1}, RAGGED, [[math.nan, 0, 1]] * 3, metric, TABLE),
            "spend": NOT_EXACT,
            "stretch": NOT_EXACT,
        },
    ),
    "planar_laplace": Door(
        dx.lab.planar_laplace,
        {"metric": metric, "places": PLACES, "step": Fraction(1, 100)},
        {
            "metric": NOT_A_METRIC,
            "places": (None, 3, "cities.csv", RAGGED, {"a": 1}, ["a"], [[0.5, 1.0]] * 3, metric, TABLE),
            "step": NOT_EXACT,
            "spend": NOT_EXACT,
        },
    ),
    "plan_answer": Door(
        dx.lab.plan_answer,
        {"policy": policy, "task": "optimal", "spend": HALF},
        {"policy": NOT_A_POLICY_FILE, "task": NOT_A_TASK, "spend": (None, *NOT_AN_AMOUNT)},
    ),
    "answer": Door(
        dx.lab.answer,
        {"policy": policy, "task": "optimal", "secret": "low", **SPENT},
        {
            "policy": NOT_A_POLICY_FILE,
            "task": NOT_A_TASK,
            "secret": (None, math.nan, ["low"], RAGGED, {"low": 1}, matrix, metric, policy, True, 3, TABLE),
            **{name: OF_A_RELEASE[name] for name in ("ledger", "spend", "purpose", "id", "allotment")},
        },
    ),
    "series_mechanism": Door(
        dx.mechanisms.linear.series_mechanism,
        {"title": "steps", "readings": 7, "epsilon": Fraction(1), "step": Fraction(1, 10)},
        {
            "title": NOT_TEXT,
            "readings": (None, 0, *NOT_A_COUNT),
            "epsilon": NOT_EXACT,
            "step": NOT_EXACT,
            "budget": NOT_EXACT,
        },
    ),
    "statistic_mechanism": Door(
        dx.lab.statistic_mechanism,
        {"statistic": statistic, "body": "box"},
        {
            "statistic": (None, "mean", metric, queries, matrix, ["age"], {"age": 1}),
            "body": NOT_A_CHOICE,
            "limits": (3, "few", {"facets": 3}),
            "title": NOT_TEXT,
            "budget": NOT_EXACT,
        },
    ),
    "in_sequence": Door(
        dx.mechanisms.contract.in_sequence,
        {"parts": [mechanism, mechanism], "shares": [HALF, HALF]},
        {
            "parts": NOT_MECHANISMS,
            "shares": (3, "half", ["a", "b"], [0.5, 0.5], [HALF], [math.nan, 1], {"a": HALF}),
            "name": NOT_TEXT,
        },
    ),
    "in_parallel": Door(
        dx.mechanisms.contract.in_parallel,
        {"metric": metric, "labels": [0, 0, 0], "make": lambda part, _: dx.selection(part, _two_of(part.size))},
        {
            "metric": NOT_A_METRIC,
            "labels": (None, 3, "grade", RAGGED, {"a": 1}, [0, 0], metric, TABLE),
            "make": NOT_A_FUNCTION,
            "name": NOT_TEXT,
        },
    ),
    "k_norm_noise": Door(dx.noise.k_norm_noise, {"body": dx.geometry.Box(np.ones(2))}, {"body": (None, *NOT_A_BODY)}),
    "lipschitz": Door(
        dx.metrics.lipschitz,
        {"metric": metric, "values": [1, 2, 3]},
        {
            "metric": (None, "policy.yaml", policy, queries, matrix, RAGGED, POLICY),
            "values": NOT_A_MATRIX,
            "tolerance": (None, "small", math.nan, [0.1], -1, matrix),
        },
    ),
    "verify_metric": Door(
        dx.verify_metric,
        {"matrix": matrix},
        {
            "matrix": (*NOT_A_MATRIX, [[0, "a"], ["a", 0]], [[0, None], [None, 0]], matrix * math.nan),
            "title": NOT_TEXT,
            "budget": NOT_EXACT,
            "universe": (3, "policy.yaml", policy, metric, matrix),
            "progress": (3, "print"),
            "first": NOT_YES_OR_NO,
            "privacy": NOT_A_CHOICE,
        },
    ),
    "repair_metric": Door(
        dx.repair_metric,
        {"matrix": matrix},
        {"matrix": (*NOT_A_MATRIX, [[0, "a"], ["a", 0]], matrix * math.nan), "progress": (3, "print")},
    ),
    "verify_edges": Door(
        dx.verify_edges,
        {"edges": EDGES},
        {
            "edges": NOT_EDGES,
            "title": NOT_TEXT,
            "budget": NOT_EXACT,
            "progress": (3, "print"),
            "first": NOT_YES_OR_NO,
            "privacy": NOT_A_CHOICE,
        },
    ),
    "report.review_page": Door(
        dx.report.review_page,
        {"policy": policy, "plan": PLAN, "spend": HALF},
        {
            "policy": NOT_A_POLICY,
            "plan": (3, "plan.json", queries, metric, policy, PLAN.mechanism),
            "spend": NOT_AN_AMOUNT,
            "ledger": (3, math.nan, policy, ["ledger.db"]),
            "releases": (3, "answers.json", policy, ["answers.json"], [policy]),
            "plan_digest": NOT_TEXT[1:],
        },
    ),
    "report.changes_page": Door(
        dx.report.changes_page, {"old": policy, "new": policy}, {"old": NOT_A_POLICY, "new": NOT_A_POLICY}
    ),
    "report.read_release": Door(dx.report.read_release, {"path": "answers.json"}, {"path": NOT_A_PATH}),
    "learning.PrivateLinearRegression": Door(_line, {"mechanism": "cylinders"}, {"mechanism": NOT_A_CHOICE}),
    "repair_edges": Door(dx.metrics.repair_edges, {"edges": EDGES}, {"edges": NOT_EDGES, "progress": (3, "print")}),
}


def _two_of(size: int) -> dx.LinearQueries:
    return dx.LinearQueries.from_matrix(["first", "last"], np.eye(size, dtype=np.int64)[[0, -1]])


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, (str, int, float, type(None))) else type(value).__name__


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY_TEXT)
    Path("queries.yaml").write_text(QUERIES_TEXT)
    Path("plan.json").write_text(PLAN_TEXT)
    Path("answers.json").write_text(ANSWERS_TEXT)


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, door in DOORS.items() for argument in door.wrong]
)
def test_a_wrong_argument_is_refused_with_a_sentence_that_names_it(name: str, argument: str) -> None:
    """Each value that the argument may not have, and all that is wrong with any at once."""
    door, named = DOORS[name], (argument, CALLED.get((name, argument), argument))
    before, found = set(Path().iterdir()), []
    for place, value in enumerate(door.wrong[argument]):
        try:
            door.call(**{**door.right, argument: value})
        except dx.DxgeomError as refused:
            message = str(refused)
            if not any(word in message for word in named) or " at 0x" in message:
                found.append((place, _shown(value), message))
        except Exception as other:  # noqa: BLE001
            found.append((place, _shown(value), repr(other)))
        else:
            found.append((place, _shown(value), "was taken"))
        if set(Path().iterdir()) != before:
            found.append((place, _shown(value), "left a file"))
    assert not found


@pytest.mark.parametrize("name", DOORS)
def test_the_right_arguments_are_taken(name: str) -> None:
    if name not in ("LinearQueries.prefixes", "LinearQueries.ranges"):  # words have no order
        DOORS[name].call(**DOORS[name].right)


def test_no_door_is_forgotten() -> None:
    functions = {name for name in dx.__all__ if inspect.isfunction(getattr(dx, name))}
    assert functions <= set(DOORS)


@pytest.mark.parametrize("name", DOORS)
def test_no_argument_of_a_door_is_forgotten(name: str) -> None:
    told = set(inspect.signature(DOORS[name].call).parameters)
    assert told - set(DOORS[name].wrong) <= {"paths", "plan_fingerprint", "at", "ways", "progress"}


@pytest.mark.parametrize(
    ("word", "said"), [("epsilon", "spend=Fraction"), ("seed", "randomness"), ("delta", "privacy")]
)
def test_arguments_of_other_libraries_are_pointed_to_ours(word, said):
    policy = dx.Policy.from_dict(
        {"policy": "p", "universe": {"attributes": {"a": ["x", "y"]}}, "rules": [{"change": "a", "epsilon": 1}]}
    )
    queries = dx.queries_from_dict({"queries": [{"count": "a == 'x'"}]}, policy)
    plan = dx.plan(policy.compile(), queries, **QUICKLY)
    calls = (
        lambda **more: dx.plan(policy.compile(), queries, **more),
        lambda **more: plan.release({"a": ["x"]}, ledger=":memory:", spend=1, **more),
        lambda **more: plan.rehearse(**more),
        lambda **more: dx.compile_and_release(policy, {"a": ["x"]}, queries, ledger=":memory:", spend=1, **more),
        lambda **more: dx.release(plan.mechanism, {"a": ["x"]}, ledger=":memory:", spend=1, **more),
    )
    for call in calls:
        with pytest.raises(WrongArgument, match=f"'{word}' is no argument of") as caught:
            call(**{word: 1})
        assert said in str(caught.value)


def test_every_release_shows_what_may_be_said_of_it_and_takes_nothing_else():
    for call in (dx.Plan.release, dx.release, dx.compile_and_release, dx.Plan.to_opendp):
        shown = inspect.signature(call).parameters
        assert not [one for one in shown.values() if one.kind is one.VAR_KEYWORD]
        assert shown["ledger"].default is inspect.Parameter.empty
        assert (shown["outside"].default, shown["purpose"].default) == ("refuse", "")
    assert "quiet_data" not in inspect.signature(dx.Plan.to_opendp).parameters
    with pytest.raises(TypeError, match="unexpected keyword argument 'ledgr'"):
        dx.Plan.release(None, None, ledger="l.db", ledgr="l.db")
    with pytest.raises(TypeError, match="missing a required"):
        dx.Plan.release(None, None)


def test_columns_in_a_dictionary_are_a_table():
    policy = dx.Policy.from_dict(
        {"policy": "p", "universe": {"attributes": {"a": ["x", "y"]}}, "rules": [{"change": "a", "epsilon": 10**6}]}
    )
    queries = dx.queries_from_dict({"queries": [{"count": "a == 'x'"}]}, policy)
    table = {"a": ["x", "y", "x"], "b": [1, 2, 3]}
    plan = dx.plan(policy.compile(), queries, **QUICKLY)
    assert plan.release(table, ledger=":memory:", spend=1).values == pytest.approx([2], abs=0.1)
    with pytest.raises(DataError, match="the table"):
        plan.release({"a": ["x", "y"], "b": [1]}, ledger=":memory:", spend=1)


def test_a_call_that_is_nearly_right_is_answered_with_what_to_write():
    policy = dx.Policy.from_dict(
        {"policy": "p", "universe": {"attributes": {"a": ["x", "y"]}}, "rules": [{"change": "a", "epsilon": 1}]}
    )
    asked = dx.queries_from_dict({"queries": [{"count": "a == 'x'", "name": "women"}, {"count": "true"}]}, policy)
    metric = policy.compile()
    plan = dx.plan(metric, asked, mechanism="laplace")
    released = plan.release({"a": ["x"]}, ledger=":memory:", spend=1)
    for call, remedy in (
        (lambda: dx.plan(policy, asked), "policy.compile()"),
        (lambda: dx.plan(metric, {"queries": []}), "dx.queries_from_dict(queries, policy)"),
        (lambda: dx.plan(metric, asked, mechanism="laplacian"), "did you mean 'laplace'?"),
        (lambda: dx.plan(metric, asked, errors=[1]), "errors={'women': 50}"),
        (lambda: plan.release({"a": ["x"]}, spend=1), "ledger='privacy.db'"),
        (lambda: plan.release({"a": ["x"]}, ledger=":memory:"), "spend=0.25"),
        (lambda: plan.release({"a": ["x"], "b": ["x", "y"]}, ledger=":memory:", spend=1), "'b' has 2 cells"),
        (lambda: plan.half_widths(95), "95 % is 0.95"),
        (lambda: released.estimate(totals={"wommen": 1}), "did you mean 'women'?"),
        (lambda: released.estimate(totals={"women": "three"}), "write {'women': 3}"),
        (lambda: released.ratio("wommen", "count"), "did you mean 'women'?"),
        (lambda: dx.compile_and_release({}, {}, asked, ledger=":memory:", spend=1), "dx.Policy.from_dict"),
        (lambda: dx.verify_metric([["a"]]), "matrix.astype(float)"),
        (lambda: dx.LinearQueries.from_matrix(["a", "b"], [[1, 0]]), "found 2 names, 1 rows"),
    ):
        with pytest.raises((dx.DxgeomError, TypeError)) as error:
            call()
        assert remedy in str(error.value), str(error.value)
