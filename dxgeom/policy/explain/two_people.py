"""Why two people are as far apart as they are: the cheapest way to carry the one's rows to the other's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeAlias, final

from dxgeom.arguments import require
from dxgeom.errors import DataError, TooLarge
from dxgeom.policy.explain.explanation import Explanation
from dxgeom.policy.explain.telling import Telling
from dxgeom.policy.explain.tightening import NOBODY
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import MOVER
from dxgeom.universe.universe import Universe


class Carried(NamedTuple):
    """``amount`` of mass from the place ``start`` to the place ``end``."""

    start: int
    end: int
    amount: int


def least_transport(
    supply: Sequence[int], demand: Sequence[int], costs: Sequence[Sequence[Fraction | None]]
) -> tuple[Carried, ...] | None:
    """A plan that carries ``supply`` to ``demand`` at least cost; None where there is none.

    Args: whole masses of equal sums; ``costs[i][j]``: at least 0, None where nothing goes from i to j.
    Guarantee: *optimal* in exact rationals: mass is sent along cheapest paths of what is left, backwards too, one after
    another (Ford & Fulkerson 1962), and no path is cheaper for having waited.
    """
    flow: dict[tuple[int, int], int] = {}
    left, wanted = list(supply), list(demand)
    while any(left):
        path = _cheapest_path(left, wanted, costs, flow)
        if path is None:
            return None
        forwards, backwards = path[::2], path[1::2]
        amount = min(left[path[0][0]], wanted[path[-1][1]], *(flow[edge] for edge in backwards))
        for edge in forwards:
            flow[edge] = flow.get(edge, 0) + amount
        for edge in backwards:
            flow[edge] -= amount
        left[path[0][0]] -= amount
        wanted[path[-1][1]] -= amount
    return tuple(Carried(i, j, amount) for (i, j), amount in sorted(flow.items()) if amount)


def _cheapest_path(
    left: Sequence[int],
    wanted: Sequence[int],
    costs: Sequence[Sequence[Fraction | None]],
    flow: dict[tuple[int, int], int],
) -> list[tuple[int, int]] | None:
    """Edges (start, end), used forwards and backwards in turn, from what is left to what is wanted, by Bellman and
    Ford."""
    to_start: dict[int, Fraction] = {i: Fraction(0) for i, mass in enumerate(left) if mass}
    to_end: dict[int, Fraction] = {}
    before_start: dict[int, int] = {}
    before_end: dict[int, int] = {}
    changed = True
    while changed:
        changed = False
        for i, reached in list(to_start.items()):
            for j, cost in enumerate(costs[i]):
                if cost is not None and (j not in to_end or reached + cost < to_end[j]):
                    to_end[j], before_end[j], changed = reached + cost, i, True
        for (i, j), amount in flow.items():
            back = costs[i][j]
            if amount and j in to_end and back is not None and (i not in to_start or to_end[j] - back < to_start[i]):
                to_start[i], before_start[i], changed = to_end[j] - back, j, True
    ends = [j for j in to_end if wanted[j]]
    if not ends:
        return None
    end = min(ends, key=lambda j: to_end[j])
    path: list[tuple[int, int]] = []
    while True:
        start = before_end[end]
        path.append((start, end))
        if start not in before_start:
            return path[::-1]
        end = before_start[start]
        path.append((start, end))


MOST_RECORDS: Final = 40
"""Different records among a person's rows whose distances are worked out one by one."""
_UP: Final = 1 + Fraction(1, 10**9)
"""Distances that are no exact numbers are rounded down by less."""
_LONGEST: Final = 12

Row: TypeAlias = Mapping[str, str]
Distance: TypeAlias = Callable[[int, int], tuple[Fraction | float, Row, Row]]
"""How far two records are, by index, and their values; infinite where no rules join them."""


