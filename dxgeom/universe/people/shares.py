"""Each person's shares, spread evenly over their rows in whole numbers that always add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError
from dxgeom.numeric.arrays import LARGEST, exact_sum
from dxgeom.universe.people.people import SHARES

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
