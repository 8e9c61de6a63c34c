"""Whole policies as Python data, drawn from every word of the language, right and wrong; and which words those are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from reference.json_schema import is_valid
from reference.random_policies import with_data_files

Drawn = st.SearchStrategy[Any]

SQUARES = ",".join(
    f'{{"type":"Feature","properties":{{"id":"g{k}","own":{k + 1}}},"geometry":{{"type":"Polygon","coordinates":'
    f"[[[{k},50],[{k + 1},50],[{k + 1},51],[{k},51],[{k},50]]]}}}}"
    for k in range(3)
)
FILES = {
    "words.txt": "x\ny\nz\n",
    "globe.csv": "id,lat,lon,own\nq0,50,7,1\nq1,51,7.5,0.5\nq2,50.2,8,0.25\n",
    "squares.geojson": f'{{"type":"FeatureCollection","features":[{SQUARES}]}}',
    "x-y.csv": "one,other,weight\nx,y,0.5\n",
    "listed.csv": "w,r\nx,0\ny,2\ny,4\nz,4\n",
    "totals.csv": "w,count\nx,3\ny,2\nz,0\n",
}


def with_files(home: Path) -> Path:
    """The folder with all files that the documents name."""
    for name, content in FILES.items():
        (home / name).write_text(content)
    return with_data_files(home)


EPSILONS = st.sampled_from((1, "0.5", "2", 0.25, "1e-1"))
WRONG: Drawn = st.sampled_from(
    (-1, 0, "", "nobody", "5 miles", "public", [], ["w"], {}, {"epsilon": 0}, None, 1.5, True)
)
"""What stands where something else belongs."""
LISTED_ROADS = [[f"n{k}", f"n{k + 1}"] for k in range(5)]
OWN: dict[str, tuple[tuple[str, Drawn], ...]] = {
    "words": (("values", st.sampled_from((["x", "y", "z"], {"file": "words.txt"}, {"letters": "A-C"}))),),
    "range": (
        ("range", st.sampled_from(([0, 4], ["1", 5]))),
        ("step", st.sampled_from((1, "2"))),
        ("whole", st.just(True)),
        ("clamp", st.sampled_from((True, [0, 9], ["-1", 9]))),
        ("unit", st.just("years")),
    ),
    "bins": (
        ("bins", st.sampled_from(([0, 2, 4], ["0", 1.5, 7]))),
        ("whole", st.just(True)),
        ("clamp", st.sampled_from((True, [0, 9]))),
        ("unit", st.just("days")),
    ),
    "dates": (("dates", st.just(["2024-01-01", "2024-01-22"])), ("step", st.sampled_from((7, "3")))),
    "plane": (
        ("points", st.just("p.csv")), ("key", st.just("id")), ("x", st.just("x")), ("y", st.just("y")),
        ("unit", st.sampled_from(("m", "km"))),
        ("nearest", st.sampled_from(("5 km", "300 m")).map(lambda far: {"x": "u", "y": "v", "at_most": far})),
    ),
    "globe": (
        ("points", st.just("globe.csv")), ("key", st.just("id")),
        ("latitude", st.just("lat")), ("longitude", st.just("lon")),
        ("nearest", st.just({"longitude": "u", "latitude": "v", "at_most": "5 km"})),
    ),
    "graph": (
        ("graph", st.sampled_from(("roads.csv", "joined.csv", LISTED_ROADS))), ("length", st.just("long")),
        ("unit", st.sampled_from(("km", "m"))), ("nodes", st.sampled_from(("nodes.csv", [f"n{k}" for k in range(6)]))),
    ),
    "regions": (
        ("regions", st.just("squares.geojson")), ("key", st.just("id")),
        ("longitude", st.just("u")), ("latitude", st.just("v")),
    ),
    "open": (("open", st.just("text")),),
}  # fmt: skip
"""The keys of every kind of attribute, with what belongs there."""
NEEDED = {
    "words": 1, "range": 2, "bins": 1, "dates": 2, "plane": 5, "globe": 4, "graph": 1, "regions": 2, "open": 1,
}  # fmt: skip
"""How many of them no attribute of the kind can do without; the others go with each other or not."""
TOGETHER = ({"longitude", "latitude"}, {"length", "unit"})
COMMON: tuple[tuple[str, Drawn], ...] = (
    ("missing", st.sampled_from(("public", "refuse", {"epsilon": 1}, {"epsilon": "0.5"}))),
    ("unlisted", st.sampled_from(("x", "other", "q0", "n1", "0"))),
    ("from", st.sampled_from(("elsewhere", "a + b / 2", "`a column`"))),
    ("as", st.sampled_from(("year", "quarter", "month", "weekday", "hour"))),
    ("prefix", st.sampled_from((1, "2"))),
    ("zone", st.sampled_from(("Europe/Berlin", "UTC", "America/New_York"))),
    ("title", st.sampled_from(("The place", 7))),
    ("labels", st.sampled_from(({"x": "an x"}, {"x": "one", "y": "one"}))),
    ("name", st.sampled_from(("own", ["x", "y"]))),
    ("words", st.sampled_from(({"ex": "x"}, {"ex": "x", "wy": "y"}))),
    ("units", st.sampled_from(({"kg": 1, "g": "0.001"}, {"": 1}))),
    ("written", st.sampled_from(("31.12.2025", ["12/31/2025 11:59 PM", "2025-12-31"]))),
)
"""The keys that every attribute may have; some say nothing that goes with its kind."""
KINDS = tuple(OWN)


@st.composite
def attributes(draw: st.DrawFn, kind: str) -> Any:
    """Mostly of keys that go together; one in six has a key of any kind, or something else behind one."""
    if kind == "words" and draw(st.booleans()):
        return ["x", "y", "z"]
    own = OWN[kind]
    found = {key: draw(value) for key, value in own[: NEEDED[kind]]}
    for key, value in own[NEEDED[kind] :]:
        if draw(st.integers(0, 2)) == 0:
            found[key] = draw(value)
    for pair in TOGETHER:
        if draw(st.integers(0, 7)) and 0 < len(pair & found.keys()) < len(pair):
            found |= {key: draw(value) for key, value in own if key in pair}
    common = draw(st.lists(st.sampled_from(COMMON), max_size=3, unique_by=lambda one: one[0]))
    found |= {key: draw(value) for key, value in common}
    if draw(st.integers(0, 5)) == 0:
        strange = draw(st.sampled_from([key for keys in OWN.values() for key, _ in keys]))
        found[strange] = draw(WRONG)
    return found


LENGTHS = st.sampled_from(("2 km", "300 m", "2 steps", 2, "7 days", "1.5"))
BY_VALUE = st.sampled_from(({"x": 1, "y": "0.5"}, {"q0": 1, "q1": 2}, {"0": 1}, {"n0": 2, "n1": 1}))
RULES: dict[str, Drawn] = {
    "epsilon": EPSILONS,
    "per": LENGTHS,
    "within": LENGTHS,
    "beyond": st.just("linear"),
    "values": BY_VALUE,
    "individuals": BY_VALUE | st.just("own"),
    "otherwise": EPSILONS,
    "together": st.just(True),
    "measure": st.just("max"),
    "secrets": st.sampled_from(
        ({"edges": "x-y.csv"}, {"edges": [["x", "y"]]}, {"edges": "p-edges.csv"}, {"partition": "own"})
    ),
    "weight": st.just("weight"),
    "between": st.just("everything"),
    "presence": st.just(True),
    "any": st.sampled_from(("7 days", "2 steps", "life")),
    "published": st.just({"at once": 1, "2 steps": "1.5", "ever": 2}),
    "title": st.sampled_from(("Who is where", 7)),
}
WAYS = (
    ("epsilon",), ("epsilon",), ("epsilon", "per"), ("epsilon", "within"), ("epsilon", "within", "beyond"),
    ("values",), ("values", "otherwise"), ("individuals",), ("individuals", "otherwise"),
    ("secrets", "epsilon"), ("secrets", "weight"), ("together", "epsilon"), ("together", "epsilon", "per", "measure"),
    ("epsilon", "title"), ("secrets", "together", "epsilon"), ("epsilon", "weight"), ("epsilon", "otherwise"),
)  # fmt: skip
"""The keys that say a bound, and a few that do not go together."""


@st.composite
def rules(draw: st.DrawFn, names: list[str]) -> dict[str, Any]:
    """A rule about some of the attributes, or all records."""
    selects = draw(st.sampled_from(("one", "one", "one", "list", "all", "presence", "partition")))
    if selects in ("all", "presence"):
        return {"between" if selects == "all" else "presence": "everything" if selects == "all" else True} | {
            "epsilon": draw(EPSILONS)
        }
    if selects == "partition":
        return {
            "secrets": {"partition": draw(st.sampled_from((names[0], names[:1], names)))},
            "epsilon": draw(EPSILONS),
        }
    some = draw(
        st.sampled_from(names) if selects == "one" else st.lists(st.sampled_from(names), min_size=1, unique=True)
    )
    way = draw(st.sampled_from(WAYS))
    found = {"change": some, **{key: draw(RULES[key]) for key in way}}
    if draw(st.integers(0, 9)) == 0:
        found[draw(st.sampled_from(tuple(RULES)))] = draw(WRONG)
    return found


IN_PERIODS: Drawn = st.just({"column": "who", "count": "once", "in": "period"})
PEOPLE: Drawn = st.one_of(
    st.fixed_dictionaries({"column": st.just("who"), "count": st.sampled_from(("once", "single"))}),
    st.fixed_dictionaries(
        {"column": st.just("who"), "count": st.just("rows"), "at_most": st.sampled_from((2, "3"))}
    ).flatmap(lambda one: st.sampled_from(({**one, "order": "at"}, one))),
    st.just("one row each"),
    IN_PERIODS,
    st.fixed_dictionaries(
        {"column": st.sampled_from(("w", "who", 7)), "count": st.sampled_from(("rows", "once"))},
        optional={"at_most": st.sampled_from((0, 1)), "order": st.sampled_from(("who", "at"))},
    ),
)
DATASET: Drawn = st.fixed_dictionaries(
    {"name": st.sampled_from(("visits", 7))},
    optional={
        "edition": st.sampled_from(("spring", 2026)),
        "people": st.just("disjoint"),
        "budget": st.sampled_from((2, "0.5", "none")),
    },
)
THOUSANDS: Drawn = st.sampled_from((".", ",", "'", "’", " ", "\xa0", "\u2009", "\u202f"))
READING: Drawn = st.fixed_dictionaries(
    {},
    optional={
        "separator": st.sampled_from((";", "tab")),
        "quote": st.sampled_from(("'", "none")),
        "encoding": st.sampled_from(("windows-1252", "latin")),
        "header": st.sampled_from((2, "none")),
        "names": st.just(["w", "r", "who", "at"]),
        "sheet": st.just("Visits"),
        "line_breaks": st.just(True),
        "decimal": st.sampled_from((".", ",")),
        "thousands": THOUSANDS,
        "trim": st.just(True),
        "case": st.just("fold"),
        "missing": st.sampled_from((["n/a", "-"], ["x"])),
        "ignore": st.sampled_from(({"line": ["total"]}, {"w": ["total"]})),
    },
)
MORE: dict[str, Drawn] = {
    "reading": READING
    | THOUSANDS.map(lambda sign: {"thousands": sign})
    | st.sampled_from(({"trim": True}, {"case": "fold"})),
    "title": st.sampled_from(("Visits of a spring", 7)),
    "about": st.just("who was where"),
    "called": st.sampled_from(("patients", 7)),
    "budget": st.sampled_from((1, "2.5")),
    "privacy": st.sampled_from(("pure", "concentrated")),
    "people": PEOPLE,
    "dataset": DATASET,
    "unconnected": st.just("allow"),
    "delta": st.sampled_from(("0.000001", 0.5)),
    "hold": st.sampled_from((2, "all")),
}


FITTING: dict[str, tuple[str, ...]] = {
    "words": ("missing", "unlisted", "prefix", "title", "labels", "words"),
    "range": ("missing", "from", "as", "title"),
    "bins": ("missing", "from", "as", "title"),
    "dates": ("missing", "zone", "title", "written"),
    **dict.fromkeys(("plane", "globe", "regions"), ("missing", "title", "name")),
    "graph": ("missing", "title"),
    "open": ("title", "missing"),
}
BOUNDS: dict[str, tuple[dict[str, Any], ...]] = {
    "words": (
        {"values": {"x": 1, "y": "0.5"}, "otherwise": 2},
        {"individuals": {"x": 1}, "otherwise": "1e-1"},
        {"secrets": {"edges": "x-y.csv"}, "weight": "weight"},
        {"secrets": {"edges": "x-y.csv"}, "epsilon": 1},
        {"secrets": {"edges": [["x", "y", "0.5"], ["y", "z", 1]]}},
    ),
    "range": ({"epsilon": 1, "per": "2 steps"}, {"epsilon": 1, "within": 2, "beyond": "linear"}),
    "bins": ({"epsilon": 1, "within": "1.5"},),
    "dates": ({"epsilon": "0.5", "per": "7 days"},),
    "plane": ({"individuals": "own"}, {"epsilon": 1, "per": "2 km"}, {"secrets": {"partition": "area"}, "epsilon": 2}),
    "globe": ({"epsilon": 2, "within": "300 m"},),
    "graph": ({"epsilon": 1, "per": "2 steps"},),
    "regions": ({"epsilon": 1, "per": "50 km"},),
    "open": ({"epsilon": 1},),
}
"""What goes with each kind of attribute: the keys of COMMON, and what rules may say of it beside a constant."""


@st.composite
def fitting(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """An attribute whose keys go together."""
    own = dict(OWN[kind])
    found = {key: draw(own[key]) for key in [*own][: NEEDED[kind]]}
    extras = draw(st.lists(st.sampled_from([*own][NEEDED[kind] :]), max_size=2)) if len(own) > NEEDED[kind] else []
    pairs = {key for pair in TOGETHER if pair & {*extras} for key in pair & own.keys()}
    found |= {key: draw(own[key]) for key in sorted({*extras} | pairs)}
    for key in draw(st.lists(st.sampled_from(FITTING[kind]), max_size=2, unique=True)):
        found[key] = draw(dict(COMMON)[key])
    if "as" in found:
        found |= {"from": "elsewhere", "zone": draw(dict(COMMON)["zone"])}
    elif kind in ("range", "bins") and draw(st.integers(0, 3)) == 0:
        found["units"] = draw(dict(COMMON)["units"])
    return found


NO = st.sampled_from((False, "false"))
TIME: Drawn = (
    st.fixed_dictionaries(
        {
            "column": st.just("day"),
            "from": st.just("2024-01-01"),
            "to": st.just("2024-12-31"),
            "every": st.sampled_from(("month", "quarter", "year", "quarter")),
        },
        optional={
            "zone": st.just("Europe/Berlin"),
            "written": st.just("31.12.2025"),
            "title": st.just("The day"),
            "before": NO,
            "after": NO,
        },
    )
    | st.just({"column": "day", "from": "2024-01-01", "to": "2024-01-14", "every": "week"})
    | st.just({"column": "day", "from": "2024-01-01", "to": "2024-01-14", "every": "day"})
)
LASTING: Drawn = st.sampled_from(
    (
        {"any": "2 steps", "epsilon": 2},
        {"any": "life", "epsilon": 3},
        {"presence": True, "published": {"at once": 1, "2 steps": "1.5", "ever": 2}},
        {"change": "day", "epsilon": 1, "per": "2 steps"},
    )
)
KNOWN: Drawn = st.lists(
    st.sampled_from(
        (
            {"totals": "w"},
            {"totals": ["w"], "numbers": "totals.csv"},
            {"where": "w == 'x'", "count": 3},
            {"where": "true", "count": "5"},
        )
    ),
    min_size=1,
    max_size=2,
)
"""Periods, what several of them may reveal, and counts of records that everybody knows."""


@st.composite
def sound(draw: st.DrawFn) -> dict[str, Any]:
    """A policy that is right more often than not."""
    shape = draw(st.sampled_from(("plain", "plain", "plain", "time", "known", "open", "joint")))
    kinds = draw(st.lists(st.sampled_from(KINDS[:-1]), min_size=1, max_size=2))
    kinds = ["open", *kinds[1:]] if shape == "open" else kinds
    stated = {name: draw(fitting(kind)) for name, kind in zip("wr", kinds, strict=False)}
    some: list[dict[str, Any]] = [{"change": [*stated], "epsilon": draw(EPSILONS)}]
    some += [{"change": name, **draw(st.sampled_from(BOUNDS[kind]))} for name, kind in zip(stated, kinds, strict=True)]
    if any(isinstance(one, dict) and one.get("values") == {"letters": "A-C"} for one in stated.values()):
        some = some[:1]
    if all(one.get("missing") != "public" for one in stated.values()):
        whole: tuple[dict[str, Any], ...] = (
            {"presence": True},
            {"between": "everything"},
            {"secrets": {"partition": "w"}},
        )
        some += [{**one, "epsilon": 1} for one in draw(st.lists(st.sampled_from(whole), max_size=2))]
    more: dict[str, Any] = {}
    if shape == "joint":
        stated = {name: {"range": [0, 4], "step": 1} for name in "wr"}
        some = [{"change": ["w", "r"], "together": True, "measure": "max", "epsilon": 1, "per": 2}]
    elif shape == "open":
        more = {"delta": draw(MORE["delta"])}
        some = [{"presence": True, "epsilon": 1}, {"change": [*stated], "epsilon": 1}]
    elif shape == "time":
        more = {"time": draw(TIME)}
        some += [{"presence": True, "epsilon": 1}, *draw(st.lists(LASTING, max_size=1))]
    elif shape == "known":
        stated = {"w": {"values": draw(st.sampled_from((["x", "y", "z"], {"file": "words.txt"})))}}
        some = [{"change": "w", "epsilon": draw(EPSILONS)}]
        more = {"known": draw(KNOWN), **draw(st.sampled_from(({}, {"hold": 2}, {"hold": "all"})))}
    return {"policy": "p", "universe": {"attributes": stated}, "rules": some, "unconnected": "allow", **more}


@st.composite
def anything(draw: st.DrawFn) -> dict[str, Any]:
    """A policy of at most three attributes, more often wrong than not."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3))
    stated = {name: draw(attributes(kind)) for name, kind in zip("wrp", kinds, strict=False)}
    found: dict[str, Any] = {"policy": draw(st.sampled_from(("p", 7))), "universe": {"attributes": stated}}
    if draw(st.integers(0, 6)) == 0:
        found["universe"] = {"table": "listed.csv", "attributes": {"r": {"range": [0, 4], "step": 2}}}
        stated = {"w": None, "r": None}
    return {**found, "rules": draw(st.lists(rules([*stated]), max_size=3))}


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """A policy with whatever else may stand in its file."""
    found = draw(sound() | anything())
    for key, value in MORE.items():
        often = key not in ("delta", "hold") or draw(st.integers(0, 19)) == 19
        if often and draw(st.booleans()):
            fits = IN_PERIODS if key == "people" and "time" in found else value
            found[key] = draw(fits if draw(st.integers(0, 19)) else WRONG)
    return found


