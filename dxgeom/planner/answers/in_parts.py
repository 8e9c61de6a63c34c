"""Private counts in whole tables and in very many boxes, as arrays, and what is known of their errors."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.mechanisms.linear.bars import normal_quantile
from dxgeom.mechanisms.parts.lattice_noise import LatticeNoise
from dxgeom.mechanisms.parts.table_mechanism import NoisyTables, TableMechanism
from dxgeom.numeric.arrays import Columns, plain_columns
from dxgeom.planner.amounts import require_records
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.answers.tables import CellTable, joined, rows_of
from dxgeom.planner.public_numbers import EXACT, sentences_of_tables
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.counts import Counts
from dxgeom.universe.workloads.whole_tables import MarginalQueries

if TYPE_CHECKING:
    from dxgeom.planner.estimates.estimate import EstimateWish
    from dxgeom.planner.estimates.tables import BoxEstimate, TableEstimate
    from dxgeom.universe.labels import PolicyLabels

_LEFT_TO_ROUNDING: Final = 1e-3
MOST_CELLS: Final = 100_000
"""The cells of more are not written out: they are kept in the ledger, and here as arrays."""
_MOST_BOXES: Final = 20_000
"""Likewise boxes."""
_FIRST: Final = 100
"""Of those the first are."""
Asked = TypeVar("Asked", bound=Counts)
Answered = TypeVar("Answered")


@dataclass(frozen=True, eq=False)
class AnswersInParts(ShownAnswers, ABC, Generic[Asked, Answered]):
    """What a mechanism answered to ``queries`` at a spend: ``exact``, as it was drawn. ``slack``: by what intervals are
    wider, where answers are float64 functions of that, which round it once more."""

    slack: ClassVar[float] = 1.0

    mechanism: LatticeNoise[Any]
    queries: Asked
    exact: Answered = field(repr=False)
    spent: Fraction
    records: int | None

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        return self.whole(level, query, joint=joint)  # columns may be called as people please

    @property
    def names(self) -> tuple[str, ...]:
        """What each table, or box, is called."""
        return self.queries.names

    @property
    def question_fingerprint(self) -> str:
        return self.queries.fingerprint

    @cached_property
    def rmse(self) -> NDArray[np.float64]:
        """(each,): root mean squared error of a box, or of each cell of a table, rounding to the lattice included."""
        return np.asarray(np.sqrt(self.mechanism.mean_squares(self.spent)))

    @property
    def biases(self) -> NDArray[np.float64]:
        return np.zeros(self.queries.each)

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(each,): an error is at most this with probability *at least* ``level``, each on its own: noise by the
        quantile of normal numbers, or the tails of sums of Laplace numbers; and rounding, of which one part in a
        thousand of what is missed is left to the tails of sums of bounded numbers (Hoeffding).

        Raises: UnsupportedCombination for ``joint``, and unless 0 < level < 1.
        """
        self.require_joint(joint=joint)
        require_level(level)
        left = (1 - level) * _LEFT_TO_ROUNDING
        factor = normal_quantile(level + left) if self.mechanism.normal else tail_factor(level + left)
        # Three times the variance of a rounding is the square of the most that it can be.
        rounding = math.sqrt(2 * math.log(2 / left) * 3 * self.mechanism.rounding_part)
        return np.asarray(np.sqrt(self.mechanism.variances) * (factor / float(self.spent) + rounding) * self.slack)


