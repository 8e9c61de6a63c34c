"""How a text file is written: its encoding, what separates its cells, its quotation marks, the line of names.

The closed list of forms in which cells write numbers, days and moments.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile, islice
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, cast, final

from dxgeom.engines.column_names import MARKERS, is_known
from dxgeom.errors import DataError


class Convention(NamedTuple):
    """What stands before decimals, and between thousands; nothing where nothing does."""

    decimal: str
    thousands: str


CONVENTIONS: Final = tuple(
    Convention(decimal, thousands) for thousands in ("", ".", ",", " ", "'") for decimal in ".," if decimal != thousands
)
"""The simplest first."""
_DIGIT: Final = re.compile("[0-9]")
_LETTER: Final = re.compile(r"[^\W\d_]")
_DAY: Final = "(?:0?[1-9]|[12][0-9]|3[01])"
_MONTH: Final = "(?:0?[1-9]|1[0-2])"
_YEAR: Final = "(?:1[5-9]|2[0-9])[0-9]{2}"
_SHORT: Final = "[0-9]{2}"
_NAMED: Final = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_NAMED_IN_FULL: Final = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAYS: Final = {
    "2025-12-31": f"{_YEAR}-{_MONTH}-{_DAY}",
    "2025/12/31": f"{_YEAR}/{_MONTH}/{_DAY}",
    "2025.12.31": f"{_YEAR}[.]{_MONTH}[.]{_DAY}",
    "20251231": "(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])",
    "31.12.2025": f"{_DAY}[.]{_MONTH}[.]{_YEAR}",
    "31/12/2025": f"{_DAY}/{_MONTH}/{_YEAR}",
    "31-12-2025": f"{_DAY}-{_MONTH}-{_YEAR}",
    "12/31/2025": f"{_MONTH}/{_DAY}/{_YEAR}",
    "12-31-2025": f"{_MONTH}-{_DAY}-{_YEAR}",
    "12.31.2025": f"{_MONTH}[.]{_DAY}[.]{_YEAR}",
    "31.12.25": f"{_DAY}[.]{_MONTH}[.]{_SHORT}",
    "31/12/25": f"{_DAY}/{_MONTH}/{_SHORT}",
    "31-12-25": f"{_DAY}-{_MONTH}-{_SHORT}",
    "12/31/25": f"{_MONTH}/{_DAY}/{_SHORT}",
    "12-31-25": f"{_MONTH}-{_DAY}-{_SHORT}",
    "25-12-31": f"{_SHORT}-{_MONTH}-{_DAY}",
    "25/12/31": f"{_SHORT}/{_MONTH}/{_DAY}",
    "25.12.31": f"{_SHORT}[.]{_MONTH}[.]{_DAY}",
    "31 Dec 2025": f"{_DAY} {_NAMED} {_YEAR}",
    "31-Dec-2025": f"{_DAY}-{_NAMED}-{_YEAR}",
    "31-Dec-25": f"{_DAY}-{_NAMED}-{_SHORT}",
    "31 December 2025": f"{_DAY} {_NAMED_IN_FULL} {_YEAR}",
    "Dec 31 2025": f"{_NAMED} {_DAY} {_YEAR}",
    "Dec 31, 2025": f"{_NAMED} {_DAY}, {_YEAR}",
    "December 31, 2025": f"{_NAMED_IN_FULL} {_DAY}, {_YEAR}",
}
_HOUR: Final = "(?:[01]?[0-9]|2[0-3]):[0-5][0-9]"
_SECONDS: Final = ":[0-5][0-9](?:[.][0-9]+)?"
_CLOCKS: Final = {
    "": "",
    " 23:59": f" {_HOUR}",
    " 23:59:58": f" {_HOUR}{_SECONDS}",
    "T23:59": f"T{_HOUR}",
    "T23:59:58": f"T{_HOUR}{_SECONDS}",
    " 11:59 PM": " (?:0?[1-9]|1[0-2]):[0-5][0-9] ?[AaPp][Mm]",
    " 11:59:58 PM": f" (?:0?[1-9]|1[0-2]):[0-5][0-9]{_SECONDS} ?[AaPp][Mm]",
}
_ZONE: Final = "(?:Z|[+-][0-9]{2}:?[0-9]{2}|[+-][0-9]{2})"
_TIME_OF_DAY: Final = re.compile(f"{_HOUR}(?:{_SECONDS})?(?: ?[AaPp][Mm])?")
_WITH_UNIT: Final = re.compile(
    r"(?:[^\w\s.,+-]{1,3}\s*)?[-+]?[0-9][0-9.,' ]*(?:\s*(?:[^\W\d_]{1,6}|[^\w\s.,+-]{1,3}))?"
)
_CODE: Final = re.compile("0[0-9]+")
_ICD: Final = re.compile(r"[A-TV-Za-tv-z][0-9][0-9AB]([.]?[0-9A-Za-z-]{1,4})?[+*!]?")
_PROBED: Final = 60


@final
@dataclass(frozen=True)
class DayForm:
    """How days are written, by example; ``zoned``: with the zone's offset behind."""

    written: str
    zoned: bool


