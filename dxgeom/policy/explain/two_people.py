"""Why two people are as far apart as they are: the cheapest way to carry the one's rows to the other's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

from dxgeom.arguments import require
from dxgeom.errors import DataError, TooLarge
from dxgeom.policy.explain.explanation import Explanation
from dxgeom.policy.explain.telling import Telling
from dxgeom.policy.explain.tightening import NOBODY
from dxgeom.policy.explain.transport import least_transport
from dxgeom.universe.columns import plain
from dxgeom.universe.universe import Universe

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
    ``moves``: a cheapest plan, empty where there is none. ``counted``: how people count.
    """

    counted: str
    rows: tuple[int, int]
    distance: Fraction | float
    moves: tuple[Move, ...]
    all_told: Telling

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
            "a cheapest way from one to the other",
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

    def far(i: int, j: int) -> tuple[Fraction | float, Row, Row]:
        found = explain(i, j)
        return found.distance, found.first, found.second

    counted = "Every person has one row." if people is None else people.sentence
    if people is not None and people.count == "rows":
        ends = _slots(first, second, people.at_most or 1, absent)
        costs = [far(i, j) for i, j in ends]
        joined = not any(math.isinf(cost[0]) for cost in costs)
        moves = [_move(Fraction(1, people.at_most or 1), cost) for cost in costs] if joined else None
    else:
        if (people is None or people.count == "single") and numbers != (1, 1):
            raise DataError("under this policy a person has exactly one row; 'people' says how people with more count")
        moves = _carried(_spread(first, absent), _spread(second, absent), far)
    if moves is None:
        return PeopleExplanation(counted, numbers, math.inf, (), all_told)
    return PeopleExplanation(counted, numbers, sum((move.cost for move in moves), Fraction(0)), tuple(moves), all_told)


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


def _spread(rows: Sequence[int], absent: int | None) -> Counter[int]:
    if not rows and absent is None:
        raise DataError("a person has at least one row: under this policy nobody is absent")
    spread = Counter(rows or [absent or 0])
    if len(spread) > MOST_RECORDS:
        raise TooLarge(f"people with up to {MOST_RECORDS} different records are explained, found {len(spread):,}")
    return spread


def _carried(first: Counter[int], second: Counter[int], far: Distance) -> list[Move] | None:
    """A cheapest plan of whole parts, of which each row is as many as the other person has rows."""
    here, there = sorted(first), sorted(second)
    apart = [[far(i, j) for j in there] for i in here]
    costs = [[None if math.isinf(cost[0]) else _exact(cost[0]) for cost in row] for row in apart]
    whole = math.lcm(first.total(), second.total())
    supply = [first[i] * (whole // first.total()) for i in here]
    demand = [second[j] * (whole // second.total()) for j in there]
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
