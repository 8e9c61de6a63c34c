"""Random tables of people on every engine, counted row by row in Python: histograms, and whole tables of some.

What is released of people reads one of these: boxes and tables the second; quantiles, MWEM, selections the first.
``DXGEOM_TABLES`` says how many tables (make soak).
"""

from __future__ import annotations

import itertools
import os
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.marginals.table_counts import table_counts
from dxgeom.metrics.components import components_of
from dxgeom.universe.people.people import SHARES

TABLES = int(os.environ.get("DXGEOM_TABLES", "2"))
COUNTING: dict[str, dict[str, Any]] = {
    "once": {"column": "who", "count": "once"},
    "rows": {"column": "who", "count": "rows", "at_most": 3, "order": "at"},
    "single": {"column": "who", "count": "single"},
}
WORDS = ("x", "é", "1")
Row = tuple[Any, int, str | None, float | None, str]


def policy_of(count: str, presence: bool) -> dx.Policy:
    attributes = {
        "w": {"values": list(WORDS)},
        "n": {"range": [0, 3], "step": 0.5},
        "d": {"dates": ["2024-02-27", "2024-03-02"], "step": 1},
    }
    rules: list[dict[str, Any]] = [{"change": ["w", "n", "d"], "epsilon": 1}]
    rules += [{"presence": True, "epsilon": 1}] if presence else []
    return dx.Policy.from_dict(
        {"policy": "p", "universe": {"attributes": attributes}, "rules": rules, "people": COUNTING[count]}
    )


def random_rows(random: np.random.Generator, count: str) -> list[Row]:
    number = int(random.integers(1, 120))
    who = random.permutation(number) if count == "single" else random.zipf(1.6, number) % 23
    name = (lambda person: f"p{person}é") if random.random() < 0.5 else int
    place = random.permutation(number)
    words, numbers = [*WORDS, "z", "", None], [0.0, 0.49999, 0.5, 1.25, 2.9, 3.0, -0.0, -1.0, 3.01, float("nan"), None]
    days = ["2024-02-27", "2024-02-29", "2024-03-02", "2024-03-03", "1999-01-01"]
    weights = np.array([3, 3, 3, 1, 0.2, 0.2])
    return [
        (
            name(who[k]), int(place[k]), words[random.choice(6, p=weights / weights.sum())],
            numbers[min(int(random.integers(0, 16)), 10) if random.random() < 0.3 else int(random.integers(0, 7))],
            days[int(random.integers(0, 5))] if random.random() < 0.2 else days[int(random.integers(0, 3))],
        )
        for k in range(number)
    ]  # fmt: skip


def codes_of(row: Row) -> tuple[int, int, int] | None:
    """The value of each attribute; None where one is none."""
    _, _, word, number, day = row
    if word not in WORDS or number is None or not 0 <= number <= 3:
        return None
    codes = {"2024-02-27": 0, "2024-02-29": 2, "2024-03-02": 4}
    return None if day not in codes else (WORDS.index(word), int(number * 2), codes[day])


def counted(rows: list[Row], count: str, presence: bool) -> tuple[Counter[tuple[int, int, int]], int, int]:
    """The shares or records of each type, how many people or records count, and how many are left out."""
    own: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        own[row[0]].append(row)
    cells: Counter[tuple[int, int, int]] = Counter()
    total = dropped = 0
    for theirs in own.values():
        if count != "once":
            for row in sorted(theirs, key=lambda row: row[1])[: 3 if count == "rows" else 1]:
                codes = codes_of(row)
                total, dropped = total + (codes is not None), dropped + (codes is None)
                cells[codes or (-1, -1, -1)] += 1
            continue
        inside = sorted(codes for codes in map(codes_of, theirs) if codes is not None)
        order = [*inside, *[(-1, -1, -1)] * (len(theirs) - len(inside))] if presence else inside
        total, dropped = total + bool(order), dropped + (not order)
        for k, codes in enumerate(order):
            cells[codes] += (k + 1) * SHARES // len(order) - k * SHARES // len(order)
    del cells[-1, -1, -1]
    return cells, total, dropped


@pytest.mark.parametrize("presence", [False, True], ids=["all are there", "some may be absent"])
@pytest.mark.parametrize("count", COUNTING)
def test_tables_of_people_are_what_counting_by_hand_gives(
    keep: Callable[[pa.Table], Any], count: str, presence: bool
) -> None:
    policy = policy_of(count, presence)
    shape = policy.universe.shape[:3]
    components = components_of(policy.compile().metric)
    few = [["w"], ["n", "d"], ["w", "n", "d"]]
    queries = dx.universe.MarginalQueries.of(policy.universe, few)
    for seed in range(TABLES):
        rows = random_rows(np.random.default_rng([seed, len(count), presence]), count)
        if not any(map(codes_of, rows)):
            continue
        cells, total, dropped = counted(rows, count, presence)
        who, at, words, numbers, days = zip(*rows, strict=True)
        days = pa.array(days).cast(pa.date32())
        kept = keep(pa.table({"who": list(who), "w": list(words), "n": list(numbers), "d": days, "at": list(at)}))
        wanted = np.array([cells[codes] for codes in itertools.product(*map(range, shape))]).reshape(shape)
        found = histogram_of_table(kept, policy.universe, outside="drop", component_of=components.of)
        assert np.array_equal(found.counts[: wanted.size].reshape(shape), wanted), seed
        keys = components.keys(3) if count == "once" else None
        tables = table_counts(kept, queries, outside="drop", component_keys=keys)
        for one, table in zip(few, tables.cells, strict=True):
            away = tuple(axis for axis, name in enumerate(("w", "n", "d")) if name not in one)
            assert np.array_equal(table, wanted.sum(axis=away).ravel()), (seed, one)
        if not presence:
            assert (found.total, found.dropped) == (total, dropped) == (tables.total, tables.dropped)
