"""Multiplicative weights: a synthetic histogram that learns from the queries it answers worst."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.histogram_mechanism import HistogramMechanism
from dxgeom.mechanisms.selection import choose, require_rate, require_scores_fit
from dxgeom.mechanisms.synthetic import Measurement, SyntheticHistogram, as_measured, replay
from dxgeom.mechanisms.workload import Model, Workload
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.laplace import LaplaceNoise
from dxgeom.numeric.randomness import Randomness

STEPS_PER_SENSITIVITY = 16
"""The lattice is at most this part of the smallest sensitivity; a measurement's noise is 2T times wider still."""
MOST_ROUNDS = 100_000
MOST_REPLAYS = 1000


@final
@dataclass(frozen=True, eq=False)
class Mwem(HistogramMechanism[SyntheticHistogram]):
    """In each of T rounds the query with a large error is selected, measured, and the model reweighed towards it.

    Definition: y⁰ = n·start. In round t permute-and-flip selects a query k by the scores |q_k(x) − q_k(y)|, at the cost
    of spend·d/2T; m = q_k(x) + Laplace noise of scale c_k·2T/spend costs as much; then
    y_i ← y_i·exp(q_k,i·(m − q_k(y))/(2n·w_k²)), scaled to n, with w_k = max_i |q_k,i|. The answer is the average of
    y⁰, …, y^{T−1}. ``together``: a cell of a marginal is measured with all its other cells, at twice the scale of the
    steepest, and the step goes along all of them. ``replays``: after each round the model also steps along all that was
    measured so far, so often; that looks at nothing private, and y^t is then the model after it.

    ``steepness`` (K,): c_k = max |q_k,i − q_k,j|/d(i, j) in units, rounded up; scores change by at most max_k c_k·d.
    ``fineness``: the lattice's steps per unit. ``start`` (N,): a public distribution. ``rounds``: None for
    :meth:`rounds_for`.

    Guarantee: replacing record i by j changes the odds of any output by at most e^(spend·d(i, j)): 2T adaptive steps of
    spend·d/2T each, in exact fractions. Scores compare exact integers with public ones; noise is exact.
    Source: Kamalaruban et al. 2020, §3.4, after Hardt, Ligett & McSherry 2012; corrected: measurement and model are
    compared on the same scale (printed: c·q'(x) with q'(y)), and the step is taken along c·q' within [−1, 1].
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    workload: Workload = field(repr=False)
    steepness: NDArray[np.float64] = field(repr=False)
    fineness: int
    start: NDArray[np.float64] = field(repr=False)
    rounds: int | None
    together: bool
    replays: int

    @cached_property
    def fingerprint(self) -> str:
        choices = (self.fineness, self.rounds, self.together, self.replays)
        digest = hashlib.sha256(repr((self.metric.fingerprint, self.workload.fingerprint, choices)).encode())
        digest.update(self.steepness.tobytes() + self.start.tobytes())
        return digest.hexdigest()

    def rounds_for(self, records: int, spend: Fraction) -> int:
        """T, as given or else where 2n√(ln N/T) + 10·T·c·ln K/spend is least: a bound that looks at no data.

        Source: Hardt, Ligett & McSherry 2012, Theorem 2.2, for queries scaled to [−1, 1].
        """
        if self.rounds is not None:
            return self.rounds
        steepest = float(np.max(self.steepness / np.maximum(self.workload.reaches, 1)))
        cost = 10 * steepest * math.log(max(self.workload.count, 2)) / float(spend)
        if cost == 0:
            return self.workload.count
        best = math.pow(records * math.sqrt(math.log(max(self.workload.size, 2))) / cost, 2 / 3)
        return max(1, min(round(best), self.workload.count, MOST_ROUNDS))

    def check_size(self, records: int, spend: Fraction) -> None:
        if records < 1:
            raise UnsupportedCombination("a synthetic histogram needs at least one record")
        require_scores_fit(2 * int(self.workload.reaches.max()) * records * self.fineness)
        share = self._share(records, spend)
        require_rate(self._largest_lead, share)
        if self._largest_lead > 0:
            LaplaceNoise(np.array([self._largest_lead])).check_size(1 / share)

    def draw(self, data: NDArray[np.int64], spend: Fraction, randomness: Randomness) -> SyntheticHistogram:
        records = int(data.sum())
        share = self._share(records, spend)
        exact = self.workload.totals(data) * self.fineness
        model = self.workload.model(self.start)
        measured: list[Measurement] = []
        known: list[tuple[range, NDArray[np.float64]]] = []
        for number in range(self.rounds_for(records, spend)):
            ones = self._round(number, exact, share, (model, records), randomness)
            measured += ones
            known.append(as_measured(self.workload, ones, records))
            replay(self.workload, model, known, self.replays)
        per_nat = self._largest_lead / float(share) * float(self._step)
        return SyntheticHistogram(
            model.distributions()[1], self.start, self.workload, records, tuple(measured), per_nat
        )

    @property
    def _step(self) -> Fraction:
        return self.workload.unit / self.fineness

    @property
    def _largest_lead(self) -> float:
        """How far a lead between two scores can change for each unit of distance, in steps: one rises, one falls."""
        return 2 * self.fineness * float(self.steepness.max())

    def _share(self, records: int, spend: Fraction) -> Fraction:
        return spend / (2 * self.rounds_for(records, spend))

    def _round(
        self, number: int, exact: NDArray[np.int64], share: Fraction, view: tuple[Model, int], randomness: Randomness
    ) -> list[Measurement]:
        """Select, measure, reweigh; ``view``, the model and the number of records, is public."""
        model, records = view
        modelled = model.answers()
        in_steps = np.rint(modelled * records * self.fineness).astype(np.int64)
        picked = choose(np.abs(exact - in_steps), self._largest_lead, share, "permute-and-flip", randomness)
        queries = range(*self.workload.blocks[picked].tolist()) if self.together else range(picked, picked + 1)
        scale = self._scale(queries)
        values = exact[queries.start : queries.stop].tolist()
        if scale > 0:
            noise = LaplaceNoise(np.full(len(queries), scale)).draw(1, randomness, 1 / share)[0].tolist()
            values = [value + drawn for value, drawn in zip(values, noise, strict=True)]
        measured = np.array(values, dtype=np.float64) / self.fineness / records
        model.reweigh(queries, self.workload.exponents(queries, measured, modelled))
        return [
            Measurement(
                number,
                query == picked,
                query,
                self.workload.names[query],
                value * self._step,
                scale / float(share) * float(self._step),
                self._step,
                float(modelled[query]) * records * float(self.workload.unit),
            )
            for query, value in zip(queries, values, strict=True)
        ]

    def _scale(self, queries: range) -> float:
        """Of the noise of each answer at spend 1, in steps.

        A replaced record leaves one query of a block and enters another, so Σ |Δ_k|/scale ≤ 2·max c_k·d/scale.
        """
        steepest = float(self.steepness[queries.start : queries.stop].max())
        return self.fineness * steepest * min(len(queries), 2)


def mwem(
    metric: VerifiedMetric,
    workload: Workload,
    *,
    rounds: int | None = None,
    start: ArrayLike | None = None,
    together: bool = True,
    replays: int = 0,
) -> Mwem:
    """Multiplicative weights for a workload under a metric.

    Args: ``rounds``: T, or None to have it chosen by :meth:`Mwem.rounds_for`. ``start`` (N,): positive numbers that the
    first model is proportional to; None for all equal. It must be public: it is not protected. ``together``: measure
    the cells of a marginal together, which a record can enter and leave but once. ``replays``: how
    often each round goes over all earlier measurements again, so that the next selection looks for something new.
    Raises: UnsupportedCombination when metric and workload are not about the same records, or for a start or rounds
    that make no sense; UnboundedLoss when a query separates records at distance 0.
    """
    if not isinstance(metric, VerifiedMetric):
        raise UnsupportedCombination("mechanisms accept verified metrics only: use verify_metric, or compile a policy")
    if metric.size != workload.size:
        raise UnsupportedCombination(
            f"the metric is on {metric.size:,} record types, the workload on {workload.size:,}; they must be the same"
        )
    if metric.absent is not None:
        raise UnsupportedCombination(
            "multiplicative weights use the number of records, which a policy with a rule about presence keeps private"
        )
    if rounds is not None and not 1 <= rounds <= MOST_ROUNDS:
        raise UnsupportedCombination(f"rounds are between 1 and {MOST_ROUNDS:,}, found {rounds}")
    if not 0 <= replays <= MOST_REPLAYS:
        raise UnsupportedCombination(f"replays are between 0 and {MOST_REPLAYS:,}, found {replays}")
    steepness = workload.steepness(metric.metric)
    begin = _public_start(start, metric.size)
    return Mwem("mwem", metric, workload, steepness, _fineness(steepness), begin, rounds, together, replays)


def _fineness(steepness: NDArray[np.float64]) -> int:
    """A power of two, so that nothing is rounded when sensitivities are multiplied by it."""
    noisy = steepness[steepness > 0]
    if not noisy.size:
        return 1
    needed = math.ceil(math.log2(STEPS_PER_SENSITIVITY / float(noisy.min())))
    if needed > 50:
        raise TooLarge("a query's sensitivity is too small next to its unit; rescale its weights or the policy")
    return 1 << max(needed, 0)


def _public_start(start: ArrayLike | None, size: int) -> NDArray[np.float64]:
    weights = np.ones(size) if start is None else np.asarray(start, dtype=np.float64)
    if weights.shape != (size,) or not np.all((weights > 0) & (weights < 1e100)) or weights.min() < 1e-100:
        raise UnsupportedCombination(f"a start has one positive number for each of the {size:,} record types")
    return np.asarray(weights / weights.sum())
