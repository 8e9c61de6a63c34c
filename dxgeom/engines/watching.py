"""Work on a table, watched by whoever waits for it, and what libraries raise meanwhile, said plainly."""

from __future__ import annotations

import csv
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import Any, Final, TypeVar, final

import duckdb
import pyarrow as pa

from dxgeom.errors import DataError, TryAgain
from dxgeom.progress_line import ProgressLine
from dxgeom.universe.wording import other_encoding

_NAMED_LINE: Final = re.compile(r"(?:, line|(?:: the first wrong byte is)? in line| of data row) \d+")
_LINE = re.compile(r"CSV Error on Line: (\d+)")
_QUOTE: Final = re.compile(r"^ +quote = (\(empty\)|.) \(Set By User\)$", re.MULTILINE)
_FLOWING = re.compile(
    r"reading the stream registered as '\w+' failed: (?:[A-Z][\w ]*: )?(.*?)\. Detail: Python", re.DOTALL
)
_BETWEEN: Final = {'"': "in double quotes", "'": "in single quotes"}
_COLUMNS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")


_UNEVEN = re.compile(r"Column \d+ named (.*) expected length (\d+) but got length (\d+)")

QUIET: Final = (
    "the table cannot be released from as it is; which rows, cells or columns are the reason is told without "
    "quiet_data (--quiet-data), for the data holder's eyes only"
)


@final
class Unreachable(DataError, TryAgain):
    """A server cannot be reached, or lets nobody in; told in any case, since it depends on no data."""


@final
class WrongAddress(DataError):
    """The URL of a server is none; told in any case, too."""


def changed_meanwhile(described: str) -> DataError:
    """The refusal of a table of which not all that was read can be of the same rows."""
    return DataError(
        f"{described} was changed while it was read, so that no table ever was what was counted; read it again, or "
        "from a copy that stays as it is"
    )


@contextmanager
def plain_errors(described: str) -> Iterator[None]:
    """Turns what DuckDB, Ibis, Arrow, servers and the operating system raise into DataError about ``described``."""
    try:
        yield
    except UnicodeDecodeError as error:
        if error.encoding not in ("utf-8", "utf-8-sig"):
            message = f"{described} is not text in {error.encoding}, as the policy says: {error.reason}"
            raise DataError(f"{message}; state the encoding that it has") from None
        # Nothing of what raised it is kept: it has the line, and says the byte.
        looks = other_encoding(error.object, error.start)
        encoding = "utf-16" if "UTF-16" in looks else "windows-1252"
        remedy = f"say how it is encoded: reading: {{encoding: {encoding}}}"
        place = f": {error.reason}" if "line" in error.reason else ""
        raise DataError(f"{described} is not text in UTF-8{place}; {looks}, or {remedy}") from None
    except UnicodeError as error:
        raise DataError(f"{described} is not text in the encoding that the policy states: {error}") from error
    except csv.Error as error:
        raise DataError(f"the header of {described} cannot be read as comma- or tab-separated text") from error
    except (EOFError, zlib.error) as error:
        raise DataError(f"{described} {_CUT_OFF}") from error
    except FileNotFoundError as error:
        raise DataError(f"{described} does not exist") from error
    except OSError as error:
        # Arrow passes on what DuckDB says in the middle of a file as an OSError without a number.
        reason = f"{described} cannot be read: {error.strerror}" if error.errno else _reason(described, error)
        raise DataError(reason) from error
    except RuntimeError as error:
        # So DuckDB says that a signal came while this thread was in it; what the signal raised is lost.
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from error
    except (duckdb.Error, pa.ArrowException, *_of_libraries()) as error:
        raise DataError(_reason(described, error)) from error


