"""Random tables of people, and what plain Python counts of them, row by row."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import dxgeom as dx
from dxgeom.mechanisms.contract.composition import key_reader
from dxgeom.planner.releases.reading import MadeUp, MadeUpKeys, MadeUpTables
from dxgeom.universe.people.people import SHARES

COUNTING: dict[str, dict[str, Any]] = {
    "once": {"column": "who", "count": "once"},
    "rows": {"column": "who", "count": "rows", "at_most": 3, "order": "at"},
    "spread": {"column": "who", "count": "rows", "at_most": 3},
    "single": {"column": "who", "count": "single"},
}
IN_SHARES = {"once": 1, "spread": 3}
"""What a person counts at most whose rows may count fractions."""
WORDS, NUMBERS = ("é", "1"), tuple(k / 2 for k in range(7))
DATES = ("2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02")
MORE, SIZE = 4, 40
"""So many attributes more, each of such a size: with them there are too many types for a histogram."""
PUBLIC = {False: (2,), True: (2, 3)}
"""The places of what no rule hides, without those and with them: what they are is a component of its own."""
PEOPLE = 60
"""So many records there are where that is public."""
BUDGET = 10**7
Row = tuple[Any, int, str | None, float | None, str, tuple[int, ...]]
Codes = tuple[int, ...]


@cache
def policy_of(count: str, presence: bool, wide: bool = False) -> dx.Policy:
    attributes: dict[str, Any] = {
        "w": {"values": list(WORDS)},
        "n": {"range": [0, 3], "step": 0.5},
        "d": {"dates": [DATES[0], DATES[-1]], "step": 1},
    }
    more = {f"u{k}": {"range": [0, SIZE - 1], "step": 1} for k in range(MORE)} if wide else {}
    rules: list[dict[str, Any]] = [{"change": "w", "epsilon": 1}, {"change": "n", "epsilon": 1, "per": 0.5}]
    rules += [{"change": name, "epsilon": 1} for name in [*more][1:]]
    rules += [{"presence": True, "epsilon": 1}] if presence else []
    told = {"policy": "p", "budget": BUDGET, "unconnected": "allow", "privacy": "concentrated" if wide else "pure"}
    universe = {"attributes": {**attributes, **more}}
    return dx.Policy.from_dict({**told, "universe": universe, "rules": rules, "people": COUNTING[count]})


def random_rows(random: np.random.Generator, count: str) -> list[Row]:
    number = int(random.integers(1, 120))
    who = random.permutation(number) if count == "single" else random.zipf(1.6, number) % 23
    name = (lambda person: f"p{person}é") if random.random() < 0.5 else int
    place = random.permutation(number)
    words, numbers = [*WORDS, "z", "", None], [0.0, 0.49999, 0.5, 1.25, 2.9, 3.0, -0.0, -1.0, 3.01, float("nan"), None]
    days = [*DATES[::2], "2024-03-03", "1999-01-01"]
    weights = np.array([4.5, 4.5, 1, 0.2, 0.2])
    return [
        (
            name(who[k]), int(place[k]), words[random.choice(5, p=weights / weights.sum())],
            numbers[min(int(random.integers(0, 16)), 10) if random.random() < 0.3 else int(random.integers(0, 7))],
            days[int(random.integers(0, 5))] if random.random() < 0.2 else days[int(random.integers(0, 3))],
            tuple(random.integers(-1, SIZE, MORE).tolist()),
        )
        for k in range(number)
    ]  # fmt: skip


def rows_of_so_many(random: np.random.Generator, count: str) -> list[Row]:
    """Rows of which PEOPLE records count where nobody may be absent: some are left out, and others come for them."""
    rows, kept, total = random_rows(random, count), list[Row](), 0
    for theirs in by_person(rows):
        number = counted(theirs, count, False)[1]
        if total + number <= PEOPLE:
            kept, total = kept + theirs, total + number
    for k in range(PEOPLE - total):
        name = f"q{k}" if isinstance(rows[0][0], str) else 1000 + k
        kept.append((name, len(rows) + k, WORDS[k % 2], NUMBERS[k % 3], DATES[k % 2 * 2], (k % SIZE,) * MORE))
    return kept


def as_table(rows: list[Row]) -> pa.Table:
    who, at, words, numbers, days, more = map(list, zip(*rows, strict=True))
    dates = pa.array(days).cast(pa.date32())
    columns = {f"u{k}": [one[k] for one in more] for k in range(MORE)}
    return pa.table({"who": who, "w": words, "n": numbers, "d": dates, **columns, "at": at})


def codes_of(row: Row, wide: bool = False) -> Codes | None:
    """The value of each attribute; None where one is none."""
    _, _, word, number, day, more = row
    if word not in WORDS or number is None or not 0 <= number <= 3 or day not in DATES or (wide and min(more) < 0):
        return None
    return (WORDS.index(word), int(number * 2), DATES.index(day), *(more if wide else ()))


def by_person(rows: list[Row]) -> list[list[Row]]:
    own: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        own[row[0]].append(row)
    return [*own.values()]


def counted(rows: list[Row], count: str, presence: bool, wide: bool = False) -> tuple[Counter[Codes], int, int]:
    """The shares or records of each type, how many people or records count, and how many are left out.

    Rows that are spread are handed out one share of a row after the other, as fractions say: the share that ends at or
    after the end of a row is the next row's.
    """
    cells: Counter[Codes] = Counter()
    total = dropped = 0
    for theirs in by_person(rows):
        if count not in IN_SHARES:
            for row in sorted(theirs, key=lambda row: row[1])[: 3 if count == "rows" else 1]:
                codes = codes_of(row, wide)
                total, dropped = total + (codes is not None), dropped + (codes is None)
                cells[codes or (-1,)] += 1
            continue
        inside = [codes for codes in (codes_of(row, wide) for row in theirs) if codes is not None]
        # Where anybody may be absent all records are connected; else what is public keeps them apart.
        apart = () if presence else PUBLIC[wide]
        inside.sort(key=lambda codes: ([codes[place] for place in apart], codes))
        order = [*inside, *[(-1,)] * (len(theirs) - len(inside))] if presence else inside
        number = min(len(order), IN_SHARES[count])
        total, dropped = total + number, dropped + (not order)
        each = Fraction(number * SHARES, len(order) or 1)
        for k, codes in enumerate(order):
            cells[codes] += math.floor((k + 1) * each) - math.floor(k * each)
    del cells[-1,]
    return cells, total, dropped


class ByHand:
    """What was counted, and what of it a question is about: of each type its word, number and day, and what ``more`` it
    has; ``total`` and ``dropped`` as :func:`counted` has them."""

    def __init__(self, rows: list[Row], count: str, presence: bool, wide: bool = False) -> None:
        self.cells, self.total, self.dropped = counted(rows, count, presence, wide)
        self.presence, self.one = presence, SHARES if count in IN_SHARES else 1
        codes = np.array([*self.cells], dtype=int).reshape(-1, 3 + MORE * wide)
        self.w, self.n, self.d = (np.array(own)[codes[:, k]] for k, own in enumerate((WORDS, NUMBERS, DATES)))
        self.day, self.more = codes[:, 2] - 2, codes[:, 3:].T
        self.added = np.minimum(self.n + 0.25, 3)
        """What is added up of a number that was rounded down to a step: its middle."""
        self._weights = np.array([*self.cells.values()]) / self.one

    def of(self, what: Any = True) -> float:
        """How many records or people, in fractions, something is true of; or the sum of a number over them."""
        return float((self._weights * what).sum())

    def each(self, column: NDArray[Any], values: Sequence[Any], where: Any = True) -> list[float]:
        """How many have each of some values."""
        return [self.of((column == value) & where) for value in values]

    def data_for(self, mechanism: Any) -> MadeUp | MadeUpTables | MadeUpKeys:
        """The same as a mechanism takes it that reads a histogram, tables, or keys."""
        keyed = key_reader(mechanism)
        if keyed is not None:
            counts = np.zeros(keyed.key_count, dtype=np.int64)
            for codes, weight in self.cells.items():
                places = [int(own.codes[codes[own.axis]]) for own in keyed.columns_of_keys]
                counts[np.ravel_multi_index(places, [len(own.words) for own in keyed.columns_of_keys])] += weight
            there = np.flatnonzero(counts)
            return MadeUpKeys(there, counts[there], self.total)
        queries = getattr(mechanism, "queries", None)
        if not isinstance(queries, dx.universe.MarginalQueries):
            types = itertools.product(*(range(len(one)) for one in (WORDS, NUMBERS, DATES)))
            counts = [*(self.cells[codes] for codes in types), *([0] if self.presence else [])]
            return MadeUp(np.array(counts), self.total)
        tables = []
        for one, shape in zip(queries.attribute_sets, queries.shapes, strict=True):
            columns, table = [queries.columns[place] for place in one], np.zeros(shape, dtype=np.int64)
            for codes, weight in self.cells.items():
                table[tuple(own.codes[codes[own.axis]] for own in columns)] += weight
            tables.append(table.ravel())
        return MadeUpTables(tuple(tables), self.total)