@cache
def _number(convention: Convention) -> re.Pattern[str]:
    decimal, thousands = map(re.escape, convention)
    signs = (
        "[ \u00a0\u202f]" if convention.thousands == " " else "['\u2019]" if convention.thousands == "'" else thousands
    )
    whole = f"(?:[1-9][0-9]{{0,2}}(?:{signs}[0-9]{{3}})+|(?:0|[1-9][0-9]*))" if thousands else "[0-9]+"
    return re.compile(f"[-+]?{whole}(?:{decimal}[0-9]+)?(?:[eE][-+]?[0-9]{{1,2}})?")


def reads(convention: Convention, cell: str) -> str | None:
    """The number that a cell is, in digits and a point; None where it is none.

    >>> reads(Convention(",", "."), "1.234,5"), reads(Convention(".", ""), "1,5")
    ('1234.5', None)
    """
    if not _number(convention).fullmatch(cell):
        return None
    digits = re.sub("['\u2019 \u00a0\u202f]", "", cell)
    digits = digits.replace(convention.thousands, "") if convention.thousands in (".", ",") else digits
    return digits.replace(convention.decimal, ".")


def is_number(cell: str) -> bool:
    """Whether a cell is a number by any convention; one with a zero before other digits is a code."""
    return not _CODE.fullmatch(cell) and any(_number(one).fullmatch(cell) for one in CONVENTIONS)


def is_code(cell: str) -> bool:
    """Whether a cell is digits of which the first is a zero, which a number would lose."""
    return bool(_CODE.fullmatch(cell))


def is_diagnosis(cell: str) -> bool:
    """Whether a cell is like a code of the International Classification of Diseases."""
    return bool(_ICD.fullmatch(cell))


def is_time_of_day(cell: str) -> bool:
    """Whether a cell is a time without a day."""
    return bool(_TIME_OF_DAY.fullmatch(cell))


def has_a_unit(cell: str) -> bool:
    """Whether a cell is a number with a word or a sign before or behind it."""
    return bool(_WITH_UNIT.fullmatch(cell)) and not is_number(cell) and not is_code(cell)


def is_marker(cell: str) -> bool:
    """Whether a cell is a word that often stands where something is missing."""
    return cell.casefold() in MARKERS


def shape_of(cell: str) -> str:
    """A cell with 9 for every digit and a for runs of letters."""
    return re.sub("a+", "a", _LETTER.sub("a", _DIGIT.sub("9", cell)))


def is_like_data(cell: str) -> bool:
    """Whether a cell is empty, a number, a day or a time, an address of mail, or far too long for a name."""
    if not cell or len(cell) > 80 or "@" in cell or is_number(cell) or is_code(cell) or is_time_of_day(cell):
        return True
    return bool(day_forms([cell]))


