"""A ratio of two linear answers, such as the mean of a group whose size is private."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from dxgeom.universe.numbers.number_cells import Interval


@final
@dataclass(frozen=True)
class AskedRatio:
    """Two queries of a workload by their places, and what their ratio is called.

    ``within``: the lowest and the highest that it can be, whatever the records are.
    """

    name: str
    numerator: int
    denominator: int
    within: Interval = (Fraction(0), Fraction(1))

    def after(self, queries: int) -> AskedRatio:
        """The same where so many other queries come first."""
        return replace(self, numerator=self.numerator + queries, denominator=self.denominator + queries)
