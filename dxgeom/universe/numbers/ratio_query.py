"""What is made of linear answers: a ratio of two, such as the mean of a group, and a variance of three."""

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
    def measured_as(self) -> int:
        """The place of the query whose unit is its own."""
        return self.numerator

    @property
    def possible(self) -> Interval:
        """The lowest and the highest that it can be."""
        return self.within

    @property
    def origin(self) -> AnswerOrigin:
        """What it is about."""
        return self.asks or AnswerOrigin(self.name)

    def after(self, queries: int) -> AskedRatio:
        """The same where so many other queries come first."""
        return replace(self, numerator=self.numerator + queries, denominator=self.denominator + queries)


@final
@dataclass(frozen=True)
class AskedVariance:
    """Three queries of a workload by their places, and what the variance that they make is called.

    Definition: (Σw(x − c)²)/(Σw) − ((Σwx)/(Σw) − c)²: the mean squared distance from the mean, no n − 1 anywhere. c is
    the middle of ``within``, the lowest and the highest x, so that squares are small. ``half_width``: how far the raw
    numbers can be from the numbers x. ``numerator``, ``denominator``, ``squares``: the places of Σwx, Σw and
    Σw(x − c)². ``asks``: as of :class:`AskedRatio`.
    """

    name: str
    numerator: int
    denominator: int
    squares: int
    within: Interval
    half_width: Fraction = Fraction(0)
    asks: AnswerOrigin | None = field(default=None, repr=False)

    @property
    def measured_as(self) -> int:
        """The place of the query whose unit is its own."""
        return self.squares

    @property
    def origin(self) -> AnswerOrigin:
        """What it is about."""
        return self.asks or AnswerOrigin(self.name)

    @property
    def possible(self) -> Interval:
        """The lowest and the highest that it can be."""
        return Fraction(0), (self.within[1] - self.centre) ** 2

    @property
    def centre(self) -> Fraction:
        """c."""
        return (self.within[0] + self.within[1]) / 2

    def after(self, queries: int) -> AskedVariance:
        """The same where so many other queries come first."""
        numerator, denominator, squares = (at + queries for at in (self.numerator, self.denominator, self.squares))
        return replace(self, numerator=numerator, denominator=denominator, squares=squares)
