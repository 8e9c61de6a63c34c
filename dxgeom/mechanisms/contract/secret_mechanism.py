"""What every mechanism offers that answers with one secret: a place, a value, a whole small dataset."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction

import numpy as np

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Answer, Mechanism, account_of, require_not_held
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import Randomness


class SecretMechanism(Mechanism[int, Answer]):
    """A randomised map from the secrets 0..metric.size−1 to answers, made for one spend.

    Guarantee: replacing the secret i by j changes the odds of any set of answers by at most e^(spend·d(i, j)).
    """

    metric: VerifiedMetric
    spend: Fraction

    @property
    def account(self) -> Account:
        return account_of(require_not_held(self.metric, self.name))

    @property
    def only_spend(self) -> Fraction:
        """The spend that it was made for."""
        return self.spend

    def check(self, data: int, spend: Fraction) -> None:
        if isinstance(data, bool) or not (isinstance(data, (int, np.integer)) and 0 <= data < self.metric.size):
            raise DataError(f"secrets are integers from 0 to {self.metric.size - 1:,}; this one is none of them")
        require_one_record(self.metric, self.name)
        if spend != self.spend:
            raise UnsupportedCombination(
                f"this {self.name} was made for a spend of {self.spend}, not {spend}: make another one"
            )

    def draws(self, data: int, spend: Fraction, count: int, randomness: Randomness) -> list[Answer]:
        self.check(data, spend)
        return self.reports(data, count, randomness)

    @abstractmethod
    def report(self, secret: int, randomness: Randomness) -> Answer:
        """An answer at the spend that it was made for, exactly by the law. Charges no ledger.

        Raises: IndexError when there is no such secret.
        """

    def reports(self, secret: int, count: int, randomness: Randomness) -> list[Answer]:
        """Many independent answers, for audits."""
        return [self.report(secret, randomness) for _ in range(count)]


def require_one_record(metric: VerifiedMetric, name: str) -> None:
    """Raises: UnsupportedCombination where people may have many rows, of which an answer would be about one."""
    people = metric.people
    if people is not None and people.count != "single":
        raise UnsupportedCombination(
            f"a {name} answers with one record, and people here may have many: of a row drawn at random it tells more "
            "than the rules allow; let people be 'single', or ask for counts"
        )
