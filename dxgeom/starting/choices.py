"""Which columns become attributes, and who a person is: as options say it, with marks where they do not.

The questions that ``dxgeom init`` asks on a terminal, and what is made of the answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, final

from dxgeom.engines.column_names import names_text, public_range
from dxgeom.errors import DataError
from dxgeom.starting.declared import Chapters, Days, Declared, Months, Numbers, Values, ends_of, values_of
from dxgeom.starting.drafts import BY_ITS_NAME, Asked, Draft, DraftPeople, draft_of
from dxgeom.starting.seen import SeenColumn, SeenTable
from dxgeom.starting.tables import Answers, FoundTable
from dxgeom.universe.wording import did_you_mean

MOST_COLUMNS: Final = 12
_LEFT_OUT: Final = {
    "a row's own number": "a row's own number",
    "nothing": "empty",
    "free text": "free text",
    "times of day": "a time of day",
}


@final
@dataclass(frozen=True)
class Wishes:
    """What options say of a draft.

    ``person``: the columns that say who a row is of; ``rows``: every row counts, nobody more than so many;
    ``one_row_each``: each row is another person; ``written``: how days are written, by column; ``accept``: what the
    rows show is known without them; ``take``: columns that would be left out; ``left_out``: columns to leave out;
    ``declared``: what is known of columns.
    """

    person: tuple[str, ...] = ()
    rows: int | None = None
    one_row_each: bool = False
    written: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    accept: bool = False
    take: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    declared: Mapping[str, Declared] = field(default_factory=dict)
    epsilon: Fraction = Fraction(1)


@final
@dataclass(frozen=True)
class Chosen:
    """What a draft is made of. ``left_out``: columns and why. ``known``: columns whose totals are published elsewhere,
    None where nobody was asked."""

    attributes: tuple[Asked, ...]
    people: DraftPeople
    answers: Answers
    left_out: tuple[tuple[str, str], ...]
    known: tuple[str, ...] | None = None

    def draft(self, found: FoundTable, epsilon: Fraction, queries: str) -> Draft:
        """The draft. Raises: DataError."""
        names = {*self.people.columns, *self.people.guesses}
        read = [one.column for one in self.attributes]
        read += [column for column in found.table.columns if column.name in names and column not in read]
        facts = tuple(found.facts(self.answers, read))
        return draft_of(
            found.name, _about(found), self.attributes, epsilon,
            people=self.people, reading=facts, left_out=self.left_out, queries=queries, known=self.known,
        )  # fmt: skip


def _about(found: FoundTable) -> str:
    table = found.table
    if table.from_schema:
        return (
            f"A draft by dxgeom init for the table {table.described}. It holds names and types from the schema: "
            "no value of any row."
        )
    held = "names of columns, how cells are written, and what you typed" if table.looked else "names of columns"
    return f"A draft by dxgeom init for {table.described}. It holds {held}: no value of any row. Change anything."


def require_columns(found: FoundTable, wishes: Wishes) -> None:
    """Every column that options name is there. Raises: DataError."""
    names = [column.name for column in found.table.columns]
    named = (*wishes.person, *wishes.written, *wishes.take, *wishes.left_out, *wishes.declared)
    for name in named:
        if name not in names:
            raise DataError(f"the table has no column '{name}'; {did_you_mean(name, names) or 'see its header'}")
    for name in wishes.person:
        if name in wishes.take or name in wishes.declared:
            raise DataError(f"'{name}' says who a person is, and is no attribute beside that; say one of the two")


def candidates(found: FoundTable, wishes: Wishes) -> tuple[list[SeenColumn], list[tuple[str, str]]]:
    """The columns that may become attributes, and those that are left out, with why."""
    kept, left = list[SeenColumn](), list[tuple[str, str]]()
    table = found.table
    people = {column.name for column in table.people if not wishes.person}
    for column in table.columns:
        why = _why_not(column, column.name in people)
        if column.name in wishes.person:
            continue
        if column.name in wishes.left_out:
            left.append((column.name, "as you said"))
        elif column.name in wishes.take or column.name in wishes.declared or not why:
            named = wishes.written.get(column.name)
            kept.append(column if named is None else replace(column, kind="days", written=named))
        else:
            left.append((column.name, why))
    return kept, left


def _why_not(column: SeenColumn, guessed: bool) -> str:
    if guessed and column.kind != "numbers":
        return "may say who a person is"
    if column.person and column.kind in ("words", "codes", "free text", "a row's own number") and not column.words:
        return _LEFT_OUT.get(column.kind, "may say who a person is")
    if names_text(column.name) and not column.words and column.kind in ("words", "codes", "free text"):
        return "names or remarks"
    return _LEFT_OUT.get(column.kind, "")


def fewer(kept: list[SeenColumn], left: list[tuple[str, str]], wishes: Wishes) -> list[SeenColumn]:
    """At most so many columns, those that options name first; the others are left out."""
    asked = [column for column in kept if column.name in wishes.take or column.name in wishes.declared]
    others = [column for column in kept if column not in asked]
    chosen = asked + others[: max(0, MOST_COLUMNS - len(asked))]
    left += [(column.name, f"more than {MOST_COLUMNS} columns") for column in kept if column not in chosen]
    return [column for column in kept if column in chosen]


def chosen_alone(found: FoundTable, wishes: Wishes) -> Chosen:
    """What a script's options say; where they say nothing, the draft is to be filled in. Raises: DataError."""
    require_columns(found, wishes)
    kept, left = candidates(found, wishes)
    kept = fewer(kept, left, wishes)
    confirmed = wishes.accept or not found.table.looked
    attributes = tuple(
        Asked(column, *known_of(column, wishes, found), confirmed, wishes.accept or found.table.from_schema)
        for column in kept
    )
    return Chosen(attributes, people_of(found, wishes), Answers(confirmed), tuple(left))


