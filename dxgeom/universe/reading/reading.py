"""How a row of a table says which record it is, attribute by attribute.

How a table's file is written, as far as a policy says it: nothing of it is found out from the rows.

An attribute whose value may be missing: one value more, the last, which means that there is none.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.universe.attributes import Attribute, CellType, NotAValue
from dxgeom.universe.columns import Column
from dxgeom.universe.people.people import People
from dxgeom.universe.reading.expressions import Expression
from dxgeom.universe.reading.written import CellRules, Ignored
from dxgeom.universe.wording import cell_text


@final
@dataclass(frozen=True)
class CellReading:
    """How a row says which value of one attribute it has.

    ``columns``: the columns of the table that say it; ``read_as``: what the attribute is handed; ``unlisted``: the code
    of rows whose cells are there but name no value, None where these are outside the universe; ``expression``: what is
    made of the columns first, None where the attribute is handed their cells; ``rules``: what the cells mean before
    that, None where they stand for themselves.
    """

    columns: tuple[str, ...]
    read_as: CellType
    unlisted: int | None = None
    expression: Expression | None = None
    rules: CellRules | None = None

    def with_rules(self, rules: CellRules) -> CellReading:
        return replace(self, rules=rules)

    @property
    def cells(self) -> int:
        """How many cells of a row the attribute is handed."""
        return len(self.columns) if self.expression is None else 1

    def outside(self, attribute: Attribute, cells: Sequence[str | None]) -> str:
        """What is wrong with a row whose columns hold these cells, which name no value of the attribute."""
        if self.expression is None:
            return attribute.outside(cells)
        what = " and ".join(f"{name} is {cell_text(cell)}" for name, cell in zip(self.columns, cells, strict=True))
        made = f"{attribute.name} ({self.expression})"
        return f"{made}, where {what}: {attribute.accepted(cells[0] or '')}"

    def sentences(self, attribute: Attribute) -> tuple[str, ...]:
        """What a reader should know of how the attribute is read, where it is not as it stands."""
        made = () if self.expression is None else (f"'{attribute.name}' is {self.expression}, row by row",)
        if self.unlisted is None:
            return made
        return (*made, f"words that '{attribute.name}' does not list count as '{attribute.labels[self.unlisted]}'")

    @property
    def digest(self) -> list[Any]:
        """Ready for JSON; equal digests read every row alike."""
        made = None if self.expression is None else self.expression.digest
        said = [] if self.rules is None else [self.rules.digest]
        return [list(self.columns), self.read_as, self.unlisted, made, *said]


@final
@dataclass(frozen=True)
class Reading:
    """How each attribute of a universe is read, in their order; several may be read from one column.

    ``people``: whose row a row is, and how people count; None where every row is taken to be a person's only one.
    ``ignored``: rows that are none; ``trimmed``: whether blanks at the ends of a person's name do not count.
    """

    attributes: tuple[CellReading, ...]
    people: People | None = None
    ignored: tuple[Ignored, ...] = ()
    trimmed: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that are read, each once, in the order in which attributes first need them."""
        return tuple(dict.fromkeys(column for one in self.attributes for column in one.columns))

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """For each attribute, which of the ``columns`` are its own."""
        place_of = {column: place for place, column in enumerate(self.columns)}
        return tuple(tuple(place_of[column] for column in one.columns) for one in self.attributes)

    @property
    def cells(self) -> tuple[tuple[int, ...], ...]:
        """For each attribute, the places of its cells among all that a row hands over, counted from 0."""
        ends = list(accumulate((one.cells for one in self.attributes), initial=0))
        return tuple(tuple(range(start, end)) for start, end in pairwise(ends))

    @property
    def digest(self) -> list[Any]:
        """Ready for JSON; equal digests read every table alike, over equal attributes."""
        people = [] if self.people is None else [["people", *self.people.digest]]
        return [*(one.digest for one in self.attributes), *people, *self.of_rows]

    @property
    def of_rows(self) -> list[Any]:
        """What of the digest is about whole rows and whose they are, beside what is said of people."""
        return [*(one.digest for one in self.ignored), *([["trimmed"]] if self.trimmed else [])]


def plain_reading(attribute: Attribute) -> CellReading:
    """An attribute's value stands in its own columns as it is."""
    return CellReading(attribute.raw_columns, attribute.read_as)


@final
@dataclass(frozen=True)
class FileForm:
    """How a file of rows is written.

    ``separator``: None where the file's name says it; ``quote``: empty where no sign is one; ``header``: the line that
    names the columns, 0 where none does and ``names`` are theirs; ``sheet``: of a workbook, None for its only one;
    ``line_breaks``: whether cells may hold them. What tables of typed columns say themselves is not asked here.
    """

    separator: str | None = None
    quote: str = '"'
    encoding: str = "utf-8"
    header: int = 1
    names: tuple[str, ...] = ()
    sheet: str | None = None
    line_breaks: bool = False

    @property
    def utf8(self) -> bool:
        """Whether the engine reads it as it is; other encodings are decoded first."""
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig")


PLAIN: Final = FileForm()
"""Commas, quotation marks, UTF-8, and a first line that names the columns."""


MISSING: Final = "missing"
"""What the missing value is called, in labels and in conditions."""


@final
@dataclass(frozen=True)
class OptionalAttribute(Attribute):
    """The values of ``inner`` and the missing one: an empty cell, NULL, NaN and NaT alike.

    Of several columns one that is empty is enough. The word ``missing`` names it in records, never in a table.
    """

    name: str
    inner: Attribute

    @property
    def missing(self) -> int:
        return self.inner.size

    @property
    def present(self) -> Attribute:
        return self.inner

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.inner.labels, MISSING)

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(replace(column, missing=True) for column in self.inner.columns)

    @property
    def size(self) -> int:
        return self.inner.size + 1

    @property
    def raw_columns(self) -> tuple[str, ...]:
        return self.inner.raw_columns

    @property
    def read_as(self) -> CellType:
        return self.inner.read_as

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        gone = np.fromiter((is_missing(cell) or cell == MISSING for cell in raw), dtype=np.bool_, count=len(raw))
        codes = np.full(len(raw), self.missing, dtype=np.int64)
        there = np.flatnonzero(~gone)
        if there.size:
            codes[there] = self.inner.encode([raw[int(place)] for place in there])
        return codes

    def encode_cells(self, columns: Sequence[Sequence[Any] | NDArray[Any]]) -> NDArray[np.int64]:
        if self.read_as == "numbers":
            gone = np.logical_or.reduce([np.isnan(np.asarray(column, dtype=np.float64)) for column in columns])
            return np.where(gone, self.missing, self.inner.encode_cells(columns))
        return self.inner.encode_cells(columns)

    def code_of(self, text: str) -> int:
        if text in ("", MISSING):
            return self.missing
        try:
            return self.inner.code_of(text)
        except NotAValue as error:
            raise NotAValue(f"{error.args[0]}, or {MISSING}") from error

    def accepted(self, found: str) -> str:
        return f"{self.inner.accepted(found)}, or an empty cell"

    @property
    def beyond_labels(self) -> Sequence[Any]:
        return (self.inner.digest,)


def is_missing(cell: Any) -> bool:
    """Whether a cell in Python's own terms is None, the empty word, NaN or NaT."""
    if cell is None or (isinstance(cell, str) and not cell):
        return True
    try:
        return bool(cell != cell)
    except TypeError:
        return True  # pandas' NA is neither equal to itself nor different
