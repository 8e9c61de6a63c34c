"""Each person's shares, spread evenly over their rows in whole numbers that always add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError
from dxgeom.numeric.arrays import LARGEST
from dxgeom.universe.people.people import SHARES

Components = Callable[[NDArray[np.int64]], NDArray[np.int64]]
"""The connected component of each record type under the metric, by their indices."""

ComponentKeys = Sequence[tuple[int, NDArray[np.int64]]]
"""What orders records as their components are numbered, the first key first: attributes, each by its place with the
component of every code."""


@final
class ShareCounter:
    """Adds people's shares up, person by person, to counts of record types.

    Definition: the rows of a person, n of them, are put in order, by the connected component of their record type and
    then by its index; the k-th of them, from 0, gets ⌊(k+1)·L/n⌋ − ⌊k·L/n⌋ of the L shares. So rows of one type, from
    the a-th up to the b-th, get ⌊b·L/n⌋ − ⌊a·L/n⌋, whatever their number.
    Guarantee: *exact*. A person's shares add up to L; the order of rows never matters; what a component gets in all
    depends on nothing but which part of the person's rows lies in each component; with n ≤ 16 every row gets exactly
    L/n.

    ``people``: how many were added.
    """

    def __init__(self, size: int, component_of: Components, shares: int = SHARES) -> None:
        self._counts = np.zeros(size, dtype=np.int64)
        self.people = 0
        self._component_of, self._shares = component_of, shares

    def add(self, person: NDArray[np.int64], record: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Adds whole people: ``rows[g]`` rows of type ``record[g]`` are of person ``person[g]``.

        Args: all (G,); a person's groups are all in one call, in any order; numbers of rows are positive, and where a
        row counts as absent its record is the absent one, whose shares :meth:`histogram` leaves out.
        Raises: DataError for more people than int64 carries.
        """
        if not person.size:
            return
        _, number = np.unique(person, return_inverse=True)
        here = int(number.max()) + 1
        if (self.people + here) * self._shares > LARGEST:
            raise DataError(f"at most {LARGEST // self._shares:,} people are counted once; these are more")
        order = np.lexsort((record, self._component_of(record), number))
        np.add.at(self._counts, record[order], shares_of_groups(number[order], rows[order], self._shares))
        self.people += here

    def histogram(self, absent: int | None) -> NDArray[np.int64]:
        """(N,): the shares by record type, none for the absent record."""
        counts = self._counts.copy()
        if absent is not None:
            counts[absent] = 0
        return counts


def shares_of_groups(number: NDArray[np.int64], rows: NDArray[np.int64], shares: int = SHARES) -> NDArray[np.int64]:
    """(G,): the shares of each group of rows, a person's groups next to each other and in their order; *exact*.

    Args: ``number`` (G,): of the person, rising; ``rows`` (G,): how many the group has, at least 1.
    """
    starts = np.flatnonzero(np.diff(number, prepend=number[0] - 1))
    person = np.cumsum(np.diff(number, prepend=number[0] - 1) != 0) - 1
    upto = np.cumsum(rows)
    before = (upto[starts] - rows[starts])[person]
    ends = upto - before
    total = ends[np.append(starts[1:], number.size) - 1][person]
    if int(total.max()) * shares > LARGEST:
        # Python's integers: a person of more than 2³⁵ rows.
        wide = ends.astype(object) * shares // total.astype(object)
        reached = wide.astype(np.int64)
    else:
        reached = ends * shares // total
    given = np.diff(reached, prepend=0)
    given[starts] = reached[starts]
    return np.asarray(given, dtype=np.int64)
