"""What multiplicative weights release: a synthetic histogram, the measurements behind it, and how far off it can be."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.selection.selections import nats_of
from dxgeom.mechanisms.synthetic.common_unit import IntegerQueries
from dxgeom.mechanisms.synthetic.fitting import SOFTENING, Known
from dxgeom.numeric.sealed import cached_property
from dxgeom.universe.numbers.value_rounding import rounding_biases
from dxgeom.universe.queries import LinearQueries

MOST_WHOLE = 2**50


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

        That is its noise: of values as the policy rounds them, ``error_bounds`` speak of raw numbers.
        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        return self.noise_within(nats_of(level))

    def noise_within(self, nats: float) -> float:
        """The value's error is at most this but for a chance of e^(−nats)."""
        return self.scale * nats + float(self.step) / 2 if self.scale > 0 else 0.0


class LastLook(NamedTuple):
    """What the last selection says about the queries that were never measured.

    ``answers`` (K,): the model's before that selection, which found no answer further off than the one it took, but for
    what it may have missed: ``per_nat`` for each nat of confidence.
    """

    answers: NDArray[np.float64]
    per_nat: float


@final
@dataclass(frozen=True, eq=False)
class SyntheticHistogram:
    """A histogram made of private measurements; whatever is computed from it reveals nothing more.

    ``distribution`` (N,): non-negative, its sum is 1; ``last_look``: None where every query was measured.
    """

    distribution: NDArray[np.float64] = field(repr=False)
    asked: IntegerQueries = field(repr=False)
    records: int
    measurements: tuple[Measurement, ...] = field(repr=False)
    last_look: LastLook | None = field(repr=False)

    @property
    def queries(self) -> LinearQueries:
        """What was asked."""
        return self.asked.queries

    @property
    def histogram(self) -> NDArray[np.float64]:
        """(N,): non-negative, its sum is the public number of records."""
        return self.distribution * self.records

    @cached_property
    def answers(self) -> NDArray[np.float64]:
        """(K,): the histogram's answers to the queries."""
        return self.asked.model(self.distribution).answers() * self.records * float(self.asked.unit)

    @property
    def exact_answers(self) -> tuple[Fraction, ...]:
        """(K,): the same, as exactly as float64 has them."""
        return tuple(map(Fraction, self.answers.tolist()))

    @property
    def rounding(self) -> NDArray[np.float64]:
        """(K,): how far the truth about raw numbers can be from that about the values that stand for them."""
        return rounding_biases(self.queries.each_rounding, self.records)

    def error_bounds(self, level: float = 0.95) -> NDArray[np.float64]:
        """(K,): with probability *at least* ``level`` no answer is further from the raw numbers' truth than its bound.

        Definition: of a measured query |answer − value| and what its noise can be; of another one |answer − what the
        model answered before the last selection|, the gap that this selection found, the noise of that gap's
        measurement, and what the selection may have missed. The chance to be wrong, 1 − level, is shared evenly by
        the rounds and the last selection, and a round's part by its measurements: what is measured later, which may
        follow from the noise, changes nothing. What :attr:`rounding` can do comes on top; where numbers were clamped to
        ends that are not the true ones, the truth is about the clamped ones. Up to the rounding of float64.
        It holds for any histogram, however it was made of the measurements. Often much larger than the real error: it
        takes the worst case of every measurement at once.
        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        each_round = Counter(one.round for one in self.measurements)
        nats = nats_of(level) + math.log(len(each_round) + (self.last_look is not None))
        bounds = np.full(self.asked.queries.count, np.inf)
        if self.last_look is not None:
            last = next(one for one in reversed(self.measurements) if one.selected)
            noise = last.scale * (nats + math.log(each_round[last.round]))
            found = abs(float(last.value) - last.modelled) + noise + 1.5 * float(last.step)
            missed = self.last_look.per_nat * (math.log(self.asked.queries.count) + nats)
            bounds = np.abs(self.answers - self.last_look.answers) + found + missed
        for one in self.measurements:
            noise = one.noise_within(nats + math.log(each_round[one.round]))
            bounds[one.query] = abs(self.answers[one.query] - float(one.value)) + noise
        return bounds + self.rounding

    def largest_error(self, level: float = 0.95) -> float:
        """With probability *at least* ``level`` no answer to a query is further from the truth than this.

        The largest of :meth:`error_bounds`. Raises: as there.
        """
        return float(self.error_bounds(level).max())

    def as_dict(self) -> dict[str, Any]:
        """The answers and what was measured, ready for JSON; the histogram itself may be large: see ``counts``."""
        return {
            "records": self.records,
            "answers": [
                {"name": name, "value": value}
                for name, value in zip(self.asked.queries.names, self.answers.tolist(), strict=True)
            ],
            "measurements": [
                {"round": one.round, "name": one.name, "exact": str(one.value), "scale": one.scale}
                for one in self.measurements
            ],
        }

    def counts(self, records: int | None = None) -> NDArray[np.int64]:
        """(N,): whole numbers with the same sum, each within 1 of the histogram: the largest remainders go up.

        Args: ``records``: their sum, where it is to be another than the public number; of the histogram so scaled.
        Raises: TooLarge beyond 2⁵⁰ records, where float64 has no remainders left.
        """
        return whole_counts(self.distribution, self.records if records is None else records)

    def record_types(self) -> NDArray[np.int64]:
        """(records,): the index of each synthetic record, in order."""
        return np.repeat(np.arange(self.histogram.size), self.counts())


def whole_counts(distribution: NDArray[np.float64], records: int) -> NDArray[np.int64]:
    """(N,): whole numbers whose sum is ``records``, each within 1 of that many times the distribution: the largest
    remainders go up.

    Raises: TooLarge beyond 2⁵⁰ records, where float64 has no remainders left.
    """
    if records > MOST_WHOLE:
        raise TooLarge(f"a histogram of more than {MOST_WHOLE:,} records is not rounded to whole numbers")
    scaled = distribution * records
    whole = np.floor(scaled).astype(np.int64)
    short = records - int(whole.sum())
    whole[np.argsort(whole - scaled, kind="stable")[:short]] += 1
    return whole


def known_blocks(asked: IntegerQueries, measurements: Sequence[Measurement], records: int) -> list[Known]:
    """The measurements as a model is fitted to them, one for each block."""
    blocks = groupby(measurements, key=lambda one: asked.block_of(one.query).start)
    return [_known(asked, list(ones), records) for _, ones in blocks]


def _known(asked: IntegerQueries, ones: Sequence[Measurement], records: int) -> Known:
    queries = range(ones[0].query, ones[-1].query + 1)
    units = records * float(asked.unit)
    block = slice(queries.start, queries.stop)
    lowest, highest = asked.lowest[block].astype(np.float64), asked.highest[block].astype(np.float64)
    above, below = asked.unit.denominator, asked.unit.numerator
    values = np.array([one.value.numerator * above / (one.value.denominator * below) / records for one in ones])
    scales, steps = np.array([one.scale for one in ones]) / units, np.array([float(one.step) for one in ones]) / units
    widths = np.maximum(highest - lowest, 1.0)
    deviations = np.sqrt(2 * scales**2 + steps**2 / 12)
    return Known(queries, lowest, widths, values, deviations, SOFTENING * scales + widths / records)
