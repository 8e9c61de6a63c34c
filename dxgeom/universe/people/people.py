"""Who a person is where rows are many, and how a person's rows count.

Each person's shares, spread evenly over their rows in whole numbers that always add up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final, get_args

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.numeric.arrays import LARGEST, exact_sum

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


Components = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""The connected component of each possible record under the metric, by their indices."""

ComponentKeys = Sequence[tuple[int, NDArray[np.int64]]]
"""What orders records as their components are numbered, the first key first: attributes, each by its place with the
component of every code."""


@final
class ShareCounter:
    """Adds people's shares up, person by person, to counts of possible records.

    Definition: a person of n rows has T = min(n, m)·L shares, m what a person counts ``at_most``, 1 where people count
    once. The rows are put in order, by the connected component of their possible record and then by its index; the
    k-th of
    them, from 0, gets ⌊(k+1)·T/n⌋ − ⌊k·T/n⌋. So rows of one type, from the a-th up to the b-th, get ⌊b·T/n⌋ − ⌊a·T/n⌋,
    whatever their number.
    Guarantee: *exact*. A person's shares add up to T; the order of rows never matters; what a component gets in all
    depends on nothing but T and which part of the person's rows lies in each component; with n ≤ max(m, 16) every row
    gets exactly T/n.

    ``records``: how many were added, Σ min(n, m): people where these count once.
    """

    def __init__(self, size: int, component_of: Components, shares: int = SHARES, at_most: int = 1) -> None:
        self._counts = np.zeros(size, dtype=np.int64)
        self.records = 0
        self._component_of, self._shares, self._at_most = component_of, shares, at_most

    def add(self, person: NDArray[np.int64], record: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Adds whole people: ``rows[g]`` rows of type ``record[g]`` are of person ``person[g]``.

        Args: all (G,); a person's groups are all in one call, in any order; numbers of rows are positive, and where a
        row counts as absent its record is the absent one, whose shares :meth:`histogram` leaves out.
        Raises: DataError for more people than int64 carries.
        """
        if not person.size:
            return
        _, number = np.unique(person, return_inverse=True)
        self.records += exact_sum(np.minimum(rows_of_each(number, rows), self._at_most))
        require_room(self.records, self._shares)
        order = np.lexsort((record, self._component_of(record), number))
        given = shares_of_groups(number[order], rows[order], self._shares, self._at_most)
        np.add.at(self._counts, record[order], given)

    def histogram(self, absent: int | None) -> NDArray[np.int64]:
        """(N,): the shares by possible record, none for the absent record."""
        counts = self._counts.copy()
        if absent is not None:
            counts[absent] = 0
        return counts


def rows_of_each(number: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """(P,): how many rows each person has, whose groups bear their ``number`` from 0."""
    each = np.zeros(int(number.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(each, number, rows)
    return each


def require_room(records: int, shares: int = SHARES) -> None:
    """Raises: DataError where so many records are more shares than int64 carries."""
    if records * shares > LARGEST:
        raise DataError(f"at most {LARGEST // shares:,} people or their rows are counted in shares; these are more")


def shares_of_groups(
    number: NDArray[np.int64], rows: NDArray[np.int64], shares: int = SHARES, at_most: int = 1
) -> NDArray[np.int64]:
    """(G,): the shares of each group of rows, a person's groups next to each other and in their order; *exact*.

    Args: ``number`` (G,): of the person, rising; ``rows`` (G,): how many the group has, at least 1; ``at_most``: what a
    person counts at most.
    """
    starts = np.flatnonzero(np.diff(number, prepend=number[0] - 1))
    person = np.cumsum(np.diff(number, prepend=number[0] - 1) != 0) - 1
    upto = np.cumsum(rows)
    before = (upto[starts] - rows[starts])[person]
    ends = upto - before
    total = ends[np.append(starts[1:], number.size) - 1][person]
    handed = np.minimum(total, at_most) * shares
    # ⌊ends·T/n⌋ = ends·⌊T/n⌋ + ⌊ends·(T mod n)/n⌋, and neither product passes T, or n².
    if int(total.max()) ** 2 > LARGEST:
        # Python's integers: a person of more than 2³¹ rows.
        wide = ends.astype(object) * handed.astype(object) // total.astype(object)
        reached = wide.astype(np.int64)
    else:
        reached = ends * (handed // total) + ends * (handed % total) // total
    given = np.diff(reached, prepend=0)
    given[starts] = reached[starts]
    return np.asarray(given, dtype=np.int64)
