"""What a regression learned, as a table of coefficients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.unknown import Unknown

APPROXIMATE: Final = (
    "intervals are approximate: they count the noise, by its law, and the sampling of records, as normal, and add what "
    "the ridge pulls in full"
)
UNKNOWN: Final = "no intervals are known for coefficients of a perturbed objective"


class Coefficient(NamedTuple):
    """One coefficient: ``value`` of the response, or of its log-odds, for ``unit`` of the feature; ``low``, ``high``:
    its interval, None where none is known."""

    name: str
    unit: str
    value: float
    low: float | None
    high: float | None


@final
@dataclass(frozen=True, eq=False)
class Coefficients(ShownAnswers):
    """The intercept, where all numbers are in the middle of their ranges, and what each feature adds.

    ``response``: what is predicted, in words; ``values`` (p + 1,); ``units`` (p + 1,): what each is for; ``worth``
    (p + 1,): a coefficient is that of the encoded feature times this. ``bars``: gives intervals (p + 1, 2) at a level,
    None where none are known. ``ridge``: how strongly they were held back. ``question``: the plan's fingerprint.
    """

    never_joint = "intervals of coefficients are each on its own: leave joint out"
    no_bars = Unknown(UNKNOWN, "linear regressions have some")
    no_rmse = no_biases = Unknown(
        "what is known of a coefficient's error is its interval", "take intervals(), which linear regressions have"
    )

    response: str
    names: tuple[str, ...] = field()
    units: tuple[str, ...]
    values: NDArray[np.float64] = field()
    worth: NDArray[np.float64] = field(repr=False)
    bars: Callable[[float], NDArray[np.float64]] | None = field(repr=False)
    ridge: float
    question: str = field(repr=False)

    @property
    def question_fingerprint(self) -> str:
        return self.question

    def intervals(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(p + 1, 2): *approximate*. Raises: UnsupportedCombination for ``joint``, and where none are known."""
        self.require_joint(joint=joint)
        if self.bars is None:
            raise self.no_bars.refusal
        return self.bars(level)

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(p + 1,): *approximate*, as :meth:`intervals`, which are even on both sides."""
        low, high = self.intervals(level, joint=joint).T
        return np.asarray((high - low) / 2)

    def table(self, level: float = 0.95) -> tuple[Coefficient, ...]:
        """A row for each."""
        bars = [(None, None)] * len(self.names) if self.bars is None else self.bars(level).tolist()
        each = zip(self.names, self.units, self.values.tolist(), bars, strict=True)
        return tuple(Coefficient(name, unit, value, low, high) for name, unit, value, (low, high) in each)

    @cached_property
    def by_name(self) -> Mapping[str, Coefficient]:
        return {one.name: one for one in self.table()}

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        del level
        return (("error", self.note),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """Ready for JSON."""
        self.require_joint(joint=joint)
        return {
            "response": self.response,
            "level": level,
            "coefficients": [one._asdict() for one in self.table(level)],
            "ridge": self.ridge,
            "note": self.note,
        }

    @property
    def note(self) -> str:
        """What is known of their errors, in a sentence."""
        return UNKNOWN if self.bars is None else APPROXIMATE

    def lines(self, level: float = 0.95) -> list[str]:
        """For a reader: a table."""
        rows = [[one.name, one.unit, f"{one.value:.4g}", interval_in_words(one)] for one in self.table(level)]
        head = [self.response, "for", "coefficient", f"{level:.0%} interval"]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        laid = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in (head, *rows)]
        return ["  ".join(row).rstrip() for row in laid]


def interval_in_words(one: Coefficient) -> str:
    """ "0.1 to 0.2", and "-" where nothing is known."""
    return "-" if one.low is None or one.high is None else f"{one.low:.4g} to {one.high:.4g}"