def words_of_schema(schema: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every key with the definition that it stands in, and every word of a choice."""
    for node, at in _parts(schema, place):
        yield from ((at, key) for key in node.get("properties", {}))
        yield from (("", str(word).lower()) for word in _choices(node))


def _parts(node: Any, place: str) -> Iterator[tuple[dict[str, Any], str]]:
    """The parts of a schema, each with the definition it is in; references lead to definitions, which come alone."""
    if isinstance(node, list):
        for one in node:
            yield from _parts(one, place)
    if isinstance(node, dict):
        yield node, place
        for key, inner in node.items():
            if key == "$defs":
                for name, one in inner.items():
                    yield from _parts(one, name)
            elif key == "properties":
                for one in inner.values():
                    yield from _parts(one, place)
            elif isinstance(inner, dict | list):
                yield from _parts(inner, place)


def _choices(node: dict[str, Any]) -> list[Any]:
    return [*node.get("enum", ()), *([node["const"]] if "const" in node else [])]


def words_of(value: Any, schema: Any, root: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Those that a document uses, wherever the schema knows them: also beside what it refuses."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        yield from words_of(value, root["$defs"][name], root, name)
    for way in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        known = way if "$ref" not in way else root["$defs"][way["$ref"].removeprefix("#/$defs/")]
        if is_valid(value, way, root) or (isinstance(value, dict) and value.keys() >= {*known.get("required", "?")}):
            yield from words_of(value, way, root, place)
    if not isinstance(value, dict | list) and value in _choices(schema):
        yield "", str(value).lower()
    if isinstance(value, list) and "items" in schema:
        for one in value:
            yield from words_of(one, schema["items"], root, place)
    if isinstance(value, dict):
        for key, inner in value.items():
            known = schema.get("properties", {})
            more = schema.get("additionalProperties")
            if key in known:
                yield place, key
                yield from words_of(inner, known[key], root, place)
            elif isinstance(more, dict):
                yield from words_of(inner, more, root, place)
