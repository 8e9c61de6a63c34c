"""A table that is open: here, or on a server that groups its rows before they come; its columns found by name."""

from __future__ import annotations

import csv
import gzip
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Final, Protocol, TypeAlias, cast, final
from urllib.parse import unquote

import duckdb
import numpy as np
import pyarrow as pa

from dxgeom.engines.watching import Extent, Watch
from dxgeom.errors import DataError
from dxgeom.universe.reading.reading import PLAIN, FileForm
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import nearest

if TYPE_CHECKING:
    import ibis as ibis  # noqa: PLC0414 - other files take it from here


@final
class _Ibis:
    """Stands for Ibis, which is loaded when it is first used: it takes half a second, and small files of text do
    without it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("ibis"), name)


if not TYPE_CHECKING:
    ibis = _Ibis()


def is_made_by(table: Any, kind: str, module: str) -> bool:
    """Whether a table is of a class of this name from a module or below it; so nobody needs a library, or waits until
    it is loaded, that made no table of theirs."""
    return any(one.__name__ == kind and f"{one.__module__}.".startswith(f"{module}.") for one in type(table).__mro__)


def quoted(name: str) -> str:
    """A name as SQL has it, whatever letters are in it."""
    return '"' + name.replace('"', '""') + '"'


Wanted: TypeAlias = tuple[str, ...] | Callable[[Sequence[str]], tuple[str, ...]]
"""The columns that are wanted, or what says so once it knows which there are."""

_SHOWN = 30
_SEPARATORS = {";": ("semicolons", '";"'), "\t": ("tabs", "tab"), "|": ("bars", '"|"'), ",": ("commas", '","')}


def located(
    found: Sequence[str], wanted: Wanted, described: str, index: Sequence[str] = (), *, by_a_line: bool = False
) -> tuple[int, ...]:
    """The position in ``found`` of every wanted column, letter for letter; ``index``: names that are no columns.

    ``by_a_line``: they stand on a line of a file, which may be somebody's row: then it is shown only where it names a
    wanted column.
    Raises: DataError when a wanted column is missing, or any name occurs twice.
    """
    if not callable(wanted) and by_a_line and wanted and not _names_any(found, wanted):
        raise DataError(
            f"{described} has no column named '{wanted[0]}'; the line that should name the columns names none that the "
            "policy reads, and may be a row, so it is not shown: where no line names them, say so in the policy, "
            "reading: {header: none, names: [sex, age]}; where another one does, its number, reading: {header: 4}"
        )
    wanted = wanted(found) if callable(wanted) else wanted
    signs = _one_cell(found)
    if signs is not None and wanted and found[0] not in wanted:
        name, written = signs
        more = ', and where decimals have commas too, decimal: ","' if name == "semicolons" else ""
        raise DataError(
            f"{described} has no column named '{wanted[0]}'; the columns found are '{found[0]}'; "
            f"a .csv file separates its cells by commas, a .tsv file by tabs, and this first line by {name}: say so in "
            f"the policy, reading: {{separator: {written}}}{more}"
        )
    # A separator at the end of lines makes columns without a name, which nobody can ask for.
    twice = [name for name, times in Counter(found).items() if times > 1 and name]
    if twice:
        raise DataError(
            f"column names are distinct; {described} has two columns named '{twice[0]}': rename one of them"
        )
    missing = [name for name in wanted if name not in found]
    if missing:
        there = [name for name in missing if name in index]
        elsewhere = "; an attribute whose column has another name says so in the policy, from: that name"
        hint = f"; there is {' and '.join(map(repr, there))} in the index: use table.reset_index()" if there else ""
        raise DataError(
            "; ".join(_missing(name, found, described) for name in missing) + _listing(found) + (hint or elsewhere)
        )
    return tuple(found.index(name) for name in wanted)


def _names_any(found: Sequence[str], wanted: Sequence[str]) -> bool:
    """Whether one of the wanted columns is among these, or in the only one, whatever its letters' case."""
    signs = "|".join(map(re.escape, _SEPARATORS))
    cells = re.split(signs, found[0]) if len(found) == 1 else found
    known = {name.casefold() for name in wanted}
    return any(cell.strip(" '\"\ufeff").casefold() in known for cell in cells)


def _one_cell(found: Sequence[str]) -> tuple[str, str] | None:
    """What separates the cells of a header that was read as one, in words and in a policy; None where it is one."""
    return next((words for sign, words in _SEPARATORS.items() if sign in found[0]), None) if len(found) == 1 else None