def known_of(column: SeenColumn, wishes: Wishes, found: FoundTable) -> tuple[Declared | None, str]:
    """What is known of a column without a question, and how."""
    if column.name in wishes.declared:
        return wishes.declared[column.name], ""
    if column.words:
        return Values(column.words), "the schema's own CHECK" if found.table.from_schema else ""
    if column.kind == "yes or no":
        return Values(("false", "true")), ""
    if column.kind == "diagnoses":
        return Chapters(), ""
    known = range_by_name(column)
    whole = wishes.accept and column.kind == "whole numbers"
    if known is not None:
        said = known if known.whole or not whole else replace(known, whole=True)
        return said, BY_ITS_NAME if said.whole else f"{BY_ITS_NAME}; whole: true if no part can occur"
    return None, ""


def range_by_name(column: SeenColumn) -> Numbers | None:
    """The ends that a column of numbers has by its name."""
    known = public_range(column.name)
    if known is None or column.kind not in ("whole numbers", "numbers"):
        return None
    ends = ends_of(f"{known.low}:{known.high}", whole=True)
    assert isinstance(ends, Numbers)  # noqa: S101 - of two numbers
    return replace(ends, whole=known.whole)


def people_of(found: FoundTable, wishes: Wishes) -> DraftPeople:
    """Who a person is, as options say it. Raises: DataError where they say two things."""
    if wishes.one_row_each and (wishes.person or wishes.rows is not None):
        raise DataError("--one-row-each says that nobody has two rows; leave out --person and --rows, or it")
    if wishes.one_row_each:
        return DraftPeople((), "one row each")
    looked = found.table.looked
    if not wishes.person:
        guesses = tuple(column.name for column in found.table.people)
        return DraftPeople((), "unknown", guesses=guesses, looked=looked)
    if wishes.rows is not None:
        if wishes.rows < 1:
            raise DataError(f"--rows is at least 1; found {wishes.rows}")
        return DraftPeople(wishes.person, "rows", wishes.rows, looked=looked)
    return DraftPeople(wishes.person, "once", looked=looked)


def facts_in_words(found: FoundTable) -> Sequence[str]:
    """What is shown of a table before anything is asked; no cell of it."""
    table = found.table
    if table.from_schema:
        return (f"{table.described}: {_number(table)}, types from the schema. No value goes into the draft.",)
    how = [f"{table.described}: {_number(table)}"]
    if found.form is not None and len(found.names) > 1:
        how.append("separated by " + ("tabs" if found.form.separator == "\t" else f'"{found.form.separator}"'))
    if len(table.conventions) == 1 and table.conventions[0].decimal != ".":
        how.append(f'decimals with "{table.conventions[0].decimal}"')
    header = "No header." if found.header is None else f"Header in line {found.header}."
    first = f"{', '.join(how)}. {header}" if found.form is not None or found.sheet else f"{', '.join(how)}."
    if not table.looked:
        return (first, "I look at the names of the columns, and at no row.")
    lines = [first, "I look at the rows to see how they are written. No value goes into the draft."]
    if found.form is not None and found.form.ragged and found.form.broken is None:
        lines.append(f"Lines with another number of cells, which a release refuses: {found.form.ragged}.")
    return lines


def _number(table: SeenTable) -> str:
    count = len(table.columns)
    return f"{count} column" + ("s" if count != 1 else "")


def repeats_in_words(found: FoundTable) -> Sequence[str]:
    """How often entries come in columns that may say who a row is of: for the data holder's eyes."""
    return [
        f"For your eyes: {column.name} has {column.different:,} different entries in {found.table.rows:,} rows."
        for column in found.table.people[:3]
        if column.different
    ]


