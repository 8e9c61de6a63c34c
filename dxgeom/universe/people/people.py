"""Who a person is where rows are many, and how a person's rows count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final, get_args

from dxgeom.errors import UnsupportedCombination

Counting: TypeAlias = Literal["once", "rows", "single"]

SHARES: Final = 720720 * 2**8
"""What a person weighs under ``once``, in whole shares: a public constant, never taken from data. A multiple of every
number up to 16, so that people with so many rows are spread exactly: docs/decisions/031-people.md."""

MOST_SPREAD: Final = 1 << 22
"""The largest ``at_most`` of rows that are spread: all shares of one person stay below 2⁵⁰."""

PUBLIC_NUMBER: Final = (
    "The number of records is public: of a table that was filtered (WHERE ts >= ...) it is how many passed, exactly."
)
"""Told beside that number, wherever no rule about presence makes it private."""
ONE_ROW: Final = "Assumed: every person has exactly one row of the table. Someone with several is protected less."

MOVER: Final = "the earth mover's distance"
"""What the distance of two people who count once is called, wherever it is told."""


@final
@dataclass(frozen=True)
class People:
    """Whose row a row of a table is, by ``column``, and how it counts.

    *once*: each person weighs 1, spread evenly over their rows. *rows*: every row counts 1, but nobody more than
    ``at_most``: the rows of a person with more count ``at_most`` together, spread evenly; or, with ``order``, the first
    ``at_most`` by it are kept. *single*: a person with more than one row is refused. ``within``: the attribute of
    periods in each of which a person counts once by themselves; None for once in all.
    """

    column: str
    count: Counting
    at_most: int | None = None
    order: str | None = None
    within: str | None = None

    def __post_init__(self) -> None:
        most = self.at_most if isinstance(self.at_most, int) else 0
        limited = 1 <= most <= (MOST_SPREAD if self.order is None else most) and self.order != self.column
        fits = limited if self.count == "rows" else self.at_most is None and self.order is None
        fits = fits and (self.within is None or self.count == "once")
        if self.count not in get_args(Counting) or not fits:
            raise UnsupportedCombination(
                f"people count once, or by rows with 'at_most' of them and perhaps a column of their 'order', or are "
                f"single; without 'order' at most {MOST_SPREAD:,} rows of a person are counted"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that say whose row it is, and in which order rows are kept."""
        return (self.column,) if self.order is None else (self.column, self.order)

    @property
    def in_shares(self) -> bool:
        """Whether a person is spread over all their rows, so that a row may count a fraction."""
        return self.count == "once" or (self.count == "rows" and self.order is None)

    @property
    def shares(self) -> int:
        """What a record that counts 1 adds to a histogram: a person under *once*, else a row."""
        return SHARES if self.in_shares else 1

    @property
    def most_rows(self) -> int:
        """The most that one person counts."""
        return self.at_most or 1

    @property
    def digest(self) -> list[Any]:
        """Ready for JSON; equal digests count every table alike."""
        own = [] if self.within is None else ["in periods of", self.within]
        return [self.column, self.count, self.at_most, self.order, self.shares, *own]

    @property
    def sentence(self) -> str:
        """How people count, for whoever reads answers."""
        match self.count:
            case "once":
                once = "once" if self.within is None else f"once in each period of '{self.within}'"
                rows = "their rows" if self.within is None else "their rows of it"
                how = (
                    f"counts {once}, spread evenly over {rows}: a count adds up the fractions of people's rows, in "
                    f"whole shares of 1/{SHARES:,}; that is exact for people of up to 16 rows, and with k different "
                    f"records less than k/{2 * SHARES:,} of a person off, which error bars do not cover"
                )
            case "rows" if self.in_shares:
                how = (
                    f"counts with every row, but never more than {self.at_most}: the rows of a person with more count "
                    f"{self.at_most} together, spread evenly in whole shares of 1/{SHARES:,} of a row. That is exact "
                    f"for people of up to {max(self.most_rows, 16)} rows, and with k different records less than "
                    f"k/{2 * SHARES:,} of a row off. Error bars cover neither this nor what is cut. Where no rule is "
                    f"about presence, everybody's number of rows up to {self.at_most} is public"
                )
            case "rows":
                how = (
                    f"counts with every row, of which the first {self.at_most} by '{self.order}' are kept; error bars "
                    "do not cover what is cut off"
                )
            case _:
                how = "has one row: a table in which somebody has more is refused"
        return f"A person is a value of '{self.column}', and {how}."

    @property
    def records_are(self) -> str:
        """What the number of records counts."""
        if self.count != "rows":
            return "people" if self.within is None else "people, in each period"
        return f"rows of people (at most {self.at_most} of each)" if self.in_shares else "rows of people"


def shares_of(people: People | None) -> int:
    """What a record that counts 1 adds to a histogram: 1 where nobody says who people are."""
    return 1 if people is None else people.shares


def people_in_words(people: People | None) -> dict[str, str]:
    """How people count, for JSON; nothing where nobody says who they are."""
    return {} if people is None else {"people": people.sentence}


def public_number_in_words(is_public: bool) -> dict[str, str]:
    """That the number of records is public, and what of a filtered table, for JSON; nothing where it is private."""
    return {"public": PUBLIC_NUMBER} if is_public else {}


def repeated_in_words(column: str) -> str:
    """What to know where a column names people more than once and the policy does not say who they are."""
    return (
        f"the column '{column}' looks like people and has repeats, while every row is taken to be another person's, so "
        f"that someone with several rows is protected less; 'people: {{column: {column}, count: once}}' in the policy "
        "lets each person count once; 'people: one row each' says that nobody has several rows"
    )
