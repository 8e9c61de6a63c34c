"""People and their rows in memory, one row after the other: the slow twin of what engines hand over."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class People:
    """What a policy states of people; anything with these four fields serves engines."""

    column: str
    count: Literal["once", "rows", "single"]
    at_most: int | None = None
    order: str | None = None


class RefusedPeople(Exception):
    """The rows are not what is stated of people."""


def gathered(persons: Sequence[Hashable], records: Sequence[int]) -> list[tuple[tuple[int, int], ...]]:
    """For each person how often each record type occurs, by type; people in no order that means anything, sorted."""
    if any(person is None or person == "" for person in persons):
        raise RefusedPeople
    own: dict[Any, Counter[int]] = defaultdict(Counter)
    for person, record in zip(persons, records, strict=True):
        own[person][record] += 1
    return sorted(tuple(sorted(counts.items())) for counts in own.values())


def kept(people: People, persons: Sequence[Any], places: Sequence[Any]) -> list[int]:
    """The rows that count where all or single ones do."""
    own: dict[Any, list[tuple[Any, int]]] = defaultdict(list)
    for row, (person, place) in enumerate(zip(persons, places, strict=True)):
        if person is None or person == "" or place is None or place != place:
            raise RefusedPeople
        own[person].append((place, row))
    if people.count == "single" and any(len(rows) > 1 for rows in own.values()):
        raise RefusedPeople
    if people.count == "rows" and any(len({place for place, _ in rows}) < len(rows) for rows in own.values()):
        raise RefusedPeople
    at_most = 1 if people.at_most is None else people.at_most
    return sorted(row for rows in own.values() for _, row in sorted(rows)[:at_most])
