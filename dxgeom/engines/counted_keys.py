"""The counts of keys, values of some columns together, read without a count of keys that no row has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.counted_tables import tallied_by_row, tallied_in_shares
from dxgeom.engines.histogram import Outside, Tally, counted
from dxgeom.engines.reading import RecordReader
from dxgeom.errors import DataError
from dxgeom.universe.people.shares import ComponentKeys
from dxgeom.universe.workloads.groups import Groups

_WAITING: Final = 1 << 22
"""So many rows wait before equal keys among them are put together."""


@final
@dataclass(frozen=True, eq=False)
class KeyTable:
    """Exact counts of keys. ``keys``: the numbers of those that some row has, rising. ``counts``: of each, at least 1;
    of shares where people are spread. ``total``: how many records or people. ``dropped``: records left out because they
    are outside the policy's values, or people none of whose rows is in it. ``words``: of a column that nobody listed
    the texts that rows have, in order; a key's number is then the place of its text times the combinations of the
    other columns, plus the number of its combination."""

    keys: NDArray[np.int64] = field(repr=False)
    counts: NDArray[np.int64] = field(repr=False)
    total: int
    dropped: int = 0
    words: tuple[str, ...] = field(default=(), repr=False)


@final
class _KeyCells:
    """Keys to which rows are added, as :class:`dxgeom.engines.counted_tables.Cells`."""

    def __init__(self, columns: Sequence[Groups]) -> None:
        self._columns = [one for one in columns if not one.unlisted]
        self._size = math.prod(len(one.words) for one in self._columns)
        self.texts: dict[int, dict[str, int]] = {one.axis: {} for one in columns if one.unlisted}
        self._waiting: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._rows = 0
        self.keys: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.counts: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def add(self, codes: Sequence[NDArray[np.int64]], records: NDArray[np.int64] | None) -> None:
        number = np.zeros(len(codes[0]), dtype=np.int64)
        for own in self._columns:
            number = number * len(own.words) + own.codes[codes[own.axis]]
        for axis in self.texts:
            number += codes[axis] * self._size
        added = np.ones(len(number), dtype=np.int64) if records is None else np.asarray(records, dtype=np.int64)
        self._waiting.append((number[added > 0], added[added > 0]))
        self._rows += len(number)
        if self._rows >= max(_WAITING, len(self.keys)):
            self.put_together()

    def words(self) -> tuple[str, ...]:
        """The texts of the column that nobody listed, in order, by which keys are numbered from now on."""
        self.put_together()
        for met in self.texts.values():
            words = sorted(met)
            rank = np.zeros(len(words), dtype=np.int64)
            rank[[met[word] for word in words]] = np.arange(len(words))
            keys = rank[self.keys // self._size] * self._size + self.keys % self._size
            order = np.argsort(keys, kind="stable")
            self.keys, self.counts = keys[order], self.counts[order]
            return tuple(words)
        return ()

    def put_together(self) -> None:
        """Equal keys that wait become one."""
        keys = np.concatenate([self.keys, *(keys for keys, _ in self._waiting)])
        counts = np.concatenate([self.counts, *(counts for _, counts in self._waiting)])
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        begins = np.flatnonzero(np.diff(keys, prepend=-1))
        self.counts = np.add.reduceat(counts[order], begins) if len(begins) else counts[:0]
        self.keys, self._waiting, self._rows = keys[begins], [], 0


def key_counts(
    table: Any,
    columns: Sequence[Groups],
    *,
    outside: Outside = "refuse",
    count_column: str | None = None,
    quiet_data: bool = False,
    component_keys: ComponentKeys | None = None,
) -> KeyTable:
    """Counts the rows of a table by their key, in exact integer arithmetic; or people, as the policy says that they
    count. Nothing here grows with the number of keys that there can be.

    Args: ``columns``: what keys are made of, the last one's values the fastest; others as of
    :func:`dxgeom.engines.counted_tables.table_counts`.
    Raises: DataError as that.
    """
    universe = columns[0].universe
    if sum(one.unlisted for one in columns) > 1:
        raise DataError("keys have one column at most whose values nobody listed")
    people = universe.reading.people
    if isinstance(table, np.ndarray):
        raise DataError("keys are read from rows: pass the table, not a count of every possible record")
    if people is not None and people.in_shares and component_keys is None:
        raise DataError("people are spread over their rows by components of the policy's metric; give component_keys")
    if people is not None and people.in_shares and any(one.unlisted for one in columns):
        raise DataError("who is spread over rows has no number of keys that nobody listed")
    cells = _KeyCells(columns)

    def over(reader: RecordReader) -> tuple[Tally, RecordReader]:
        if people is not None and people.in_shares and component_keys is not None:
            return tallied_in_shares(reader, cells, people, component_keys), reader
        return tallied_by_row(reader, cells, people, cells.texts), reader

    found = counted(table, universe, people, over, outside, count_column, quiet_data)[0]
    words = cells.words()
    for own in (cells.keys, cells.counts):
        own.setflags(write=False)
    return KeyTable(cells.keys, cells.counts, found.total, found.dropped, words)
