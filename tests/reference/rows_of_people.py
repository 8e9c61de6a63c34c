"""People and their rows in memory, one row after the other: the slow twin of what engines hand over."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.cells import BatchEncoder
from dxgeom.engines.people import CountedPeople, whole_people
from dxgeom.engines.reading import RecordReader


@dataclass(frozen=True)
class People:
    """What a policy states of people; anything with these fields serves engines."""

    column: str
    count: Literal["once", "rows", "single"]
    at_most: int | None = None
    order: str | None = None
    within: str | None = None

    @property
    def in_shares(self) -> bool:
        return self.count == "once" or (self.count == "rows" and self.order is None)

    @property
    def most_rows(self) -> int:
        return self.at_most or 1


class RefusedPeople(Exception):
    """The rows are not what is stated of people."""


def gathered(persons: Sequence[Hashable], records: Sequence[int]) -> list[tuple[tuple[int, int], ...]]:
    """For each person how often each possible record occurs, by type; people in no order that means anything,
    sorted."""
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


@dataclass(frozen=True, eq=False)
class PeopleBatch:
    """Some people, each with all their rows.

    ``starts``: (P + 1,) where each of P people begins among the groups, and where the last one ends; ``records``: (G,)
    possible records, ``OUTSIDE`` (-1) for rows in none; a person has each once, in increasing order; ``rows``: (G,) how
    many rows of that person are of that type, at least 1.
    """

    starts: NDArray[np.int64]
    records: NDArray[np.int64]
    rows: NDArray[np.int64]


def people_in(reader: RecordReader, people: CountedPeople) -> Iterator[PeopleBatch]:
    """Everybody in a table, once each, in no order that means anything.

    Args: ``reader``: of a table opened with the columns that :func:`columns_of` names.
    Raises: DataError for rows that say no person.
    """
    encoder = BatchEncoder(reader.universe, reader.keys.coded)
    for person, records, rows in whole_people(reader, people, lambda batch: encoder.indices(encoder.codes(batch))):
        yield _put_together(person, records, rows)


def _put_together(person: NDArray[np.int64], records: NDArray[np.int64], rows: NDArray[np.int64]) -> PeopleBatch:
    order = np.lexsort((records, person))
    person, records, rows = person[order], records[order], rows[order]
    new = np.flatnonzero((np.diff(person, prepend=-1) != 0) | (np.diff(records, prepend=-2) != 0))
    starts = np.flatnonzero(np.diff(person[new], prepend=-1, append=-1))
    return PeopleBatch(starts.astype(np.int64), records[new], np.add.reduceat(rows, new))
