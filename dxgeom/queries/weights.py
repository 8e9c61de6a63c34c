"""Exact weights of the queries of one entry of a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.universe.numbers.number_cells import Interval
from dxgeom.universe.numbers.value_rounding import ValueRounding
from dxgeom.universe.weight_table import LARGEST_NUMERATOR, WeightTable, only, products
from dxgeom.universe.workloads.counts import RECORDS
from dxgeom.universe.workloads.groups import AnswerOrigin

Row: TypeAlias = NDArray[np.int64]


@final
class TooFine(Exception):
    """Weights over a common denominator do not fit 52 bits. Never leaves this module."""


@final
@dataclass(frozen=True)
class SummedNumbers:
    """A column's numbers as they are added up: integer weights over one unit.

    ``spread``: how far what a value stands for can be from it, over a unit of its own; ``clamped``: the column, where
    its numbers were clamped to ends that are not the true ones; ``extent``: the lowest and the highest number meant;
    ``there``: weight 1 where the column has a number, which is everywhere unless it may be missing. ``further``: what
    comes to ``spread``, each over its own unit, where two columns are multiplied.
    """

    weights: WeightTable
    unit: Fraction
    spread: WeightTable
    spread_unit: Fraction
    clamped: tuple[str, ...]
    extent: Interval
    there: WeightTable
    further: tuple[tuple[WeightTable, Fraction], ...] = ()

    def weighted(self, by: SummedNumbers) -> SummedNumbers:
        """The products x·w with another column's numbers, none negative, record by record.

        Where x and w stand for x′ and w′ at most h and k away, x′w′ is at most |x′|·k + w·h from x·w.
        Raises: TooLarge for products that are too wide for exact arithmetic.
        """
        largest = max(map(abs, self.extent))
        return replace(
            self,
            weights=products(self.weights, by.weights),
            unit=self.unit * by.unit,
            spread=products(self.spread, by.weights),
            spread_unit=self.spread_unit * by.unit,
            clamped=tuple(dict.fromkeys((*self.clamped, *by.clamped))),
            there=products(self.there, by.there),
            further=((by.spread, by.spread_unit * largest),),
        )

    def rounding(self, chosen: WeightTable) -> ValueRounding:
        """What rounding does to their sum over the chosen records, for each of these. *Exact*; of products *rounded
        up*."""
        (only,) = self.roundings(chosen)
        return only

    def roundings(self, chosen: WeightTable) -> tuple[ValueRounding, ...]:
        """The same for each of several choices."""
        spreads = ((self.spread, self.spread_unit), *self.further)
        most = [[each * unit for each in products(table, chosen).extremes[1].tolist()] for table, unit in spreads]
        return tuple(ValueRounding(sum(own, Fraction(0)), clamped=self.clamped) for own in zip(*most, strict=True))


class RatioWords(NamedTuple):
    """What a ratio of two queries is called and can be, and what it is about, where that is more than its name.

    ``half_width``: how far raw numbers can be from those that a variance is of; None for what is no variance.
    """

    title: str
    within: Interval
    asks: AnswerOrigin | None = None
    half_width: Fraction | None = None


@final
@dataclass(frozen=True)
class AskedQueries:
    """The queries of one entry: ``names`` and ``units`` of each, and their weights in tables of that order.

    ``measure``: what all of them are measured in. ``error``: the one that each may have, where that was asked for.
    ``rounding``: what it does to each answer for each record that values stand for raw numbers, None for no answer; or,
    ``by_group``, that of each. ``counted``: the records that each answer is about, 1 for each and 0 elsewhere; None
    where nobody asks. ``numbers``: those that are added up. ``stepped``: columns of whose numbers the conditions ask
    more than the values tell. ``origins``: what each answer is about, where that is more
    than the query's name. ``ratios``: where there are K of them, the queries are K numerators in one table and K
    denominators in another, which are exact and ``measured_below`` in records, or in what weighs them; of variances,
    K sums of ``squares`` in a third.
    """

    names: tuple[str, ...]
    units: tuple[Fraction, ...]
    tables: tuple[WeightTable, ...]
    importance: Fraction = Fraction(1)
    measure: str = RECORDS
    error: Fraction | None = None
    rounding: ValueRounding | None = None
    by_group: tuple[ValueRounding, ...] = ()
    counted: WeightTable | None = None
    numbers: SummedNumbers | None = None
    origins: tuple[AnswerOrigin, ...] = ()
    ratios: tuple[RatioWords, ...] = ()
    stepped: tuple[str, ...] = ()
    measured_below: str = RECORDS
    squares: SummedNumbers | None = None

    @property
    def each_rounding(self) -> tuple[ValueRounding, ...]:
        """What rounding of values does to each answer."""
        each = self.by_group or (self.rounding or ValueRounding(),) * len(self.names)
        return tuple(replace(one, stepped=self.stepped) for one in each) if self.stepped else each

    @property
    def each_alone(self) -> list[AskedQueries]:
        """The numerators, the denominators and the squares of ratios as entries of their own; an entry that asks for
        none as it is."""
        if not self.ratios:
            return [self]
        count = len(self.ratios)
        above, below, *beside = (
            replace(
                self,
                names=self.names[place * count :][:count],
                units=self.units[place * count :][:count],
                tables=(table,),
                origins=self.origins[place * count :][:count],
                ratios=(),
                squares=None,
            )
            for place, table in enumerate(self.tables)
        )
        below = replace(below, measure=self.measured_below, rounding=None, by_group=(), counted=None)
        return [above, below, *(self._squares(one) for one in beside)]

    def _squares(self, alone: AskedQueries) -> AskedQueries:
        if self.squares is None or self.counted is None:
            return alone
        rounding = self.squares.roundings(self.counted)
        by_group = rounding if self.by_group else ()
        return replace(alone, measure=f"{self.measure} squared", rounding=rounding[0], by_group=by_group)

    def only(self, places: Sequence[int]) -> AskedQueries:
        """The queries at these rising places of the one table that there is."""
        return replace(
            self,
            names=tuple(self.names[place] for place in places),
            units=tuple(self.units[place] for place in places),
            tables=(only(self.tables[0], places),),
            by_group=tuple(self.by_group[place] for place in places) if self.by_group else (),
            counted=None if self.counted is None else only(self.counted, places),
            origins=tuple(self.origins[place] for place in places) if self.origins else (),
        )


def integers_over_unit(numbers: Sequence[Fraction]) -> tuple[Row, Fraction]:
    """Integers and one positive unit whose products are the numbers, exactly.

    Raises: TooFine.
    """
    denominator = 1
    for number in set(numbers):
        denominator = math.lcm(denominator, number.denominator)
        if denominator >= LARGEST_NUMERATOR:
            raise TooFine(f"over a common denominator these numbers need more than {LARGEST_NUMERATOR:,}")
    scaled = [number.numerator * (denominator // number.denominator) for number in numbers]
    divisor = math.gcd(*scaled) or 1
    if max(map(abs, scaled)) // divisor >= LARGEST_NUMERATOR:
        raise TooFine(f"over a common denominator these numbers exceed {LARGEST_NUMERATOR:,}")
    return np.array([entry // divisor for entry in scaled], dtype=np.int64), Fraction(divisor, denominator)
