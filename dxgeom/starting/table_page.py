"""What ``dxgeom check --table`` shows of a table: which cells do not fit a policy, and the lines that would mend it.

It quotes cells and counts rows: for the eyes of whoever holds the table.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.fitting import (
    BEYOND,
    EMPTY,
    MARKS,
    NO_DAY,
    NO_NUMBER,
    NOT_LISTED,
    NOT_WHOLE,
    AttributeFit,
    TableFit,
)
from dxgeom.starting.drafts import quoted
from dxgeom.starting.form import best_days, is_marker, reads, shape_of
from dxgeom.starting.seen import BLANKS, conventions_of
from dxgeom.universe.columns import plain
from dxgeom.universe.numbers.numeric_attributes import NumericAttribute
from dxgeom.universe.people.people import PUBLIC_NUMBER, public_number_in_words
from dxgeom.universe.public_counts import KnownCounts
from dxgeom.universe.universe import Universe
from dxgeom.wording.numbers import counted

EXAMPLES: Final = 3
WARNING: Final = "▲ For your eyes: this page shows rows. Nothing is spent. Do not pass it on."
_SEVERAL: Final = "several rows, where the policy says that nobody has two"
_NOBODYS: Final = "no name: fill in whose these rows are, or leave them out of the table"
_INDENT: Final = " " * 19
_WIDTH: Final = 80
_MARKS_REPEAT: Final = 3
_FEW: Final = 5
_LAST_MINUTE: Final = datetime(2025, 12, 31, 23, 59, 58)


@final
@dataclass(frozen=True)
class Reason:
    """Why cells of a column do not fit. ``examples``: cells, each with how often it comes; ``line``: what to add."""

    column: str
    reason: str
    rows: int
    examples: tuple[tuple[str, int], ...]
    line: str

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        examples = [{"cell": cell, "rows": rows} for cell, rows in self.examples]
        return {"reason": self.reason, "rows": self.rows, "examples": examples, "line_to_add": self.line or None}


@final
@dataclass(frozen=True)
class PublicDifference:
    """A public number of the policy that the table does not have: of what, as published, and as the table counts."""

    what: str
    published: int
    here: int

    def __str__(self) -> str:
        return f"{self.what}: {self.published:,} published, {self.here:,} here"


def public_differences(known: KnownCounts, universe: Universe, counts: NDArray[np.int64]) -> list[PublicDifference]:
    """The public numbers that a histogram does not have. For the eyes of whoever holds the data, and nobody else."""
    return [
        PublicDifference(one.name_of(universe, number), published, here)
        for one in known.counts
        if one.numbers is not None
        for number, (published, here) in enumerate(zip(one.numbers, one.counted(universe, counts), strict=True))
        if published != here
    ]


@final
@dataclass(frozen=True)
class TablePage:
    """What is shown of a table under a policy. ``repeated``: columns that look like people and repeat, where the policy
    says nothing of people; ``name``: what the table is called. ``public``: the public numbers that it does not have,
    None where they were not looked at."""

    fit: TableFit
    universe: Universe
    name: str
    repeated: tuple[str, ...]
    public: Sequence[PublicDifference] | None = None

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """Every reason of every column, in the order of attributes."""
        return tuple(reason for one in self.fit.attributes for reason in self._reasons(one))

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON: verdict, rows, refused, columns, people, what is public, form."""
        columns: dict[str, list[dict[str, Any]]] = {}
        for reason in self.reasons:
            columns.setdefault(reason.column, []).append(reason.as_dict())
        form = self.universe.form
        return {
            "verdict": "fits" if self.fit.fits else "refused",
            "rows": self.fit.rows,
            "refused": self.fit.refused,
            "columns": columns,
            "people": self._people_dict(),
            **public_number_in_words(self.universe.absent is None),
            **({} if self.public is None else {"public_numbers": [vars(one) for one in self.public]}),
            "form": {name: value for name in form.__dataclass_fields__ if (value := getattr(form, name))},
        }

    def lines(self) -> list[str]:
        """The page."""
        return [*self._lines(), *self._public_lines()]

    def _public_lines(self) -> list[str]:
        """Which public numbers are not those of the table. A release never looks, and answers all the same."""
        if self.public is None:
            return []
        if not self.public:
            return ["", "The public numbers of the policy are those of this table."]
        more = len(self.public) - _FEW
        return [
            "",
            *_wrapped(f"The table has other numbers than the policy says are public, {len(self.public):,} in all:"),
            *(f"  {one}" for one in self.public[:_FEW]),
            *([f"  and {more:,} more"] if more > 0 else []),
            *_wrapped("A release does not compare them. Never take a public number from the table."),
        ]

    def _lines(self) -> list[str]:
        if self.fit.fits and not self._worth_knowing() and self.universe.reading.people is None:
            fits = self._people_lines(f"{self.name}: {self.fit.rows:,} rows fit.")
            return [WARNING, "", *fits, *([] if self.universe.absent is not None else _wrapped(PUBLIC_NUMBER))]
        lines = [WARNING, "", *self._head(), ""]
        if self.fit.repeated:
            lines += [*self._repeated_lines(), ""]
        if self.fit.refused or self.fit.nobodys:
            lines += [*self._refused_lines(), ""]
        elif not self.fit.repeated:
            lines += ["Every row fits." if self.fit.rows else "There is no row: a release needs one at least.", ""]
        known = self._worth_knowing()
        if known:
            width = max(len(column) for column, _ in known)
            lines += ["Fits, and worth knowing", *(f"  {column:<{width}}  {said}" for column, said in known), ""]
        if self.universe.absent is None:
            lines += [*_wrapped(PUBLIC_NUMBER), ""]
        code = 0 if self.fit.fits else 1
        lines.append(f"exit code {code}")
        return [*lines, *(["next: add the lines, then run this again"] if code else [])]

    def _head(self) -> Iterator[str]:
        people, fit = self.universe.reading.people, self.fit
        if people is None:
            yield from self._people_lines(f"{self.name}: {fit.rows:,} rows.")
            return
        number = sum(fit.people.values())
        later = fit.rows - fit.nobodys - number
        yield f"{self.name}: {fit.rows:,} rows, {number:,} people ({people.column}); {later:,} rows are not a first one"
        if number:
            half, largest = _median(fit.people), max(fit.people)
            nobody = "nobody is without a name" if not fit.nobodys else f"{fit.nobodys:,} rows name nobody"
            yield f"  rows per person: half have {half}, the largest {largest}; {nobody}"
            if largest > 1 and people.at_most is not None:
                yield "  (an at_most that is chosen by these numbers is chosen by the data)"

    def _people_lines(self, begin: str) -> list[str]:
        if not self.repeated:
            return [begin]
        column = self.repeated[0]
        return _wrapped(
            f"{begin} ▲ {column} repeats; each row is taken for another person. "
            f"add: people: {{column: {quoted(column)}, count: once}}"
        )

    def _repeated_lines(self) -> list[str]:
        return _wrapped(
            f"{counted(self.fit.repeated, 'person', 'people')} with several rows, where the policy says that "
            f"nobody has two: a release would refuse the table. add: {self._once}"
        )

    @property
    def _once(self) -> str:
        """The line by which people with several rows count once."""
        people = self.universe.reading.people
        return f"people: {{column: {'' if people is None else quoted(people.column)}, count: once}}"

    def _refused_lines(self) -> Iterator[str]:
        fit = self.fit
        share = _share(fit.refused, fit.rows)
        yield f"Does not fit: {fit.refused:,} rows ({share}), so a release would refuse the table"
        shown = [one for one in fit.attributes if one.refused_rows or _marks(one)]
        width = max((len(_column(one)) for one in shown), default=0)
        digits = max(5, *(len(f"{one.refused_rows:,}") + 2 for one in shown)) if shown else 5
        for one in shown:
            yield from self._attribute_lines(one, width, digits)
        if fit.no_record:
            yield f"  {fit.no_record:,} rows have values that exist, in no record that the policy's table lists"
        if fit.nobodys:
            yield f"  {fit.nobodys:,} rows name nobody: fill in whose they are, or leave them out of the table"

    def _attribute_lines(self, one: AttributeFit, width: int, digits: int) -> Iterator[str]:
        name = f"  {_column(one):<{width}}{one.refused_rows:>{digits},}  "
        for reason in self._reasons(one):
            more = f"  and {reason.rows - sum(n for _, n in reason.examples):,} more" if reason.rows else ""
            for place, (cell, rows) in enumerate(reason.examples):
                line = f"{name}{_cell(cell):<20}{rows:>7,}"
                last = place == len(reason.examples) - 1
                line += more if last and not more.startswith("  and 0 ") else ""
                add = f"   add: {reason.line}" if last and reason.line else ""
                if add and len(line + add) <= _WIDTH:
                    yield line + add
                else:
                    yield line.rstrip()
                    yield from [f"{_INDENT}{add.strip()}"] if add else []
                name = " " * len(name)
        marks = _marks(one)
        if marks and isinstance(one.plain, NumericAttribute):
            low, high = map(plain, one.plain.ends)
            found = ", ".join(f"{cell} {rows:,}" for cell, rows in _most(one.clamped.cells))
            if one.clamped.rows:
                said = f"{name}({one.clamped.rows:,} lie outside {low} to {high} and are clamped: {found})"
                yield from textwrap.wrap(said, _WIDTH, subsequent_indent=_INDENT, drop_whitespace=True)
            yield f"{_INDENT}these look like markers"
            yield f"{_INDENT}add: {_missing_written(one, marks)}"

    def _reasons(self, one: AttributeFit) -> Iterator[Reason]:
        for reason, found in one.refused.items():
            if found.rows:
                examples = _one_of_each_form(found.cells) if reason == NO_DAY else _most(found.cells)
                of_total = self._without_total() if found.rows == 1 else ""
                line = of_total or _remedy(one, reason, self.fit.rows, self.universe)
                yield Reason(_column(one), reason, found.rows, examples, line)

    def _without_total(self) -> str:
        """The line that leaves out a last row that is a total; empty where there is none."""
        if self.fit.total is None:
            return ""
        column, word = self.fit.total
        if column in self.universe.reading.columns:
            return f"nothing: the last row is a total ({_cell(word)}), take it out of the table"
        return f"reading: {{ignore: {{{quoted(column)}: [{quoted(word)}]}}}}"

    def _worth_knowing(self) -> list[tuple[str, str]]:
        found = []
        for one in self.fit.attributes:
            column = _column(one)
            if one.missing:
                share = _share(one.missing, self.fit.rows)
                found.append((column, f"{one.missing:,} empty ({share}), read as missing"))
            if one.spelled.rows:
                found.append((column, _read_as(one)))
            if one.unlisted.rows:
                found.append((column, f"{_listed(one.unlisted.cells)} count as any other word"))
            if one.clamped.rows and (not _marks(one) or not self.fit.refused):
                found.append((column, f"{one.clamped.rows:,} are clamped: {_listed(one.clamped.cells)}"))
            if _marks(one) and not self.fit.refused:
                found.append((column, f"markers? add: {_missing_written(one, _marks(one))}"))
            elif one.ends.rows:
                found.append((column, f"{_listed(one.ends.cells)} at an end: is it a marker?"))
        return found

    def _people_dict(self) -> dict[str, Any] | None:
        people = self.universe.reading.people
        if people is None:
            return {"repeated": list(self.repeated)} if self.repeated else None
        counted, several, nobodys = self.fit.people, self.fit.repeated, self.fit.nobodys
        return {
            "column": people.column,
            "people": sum(counted.values()),
            "one": counted.get(1, 0),
            "several": sum(number for rows, number in counted.items() if rows > 1),
            "median": _median(counted) if counted else None,
            "largest": max(counted, default=None),
            "nobody": self.fit.nobodys,
            "reasons": [
                *([{"reason": _SEVERAL, "people": several, "line_to_add": self._once}] if several else []),
                *([{"reason": _NOBODYS, "rows": nobodys, "line_to_add": None}] if nobodys else []),
            ],
        }