class CellAnswers(ShownAnswers, ABC):
    """Counts in the cells of whole tables, in whatever way they were made."""

    never_joint = "intervals of whole tables are each cell's own: leave joint out"
    no_numbers = Unknown(
        "whole tables have numbers for each of their cells", "take release['age, sex'], or to_arrow('age, sex')"
    )

    @property
    def within(self) -> tuple[float, float]:
        """What a count can be at all, by which intervals are cut."""
        return -math.inf, math.inf

    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def queries(self) -> MarginalQueries:
            """What was asked."""

    @abstractmethod
    def counts(self, place: int) -> NDArray[np.float64]:
        """(cells,): the private counts of the table at a place."""

    @abstractmethod
    def errors(self, level: float) -> Sequence[tuple[float | NDArray[np.float64] | None, float | None]]:
        """(tables,): how far off each count is at most with this probability, and in the root of the mean square."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each table is called."""
        return self.queries.names

    @property
    def by_name(self) -> Mapping[str, NDArray[np.float64]]:
        """Every table by its name, as :meth:`table` has it."""
        return {name: self.table(name) for name in self.names}

    def table(self, name: str | Sequence[str]) -> NDArray[np.float64]:
        """The private counts of a table, by its name or its columns; an axis for each, in the order of the policy.

        Raises: UnsupportedCombination for an unknown table.
        """
        place = self.queries.table(name)
        return self.counts(place).reshape(self.queries.shapes[place])

    @cached_property
    def words(self) -> dict[str, Sequence[str]]:
        """The values of each column, in words."""
        return {title: one.words for title, one in zip(self.queries.column_titles, self.queries.columns, strict=True)}

    def cells(self, level: float = 0.95, labels: PolicyLabels | None = None) -> list[CellTable]:
        """Every table with the values of its columns in words, and what ``labels`` call these."""
        words = self.words
        called = {} if labels is None else {title: labels.values_of(title, own) for title, own in words.items()}
        labelled = {title for title, own in called.items() if own != words[title]}
        each = zip(self.queries.attribute_sets, self.errors(level), strict=True)
        return [
            CellTable(
                self.queries.titles(place),
                tuple(self.queries.columns[axis].words for axis in own),
                self.counts(place),
                width,
                error,
                called=tuple(called[title] for title in self.queries.titles(place))
                if labelled & {*self.queries.titles(place)}
                else (),
                within=self.within,
            )
            for place, (own, (width, error)) in enumerate(each)
        ]

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        return self.whole(level, query, joint=joint)  # columns may be called as people please

    def whole(
        self,
        level: float = 0.95,
        query: str | None = None,
        *,
        joint: bool = False,
        labels: PolicyLabels | None = None,
    ) -> Columns:
        """A row for each cell of one table: its columns' values, the count and its interval; of several tables, where
        none is named, as :meth:`batches`.

        Raises: UnsupportedCombination for an unknown table.
        """
        self.require_joint(joint=joint)
        tables = self.cells(level, labels)
        if query is None and len(tables) > 1:
            return joined([*rows_of(tables)])
        return tables[0 if query is None else self.queries.table(query)].whole

    def batches(
        self, level: float = 0.95, *, joint: bool = False, labels: PolicyLabels | None = None
    ) -> Iterator[Columns]:
        """Every cell of every table as rows of one table, some hundred thousand at a time: the table's name, its
        columns and their values, as words by their places in a list; the count, its interval and error.

        Raises: UnsupportedCombination for ``joint``.
        """
        self.require_joint(joint=joint)
        return rows_of(self.cells(level, labels))


@final
@dataclass(frozen=True, eq=False)
class MarginalAnswers(CellAnswers, AnswersInParts[MarginalQueries, NoisyTables]):
    """Whole tables of counts, as whole numbers over divisors."""

    mechanism: TableMechanism

    def counts(self, place: int) -> NDArray[np.float64]:
        return self.exact.counts(place)

    def errors(self, level: float) -> Sequence[tuple[float, float]]:
        return list(zip(self.half_widths(level).tolist(), self.rmse.tolist(), strict=True))

    def estimated(self, plan_fingerprint: str, wish: EstimateWish) -> TableEstimate:
        from dxgeom.planner.estimates.tables import estimate_of_tables  # and a solver with it

        return estimate_of_tables(self, plan_fingerprint, wish)

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        del level
        # That they are compared with nothing is told once, below all answers.
        public = (("public", one) for one in sentences_of_tables(self.mechanism)[:-1])
        return (("cells", "tables agree: what two have in common is the same"), *public)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        self.require_joint(joint=joint)
        titles = self.queries.column_titles if self.queries.count <= MOST_CELLS else ()
        values = {title: list(one.words) for title, one in zip(titles, self.queries.columns, strict=False)}
        return {"tables": self.as_dicts(level), "values": values, "level": float(level)}

    def as_dicts(self, level: float = 0.95) -> list[dict[str, Any]]:
        """Every table ready for JSON: its cells as whole numbers over one divisor, None where there are more than
        100,000 in all, which the ledger keeps."""
        listed = self.queries.count <= MOST_CELLS
        widths, errors = self.half_widths(level).tolist(), self.rmse.tolist()
        whole = self.mechanism.all_told
        return [
            {
                "table": list(self.queries.titles(place)),
                "shape": list(self.queries.shapes[place]),
                "divisor": str(divisor),
                "cells": cells.tolist() if listed else None,
                "rmse": errors[place],
                "half_width": widths[place],
                **({"public": EXACT if whole[place] else "in part"} if self.mechanism.public else {}),
            }
            for place, (cells, divisor) in enumerate(zip(self.exact.numerators, self.exact.divisors, strict=True))
        ]


