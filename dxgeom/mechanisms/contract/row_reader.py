"""What every mechanism offers that reads counts of a table's rows, whatever it counts of them."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING

from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Answer, Data, Mechanism, account_of
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.universe.people.people import shares_of


class RowReader(Mechanism[Data, Answer], ABC):
    """A randomised map from counts of rows, as a metric has them, to answers."""

    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def metric(self) -> VerifiedMetric:
            """The metric that it honours."""

    @property
    def account(self) -> Account:
        return account_of(self.metric)

    @property
    def absent(self) -> int | None:
        """The index that means no record; None where the number of records is public."""
        return self.metric.absent

    @property
    def shares(self) -> int:
        """What one person adds to a histogram, or to each table: 1, but where people count once."""
        return shares_of(self.metric.people)
