"""What every mechanism offers that answers with one secret: a place, a value, a whole small dataset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Generic, TypeVar

from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import Randomness

Answer = TypeVar("Answer", covariant=True)


class SecretMechanism(ABC, Generic[Answer]):
    """A randomised map from the secrets 0..metric.size−1 to answers.

    Guarantee: replacing the secret i by j changes the odds of any set of answers by at most e^(spend·d(i, j)).
    """

    name: str
    metric: VerifiedMetric
    spend: Fraction

    def __str__(self) -> str:
        return self.name

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of everything that the answers' law depends on."""

    @abstractmethod
    def draw(self, secret: int, randomness: Randomness) -> Answer:
        """An answer, exactly by the law. Charges no ledger: that is the release's work.

        Raises: IndexError when there is no such secret.
        """
