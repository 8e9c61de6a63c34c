"""Private counts in very many boxes, as an array, and what is known of their errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.numeric.columns import Columns, plain_columns
from dxgeom.planner.answers.marginal_answers import half_widths_of
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.answers.tables import unknown_name
from dxgeom.universe.workloads.box_queries import BoxQueries

_LISTED: Final = 20_000
"""More answers are not written out: they are kept in the ledger, and here as an array."""
_FIRST: Final = 100
"""Of those the first are."""


@final
@dataclass(frozen=True, eq=False)
class BoxAnswers(ShownAnswers):
    """What a mechanism answered to boxes at a spend. ``values`` (K,): the private counts, in the order of the boxes."""

    never_joint = "intervals of boxes are each count's own: leave joint out"

    mechanism: BoxMechanism
    values: NDArray[np.float64] = field(repr=False)
    spent: Fraction
    records: int | None

    @property
    def queries(self) -> BoxQueries:
        """What was asked."""
        return self.mechanism.boxes

    @property
    def question_fingerprint(self) -> str:
        return self.queries.fingerprint

    @property
    def names(self) -> tuple[str, ...]:
        return self.queries.names

    @property
    def by_name(self) -> Mapping[str, float]:
        """Every count by its box's name."""
        return dict(zip(self.names, self.values.tolist(), strict=True))

    @cached_property
    def rmse(self) -> NDArray[np.float64]:
        return np.asarray(np.sqrt(self.mechanism.mean_squares(self.spent)))

    @property
    def biases(self) -> NDArray[np.float64]:
        return np.zeros(self.queries.count)

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        self.require_joint(joint=joint)
        return half_widths_of(self.mechanism, self.spent, level) * (1 + 1e-9)

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """A row for each box, or for the one of that name: its name, the count, its interval and error.

        Raises: UnsupportedCombination for ``joint``, or an unknown box.
        """
        self.require_joint(joint=joint)
        if query is not None and query not in self.names:
            raise unknown_name("box", query, self.names)
        chosen = slice(None) if query is None else slice(self.names.index(query), self.names.index(query) + 1)
        values, widths = self.values[chosen], self.half_widths(level)[chosen]
        return {
            "name": [*self.names[chosen]],
            "value": values,
            "low": values - widths,
            "high": values + widths,
            "rmse": self.rmse[chosen],
        }

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        del level
        return (("boxes", "agree: what two have in common is the same"),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        self.require_joint(joint=joint)
        table = plain_columns(self.columns(level))
        rows = [dict(zip(table, row, strict=True)) for row in islice(zip(*table.values(), strict=True), _LISTED)]
        if self.queries.count > _LISTED:
            return {"boxes": None, "first": rows[:_FIRST], "count": self.queries.count, "level": float(level)}
        return {"boxes": rows, "level": float(level)}