@final
@dataclass(frozen=True)
class Move:
    """A part of a person's weight that is carried from one record to another, and at what distance."""

    part: Fraction
    start: Row
    end: Row
    distance: Fraction

    @property
    def cost(self) -> Fraction:
        """What it adds to the distance of the people."""
        return self.part * self.distance

    def __str__(self) -> str:
        words = [
            ", ".join(f"{name}={value}" for name, value in row.items()) or NOBODY for row in (self.start, self.end)
        ]
        moved = f"{words[0]} → {words[1]}" if self.distance or words[0] != words[1] else f"{words[0]} stays"
        return f"{_text(self.part)} of the weight: {moved}: {_text(self.part)} × {_text(self.distance)}"


@final
@dataclass(frozen=True)
class PeopleExplanation:
    """Why two people are this far apart.

    ``distance``: what it costs to carry the rows of the one to those of the other, *exact* where distances of records
    are, else *rounded up*; infinite where their rows lie in groups of records that no rules join, in unequal fractions.
    ``moves``: a cheapest plan, empty where there is none. ``counted``: how people count; ``once``: not row by row.
    """

    counted: str
    rows: tuple[int, int]
    distance: Fraction | float
    moves: tuple[Move, ...]
    all_told: Telling
    once: bool = True

    def lines(self) -> list[str]:
        """The explanation for a reader."""
        head = [f"a person with {_rows(self.rows[0])}, and one with {_rows(self.rows[1])}", self.counted, ""]
        if math.isinf(self.distance):
            return [
                *head,
                "distance infinite: unequal fractions of their rows lie in groups of records that no rules join; they "
                "may be told apart",
            ]
        told = self.all_told.at_most(Fraction(self.distance))
        return [
            *head,
            f"distance {_text(Fraction(self.distance))}: all releases within the budget together tell them apart with "
            f"odds {told}",
            "",
            f"a cheapest way from one to the other: {MOVER} between their rows" if self.once else "row by row",
            *(f"  {move}" for move in self.moves),
        ]

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON."""
        finite = not math.isinf(self.distance)
        return {
            "people": self.counted,
            "rows": list(self.rows),
            "distance": float(self.distance) if finite else "inf",
            "distance_exact": str(self.distance) if finite else None,
            "plan": [
                {
                    "part": str(move.part),
                    "from": dict(move.start),
                    "to": dict(move.end),
                    "distance": float(move.distance),
                    "distance_exact": str(move.distance),
                }
                for move in self.moves
            ],
        }


def explain_people(
    universe: Universe,
    explain: Callable[[Any, Any], Explanation],
    before: Sequence[Any],
    after: Sequence[Any],
    all_told: Telling,
) -> PeopleExplanation:
    """Explain the distance of two people by the records of their rows; a person without rows is absent.

    Raises: DataError for rows that such a person cannot have; TooLarge.
    """
    for name, rows in (("first", before), ("second", after)):
        require(rows, (list, tuple), name, "list the record of each row, such as [{'city': 'Paris'}, {'city': 'Rome'}]")
    people, absent = universe.reading.people, universe.absent
    first, second = ([_index(universe, explain, record) for record in rows] for rows in (before, after))
    numbers = (len(first), len(second))
    if people is not None and people.within is not None:
        _require_one_period(universe, people.within, {*first, *second})

    def far(i: int, j: int) -> tuple[Fraction | float, Row, Row]:
        found = explain(i, j)
        return found.distance, found.first, found.second

    counted = "Every person has one row." if people is None else people.sentence
    by_rows = people is not None and people.count == "rows" and not people.in_shares
    if people is not None and by_rows:
        ends = _slots(first, second, people.at_most or 1, absent)
        costs = [far(i, j) for i, j in ends]
        joined = not any(math.isinf(cost[0]) for cost in costs)
        moves = [_move(Fraction(1, people.at_most or 1), cost) for cost in costs] if joined else None
    else:
        if (people is None or people.count == "single") and numbers != (1, 1):
            raise DataError("under this policy a person has exactly one row; 'people' says how people with more count")
        most = 1 if people is None else people.most_rows
        moves = _carried(_spread(first, most, absent), _spread(second, most, absent), far)
    if moves is None:
        return PeopleExplanation(counted, numbers, math.inf, (), all_told)
    costs_all = sum((move.cost for move in moves), Fraction(0))
    return PeopleExplanation(counted, numbers, costs_all, tuple(moves), all_told, not by_rows)


def _require_one_period(universe: Universe, name: str, records: set[int]) -> None:
    """Raises: DataError for records of several periods, whose distances add up."""
    place = universe.names.index(name)
    if len({int(universe.codes(one)[place]) for one in records if one != universe.absent}) > 1:
        raise DataError(f"people count in each period by themselves: explain rows of one period of '{name}' at a time")


def _index(universe: Universe, explain: Callable[[Any, Any], Explanation], record: Any) -> int:
    """Of a record as people put it. Raises: DataError."""
    values = explain(record, record).first
    return universe.absent if universe.absent is not None and not values else int(universe.index(values))


def _slots(first: Sequence[int], second: Sequence[int], most: int, absent: int | None) -> list[tuple[int, int]]:
    """The kept rows of both, by their place in order. Raises: DataError where only one of them has a row."""
    kept, other = list(first[:most]), list(second[:most])
    if absent is None and len(kept) != len(other):
        raise DataError("how many rows of a person are kept is public here: compare people with equally many")
    longer = max(len(kept), len(other))
    fill = [absent or 0] * longer
    return list(zip((kept + fill)[:longer], (other + fill)[:longer], strict=True))


def _spread(rows: Sequence[int], most: int, absent: int | None) -> dict[int, Fraction]:
    """The part of a person's weight on each record: the rest, of a person with fewer rows than count at ``most``, is on
    absence."""
    if not rows and absent is None:
        raise DataError("a person has at least one row: under this policy nobody is absent")
    counted = min(len(rows), most)
    spread = {record: Fraction(number * counted, len(rows) * most) for record, number in Counter(rows).items()}
    if absent is not None and counted < most:
        spread[absent] = spread.get(absent, Fraction(0)) + Fraction(most - counted, most)
    if len(spread) > MOST_RECORDS:
        raise TooLarge(f"people with up to {MOST_RECORDS} different records are explained, found {len(spread):,}")
    return spread


def _carried(first: Mapping[int, Fraction], second: Mapping[int, Fraction], far: Distance) -> list[Move] | None:
    """A cheapest plan, in whole parts of the least that all weights are multiples of. Raises: DataError."""
    if sum(first.values()) != sum(second.values()):
        raise DataError(
            "everybody's number of rows, up to what a person counts at most, is public here: compare people with as "
            "many each"
        )
    here, there = sorted(first), sorted(second)
    apart = [[far(i, j) for j in there] for i in here]
    costs = [[None if math.isinf(cost[0]) else _exact(cost[0]) for cost in row] for row in apart]
    whole = math.lcm(*(part.denominator for part in (*first.values(), *second.values())))
    supply = [int(first[i] * whole) for i in here]
    demand = [int(second[j] * whole) for j in there]
    plan = least_transport(supply, demand, costs)
    if plan is None:
        return None
    return [_move(Fraction(one.amount, whole), apart[one.start][one.end]) for one in plan]


def _move(part: Fraction, cost: tuple[Fraction | float, Row, Row]) -> Move:
    distance, start, end = cost
    return Move(part, start, end, _exact(distance))


def _exact(distance: Fraction | float) -> Fraction:
    """*Rounded up* where it is no exact number."""
    return distance if isinstance(distance, Fraction) else Fraction(distance) * _UP


def _rows(count: int) -> str:
    return "one row" if count == 1 else f"{count:,} rows"


def _text(number: Fraction) -> str:
    exact = plain(number)
    return exact if len(exact) <= _LONGEST else f"{float(number):.6g}"
