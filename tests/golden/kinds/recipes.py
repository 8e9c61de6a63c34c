"""How the plans of every kind were made that stand in ``plans``: small, and one for each kind of question and of noise.

A recipe searches for shapes, so on another machine it may find other numbers: tests never plan, they read the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import dxgeom as dx
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.candidates import build, names
from dxgeom.planner.wish import BOX_NOISE, PlanOptions

TABLES = Path(__file__).parent / "tables"
ROWS = 40
"""Lines of ``people.csv``, of 25 people, who keep 36 of them where two of each count."""

VARIANTS: dict[str, dict[str, Any]] = {
    "pure": {},
    "pure, presence": {"presence": True},
    "pure, once": {"people": {"column": "who", "count": "once"}},
    "pure, rows": {"people": {"column": "who", "count": "rows", "at_most": 2, "order": "at"}},
    "concentrated": {"privacy": "concentrated"},
    "concentrated, presence": {"privacy": "concentrated", "presence": True},
    "concentrated, once": {"privacy": "concentrated", "people": {"column": "who", "count": "once"}},
}
COUNTED = {"once": 25, "rows": 36}
PURE, CONCENTRATED = tuple(VARIANTS)[:4], tuple(VARIANTS)[4:]

SEX, WARD, SMOKES, AGE = (
    {"sex": ["F", "M"]},
    {"ward": ["A", "B", "C"]},
    {"smokes": ["no", "yes"]},
    {"age": {"range": [0, 9], "step": 1}},
)
BY_AGE = {"change": "age", "epsilon": "0.2", "per": 1}


def records_of(variant: str) -> int:
    return COUNTED.get(variant.rpartition(", ")[2], ROWS)


def policy_of(variant: str, attributes: dict[str, Any], *rules: dict[str, Any], **more: Any) -> dx.Policy:
    """A policy of this variant; without rules every attribute has a constant of its own."""
    said = dict(VARIANTS[variant])
    stated = [*rules] or [
        {"change": name, "epsilon": ("0.5", "1", "1.5")[place]} for place, name in enumerate(attributes)
    ]
    if said.pop("presence", False):
        stated.append({"presence": True, "epsilon": "1.5"})
    known = {"policy": f"every kind, {variant}", "universe": {"attributes": attributes}, "rules": stated}
    known |= {"budget": 100, "dataset": {"name": "people"}, **said, **more}
    return dx.Policy.from_dict({key: value for key, value in known.items() if value is not None})


def mixed_policy(variant: str, **more: Any) -> dx.Policy:
    rules = [{"change": "sex", "epsilon": 1}, {"change": "ward", "epsilon": "0.5"}, BY_AGE]
    return policy_of(variant, {**SEX, **WARD, **AGE}, *rules, **more)


def even_policy(variant: str) -> dx.Policy:
    return policy_of(variant, {**SEX, **WARD, **SMOKES})


def uneven_policy(variant: str) -> dx.Policy:
    return policy_of(variant, {**SEX, **AGE}, {"change": "sex", "epsilon": 1}, BY_AGE)


@dataclass(frozen=True)
class Recipe:
    """A plan file to be. ``spend``: what the file states. ``table``: of ``tables``, what it is released from."""

    make: Callable[[dx.Policy], Any]
    policy: Callable[[], dx.Policy]
    spend: str | None = "1/2"
    table: str = "people.csv"


LISTED = {
    "queries": [
        {"name": "elder women", "count": "sex == 'F' and age >= 5"},
        {"sum": "age"},
        {"marginal": "ward", "importance": 2},
    ]
}
FEW = {"queries": LISTED["queries"][:2]}
OPTIONS: dict[str, Callable[[str], dict[str, Any]]] = {
    "changed-queries": lambda variant: {"records": records_of(variant)},
    "body": lambda variant: {"body": dx.geometry.PowerBall(np.array([1.0, 8.0, 1.0, 1.0, 1.0]), 1.5)},
}
ELSEWHERE = {
    "marginal-laplace",
    "marginal-gaussian",
    "kronecker-gaussian",
    "product-laplace",
    "product-gaussian",
    *BOX_NOISE,
}


def recipes() -> Iterator[tuple[str, Recipe]]:
    """All of them, each with its name; some cannot be built."""
    yield from _listed()
    yield from _bodies()
    yield from _tables_and_boxes_listed()
    yield from _products()
    yield from _worded()
    yield from _tables()
    yield from _boxes()
    yield from _quantiles()
    yield from _tasks()
    yield from _distinct()
    yield from _adaptive()

    yield from _keys()


def linear(asked: Any, **options: Any) -> Callable[[dx.Policy], Any]:
    how = {"thorough": True, **options}
    return lambda policy: dx.plan(policy.compile(), _queries(asked, policy), **how)


def _queries(asked: Any, policy: dx.Policy) -> Any:
    return asked(policy.universe) if callable(asked) else dx.queries_from_dict(asked, policy, folder=TABLES)


def _listed() -> Iterator[tuple[str, Recipe]]:
    """Noise on a few answers, by every name."""
    for name in (name for name in names() if name not in ELSEWHERE):
        for variant in VARIANTS:
            options = OPTIONS.get(name, lambda variant: {})(variant)
            make = linear(LISTED, mechanism=name, **options)
            yield f"listed, {variant}, {name}", Recipe(make, lambda variant=variant: mixed_policy(variant))


def _bodies() -> Iterator[tuple[str, Recipe]]:
    shapes = dx.geometry
    bodies = {
        "Box": shapes.Box(np.array([1.0, 8.0])),
        "CrossPolytope": shapes.CrossPolytope(np.array([1.0, 8.0])),
        "Ellipsoid": shapes.Ellipsoid(np.array([[1.0, 0.5], [0.0, 8.0]])),
        "PowerBall": shapes.PowerBall(np.array([1.0, 8.0]), 1.5),
        "CartesianProduct": shapes.CartesianProduct((shapes.Box(np.ones(1)), shapes.Box(np.array([8.0])))),
        "FreeSum": shapes.FreeSum((shapes.Box(np.ones(1)), shapes.Box(np.array([8.0])))),
        "LinearImage": shapes.LinearImage(shapes.Box(np.ones(2)), np.array([[1.0, 0.5], [0.0, 8.0]])),
        "HalfspacePolytope": shapes.HalfspacePolytope(
            np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, 8.0, 8.5])
        ),
        "SymmetricPolytope": shapes.hull_of_points(np.array([[1.0, 0.0], [0.0, 8.0], [0.75, 4.0]])),
    }
    for kind, body in bodies.items():
        make = linear(FEW, mechanism="body", search=dx.Search(body=body))
        yield f"own body, {kind}", Recipe(make, lambda: mixed_policy("pure", dataset=None))


def _tables_and_boxes_listed() -> Iterator[tuple[str, Recipe]]:
    """Noise in tables, along bases and in boxes, as it is put on answers that are listed."""
    cells = {"queries": [{"marginals": {"ways": 2}}, {"marginal": ["sex"], "importance": 3}]}
    for variant in VARIANTS:
        named = ("marginal-laplace",) if variant in PURE else ("marginal-gaussian", "gaussian")
        for name in named:
            make = linear(cells, mechanism=name)
            yield f"cells, {variant}, {name}", Recipe(make, lambda variant=variant: even_policy(variant))
        if variant in CONCENTRATED:
            make = linear({"queries": [{"marginals": {"ways": 2}}]}, mechanism="kronecker-gaussian")
            policy = lambda variant=variant: uneven_policy(variant)  # noqa: E731
            yield f"cells, {variant}, kronecker-gaussian", Recipe(make, policy)
        for name in BOX_NOISE:
            policy = lambda variant=variant: mixed_policy(variant)  # noqa: E731
            yield f"intervals, {variant}, {name}", Recipe(_built(INTERVALS, name), policy)


def _products() -> Iterator[tuple[str, Recipe]]:
    """Noise in products, for records that come and go."""
    tables = {"queries": [{"prefixes": "age"}, {"marginals": {"ways": 2, "of": ["sex", "ward"]}}, {"sum": "age"}]}
    noise = {"pure": "product-laplace", "concentrated": "product-gaussian"}
    for variant in ("pure", "pure, once", "concentrated", "concentrated, once"):
        rule = {"presence": True, "epsilon": "1.5"}
        policy = lambda variant=variant, rule=rule: policy_of(variant, {**SEX, **WARD, **AGE}, rule)  # noqa: E731
        own, *rest = variant.split(", ")
        name = ", ".join([own, "presence", *rest, noise[own]])
        yield f"products, {name}", Recipe(linear(tables, mechanism=noise[own]), policy)
    rule = {"between": "everything", "epsilon": "1.5"}
    policy = lambda: policy_of("concentrated", {**SEX, **WARD, **AGE}, rule)  # noqa: E731
    yield "products, concentrated, product-gaussian", Recipe(linear(tables, mechanism="product-gaussian"), policy)


INTERVALS = {
    "queries": [{"prefixes": "age"}, {"ranges": "age", "at": [3, 6], "where": "sex == 'F'"}, {"count": "true"}]
}


def _built(asked: Any, name: str) -> Callable[[dx.Policy], Any]:
    """Noise in boxes is a candidate for hundreds of listed answers only; here it is put on a few."""

    def make(policy: dx.Policy) -> Any:
        metric, queries = policy.compile(), _queries(asked, policy)
        plan = dx.plan(metric, queries, mechanism="laplace", objective="mse")
        shared = CandidateBuilder(sensitivity_of(metric, queries), options=PlanOptions())
        return replace(plan, mechanism=build(name, shared))

    return make


def _worded() -> Iterator[tuple[str, Recipe]]:
    """What may be asked, and what may be made small, by one noise."""
    every: dict[str, Any] = {
        "records": ROWS,
        "queries": [
            {"name": "women", "count": "sex == 'F'", "unit": "people", "error": 4},
            {"sum": "age", "by": "sex"},
            {"mean": "age", "where": "ward != 'C'"},
            {"share": "age < 3"},
            {"marginals": {"ways": 1, "of": ["sex", "ward"]}},
            {"prefixes": "age", "at": [2, 5]},
            {"ranges": "age", "at": [4]},
        ],
    }
    ratios = {"queries": [{"mean": "age", "by": "ward"}, {"share": "age < 3", "where": "sex == 'F'"}]}
    bins = {"dose": {"bins": ["0", "0.5", "2.5", "10"]}, **SEX}
    asked: dict[str, tuple[Any, dict[str, Any]]] = {
        "every word": (every, {}),
        "every word, the worst": (every, {"objective": "max"}),
        "every word, the total": (every, {"objective": "mse"}),
        "every word, quick": (every, {"thorough": False}),
        "importance and errors": (FEW, {"importance": [3, 1]}),
        "errors": (FEW, {"errors": {"elder women": "2.5"}}),
        "a matrix": (_of_matrix, {}),
        "a bare matrix": (lambda universe: dx.LinearQueries.from_matrix(["a", "b"], _weights(universe.size)), {}),
        "a product": (
            lambda universe: dx.LinearQueries.kronecker(
                ["1", "2", "3", "4"],
                universe,
                {"sex": [[1, 0], [1, 1]], "ward": [[1, 2, 3], [0, 0, 1]]},
                Fraction(1, 3),
            ),
            {},
        ),
        "cells in Python": (lambda universe: dx.LinearQueries.marginals(universe, ways=1), {}),
        "prefixes in Python": (lambda universe: dx.LinearQueries.prefixes(universe, "age"), {}),
        "ranges in Python": (lambda universe: dx.LinearQueries.ranges(universe, "age", at=[2, 6]), {}),
        "boxes in Python": (lambda universe: dx.LinearQueries.boxes(universe, [{"age": (2, 5)}, {"sex": (0, 1)}]), {}),
        "stacked in Python": (
            lambda universe: dx.LinearQueries.stack(
                [dx.LinearQueries.marginals(universe, [["sex"]]), dx.LinearQueries.prefixes(universe, "age")]
            ),
            {},
        ),
    }
    for name, (what, options) in asked.items():
        make = linear(what, **{"mechanism": "laplace", **options})
        yield f"words, {name}", Recipe(make, lambda: mixed_policy("pure"), None if "errors" in name else "1/2")
    yield "words, ratios, presence", Recipe(linear(ratios, mechanism="laplace"), lambda: mixed_policy("pure, presence"))
    yield "words, rounded", Recipe(linear({"queries": [{"sum": "dose", "by": "sex"}]}), lambda: policy_of("pure", bins))
    spread = {"queries": [{"variance": "age", "where": "ward != 'C'"}, {"variance": "age", "by": "sex"}]}
    yield "variances, of groups", Recipe(linear(spread, mechanism="laplace"), lambda: mixed_policy("pure"))
    weights = {"queries": [{"matrix": "weights.csv"}]}
    yield "words, a matrix in a file", Recipe(linear(weights), lambda: policy_of("pure", SEX))
    asked_of_posts = {"queries": [{"marginal": "post"}, {"sum": "pay"}]}
    yield "words, a list of records", Recipe(linear(asked_of_posts), _listed_policy, table="posts.csv")


def _weights(size: int) -> Any:
    return np.array([[Fraction(place, 7) for place in range(size)], [place % 3 for place in range(size)]], dtype=object)


def _of_matrix(universe: Any) -> Any:
    return dx.LinearQueries.from_matrix(["a", "b"], _weights(universe.size), universe)


def _listed_policy() -> dx.Policy:
    """A universe that lists its records."""
    stated = {"table": "posts.csv", "attributes": {"pay": {"range": [0, 10], "step": 5}}}
    rules = [{"change": "pay", "epsilon": "0.2", "per": 1}, {"change": "post", "epsilon": 1}]
    policy = {"policy": "every kind, listed", "universe": stated, "rules": rules, "budget": 100}
    return dx.Policy.from_dict({**policy, "dataset": {"name": "people"}}, folder=TABLES)


def _tables() -> Iterator[tuple[str, Recipe]]:
    """Whole tables, of which no cell is listed."""
    of = dx.universe.MarginalQueries.of
    groups = [["sex", "ward"], ["ward", "smokes"], ["smokes"], []]
    asked: dict[str, Callable[[Any], Any]] = {
        "plain": lambda universe: of(universe, groups),
        "importance": lambda universe: of(universe, groups, importance=[1, 2, 1, 3], records=ROWS),
        "errors": lambda universe: of(universe, groups, errors=[4, None, None, 2]),
    }
    for variant in VARIANTS:
        name = "marginal-laplace" if variant in PURE else "marginal-gaussian"
        policy = lambda variant=variant: even_policy(variant)  # noqa: E731
        for how, what in asked.items():
            make = linear(what, mechanism=name)
            if variant in ("pure", "concentrated") or (how == "plain"):
                yield f"tables, {variant}, {how}, {name}", Recipe(make, policy, None if how == "errors" else "1/2")
        yield (
            f"tables, {variant}, the worst, {name}",
            Recipe(linear(asked["plain"], mechanism=name, objective="max"), policy),
        )
        if variant in CONCENTRATED:
            two = lambda universe: of(universe, [["sex", "age"], ["age"]])  # noqa: E731
            policy = lambda variant=variant: uneven_policy(variant)  # noqa: E731
            yield f"tables, {variant}, kronecker-gaussian", Recipe(linear(two, mechanism="kronecker-gaussian"), policy)


def _boxes() -> Iterator[tuple[str, Recipe]]:
    """Counts in boxes, of which no weight is laid out."""
    of = dx.universe.BoxQueries.of
    some: list[dict[str, Any]] = [{"age": (0, 5)}, {"age": (2, 9), "sex": (0, 1)}, {"ward": (1, 3)}, {}]
    ends = {"universe": dx.universe.BoxQueries.prefixes}
    asked: dict[str, Callable[[Any], Any]] = {
        "plain": lambda universe: of(universe, some),
        "prefixes": lambda universe: ends["universe"](universe, "age"),
        "importance": lambda universe: of(universe, some, importance=[1, 2, 1, 3], records=ROWS),
        "errors": lambda universe: of(universe, some, errors=[4, None, None, 2]),
    }
    for variant in VARIANTS:
        policy = lambda variant=variant: mixed_policy(variant)  # noqa: E731
        for how, what in asked.items():
            if variant in ("pure", "concentrated") or how == "plain":
                yield f"boxes, {variant}, {how}", Recipe(linear(what), policy, None if how == "errors" else "1/2")
        for name in BOX_NOISE if variant in CONCENTRATED else BOX_NOISE[:1]:
            make = linear(asked["plain"], mechanism=name, objective="max")
            yield f"boxes, {variant}, the worst, {name}", Recipe(make, policy)


def _quantiles() -> Iterator[tuple[str, Recipe]]:
    ages = {"queries": [{"median": "age"}, {"name": "some", "quantiles": "age", "at": ["1/4", "9/10"]}]}
    apart = [
        {"name": "by ward", "quantiles": "age", "at": ["1/2"], "by": "ward"},
        {"median": "age", "where": "ward != 'C'"},
    ]
    groups = {"records": ROWS, "queries": apart}
    for variant in VARIANTS:
        for mechanism in ("auto", "transport", "laplace"):
            make = linear(ages, mechanism=mechanism, spend="1/2")
            yield f"quantiles, {variant}, {mechanism}", Recipe(make, lambda variant=variant: mixed_policy(variant))
    alone = lambda: policy_of("pure", {**WARD, **AGE}, BY_AGE, unconnected="allow")  # noqa: E731
    yield "quantiles, groups", Recipe(linear(groups, spend="1/2"), alone)


TASKS: dict[str, Any] = {
    "counts": {"queries": LISTED["queries"]},
    "quantiles": {"queries": [{"median": "age"}]},
    "select": {"select": {"best": "ward"}},
    "select by exponential": {"select": {"best": ["sex", "ward"], "by": {"sum": "age"}, "law": "exponential"}},
    "select several": {"select": {"best": "ward", "top": 2, "where": "age >= 2"}},
    "select of queries": {"select": {"best": [{"count": "age < 3"}, {"count": "age > 6", "name": "old"}]}},
    "synthesize": {"synthesize": {"workload": [{"marginals": {"ways": 1}}], "rows": 30}},
    "synthesize at once": {
        "synthesize": {"workload": [{"marginal": "sex"}, {"prefixes": "age", "at": [3, 6]}], "rounds": 0}
    },
    "synthesize in rounds": {"synthesize": {"workload": [{"marginals": {"ways": 1}}], "rounds": 3}},
    "small database": {"small_database": {"workload": [{"marginal": "sex"}, {"count": "age < 3"}], "rows": 2}},
    "small database by exponential": {
        "small_database": {"workload": [{"marginal": "sex"}], "rows": 2, "law": "exponential"}
    },
    "statistics": {"statistics": {"moments": ["age"], "degree": 2, "where": "sex == 'F'"}},
    "fit linear": {"fit": {"linear": "age", "by": ["sex", "ward"]}},
    "fit logistic": {"fit": {"logistic": "sex", "by": "age", "ridge": 2}},
}


def _distinct() -> Iterator[tuple[str, Recipe]]:
    """Numbers of different values; people who are spread over their rows have none."""
    task = {"name": "one", "distinct": {"of": ["sex", "ward"], "where": "age >= 2"}}
    for variant in VARIANTS:
        make = linear({"tasks": [task]}, spend="1/2")
        yield f"distinct, {variant}", Recipe(make, lambda variant=variant: mixed_policy(variant))


def _adaptive() -> Iterator[tuple[str, Recipe]]:
    """Tables that follow the data; people who are spread over their rows have none."""
    tables = [{"marginals": {"ways": 1, "of": ["sex", "ward"]}}, {"marginal": ["sex", "ward"]}]
    for variant in VARIANTS:
        for how, bars in (("bars", {}), ("no bars", {"bars": 0, "rows": 30})):
            task = {"name": "one", "adaptive": {"workload": tables, "rounds": 2, **bars}}
            make = linear({"tasks": [task]}, spend="1/2")
            yield f"adaptive, {variant}, {how}", Recipe(make, lambda variant=variant: mixed_policy(variant))


def _keys() -> Iterator[tuple[str, Recipe]]:
    """Counts of keys, reported from a number on, or such that few are expected that no record has."""
    for variant in VARIANTS:
        for how, said in (("spurious", {"spurious": "0.5"}), ("at least", {"at_least": 3})):
            if how == "spurious" or variant in ("pure", "concentrated"):
                make = linear({"tasks": [{"name": "one", "keys": ["ward", "age"], **said}]}, spend="1/2")
                policy = lambda variant=variant: mixed_policy(variant)  # noqa: E731
                yield f"keys, {variant}, {how}", Recipe(make, policy)


def _tasks() -> Iterator[tuple[str, Recipe]]:
    for variant in VARIANTS:
        policy = lambda variant=variant: mixed_policy(variant)  # noqa: E731
        for name, task in TASKS.items():
            make = linear({"tasks": [{"name": "one", **task}]}, spend="1/2")
            yield f"tasks, {variant}, {name}", Recipe(make, policy)
        third = TASKS["statistics" if "presence" in variant else "select"]
        several = [
            {"name": "sums", "share": "1/2", **TASKS["counts"]},
            {"name": "ages", "share": "1/4", **TASKS["quantiles"]},
            {"name": "most", "share": "1/4", **third},
        ]
        records = {} if "presence" in variant else {"records": records_of(variant)}
        make = linear({"tasks": several, **records}, spend="1/2")
        yield f"tasks, {variant}, several", Recipe(make, policy)
    readings = {name: {"range": [0, 40], "step": "0.5"} for name in ("morning", "noon", "evening")}
    for variant in ("pure", "concentrated"):
        yield (
            f"tasks, {variant}, series",
            Recipe(
                linear({"tasks": [{"name": "one", "series": [*readings]}]}, spend="1/2"),
                lambda variant=variant: policy_of(
                    variant,
                    readings,
                    {"change": [*readings], "epsilon": "0.05", "per": 1, "measure": "max", "together": True},
                ),
                table="readings.csv",
            ),
        )