def day_forms(cells: Iterable[str]) -> dict[DayForm, list[str]]:
    """Each form that some cells have, and these cells; the forms of a day that are never the only ones come last."""
    cells = list(cells)
    step = max(1, len(cells) // _PROBED)
    probe = cells[::step]
    found: dict[DayForm, list[str]] = {}
    for (day, first), (clock, second) in ((one, two) for one in _DAYS.items() for two in _CLOCKS.items()):
        for zone in ("", _ZONE) if clock else ("",):
            pattern = _compiled(first + second + zone)
            if any(map(pattern.fullmatch, probe)):
                found[DayForm(day + clock, bool(zone))] = [cell for cell in cells if pattern.fullmatch(cell)]
    return found


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def best_days(cells: Mapping[str, int]) -> tuple[tuple[DayForm, ...], int]:
    """The forms that read most rows, and how many these are; several where more than one reads all that any of them
    does, or where each reads some that the others do not and they read the days in another order.

    Args: how often each cell comes.
    """
    forms = {form: set(read) for form, read in day_forms(cells).items()}
    weights = {form: sum(cells[cell] for cell in read) for form, read in forms.items()}
    if not weights:
        return (), 0
    best = max(weights, key=lambda form: weights[form])
    rivals = [best]
    for form, read in forms.items():
        shared = read & forms[best]
        if form != best and shared and (read - forms[best] or read == forms[best]):
            rivals.append(form)
    every = set().union(*(forms[form] for form in rivals))
    return tuple(rivals), sum(cells[cell] for cell in every)


LINES_LOOKED_AT: Final = 20_000
_MOST_AGREE: Final = 0.8
_SEPARATORS: Final = (",", ";", "\t", "|")
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
GUESSED_ENCODINGS: Final = ("windows-1252", "iso-8859-15")
_CHUNK: Final = 1 << 20


@final
@dataclass(frozen=True)
class TextForm:
    """How a text file is written.

    ``encoding``: None where it is not UTF-8 and nobody said which it is; ``quote``: None where no mark is one;
    ``header``: the number of the line that names the columns, None where none does; ``names``: the columns';
    ``broken``: the number of a line in which a quotation mark is opened and not closed, if there is one; ``ragged``:
    how many of the lines looked at have another number of cells.
    """

    encoding: str | None
    separator: str
    quote: str | None
    header: int | None
    names: tuple[str, ...]
    broken: int | None = None
    ragged: int = 0

    @property
    def decoded(self) -> str:
        """The encoding by which the rows are looked at."""
        return {None: "latin-1", "utf-8": "utf-8-sig"}.get(self.encoding, self.encoding or "")


@final
@dataclass(frozen=True)
class Said:
    """What somebody said of a file's form; None where nothing was."""

    encoding: str | None = None
    separator: str | None = None
    header: str | None = None
    names: tuple[str, ...] | None = None


@final
class FormDoubt(Exception):
    """More than one form fits. ``about``: what is not known; ``question``: in words; ``ways``: each answer, and the
    options of ``dxgeom init`` that say it; ``width``: of how many cells a row has."""

    def __init__(self, about: str, question: str, ways: Sequence[tuple[str, str]], width: int = 0) -> None:
        super().__init__(question)
        self.about, self.question, self.ways, self.width = about, question, tuple(ways), width


Lines: TypeAlias = list[str]


def form_of(path: Path, said: Said) -> TextForm:
    """How a file is written, found from its first lines. Raises: FormDoubt where more than one form fits; DataError."""
    encoding = said.encoding or encoding_of(path)
    known = TextForm(encoding, ",", '"', None, ())
    with opened_text(path, known) as stream:
        lines = list(islice(stream, LINES_LOOKED_AT))
    if not any(line.strip() for line in lines):
        raise DataError(f"'{path}' is empty; it should begin with a header that names the columns")
    obeyed = re.fullmatch(r"sep=(.|\\t)\s*", lines[0], re.IGNORECASE)
    first = 1 if obeyed else 0
    sign = said.separator or (obeyed[1].replace("\\t", "\t") if obeyed else None)
    split = _split_of(lines[first:], sign, path)
    rows = list(_rows(lines[first:], split.separator, split.quote, first))
    fitting = [(number, row) for number, row in rows if row is not None and len(row) == split.width]
    each = _line_by_line(lines[first:], split.separator, split.quote, first)
    broken = next((number for number, row in each if row is None), None)
    empty = _empty_at_the_end(fitting)
    plain = encoding is not None or all(cell.isascii() for cell in fitting[0][1])
    header, names = _header(fitting, said, split.width, path, plain=plain, empty=empty)
    if broken is not None and header is not None and broken < header:
        raise DataError(
            f"line {broken} of '{path}', above the line of names, opens a quotation mark that does not end in it. A "
            "column's name is on one line: write it so; where the line is a title, take the mark out"
        )
    ragged = sum(row is not None and len(row) != split.width for number, row in rows if number > (header or 0))
    names = _require_names(names, header, path)
    return TextForm(encoding, split.separator, split.quote, header, names, broken, ragged)


def encoding_of(path: Path) -> str | None:
    """The encoding that a byte order mark says, or UTF-8 where all bytes fit; None where they do not.

    Raises: FormDoubt where many bytes are 0, as in UTF-16 without a mark.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _opened_bytes(path) as stream:
        start = stream.read(4)
        for mark, name in _MARKS:
            if start.startswith(mark):
                return name
        chunk = start
        try:
            while chunk:
                # One among letters is a cell's own; every other one is how other encodings write letters.
                if chunk.count(b"\0") * 5 > len(chunk):
                    raise encoding_doubt(path, ("utf-16-le", "utf-16-be"))
                decoder.decode(chunk)
                chunk = stream.read(_CHUNK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return None
    return "utf-8"


@contextmanager
def opened_text(path: Path, form: TextForm) -> Iterator[io.TextIOWrapper]:
    """A file's text, line by line. Raises: DataError where its bytes are not what the encoding says."""
    try:
        codecs.lookup(form.decoded)
        with _opened_bytes(path) as stream:
            yield io.TextIOWrapper(stream, encoding=form.decoded)
    except LookupError:
        raise DataError(f"there is no encoding '{form.encoding}'; say utf-8, windows-1252 or iso-8859-15") from None
    except UnicodeError:
        raise DataError(f"'{path}' is not written in {form.encoding}; say another --encoding") from None
    except (EOFError, OSError) as error:
        raise DataError(f"'{path}' cannot be read: {type(error).__name__}; is it whole?") from None


def rows_of(path: Path, form: TextForm) -> Iterator[list[str]]:
    """The rows after the header, as strict as may be for looking: those of another width are left out."""
    with opened_text(path, form) as stream:
        for _ in range(form.header or 0):
            next(stream, "")
        yield from _parsed(stream, form, len(form.names))


def _parsed(stream: io.TextIOWrapper, form: TextForm, width: int) -> Iterator[list[str]]:
    csv.field_size_limit(1 << 24)
    try:
        yield from (row for row in _reader(stream, form.separator, form.quote, strict=False) if len(row) == width)
    except csv.Error:
        return


def _reader(
    lines: Iterator[str] | io.TextIOWrapper, separator: str, quote: str | None, *, strict: bool
) -> Iterator[list[str]]:
    if quote is None:
        return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE, strict=strict)
    return csv.reader(lines, delimiter=separator, quotechar=quote, strict=strict)