def _missing(name: str, found: Sequence[str], described: str) -> str:
    alike = nearest(name, found)
    return f"{described} has no column named '{name}'" + (f" (did you mean '{alike}'?)" if alike else "")


def _listing(found: Sequence[str]) -> str:
    listed = ", ".join(f"'{name}'" for name in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"; the columns found are {listed}{more}"


_CHUNK: Final = 1 << 20
_LINE_FEED: Final = 10
_CARRIAGE_RETURN: Final = 13


@final
@dataclass(frozen=True)
class Delimited:
    """A text file of rows; ``form``: how it is written, whose separator this is."""

    path: Path
    separator: str
    compressed: bool
    form: FileForm = PLAIN


def delimited(path: Path, separator: str, form: FileForm = PLAIN) -> Delimited:
    """The file at ``path``, compressed when its name ends in .gz."""
    return Delimited(path, separator, path.name.lower().endswith(".gz"), form)


class CellsOfLines(Protocol):
    """What :func:`csv.reader` gives; ``line_num``: how many lines it has read."""

    line_num: int

    def __iter__(self) -> Iterator[list[str]]: ...
    def __next__(self) -> list[str]: ...


@contextmanager
def text_lines(text: Delimited) -> Iterator[Iterator[str]]:
    """The lines of a file in its own encoding, as they end, without a byte order mark."""
    opener = gzip.open if text.compressed else open
    encoding = "utf-8-sig" if text.form.utf8 else text.form.encoding
    with opener(text.path, "rt", encoding=encoding, newline="") as lines, _placed(text, opener):
        yield (line.removeprefix("\ufeff") if place == 0 else line for place, line in enumerate(lines))


@contextmanager
def _placed(text: Delimited, opener: Callable[..., Any]) -> Iterator[None]:
    """What is no text in the encoding of its file is said with the line of its first wrong byte, where lines end in a
    byte of their own."""
    try:
        yield
    except UnicodeDecodeError as error:
        if error.encoding.startswith(("utf-16", "utf-32")):
            raise
        with opener(text.path, "rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    line.decode(error.encoding)
                except UnicodeDecodeError as wrong:
                    said = f"the first wrong byte is in line {number}"
                    raise UnicodeDecodeError(error.encoding, line, wrong.start, wrong.end, said) from error
        raise


def cells_of_lines(lines: Iterator[str], text: Delimited) -> CellsOfLines:
    """The cells of each row, strictly, as the standard library splits them."""
    if not text.form.quote:
        return csv.reader(lines, delimiter=text.separator, quoting=csv.QUOTE_NONE, strict=True)
    return csv.reader(lines, delimiter=text.separator, quotechar=text.form.quote, doublequote=True, strict=True)


def header_of(text: Delimited) -> tuple[str, ...]:
    """The column names on the line that has them."""
    form = text.form
    if form.header == 0:
        return form.names
    with text_lines(text) as lines:
        rows = cells_of_lines(islice(lines, form.header - 1, None), text)
        names = next(iter(rows), [])
        if rows.line_num > 1:
            raise lines_broken(f"'{text.path}'", "a column's name holds a line break")
    if not names:
        line = "the first line" if form.header == 1 else f"line {form.header}"
        raise DataError(f"{line} of '{text.path}' is empty; it should name the columns")
    return tuple(names)


def lines_broken(described: str, where: str) -> DataError:
    """The refusal of a row that is not one line."""
    return DataError(
        f"{described}: {where}, and a row of a text file is one line: a quotation mark that one person opens must not "
        "swallow the rows of others. Where the marks there are right, write the table as Parquet, or without line "
        "breaks in cells; else correct them"
    )


@final
@dataclass(frozen=True)
class LineCount:
    """How many lines a file has, ended by LF, CR, CR LF or its end, and how many of them are ``filled``."""

    number: int
    filled: int

    def rows(self, columns: int, above: LineCount) -> int:
        """How many rows there are if each line below those ``above`` is one. An empty line is a cell of one column, and
        no row of several."""
        return self.number - above.number if columns == 1 else self.filled - above.filled


def lines_above(text: Delimited) -> LineCount:
    """The lines down to the one that names the columns, of a file of UTF-8."""
    if text.form.header == 1:
        return LineCount(1, 1)
    with text_lines(text) as lines:
        above = [line.strip("\r\n") for line in islice(lines, text.form.header)]
    return LineCount(len(above), sum(map(bool, above)))


def lines_of(text: Delimited) -> LineCount:
    """Reads all of the file. Raises: EOFError, zlib.error, OSError where compressed text is cut off or garbled."""
    ends, filled, last = 0, 0, b"\n"
    with cast(BinaryIO, gzip.open(text.path, "rb")) if text.compressed else text.path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            chunk, last = last + chunk, chunk[-1:]
            ends += chunk.count(b"\n", 1) + chunk.count(b"\r", 1) - chunk.count(b"\r\n")
            letters = np.frombuffer(chunk, np.uint8)
            breaks = (letters == _LINE_FEED) | (letters == _CARRIAGE_RETURN)
            filled += int(np.count_nonzero(breaks[:-1] & ~breaks[1:]))
    return LineCount(ends + (last not in b"\r\n"), filled)


ROWS: Final = "records"
"""What expressions call the wanted columns, k0, k1, …"""


class Elsewhere(ABC):
    """A table that is open on a server.

    ``described``: what messages call it; ``types``: those of the wanted columns, in order; ``shipped``: the types in
    which they come, where they differ; ``extent``: how large the server says that it is; ``flows``: whether results
    come batch by batch, so that there may be more rows than fit into memory here.
    """

    flows: ClassVar[bool] = True
    described: str
    types: tuple[pa.DataType, ...]
    shipped: tuple[pa.DataType, ...]
    extent: Extent

    @abstractmethod
    def run(self, rows: ibis.Table) -> pa.RecordBatchReader:
        """The result of an expression over ROWS, worked out there; its order is kept."""

    @abstractmethod
    def stop(self) -> None:
        """Ends what is being worked out there, for whoever waits in another thread."""

    def held(self, rows: ibis.Table) -> AbstractContextManager[Elsewhere]:
        """The result of an expression over ROWS as ROWS, worked out once; for servers whose results do not flow."""
        raise NotImplementedError

    def fraction(self) -> float | None:
        """How much of it is done, from 0 to 1; None where the server does not say."""
        return None

    def aside(self, work: Callable[[], Any]) -> Callable[[], Any]:
        """The same work, to be done in another thread."""
        return work

    def everything(self) -> pa.RecordBatchReader:
        """All rows of the wanted columns, as c0, c1, …"""
        rows = self.table()
        return self.run(rows.select(**{f"c{k}": rows[f"k{k}"] for k in range(len(self.types))}))

    def table(self) -> ibis.Table:
        """What expressions are built on."""
        fields = {f"k{k}": kind for k, kind in enumerate(self.shipped)}
        return wanted_rows(pa.schema(fields))()


def wanted_rows(schema: pa.Schema) -> Callable[[], ibis.Table]:
    """Makes what expressions call the wanted columns."""
    return lambda: ibis.table(schema=ibis.schema(schema), name=ROWS)


class Engine(ABC):
    """Something that reads tables of some kind."""

    name: str

    @abstractmethod
    def takes(self, table: Any) -> bool:
        """Whether a table is one of its own."""

    @abstractmethod
    def look_up(self, table: Any, form: FileForm) -> None:
        """Raises: DataError for an address at which there can be no table, whatever a table there may hold."""

    @abstractmethod
    def opened(self, table: Any, wanted: Wanted, universe: Universe | None) -> AbstractContextManager[Source]:
        """A context in which the columns ``wanted`` can be read: a Source.

        Args: ``universe``: whose policy says how a file is written and which rows are none.
        Raises: DataError, in plain words, when it cannot be read, or lacks a column; MissingExtra.
        """


@final
@dataclass(frozen=True)
class Source:
    """A table that is open.

    ``made``: makes ``rows``, the wanted columns, named k0, k1, … in the order they were asked for; ``types``: theirs;
    ``text``: the file if it is delimited text, whose cells have no type of their own; ``anew``: for rows that flow by
    once, what makes them flow from the first one; ``there``: the server that they flow from, which groups them first;
    ``watch``: by which work on it is watched.
    """

    described: str
    connection: duckdb.DuckDBPyConnection
    made: Callable[[], ibis.Table]
    types: tuple[pa.DataType, ...]
    text: Delimited | None
    watch: Watch
    anew: Callable[[], pa.RecordBatchReader] | None = None
    there: Elsewhere | None = None

    @cached_property
    def rows(self) -> ibis.Table:
        """The wanted columns, k0, k1, …"""
        return self.made()

    def written(self, statement: str) -> Iterator[pa.RecordBatch]:
        """The result of a statement in the engine's own words, batch by batch."""
        return iter(pa.RecordBatchReader.from_stream(self.connection.sql(statement)))

    def query(self, rows: ibis.Table) -> duckdb.DuckDBPyRelation:
        """The result of an expression over ``rows``, from their first one; the one before must have been read."""
        if self.anew is not None:
            self._flow("everything", self.anew)
        return self.connection.sql(str(ibis.to_sql(rows, dialect="duckdb")))

    def fetched(self, rows: ibis.Table) -> list[tuple[Any, ...]]:
        """The whole result of an expression over ``rows``, of few; see :meth:`query`."""
        return self.watch.done(lambda: self.query(rows).fetchall())

    def batches(self, rows: ibis.Table) -> Iterator[pa.RecordBatch]:
        """The result of an expression over ``rows``, batch by batch; see :meth:`query`."""
        return self.watch.each(lambda: pa.RecordBatchReader.from_stream(self.query(rows)))

    def finished(
        self, rows: ibis.Table, finish: Callable[[ibis.Table], ibis.Table], order: str | None = None
    ) -> Iterator[pa.RecordBatch]:
        """What ``finish`` makes of the result of an expression over ``rows``, batch by batch, in the order of a column.

        The expression is worked out where the table is, and no more than columns, codes and counts are in it; what
        becomes of its result, row by row, always here.
        """
        if self.there is None:
            made = finish(rows)
            return self.batches(made if order is None else made.order_by(order))
        there, wanted = self.there, rows if order is None else rows.order_by(order)
        return self.watch.each(lambda: self._finished_there(there, wanted, finish))

    def worked_out(self, cells: pa.Table, finish: Callable[[ibis.Table], ibis.Table]) -> Iterator[pa.RecordBatch]:
        """What ``finish`` makes of a table that is here, batch by batch."""
        self.connection.register("cells", cells)
        made = finish(ibis.table(schema=ibis.schema(cells.schema), name="cells"))
        return self.watch.each(
            lambda: pa.RecordBatchReader.from_stream(self.connection.sql(str(ibis.to_sql(made, dialect="duckdb"))))
        )

    @contextmanager
    def holding(self, there: Elsewhere, rows: ibis.Table) -> Iterator[Source]:
        """The result of an expression over ``rows``, which the server holds while it is looked at again and again."""
        with there.held(rows) as held:
            yield replace(self, there=held, made=lambda: ibis.table(schema=rows.schema(), name=ROWS))

    def _finished_there(
        self, there: Elsewhere, rows: ibis.Table, finish: Callable[[ibis.Table], ibis.Table]
    ) -> pa.RecordBatchReader:
        flow = self._flow("finished", lambda: there.run(rows))
        made = finish(ibis.table(schema=ibis.schema(flow.schema), name="finished"))
        return pa.RecordBatchReader.from_stream(self.connection.sql(str(ibis.to_sql(made, dialect="duckdb"))))

    def _flow(self, name: str, begun: Callable[[], pa.RecordBatchReader]) -> pa.RecordBatchReader:
        """Rows flow into the database here under a name, once what flowed so before has ended."""
        self.connection.unregister(name)
        rows = self.watch.noting(begun())
        self.connection.register(name, rows)
        return rows


_QUERY = re.compile(r"\s*(select|with|values|table)\s", re.IGNORECASE)


@final
@dataclass(frozen=True)
class Address:
    """Where a table is. ``server``: its URL, which may hold a password and is in no message; ``what``: the rest."""

    server: str = field(repr=False)
    what: str

    @property
    def is_query(self) -> bool:
        return bool(_QUERY.match(self.what))

    @property
    def described(self) -> str:
        """What messages call the table."""
        return "the result of the query" if self.is_query else f"the table '{self.what}'"


def has_scheme(table: Any, *schemes: str) -> bool:
    """Whether a table is given by a URL of one of these schemes."""
    return isinstance(table, str) and table.partition("://")[0].lower() in schemes and "://" in table


def address_of(url: str, example: str) -> Address:
    """Raises: DataError where no table is named."""
    server, sign, what = url.partition("#")
    what = unquote(what).strip().rstrip(";")
    if not sign or not what:
        raise DataError(f"a table on a server is its URL, then # and the table or a query, such as {example}")
    return Address(server, what)


def preceded(columns: str, query: Any) -> str:
    """A query over ROWS, which are the result of another one; whatever else is called so there is not meant."""
    rest = str(query)
    rest = f", {rest[4:].lstrip()}" if rest.startswith("WITH") else f" {rest}"
    return f"WITH {ROWS} AS ({columns}){rest}"
