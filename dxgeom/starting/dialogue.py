"""The questions that ``dxgeom init`` asks on a terminal, and what is made of the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, final

from dxgeom.errors import DataError
from dxgeom.starting.choices import (
    Chosen,
    Wishes,
    candidates,
    fewer,
    known_of,
    people_of,
    range_by_name,
    require_columns,
)
from dxgeom.starting.declared import Chapters, Days, Declared, Months, ends_of, values_of
from dxgeom.starting.drafts import BY_ITS_NAME, Asked, DraftPeople
from dxgeom.starting.seen import SeenColumn
from dxgeom.starting.tables import Answers, FoundTable

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