def _of_libraries() -> tuple[type[Exception], ...]:
    """What Ibis and the clients of servers raise, of those that are loaded."""
    places = (
        ("ibis.common.exceptions", "IbisError"),
        ("psycopg", "Error"),
        ("sqlite3", "Error"),
        ("pyspark.errors", "PySparkException"),
        ("py4j.protocol", "Py4JError"),
    )
    return tuple(getattr(sys.modules[module], name) for module, name in places if module in sys.modules)


@contextmanager
def muted(quiet: bool, *, secret: bool = False) -> Iterator[None]:
    """Where it is quiet, whatever is wrong with data is said in one sentence that depends on none of them; where how
    many rows somebody has, or whether any, is ``secret``, errors of how the table is written name no line of it."""
    try:
        yield
    except DataError as error:
        if isinstance(error, Unreachable | WrongAddress) or not (quiet or secret):
            raise
        if quiet:
            raise DataError(QUIET) from None
        said = _NAMED_LINE.sub("", str(error))
        if said == str(error):
            raise
        raise DataError(f"{said}; 'dxgeom check' with --table names the line, for the data holder's eyes") from None


_CUT_OFF: Final = "is damaged: its compressed text ends too early or is garbled. Fetch or compress the file once more"


def _reason(described: str, error: Exception) -> str:
    text = str(error)
    if "GZIP" in text:
        return f"{described} {_CUT_OFF}"
    if "Not a gzipped file" in text:
        return f"{described} is not compressed, or not all of it; take .gz off its name, or compress it anew"
    if "Parquet magic bytes" in text:
        return f"{described} is no Parquet file; name it by what it is, such as .csv, or write it anew"
    line = _LINE.search(text)
    where = f"{described}, line {line[1]}" if line else described
    columns = _COLUMNS.search(text)
    if columns:
        quote = _QUOTE.search(text)
        sign = '"' if quote is None else quote[1].replace("(empty)", "")
        return f"{where}: {of_other_width(int(columns[1]), int(columns[2]), sign)}"
    if "unterminated quote" in text:
        return f'{where}: a cell that begins with " does not end with one; a " inside a cell is written ""'
    if "utf-8" in text.lower() or "unicode" in text.lower():
        return (
            f"{where}: not text in UTF-8; save the file as UTF-8, such as, where it is Latin-1, by "
            "iconv -f WINDOWS-1252 -t UTF-8"
        )
    uneven = _UNEVEN.search(text)
    if uneven:
        return f"{described}: '{uneven[1]}' has {uneven[3]} cells, and the first column {uneven[2]}: give all as many"
    if "Out of Memory" in text:
        return f"{described} needs more memory to read than is allowed; shorten its longest cells"
    if "state machine" in text:
        return f"{where}: line endings or quotes are mixed; write the file anew with one kind of line ending"
    flowing = _FLOWING.search(text)
    return f"{where} cannot be read: {_first_line(flowing[1] if flowing else text) or type(error).__name__}"


def of_other_width(columns: int, found: int, quote: str) -> str:
    """What is said of a line with more or fewer cells than the header names; ``quote``: empty where no sign is one.

    No such line is left out, for nobody knows which of its cells are missing, or whose they are.
    """
    if found < columns:
        remedy = "correct it, or take the line out where it is no row: 'ignore' leaves out whole rows only"
    elif quote:
        remedy = f"a cell with a separator in it stands {_BETWEEN.get(quote, f'between two signs {quote}')}"
    else:
        remedy = (
            "by 'quote: none' each separator ends a cell: correct the line, or state a separator that no cell holds"
        )
    return f"the header has {columns} columns, but this row has {found}; {remedy}"


def _first_line(text: str) -> str:
    return next(iter(text.splitlines()), "")


T = TypeVar("T")

PATIENCE: Final = 2.0
"""Seconds of work of which nothing is said."""
_POLLED: Final = 0.1
_SIZES: Final = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