def _opened_bytes(path: Path) -> io.BufferedReader:
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    return cast(io.BufferedReader, opener(path, "rb"))


@final
@dataclass(frozen=True)
class _Split:
    separator: str
    quote: str | None
    width: int
    begins: int


def _split_of(lines: Lines, said: str | None, path: Path) -> _Split:
    """The widest split on which most lines agree. Where another agrees as early, nobody can know."""
    found: list[_Split] = []
    for sign in (said,) if said else _SEPARATORS:
        for quote in ('"', "'"):
            split = _agreed(lines, sign, quote)
            if split is not None and (quote == '"' or _is_quoted(lines, sign)):
                found = [one for one in found if one.separator != sign] + [split]
    wide = [one for one in found if one.width > 1]
    if not wide:
        return found[0] if found else _Split(said or ",", '"', 1, 0)
    first = min(one.begins for one in wide)
    early = [one for one in wide if one.begins == first]
    if len(early) > 1:
        ways = [(f'"{_called(one.separator)}"', f'--separator "{_called(one.separator)}"') for one in early]
        raise FormDoubt("separator", f"The cells of '{path}' may be separated by more than one sign.", ways)
    return early[0]


def _called(sign: str) -> str:
    return "tab" if sign == "\t" else sign


def _agreed(lines: Lines, sign: str, quote: str) -> _Split | None:
    """The width of most lines, where so many agree, and the first line so wide."""
    widths = [0 if row is None else len(row) for _, row in _rows(lines, sign, quote, 0)]
    if not widths:
        return None
    width, times = Counter(widths).most_common(1)[0]
    if (times < _MOST_AGREE * len(widths) and len(widths) - times > 5) or width == 0:
        return None
    return _Split(sign, quote, width, widths.index(width))