def _median(people: dict[int, int]) -> int:
    """The number of rows that half of the people have at most."""
    before, half = 0, (sum(people.values()) + 1) // 2
    for rows, number in sorted(people.items()):
        before += number
        if before >= half:
            return rows
    return 0


def _share(part: int, of: int) -> str:
    """From 1 % on whole ones, below to two digits, and never a power of ten; only all are 100 %."""
    percent = 100 * part / max(1, of)
    if percent < 0.01:
        return "below 0.01 %"
    return f"{percent:.2g} %" if percent < 0.995 else f"{percent if part == of else min(percent, 99):.0f} %"


def _column(one: AttributeFit) -> str:
    return ", ".join(one.columns)


def _cell(cell: str) -> str:
    shown = "".join(letter if letter.isprintable() else f"\\x{ord(letter):02x}" for letter in cell)
    return "empty" if cell == "" else f"'{shown}'"


def _text(cell: Sequence[str | None]) -> str:
    return ", ".join("" if one is None else one for one in cell)


def _most(cells: Counter[tuple[str | None, ...]]) -> tuple[tuple[str, int], ...]:
    """The cells that come most often, the first of equals in the order of letters."""
    texts = Counter[str]()
    for cell, rows in cells.items():
        texts[_text(cell)] += rows
    return tuple(sorted(texts.items(), key=lambda each: (-each[1], each[0]))[:EXAMPLES])


