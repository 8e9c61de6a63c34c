"""Random policies on a few small attributes, as plain rules for the exact closure and as text for the compiler."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from dxgeom.policy.policy import Policy, parse_policy
from reference.policy_closure import PlainAttribute, PlainEdges, PlainRule, optional, text_of

AREAS = ("a", "b", "a", "a")
OWN = (Fraction(3, 10), Fraction(1, 20), Fraction(2), Fraction(7, 10), Fraction(1, 10), Fraction(3, 2))
POINTS = {
    "p": "id,x,y,area,own\n" + "".join(f"q{k},{x},0,{AREAS[k]},{float(OWN[k])}\n" for k, x in enumerate((0, 3, 4, 10)))
}
EDGES = {
    "w": PlainEdges("w-edges.csv", (("u", "v", Fraction(3, 10)), ("No", "v", Fraction(6, 5)))),
    "p": PlainEdges(
        "p-edges.csv",
        (
            ("q0", "q3", Fraction(7, 10)),
            ("q3", "q1", Fraction(1, 20)),
            ("q1", "q3", Fraction(2)),
            ("q2", "q0", Fraction(1)),
        ),
    ),
    "d": PlainEdges("d-edges.csv", (("2024-02-27", "2024-03-07", Fraction(1, 2)),)),
}
ROADS = "from,to,long\n" + "n0,n1,1.5\nn1,n2,0.5\nn2,n0,4\nn2,n3,2\nn3,n2,9\nn4,n5,0.25\n"
NODES = "node,height,own\n" + "".join(f"n{k},{k // 2},{float(OWN[k])}\n" for k in range(6))
RELATIVE = 1e-9


def with_data_files(home: Path) -> Path:
    """The folder with the points and edges that the random policies below name."""
    for name, content in POINTS.items():
        (home / f"{name}.csv").write_text(content)
    for edges in EDGES.values():
        (home / edges.file).write_text(edges.content)
    (home / "roads.csv").write_text(ROADS)
    (home / "nodes.csv").write_text(NODES)
    (home / "joined.csv").write_text("".join(line for line in ROADS.splitlines(keepends=True) if "n4" not in line))
    return home


WORDS = PlainAttribute("w", "[u, v, No]", ("u", "v", "No"), None, "")
COIN = PlainAttribute("c", "[h, t]", ("h", "t"), None, "")
SIDE = PlainAttribute("s", "[l, m]", ("l", "m"), None, "")
RANGE = PlainAttribute(
    "r",
    "{range: [0, 2], step: 0.5, clamp: true}",
    ("0", "0.5", "1", "1.5", "2"),
    tuple(Fraction(k, 2) for k in range(5)),
    "",
)
BINS = PlainAttribute(
    "b",
    "{bins: [0, 1, 3, 4, 9]}",
    ("[0, 1)", "[1, 3)", "[3, 4)", "[4, 9]"),
    (Fraction(1, 2), Fraction(2), Fraction(7, 2), Fraction(13, 2)),
    "",
)
PLACES = PlainAttribute(
    "p",
    "{points: p.csv, key: id, x: x, y: y, unit: km}",
    ("q0", "q1", "q2", "q3"),
    (Fraction(0), Fraction(3), Fraction(4), Fraction(10)),
    " km",
    (("area", AREAS), ("own", OWN[:4])),
)
DATES = PlainAttribute(
    "d",
    "{dates: [2024-02-27, 2024-03-08], step: 3}",
    ("2024-02-27", "2024-03-01", "2024-03-04", "2024-03-07"),
    tuple(Fraction(3 * k) for k in range(4)),
    " days",
)
EVEN = PlainAttribute(
    "e", "{range: [1, 2], step: 0.5}", ("1", "1.5", "2"), tuple(Fraction(k, 2) for k in (2, 3, 4)), ""
)
WIDE = PlainAttribute("f", "{range: [0, 2], step: 1, whole: true}", ("0", "1", "2"), tuple(map(Fraction, range(3))), "")
UNEVEN = PlainAttribute(
    "g",
    "{bins: [0, 1, 3, 4], whole: true, clamp: [-2, 9]}",
    ("[0, 1)", "[1, 3)", "[3, 4]"),
    (Fraction(1, 2), Fraction(2), Fraction(7, 2)),
    "",
)
_EDGES = tuple((int(line[1]), int(line[4]), Fraction(line[6:])) for line in ROADS.split()[1:])
GRAPH = PlainAttribute(
    "n",
    "{graph: roads.csv, length: long, unit: km, nodes: nodes.csv}",
    tuple(f"n{k}" for k in range(6)),
    None,
    " km",
    (("height", (0, 0, 1, 1, 2, 2)), ("own", OWN)),
    roads=_EDGES,
)
JOINED = PlainAttribute("j", "{graph: joined.csv, length: long}", ("n0", "n1", "n2", "n3"), None, "", roads=_EDGES[:5])
HOURS = PlainAttribute(
    "h",
    "{range: [0, 20], step: 4, wraps: true}",
    ("0", "4", "8", "12", "16", "20"),
    None,
    "",
    roads=tuple((k, (k + 1) % 6, Fraction(4)) for k in range(6)),
)
TURNS = PlainAttribute(
    "t",
    "{bins: [0, 1, 3, 4, 9], wraps: true}",
    ("[0, 1)", "[1, 3)", "[3, 4)", "[4, 9]"),
    None,
    "",
    roads=((0, 1, Fraction(3, 2)), (1, 2, Fraction(3, 2)), (2, 3, Fraction(3)), (3, 0, Fraction(3))),
)
epsilons = st.integers(1, 4000).map(lambda thousandths: Fraction(thousandths, 1000))


@st.composite
def rules_on(draw: st.DrawFn, attributes: list[PlainAttribute]) -> PlainRule:
    attribute = draw(st.sampled_from(attributes))
    kinds = ["constant", "several", "values", "individuals"]
    if all(one.missing != "public" for one in attributes):
        kinds += ["everything", "presence"]
    if attribute.places is not None or attribute.roads is not None:
        kinds += ["per", "within", "smooth"] * 2
    if attribute.name in EDGES:
        kinds += ["edges"]
    if attribute.columns:
        kinds += ["column", "own"]
    kind = draw(st.sampled_from(kinds))
    match kind:
        case "edges":
            return PlainRule((attribute.name,), draw(st.none() | epsilons), edges=EDGES[attribute.name])
        case "column":
            return PlainRule((attribute.name,), draw(epsilons), column=attribute.columns[0][0])
        case "own":
            return PlainRule((attribute.name,), None, summed=True, column="own")
        case "presence":
            return PlainRule(None, draw(epsilons), presence=True)
        case "everything":
            return PlainRule(None, draw(epsilons))
        case "several":
            return PlainRule(tuple(one.name for one in attributes), draw(epsilons))
        case "values" | "individuals":
            known = attribute.labels[:-1] if attribute.missing == "public" else attribute.labels
            words = draw(st.lists(st.sampled_from(known), min_size=1, unique=True))
            stated = tuple((word, draw(epsilons)) for word in words)
            otherwise = draw(st.none() | epsilons)
            return PlainRule((attribute.name,), None, values=stated, summed=kind == "individuals", otherwise=otherwise)
        case "constant":
            return PlainRule((attribute.name,), draw(epsilons))
    steps = (attribute.own_unit == "" or attribute.roads is not None) and draw(st.booleans())
    if attribute.name == RANGE.name and steps:
        # A step of the range is half a unit; the reference counts steps by code, which is the same thing.
        steps = True
    return PlainRule(
        (attribute.name,), draw(epsilons), kind, draw(st.integers(1, 12).map(lambda k: Fraction(k, 2))), steps
    )


@st.composite
def perhaps_missing(draw: st.DrawFn, attribute: PlainAttribute, *, public: bool = True) -> PlainAttribute:
    """The attribute, in one case of three with a missing value, and read from elsewhere as often as not."""
    if draw(st.integers(0, 2)):
        return attribute
    found = optional(attribute, draw(epsilons | st.just("public") if public else epsilons))
    words = attribute.places is None and "wraps" not in attribute.yaml
    keys = [", from: elsewhere"] + [f", unlisted: {label}" for label in attribute.labels if words]
    return replace(found, yaml=f"{found.yaml[:-1]}{draw(st.sampled_from(['', *keys]))}}}")


@st.composite
def policies(draw: st.DrawFn) -> tuple[list[PlainAttribute], list[PlainRule]]:
    attributes = draw(
        st.lists(
            st.sampled_from([WORDS, COIN, RANGE, BINS, PLACES, DATES, GRAPH, JOINED, HOURS, TURNS]),
            min_size=1,
            max_size=2,
            unique=True,
        )
    )
    attributes = [draw(perhaps_missing(attribute)) for attribute in attributes]
    return attributes, draw(st.lists(rules_on(attributes), max_size=5))


@st.composite
def crowded(draw: st.DrawFn) -> tuple[list[PlainAttribute], list[PlainRule]]:
    """Several bounds by distance, and perhaps others, on one attribute: where bounds undercut each other."""
    attribute = draw(st.sampled_from([RANGE, BINS, PLACES, DATES, GRAPH, JOINED, HOURS, TURNS]))
    steps = st.booleans() if attribute in (BINS, GRAPH, JOINED, TURNS) else st.just(False)
    attribute = draw(perhaps_missing(attribute))
    few = st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(3)])
    by_distance = st.builds(
        PlainRule,
        st.just((attribute.name,)),
        few,
        st.sampled_from(["per", "within", "within", "smooth", "smooth"]),
        st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2), Fraction(6)]),
        steps,
    )
    rules = draw(st.lists(by_distance, min_size=2, max_size=4))
    return [attribute], rules + draw(st.lists(rules_on([attribute]), max_size=1))


@st.composite
def joint_rules(draw: st.DrawFn, attributes: list[PlainAttribute]) -> PlainRule:
    """Rules about several attributes together: groups that nest or cross, partitions, largest changes."""
    even = [attribute for attribute in attributes if attribute.places is not None and attribute.missing is None]
    measured = [attribute.name for attribute in even if not attribute.own_unit]
    names = [attribute.name for attribute in attributes]
    kinds = ["together", "together", "partition"] + (["largest"] * 2 if len(measured) > 1 else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "largest":
        listed = draw(st.lists(st.sampled_from(measured), min_size=2, unique=True))
        amount = draw(st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(2)]))
        return PlainRule(tuple(listed), draw(epsilons), "per", amount, draw(st.booleans()), joint=kind)
    most = len(names) - (kind == "partition")
    listed = draw(
        st.lists(
            st.sampled_from(names), min_size=(most > 1 and kind == "together" and 2) or 1, max_size=most, unique=True
        )
    )
    return PlainRule(tuple(listed), draw(epsilons), joint=kind)


def any_rule(attributes: list[PlainAttribute]) -> st.SearchStrategy[PlainRule]:
    public = any(attribute.missing == "public" for attribute in attributes)
    return rules_on(attributes) if len(attributes) == 1 or public else rules_on(attributes) | joint_rules(attributes)


@st.composite
def joint(draw: st.DrawFn) -> tuple[list[PlainAttribute], list[PlainRule]]:
    """Up to four small attributes, with rules about several of them and about each."""
    some = st.sampled_from([COIN, SIDE, WORDS, EVEN, WIDE, UNEVEN])
    chosen = draw(st.lists(some, min_size=2, max_size=4, unique=True).filter(few_records))
    attributes = [draw(perhaps_missing(attribute, public=False)) for attribute in chosen]
    rules = draw(st.lists(joint_rules(attributes), min_size=1, max_size=4))
    alone = st.sampled_from(attributes).flatmap(lambda attribute: rules_on([attribute]))
    return attributes, draw(st.permutations(rules + draw(st.lists(alone, max_size=4))))


def few_records(attributes: list[PlainAttribute]) -> bool:
    return math.prod(len(attribute.labels) for attribute in attributes) <= 24


def compiled(attributes: list[PlainAttribute], rules: list[PlainRule], folder: Path) -> Policy:
    return parse_policy(text_of(attributes, rules), folder=folder)


def all_distances(policy: Policy) -> np.ndarray:
    everyone = np.arange(policy.universe.size)
    return policy.compile().distance(everyone[:, None], everyone[None, :])


def same(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one, other, rtol=RELATIVE, atol=1e-12))
