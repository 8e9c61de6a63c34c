"""Made-up records, for a release that is only rehearsed."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.contract.composition import histogram_readers, key_reader
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.mechanisms.contract.readers import TableReader
from dxgeom.universe.workloads.whole_tables import MarginalQueries


class MadeUp(NamedTuple):
    """Counts of made-up people with a row each, as a mechanism takes them; ``people``: how many."""

    counts: NDArray[np.int64]
    people: int


class MadeUpTables(NamedTuple):
    """Counts of made-up records in tables, as a mechanism takes them; ``total``: how many."""

    cells: tuple[NDArray[np.int64], ...]
    total: int


class MadeUpKeys(NamedTuple):
    """Counts of made-up records by their keys, as a mechanism takes them; ``total``: how many."""

    keys: NDArray[np.int64]
    counts: NDArray[np.int64]
    total: int


def made_up(mechanism: Mechanism[Any, Any], people: int) -> MadeUp | MadeUpTables | MadeUpKeys:
    """As :func:`made_up_counts`, in shares where people are spread; tables of them for what reads these."""
    if isinstance(mechanism, TableReader):
        return _made_up_tables(mechanism.queries, mechanism.shares, people)
    keyed = key_reader(mechanism)
    if keyed is not None and any(one.unlisted for one in keyed.columns_of_keys):
        raise UnsupportedCombination(
            "nobody listed these keys, so there are none to make up: release from data that you made"
        )
    if keyed is not None:
        drawn = np.random.default_rng().integers(0, keyed.key_count, people)
        keys, counts = np.unique(drawn, return_counts=True)
        return MadeUpKeys(keys.astype(np.int64), counts.astype(np.int64) * keyed.shares, people)
    readers = histogram_readers(mechanism)
    if len(readers) == 1 and readers[0].reads is not None:
        return _made_up_tables(readers[0].reads, readers[0].shares, people)
    counts = made_up_counts(mechanism, people)
    return MadeUp(counts * histogram_readers(mechanism)[0].shares, people)


def _made_up_tables(queries: MarginalQueries, shares: int, records: int) -> MadeUpTables:
    generator = np.random.default_rng()
    codes, cells = [generator.integers(0, size, records) for size in queries.sizes], []
    for one, shape in zip(queries.attribute_sets, queries.shapes, strict=True):
        flat = np.zeros(records, dtype=np.int64)
        for place, size in zip(one, shape, strict=True):
            flat = flat * size + codes[place]
        cells.append(np.bincount(flat, minlength=math.prod(shape)).astype(np.int64) * shares)
    return MadeUpTables(tuple(cells), records)


def made_up_counts(mechanism: Mechanism[Any, Any], records: int) -> NDArray[np.int64]:
    """(N,): so many records, each of any type of the universe alike; nobody is absent. Looks at no data.

    Raises: UnsupportedCombination for a mechanism that reads no histogram.
    """
    readers = histogram_readers(mechanism)
    if not readers:
        raise UnsupportedCombination(
            f"{mechanism.name} reads no histogram, so there are no records to make up: release from data that you made "
            "up yourself, with ledger=':memory:'"
        )
    size = readers[0].metric.size
    absent = next((reader.absent for reader in readers if reader.absent is not None), None)
    present = size if absent is None else size - 1
    counts = np.random.default_rng().multinomial(records, np.full(present, 1 / present))
    return counts.astype(np.int64) if absent is None else np.insert(counts, absent, 0).astype(np.int64)
