"""Mechanisms that read data: as a histogram of possible records, as whole tables of counts, or as counts of keys.

What every mechanism offers that reads counts of a table's rows, whatever it counts of them. What every mechanism offers
that answers with a whole histogram, whatever kind of answer it gives. What every mechanism offers that reads whole
tables of counts, however many possible records there are; or counts of keys, of which most have no record.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Answer, Data, Mechanism, account_of, require_not_held
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.numeric.arrays import LARGEST, exact_sum
from dxgeom.numeric.randomness import Randomness
from dxgeom.universe.people.people import shares_of
from dxgeom.universe.universe import Universe

if TYPE_CHECKING:
    from dxgeom.universe.workloads.groups import Groups
    from dxgeom.universe.workloads.whole_tables import MarginalQueries


class RowReader(Mechanism[Data, Answer], ABC):
    """A randomised map from counts of rows, as a metric has them, to answers."""

    holds_rings: ClassVar[bool] = False
    """Whether its noise hides rings of people, too, where a policy holds its distances for who knows public counts."""

    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def metric(self) -> VerifiedMetric:
            """The metric that it honours."""

    @property
    def account(self) -> Account:
        """Raises: UnsupportedCombination where the policy says ``hold``, and this does not."""
        return account_of(self.metric if self.holds_rings else require_not_held(self.metric, self.name))

    @property
    def absent(self) -> int | None:
        """The index that means no record; None where the number of records is public."""
        return self.metric.absent

    @property
    def shares(self) -> int:
        """What a record that counts 1 adds to a histogram, or to each table: 1 unless people are spread over rows."""
        return shares_of(self.metric.people)


class HistogramMechanism(RowReader[NDArray[np.int64], Answer]):
    """A randomised map from histograms over metric.size possible records to answers.

    Guarantee: replacing one record i by j changes the odds of any set of answers by at most e^(spend·d(i, j)). The
    number of records is public, but where the metric has an absent record.

    Where people are spread, a histogram holds ``shares`` of each person who counts once, or min(n, m) times as many of
    one with n rows where m are counted at most, spread over the types of their rows. :meth:`drawn` is asked at
    spend/shares. Moving one share from i to j then changes the odds by at most
    e^(spend·d(i, j)/shares), and moving a person's shares one by one along an optimal plan by e^(spend·W), W the earth
    mover's distance between the person's rows before and after.
    """

    needs_whole_people: ClassVar[bool] = False
    """Whether it goes by a whole number of people, which a block of records may not have."""

    @property
    def universe(self) -> Universe | None:
        """The records that the histogram counts, None where nobody said what they are."""
        return self.metric.universe

    @property
    def reads(self) -> MarginalQueries | None:
        """The tables that are read in place of a histogram, where possible records are too many to count each."""
        return None

    def check(self, data: NDArray[np.int64], spend: Fraction) -> None:
        # Subclasses may mean something else by a sum: a masked array leaves entries out.
        proper = type(data) is np.ndarray and data.dtype == np.int64 and data.shape == (self.metric.size,)
        if not proper or data.min(initial=0) < 0:
            raise DataError(f"a histogram here counts {self.metric.size:,} possible records, as int64 of at least 0")
        records = exact_sum(data)
        if records > LARGEST:
            # Counts of classes are added up in 64 bits, where a sum that passes them starts again from below.
            raise DataError(f"a histogram holds at most {LARGEST} records; this array has more")
        if self.absent is None and records % self.shares:
            self._refuse_parts_of_people()
        self.check_size(-(-records // self.shares), spend)

    def _refuse_parts_of_people(self) -> None:
        """Of a block of records some people are there with a part of their rows only; of all records, all are whole."""
        if self.metric.block is None:
            raise DataError(
                f"{self._spread_people}, and a histogram holds {self.shares:,} shares of each of them: "
                "release from a table that says whose row each row is"
            )
        if self.needs_whole_people:
            raise UnsupportedCombination(
                f"{self.name} goes by the number of people, and some have rows in more than one block: leave blocks "
                "out, or ask for sums"
            )

    @property
    def _spread_people(self) -> str:
        once = self.metric.people is None or self.metric.people.count == "once"
        return "this policy's people count once" if once else "this policy counts rows of people, spread evenly"

    @abstractmethod
    def check_size(self, records: int, spend: Fraction) -> None:
        """Refuse, before anything is charged, what could not be drawn for so many records at this spend.

        Args: ``records``: people, where these count once.
        Raises: TooLarge, UnsupportedCombination.
        """

    def draws(self, data: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness) -> list[Answer]:
        return self.drawn(data, spend / self.shares, count, randomness)

    @abstractmethod
    def drawn(self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness) -> list[Answer]:
        """``count`` independent answers.

        Guarantee: one count more of i and one less of j changes the odds by at most e^(spend·d(i, j)). Where people
        count once, an answer is about people: each count is of one of ``shares``.
        """


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


def require_counts_of(queries: MarginalQueries, data: CountedTables, shares: int, private: bool) -> None:
    """Raises: DataError unless these are counts of these tables, and cells hold all shares of everybody; ``private``:
    but of some perhaps a part only."""
    if not (hasattr(data, "cells") and hasattr(data, "total")):
        raise DataError("this is answered of counts in whole tables, as a table's rows have them")
    own, counted = getattr(data, "universe", None), tuple(len(one) for one in data.cells)
    same = own is None or own.lists_the_same_records(queries.universe)
    if not same or counted != tuple(math.prod(shape) for shape in queries.shapes):
        raise DataError("counts of other tables than these are no data here")
    if shares > 1 and not private and any(exact_sum(one) % shares for one in data.cells):
        raise DataError(
            f"these are no counts of whole people, each of {shares:,} shares: release from a table that says "
            "whose row each row is"
        )


class TableReader(RowReader[CountedTables, Answer]):
    """A randomised map from counts in whole tables, which are all of the same records, to answers.

    Guarantee: replacing one record i by j changes the odds of any set of answers by at most e^(spend·d(i, j)). Where
    people count once, replacing a person's rows changes them by at most e^(spend·W), W the earth mover's distance: a
    mechanism that holds what :meth:`drawn` promises hides a share that moves from i to j by spend·d(i, j)/shares, as
    :class:`dxgeom.mechanisms.contract.readers.HistogramMechanism` does, for tables are sums of a histogram.
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
        require_counts_of(self.queries, data, self.shares, self.absent is not None)

    def draws(self, data: CountedTables, spend: Fraction, count: int, randomness: Randomness) -> list[Answer]:
        return [self.drawn(data, spend / self.shares, randomness) for _ in range(count)]

    @abstractmethod
    def drawn(self, data: CountedTables, spend: Fraction, randomness: Randomness) -> Answer:
        """An answer. Where people count once it is about people: each count is of one of ``shares``.

        Guarantee: one count more of i and one less of j changes the odds by at most e^(spend·d(i, j)).
        """


