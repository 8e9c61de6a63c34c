"""What every mechanism offers that answers with a whole histogram, whatever kind of answer it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import Randomness

Answer = TypeVar("Answer", covariant=True)


class HistogramMechanism(ABC, Generic[Answer]):
    """A randomised map from histograms over metric.size record types to answers.

    Guarantee: replacing one record i by j changes the odds of any set of answers by at most e^(spend·d(i, j)). The
    number of records is public.
    """

    name: str
    metric: VerifiedMetric

    def __str__(self) -> str:
        return self.name

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of everything that the answers' law depends on."""

    @abstractmethod
    def check(self, records: int, spend: Fraction) -> None:
        """Refuse, before anything is charged, what could not be drawn for so many records at this spend.

        Raises: TooLarge, UnsupportedCombination.
        """

    @abstractmethod
    def draw(self, counts: NDArray[np.int64], spend: Fraction, randomness: Randomness) -> Answer:
        """An answer, exactly by the law. Charges no ledger: that is the release's work."""