def _one_of_each_form(cells: Counter[tuple[str | None, ...]]) -> tuple[tuple[str, int], ...]:
    """For each way to write digits and letters the first cell, and how many are written so."""
    forms: dict[str, list[str]] = {}
    for cell in sorted(map(_text, cells)):
        forms.setdefault(shape_of(cell), []).append(cell)
    times = Counter({form: sum(cells[(cell,)] for cell in found) for form, found in forms.items()})
    return tuple((forms[form][0], rows) for form, rows in times.most_common(EXAMPLES))


def _read_as(one: AttributeFit) -> str:
    """How words are read that are written otherwise: those with blanks are counted, others are named."""
    blank, words, labels = 0, Counter[str](), Counter[str]()
    known = {label.casefold(): label for label in one.attribute.labels}
    for cell, rows in one.spelled.cells.items():
        text = _text(cell)
        labels[known.get(text.strip(BLANKS).casefold(), "")] += rows
        if text != text.strip(BLANKS):
            blank += rows
        else:
            words[text] += rows
    named = [f"'{word}' {rows:,}" for word, rows in words.most_common(EXAMPLES)]
    named += [f"{len(words) - EXAMPLES:,} more words"] if len(words) > EXAMPLES else []
    said = ", ".join(named) + (" and " if named and blank else "") + (f"{blank:,} with blanks" if blank else "")
    order = [label for label in one.attribute.labels if labels[label]]
    return f"{said} read as {', '.join(order[:_FEW]) or 'words of the policy'}"


