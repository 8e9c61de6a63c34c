"""What multiplicative weights release: a synthetic histogram, the measurements behind it, and how far off it can be.

Linear queries over their common unit are integers that scores, noise and the model share. As a ledger keeps a
histogram: every number exactly, float64 by its shortest text.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, groupby
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.contract.mechanism import ANSWER_BYTES, FLOAT_BYTES
from dxgeom.mechanisms.linear.score_sensitivities import common_unit, query_sensitivities
from dxgeom.mechanisms.selection.selections import nats_of
from dxgeom.mechanisms.synthetic.models import SOFTENING, CliqueModel, HistogramModel, Known
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.restriction import on_axes
from dxgeom.numeric.rounding import round_up
from dxgeom.numeric.sealed import Sealed, cached_property, canonical_digest
from dxgeom.universe.numbers.value_rounding import rounding_biases
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.weight_table import WeightTable


@final
@dataclass(frozen=True, eq=False)
class IntegerQueries(Sealed):
    """Answer k is ``unit`` times an integer; only :func:`integer_queries` makes one.

    ``factors`` (K,): the unit of query k is so many units, its weights so many times those in its table.
    """

    queries: LinearQueries = field(repr=False)
    factors: NDArray[np.int64] = field(repr=False)
    unit: Fraction

    @cached_property
    def lowest(self) -> NDArray[np.int64]:
        """(K,): each query's smallest weight, in units."""
        return self.queries.tables.extremes[0] * self.factors

    @cached_property
    def highest(self) -> NDArray[np.int64]:
        """(K,): each query's largest weight, in units."""
        return self.queries.tables.extremes[1] * self.factors

    @cached_property
    def largest(self) -> NDArray[np.int64]:
        """(K,): the largest magnitude of each query's weights."""
        return np.maximum(np.abs(self.lowest), np.abs(self.highest))

    @cached_property
    def blocks(self) -> NDArray[np.int64]:
        """(K, 2): the first query and the one beyond the last of those that are measured together with each.

        These are the cells of one marginal, of which each possible record is in one; every other query is measured
        alone.
        """
        each = np.arange(self.queries.count)
        blocks = np.stack([each, each + 1], axis=1)
        for table in self.queries.tables.tables:
            if np.all(np.diff(table.queries) == 1) and table.every_cell_once:
                blocks[table.queries] = table.queries[0], table.queries[-1] + 1
        return blocks

    @cached_property
    def whole_marginals(self) -> bool:
        """Whether every query is one of the cells of a marginal, which are measured together."""
        return bool(np.all(self.blocks[:, 1] - self.blocks[:, 0] > 1))

    def block_of(self, query: int) -> range:
        """The queries that are measured together with this one."""
        return range(*self.blocks[query].tolist())

    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """(K,): the exact answers on a histogram, in units. **Not private.** Callers see to it that they fit int64."""
        return np.array(self.queries.tables.totals(counts), dtype=np.int64) * self.factors

    def query_sensitivities(self, metric: Metric) -> NDArray[np.float64]:
        """(K,): the Lipschitz constant of each query's weights, in units, *rounded up*.

        Raises: UnboundedLoss when a query separates records at distance 0.
        """
        steepest = np.zeros(self.queries.count)
        for table in self.queries.tables.tables:
            if table.axes:
                steepest[table.queries] = self._steepness_of(table, metric)
        return steepest

    def model(self, start: NDArray[np.float64]) -> HistogramModel | CliqueModel:
        """The model that begins with this distribution (N,); in cliques where steps are along whole marginals."""
        if start.min() == start.max() and self.whole_marginals and not self.queries.tables.is_matrix:
            return CliqueModel(self.queries.tables, self.factors)
        return HistogramModel(self.queries.tables, self.factors, start)

    def _steepness_of(self, table: WeightTable, metric: Metric) -> NDArray[np.float64]:
        """On the attributes that the table looks at where the metric is a sum over attributes."""
        shape = self.queries.tables.shape
        fewer = on_axes(metric, shape, table.axes)
        broadcast = [size if axis in table.axes else 1 for axis, size in enumerate(shape)]
        codes = np.ix_(*table.classes)
        factors = self.factors[table.queries].tolist()
        rows = (row * factor for row, factor in zip(chain.from_iterable(table.rows()), factors, strict=True))
        each = (row.reshape(table.shape)[codes] for row in rows)
        if fewer is not None:
            return np.concatenate([query_sensitivities(fewer, weights.reshape(1, -1)) for weights in each])
        whole = (np.broadcast_to(weights.reshape(broadcast), shape).reshape(1, -1) for weights in each)
        return np.concatenate([query_sensitivities(metric, row) for row in whole])