class CountedKeys(Protocol):
    """What is read of keys: ``keys``, the numbers of those that some record has, rising; ``counts``, how many records
    each has, at least 1, or shares of people where these are spread; ``total``: how many records, or people, there
    are."""

    @property
    def keys(self) -> NDArray[np.int64]: ...

    @property
    def counts(self) -> NDArray[np.int64]: ...

    @property
    def total(self) -> int: ...


class KeyReader(RowReader[CountedKeys, Answer]):
    """A randomised map from the counts of keys, which a record has one of, to answers. Of keys that no record has
    nothing is handed over.

    Guarantee: as of :class:`TableReader`.
    """

    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def columns_of_keys(self) -> tuple[Groups, ...]:
            """What keys are made of, the last one's values the fastest."""

    @property
    def key_count(self) -> int:
        """How many keys there can be."""
        return math.prod(len(one.words) for one in self.columns_of_keys)

    def require_keys(self, data: CountedKeys) -> None:
        """Raises: DataError unless these are counts of its keys, and all shares of everybody."""
        keys, counts = getattr(data, "keys", None), getattr(data, "counts", None)
        proper = all(type(one) is np.ndarray and one.dtype == np.int64 and one.ndim == 1 for one in (keys, counts))
        if not proper or not isinstance(getattr(data, "total", None), int):
            raise DataError("this is answered of the counts of keys, as a table's rows have them")
        known, number = np.asarray(keys), np.asarray(counts)
        inside = len(known) == len(number) and (not len(known) or (known[0] >= 0 and known[-1] < self.key_count))
        if not inside or np.any(np.diff(known) <= 0) or np.any(number < 1):
            raise DataError("counts of keys are at least 1, each of another key of the policy, by rising number")
        if exact_sum(number) > LARGEST:
            raise DataError(f"keys have at most {LARGEST} records; these have more")
        if self.shares > 1 and self.absent is None and exact_sum(number) % self.shares:
            raise DataError(
                f"these are no counts of whole people, each of {self.shares:,} shares: release from a table that says "
                "whose row each row is"
            )

    def draws(self, data: CountedKeys, spend: Fraction, count: int, randomness: Randomness) -> list[Answer]:
        return [self.drawn(data, spend / self.shares, randomness) for _ in range(count)]

    @abstractmethod
    def drawn(self, data: CountedKeys, spend: Fraction, randomness: Randomness) -> Answer:
        """An answer. Where people count once it is about people: each count is of one of ``shares``.

        Guarantee: one record, or share, that leaves a key of i for one of j changes the odds by at most
        e^(spend·d(i, j)).
        """
