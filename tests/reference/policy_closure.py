"""The meaning of a policy, word for word: bounds on all pairs of records, then shortest paths, in exact rationals."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Exact = Fraction | float
INFINITE = float("inf")


@dataclass(frozen=True)
class PlainAttribute:
    """``places``: exact positions along one line of a range, bins or points; None for a list of words."""

    name: str
    yaml: str
    labels: tuple[str, ...]
    places: tuple[Fraction, ...] | None
    own_unit: str


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

    ``edges``: with an epsilon of None each edge has its own weight. ``presence``: about a record and its absence.
    ``summed``: values are individuals, a pair of them
    gets the sum instead of the minimum.
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
        selector = "presence: true" if rule.presence else selector
        lines.append(f"  - {selector}")
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
    """Exact distances between all record types, the last attribute running fastest, or between the listed ones; then
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
    stated: list[Exact] = [INFINITE]
    for rule in rules:
        if rule.presence:
            continue
        if rule.change is None:
            assert rule.epsilon is not None
            stated.append(rule.epsilon)
        elif len(differ) == 1 and attributes[differ[0]].name in rule.change:
            place = differ[0]
            stated.append(of_pair(attributes[place], rule, one[place], other[place]))
    return min(stated)


def of_pair(attribute: PlainAttribute, rule: PlainRule, one: int, other: int) -> Exact:
    if rule.edges:
        ends = {attribute.labels[one], attribute.labels[other]}
        weights = [weight for a, b, weight in rule.edges.edges if {a, b} == ends]
        return min((rule.epsilon or weight for weight in weights), default=INFINITE)
    if rule.values:
        given = dict(rule.values)
        found = [given.get(attribute.labels[code], rule.otherwise) for code in (one, other)]
        stated = [epsilon for epsilon in found if epsilon is not None]
        if rule.summed:
            return sum(stated, Fraction(0)) if len(stated) == 2 else INFINITE
        return min(stated, default=INFINITE)
    assert rule.epsilon is not None
    if rule.how == "constant":
        return rule.epsilon
    places = [Fraction(k) for k in range(len(attribute.labels))] if rule.steps else list(attribute.places or ())
    apart = abs(places[one] - places[other])
    match rule.how:
        case "per":
            return rule.epsilon * apart / rule.amount
        case "within":
            return rule.epsilon if apart <= rule.amount else INFINITE
        case _:
            return rule.epsilon * max(Fraction(1), apart / rule.amount)