def _listed(cells: Counter[tuple[str | None, ...]]) -> str:
    found = _most(cells)
    rest = len(cells) - len(found)
    more = f" and {rest:,} more" if rest > 0 else ""
    return ", ".join(f"{_cell(cell)} {rows:,}" for cell, rows in found) + more


def _marks(one: AttributeFit) -> tuple[str, ...]:
    """Cells beyond the ends that look like marks for something missing: few, and each comes often."""
    beyond = one.refused.get(BEYOND)
    cells = one.clamped.cells + (beyond.cells if beyond is not None else Counter())
    numbers = {_text(cell): rows for cell, rows in cells.items()}
    if not isinstance(one.plain, NumericAttribute) or not numbers:
        return ()
    often = len(numbers) <= _FEW and all(rows >= _MARKS_REPEAT for rows in numbers.values())
    return tuple(sorted(cell for cell, rows in numbers.items() if often or (_number(cell) in MARKS and rows > 1)))


def _number(cell: str) -> float | None:
    read = next((read for one in conventions_of([{cell: 1}]) if (read := reads(one, cell))), None)
    return None if read is None else float(read)


def _missing_written(one: AttributeFit, words: Sequence[str]) -> str:
    listed = ", ".join(f'"{word}"' for word in words[:_FEW])
    return f"missing: {{epsilon: 0.5, written: [{listed}]}}"


def _remedy(one: AttributeFit, reason: str, rows: int, universe: Universe) -> str:
    """The line to add so that the cells fit; empty where only the table can be mended."""
    found = one.refused[reason]
    cells = Counter({_text(cell).strip(BLANKS): times for cell, times in found.cells.items()})
    if reason == EMPTY:
        return "missing: {epsilon: 0.5}"
    markers = sorted(cell for cell in cells if is_marker(cell))
    if markers and len(markers) == len(cells):
        return _missing_written(one, markers)
    if reason == NOT_LISTED:
        return _for_words(one, cells)
    if reason == NO_NUMBER:
        several = conventions_of([cells])
        if len(several) == 1 and several[0].decimal != ".":
            more = f', thousands: "{several[0].thousands}"' if several[0].thousands else ""
            return f'reading: {{decimal: "{several[0].decimal}"{more}}}'
        return "reading: {trim: true}" if several and several[0] == (".", "") else ""
    if reason == NO_DAY:
        return _for_days(one, cells, found.rows < rows, universe)
    if reason == BEYOND and isinstance(one.plain, NumericAttribute):
        marks = _marks(one)
        return _missing_written(one, marks) if marks else "clamp: true"
    return "" if reason == BEYOND else "" if reason != NOT_WHOLE else "leave out whole: true"


def _for_words(one: AttributeFit, cells: Counter[str]) -> str:
    """Words that differ from listed ones in blanks and small letters only, or that are others."""
    labels = {label.casefold() for label in one.attribute.labels}
    if all(cell in one.attribute.labels for cell in cells):
        return "reading: {trim: true}"
    if all(cell.casefold() in labels for cell in cells):
        return "reading: {trim: true, case: fold}"
    return "unlisted: other"


def _for_days(one: AttributeFit, cells: Counter[str], others: bool, universe: Universe) -> str:
    forms, read = best_days(cells)
    if not forms or read * 2 < cells.total():
        return ""
    place = universe.attributes.index(one.attribute)
    rules = getattr(universe.reading.attributes[place], "rules", None)
    known = [way.write(_LAST_MINUTE) for way in rules.written] if rules is not None else []
    known = known or ["2025-12-31"]
    ways = [form.written for form in forms]
    if len(ways) > 1:
        return f"written: {ways[0]}, or {ways[1]}: which of them?"
    return f"written: [{', '.join([*known, ways[0]])}]" if others else f"written: {ways[0]}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
