"""What the rows of a table show of its columns: how cells are written and what kind they are, never what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, Literal, TypeAlias, final

from dxgeom.engines.column_names import is_total, names_a_person, names_text, plain_text, public_range
from dxgeom.starting.form import (
    CONVENTIONS,
    Convention,
    best_days,
    has_a_unit,
    is_code,
    is_diagnosis,
    is_marker,
    is_number,
    is_time_of_day,
    reads,
)

Kind: TypeAlias = Literal[
    "words", "codes", "diagnoses", "whole numbers", "numbers", "numbers with units", "days", "yes or no", "free text",
    "times of day", "nothing", "a row's own number", "unknown",
]  # fmt: skip
ROWS_LOOKED_AT: Final = 20_000
ROWS_COUNTED: Final = 1_000_000
BLANKS: Final = " \t\u00a0\u2007\u202f\ufeff"
_MOST_FIT: Final = 0.8
_LONG: Final = 40
_MANY_WORDS: Final = 60
_LEAST_PEOPLE: Final = 30
_AT_ONCE: Final = 50_000
_MOST_COUNTED: Final = 8


@final
@dataclass(frozen=True)
class SeenColumn:
    """What is known of a column.

    ``written``: how its days are written, several where nobody can tell which; ``zoned``: with offsets; ``words``: all
    that its schema lists; ``different``: how many different entries it has, 0 where nobody counted; ``person``: whether
    it may say who a row is of; ``untidy``: whether blanks stand at the ends of cells; ``spellings``: whether cells
    differ in small letters only; ``markers``: whether words stand where something is missing; ``two``: whether it has
    two different entries; ``optional``: whether its schema lets cells be empty.
    """

    name: str
    kind: Kind
    written: tuple[str, ...] = ()
    zoned: bool = False
    words: tuple[str, ...] = ()
    different: int = 0
    person: bool = False
    untidy: bool = False
    spellings: bool = False
    markers: bool = False
    two: bool = False
    optional: bool = False


@final
@dataclass(frozen=True)
class SeenTable:
    """What is known of a table.

    ``described``: what messages call it; ``rows``: how many were counted; ``looked``: whether rows were looked at;
    ``conventions``: of numbers, several where cells mean different numbers by them, none where no single one reads all;
    ``total``: the column in which its last row says that it is one, empty where it does not; ``from_schema``: whether a
    server's schema says the types.
    """

    described: str
    columns: tuple[SeenColumn, ...]
    rows: int = 0
    looked: bool = False
    conventions: tuple[Convention, ...] = (CONVENTIONS[0],)
    total: str = ""
    from_schema: bool = False

    @property
    def people(self) -> tuple[SeenColumn, ...]:
        """The columns that may say who a row is of: by their names, else by how often their entries come."""
        found = tuple(column for column in self.columns if column.person)
        named = tuple(column for column in found if names_a_person(column.name))
        return named or found


def seen(names: Sequence[str], kinds: Sequence[Kind], rows: Iterable[Sequence[str]], described: str) -> SeenTable:
    """What rows of text show; a column whose type is known says ``kinds`` other than unknown."""
    walked = iter(rows)
    first = list(islice(walked, ROWS_LOOKED_AT))
    if not first:
        return SeenTable(described, tuple(map(unseen, names, kinds)))
    cells = [Counter(column) for column in zip(*first, strict=True)]
    numeric: list[Mapping[str, int]] = []
    columns = [_column(*each, numeric) for each in zip(names, kinds, cells, strict=True)]
    counted = [place for place, column in enumerate(columns) if _may_repeat(column, cells[place], len(first))]
    number, different = _counted(first, walked, counted[:_MOST_COUNTED])
    for place, entries in zip(counted, different, strict=False):
        columns[place] = _of_people(columns[place], number, entries, cells[place])
    last = zip(names, first[-1], strict=True) if number == len(first) else ()
    total = next((name for name, cell in last if is_total(cell)), "")
    return SeenTable(described, tuple(columns), number, True, conventions_of(numeric), total)


def unseen(name: str, kind: Kind) -> SeenColumn:
    """A column that only its name and its type are known of."""
    return SeenColumn(name, kind, person=names_a_person(name))


def _column(name: str, known: Kind, cells: Mapping[str, int], numeric: list[Mapping[str, int]]) -> SeenColumn:
    """What the cells of a column show; cells of numbers are added to ``numeric``."""
    stripped = Counter[str]()
    for cell, times in cells.items():
        stripped[cell.strip(BLANKS)] += times
    stripped.pop("", None)
    marked = Counter({cell: times for cell, times in stripped.items() if is_marker(cell)})
    plain = stripped - marked
    untidy = any(cell != cell.strip(BLANKS) for cell in cells)
    if known != "unknown" and known != "words":
        return SeenColumn(name, known, two=len(plain) == 2)
    if not plain:
        return SeenColumn(name, "nothing" if not stripped else "words", untidy=untidy)
    kind, written, zoned = _kind_of(name, plain)
    if kind in ("whole numbers", "numbers"):
        numeric.append({cell: times for cell, times in plain.items() if is_number(cell)})
    folded = len({cell.casefold() for cell in plain}) < len(plain)
    return SeenColumn(
        name, kind, written, zoned, untidy=untidy, spellings=folded and kind in ("words", "diagnoses"),
        markers=bool(marked) and kind != "free text", two=len({cell.casefold() for cell in plain}) == 2,
    )  # fmt: skip


def _kind_of(name: str, cells: Counter[str]) -> tuple[Kind, tuple[str, ...], bool]:
    total = cells.total()

    def most(test: Callable[[str], bool]) -> bool:
        return sum(times for cell, times in cells.items() if test(cell)) >= _MOST_FIT * total

    forms, read = best_days(cells)
    if read >= _MOST_FIT * total and not ({form.written for form in forms} == {"20251231"} and not _about_time(name)):
        return "days", tuple(form.written for form in forms), any(form.zoned for form in forms)
    if any(map(is_code, cells)) and most(str.isdigit):
        return "codes", (), False
    if most(is_number):
        whole = all(cell.lstrip("+-").isdigit() for cell in cells if is_number(cell))
        return ("whole numbers" if whole else "numbers"), (), False
    if most(is_time_of_day):
        return "times of day", (), False
    if most(has_a_unit) and most(lambda cell: any(letter.isdigit() for letter in cell)):
        return "numbers with units", (), False
    if len(cells) > 2 and most(is_diagnosis):
        return "diagnoses", (), False
    length = sum(len(cell) * times for cell, times in cells.items()) / total
    if length > _LONG or names_text(name) or len(cells) > _MANY_WORDS:
        return "free text", (), False
    return "words", (), False


def _about_time(name: str) -> bool:
    return any(part in plain_text(name) for part in ("dat", "day", "tag", "fecha", "jour", "giorno", "dzien"))


def conventions_of(columns: Sequence[Mapping[str, int]]) -> tuple[Convention, ...]:
    """The conventions that read all numbers of all columns, one of each meaning; none where no convention does.

    >>> [one.decimal for one in conventions_of([{"1.234": 1}])], conventions_of([{"1,5": 1, "2.5": 1}])
    (['.', ','], ())
    """
    met: dict[tuple[str | None, ...], Convention] = {}
    for convention in CONVENTIONS:
        read = tuple(reads(convention, cell) for cells in columns for cell in cells)
        if None not in read:
            met.setdefault(read, convention)
    return tuple(met.values())


def _may_repeat(column: SeenColumn, cells: Mapping[str, int], rows: int) -> bool:
    """Whether it is worth counting how many different entries a column has."""
    if column.kind not in ("words", "codes", "whole numbers", "free text", "unknown", "diagnoses"):
        return False
    return names_a_person(column.name) or len(cells) * 20 > rows


def _counted(first: list[Sequence[str]], rest: Iterator[Sequence[str]], places: Sequence[int]) -> tuple[int, list[int]]:
    """How many rows there are, and how many different entries in each of these columns."""
    entries = [{hash(row[place]) for row in first} for place in places]
    number = len(first)
    while number < ROWS_COUNTED and (some := list(islice(rest, _AT_ONCE))):
        number += len(some)
        for place, met in zip(places, entries, strict=True):
            met.update(hash(row[place]) for row in some)
    return number, list(map(len, entries))


def _of_people(column: SeenColumn, rows: int, different: int, cells: Mapping[str, int]) -> SeenColumn:
    """The same with what its repeats say: who a row is of, or which row it is."""
    named = names_a_person(column.name)
    alone = different == rows > 1 and public_range(column.name) is None
    if alone and (column.kind in ("whole numbers", "codes") or named):
        number = replace(column, kind="a row's own number", different=different)
        return replace(number, person=named and column.name.lower() not in ("id", "nr", "no"))
    often = different >= _LEAST_PEOPLE and 0.05 * rows <= different <= 0.98 * rows
    length = sum(map(len, cells)) / max(1, len(cells))
    likely = often and column.kind != "diagnoses" and length <= _LONG and public_range(column.name) is None
    return replace(column, different=different, person=named or likely)
