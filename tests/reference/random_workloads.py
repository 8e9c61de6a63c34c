"""Random workloads by every constructor there is, over small policies with and without presence; the same everywhere.

All chance comes from ``random.Random.random``, whose numbers no version of Python changes.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import dxgeom as dx
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.whole_tables import MarginalQueries

LinearQueries = dx.LinearQueries
EACH, BLOCK = 150, 10
"""Workloads of each constructor and sort of policy."""
POLICIES = 24
"""Of each sort: with presence, and without."""


class Chance:
    """Choices by one stream of numbers."""

    def __init__(self, seed: str) -> None:
        self._stream = random.Random(seed)

    def below(self, count: int) -> int:
        return int(self._stream.random() * count)

    def whole(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return low + self.below(high - low + 1)

    def one(self, things: Any) -> Any:
        return things[self.below(len(things))]

    def some(self, things: Any, least: int = 1) -> list[Any]:
        """Some of them, in their order."""
        wanted = self.whole(least, len(things))
        left = list(things)
        while len(left) > wanted:
            left.pop(self.below(len(left)))
        return left

    def likely(self, chance: float) -> bool:
        return self._stream.random() < chance


class Known(NamedTuple):
    """A policy, its metric, and the names of its attributes: all, and those with numbers."""

    policy: dx.Policy
    metric: dx.VerifiedMetric
    names: tuple[str, ...]
    numbers: tuple[str, ...]

    @property
    def universe(self) -> Any:
        return self.policy.universe


@cache
def policy_of(place: int, presence: bool) -> Known:
    """One to four attributes, one of them of numbers."""
    chance = Chance(f"policy {place} {presence}")
    attributes: dict[str, Any] = {"n": {"range": [0, chance.whole(1, 5)], "step": 1}}
    rules: list[dict[str, Any]] = [{"change": "n", "epsilon": f"0.{chance.whole(1, 9)}", "per": 1}]
    for name in "abc"[: chance.below(4)]:
        if chance.likely(0.25):
            attributes[name] = {"bins": ["0", "0.5", "2.5", "7"][: chance.whole(3, 4)]}
        else:
            attributes[name] = [f"{name}{value}" for value in range(chance.whole(2, 4))]
        rules.append({"change": name, "epsilon": f"{chance.below(2)}.{chance.whole(1, 9)}"})
    if presence:
        rules.append({"presence": True, "epsilon": f"1.{chance.below(10)}"})
    if chance.likely(0.2):
        rules.append({"between": "everything", "epsilon": "0.75"})
    policy = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})
    numbers = tuple(name for name, one in attributes.items() if isinstance(one, dict))
    return Known(policy, policy.compile(), tuple(attributes), numbers)


def _matrix(known: Known, chance: Chance) -> Any:
    size = known.universe.record_types
    rows = chance.whole(1, 6)
    kind = chance.below(3)
    entries: list[list[Any]] = [[chance.whole(-4, 4) for _ in range(size)] for _ in range(rows)]
    if kind == 1:
        entries = [[Fraction(one, chance.whole(1, 9)) for one in row] for row in entries]
    elif kind == 2:
        entries = [[one / 2 ** chance.below(6) for one in row] for row in entries]
    matrix = np.array(entries, dtype=object if kind == 1 else None)
    return LinearQueries.from_matrix([f"q{k}" for k in range(rows)], matrix, known.universe)


def _kronecker(known: Known, chance: Chance) -> Any:
    names = chance.some(known.names)
    factors = {}
    for name in names:
        size = known.universe.attribute(name).size
        factors[name] = [[chance.whole(-2, 3) for _ in range(size)] for _ in range(chance.whole(1, 3))]
    count = int(np.prod([len(rows) for rows in factors.values()]))
    unit = Fraction(chance.whole(1, 5), chance.whole(1, 5))
    return LinearQueries.kronecker([f"q{k}" for k in range(count)], known.universe, factors, unit)


def _groups(known: Known, chance: Chance, empty: bool = False) -> list[list[str]]:
    found = {tuple(chance.some(known.names, 0 if empty else 1)): None for _ in range(chance.whole(1, 4))}
    return [list(group) for group in found]


def _marginals(known: Known, chance: Chance) -> Any:
    if chance.likely(0.3):
        return LinearQueries.marginals(known.universe, ways=chance.whole(1, len(known.names)))
    return LinearQueries.marginals(known.universe, _groups(known, chance))


def _cuts(known: Known, name: str, chance: Chance) -> list[Any] | None:
    values = known.universe.attribute("n").size
    return chance.some(range(1, values)) if name == "n" and values > 2 and chance.likely(0.5) else None


def _prefixes(known: Known, chance: Chance) -> Any:
    name = chance.one(known.numbers)
    return LinearQueries.prefixes(known.universe, name, at=_cuts(known, name, chance))


def _ranges(known: Known, chance: Chance) -> Any:
    name = chance.one(known.numbers)
    return LinearQueries.ranges(known.universe, name, at=_cuts(known, name, chance))


def _box(known: Known, chance: Chance, least: int = 0) -> dict[str, tuple[int, int]]:
    box = {}
    for name in chance.some(known.names, least):
        size = known.universe.attribute(name).size
        low = chance.below(size)
        box[name] = (low, chance.whole(low + 1, size))
    return box


def _boxes(known: Known, chance: Chance) -> Any:
    boxes = {repr(box): box for box in (_box(known, chance, 1) for _ in range(chance.whole(1, 6)))}
    return LinearQueries.boxes(known.universe, list(boxes.values()))


def _stacked(known: Known, chance: Chance) -> Any:
    makers = [_matrix, chance.one((_marginals, _boxes, _prefixes, _ranges))]
    return LinearQueries.stack([make(known, chance) for make in (makers if chance.likely(0.5) else makers[::-1])])


def _condition(known: Known, chance: Chance, names: tuple[str, ...] = ()) -> str:
    name = chance.one(names or known.names)
    if name in known.numbers:
        edge = str(chance.whole(1, known.universe.attribute("n").size - 1)) if name == "n" else "0.5"
        return f"{name} {chance.one(['>=', '<'])} {edge}"
    said = f"{name} {chance.one(['==', '!='])} '{name}{chance.below(2)}'"
    return f"{said} or {name} == '{name}1'" if chance.likely(0.2) else said


def _entry(known: Known, chance: Chance) -> dict[str, Any]:
    where = {"where": _condition(known, chance)} if chance.likely(0.4) else {}
    by = {"by": chance.one(known.names)} if chance.likely(0.3) else {}
    number = chance.one(known.numbers)
    among = {"where": _condition(known, chance, ("n",))} if len(known.names) > 1 else {}
    entry = chance.one(
        [
            {"count": _condition(known, chance), **by},
            {"sum": number, **where, **by},
            {"mean": number, "where": _condition(known, chance)},
            {"share": _condition(known, chance, known.names[1:]), **among},
            {"marginal": chance.some(known.names), **where},
            {"marginals": {"ways": chance.whole(1, len(known.names))}},
            {"prefixes": number, **where},
            {"ranges": number, **where},
        ]
    )
    if chance.likely(0.3):
        entry["importance"] = chance.whole(1, 5)
    if chance.likely(0.2) and not {"mean", "share"} & {*entry}:
        entry["error"] = chance.whole(1, 9)
    return entry


def _worded(known: Known, chance: Chance) -> Any:
    entries = [_entry(known, chance) | {"name": f"query {k}"} for k in range(chance.whole(1, 4))]
    return dx.queries_from_dict({"queries": entries}, known.policy)


def _tables(known: Known, chance: Chance) -> Any:
    groups = _groups(known, chance, empty=True)
    importance = [chance.whole(1, 5) for _ in groups] if chance.likely(0.4) else None
    errors = [chance.one([None, chance.whole(1, 9)]) for _ in groups] if chance.likely(0.3) else None
    return MarginalQueries.of(known.universe, groups, importance=importance, errors=errors)


def _of_boxes(known: Known, chance: Chance) -> Any:
    if chance.likely(0.1):
        return BoxQueries.prefixes(known.universe, "n")
    boxes = [_box(known, chance) for _ in range(chance.whole(1, 6))] + [{"n": (0, 1)}]
    importance = [chance.whole(1, 5) for _ in boxes] if chance.likely(0.4) else None
    errors = [chance.one([None, chance.whole(1, 9)]) for _ in boxes] if chance.likely(0.3) else None
    return BoxQueries.of(known.universe, boxes, importance=importance, errors=errors)


def _quantile(known: Known, chance: Chance) -> dict[str, Any]:
    number = chance.one(known.numbers)
    where = {"where": _condition(known, chance)} if chance.likely(0.3) else {}
    by = {"by": chance.one(known.names)} if chance.likely(0.3) else {}
    if chance.likely(0.5):
        return {"median": number, **where, **by}
    levels = chance.some(["1/10", "1/4", "1/3", "0.9"])
    return {"quantiles": number, "at": levels, **where, **by}


def _quantiles(known: Known, chance: Chance) -> Any:
    entries = [_quantile(known, chance) | {"name": f"query {k}"} for k in range(chance.whole(1, 3))]
    return dx.queries_from_dict({"queries": entries}, known.policy)


def _tasks(known: Known, chance: Chance) -> Any:
    linear = {"queries": [_entry(known, chance) | {"name": "asked"}]}
    workload = [{"marginal": chance.some(known.names)}]
    tasks = chance.some(
        [
            linear,
            {"queries": [_quantile(known, chance)]},
            {"select": {"best": chance.one(known.names), "law": chance.one(["permute-and-flip", "exponential"])}},
            {"synthesize": {"workload": workload, "rounds": chance.below(4)}},
            {"small_database": {"workload": workload, "rows": chance.whole(1, 3)}},
            {"statistics": {"moments": [chance.one(known.numbers)], "degree": chance.whole(1, 2)}},
        ]
    )
    return dx.queries_from_dict({"tasks": tasks}, known.policy)


MAKERS: dict[str, Callable[[Known, Chance], Any]] = {
    "LinearQueries.from_matrix": _matrix,
    "LinearQueries.kronecker": _kronecker,
    "LinearQueries.marginals": _marginals,
    "LinearQueries.prefixes": _prefixes,
    "LinearQueries.ranges": _ranges,
    "LinearQueries.boxes": _boxes,
    "LinearQueries.stack": _stacked,
    "LinearQueries in words": _worded,
    "MarginalQueries.of": _tables,
    "BoxQueries.of": _of_boxes,
    "QuantileQueries in words": _quantiles,
    "Tasks in words": _tasks,
}
"""By what they are made."""


def described(maker: str, place: int, presence: bool) -> str:
    """The fingerprint of one workload, and of linear ones what their answers are counted in."""
    chance = Chance(f"{maker} {place} {presence}")
    known = policy_of(chance.below(POLICIES), presence)
    queries = MAKERS[maker](known, chance)
    if isinstance(queries, LinearQueries):
        return f"{queries.fingerprint} {sensitivity_of(known.metric, queries).queries.digest}"
    return str(queries.fingerprint)


def blocks() -> Iterator[tuple[str, str, int, bool]]:
    """All 300 of each constructor, ten at a time: a name, the constructor, the first place, and whether records may be
    absent."""
    for maker in MAKERS:
        for presence in (False, True):
            for first in range(0, EACH, BLOCK):
                yield f"{maker}, {'with' if presence else 'without'} presence, from {first}", maker, first, presence


def digests(maker: str, first: int, presence: bool) -> list[str]:
    """Of the workloads of a block, 64 bits each."""
    told = [described(maker, first + place, presence) for place in range(BLOCK)]
    return [hashlib.sha256(one.encode()).hexdigest()[:16] for one in told]
