"""What every mechanism offers that answers with a whole histogram, whatever kind of answer it gives."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.mechanisms.contract.mechanism import Answer
from dxgeom.mechanisms.contract.row_reader import RowReader
from dxgeom.numeric.arrays import LARGEST, exact_sum
from dxgeom.numeric.randomness import Randomness
from dxgeom.universe.universe import Universe


class HistogramMechanism(RowReader[NDArray[np.int64], Answer]):
    """A randomised map from histograms over metric.size record types to answers.

    Guarantee: replacing one record i by j changes the odds of any set of answers by at most e^(spend·d(i, j)). The
    number of records is public, but where the metric has an absent record.

    Where people count once, a histogram holds ``shares`` of each person, spread over the types of their rows, and
    :meth:`drawn` is asked at spend/shares. Moving one share from i to j then changes the odds by at most
    e^(spend·d(i, j)/shares), and moving a person's shares one by one along an optimal plan by e^(spend·W), W the earth
    mover's distance between the person's rows before and after.
    """

    needs_whole_people: ClassVar[bool] = False
    """Whether it goes by a whole number of people, which a block of records may not have."""

    @property
    def universe(self) -> Universe | None:
        """The records that the histogram counts, None where nobody said what they are."""
        return self.metric.universe

    def check(self, data: NDArray[np.int64], spend: Fraction) -> None:
        # Subclasses may mean something else by a sum: a masked array leaves entries out.
        proper = type(data) is np.ndarray and data.dtype == np.int64 and data.shape == (self.metric.size,)
        if not proper or data.min(initial=0) < 0:
            raise DataError(f"a histogram here counts {self.metric.size:,} record types, as int64 of at least 0")
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
                f"this policy's people count once, and a histogram holds {self.shares:,} shares of each of them: "
                "release from a table that says whose row each row is"
            )
        if self.needs_whole_people:
            raise UnsupportedCombination(
                f"{self.name} goes by the number of people, and some have rows in more than one block: leave blocks "
                "out, or ask for sums"
            )

    @abstractmethod
    def check_size(self, records: int, spend: Fraction) -> None:
        """Refuse, before anything is charged, what could not be drawn for so many records at this spend.

        Args: ``records``: people, where these count once.
        Raises: TooLarge, UnsupportedCombination.
        """

    def draw(self, data: NDArray[np.int64], spend: Fraction, randomness: Randomness) -> Answer:
        return self.draws(data, spend, 1, randomness)[0]

    def draws(self, data: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness) -> list[Answer]:
        return self.drawn(data, spend / self.shares, count, randomness)

    @abstractmethod
    def drawn(self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness) -> list[Answer]:
        """``count`` independent answers.

        Guarantee: one count more of i and one less of j changes the odds by at most e^(spend·d(i, j)). Where people
        count once, an answer is about people: each count is of one of ``shares``.
        """
