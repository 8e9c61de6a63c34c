"""Whole tables of people are those that a histogram of them adds up to, in the order of shares that no index gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.engines import people as people_module
from dxgeom.engines.counted_tables import ranked, table_counts
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import DataError, TooLarge
from dxgeom.metrics.components import components_of
from dxgeom.universe.people.people import SHARES

SIZES = (2, 3, 4)
COUNTING: dict[str, dict[str, Any]] = {
    "once": {"column": "who", "count": "once"},
    "rows": {"column": "who", "count": "rows", "at_most": 2, "order": "at"},
    "spread": {"column": "who", "count": "rows", "at_most": 2},
    "single": {"column": "who", "count": "single"},
}


def policy(count: str, rules: str = "all", sizes: tuple[int, ...] = SIZES, privacy: str = "pure") -> dx.Policy:
    """``rules``: "all"; "some", so that values of the first attribute and halves of the last are never compared;
    "presence"."""
    attributes = {f"a{i}": {"values": [f"v{j}" for j in range(size)]} for i, size in enumerate(sizes)}
    stated: list[dict[str, Any]] = [{"change": f"a{i}", "epsilon": 1} for i in range(len(sizes))]
    if rules == "some":
        pairs = [["v0", "v1", "0.5"], ["v2", "v3", 2]]
        stated = [{"change": "a1", "epsilon": 1}, {"change": "a2", "secrets": {"edges": pairs}}]
    if rules == "presence":
        stated.append({"presence": True, "epsilon": 1})
    return dx.Policy.from_dict(
        {
            "policy": "people",
            "universe": {"attributes": attributes},
            "rules": stated,
            "people": COUNTING[count],
            "privacy": privacy,
            **({"unconnected": "allow"} if rules == "some" else {}),
        }
    )


def table_of(who: list[int], codes: list[tuple[int, ...]]) -> pa.Table:
    """Codes beyond an attribute's values are no values of it."""
    columns = {f"a{i}": [f"v{row[i]}" for row in codes] for i in range(len(SIZES))}
    return pa.table({**columns, "who": who, "at": np.arange(len(who))})


def both(own: dx.Policy, table: Any, outside: str) -> tuple[list[np.ndarray], Any, Any]:
    """The cells that the histogram adds up to, the histogram, and what is counted in tables."""
    queries = dx.universe.MarginalQueries.of(own.universe, [["a0", "a2"], ["a2", "a1"], ["a1"], []])
    components = components_of(own.compile().metric)
    histogram = histogram_of_table(table, own.universe, outside=outside, component_of=components.of)
    counts = histogram.counts[: math.prod(SIZES)].reshape(SIZES)
    cells = [counts.sum(axis=1), counts.sum(axis=0), counts.sum(axis=(0, 2)), counts.sum()]
    found = table_counts(table, queries, outside=outside, component_keys=components.keys(len(SIZES)))
    return [np.ravel(one) for one in cells], histogram, found


rows = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40
)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(rows, st.sampled_from(["all", "some", "presence"]), st.sampled_from([2, 1 << 15]))
def test_shares_in_cells_are_those_of_the_histogram(drawn: Any, rules: str, at_once: int) -> None:
    own = policy("once", rules)
    table = table_of([row[0] for row in drawn], [row[1:] for row in drawn])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people_module, "ROWS_AT_ONCE", at_once)
        try:
            wanted, histogram, found = both(own, table, "drop")
        except DataError:
            return
    assert all(np.array_equal(one, other) for one, other in zip(found.cells, wanted, strict=True))
    assert (found.total, found.dropped) == (histogram.total, histogram.dropped)
    if rules != "presence":
        assert int(found.cells[3][0]) == found.total * SHARES


@pytest.mark.parametrize("rules", ["all", "some", "presence"])
@pytest.mark.parametrize("count", COUNTING)
def test_people_and_rows_that_count_are_those_of_the_histogram(count: str, rules: str) -> None:
    generator = np.random.default_rng(3)
    who = generator.permutation(300) if count == "single" else generator.integers(0, 60, 300)
    codes = np.stack([generator.integers(0, size + (size == 4), 300) for size in SIZES], axis=1)
    wanted, histogram, found = both(policy(count, rules), table_of(who.tolist(), codes.tolist()), "drop")
    assert all(np.array_equal(one, other) for one, other in zip(found.cells, wanted, strict=True))
    assert (found.total, found.dropped) == (histogram.total, histogram.dropped)
    assert found.dropped > 0 or count in ("once", "spread")


@pytest.mark.parametrize("count", COUNTING)
def test_people_are_refused_in_the_words_of_histograms(count: str) -> None:
    own, table = policy(count), table_of([1, 1, 2], [(0, 0, 0), (1, 5, 1), (1, 1, 1)])
    without = table.set_column(3, "who", pa.array([1, None, 2]))
    cases: list[tuple[Any, str]] = [(table, "refuse"), (without, "drop")]
    for case, outside in cases:
        queries, components = dx.universe.MarginalQueries.of(own.universe, [["a0"]]), components_of(own.metric)
        with pytest.raises(DataError) as one:
            histogram_of_table(case, own.universe, outside=outside, component_of=components.of)
        with pytest.raises(DataError) as other:
            table_counts(case, queries, outside=outside, component_keys=components.keys(len(SIZES)))
        assert str(one.value) == str(other.value)


def test_the_order_is_that_of_indices_in_components() -> None:
    own, generator = policy("once", "some"), np.random.default_rng(5)
    codes = np.stack([generator.integers(0, size, 400) for size in SIZES], axis=1)
    person, indices = generator.integers(0, 3, 400), own.universe.indices_of(list(codes.T))
    components = components_of(own.metric)
    found = ranked(SIZES, person, codes, np.zeros(400, dtype=bool), components.keys(len(SIZES)))
    wanted = np.lexsort((indices, components.of(indices), person))
    assert np.array_equal(indices[found], indices[wanted]) and np.array_equal(person[found], person[wanted])


def test_records_beyond_every_index_have_the_same_order_as_their_codes() -> None:
    generator = np.random.default_rng(6)
    sizes = tuple(generator.integers(2, 50, 90).tolist())
    codes = np.stack([generator.integers(0, min(size, 3), 500) for size in sizes], axis=1)
    codes[:, :30] = 1
    found = ranked(sizes, np.zeros(500, dtype=np.int64), codes, np.zeros(500, dtype=bool), ())
    assert codes[found].tolist() == sorted(codes.tolist())


def test_components_that_belong_to_several_attributes_are_refused() -> None:
    own = dx.parse_policy(
        "policy: p\nunconnected: allow\nuniverse: {attributes: {x: {range: [0, 2], step: 1}, "
        "y: {range: [0, 2], step: 1}, z: [u, v]}}\n"
        "rules: [{change: [x, y], together: true, measure: max, epsilon: 1, per: 1}]\n"
    )
    with pytest.raises(TooLarge, match="attribute by attribute"):
        components_of(own.metric).keys(3)