_CHOICE: Final = 74
_OPEN: Final = 59
_STEPS: Final = {"2": ("week", 7), "3": ("day", 1)}


@final
class Dialogue:
    """Numbered questions. ``ask``: shows a text and takes a line; ``tell``: shows a line."""

    def __init__(self, ask: Callable[[str], str], tell: Callable[[str], None]) -> None:
        self._ask, self._tell, self._number = ask, tell, 0

    def chosen(self, found: FoundTable, wishes: Wishes) -> Chosen:
        """What options and answers say. Raises: DataError."""
        require_columns(found, wishes)
        people = self._people(found, wishes)
        wishes = replace(wishes, person=people.columns)
        answers = self._cells_at_first(found)
        kept, left = candidates(found, wishes)
        kept = self._taken(kept, left, found)
        kept = fewer(kept, left, wishes)
        attributes: list[Asked] = []
        for column in kept:
            said, answers = self._column(column, found, wishes, answers)
            if said is None:
                left.append((column.name, "free text" if column.kind == "free text" else "codes"))
            else:
                attributes.append(said)
        known = self._published([one.column.name for one in attributes]) if people.count == "one row each" else None
        return Chosen(tuple(attributes), people, answers, tuple(left), known)

    def pick(self, question: str, ways: Sequence[str], gap: str = "  ") -> int:
        """Which of several ways, from 0, as often asked as it takes."""
        self._number += 1
        shown = gap.join([f"{self._number} {question}", *(f"[{k}] {way}" for k, way in enumerate(ways, 1))])
        return self._picked(shown, len(ways))

    def text(self, question: str) -> str:
        """A line of text; empty where nothing was typed."""
        self._number += 1
        return self._ask(f"{self._number} {question}".ljust(_OPEN) + "> ").strip()

    def _picked(self, shown: str, most: int) -> int:
        while True:
            answer = self._ask(_folded(shown, self._tell).ljust(_CHOICE) + "> ").strip() or "1"
            if answer.isdigit() and 1 <= int(answer) <= most:
                return int(answer) - 1

    def _yes(self, question: str, *, numbered: bool = True) -> bool:
        self._number += numbered
        shown = f"{self._number} {question} [Y/n]" if numbered else f"  {question} [Y/n]"
        while True:
            answer = self._ask(_folded(shown, self._tell).ljust(_CHOICE) + "> ").strip().lower()
            if answer in ("", "y", "yes", "n", "no"):
                return answer in ("", "y", "yes")

    def _people(self, found: FoundTable, wishes: Wishes) -> DraftPeople:
        if wishes.person or wishes.one_row_each:
            return people_of(found, wishes)
        guesses = [column.name for column in found.table.people[:3]]
        picked = self.pick("Who is a person?", [*guesses, "another column", "one row each"])
        if picked == len(guesses) + 1:
            return DraftPeople((), "one row each")
        names = [column.name for column in found.table.columns]
        chosen = (guesses[picked],) if picked < len(guesses) else self._named(names)
        if not chosen:
            return DraftPeople((), "unknown")
        known = {column.name: column for column in found.table.columns}
        several = len(chosen) > 1 or known[chosen[0]].different != found.table.rows
        if not several or not found.table.looked:
            return DraftPeople(chosen, "once", looked=found.table.looked)
        self._number += 1
        self._tell(f"{self._number} Somebody has several rows. [1] each person counts once")
        if self._picked("  [2] every row counts, nobody more than so many", 2) == 0:
            return DraftPeople(chosen, "once", looked=True)
        most = self.text("At most how many, known without this table?")
        return DraftPeople(chosen, "rows", int(most) if most.isdigit() and int(most) > 0 else None, looked=True)

    def _published(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns whose totals are published elsewhere; none where nothing is typed."""
        while True:
            typed = self.text("Columns whose totals are published elsewhere, if any")
            chosen = tuple(dict.fromkeys(one.strip() for one in typed.split(",") if one.strip()))
            if all(one in names for one in chosen):
                return chosen
            self._tell(f"  There are {', '.join(names)}")

    def _named(self, names: Sequence[str]) -> tuple[str, ...]:
        """One column, or several that name a person together; none where nothing is typed."""
        while True:
            typed = self.text("Which column? Several together with commas")
            if not typed:
                return ()
            chosen = (typed,) if typed in names else tuple(one.strip() for one in typed.split(","))
            if all(one in names for one in chosen):
                return chosen
            self._tell(f"  There are {', '.join(names)}")

    def _cells_at_first(self, found: FoundTable) -> Answers:
        """What cells mean that every column is read by."""
        answers = Answers(confirmed=True)
        if not found.table.looked:
            return answers
        several = found.table.conventions
        if len(several) > 1:
            ways = [f'"{one.decimal}" is before decimals' for one in several[:3]]
            answers = replace(answers, convention=several[self.pick("Numbers such as 1.234:", ways)])
        if found.form is not None and found.form.broken is not None:
            self._tell(f"Line {found.form.broken} opens a quotation mark and does not close it.")
            picked = self.pick("Then", ["cells hold line breaks", "the mark is a letter"])
            answers = replace(answers, line_breaks=picked == 0)
        if any(column.markers for column in found.table.columns):
            words = values_of(self.text("All words that mean that nothing is there, as in NA, -")).words
            answers = replace(answers, markers=words or None)
        if found.table.total:
            word = self.text(f"The last row seems to be a total. What does {found.table.total} say?")
            answers = replace(answers, total=word or None)
        return answers

    def _taken(self, kept: list[SeenColumn], left: list[tuple[str, str]], found: FoundTable) -> list[SeenColumn]:
        """Free text is asked about in its place, with the other columns."""
        asked = {name for name, why in left if why == "free text"}
        left[:] = [one for one in left if one[0] not in asked]
        order = [column.name for column in found.table.columns]
        texts = [column for column in found.table.columns if column.name in asked]
        return sorted([*kept, *texts], key=lambda column: order.index(column.name))

    def _column(
        self, column: SeenColumn, found: FoundTable, wishes: Wishes, answers: Answers
    ) -> tuple[Asked | None, Answers]:
        """What somebody says of a column; None where it is left out."""
        known, how = known_of(column, wishes, found)
        if column.name in wishes.declared or column.words or column.kind == "yes or no":
            return Asked(column, known, how), answers
        if column.kind == "days":
            return self._days(column), answers
        if column.kind in ("whole numbers", "numbers", "numbers with units"):
            return self._numbers(column), answers
        if column.kind == "diagnoses" and self._yes(f"{column.name}: by chapter, A to Z?"):
            return Asked(column, Chapters()), answers
        if column.kind in ("free text", "codes") and self._yes(f"{column.name}: {column.kind}? Leave it out?"):
            return None, answers
        return self._words(column, answers)

    def _words(self, column: SeenColumn, answers: Answers) -> tuple[Asked, Answers]:
        question = "the words" if column.two else "all words there can be, with commas"
        said = values_of(self.text(f"{column.name}: {question}"))
        if said.words and answers.tidy is None and (column.untidy or column.spellings):
            occur = " and ".join(
                [*(["small letters"] if column.spellings else []), *(["blanks at the ends"] if column.untidy else [])]
            )
            word = said.words[0]
            other = (word.swapcase() if column.spellings else word) + (" " if column.untidy else "")
            tidy = self._yes(f"{occur.capitalize()} occur. Read {other!r} as {word}?", numbered=False)
            answers = replace(answers, tidy=tidy)
        return Asked(column, said if said.words else None), answers

    def _numbers(self, column: SeenColumn) -> Asked:
        whole = column.kind == "whole numbers"
        known = range_by_name(column)
        if known is not None:
            kind = "whole numbers, " if whole else ""
            if self._yes(f"{column.name}: {kind}{known.low} to {known.high} by its name. Right?"):
                return Asked(column, replace(known, whole=whole), BY_ITS_NAME)
        said = self._ends(f"{column.name}: lowest and highest there can be", whole=whole)
        return Asked(column, said, whole=whole)

    def _days(self, column: SeenColumn) -> Asked:
        if len(column.written) > 1:
            ways = list(column.written)
            column = replace(column, written=(ways[self.pick(f"{column.name} is written", ways)],))
        said = f" is written {column.written[0]}." if column.written else ":"
        picked = self.pick(f"{column.name}{said} Ask by".replace("  ", " "), ["month", "week", "day"], " ")
        if picked == 0:
            return Asked(column, Months())
        _, step = _STEPS[str(picked + 1)]
        ends = self._ends(f"{column.name}: first and last day, as 2025-12-31", whole=False)
        return Asked(column, replace(ends, step=step) if isinstance(ends, Days) else None)

    def _ends(self, question: str, *, whole: bool) -> Declared | None:
        """Two ends; asked again where they make no sense, left open where nothing is typed."""
        while typed := self.text(question):
            try:
                return ends_of(":".join(part.strip() for part in typed.replace(":", ",").split(",")), whole=whole)
            except DataError as error:
                self._tell(f"  {error}")
                self._number -= 1
        return None


def _folded(shown: str, tell: Callable[[str], None]) -> str:
    """The last line of a question that is longer than its room; those before are told."""
    while len(shown) > _CHOICE:
        cut = shown.rfind("  [", 0, _CHOICE)
        if cut <= 0:
            return shown + " "
        tell(shown[:cut])
        shown = f"  {shown[cut:].strip()}"
    return shown