def _is_quoted(lines: Lines, sign: str) -> bool:
    """Whether most lines have a cell between single quotation marks."""
    marked = re.compile(rf"(?:^|{re.escape(sign)})'[^']*'(?:{re.escape(sign)}|\s*$)")
    some = lines[1:200]
    return sum(bool(marked.search(line)) for line in some) * 2 > len(some)


def _rows(lines: Lines, sign: str, quote: str | None, before: int) -> Iterable[tuple[int, list[str] | None]]:
    """The number and the cells of each line that is not empty; None where a quotation mark is not closed in it.

    Where that is so of many lines, cells hold line breaks: then of each row the number of its first line.
    """
    found = list(_line_by_line(lines, sign, quote, before))
    if sum(row is None for _, row in found) <= (1 - _MOST_AGREE) * len(found):
        return found
    return list(_across_lines(lines, sign, quote, before))


def _across_lines(lines: Lines, sign: str, quote: str | None, before: int) -> Iterator[tuple[int, list[str] | None]]:
    rows, last = csv.reader(iter(lines), delimiter=sign, quotechar=quote, strict=True), 0
    with suppress(csv.Error):  # the last row may go on below the lines that are looked at
        for row in rows:
            if row:
                yield before + last + 1, row
            last = rows.line_num


def _line_by_line(lines: Lines, sign: str, quote: str | None, before: int) -> Iterator[tuple[int, list[str] | None]]:
    for number, line in enumerate(lines, before + 1):
        if line.strip("\r\n"):
            try:
                yield number, next(_reader(iter([line.rstrip("\r\n")]), sign, quote, strict=True))
            except csv.Error:
                yield number, None


def _empty_at_the_end(fitting: list[tuple[int, list[str]]]) -> int:
    """How many cells at the end of every line are empty, as where a separator ends each."""
    return min(len(row) - len([*dropwhile(lambda cell: not cell.strip(), reversed(row))]) for _, row in fitting)


def _header(
    fitting: list[tuple[int, list[str]]], said: Said, width: int, path: Path, *, plain: bool, empty: int = 0
) -> tuple[int | None, tuple[str, ...]]:
    """The number of the line that names the columns, and their names. ``empty``: of so many at the end nothing is ever
    said, so they need none. Raises: FormDoubt."""
    if said.header == "none" or (said.names is not None and said.header is None):
        if said.names is None:
            raise DataError("without a header line the columns are named: say --names with a name for each column")
        if len(said.names) != width:
            raise DataError(f"--names has {len(said.names)} names, and the rows of '{path}' have {width} cells")
        return None, said.names
    if said.header is not None:
        if not said.header.isdigit():
            raise DataError(f"--header is the number of a line, or none; found '{said.header}'")
        number = int(said.header)
        row = next((row for found, row in fitting if found == number), None)
        if row is None:
            raise DataError(f"line {number} of '{path}' has not as many cells as most lines; name another --header")
    else:
        # A title may be followed by empty cells.
        titles = next((k for k, (_, cells) in enumerate(fitting) if width < 3 or sum(map(bool, cells)) > 1), 0)
        number, row = fitting[titles]
        fitting = fitting[titles:]
        if looks_like_data(row[: width - empty], [cells for _, cells in fitting[1:]]):
            why, names_them = "it does not look like names of columns", "it names them"
            if (alike := _first_alike(row[: width - empty])) is not None:
                why = "its cells {} and {} are alike, and names of columns differ".format(*alike)
                names_them = "it names them, and one of the two is renamed in the table"
            ways = [("no line names the columns", "--header none --names …"), (names_them, f"--header {number}")]
            raise FormDoubt("header", f"Line {number} of '{path}' may be data: {why}.", ways, width)
    if not plain:
        raise encoding_doubt(path)
    return number, tuple(row)