@final
@dataclass(frozen=True, eq=False)
class BoxAnswers(AnswersInParts[BoxQueries, tuple[float, ...]]):
    """Counts in boxes, in their order."""

    slack = 1 + 1e-9
    never_joint = "intervals of boxes are each count's own: leave joint out"

    @cached_property
    def values(self) -> NDArray[np.float64]:
        return np.array(self.exact)

    @property
    def by_name(self) -> Mapping[str, float]:
        """Every count by its box's name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    def whole(
        self,
        level: float = 0.95,
        query: str | None = None,
        *,
        joint: bool = False,
        labels: PolicyLabels | None = None,
    ) -> Columns:
        """A row for each box, or for the one of that name: its name, the count, its interval and error.

        Raises: UnsupportedCombination for ``joint``, or an unknown box.
        """
        del labels
        self.require_joint(joint=joint)
        place = 0 if query is None else self.queries.place(query)
        chosen = slice(None) if query is None else slice(place, place + 1)
        values, widths = self.values[chosen], self.half_widths(level)[chosen]
        return {
            "name": [*self.names[chosen]],
            "value": values,
            "low": values - widths,
            "high": values + widths,
            "rmse": self.rmse[chosen],
        }

    def histogram(self, records: int | None = None) -> NDArray[np.float64]:
        """Over the attributes that boxes restrict: the evenest table with these counts, whose sums answer other boxes.

        Definition: :func:`dxgeom.planner.estimates.box_model.even_histogram`. Of boxes along a grid what a cell of the
        grid counts is spread over it evenly. Any sum of boxes has the bias of none; another is off by how uneven
        records are inside the boxes at its ends, beside noise, so it has no bar. Cells may be negative: cut off they
        would no longer add up to nearly nothing where nobody is.
        Args: ``records``: their number, where everybody knows it; left out, what was stated.
        Raises: TooLarge; WrongArgument.
        """
        from dxgeom.planner.estimates.box_model import BoxSums, even_histogram  # and a solver with it

        require_records(records)
        number = self.records if records is None else records
        sums = BoxSums(tuple(self.queries.sizes), self.queries.lower, self.queries.upper)
        return even_histogram(sums, self.values, self.rmse, None if number is None else float(number))

    def estimated(self, plan_fingerprint: str, wish: EstimateWish) -> BoxEstimate:
        from dxgeom.planner.estimates.tables import estimate_of_boxes  # and a solver with it

        return estimate_of_boxes(self, plan_fingerprint, wish)

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        del level
        return (("boxes", "agree: what two have in common is the same"),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        self.require_joint(joint=joint)
        table = plain_columns(self.whole(level))
        rows = [dict(zip(table, row, strict=True)) for row in islice(zip(*table.values(), strict=True), _MOST_BOXES)]
        if self.queries.count > _MOST_BOXES:
            return {"boxes": None, "first": rows[:_FIRST], "count": self.queries.count, "level": float(level)}
        return {"boxes": rows, "level": float(level)}


def tail_factor(level: float) -> float:
    """What a sum of independent Laplace numbers of unit variance exceeds with probability 1 − level at most.

    Its kurtosis is at most that of one Laplace number, and its moment generating function at most 1/(1 − t²/2): so the
    chance of more than w either way is at most 2·min_t e^{−tw}/(1 − t²/2), and of one number alone it is e^{−√2·w}.
    """
    missed, best = 1 - level, np.inf
    for t in np.linspace(0.01, 1.41, 400):
        best = min(best, float(np.log(2 / (missed * (1 - t * t / 2))) / t))
    return best
