"""Quantiles drawn among all values of the attribute, likely where little would make them the quantile."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final, get_args

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, described, require, require_exact, require_level
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.contract.histogram_mechanism import HistogramMechanism
from dxgeom.mechanisms.quantiles.largest_length import LargestLength
from dxgeom.mechanisms.quantiles.question import QuantileQuestion
from dxgeom.mechanisms.quantiles.reach import UNREACHED, Reach
from dxgeom.mechanisms.quantiles.reach_of_metric import reach_of
from dxgeom.mechanisms.quantiles.values import QuantileAnswer
from dxgeom.metrics.checking.verification import VerifiedMetric
from dxgeom.noise.discrete.noisy_maximum import LARGEST_SCORE, RATES, SelectionLaw, noisy_largest
from dxgeom.numeric.canonical_digest import canonical_digest
from dxgeom.numeric.randomness import Randomness

_ASKED = "say what is asked with dx.quantiles.quantile_question"


@final
@dataclass(frozen=True, eq=False)
class TransportQuantiles(HistogramMechanism[QuantileAnswer]):
    """Values of the attribute, all alike but for their lengths; the shorter, the more likely.

    Definition: with the lengths of :class:`Reach` and rate = spend/2 per nat. One rank, and each of several where
    lengths add up, is selected on its own by the score −length: by "exponential", P(t) ∝ e^(−rate·len(x; t)); by
    "permute-and-flip", the first in random order that passes a coin of chance e^(−rate·len(x; t)), which never is
    further off in length. Else P(t_1, …, t_m) ∝ e^(−rate·max_k len_k(x; t_k)) under either name. Equal ranks are drawn
    once. The drawn values are then put in order.
    Guarantee: replacing record i by j changes the odds of any answer by at most e^(spend·d(i, j)). The joint length
    changes by at most d(i, j) for every (t_k), up or down. So Σ_k (max_t Δ_k − min_t Δ_k) ≤ 2·d(i, j) for the changes
    Δ_k of lengths that add up, and the odds of a selection change by no more than e^(rate·(max Δ_k − min Δ_k)); of the
    maximum, weight and normaliser change by e^(rate·d(i, j)) each. Drawn *exactly*.
    Source: McSherry & Talwar 2007 and McKenna & Sheldon 2020 for the laws; Smith 2011 for quantiles under ordinary
    differential privacy, where lengths are numbers of records; docs/decisions/028-quantiles.md for metrics and proofs.
    """

    question: QuantileQuestion
    law: SelectionLaw = "permute-and-flip"
    name: str = field(default="transport quantiles", init=False)

    def __post_init__(self) -> None:
        require(self.question, QuantileQuestion, "question", _ASKED)
        if self.law not in get_args(SelectionLaw):
            raise UnsupportedCombination(
                f"'law' is one of {', '.join(get_args(SelectionLaw))}; found {described(self.law)}"
            )

    @property
    def metric(self) -> VerifiedMetric:
        return self.question.metric

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest(self.name, self.law, *self.question.defining)

    @cached_property
    def reach(self) -> Reach:
        """What lengths are made of. Raises: TooLarge."""
        return reach_of(self.metric.metric, self.question.values)

    def lengths(self, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], tuple[int, ...]]:
        """(M, T) in units of ``reach``, a row for each different rank, and these ranks, increasing. **Private.**"""
        tally = self.reach.tally(self.question.counts_asked(counts))
        ranks = tuple(sorted(set(self.question.ranks(int(tally.sum())))))
        return self.reach.lengths(tally, ranks), ranks

    def rate(self, spend: Fraction) -> Fraction:
        """By how much a unit of length lowers the logarithm of a chance."""
        return spend * self.reach.unit / 2

    def transport_bound(self, level: float = 0.95, spend: Fraction = Fraction(1)) -> float:
        """With probability at least ``level`` no length of a drawn value exceeds this many nats, whatever the data.

        Definition: (2/spend)·ln(m·T/(1 − level)) where lengths add up, else (2/spend)·(m·ln T − ln(1 − level)), for m
        levels and T values; up to the rounding of float64. Values of such length are at most T of m rows, or Tᵐ in
        all, and the truth has the length 0; what permute-and-flip finds is stochastically no longer.
        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        require_level(level)
        require_exact(spend, "spend")
        levels, values = len(set(self.question.at)), self.question.values.count
        if self.reach.adds_up:
            return 2 / float(spend) * (math.log(levels * values) - math.log1p(-level))
        return 2 / float(spend) * (levels * math.log(values) - math.log1p(-level))

    def rank_bound(self, records: int, level: float = 0.95, spend: Fraction = Fraction(1)) -> int:
        """With probability at least ``level`` every answer is exact after at most so many records change their value.

        So each is the exact value of some rank that is off by this number at most. Every change costs at least the
        least distance between different values, which ``transport_bound`` is divided by. ``records``: those asked
        about; that many is always enough, and stated where several lengths add up and the bound passes the next rank.
        """
        require(records, WHOLE, "records", "give their public number")
        least = float(self.reach.smallest * self.reach.unit)
        most = self.transport_bound(level, spend) * (1 + 1e-12)
        moved = math.floor(most / least) if least > 0 and most / least < records else records
        ranks = sorted(set(self.question.ranks(max(1, records))))
        room = int(np.diff(ranks).min(initial=records)) if self.reach.adds_up else records
        return moved if moved < room else records

    def statement(self, records: int, level: float = 0.95, spend: Fraction = Fraction(1)) -> str:
        """What can be said of the error beforehand, from public facts alone, in words."""
        moved = self.rank_bound(records, level, spend)
        what = f"with probability {level:g} at most {moved:,} of {records:,} records would have to change their value"
        return f"{what} for each answer to be exact: its rank is off by at most {moved:,}"

    def check(self, data: NDArray[np.int64], spend: Fraction) -> None:
        super().check(data, spend)
        self.question.require_some(data)

    def check_size(self, records: int, spend: Fraction) -> None:
        if self.reach.largest * records >= LARGEST_SCORE:
            raise TooLarge("lengths of so many records leave 62-bit integers: count them in a coarser sample")
        if not RATES[0] <= self.rate(spend) <= RATES[1]:
            raise TooLarge("the lengths' rate leaves the range of float64; rescale the policy or the spend")

    def kept(self, answer: Any) -> Any:
        return [list(answer.ranks), list(answer.places)]

    def recalled(self, kept: Any) -> QuantileAnswer:
        return QuantileAnswer(self.question.values, self.question.at, tuple(kept[0]), tuple(kept[1]))

    def draw(self, data: NDArray[np.int64], spend: Fraction, randomness: Randomness) -> QuantileAnswer:
        return self.draws(data, spend, 1, randomness)[0]

    def draws(
        self, data: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[QuantileAnswer]:
        if not np.any(self.question.counts_asked(data)):
            return [QuantileAnswer(self.question.values, self.question.at, (), ())] * count
        lengths, ranks = self.lengths(data)
        rate, records = self.rate(spend), int(self.question.counts_asked(data).sum())
        if self.reach.adds_up or len(ranks) == 1:
            drawn = _each_alone(lengths, rate, self.law, count, randomness)
        else:
            drawn = _together(lengths, rate, count, randomness)
        return [self._answer(sorted(places), ranks, records) for places in drawn]

    def _answer(self, places: list[int], ranks: tuple[int, ...], records: int) -> QuantileAnswer:
        of_rank = dict(zip(ranks, places, strict=True))
        asked = self.question.ranks(records)
        return QuantileAnswer(self.question.values, self.question.at, asked, tuple(of_rank[r] for r in asked))


def _each_alone(
    lengths: NDArray[np.int64], rate: Fraction, law: SelectionLaw, count: int, randomness: Randomness
) -> list[list[int]]:
    """Each row's place by a selection of its own."""
    rows = [(np.flatnonzero(row != UNREACHED), -row[row != UNREACHED]) for row in lengths]
    return [
        [int(places[noisy_largest(scores, rate, law, randomness)]) for places, scores in rows] for _ in range(count)
    ]


def _together(lengths: NDArray[np.int64], rate: Fraction, count: int, randomness: Randomness) -> list[list[int]]:
    law = LargestLength.of(lengths, rate)
    return [law.draw(randomness) for _ in range(count)]