@final
@dataclass(frozen=True)
class Extent:
    """How large a table is, as far as that is known without reading it; ``estimated`` by a server."""

    rows: int | None = None
    size: int | None = None
    estimated: bool = False

    @property
    def message(self) -> str:
        """As whoever waits reads it."""
        each = [f"{self.rows:,} rows"] if self.rows is not None else []
        each += [_in_units(self.size)] if self.size is not None else []
        return ("about " if self.estimated and each else "") + ", ".join(each)


@final
class Watch:
    """Work is done in a thread of its own, for DuckDB, Arrow and servers hear of no interruption while they work.

    Args: ``fraction``: how much of the present work is done, from 0 to 1, None where nobody knows; ``stop``: ends it;
    ``extent``: of the table; ``aside``: what makes of work the same work in another thread; ``bound``: to the thread it
    came from, as tables of SQLite are, so that work is done there.
    """

    def __init__(
        self,
        fraction: Callable[[], float | None],
        stop: Callable[[], None],
        extent: Extent,
        aside: Callable[[Callable[[], Any]], Callable[[], Any]] = lambda work: work,
        bound: bool = False,
    ) -> None:
        self._fraction, self._stop, self._extent, self._aside, self._bound = fraction, stop, extent, aside, bound
        self._line: ProgressLine | None = None
        self._secret = True
        self._rows = self._size = 0
        self._begun = monotonic()

    @contextmanager
    def telling(self, what: str, *, secret: bool) -> Iterator[None]:
        """While this lasts, work that takes longer shows how far it is.

        Args: ``what``: is being done; ``secret``: how many rows there are is told to nobody, so that no more than a
        fraction and the time that has passed are shown.
        """
        with ProgressLine(what) as line:
            self._line, self._secret, self._begun = line, secret, monotonic()
            try:
                yield
            finally:
                self._line = None

    def done(self, work: Callable[[], T]) -> T:
        """What the work returns or raises.

        Raises: KeyboardInterrupt, with the work ended, as soon as whoever waits is interrupted.
        """
        if self._bound:
            return work()
        found, raised, ended, aside = list[T](), list[BaseException](), Event(), self._aside(work)

        def working() -> None:
            try:
                found.append(aside())
            except BaseException as error:  # noqa: BLE001 (raised again where it is waited for)
                raised.append(error)
            ended.set()

        Thread(target=working, name="dxgeom reading", daemon=True).start()
        try:
            while not ended.wait(_POLLED):
                self._tell()
        except BaseException:
            # Again and again, for what has not yet begun cannot be stopped.
            while not ended.wait(_POLLED):
                self._stop()
            raise
        if raised:
            raise raised.pop()
        return found.pop()

    def each(self, begun: Callable[[], Iterable[T]]) -> Iterator[T]:
        """What comes, one after the other."""
        flow = self.done(lambda: iter(begun()))
        while (one := self.done(lambda: next(flow, None))) is not None:
            yield one

    def noting(self, flow: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """The same rows, of which it is noted how many have come."""

        def batches() -> Iterator[pa.RecordBatch]:
            self._rows = self._size = 0
            for batch in flow:
                self._rows, self._size = self._rows + batch.num_rows, self._size + batch.nbytes
                if self._bound:
                    self._tell()
                yield batch

        return pa.RecordBatchReader.from_batches(flow.schema, batches())

    def _tell(self) -> None:
        if self._line is None or monotonic() - self._begun < PATIENCE:
            return
        fraction = self._fraction()
        self._line("" if self._secret else self._words(fraction), fraction=fraction)

    def _words(self, fraction: float | None) -> str:
        whole = self._extent.message
        if fraction is not None:
            return f"{fraction:.0%} of {whole}" if whole else f"{fraction:.0%}"
        come = f"{Extent(self._rows, self._size).message} have come" if self._rows else ""
        return "; ".join(filter(None, (whole, come)))


def _in_units(size: int) -> str:
    return next((f"{size / unit:,.1f} {name}" for unit, name in _SIZES if size >= unit), f"{size} B")
