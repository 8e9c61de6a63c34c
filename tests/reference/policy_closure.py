"""The meaning of a policy, word for word: bounds on all pairs of records, then shortest paths, in exact rationals."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

Exact = Fraction | float
INFINITE = float("inf")


@dataclass(frozen=True)
class PlainAttribute:
    """``places``: exact positions along one line of a range, bins or points; None for a list of words.

    ``columns``: further columns of its file, by name. ``roads``: the edges of a graph as (code, code, length), instead
    of places. ``missing``: how far the missing value, the last label, is from every other, or "public" where pairs that
    differ in being missing are excluded from every rule; None where there is no such value.
    """

    name: str
    yaml: str
    labels: tuple[str, ...]
    places: tuple[Fraction, ...] | None
    own_unit: str
    columns: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    roads: tuple[tuple[int, int, Fraction], ...] | None = None
    missing: Fraction | str | None = None

    def lacks(self, code: int) -> bool:
        return self.missing is not None and code == len(self.labels) - 1


def optional(attribute: PlainAttribute, missing: Fraction | str) -> PlainAttribute:
    """The same attribute, whose value may be missing."""
    how = missing if isinstance(missing, str) else f"{{epsilon: {decimal(missing)}}}"
    long = attribute.yaml[1:-1] if attribute.yaml.startswith("{") else f"values: {attribute.yaml}"
    return replace(
        attribute, yaml=f"{{{long}, missing: {how}}}", labels=(*attribute.labels, "missing"), missing=missing
    )


@dataclass(frozen=True)
class PlainEdges:
    """A file of edges, as (label, label, weight)."""

    file: str
    edges: tuple[tuple[str, str, Fraction], ...]

    @property
    def content(self) -> str:
        return "one,other,weight\n" + "".join(f"{a},{b},{decimal(weight)}\n" for a, b, weight in self.edges)


@dataclass(frozen=True)
class PlainRule:
    """``change``: names, or None for everything; ``length``: (how, exact amount, as steps) or None.

    ``edges``: with an epsilon of None each edge has its own weight. ``joint``: about several attributes together:
    "together" or "largest" for those in ``change``, "partition" for all but those in ``change``. ``column``: of the
    attribute's file, a rule inside the blocks of values that agree in it. ``presence``: about a record and its absence.
    ``summed``: values are individuals, a pair of them gets the sum instead of the minimum; without values their numbers
    are in ``column``.
    """

    change: tuple[str, ...] | None
    epsilon: Fraction | None
    how: str = "constant"
    amount: Fraction = Fraction(0)
    steps: bool = False
    values: tuple[tuple[str, Fraction], ...] = ()
    summed: bool = False
    otherwise: Fraction | None = None
    edges: PlainEdges | None = None
    joint: str = ""
    column: str = ""
    presence: bool = False


def table_of(attributes: list[PlainAttribute], listed: list[tuple[int, ...]]) -> str:
    """The file that lists these records."""
    rows = ([attribute.labels[code] for attribute, code in zip(attributes, codes, strict=True)] for codes in listed)
    return "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in [[a.name for a in attributes], *rows])


def text_of(attributes: list[PlainAttribute], rules: list[PlainRule], table: str = "") -> str:
    """The policy file that says the same."""
    lines = [
        "policy: random",
        "unconnected: allow",
        "universe:",
        *([f"  table: {table}"] if table else []),
        "  attributes:",
    ]
    lines += [f"    {attribute.name}: {attribute.yaml}" for attribute in attributes]
    lines += ["rules:" if rules else "rules: []"]
    for rule in rules:
        selector = "between: everything" if rule.change is None else f"change: [{', '.join(rule.change)}]"
        if rule.joint == "partition":
            selector = f"secrets: {{partition: [{', '.join(rule.change or ())}]}}"
        selector = "presence: true" if rule.presence else selector
        lines.append(f"  - {selector}")
        lines += ["    together: true"] if rule.joint in ("together", "largest") else []
        lines += ["    measure: max"] if rule.joint == "largest" else []
        if rule.summed and rule.column:
            lines.append(f"    individuals: {rule.column}")
            continue
        lines += [f"    secrets: {{partition: {rule.column}}}"] if rule.column else []
        if rule.edges:
            lines.append(f"    secrets: {{edges: {rule.edges.file}}}")
            lines.append("    weight: weight" if rule.epsilon is None else f"    epsilon: {decimal(rule.epsilon)}")
            continue
        if rule.values:
            key = "individuals" if rule.summed else "values"
            lines.append(f"    {key}: {{{', '.join(f'{word!r}: {decimal(e)}' for word, e in rule.values)}}}")
            lines += [f"    otherwise: {decimal(rule.otherwise)}"] if rule.otherwise else []
            continue
        assert rule.epsilon is not None
        lines.append(f"    epsilon: {decimal(rule.epsilon)}")
        if rule.how != "constant":
            unit = (
                " steps" if rule.steps else next(a.own_unit for a in attributes if a.name == (rule.change or ("",))[0])
            )
            lines.append(f"    {'per' if rule.how == 'per' else 'within'}: {decimal(rule.amount)}{unit}")
        if rule.how == "smooth":
            lines.append("    beyond: linear")
    return "\n".join(lines) + "\n"


def decimal(number: Fraction | None) -> str:
    assert number is not None
    digits = number * 1000
    assert digits.denominator == 1
    return f"{int(digits)}e-3"


def closure(
    attributes: list[PlainAttribute], rules: list[PlainRule], listed: list[tuple[int, ...]] | None = None
) -> list[list[Exact]]:
    """Exact distances between all possible records, the last attribute running fastest, or between the listed ones;
    then
    the absent record, if any."""
    records: list[Any] = listed or list(itertools.product(*(range(len(attribute.labels)) for attribute in attributes)))
    records = [*records, None] if any(rule.presence for rule in rules) else records
    size = len(records)
    distance: list[list[Exact]] = [
        [Fraction(0) if i == j else bound(attributes, rules, records[i], records[j]) for j in range(size)]
        for i in range(size)
    ]
    for k, i, j in itertools.product(range(size), repeat=3):
        detour = distance[i][k] + distance[k][j]
        if detour < distance[i][j]:
            distance[i][j] = detour
    return distance


def bound(attributes: list[PlainAttribute], rules: list[PlainRule], one: Any, other: Any) -> Exact:
    """The smallest bound that any rule states for a pair of records, None being the absent one."""
    if one is None or other is None:
        return min((rule.epsilon for rule in rules if rule.presence and rule.epsilon is not None), default=INFINITE)
    differ = [place for place in range(len(attributes)) if one[place] != other[place]]
    lacking = [
        place for place in differ if attributes[place].lacks(one[place]) or attributes[place].lacks(other[place])
    ]
    if any(attributes[place].missing == "public" for place in lacking):
        return INFINITE
    stated: list[Exact] = [INFINITE]
    if len(differ) == 1 and lacking:
        stated.append(Fraction(attributes[lacking[0]].missing or 0))
    for rule in rules:
        if rule.presence:
            continue
        if rule.change is None:
            assert rule.epsilon is not None
            stated.append(rule.epsilon)
        elif rule.joint:
            stated.append(of_records(attributes, rule, one, other))
        elif len(differ) == 1 and attributes[differ[0]].name in rule.change:
            place = differ[0]
            stated.append(of_pair(attributes[place], rule, one[place], other[place]))
    return min(stated)


def of_records(attributes: list[PlainAttribute], rule: PlainRule, one: Any, other: Any) -> Exact:
    """What a rule about several attributes together states for two records."""
    differ = {attribute.name for place, attribute in enumerate(attributes) if one[place] != other[place]}
    listed = set(rule.change or ())
    assert rule.epsilon is not None
    if rule.joint == "partition":
        return INFINITE if differ & listed else rule.epsilon
    if differ - listed:
        return INFINITE
    if rule.joint == "together":
        return rule.epsilon
    pairs = zip(attributes, one, other, strict=True)
    each = (of_pair(attribute, rule, a, b) for attribute, a, b in pairs if attribute.name in differ)
    return max(each, default=Fraction(0))


def after_hop(attributes: list[PlainAttribute], now: tuple[int, ...], hop: Any) -> tuple[int, ...]:
    """The record after one told step that changes some attributes of another. Labels may hold commas: all are tried."""
    places = [place for place, one in enumerate(attributes) if one.name in (hop.attribute, *hop.together)]
    labels = [attributes[place].labels for place in places]
    assert ", ".join(some[now[place]] for some, place in zip(labels, places, strict=True)) == hop.start
    (ends,) = [every for every in itertools.product(*labels) if ", ".join(every) == hop.end]
    after = list(now)
    for place, some, end in zip(places, labels, ends, strict=True):
        after[place] = some.index(end)
    return tuple(after)


def of_pair(attribute: PlainAttribute, rule: PlainRule, one: int, other: int) -> Exact:
    if rule.edges:
        ends = {attribute.labels[one], attribute.labels[other]}
        weights = [weight for a, b, weight in rule.edges.edges if {a, b} == ends]
        return min((rule.epsilon or weight for weight in weights), default=INFINITE)
    by_label = bool(rule.values) or (rule.how == "constant" and not rule.column)
    if not by_label and (attribute.lacks(one) or attribute.lacks(other)):
        return INFINITE
    if rule.summed and rule.column:
        own = dict(attribute.columns)[rule.column]
        return own[one] + own[other]
    if rule.values:
        given = dict(rule.values)
        found = [given.get(attribute.labels[code], rule.otherwise) for code in (one, other)]
        stated = [epsilon for epsilon in found if epsilon is not None]
        if rule.summed:
            return sum(stated, Fraction(0)) if len(stated) == 2 else INFINITE
        return min(stated, default=INFINITE)
    assert rule.epsilon is not None
    if rule.column:
        blocks = dict(attribute.columns)[rule.column]
        return rule.epsilon if blocks[one] == blocks[other] else INFINITE
    if rule.how == "constant":
        return rule.epsilon
    apart = apart_in(attribute, rule.steps, one, other)
    match rule.how:
        case "per":
            return rule.epsilon * apart / rule.amount
        case "within":
            return rule.epsilon if apart <= rule.amount else INFINITE
        case _:
            return rule.epsilon * max(Fraction(1), apart / rule.amount)


def apart_in(attribute: PlainAttribute, steps: bool, one: int, other: int) -> Exact:
    if attribute.roads is None:
        places = [Fraction(k) for k in range(len(attribute.labels))] if steps else list(attribute.places or ())
        return abs(places[one] - places[other])
    return _paths(attribute, steps)[one, other]


@cache
def _paths(attribute: PlainAttribute, steps: bool) -> dict[tuple[int, int], Exact]:
    everyone = range(len(attribute.labels))
    paths: dict[tuple[int, int], Exact] = {
        (i, j): INFINITE if i != j else Fraction(0) for i in everyone for j in everyone
    }
    for i, j, length in attribute.roads or ():
        paths[i, j] = paths[j, i] = min(Fraction(1) if steps else length, paths[i, j])
    for k, i, j in itertools.product(everyone, repeat=3):
        paths[i, j] = min(paths[i, j], paths[i, k] + paths[k, j])
    return paths
