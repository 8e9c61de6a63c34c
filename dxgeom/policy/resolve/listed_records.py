"""A universe that a table lists: its columns are the attributes, its rows the possible records."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.policy.resolve.attributes import MAX_ATTRIBUTES, NAMES, declared_attributes, good_name
from dxgeom.policy.source.data_files import CsvTable, WrongContent, read_csv, read_or_note
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.universe.attributes import Attribute, CategoricalAttribute, NotAValue
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown

MAX_COMBINATIONS: Final = 2**62 - 1
"""Every listed record has a place in the product of the columns' values, a 64-bit integer."""


def read_table(tree: SyntaxTree, file: str, mistakes: Mistakes) -> CsvTable | None:
    """The table that lists the records; None when it cannot be read, which is then noted."""
    span = tree.span("universe", "table")
    return read_or_note(
        lambda: read_csv(mistakes.text.folder, file), mistakes, span, f"the table of records {shown(file)}"
    )


def listed_universe(tree: SyntaxTree, table: CsvTable | None, mistakes: Mistakes) -> Universe | None:
    """The universe of the records that a table lists; None when a mistake was noted.

    A table that lists the whole product in its order is that product.
    """
    before = len(mistakes.found)
    declared = declared_attributes(tree, mistakes)
    if table is None:
        return None
    span, file = tree.span("universe", "table"), table.file
    try:
        _check_columns(tree, table, mistakes)
        attributes = tuple(declared.get(name) or _words(name, table) for name in table.header)
        if len(mistakes.found) > before:
            return None
        combinations = math.prod(attribute.size for attribute in attributes)
        if combinations > MAX_COMBINATIONS:
            message = (
                f"the columns of {file} make {combinations:,} combinations; at most {MAX_COMBINATIONS:,} are handled"
            )
            mistakes.add("DX116", span, message, "leave out columns that no rule or query needs, or use coarser values")
            return None
        places = _places(attributes, table)
    except WrongContent as error:
        mistakes.add("DX115", span, str(error))
        return None
    whole = len(places) == combinations and bool(np.all(places == np.arange(combinations)))
    return Universe(attributes, listed=None if whole else places)


def _check_columns(tree: SyntaxTree, table: CsvTable, mistakes: Mistakes) -> None:
    span = tree.span("universe", "table")
    for name in table.header:
        if not good_name(name):
            mistakes.add("DX117", span, f"{NAMES}, found the column {shown(name)} of {table.file}")
    if len(table.header) > MAX_ATTRIBUTES:
        message = f"{table.file} has {len(table.header):,} columns; at most {MAX_ATTRIBUTES} are handled"
        mistakes.add("DX116", span, message, "leave out those that no rule or query needs")
    for name in tree.document.universe.attributes:
        if name not in table.header:
            message = f"{table.file} has no column {shown(name)}"
            mistakes.add(
                "DX126", tree.key_span("universe", "attributes", name), message, did_you_mean(name, table.header)
            )


def _words(name: str, table: CsvTable) -> Attribute:
    """A column of words: its values in the order in which they first appear."""
    values = tuple(dict.fromkeys(table.column(name)))
    if "" in values:
        line = table.lines[table.column(name).index("")]
        raise WrongContent(f"{table.file}, line {line}: {shown(name)} is empty")
    return CategoricalAttribute(name, values)


def _places(attributes: tuple[Attribute, ...], table: CsvTable) -> NDArray[np.int64]:
    """The place of each row in the product of the attributes. Raises: WrongContent."""
    places = np.zeros(len(table.rows), dtype=np.int64)
    for column, attribute in enumerate(attributes):
        places = places * attribute.size + _codes(attribute, table, column)
    distinct, first = np.unique(places, return_index=True)
    if distinct.size < places.size:
        again = int(np.setdiff1d(np.arange(places.size), first)[0])
        earlier = int(first[np.searchsorted(distinct, places[again])])
        line, other = table.lines[again], table.lines[earlier]
        raise WrongContent(f"{table.file}, line {line}: this record is already in line {other}")
    return places


def _codes(attribute: Attribute, table: CsvTable, column: int) -> NDArray[np.int64]:
    known: dict[str, int] = {}
    codes = np.empty(len(table.rows), dtype=np.int64)
    for row, (cells, line) in enumerate(zip(table.rows, table.lines, strict=True)):
        cell = cells[column]
        if cell not in known:
            try:
                known[cell] = attribute.code_of(cell)
            except NotAValue as error:
                message = f"{table.file}, line {line}: the attribute {shown(attribute.name)} has no value {shown(cell)}"
                raise WrongContent(f"{message}; {error.advice}" if error.advice else message) from error
        codes[row] = known[cell]
    return codes
