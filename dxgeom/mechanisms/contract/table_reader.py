"""What every mechanism offers that reads whole tables of counts, whatever the size of the universe."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.mechanisms.contract.mechanism import Answer
from dxgeom.mechanisms.contract.row_reader import RowReader
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.numeric.arrays import exact_sum
from dxgeom.numeric.randomness import Randomness
from dxgeom.universe.universe import Universe

if TYPE_CHECKING:
    from dxgeom.universe.workloads.whole_tables import MarginalQueries


class CountedTables(Protocol):
    """What is read: ``cells`` of each table, flat, and how many records in ``total``. Where people count once, these
    are people, and cells hold their shares."""

    @property
    def cells(self) -> tuple[NDArray[np.int64], ...]:
        """Counts, by table."""

    @property
    def total(self) -> int:
        """How many records."""


def require_own_records(metric: VerifiedMetric, universe: Universe) -> None:
    """Raises: UnsupportedCombination unless the metric is verified, and on the records of that universe."""
    require_verified(metric)
    if metric.universe is None or not metric.universe.lists_the_same_records(universe):
        raise UnsupportedCombination("the queries are about other records than the metric: load both from one policy")


class TableReader(RowReader[CountedTables, Answer]):
    """A randomised map from counts in whole tables, which are all of the same records, to answers.

    Guarantee: replacing one record i by j changes the odds of any set of answers by at most e^(spend·d(i, j)). Where
    people count once, replacing a person's rows changes them by at most e^(spend·W), W the earth mover's distance: a
    mechanism that holds what :meth:`drawn` promises hides a share that moves from i to j by spend·d(i, j)/shares, as
    :class:`dxgeom.mechanisms.contract.histogram_mechanism.HistogramMechanism` does, for tables are sums of a histogram.
    """

    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def queries(self) -> MarginalQueries:
            """The tables that are read."""

    def require_no_number(self) -> None:
        """Raises: UnsupportedCombination where queries state how many records there are, and the policy keeps that
        private: that a table of any other number is refused would tell it."""
        if self.queries.records is not None and self.absent is not None:
            raise UnsupportedCombination(
                "the queries state a number of records, which a policy with a rule about presence keeps private: leave "
                "'records' out"
            )

    def require_counts(self, data: CountedTables) -> None:
        """Raises: DataError unless these are counts of its tables, and cells hold all shares of everybody."""
        if not (hasattr(data, "cells") and hasattr(data, "total")):
            raise DataError("this is answered of counts in whole tables, as a table's rows have them")
        own, counted = getattr(data, "universe", None), tuple(len(one) for one in data.cells)
        same = own is None or own.lists_the_same_records(self.queries.universe)
        if not same or counted != tuple(math.prod(shape) for shape in self.queries.shapes):
            raise DataError("counts of other tables than these are no data here")
        if self.shares > 1 and self.absent is None and any(exact_sum(one) % self.shares for one in data.cells):
            raise DataError(
                f"these are no counts of whole people, each of {self.shares:,} shares: release from a table that says "
                "whose row each row is"
            )

    def draw(self, data: CountedTables, spend: Fraction, randomness: Randomness) -> Answer:
        return self.drawn(data, spend / self.shares, randomness)

    @abstractmethod
    def drawn(self, data: CountedTables, spend: Fraction, randomness: Randomness) -> Answer:
        """An answer. Where people count once it is about people: each count is of one of ``shares``.

        Guarantee: one count more of i and one less of j changes the odds by at most e^(spend·d(i, j)).
        """
