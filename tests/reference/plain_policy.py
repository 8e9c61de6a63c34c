"""A policy file read word for word into the plain form of the exact twin: values, lengths and rules as written."""

from __future__ import annotations

import csv
import itertools
import math
from dataclasses import replace
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dxgeom.policy.kinds.places import RegionsSyntax
from dxgeom.policy.policy import Policy
from dxgeom.policy.syntax.models import RuleSyntax
from dxgeom.universe.places import PointsAttribute
from reference.policy_closure import INFINITE, PlainAttribute, PlainEdges, PlainRule, bound

Exact = Fraction | float
EARTH_KM = 6371.0088


def exact_distances(policy: Policy, folder: Path) -> list[list[Exact]]:
    """Shortest paths over the smallest stated bounds of all pairs, the absent record last; exact for exact bounds."""
    attributes, rules = plain_policy(policy, folder)
    records: list[Any] = _records(policy, attributes, folder)
    records += [None] * any(rule.presence for rule in rules)
    stated = {
        (i, j): bound(attributes, rules, one, other)
        for (i, one), (j, other) in itertools.combinations(enumerate(records), 2)
    }
    whole = math.lcm(*(b.denominator for b in stated.values() if isinstance(b, Fraction)))
    integers: Any = np.full((len(records), len(records)), INFINITE, dtype=object)
    np.fill_diagonal(integers, 0)
    for (i, j), b in stated.items():
        integers[i, j] = integers[j, i] = int(b * whole) if isinstance(b, Fraction) else INFINITE
    if max((b for b in integers.ravel() if b != INFINITE), default=0) * len(records) < 2**53:
        integers = integers.astype(float)  # sums of integers below 2**53 are exact, and infinity stays
    for k in range(len(records)):
        integers = np.minimum(integers, integers[:, k : k + 1] + integers[k : k + 1, :])
    return [[b if b == INFINITE else Fraction(int(b), whole) for b in row] for row in integers.tolist()]


def plain_policy(policy: Policy, folder: Path) -> tuple[list[PlainAttribute], list[PlainRule]]:
    """What the file states, in the twin's form."""
    document = policy.resolved.document
    names = [attribute.name for attribute in policy.universe.attributes]
    written = dict(document.universe.attributes)
    if document.universe.table is not None:
        for name, cells in _columns(folder / document.universe.table).items():
            written.setdefault(name, tuple(dict.fromkeys(cells)))
    along = None if document.time is None else document.time.column
    attributes = [
        _periods(policy, name)
        if name == along
        else _missing(_regions(policy, name), written[name])
        if isinstance(written[name], RegionsSyntax)
        else _attribute(name, written[name], folder)
        for name in names
    ]
    rules = [_rule(rule, attributes, folder) for rule in document.rules if rule.any is None]
    others = tuple(name for name in names if name != along)
    for rule in document.rules:
        if rule.any is not None:  # records of one period, or one and none, share what all periods in it may reveal
            every = len(next(one for one in attributes if one.name == along).labels)
            share = rule.epsilon / (every if rule.any == "life" else int(rule.any.amount))
            rules.append(PlainRule(None, share, presence=True))
            rules += [PlainRule(others, share, joint="together")] if others else []
    return attributes, rules


def _records(policy: Policy, attributes: list[PlainAttribute], folder: Path) -> list[Any]:
    table = policy.resolved.document.universe.table
    if table is None:
        return list(itertools.product(*(range(len(attribute.labels)) for attribute in attributes)))
    cells = _columns(folder / table)
    return list(zip(*([a.labels.index(cell) for cell in cells[a.name]] for a in attributes), strict=True))


def _attribute(name: str, written: Any, folder: Path) -> PlainAttribute:
    if isinstance(written, tuple):
        return PlainAttribute(name, "", written, None, "")
    return _missing(_written(name, written, folder), written)


def _missing(plain: PlainAttribute, written: Any) -> PlainAttribute:
    stated = getattr(written, "missing", None)
    if stated in (None, "refuse"):
        return plain
    return replace(plain, labels=(*plain.labels, "missing"), missing=getattr(stated, "epsilon", stated))


def _written(name: str, written: Any, folder: Path) -> PlainAttribute:
    kind = type(written).__name__
    if kind == "ListedWordsSyntax":
        listed = written.values
        listed = listed if isinstance(listed, tuple) else tuple((folder / listed.file).read_text().split("\n")[:-1])
        more = () if written.unlisted in (None, *listed) else (written.unlisted,)
        return PlainAttribute(name, "", (*listed, *more), None, "")
    if kind == "OpenSyntax":  # texts that nobody listed: two stand for any two
        return PlainAttribute(name, "", ("(any text)", "(any other text)"), None, "")
    if kind == "RangeSyntax":
        low, high = written.range
        places = [low + k * written.step for k in range(int((high - low) / written.step) + 1)]
        return PlainAttribute(name, "", tuple(map(str, places)), tuple(places), "")
    if kind == "BinsSyntax":
        middles = tuple((a + b) / 2 for a, b in itertools.pairwise(written.bins))
        return PlainAttribute(name, "", tuple(map(str, middles)), middles, "")
    if kind == "DatesSyntax":
        first, last = written.dates
        days = tuple(Fraction(day) for day in range(0, (last - first).days + 1, written.step))
        return PlainAttribute(name, "", tuple(map(str, days)), days, "")
    return (_points if kind == "PlacesSyntax" else _graph)(name, written, folder)


