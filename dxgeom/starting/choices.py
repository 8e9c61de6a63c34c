"""Which columns become attributes, and who a person is: as options say it, with marks where they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, final

from dxgeom.engines.column_names import names_text, public_range
from dxgeom.errors import DataError
from dxgeom.starting.declared import Chapters, Declared, Numbers, Values, ends_of
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
