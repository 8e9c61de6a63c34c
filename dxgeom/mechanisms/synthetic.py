"""What multiplicative weights release: a synthetic histogram, the measurements behind it, and how far off it can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import groupby
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.selection import nats_of
from dxgeom.mechanisms.workload import Model, Workload


@final
@dataclass(frozen=True)
class Measurement:
    """One query that was measured.

    ``round``: from 0; ``selected``: whether it is the one that the round sought out, or measured along with it.
    ``value``: its exact answer plus Laplace noise of this ``scale``, rounded to a lattice of this ``step``; 0 where no
    noise was needed. ``modelled``: what the model had answered before.
    """

    round: int
    selected: bool
    query: int
    name: str
    value: Fraction
    scale: float
    step: Fraction
    modelled: float

    def half_width(self, level: float = 0.95) -> float:
        """The value's error is at most this with probability *at least* ``level``.

        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        nats = nats_of(level)
        return self.scale * nats + float(self.step) / 2 if self.scale > 0 else 0.0


@final
@dataclass(frozen=True, eq=False)
class SyntheticHistogram:
    """A histogram made of private measurements; whatever is computed from it reveals nothing more.

    ``distribution`` (N,): non-negative, its sum is 1; ``start`` (N,): the public one it began with. ``per_nat``: by how
    much more a selection may have missed the worst query for each nat of confidence. ``averaged``: whether this is the
    average over the rounds, whose error is bounded.
    """

    distribution: NDArray[np.float64] = field(repr=False)
    start: NDArray[np.float64] = field(repr=False)
    workload: Workload = field(repr=False)
    records: int
    measurements: tuple[Measurement, ...] = field(repr=False)
    per_nat: float = field(repr=False)
    averaged: bool = True

    @property
    def histogram(self) -> NDArray[np.float64]:
        """(N,): non-negative, its sum is the public number of records."""
        return self.distribution * self.records

    @cached_property
    def answers(self) -> NDArray[np.float64]:
        """(K,): the histogram's answers to the workload."""
        return self.workload.model(self.distribution).answers() * self.records * float(self.workload.unit)

    @property
    def typical_gap(self) -> float:
        """**An estimate**: the mean over the rounds of |measured − modelled| of the query that was selected.

        Each round's worst query was sought out, so this is about the largest error of the model plus one measurement's
        noise. Nothing guarantees it; :meth:`largest_error` is guaranteed.
        """
        return sum(abs(float(one.value) - one.modelled) for one in self._selected) / len(self._selected)

    def largest_error(self, level: float = 0.95) -> float:
        """With probability *at least* ``level`` no answer to the workload is further from the truth than this.

        Definition: the mean over the T rounds of |measured − modelled| + the measurement's half width + what the
        selection may have missed, each at level 1 − (1 − level)/(2T). In each round that bounds the largest error of
        the model, and the error of an average is at most the average of the errors. Up to the rounding of float64.
        Often much larger than the real error: it takes the worst case of every round at once.
        Raises: UnsupportedCombination unless 0 < level < 1, and for a refitted histogram: nothing is proved about it.
        """
        if not self.averaged:
            raise UnsupportedCombination("no bound is proved for a refitted histogram; ask the one it was made from")
        nats = nats_of(level) + math.log(2 * len(self._selected))
        missed = self.per_nat * (math.log(self.workload.count) + nats)
        return sum(
            abs(float(one.value) - one.modelled) + one.scale * nats + 1.5 * float(one.step) + missed
            for one in self._selected
        ) / len(self._selected)

    def refitted(self, passes: int = 20) -> SyntheticHistogram:
        """The histogram after going over all measurements again so often, without averaging.

        Mostly closer to the data than the average, which still holds a share of the start; nothing is proved of it. It
        costs no budget.
        Raises: UnsupportedCombination for less than one pass.
        """
        if passes < 1:
            raise UnsupportedCombination(f"at least one pass over the measurements, found {passes}")
        model = self.workload.model(self.start)
        rounds = [list(ones) for _, ones in groupby(self.measurements, key=lambda one: one.round)]
        replay(self.workload, model, [as_measured(self.workload, ones, self.records) for ones in rounds], passes)
        return replace(self, distribution=model.distributions()[0], averaged=False)

    @property
    def _selected(self) -> list[Measurement]:
        return [one for one in self.measurements if one.selected]

    def as_dict(self) -> dict[str, Any]:
        """The answers and what was measured, ready for JSON; the histogram itself may be large: see ``counts``."""
        return {
            "records": self.records,
            "averaged": self.averaged,
            "answers": [
                {"name": name, "value": value}
                for name, value in zip(self.workload.names, self.answers.tolist(), strict=True)
            ],
            "measurements": [
                {"round": one.round, "name": one.name, "exact": str(one.value), "scale": one.scale}
                for one in self.measurements
            ],
        }

    def counts(self) -> NDArray[np.int64]:
        """(N,): whole numbers with the same sum, each within 1 of the histogram: the largest remainders go up."""
        whole = np.floor(self.histogram).astype(np.int64)
        short = self.records - int(whole.sum())
        whole[np.argsort(whole - self.histogram, kind="stable")[:short]] += 1
        return whole

    def record_types(self) -> NDArray[np.int64]:
        """(records,): the index of each synthetic record, in order."""
        return np.repeat(np.arange(self.histogram.size), self.counts())


def as_measured(workload: Workload, ones: Sequence[Measurement], records: int) -> tuple[range, NDArray[np.float64]]:
    """The queries of one round, and their values per record in units."""
    values = [float(one.value / workload.unit) for one in ones]
    return range(ones[0].query, ones[-1].query + 1), np.array(values) / records


def replay(workload: Workload, model: Model, rounds: list[tuple[range, NDArray[np.float64]]], passes: int) -> None:
    """Step along the measurements of all these rounds again so often; none of these steps counts in the mean."""
    for queries, values in rounds * passes:
        model.reweigh(queries, workload.exponents(queries, values, model.answers()), counted=False)