def _first_alike(cells: list[str]) -> tuple[int, int] | None:
    """The places, from 1, of the first cell that says what one before it says, and of that one; never what they say."""
    known: dict[str, int] = {}
    for place, cell in enumerate(map(str.strip, cells), 1):
        if cell and (before := known.setdefault(cell, place)) < place:
            return before, place
    return None


def header_of_rows(
    rows: Sequence[tuple[str, ...]], said: Said, path: Path
) -> tuple[int | None, tuple[str, ...], list[tuple[str, ...]]]:
    """The line of names in a sheet's rows, the names, and the rows below, as wide as they.

    Raises: FormDoubt; DataError.
    """
    widths = [max((place + 1 for place, cell in enumerate(row) if cell.strip()), default=0) for row in rows]
    filled = Counter(width for width in widths if width)
    if not filled:
        raise DataError(f"'{path}' is empty; it should begin with a header that names the columns")
    width = max(one for one, times in filled.items() if times * 2 >= filled.most_common(1)[0][1])
    fitting = [(number, list(row[:width])) for number, row in enumerate(rows, 1) if widths[number - 1] == width]
    header, names = _header(fitting, said, width, path, plain=True)
    first = header or 0
    below = [row[:width] for row, filled_to in zip(rows[first:], widths[first:], strict=True) if filled_to]
    return header, _require_names(names, header, path), below


def _require_names(names: tuple[str, ...], header: int | None, path: Path) -> tuple[str, ...]:
    named = [name for name in names if name.strip()]
    if len(set(named)) == len(named) > 0:
        return names
    raise DataError(
        f"every column has a name of its own, but line {header} of '{path}' has one twice, or none: rename one of them "
        "in the table"
    )


def encoding_doubt(path: Path, names: Sequence[str] = GUESSED_ENCODINGS) -> FormDoubt:
    """Asks for the encoding of a file that is not UTF-8."""
    ways = [(name, f"--encoding {name}") for name in names]
    return FormDoubt("encoding", f"'{path}' is not written in UTF-8.", ways)


def _words_alone(others: set[str]) -> bool:
    """Whether most entries of a column could be names of one."""
    plain = [cell for cell in list(others)[:500] if not is_marker(cell)]
    return bool(plain) and 2 * sum(is_like_data(cell) for cell in plain) <= len(plain)


def looks_like_data(line: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a line that should name columns may be a row: a cell is a number, a day, empty, repeated, or like those
    below it; or nothing tells it from them."""
    cells = [cell.strip() for cell in line]
    if any(is_like_data(cell) or is_marker(cell) for cell in cells) or len(set(cells)) < len(cells):
        return True
    below = [{row[place].strip() for row in rows[:LINES_LOOKED_AT]} for place in range(len(cells))]
    if any(cell in others for cell, others in zip(cells, below, strict=True)):
        return True
    shapes = [Counter(shape_of(other) for other in list(others)[:500]) for others in below]
    longest = [(min(map(len, others), default=0), max(map(len, others), default=0)) for others in below]
    each = list(zip(cells, shapes, strict=True))
    if not any(is_known(cell) for cell in cells) and all(map(_words_alone, below)):
        return True  # Words above words: a row may well be unlike the others.
    if any("9" in shape_of(cell) and found[shape_of(cell)] * 5 > found.total() > 0 for cell, found in each):
        return True
    alike = all(found[shape_of(cell)] * 2 > found.total() > 0 for cell, found in each)
    as_long = all(least <= len(cell) <= most for cell, (least, most) in zip(cells, longest, strict=True))
    return alike and as_long and not any(is_known(cell) for cell in cells)
