"""What a regression learned, as a table of coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.learning.totals.least_squares import NoisyLeastSquares
from dxgeom.planner.answers.answer_table import Columns
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.universe.workloads.groups import AnswerOrigin

APPROXIMATE: Final = (
    "intervals are approximate: they count the noise, by its law, and the sampling of records, as normal, and add what "
    "the ridge pulls in full"
)


class Coefficient(NamedTuple):
    """One coefficient: ``value`` of the response for each ``unit``; ``low`` and ``high``: None where none is known."""

    name: str
    unit: str
    value: float
    low: float | None
    high: float | None


@final
@dataclass(frozen=True, eq=False)
class Coefficients(ShownAnswers):
    """The intercept, where all numbers are in the middle of their ranges and words are their first, and what each
    feature adds.

    ``units`` (p + 1,): what each is for; ``back`` (p + 1, p + 1) and ``base`` (p + 1,): coefficients in these units are
    back·β + base, β those of ``fit``.
    """

    response: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    fit: NoisyLeastSquares = field(repr=False)
    back: NDArray[np.float64] = field(repr=False)
    base: NDArray[np.float64] = field(repr=False)
    asked: str = field(repr=False)

    @property
    def asked_fingerprint(self) -> str:
        return self.asked

    @property
    def values(self) -> NDArray[np.float64]:
        """(p + 1,): the coefficients, the intercept first."""
        return np.asarray(self.back @ self.fit.coefficients + self.base)

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """(p + 1, 2): *approximate*, see :meth:`NoisyLeastSquares.intervals`."""
        return np.asarray(self.fit.intervals(level, self.back) + self.base[:, None])

    def table(self, level: float = 0.95) -> tuple[Coefficient, ...]:
        """A row for each."""
        each = zip(self.names, self.units, self.values.tolist(), self.intervals(level).tolist(), strict=True)
        return tuple(Coefficient(name, unit, value, low, high) for name, unit, value, (low, high) in each)

    @cached_property
    def by_name(self) -> Mapping[str, Coefficient]:
        return {one.name: one for one in self.table()}

    @property
    def all_origins(self) -> Sequence[AnswerOrigin]:
        return tuple(map(AnswerOrigin, self.names))

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """A row for each coefficient. Raises: UnsupportedCombination for a joint level, and an unknown name."""
        if joint:
            raise UnsupportedCombination("intervals of coefficients are each on its own: leave joint out")
        rows = [one for one in self.table(level) if query in (None, one.name)]
        if not rows:
            raise UnsupportedCombination(f"there is no coefficient '{query}', there are {', '.join(self.names)}")
        return {name: [getattr(one, name) for one in rows] for name in Coefficient._fields}

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """Ready for JSON."""
        del joint
        return {
            "response": self.response,
            "level": level,
            "coefficients": [one._asdict() for one in self.table(level)],
            "ridge": self.fit.strength,
            "note": APPROXIMATE,
        }

    @property
    def warnings(self) -> Sequence[str]:
        return (APPROXIMATE,)

    def lines(self, level: float = 0.95) -> list[str]:
        """For a reader: a table."""
        rows = [
            [one.name, one.unit, f"{one.value:.4g}", f"{one.low:.4g} to {one.high:.4g}"] for one in self.table(level)
        ]
        head = [self.response, "for", "coefficient", f"{level:.0%} interval"]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        laid = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in (head, *rows)]
        return ["  ".join(row).rstrip() for row in laid]