def integer_queries(queries: LinearQueries) -> IntegerQueries:
    """Linear queries over the coarsest unit that they share; *exact*.

    Weights that were given as an array are copied, for sensitivities are found once and draws read the weights again.
    Raises: TooLarge when their weights need too many digits.
    """
    if isinstance(queries.weights, np.ndarray):
        queries = replace(queries, weights=queries.weights.copy())
    return IntegerQueries(queries, *common_unit(queries))


MOST_WHOLE = 2**50


@final
@dataclass(frozen=True, eq=False)
class QueryShifts:
    """What was asked, where other queries are measured: those change by at most ``part`` of the steepest one's change.

    ``shifts`` (K,): max_i |q_i − q'_i|, by how much each record moves an answer at most, in the answer's unit. *Exact*.
    """

    asked: LinearQueries = field(repr=False)
    part: Fraction
    shifts: tuple[Fraction, ...] = field(repr=False)

    @property
    def digest(self) -> str:
        """SHA-256 of what was asked, and how far from it the measured queries are."""
        return canonical_digest("slower queries", self.asked.fingerprint, self.part, self.shifts)

    def biases(self, records: int) -> NDArray[np.float64]:
        """(K,): n·shift, *rounded up*: no answer about n records is further off."""
        return np.array([round_up(records * shift) for shift in self.shifts])


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
    ``shifts``: None where what was asked is what was measured; else ``workload`` is what was measured.
    """

    distribution: NDArray[np.float64] = field(repr=False)
    workload: IntegerQueries = field(repr=False)
    records: int
    measurements: tuple[Measurement, ...] = field(repr=False)
    last_look: LastLook | None = field(repr=False)
    shifts: QueryShifts | None = field(default=None, repr=False)

    @property
    def queries(self) -> LinearQueries:
        """What was asked."""
        return self.workload.queries if self.shifts is None else self.shifts.asked

    @property
    def histogram(self) -> NDArray[np.float64]:
        """(N,): non-negative, its sum is the public number of records."""
        return self.distribution * self.records

    @cached_property
    def answers(self) -> NDArray[np.float64]:
        """(K,): the histogram's answers to the queries."""
        asked = self.workload if self.shifts is None else integer_queries(self.shifts.asked)
        return asked.model(self.distribution).answers() * self.records * float(asked.unit)

    @property
    def exact_answers(self) -> tuple[Fraction, ...]:
        """(K,): the same, as exactly as float64 has them."""
        return tuple(map(Fraction, self.answers.tolist()))

    @property
    def rounding(self) -> NDArray[np.float64]:
        """(K,): how far the truth about raw numbers can be from that about the values that stand for them."""
        return rounding_biases(self.queries.each_rounding, self.records)

    @property
    def biases(self) -> NDArray[np.float64]:
        """(K,): how far a measured query's answer can be from that of the one asked for; 0 where they are the same."""
        return np.zeros(self.queries.count) if self.shifts is None else self.shifts.biases(self.records)

    def error_bounds(self, level: float = 0.95) -> NDArray[np.float64]:
        """(K,): with probability *at least* ``level`` no answer is further from the raw numbers' truth than its bound.

        Definition: of a measured query |answer − value| and what its noise can be; of another one |answer − what the
        model answered before the last selection|, the gap that this selection found, the noise of that gap's
        measurement, and what the selection may have missed. The chance to be wrong, 1 − level, is shared evenly by
        the rounds and the last selection, and a round's part by its measurements: what is measured later, which may
        follow from the noise, changes nothing. What :attr:`rounding` and :attr:`biases` can do comes on top; where
        numbers were clamped to ends that are not the true ones, the truth is about the clamped ones. Up to the rounding
        of float64.
        It holds for any histogram, however it was made of the measurements. Often much larger than the real error: it
        takes the worst case of every measurement at once.
        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        each_round = Counter(one.round for one in self.measurements)
        nats = nats_of(level) + math.log(len(each_round) + (self.last_look is not None))
        bounds = np.full(self.workload.queries.count, np.inf)
        if self.last_look is not None:
            last = next(one for one in reversed(self.measurements) if one.selected)
            noise = last.scale * (nats + math.log(each_round[last.round]))
            found = abs(float(last.value) - last.modelled) + noise + 1.5 * float(last.step)
            missed = self.last_look.per_nat * (math.log(self.workload.queries.count) + nats)
            bounds = np.abs(self.answers - self.last_look.answers) + found + missed
        for one in self.measurements:
            noise = one.noise_within(nats + math.log(each_round[one.round]))
            bounds[one.query] = abs(self.answers[one.query] - float(one.value)) + noise
        return bounds + self.rounding + self.biases

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
                for name, value in zip(self.workload.queries.names, self.answers.tolist(), strict=True)
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


def known_blocks(workload: IntegerQueries, measurements: Sequence[Measurement], records: int) -> list[Known]:
    """The measurements as a model is fitted to them, one for each block."""
    blocks = groupby(measurements, key=lambda one: workload.block_of(one.query).start)
    return [_known(workload, list(ones), records) for _, ones in blocks]


def _known(workload: IntegerQueries, ones: Sequence[Measurement], records: int) -> Known:
    queries = range(ones[0].query, ones[-1].query + 1)
    units = records * float(workload.unit)
    block = slice(queries.start, queries.stop)
    lowest, highest = workload.lowest[block].astype(np.float64), workload.highest[block].astype(np.float64)
    above, below = workload.unit.denominator, workload.unit.numerator
    values = np.array([one.value.numerator * above / (one.value.denominator * below) / records for one in ones])
    scales, steps = np.array([one.scale for one in ones]) / units, np.array([float(one.step) for one in ones]) / units
    widths = np.maximum(highest - lowest, 1.0)
    deviations = np.sqrt(2 * scales**2 + steps**2 / 12)
    return Known(queries, lowest, widths, values, deviations, SOFTENING * scales + widths / records)


def kept_histogram(answer: SyntheticHistogram) -> dict[str, Any]:
    """The histogram as JSON; names of queries are left to what was asked."""
    look = answer.last_look
    return {
        "records": answer.records,
        "distribution": answer.distribution.tolist(),
        "measurements": [
            [one.round, one.selected, one.query, str(one.value), one.scale, str(one.step), one.modelled]
            for one in answer.measurements
        ],
        "last_look": None if look is None else [look.per_nat, *look.answers.tolist()],
    }


def decoded_histogram(
    stored: dict[str, Any], workload: IntegerQueries, shifts: QueryShifts | None = None
) -> SyntheticHistogram:
    """The histogram that was kept."""
    names, look = workload.queries.names, stored["last_look"]
    return SyntheticHistogram(
        np.array(stored["distribution"], dtype=np.float64),
        workload,
        stored["records"],
        tuple(
            Measurement(number, selected, query, names[query], Fraction(value), scale, Fraction(step), modelled)
            for number, selected, query, value, scale, step, modelled in stored["measurements"]
        ),
        None if look is None else LastLook(np.array(look[1:], dtype=np.float64), look[0]),
        shifts,
    )


def histogram_bytes(workload: IntegerQueries) -> int:
    """No histogram over these queries takes more, as shown and as kept, while its exact values have 200 digits.

    Each possible record has a float; each query an answer, perhaps a measurement, and a place in the last look; a
    letter of a name is at most six bytes in JSON.
    """
    queries = sum(2 * (6 * len(name) + 400) + 4 * FLOAT_BYTES for name in workload.queries.names)
    return ANSWER_BYTES + (FLOAT_BYTES + 1) * workload.queries.size + queries
