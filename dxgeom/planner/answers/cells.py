"""Counts in the cells of tables, as rows below each other: fresh, or as a file or a ledger has them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.columns import Column, Columns, plain_columns

EVERYBODY: Final = "all records"
NO_BAR: Final = "no bar"
"""What stands beside a count whose error nothing is known of."""
_LABEL: Final = "label"
_AT_ONCE: Final = 1 << 18
"""About so many cells are laid out at a time."""


@final
@dataclass(frozen=True, eq=False)
class CellTable:
    """One table: the ``titles`` of the columns that it is over, and of each the values that it can have, in ``words``.

    ``values`` (cells,): the counts, the last column's values the fastest; each is at most ``half_width`` off with the
    probability that is said beside it, and ``rmse`` off in the root of the mean square. A half-width is one for all, or
    (cells,), or None where there is no bar; the other is None where it is not known. ``estimate`` (cells,): what
    they are estimated to be, where that was asked for; ``most``: what no count is larger than. ``called``: the words
    that readers see, where any of them is another. ``within``: what a count can be at all, by which intervals are cut.
    """

    titles: tuple[str, ...]
    words: tuple[Sequence[str], ...] = field(repr=False)
    values: NDArray[np.float64] = field(repr=False)
    half_width: float | NDArray[np.float64] | None
    rmse: float | None
    estimate: NDArray[np.float64] | None = field(default=None, repr=False)
    most: float = math.inf
    called: tuple[Sequence[str], ...] = field(default=(), repr=False)
    within: tuple[float, float] = (-math.inf, math.inf)

    def __post_init__(self) -> None:
        called = self.called or self.words
        if len(self.values) != math.prod(map(len, self.words)) or [*map(len, called)] != [*map(len, self.words)]:
            raise ValueError("a table has a count for each combination of the values of its columns")

    @property
    def name(self) -> str:
        """What the table is called."""
        return ", ".join(self.titles) or EVERYBODY

    @property
    def places(self) -> NDArray[np.int64]:
        """(columns, cells): which value of each column a cell is about."""
        shape = tuple(map(len, self.words))
        return np.indices(shape).reshape(len(shape), math.prod(shape))

    @property
    def bars(self) -> dict[str, NDArray[Any]]:
        """The counts with the ends of their intervals, and their errors."""
        if self.half_width is None:
            return {"value": self.values, "bar": np.full(len(self.values), NO_BAR)}
        least, most = self.within
        low, high = np.maximum(self.values - self.half_width, least), np.minimum(self.values + self.half_width, most)
        bars = {"value": self.values, "low": low, "high": high}
        bars |= {} if self.rmse is None else {"rmse": np.full(len(self.values), self.rmse)}
        if self.estimate is None:
            return bars
        ends = {f"estimate_{end}": np.clip(bars[end], 0.0, self.most) for end in ("low", "high")}
        return {**bars, "estimate": self.estimate, **ends}

    @property
    def columns(self) -> dict[str, list[Any]]:
        """A row for each cell: its columns' values, the count, its interval and error."""
        named = zip(self.titles, self.places, self.words, strict=True)
        columns = {title: [words[place] for place in places.tolist()] for title, places, words in named}
        return {**columns, **plain_columns(self.bars)}

    @property
    def whole(self) -> dict[str, list[Any]]:
        """The same with what readers see the cells called, where that is anything else."""
        return with_label(self.columns, self.labels) if self.called else self.columns

    @property
    def labels(self) -> list[str]:
        """What readers see each cell called."""
        return [", ".join(words) or EVERYBODY for words in itertools.product(*(self.called or self.words))]


def with_label(columns: dict[str, list[Any]], labels: list[str]) -> dict[str, list[Any]]:
    """With a last column of what readers see answers called; an attribute may be called "label", too."""
    return {**columns, _LABEL if _LABEL not in columns else f"{_LABEL} shown": labels}


def rows_of(tables: Sequence[CellTable], at_once: int = _AT_ONCE) -> Iterator[dict[str, Any]]:
    """Every cell of every table as rows of one table, about ``at_once`` at a time: the table's name, its columns and
    their values, the count, its interval and error."""
    known = [each for one in tables for each in zip(one.titles, one.words, strict=True)]
    words = dict(sorted(known, key=lambda each: len(each[1])))
    begins = dict(zip(words, itertools.accumulate(map(len, words.values()), initial=0), strict=False))
    listed = [*words], [*itertools.chain.from_iterable(words.values())], [one.name for one in tables]
    sizes = [len(one.values) for one in tables]
    begun = [before // at_once for before in itertools.accumulate(sizes, initial=0)]
    for _, places in itertools.groupby(range(len(tables)), begun.__getitem__):
        yield _rows(tables, [*places], begins, *listed)


def _rows(
    tables: Sequence[CellTable],
    places: Sequence[int],
    begins: Mapping[str, int],
    titles: list[str],
    words: list[str],
    names: list[str],
) -> dict[str, Any]:
    """The cells of some tables; ``begins``: of each column, the place of its first value among all ``words``."""
    some = [tables[place] for place in places]
    widest, lengths = max(len(one.titles) for one in tables), [len(one.values) for one in some]
    columns = np.full((widest, sum(lengths)), -1, dtype=np.int32)
    codes, end = columns.copy(), 0
    for one, length in zip(some, lengths, strict=True):
        own, here = len(one.titles), slice(end, end + length)
        columns[:own, here] = np.array([titles.index(title) for title in one.titles], dtype=np.int32)[:, None]
        codes[:own, here] = one.places + np.array([begins[title] for title in one.titles], dtype=np.int32)[:, None]
        end += length
    found: dict[str, Any] = {"table": (np.repeat(np.array(places, dtype=np.int32), lengths), names)}
    for number in range(widest):
        found[f"column {number + 1}"] = (columns[number], titles)
        found[f"value {number + 1}"] = (codes[number], words)
    bars = [one.bars for one in some]
    named = {bar: "count" if bar == "value" else bar for bar in bars[0]}
    found |= {title: np.concatenate([one[bar] for one in bars]) for bar, title in named.items()}
    labelled = any(one.called for one in tables)
    return found | ({_LABEL: [label for one in some for label in one.labels]} if labelled else {})


def joined(batches: Sequence[Columns]) -> dict[str, Column]:
    """The batches as one. The words of a column are the same in all of them."""
    if len(batches) == 1:
        return {**batches[0]}
    return {title: _joined([one[title] for one in batches]) for title in batches[0]}


def _joined(parts: Sequence[Any]) -> Column:
    if isinstance(parts[0], tuple):
        return np.concatenate([places for places, _ in parts]), parts[0][1]
    return [*itertools.chain(*parts)] if isinstance(parts[0], list) else np.concatenate(parts)
