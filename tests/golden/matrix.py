"""Every public member of plans and of releases beside every kind of question: what it refuses, and in which words.

A member of one kind is asked of all. Of a member that needs arguments these are plain ones. What comes back is not
looked at here: that a cell works, or refuses as what it is, is all.
"""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import matplotlib as mpl

import dxgeom as dx
from dxgeom.errors import DxgeomError
from dxgeom.one_secret.answer_plan import plan_answer
from dxgeom.planner.plan import Plan
from dxgeom.planner.release import Release
from golden.kinds import keeping
from golden.kinds.recipes import even_policy, mixed_policy

HERE = Path(__file__).parent / "recorded" / "matrix.txt"
FILES = (
    "words, every word",
    "listed, pure, changed-queries",
    "tables, pure, plain, marginal-laplace",
    "tables, pure, errors, marginal-laplace",
    "boxes, pure, plain",
    "boxes, pure, errors",
    "quantiles, groups",
    "quantiles, pure, transport",
    *(
        f"tasks, pure, {one}"
        for one in ("several", "select", "select several", "synthesize", "small database", "statistics")
    ),
    *(f"tasks, pure, {one}" for one in ("fit linear", "fit logistic", "series")),
)
"""One of each kind, those whose members differ by more than numbers twice."""
LEDGER = ":memory:"
PLAIN: dict[str, Any] = {"spend": "1/2", "ledger": LEDGER, "level": 0.95, "records": 40}
FACE = ("statements", "names")
"""Members of every plan that counts and sums once had not."""


class Cell(NamedTuple):
    """A member of a thing of some kind, and what came of it: the sentence of a refusal, or a crash."""

    what: str
    member: str
    kind: str
    refused: str
    crashed: str


def public(thing: Any) -> list[str]:
    """The names of a class's members."""
    return [name for name in dir(thing) if not name.startswith("_")]


def plans() -> Iterator[tuple[str, Any]]:
    """A plan of each kind, as it was planned, as it is loaded, and what is in no file."""
    for name in FILES:
        loaded = dx.load_plan(keeping.plan_file(name))
        yield name, loaded.plan
        yield f"{name}, from its file", loaded
        for task in getattr(loaded.plan, "parts", ()) if name.startswith("tasks") and name != FILES[8] else ():
            yield f"{name}, alone", task
    policy = mixed_policy("pure")
    metric, universe = policy.compile(), policy.universe
    counts = dx.queries_from_dict({"records": 40, "queries": [{"marginal": "sex"}, {"count": "age < 3"}]}, policy)
    yield "fresh counts", dx.plan(metric, counts, mechanism="laplace")
    for family in ("mwem", "small-database"):
        yield f"family, {family}", dx.plan(metric, counts, mechanism=family)
    yield "fresh boxes", dx.plan(metric, dx.universe.BoxQueries.of(universe, [{"age": (0, 5)}, {}]))
    even = even_policy("pure")
    yield "fresh tables", dx.plan(even.compile(), dx.universe.MarginalQueries.of(even.universe, [["sex", "ward"], []]))


def releases(made: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """A release of each plan, one about a secret, and one of a mechanism by itself."""
    for kind, plan in made:
        if "from its file" in kind:
            table = keeping.table_of(kind.removesuffix(", from its file"))
            yield kind, plan.release(table, ledger=LEDGER, spend=keeping._spend(plan), insecure_test_seed=1)
        elif kind.startswith(("fresh", "family")):
            yield kind, plan.release(keeping.TABLES / "people.csv", ledger=LEDGER, spend=1, insecure_test_seed=1)
    ages = {"policy": "ages", "universe": {"attributes": {"age": {"range": [0, 6], "step": 2}}}, "budget": 9}
    policy = dx.Policy.from_dict({**ages, "rules": [{"change": "age", "epsilon": 1}]})
    yield "a secret", plan_answer(policy, "staircase", spend=1).release(4, ledger=LEDGER, insecure_test_seed=1)
    mechanism = made[0][1].mechanism
    yield "a mechanism", dx.release(mechanism, keeping.TABLES / "people.csv", ledger=LEDGER, spend=1, insecure_test_seed=1)


def arguments(call: Callable[..., Any], names: tuple[str, ...], kind: str) -> tuple[list[Any], dict[str, Any]]:
    """Plain ones for all that have to be given."""
    plain = {**PLAIN, "table": keeping.table_of(kind.partition(", from")[0].partition(", alone")[0])}
    name = names[0] if names else "none"
    plain |= {"name": name, "numerator": name, "denominator": name, "shares": name}
    ordered, named = [], {}
    for one in inspect.signature(call).parameters.values():
        if one.default is one.empty and one.kind is one.KEYWORD_ONLY:
            named[one.name] = plain[one.name]
        elif one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD:
            ordered.append(plain[one.name])
    return ordered, named


def cell(what: str, kind: str, thing: Any, member: str, names: tuple[str, ...]) -> Cell:
    """What comes of one member."""
    try:
        found = getattr(thing, member)
        if callable(found) and not isinstance(found, type):
            ordered, named = arguments(found, names, kind)
            found(*ordered, **named)
    except DxgeomError as error:
        return Cell(what, member, kind, str(error), "")
    except Exception as error:  # noqa: BLE001 (that it is none of the package's is what is looked for)
        return Cell(what, member, kind, "", f"{type(error).__name__}: {error}")
    return Cell(what, member, kind, "", "")


def cells() -> Iterator[Cell]:
    """All of them."""
    mpl.use("agg")
    made = list(plans())
    shared = dict.fromkeys((*public(Plan), *FACE))
    for kind, plan in made:
        for member in dict.fromkeys((*shared, *public(type(plan)), "__repr__", "_repr_html_")):
            yield cell("plan", kind, plan, member, ())
    for kind, release in releases(made):
        names = tuple(getattr(release.answer, "by_name", ()))
        for member in (*public(Release), "__getitem__", "__repr__", "_repr_html_"):
            yield cell("release", kind, release, member, names)
