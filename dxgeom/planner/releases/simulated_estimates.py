"""What estimates are worth on a table that is public already: releases of it, tried out before any data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require
from dxgeom.errors import WrongArgument
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.estimates.estimate import EstimateWish, require_whole_records
from dxgeom.planner.releases.reading import read
from dxgeom.universe.columns import plain
from dxgeom.wording.numbers import brief, counted

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan

MOST_DRAWS: Final = 1_000
_NO_NOISE: Final = Fraction(10**30)
"""At this spend noise is so narrow that all of it is rounded to nothing."""
_FEWEST: Final = 8
"""Fewer draws say too little of how much they differ."""


@final
@dataclass(frozen=True, eq=False)
class SimulatedWorth:
    """Errors of released answers and of their estimates, over some draws of noise on a public table.

    ``names``: the answers, or the tables. ``squares`` (draws, names, 2): squared errors, of a table summed over its
    cells: of what was released, and of the estimate. ``records``: of the public table; None where their number is not
    used, since the policy keeps it private. ``spend``: of the release; ``share``: the part of it that these answers
    have. ``rounded``: errors are about numbers as the policy rounds them, and leave out what that does.
    Guarantee: none. These are means over draws of a generator with a fixed seed, about this table and no other.
    """

    names: tuple[str, ...] = field(repr=False)
    squares: NDArray[np.float64] = field(repr=False)
    records: int | None
    spend: Fraction
    share: Fraction = Fraction(1)
    rounded: bool = False

    @property
    def draws(self) -> int:
        """How many releases were tried out."""
        return len(self.squares)

    @property
    def released(self) -> float:
        """The root of the mean total squared error of the released answers."""
        return math.sqrt(float(self._totals[:, 0].mean()))

    @property
    def estimated(self) -> float:
        """The same of the estimates."""
        return math.sqrt(float(self._totals[:, 1].mean()))

    @property
    def deviation(self) -> float:
        """One standard deviation of :attr:`estimated`, from the draws themselves; infinite where there is one."""
        if self.draws == 1:
            return math.inf
        spread = float(self._totals[:, 1].std(ddof=1)) / math.sqrt(self.draws)
        return spread / (2 * self.estimated) if self.estimated > 0 else 0.0

    @property
    def _totals(self) -> NDArray[np.float64]:
        return np.asarray(self.squares.sum(axis=1))

    @property
    def in_words(self) -> str:
        """The same as a sentence."""
        of = "" if self.records is None else f" of {counted(self.records, 'record')}"
        at = f"spending {plain(self.spend)}"
        if self.share != 1:
            at = f"spending {plain(self.share * self.spend)}, the task's share of {plain(self.spend)}"
        spread = f" (one standard deviation of that: {brief(self.deviation)})" if self.draws >= _FEWEST else ""
        about = ", both about numbers as the policy rounds them" if self.rounded else ""
        return (
            f"tried out on the public table{of}, with {counted(self.draws, 'draw')} of noise {at}: the estimate's "
            f"total root mean squared error is {brief(self.estimated)}{spread}, that of what is released "
            f"{brief(self.released)}{about}; other tables may gain more or less"
        )

    def as_dict(self) -> dict[str, Any]:
        """The errors ready for JSON: total squared errors."""
        before, after = self.squares.mean(axis=0).T.tolist()
        each = zip(self.names, before, after, strict=True)
        spread = self.deviation if math.isfinite(self.deviation) else None
        return {
            "records": self.records,
            "spend": str(self.spend),
            **({} if self.share == 1 else {"share": str(self.share)}),
            "of_rounded_numbers": self.rounded,
            "draws": self.draws,
            "released_total_rmse": self.released,
            "estimate_total_rmse": self.estimated,
            "standard_deviation": spread,
            "answers": [{"name": name, "released_mse": one, "estimate_mse": other} for name, one, other in each],
            "in_words": self.in_words,
        }


def simulated_worth(
    plan: Plan, table: Any, spend: Fraction, wish: EstimateWish, draws: int, count_column: str | None
) -> SimulatedWorth:
    """See :meth:`dxgeom.planner.plan.Plan.simulate_estimate`."""
    require(draws, WHOLE, "draws", "say how many releases are tried out, such as 8")
    if not 1 <= draws <= MOST_DRAWS:
        raise WrongArgument(f"'draws' are from 1 to {MOST_DRAWS:,} releases that are tried out; found {draws!r}")
    part, share = plan.kind.estimated_part(plan)
    mechanism: Any = part.mechanism
    found = read(mechanism, table, "refuse", count_column, False, any_number=True)
    require_whole_records(wish, part.metric.people)
    randomness = InsecureSeededRandomness(int(part.fingerprint[:12], 16))
    noiseless = mechanism.draw(found.data, _NO_NOISE, randomness)
    answers = partial(part.kind.answers, part)
    exact = answers(part.kind.true_answer(part, found.data, noiseless), share * spend, found.records)
    squares, names = [], tuple[str, ...]()
    for answer in mechanism.draws(found.data, share * spend, draws, randomness):
        estimate = answers(answer, share * spend, found.records).estimated(part.fingerprint, wish)
        names = estimate.names
        squares.append(estimate.squared_errors(exact))
    return SimulatedWorth(names, np.array(squares), found.records, spend, share, exact.reads_stepped_values)
