"""What libraries raise while reading a table, said plainly."""

from __future__ import annotations

import csv
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

import duckdb
import pyarrow as pa

from dxgeom.errors import DataError, TryAgain
from dxgeom.universe.wording import other_encoding

_LINE = re.compile(r"CSV Error on Line: (\d+)")
_IN_QUOTES: Final = "; a cell with a separator in it stands in double quotes"
_FLOWING = re.compile(
    r"reading the stream registered as '\w+' failed: (?:[A-Z][\w ]*: )?(.*?)\. Detail: Python", re.DOTALL
)
_COLUMNS = re.compile(r"Expected Number of Columns: (\d+) Found: (\d+)")


QUIET: Final = (
    "the table cannot be released from as it is; which rows, cells or columns are the reason is told without "
    "quiet_data (--quiet-data), for the curator's eyes only"
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
        looks = other_encoding(error.object, error.start)
        raise DataError(f"{described} is not text in UTF-8; {looks}") from error
    except csv.Error as error:
        raise DataError(f"the header of {described} cannot be read as comma- or tab-separated text") from error
    except (EOFError, zlib.error) as error:
        raise DataError(f"{described} is damaged: its compressed text ends too early or is garbled") from error
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
        ("pyspark.errors", "PySparkException"),
        ("py4j.protocol", "Py4JError"),
    )
    return tuple(getattr(sys.modules[module], name) for module, name in places if module in sys.modules)


@contextmanager
def muted(quiet: bool) -> Iterator[None]:
    """Where it is quiet, whatever is wrong with data is told by one sentence that depends on none of them."""
    try:
        yield
    except DataError as error:
        if not quiet or isinstance(error, Unreachable | WrongAddress):
            raise
        raise DataError(QUIET) from None


def _reason(described: str, error: Exception) -> str:
    text = str(error)
    line = _LINE.search(text)
    where = f"{described}, line {line[1]}" if line else described
    columns = _COLUMNS.search(text)
    if columns:
        more = _IN_QUOTES if int(columns[2]) > int(columns[1]) else ""
        return f"{where}: the header has {columns[1]} columns, but this row has {columns[2]}{more}"
    if "unterminated quote" in text:
        return f'{where}: a cell that begins with " does not end with one; a " inside a cell is written ""'
    if "utf-8" in text.lower() or "unicode" in text.lower():
        return (
            f"{where}: not text in UTF-8; save the file as UTF-8, such as, where it is Latin-1, by "
            "iconv -f WINDOWS-1252 -t UTF-8"
        )
    if "Out of Memory" in text:
        return f"{described} needs more memory to read than is allowed; shorten its longest cells"
    if "state machine" in text:
        return f"{where}: line endings or quotes are mixed; write the file anew with one kind of line ending"
    flowing = _FLOWING.search(text)
    return f"{where} cannot be read: {_first_line(flowing[1] if flowing else text) or type(error).__name__}"


def _first_line(text: str) -> str:
    return next(iter(text.splitlines()), "")