def _regions(policy: Policy, name: str) -> PlainAttribute:
    """Which point stands for a region is the policy's own choice, and taken from it."""
    regions = policy.universe.attribute(name).present
    assert isinstance(regions, PointsAttribute)
    spots = [tuple(map(float, spot)) for spot in regions.coordinates]
    return PlainAttribute(name, "", regions.keys, None, "km", (), _all_roads(spots, great_circle))


def _periods(policy: Policy, name: str) -> PlainAttribute:
    """Periods in a row; what lies before and after all of them is half a period from them, or √½ rounded down."""
    time = policy.resolved.document.time
    assert time is not None
    first = date.fromisoformat(str(getattr(time, "from")))
    days, months = (time.to - first).days + 1, 12 * (time.to.year - first.year) + time.to.month - first.month + 1
    inside = {"day": days, "week": days // 7, "month": months, "quarter": months // 3, "year": months // 12}[time.every]
    border = Fraction(1, 2) if policy.resolved.document.privacy == "pure" else Fraction("0.7071")
    places = [
        *([-border] if time.before is None else []),
        *map(Fraction, range(inside)),
        *([inside - 1 + border] if time.after is None else []),
    ]
    return PlainAttribute(name, "", tuple(map(str, places)), tuple(places), "")


def _points(name: str, written: Any, folder: Path) -> PlainAttribute:
    columns = _columns(folder / written.points)
    if written.x is not None:
        plane = zip(map(float, columns[written.x]), map(float, columns[written.y]), strict=True)
        spots, far = list(plane), math.dist
    else:
        globe = zip(map(float, columns[written.latitude]), map(float, columns[written.longitude]), strict=True)
        spots, far = list(globe), great_circle
    further = tuple((key, _numbers(cells)) for key, cells in columns.items() if key != written.key)
    return PlainAttribute(
        name, "", tuple(columns[written.key]), None, written.unit or "km", further, _all_roads(spots, far)
    )


def _graph(name: str, written: Any, folder: Path) -> PlainAttribute:
    named = written.nodes if not isinstance(written.nodes, str) else _columns(folder / written.nodes)
    nodes = list(named) if isinstance(named, tuple) else next(iter(named.values()))
    if isinstance(written.graph, str):
        one, other, *_ = (columns := _columns(folder / written.graph)).values()
        edges = zip(one, other, map(Fraction, columns[written.length]), strict=True)
    else:
        edges = ((one, other, Fraction(*length) if length else Fraction(1)) for one, other, *length in written.graph)
    roads = tuple((nodes.index(a), nodes.index(b), c) for a, b, c in edges)
    return PlainAttribute(name, "", tuple(nodes), None, written.unit or "", (), roads)


def _all_roads(spots: list[Any], far: Any) -> tuple[tuple[int, int, Fraction], ...]:
    pairs = itertools.combinations(range(len(spots)), 2)
    return tuple((i, j, Fraction(far(spots[i], spots[j]))) for i, j in pairs)


def great_circle(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The haversine formula, in km."""
    (a, b), (c, d) = (tuple(map(math.radians, spot)) for spot in (one, other))
    half = math.sin((c - a) / 2) ** 2 + math.cos(a) * math.cos(c) * math.sin((d - b) / 2) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(half))


def _rule(rule: RuleSyntax, attributes: list[PlainAttribute], folder: Path) -> PlainRule:
    if rule.presence or rule.between:
        epsilon = rule.epsilon or min((rule.published or {}).values())
        return PlainRule(None, epsilon, presence=bool(rule.presence))
    partition = rule.secrets.partition if rule.secrets else None
    if partition is not None and rule.change is None:
        return PlainRule(partition, rule.epsilon, joint="partition")
    joint = "largest" if rule.measure else "together" if rule.together else ""
    length = rule.per or rule.within
    how = "smooth" if rule.beyond else "per" if rule.per else "within" if rule.within else "constant"
    chosen = rule.individuals
    listed = rule.values or (chosen if isinstance(chosen, dict) else {})
    return PlainRule(
        rule.change,
        rule.epsilon,
        how,
        _amount(rule, attributes),
        length is not None and length.unit == "step",
        tuple(listed.items()),
        summed=chosen is not None,
        otherwise=rule.otherwise,
        edges=_edges(rule, folder),
        joint=joint,
        column=partition[0] if partition else chosen if isinstance(chosen, str) else "",
    )


def _amount(rule: RuleSyntax, attributes: list[PlainAttribute]) -> Fraction:
    """The length of a rule in its attribute's own unit."""
    length = rule.per or rule.within
    if length is None:
        return Fraction(0)
    own = next(attribute.own_unit for attribute in attributes if attribute.name == (rule.change or ("",))[0])
    metres = {"m": 1, "km": 1000}
    return length.amount * metres[length.unit] / metres[own] if own and length.unit in metres else length.amount


def _edges(rule: RuleSyntax, folder: Path) -> PlainEdges | None:
    if rule.secrets is None or rule.secrets.edges is None:
        return None
    edges = rule.secrets.edges
    if not isinstance(edges, str):
        listed = tuple((one, other, Fraction(*weight) if weight else Fraction(0)) for one, other, *weight in edges)
        return PlainEdges("listed", listed)
    columns = _columns(folder / edges)
    one, other, *_ = columns.values()
    weights = columns[rule.weight] if rule.weight else ["0"] * len(one)
    return PlainEdges(edges, tuple(zip(one, other, map(Fraction, weights), strict=True)))


def _columns(file: Path) -> dict[str, list[str]]:
    header, *rows = csv.reader(file.read_text(encoding="utf-8").splitlines())
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def _numbers(cells: list[str]) -> tuple[Any, ...]:
    try:
        return tuple(map(Fraction, cells))
    except ValueError:
        return tuple(cells)
