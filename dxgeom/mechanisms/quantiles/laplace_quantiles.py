"""Quantiles with Laplace noise on their values: for few records, whose quantiles little can move."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require, require_exact, require_level
from dxgeom.errors import TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.mechanisms.quantiles.question import QuantileAnswer, QuantileQuestion
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest

_LARGEST_NUMBER = 2**50
_STEPS_PER_SCALE = 2**10


@final
@dataclass(frozen=True, eq=False)
class LaplaceQuantiles(HistogramMechanism[QuantileAnswer]):
    """Each quantile plus Laplace noise, then the nearest value of the attribute, the lower of two.

    Definition: the noise has the scale max |v_i − v_j|/(spend·d(i, j)) over generating pairs, *rounded up*, for each of
    any number of different ranks; it is drawn exactly and rounded to a lattice on which all values lie. Equal ranks get
    one noise, and the answers are put in order.
    Guarantee: replacing record i by j changes the odds of any answer by at most e^(spend·d(i, j)): it shifts the sorted
    values by |v_i − v_j| in all, and the asked quantiles are some of these, so together they move by no more. Taking
    nearest values and sorting look at nothing private.
    Raises: UnsupportedCombination where records may be absent; UnboundedLoss where records of different values are at
    distance 0; TooLarge for numbers of too many digits.
    """

    question: QuantileQuestion
    name: str = field(default="laplace quantiles", init=False)

    def __post_init__(self) -> None:
        require(self.question, QuantileQuestion, "question", "say what is asked with quantile_question")
        if self.question.absence is not None:
            raise UnsupportedCombination(
                "Laplace noise hides a quantile of a public number of records: where records may be absent, one that "
                "comes or goes may move it from one end to the other. Ask with form='transport'"
            )
        if self.shares > 1:
            raise UnsupportedCombination(
                "Laplace noise hides a quantile of whole records: where people are spread over their rows it is one of "
                "shares, which one person can move like many records. Ask with form='transport'"
            )
        _ = self.law

    @property
    def metric(self) -> VerifiedMetric:
        return self.question.metric

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest(self.name, *self.question.defining, self.finer, self.law)

    @cached_property
    def whole_numbers(self) -> tuple[NDArray[np.int64], Fraction]:
        """(T,): the values in whole units from the least one, and the unit; *exact*."""
        numbers = self.question.values.numbers
        below = math.lcm(*(number.denominator for number in numbers))
        shifted = [int((number - numbers[0]) * below) for number in numbers]
        part = math.gcd(*shifted) or 1
        if shifted[-1] // part >= _LARGEST_NUMBER:
            raise TooLarge("over their common unit the values of a quantile stay below 2**50: round them")
        return np.array([number // part for number in shifted], dtype=np.int64), Fraction(part, below)

    @cached_property
    def steepest(self) -> float:
        """max |v_i − v_j|/d(i, j) in units, *rounded up*."""
        constant = lipschitz(self.metric, self.whole_numbers[0][self.question.values.places])
        if math.isinf(constant):
            raise UnboundedLoss(
                "records of different values are at distance 0, so no noise on a quantile can hide them"
            )
        return constant

    @property
    def finer(self) -> int:
        """The lattice has 2^finer steps in a unit."""
        if self.steepest == 0:
            return 0
        room = 61 - int(self.whole_numbers[0][-1]).bit_length()
        return max(0, min(room, math.ceil(math.log2(_STEPS_PER_SCALE / self.steepest))))

    @cached_property
    def law(self) -> LaplaceNoise | None:
        """The noise of one quantile at spend 1, in lattice steps; None where nobody can move a quantile."""
        return None if self.steepest == 0 else LaplaceNoise(np.array([self.steepest * 2.0**self.finer]))

    def scale(self, spend: Fraction = Fraction(1)) -> float:
        """The noise's, in the attribute's own unit: the mean absolute error before the nearest value is taken."""
        require_exact(spend, "spend")
        return self.steepest * float(self.whole_numbers[1]) / float(spend)

    def value_bound(self, level: float = 0.95, spend: Fraction = Fraction(1)) -> float:
        """With probability at least ``level`` no answer is further from its quantile than this, whatever the data.

        Definition: scale·ln(m/(1 − level)), a step of the lattice, and half the widest gap of values, which is what the
        nearest value may add; in the attribute's own unit, up to the rounding of float64.
        """
        require_level(level)
        levels = len(set(self.question.at))
        unit = float(self.whole_numbers[1])
        nearest = float(np.diff(self.whole_numbers[0]).max(initial=0)) / 2 * unit
        lattice = 0.0 if self.law is None else unit / 2.0**self.finer
        return self.scale(spend) * (math.log(levels) - math.log1p(-level)) + lattice + nearest

    def statement(self, records: int, level: float = 0.95, spend: Fraction = Fraction(1)) -> str:
        """What can be said of the error beforehand, from public facts alone, in words."""
        del records
        return f"with probability {level:g} each answer is within {self.value_bound(level, spend):.4g} of its quantile"

    def check(self, data: NDArray[np.int64], spend: Fraction) -> None:
        super().check(data, spend)
        self.question.require_some(data)

    def check_size(self, records: int, spend: Fraction) -> None:
        if self.law is not None:
            self.law.check_size(1 / spend)

    def encode_answer(self, answer: Any) -> Any:
        return [list(answer.ranks), list(answer.places)]

    def decode_answer(self, stored: Any) -> QuantileAnswer:
        return QuantileAnswer(self.question.values, self.question.at, tuple(stored[0]), tuple(stored[1]))

    def drawn(
        self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[QuantileAnswer]:
        upto = np.cumsum(self._tally(counts))
        return [self._one(upto, spend, randomness) for _ in range(count)]

    def _one(self, upto: NDArray[np.int64], spend: Fraction, randomness: Randomness) -> QuantileAnswer:
        """``upto`` (T,): how many have at most each value."""
        question = self.question
        if upto[-1] == 0:
            return QuantileAnswer(question.values, question.at, (), ())
        asked = question.ranks(int(upto[-1]))
        ranks = sorted(set(asked))
        places = np.searchsorted(upto, ranks)
        released = sorted(self._noisy(places, spend, randomness))
        of_rank = dict(zip(ranks, released, strict=True))
        return QuantileAnswer(question.values, question.at, asked, tuple(of_rank[rank] for rank in asked))

    def _tally(self, data: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = np.zeros(self.question.values.count, dtype=np.int64)
        np.add.at(sums, self.question.values.places, self.question.counts_asked(data))
        return sums

    def _noisy(self, places: NDArray[np.int64], spend: Fraction, randomness: Randomness) -> list[int]:
        """The places of the values nearest to these plus noise; Python's integers, which do not overflow."""
        if self.law is None:
            return [int(place) for place in places]
        numbers = self.whole_numbers[0] << self.finer
        noise = self.law.draw(len(places), randomness, 1 / spend)[:, 0].tolist()
        low, high = 0, int(numbers[-1])
        noisy = [min(max(int(numbers[place]) + one, low), high) for place, one in zip(places, noise, strict=True)]
        above = np.minimum(np.searchsorted(numbers, noisy), len(numbers) - 1)
        below = np.maximum(above - 1, 0)
        nearer = np.array(noisy) - numbers[below] <= numbers[above] - np.array(noisy)
        return [int(place) for place in np.where(nearer, below, above)]
