"""What it costs to make a value the r-th smallest, in whole units that no float rounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.sealed import Sealed

UNREACHED = -1
"""The length of a candidate that no finite cost makes the quantile."""
FINEST = 2**32
"""So many units the largest distance has at most, about; 2³⁰ records then fit 62 bits."""


class Reach(Sealed, ABC):
    """The lengths of candidates, from a table of counts and the ranks asked for.

    Definition: len(x; t) = max(OT(x, {y: y_(r) ≥ t}), OT(x, {y: y_(r) ≤ t})), OT the least transport cost under the
    metric's generating bounds, each rounded *down* to whole units. One of the two is 0: for t > x_(r), with c records
    below t, the other is the sum of the c − r + 1 smallest distances of those records from all records whose value is
    at least t; below x_(r) likewise. Where the nearest such record has the value t itself, as on a line, that is the
    least cost of making t the r-th smallest.

    Guarantee: ``lengths`` are *exact* for the rounded bounds. Replacing record i by j changes each by at most
    d(i, j)/unit: the closure of the rounded bounds is a pseudometric that is nowhere above d/unit, a distance from a
    set changes by at most the distance moved, and so does the larger of two such.

    Laws: see ``adds_up``; lengths are 0 at the true quantile.
    """

    unit: Fraction
    """Nats; positive."""

    @property
    @abstractmethod
    def adds_up(self) -> bool:
        """Whether Σ_k lengths[k, t_k] changes by at most d(i, j)/unit for all (t_k); else their maximum does."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """No finite distance has more units."""

    @property
    @abstractmethod
    def smallest(self) -> int:
        """Units of the least distance of a record from records of another value; 0 where there is none."""

    @abstractmethod
    def tally(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of record types (N,) as the counts (M,) that lengths are made of."""

    def lengths(self, tally: NDArray[np.int64], ranks: Sequence[int]) -> NDArray[np.int64]:
        """(m, T) for m different, increasing ranks; ``UNREACHED`` where no finite cost suffices.

        Where lengths add up, row k leaves records of ranks r_{k−1} and below, and r_{k+1} and above, out.
        """
        beyond = int(tally.sum()) + 1
        ends = [0, *ranks, beyond]
        around = zip(ends, ends[2:], strict=False) if self.adds_up else [(0, beyond)] * len(ranks)
        return np.array([self.row(tally, (rank, rank), among) for rank, among in zip(ranks, around, strict=True)])

    @abstractmethod
    def row(
        self, tally: NDArray[Any], ranks: tuple[int, int], among: tuple[int, int], ceiling: int | None = None
    ) -> NDArray[Any]:
        """(T,): what it costs to bring the records of rank ``ranks[1]`` and above up to each candidate, or those of
        rank ``ranks[0]`` and below down to it; ``UNREACHED`` where that is infinite.

        Only ranks strictly between ``among`` count, every one where lengths do not add up. ``ceiling``: no record
        costs more units.
        """

    @abstractmethod
    def furthest(self, numbers: NDArray[np.float64], units: int) -> float:
        """How far a record's value can be from one that it is brought up or down to, or beyond, for ``units`` at most.

        So far a candidate of such a length can be from the quantile at most, for of the records that would have to move
        past it one has the quantile's rank, or is on the other side of it. ``numbers`` (T,): the values.
        """

    @property
    @abstractmethod
    def places_of_tally(self) -> NDArray[np.int64]:
        """(M,): the place among the values of each entry of a tally."""


def whole_units(
    bounds: NDArray[np.float64], diameter: float, finest: int = FINEST
) -> tuple[NDArray[np.int64], Fraction]:
    """Bounds in whole units, each *rounded down*, and the unit: the least positive bound, or a whole part of it.

    Bounds that are all equal are exact. ``diameter``: about the largest distance, which has at most ``finest`` units.
    """
    kinds, where = np.unique(bounds, return_inverse=True)
    positive = kinds[kinds > 0]
    if positive.size == 0:
        return np.zeros(bounds.shape, dtype=np.int64), Fraction(diameter) / finest if diameter > 0 else Fraction(1)
    least, widest = Fraction(float(positive[0])), Fraction(max(diameter, float(positive[-1])))
    parts = finest * least // widest
    unit = least / parts if parts else widest / finest
    units = np.array([Fraction(bound) // unit for bound in kinds.tolist()], dtype=np.int64)
    return units[where].reshape(bounds.shape), unit
