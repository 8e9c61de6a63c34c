"""What an estimate of whole tables is worth, before any data: a bound of its expected error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.parts.table_mechanism import TableMechanism

_MOSTLY_NOISE, _SOME_NOISE = 1.0, 0.25
"""κ beyond which tables that follow the data are worth a try, and one model of what was released."""
_FITTED_AT_ONCE: Final = 1_000_000
"""Cells of a model that a release waits for without being asked: some seconds."""
_TRIED: Final = np.linspace(0.01, 1.41, 400)


@final
@dataclass(frozen=True, eq=False)
class EstimateWorth:
    """What estimates of whole tables are worth, whatever the data.

    ``names``: the tables. ``released`` (tables,): the expected total squared error of the released cells. ``at_most``
    (tables,): a bound of that of the estimated ones, never more: the smaller of it and n·E max z, z the noise of the
    table, n the public number of ``records``; None where that is private.
    Guarantee: rounded up, up to float64. For tables that count alike, or as the plan's importance has it, the total of
    what was estimated is at most the total of this, each table times its importance.
    ``cells`` (tables,): how many each has. ``certain``: whether errors were asked for, which only noise keeps.
    ``whole``: how many cells one histogram of all tables has.
    """

    names: tuple[str, ...] = field(repr=False)
    released: NDArray[np.float64] = field(repr=False)
    at_most: NDArray[np.float64] = field(repr=False)
    records: int | None
    cells: NDArray[np.float64] = field(repr=False)
    certain: bool
    whole: int

    @property
    def noise_over_records(self) -> float | None:
        """κ: the mean over tables of the sum of their cells' root mean squared errors, over the number of records; None
        where that is private, or 0."""
        if not self.records:
            return None
        return float(np.mean(np.sqrt(self.cells * self.released))) / self.records

    @property
    def is_mostly_noise(self) -> bool:
        """Whether tables that follow the data are worth a try: noise adds up to more than the records."""
        return not self.certain and (self.noise_over_records or 0.0) > _MOSTLY_NOISE

    @property
    def shows_model(self) -> bool:
        """Whether a release shows one model of its answers beside them, unless another estimate is asked for, or none.

        By public numbers alone: noise adds up to a quarter of the records, no error was asked for, and the model is
        small enough to be waited for.
        """
        some = (self.noise_over_records or 0.0) >= _SOME_NOISE
        return some and not self.certain and self.whole <= _FITTED_AT_ONCE

    @property
    def advice(self) -> tuple[str, ...]:
        """What is shown beside the answers, and what else to ask for, where noise is much of an answer, by a rule of
        thumb; empty where this is the best."""
        noise = self.noise_over_records
        if noise is None or noise < _SOME_NOISE or self.certain:
            return ()
        shown = "a release shows one model of the answers beside them, at no cost (--estimate none leaves it out)"
        model = shown if self.shows_model else "--estimate model shows one model of the answers, at no cost"
        if not self.is_mostly_noise:
            return (
                f"noise adds up to {noise:.2g} of the records in a table: {model}; it may be nearer, a rule of thumb",
            )
        return (
            f"noise adds up to {noise:.2g} times the records in a table: tables that follow the data, a task "
            "'adaptive', erred a third to a half as much where that was tried, a rule of thumb; bars of theirs cost a "
            "fifth of the budget",
            f"{model}; it is nearer, too",
        )

    @property
    def in_words(self) -> str:
        """The same as a sentence."""
        before, after = math.sqrt(float(self.released.sum())), math.sqrt(float(self.at_most.sum()))
        if self.records is None:
            return (
                "an estimate is never worse in total; by how much it is better is known beforehand only where the "
                "number of records is public"
            )
        if after > 0.999 * before:
            return (
                f"an estimate is never worse in total; at {self.records:,} records no gain is promised beforehand, "
                "though counts near 0 gain much"
            )
        return (
            f"an estimate is never worse in total; at {self.records:,} records its total root mean squared error is at "
            f"most {after:.4g}, of the released tables {before:.4g}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The worth ready for JSON."""
        each = zip(self.names, self.released.tolist(), self.at_most.tolist(), strict=True)
        tables = [
            {"table": name, "released_mse": before, "estimate_mse_at_most": after} for name, before, after in each
        ]
        return {"records": self.records, "tables": tables, "in_words": self.in_words} | {
            "noise_over_records": self.noise_over_records,
            "shows_model": self.shows_model,
            "advice": [*self.advice],
        }


def worth_of(mechanism: TableMechanism, spend: Fraction, records: int | None) -> EstimateWorth:
    """The worth of estimates of these tables.

    Definition: with P the projection on tables that are not negative and sum to n, ‖Py − x‖² ≤ ⟨z, Py − x⟩, of which
    the expectation is at most n·E max z since noise has the mean 0. Normal: E max ≤ σ√(2 ln m). Sums of Laplace
    numbers: the moment generating function is at most 1/(1 − σ²t²/2), so E max ≤ min_t σ(ln m − ln(1 − t²/2))/t.
    Rounding to the lattice is a sum of bounded numbers (Hoeffding).
    """
    cells = np.array([math.prod(shape) for shape in mechanism.queries.shapes], dtype=np.float64)
    certain = any(one is not None for one in mechanism.queries.errors)
    whole = math.prod(mechanism.queries.sizes)
    released = cells * mechanism.cell_errors.mean * (1 / float(spend) ** 2 + mechanism.rounding_part)
    if records is None:
        return EstimateWorth(mechanism.queries.names, released, released, None, cells, certain, whole)
    least = np.minimum(released, records * _largest(mechanism, spend, cells))
    return EstimateWorth(mechanism.queries.names, released, least, records, cells, certain, whole)


def _largest(mechanism: TableMechanism, spend: Fraction, cells: Sequence[float] | NDArray[np.float64]) -> Any:
    """(tables,): at least the expectation of the largest noise in each table."""
    logs = np.log(np.maximum(cells, 1.0))
    if mechanism.normal:
        factors = np.sqrt(2 * logs)
    else:
        factors = ((logs[:, None] - np.log(1 - _TRIED**2 / 2)) / _TRIED).min(axis=1) * (logs > 0)
    # Three times the variance of a rounding is the square of the most that it can be.
    rounding = np.sqrt(2 * logs * 3 * mechanism.rounding_part)
    return np.sqrt(mechanism.variances) * (factors / float(spend) + rounding)
