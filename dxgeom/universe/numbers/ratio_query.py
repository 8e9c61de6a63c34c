"""A ratio of two linear answers, such as the mean of a group whose size is private."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import final

from dxgeom.universe.numbers.number_cells import Interval
from dxgeom.universe.workloads.groups import AnswerOrigin


@final
@dataclass(frozen=True)
class AskedRatio:
    """Two queries of a workload by their places, and what their ratio is called.

    ``within``: the lowest and the highest that it can be, whatever the records are. ``asks``: the query of a file, and
    the group of records, that it is about; None for a query of its own.
    """

    name: str
    numerator: int
    denominator: int
    within: Interval = (Fraction(0), Fraction(1))
    asks: AnswerOrigin | None = field(default=None, repr=False)

    @property
    def origin(self) -> AnswerOrigin:
        """What it is about."""
        return self.asks or AnswerOrigin(self.name)

    def after(self, queries: int) -> AskedRatio:
        """The same where so many other queries come first."""
        return replace(self, numerator=self.numerator + queries, denominator=self.denominator + queries)
