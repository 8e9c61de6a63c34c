"""Policies that mean something else have other fingerprints: every field of every model is changed once.

Which fields there are is derived from the models, so that one that is forgotten here fails. What carries no meaning is
named with the reason, and then must not change a fingerprint either.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from dxgeom.metrics.matrices import DenseMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.verification import FAMILIES
from dxgeom.policy.policy import Policy
from dxgeom.policy.syntax.models import PolicySyntax

SITES = "key,other,lat,lon,x,y,z,area,own\na,c,1,2,0,0,9,n,0.1\nb,d,3,4,5,0,8,n,0.2\n"
ROADS = "from,to,long,wide\nu,v,1,2\nv,w,3,3\n"


def region(key: str, corners: str) -> str:
    shape = f'{{"type":"Polygon","coordinates":[[{corners}]]}}'
    return f'{{"type":"Feature","properties":{{"key":"{key}","other":"o{key}"}},"geometry":{shape}}}'


TWO = (region("a", "[0,0],[1,0],[1,1],[0,1],[0,0]"), region("b", "[2,0],[3,0],[3,1],[2,1],[2,0]"))
REGIONS = f'{{"type":"FeatureCollection","features":[{TWO[0]},{TWO[1]}]}}'
FILES = {
    "sites.csv": SITES,
    "moved.csv": SITES.replace("b,d,3,4,5,", "b,d,3,4,6,"),
    "roads.csv": ROADS,
    "longer.csv": ROADS.replace("v,w,3", "v,w,4"),
    "crossings.csv": "node\nu\nv\nw\n",
    "towns.csv": "node,area\nw,n\nv,n\nu,m\n",
    "regions.geojson": REGIONS,
    "larger.geojson": REGIONS.replace("[3,1]", "[3,2]"),
    "records.csv": "a,n\nx,1\nx,2\ny,2\n",
    "reordered.csv": "a,n\nx,2\nx,1\ny,2\n",
    "edges.csv": "from,to,far,near\nx,y,2,1\n",
    "others.csv": "from,to,far,near\nx,z,2,1\n",
    "words.txt": "x\ny\n",
    "more.txt": "x\nz\n",
    "known.csv": "a,count\nx,3\ny,4\n",
    "other.csv": "a,count\nx,3\ny,5\n",
}
PLANE = {"points": "sites.csv", "key": "key", "x": "x", "y": "y", "unit": "km"}
GLOBE = {"points": "sites.csv", "key": "key", "latitude": "lat", "longitude": "lon"}
NEAREST = {"longitude": "lo", "latitude": "la", "at_most": "5 km"}
EDGES = {"change": "a", "secrets": {"edges": "edges.csv"}}


def one(attribute: Any, *rules: Any, **more: Any) -> dict[str, Any]:
    """A policy of an attribute ``a``, which by default is bounded by a constant, beside two others."""
    attributes = {"a": attribute, "b": ["s", "t"], "c": ["h", "k"]}
    stated = [*(rules or [{"change": "a", "epsilon": 1}]), {"change": "b", "epsilon": 2}, {"change": "c", "epsilon": 3}]
    return {"policy": "p", "universe": {"attributes": attributes}, "rules": stated, "unconnected": "allow", **more}


BASES: dict[str, dict[str, Any]] = {
    "words": one(["x", "y"]),
    "presence": one(["x", "y"], {"change": "a", "epsilon": 1}, {"presence": True, "epsilon": 1}),
    "listed words": one({"values": ["x", "y"]}),
    "words of a file": one({"values": {"file": "words.txt"}}),
    "missing": one({"values": ["x", "y"], "missing": {"epsilon": 1}}),
    "prefix": one({"values": ["x", "y"], "from": "icd", "prefix": 1}),
    "part": one({"range": [1, 4], "step": 1, "from": "day", "as": "quarter", "zone": "UTC"}),
    "range": one({"range": [0, 10], "step": 5}),
    "clamped": one({"range": [0, 10], "step": 5, "clamp": [0, 20]}),
    "bins": one({"bins": [0, 1, 3]}),
    "even bins": one({"bins": [0, 1, 2, 3]}),
    "dates": one({"dates": ["2024-01-01", "2024-01-10"], "step": 3}),
    "plane": one(PLANE),
    "globe": one(GLOBE),
    "nearest": one({**GLOBE, "nearest": NEAREST}),
    "nearest in a plane": one({**PLANE, "nearest": {"x": "xx", "y": "yy", "at_most": "5 km"}}),
    "graph": one({"graph": "roads.csv", "length": "long", "unit": "km"}),
    "regions": one({"regions": "regions.geojson", "key": "key", "longitude": "lo", "latitude": "la"}),
    "table": {
        "policy": "p",
        "universe": {"table": "records.csv", "attributes": {"n": {"range": [1, 2], "step": 1}}},
        "rules": [{"change": ["a", "n"], "epsilon": 1}],
    },
    "together": one(["x", "y"], {"change": ["a", "b"], "together": True, "epsilon": 1}),
    "largest": one(
        {"range": [0, 2], "step": 1},
        {"change": ["a", "d"], "together": True, "measure": "max", "per": "1 step", "epsilon": 1},
    ),
    "everything": one(["x", "y"], {"between": "everything", "epsilon": 1}),
    "per": one(PLANE, {"change": "a", "epsilon": 1, "per": "1 km"}),
    "within": one(PLANE, {"change": "a", "epsilon": 1, "within": "5 km"}),
    "edges": one(["x", "y", "z"], {**EDGES, "epsilon": 1}),
    "weights": one(["x", "y", "z"], {**EDGES, "weight": "far"}),
    "partition": one(["x", "y"], {"secrets": {"partition": "a"}, "epsilon": 1}),
    "column": one(PLANE, {"change": "a", "secrets": {"partition": "area"}, "epsilon": 1}),
    "values": one(["x", "y", "z"], {"change": "a", "values": {"x": 1}, "otherwise": 2}),
    "individuals": one(["x", "y", "z"], {"change": "a", "individuals": {"x": 1}, "otherwise": 2}),
    "people": one(["x", "y"], people={"column": "who", "count": "once"}),
    "rows": one(["x", "y"], people={"column": "who", "count": "rows", "at_most": 2, "order": "when"}),
    "rows spread": one(["x", "y"], people={"column": "who", "count": "rows", "at_most": 2}),
    "units": one({"range": [0, 10], "step": 5, "missing": {"epsilon": 1, "written": ["99"]}, "units": {"kg": 1}}),
    "recoded": one({"values": ["x", "y"], "words": {"z": "y"}}),
    "dotted dates": one({"dates": ["2024-01-01", "2024-01-10"], "step": 3, "written": "31.12.2025"}),
    "commas": one({"range": [0, 10], "step": 5}, reading={"decimal": ",", "thousands": ".", "missing": ["NA"]}),
    "totals": one(["x", "y"], reading={"ignore": {"id": ["Total"]}}),
    "no header": one(["x", "y"], reading={"header": "none", "names": ["a", "b"]}),
    "file": one(["x", "y"], reading={"separator": ";"}),
    "named data": one(["x", "y"], dataset={"name": "v", "edition": "1", "people": "disjoint", "budget": 2}),
}
TIME = {"column": "loaded", "from": "2027-01-01", "to": "2027-12-31", "every": "month"}
THERE = ({"change": "a", "epsilon": 1}, {"presence": True, "epsilon": 1})
ONCE = {"column": "who", "count": "once", "in": "period"}
BASES["time"] = one(["x", "y"], *THERE, time=TIME)
BASES["time in a zone"] = one(["x", "y"], *THERE, time={**TIME, "zone": "UTC"})
BASES["people in periods"] = one(["x", "y"], *THERE, time=TIME, people=ONCE)
BASES["any"] = one(["x", "y"], *THERE, {"any": "3 steps", "epsilon": 1}, time=TIME)
BASES["published"] = one(
    ["x", "y"], THERE[0], {"presence": True, "published": {"at once": 1, "3 steps": 2, "ever": 3}}, time=TIME
)
BASES["open"] = one({"open": "text"}, {"change": "a", "epsilon": 1}, delta="1e-9")
BASES["known"] = one(["x", "y"], known=[{"totals": "a"}])
BASES["known numbers"] = one(["x", "y"], known=[{"totals": "a", "numbers": "known.csv"}])
BASES["known rows"] = one(["x", "y"], known=[{"where": "a == 'x'", "count": 3}])
BASES["largest"]["universe"]["attributes"]["d"] = {"range": [0, 3], "step": 1}

A = ("universe", "attributes", "a")
RULE = ("rules", 0)
LEFT_OUT = object()

MEANT: list[tuple[str, str, tuple[Any, ...], Any]] = [
    ("PolicySyntax.rules", "words", ("rules",), BASES["words"]["rules"][:2]),
    ("PolicySyntax.budget", "words", ("budget",), 2),
    ("PolicySyntax.privacy", "words", ("privacy",), "concentrated"),
    ("PolicySyntax.people", "words", ("people",), {"column": "who", "count": "once"}),
    ("PeopleKeys.column", "people", ("people", "column"), "whose"),
    ("PeopleKeys.count", "people", ("people", "count"), "single"),
    ("PeopleKeys.at_most", "rows", ("people", "at_most"), 3),
    ("PeopleKeys.order", "rows", ("people", "order"), "day"),
    ("PeopleKeys.order", "rows", ("people", "order"), LEFT_OUT),
    ("PeopleKeys.at_most", "rows spread", ("people", "at_most"), 3),
    ("PolicySyntax.time", "presence", ("time",), TIME),
    ("PeopleKeys.count PeopleSyntax.in", "people in periods", ("people",), {"column": "who", "count": "single"}),
    ("TimeKeys.column", "time", ("time", "column"), "a b"),
    ("TimeSyntax.from", "time", ("time", "from"), "2027-02-01"),
    ("TimeSyntax.to", "time", ("time", "to"), "2027-11-30"),
    ("TimeSyntax.every", "time", ("time", "every"), "quarter"),
    ("TimeSyntax.zone", "time in a zone", ("time", "zone"), "Europe/Berlin"),
    ("TimeSyntax.written", "time", ("time", "written"), "31.12.2025"),
    ("TimeSyntax.before", "time", ("time", "before"), "false"),
    ("TimeSyntax.after", "time", ("time", "after"), "false"),
    ("PolicySyntax.known", "words", ("known",), [{"totals": "a"}]),
    ("PolicySyntax.hold", "known", ("hold",), 2),
    ("PolicySyntax.hold", "known", ("hold",), "all"),
    ("PolicySyntax.delta", "open", ("delta",), "1e-8"),
    ("KnownSyntax.totals", "known", ("known", 0), {"totals": "b"}),
    ("KnownSyntax.numbers", "known numbers", ("known", 0, "numbers"), "other.csv"),
    ("KnownSyntax.where", "known rows", ("known", 0, "where"), "a == 'y'"),
    ("KnownSyntax.count", "known rows", ("known", 0, "count"), 4),
    ("UniverseSyntax.table", "table", ("universe", "table"), "reordered.csv"),
    ("UniverseSyntax.attributes", "words", A, ["y", "x"]),
    ("UniverseSyntax.attributes", "words", A, ["x", "y", "z"]),
    (
        "UniverseSyntax.attributes",
        "words",
        ("universe", "attributes"),
        {"b": ["s", "t"], "a": ["x", "y"], "c": ["h", "k"]},
    ),
    ("StatedKeys.missing", "listed words", (*A, "missing"), "public"),
    ("StatedKeys.missing", "missing", (*A, "missing"), "public"),
    ("StatedKeys.missing", "range", (*A, "missing"), {"epsilon": 1}),
    ("MissingSyntax.epsilon", "missing", (*A, "missing", "epsilon"), 2),
    ("MissingSyntax.written", "units", (*A, "missing", "written"), ["98"]),
    ("StatedKeys.words", "recoded", (*A, "words"), {"w": "y"}),
    ("StatedKeys.words", "recoded", (*A, "words"), {"z": "x"}),
    ("StatedKeys.units", "units", (*A, "units"), {"kg": 1, "g": "0.001"}),
    ("StatedKeys.written", "dates", (*A, "written"), "31.12.2025"),
    ("StatedKeys.written", "dotted dates", (*A, "written"), "12.31.2025"),
    ("PolicySyntax.reading", "words", ("reading",), {"case": "fold"}),
    ("PolicySyntax.reading", "range", ("reading",), {"decimal": "."}),
    ("ReadingSyntax.decimal ReadingSyntax.thousands", "commas", ("reading",), {"decimal": ".", "missing": ["NA"]}),
    ("ReadingSyntax.thousands", "commas", ("reading", "thousands"), " "),
    ("ReadingSyntax.trim", "commas", ("reading", "trim"), True),
    ("ReadingSyntax.case", "commas", ("reading", "case"), "fold"),
    ("ReadingSyntax.missing", "commas", ("reading", "missing"), ["-"]),
    ("ReadingSyntax.ignore", "totals", ("reading", "ignore"), {"id": ["Sum"]}),
    ("ReadingSyntax.names", "no header", ("reading", "names"), ["b", "a"]),
    ("StatedKeys.unlisted", "listed words", (*A, "unlisted"), "x"),
    ("AttributeKeys.as", "part", (*A, "as"), "month"),
    ("AttributeKeys.zone", "part", (*A, "zone"), "Europe/Berlin"),
    ("AttributeKeys.from", "prefix", (*A, "from"), "icd10"),
    ("AttributeKeys.from", "range", (*A, "from"), "b0 + 1"),
    ("AttributeKeys.prefix", "prefix", (*A, "prefix"), 2),
    ("ListedWordsSyntax.values", "listed words", (*A, "values"), ["y", "x"]),
    ("WordFile.file", "words of a file", (*A, "values", "file"), "more.txt"),
    ("RangeSyntax.range", "range", (*A, "range"), [0, 14]),
    ("RangeSyntax.range", "range", (*A, "range"), [1, 11]),
    ("RangeSyntax.step", "range", (*A, "step"), 10),
    ("RangeSyntax.whole", "range", (*A, "whole"), True),
    ("RangeSyntax.clamp", "range", (*A, "clamp"), True),
    ("RangeSyntax.wraps", "range", (*A, "wraps"), True),
    ("RangeSyntax.clamp", "clamped", (*A, "clamp"), [0, 50]),
    ("BinsSyntax.whole", "bins", (*A, "whole"), True),
    ("BinsSyntax.clamp", "bins", (*A, "clamp"), [0, 50]),
    ("BinsSyntax.wraps", "even bins", (*A, "wraps"), True),
    ("BinsSyntax.bins", "bins", (*A, "bins"), [0, 2, 3]),
    ("BinsSyntax.bins", "bins", (*A, "bins"), [0, 1, 4]),
    ("DatesSyntax.dates", "dates", (*A, "dates"), ["2024-01-01", "2024-01-11"]),
    ("DatesSyntax.dates", "dates", (*A, "dates"), ["2024-01-02", "2024-01-11"]),
    ("DatesSyntax.step", "dates", (*A, "step"), 1),
    ("PlacesSyntax.points", "plane", (*A, "points"), "moved.csv"),
    ("PlacesSyntax.key", "plane", (*A, "key"), "other"),
    ("PlacesSyntax.x", "plane", (*A, "x"), "z"),
    ("PlacesSyntax.y", "plane", (*A, "y"), "z"),
    ("PlacesSyntax.unit", "plane", (*A, "unit"), "m"),
    ("PlacesSyntax.latitude", "globe", (*A, "latitude"), "x"),
    ("PlacesSyntax.longitude", "globe", (*A, "longitude"), "x"),
    ("PlacesSyntax.nearest", "globe", (*A, "nearest"), NEAREST),
    ("NearestSyntax.longitude", "nearest", (*A, "nearest", "longitude"), "lon2"),
    ("NearestSyntax.latitude", "nearest", (*A, "nearest", "latitude"), "lat2"),
    ("NearestSyntax.x", "nearest in a plane", (*A, "nearest", "x"), "east"),
    ("NearestSyntax.y", "nearest in a plane", (*A, "nearest", "y"), "north"),
    ("NearestSyntax.at_most", "nearest", (*A, "nearest", "at_most"), "5 m"),
    ("GraphSyntax.graph", "graph", (*A, "graph"), "longer.csv"),
    ("GraphSyntax.length", "graph", (*A, "length"), "wide"),
    ("GraphSyntax.unit", "graph", (*A, "unit"), "m"),
    ("GraphSyntax.nodes", "graph", (*A, "nodes"), "towns.csv"),
    ("RegionsSyntax.regions", "regions", (*A, "regions"), "larger.geojson"),
    ("RegionsSyntax.key", "regions", (*A, "key"), "other"),
    ("RegionsSyntax.longitude", "regions", (*A, "longitude"), "east"),
    ("RegionsSyntax.latitude", "regions", (*A, "latitude"), "north"),
    ("RuleKeys.change", "words", (*RULE, "change"), "b"),
    ("RuleKeys.together", "together", (*RULE, "together"), LEFT_OUT),
    ("RuleKeys.measure RuleKeys.per", "largest", RULE, {"change": ["a", "d"], "together": True, "epsilon": 1}),
    ("RuleKeys.between RuleKeys.change", "everything", RULE, {"change": "a", "epsilon": 1}),
    ("RuleKeys.presence RuleKeys.between", "presence", ("rules", 1), {"between": "everything", "epsilon": 1}),
    ("RuleKeys.any", "any", ("rules", 2, "any"), "4 steps"),
    ("RuleKeys.any", "any", ("rules", 2, "any"), "life"),
    ("RuleKeys.published", "published", ("rules", 1, "published", "at once"), "0.5"),
    ("RuleKeys.secrets", "edges", (*RULE, "secrets"), LEFT_OUT),
    ("RuleKeys.epsilon", "words", (*RULE, "epsilon"), "1.5"),
    ("RuleKeys.epsilon", "presence", ("rules", 1, "epsilon"), 2),
    ("RuleKeys.per", "per", (*RULE, "per"), "1 m"),
    ("RuleKeys.within", "within", (*RULE, "within"), "6 km"),
    ("RuleKeys.beyond", "within", (*RULE, "beyond"), "linear"),
    ("RuleSyntax.values", "values", (*RULE, "values"), {"y": 1}),
    ("RuleSyntax.individuals", "individuals", (*RULE, "individuals"), {"y": 1}),
    ("RuleSyntax.otherwise", "values", (*RULE, "otherwise"), 3),
    ("RuleSyntax.otherwise", "individuals", (*RULE, "otherwise"), LEFT_OUT),
    ("RuleSyntax.weight", "weights", (*RULE, "weight"), "near"),
    ("SecretsSyntax.edges", "edges", (*RULE, "secrets", "edges"), "others.csv"),
    ("SecretsSyntax.partition", "column", (*RULE, "secrets", "partition"), "lat"),
    ("SecretsSyntax.partition", "partition", (*RULE, "secrets", "partition"), "b"),
]
"""Field by field, or two where one does not go without the other: the policy that it is changed in, the place, and what
is written there instead."""

OF_ONE_VALUE = {"OpenSyntax.open"}
"""Fields that can be changed into nothing else."""

MEANINGLESS: list[tuple[str, str, tuple[Any, ...], Any, str]] = [
    ("PolicySyntax.policy", "words", ("policy",), "q", "a name, for people"),
    ("PolicySyntax.about", "words", ("about",), "something else", "a sentence, for people"),
    ("PolicySyntax.title", "words", ("title",), "People", "a name, for people"),
    ("PolicySyntax.called", "words", ("called",), "patients", "a word, for people"),
    ("RuleKeys.title", "words", (*RULE, "title"), "the first", "a name, for people"),
    ("StatedKeys.title", "listed words", (*A, "title"), "letter", "a name, for people"),
    ("StatedKeys.labels", "listed words", (*A, "labels"), {"x": "cross"}, "names, for people"),
    ("StatedKeys.name", "plane", (*A, "name"), "other", "a column of names, for people"),
    ("PolicySyntax.unconnected", "words", ("unconnected",), LEFT_OUT, "lets a policy through and changes no distance"),
    ("PolicySyntax.adaptive", "words", ("adaptive",), "allow", "how tables are answered, and no distance"),
    ("PolicySyntax.dataset", "words", ("dataset",), {"name": "v"}, "the account's: data may be named after releases"),
    ("DatasetSyntax.name", "named data", ("dataset", "name"), "w", "the account's: ledgers tell data sets apart"),
    ("DatasetSyntax.edition", "named data", ("dataset", "edition"), "2", "the account's: spends add across editions"),
    ("DatasetSyntax.people", "named data", ("dataset", "people"), LEFT_OUT, "the account's: what adds up with what"),
    ("DatasetSyntax.budget", "named data", ("dataset", "budget"), 3, "the account's: a cap on all policies' spends"),
    ("ReadingSyntax.separator", "file", ("reading", "separator"), "|", "the same cells, exported otherwise"),
    ("ReadingSyntax.quote", "file", ("reading", "quote"), "none", "the same cells, exported otherwise"),
    ("ReadingSyntax.encoding", "file", ("reading", "encoding"), "utf-16", "the same cells, exported otherwise"),
    ("ReadingSyntax.header", "file", ("reading", "header"), 4, "the same cells below other titles"),
    ("ReadingSyntax.sheet", "file", ("reading", "sheet"), "two", "the same cells, exported otherwise"),
    ("ReadingSyntax.line_breaks", "file", ("reading", "line_breaks"), True, "the same cells, where a file has them"),
    ("RangeSyntax.unit", "range", (*A, "unit"), "kg", "a word for people"),
    ("TimeSyntax.title", "time", ("time", "title"), "Loaded", "a word for people"),
    ("BinsSyntax.unit", "bins", (*A, "unit"), "kg", "a word for people"),
    ("GraphSyntax.nodes", "graph", (*A, "nodes"), "crossings.csv", "the same nodes in the same order; columns aside"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("files")
    for name, content in FILES.items():
        (home / name).write_text(content)
    return home


def changed(base: str, path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    data = deepcopy(BASES[base])
    holder = data
    for step in path[:-1]:
        holder = holder[step]
    if value is LEFT_OUT:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return data


def both(folder: Path, base: str, path: tuple[Any, ...], value: Any) -> tuple[Policy, Policy]:
    return tuple(Policy.from_dict(data, folder=folder) for data in (BASES[base], changed(base, path, value)))


def owner(model: type[BaseModel], field: str) -> str:
    """The class that declares the field, so that what all kinds of attributes have is one field."""
    bases = [base for base in model.__mro__ if issubclass(base, BaseModel) and field in base.model_fields]
    return f"{bases[-1].__name__}.{field}"


def differences(one: Any, other: Any, within: str = "") -> set[str]:
    """The fields in which two documents differ, each in its innermost model."""
    if isinstance(one, BaseModel) and type(one) is type(other):
        fields = type(one).model_fields
        found = (differences(getattr(one, field), getattr(other, field), owner(type(one), field)) for field in fields)
        return set().union(*found)
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return set().union(*(differences(mine, theirs, within) for mine, theirs in zip(one, other, strict=True)))
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        return set().union(*(differences(one[key], other[key], within) for key in one))
    return set() if one == other and repr(one) == repr(other) else {within}


def models_in(form: Any) -> Iterator[type[BaseModel]]:
    if isinstance(form, type) and issubclass(form, BaseModel):
        yield form
    for inner in typing.get_args(form):
        yield from models_in(inner)


def all_models(model: type[BaseModel], found: dict[type[BaseModel], None]) -> dict[type[BaseModel], None]:
    if model not in found:
        found[model] = None
        for field in model.model_fields.values():
            for inner in models_in(field.annotation):
                all_models(inner, found)
    return found


def test_every_field_of_the_language_is_changed_once():
    fields = {
        owner(model, name)
        for model in all_models(PolicySyntax, {})
        for name, field in model.model_fields.items()
        # Of a part that every policy has, its own fields are what is changed.
        if field.annotation not in all_models(PolicySyntax, {})
    }
    assert len(fields) > 50
    found = {field for named, *_ in MEANT for field in named.split()} | {named for named, *_ in MEANINGLESS}
    assert found | OF_ONE_VALUE == fields


@pytest.mark.parametrize(("named", "base", "path", "value"), MEANT, ids=lambda one: one if isinstance(one, str) else "")
def test_what_means_something_else_has_another_fingerprint(folder, named, base, path, value):
    before, after = both(folder, base, path, value)
    assert differences(before.resolved.document, after.resolved.document) == set(named.split())
    assert before.fingerprint != after.fingerprint
    assert before.compile().fingerprint == before.fingerprint


@pytest.mark.parametrize(
    ("named", "base", "path", "value", "why"), MEANINGLESS, ids=lambda one: one if isinstance(one, str) else ""
)
def test_what_carries_no_meaning_changes_no_fingerprint(folder, named, base, path, value, why):
    before, after = both(folder, base, path, value)
    assert differences(before.resolved.document, after.resolved.document) == {named}
    assert before.fingerprint == after.fingerprint
    assert before.universe.digest == after.universe.digest


FILES_READ = [
    ("words of a file", "words.txt", "x\ny\n", "y\nx\n"),
    ("plane", "sites.csv", "b,d,3,4,5,0", "b,d,3,4,5,1"),
    ("plane", "sites.csv", "b,d", "e,d"),
    ("globe", "sites.csv", "b,d,3", "b,d,3.0000001"),
    ("graph", "roads.csv", "u,v,1", "u,v,1.5"),
    ("graph", "roads.csv", "u,v,1", "u,w,1"),
    ("regions", "regions.geojson", "[1,1]", "[1,1.5]"),
    ("table", "records.csv", "x,1\nx,2\n", "x,2\nx,1\n"),
    ("edges", "edges.csv", "x,y,2,1", "x,z,2,1"),
    ("weights", "edges.csv", "x,y,2,1", "x,y,3,1"),
]


@pytest.mark.parametrize(("base", "file", "was", "now"), FILES_READ)
def test_what_files_say_changes_the_fingerprint(folder, tmp_path, base, file, was, now):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content.replace(was, now, 1) if name == file else content)
    assert was in FILES[file]
    one, other = (Policy.from_dict(BASES[base], folder=home) for home in (folder, tmp_path))
    assert one.fingerprint != other.fingerprint


def description(thing: Any) -> Any:
    """A metric by the fields of its class, and of those of its parts, exactly."""
    if is_dataclass(thing):
        return [type(thing).__name__, *(description(getattr(thing, one.name)) for one in dataclass_fields(thing))]
    if isinstance(thing, tuple):
        return [description(one) for one in thing]
    return thing.tolist() if isinstance(thing, np.ndarray) else str(thing)


def families_in(metric: Any) -> set[type]:
    parts = [one for held in vars(metric).values() for one in (held if isinstance(held, tuple) else (held,))]
    return {type(metric)}.union(*(families_in(part) for part in parts if isinstance(part, Metric)))


MADE_OTHERWISE = {DenseMetric: "from matrices, of which every entry is in the fingerprint"}


def test_policies_of_one_fingerprint_have_one_metric_in_every_field(folder):
    """So no field of any family of metrics can differ under one fingerprint, among all the policies above."""
    data = [*BASES.values(), *(changed(base, path, value) for _, base, path, value, *_ in [*MEANT, *MEANINGLESS])]
    metrics: dict[str, Any] = {}
    seen: set[type] = set()
    for one in data:
        verified = Policy.from_dict(one, folder=folder).compile()
        found = description(verified.metric)
        assert metrics.setdefault(verified.fingerprint, found) == found
        seen |= families_in(verified.metric)
    assert seen | MADE_OTHERWISE.keys() == set(FAMILIES)
