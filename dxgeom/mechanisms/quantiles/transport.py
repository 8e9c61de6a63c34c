"""Quantiles drawn among all values of the attribute, likely where little would make them the quantile.

Lengths where records may be absent: how many there are is then as private as their values are. Several places at once,
likely where the largest of their lengths is small.

Quantiles with Laplace noise on their values: for few records, whose quantiles little can move.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final, get_args

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, described, require, require_exact, require_level
from dxgeom.errors import TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.mechanisms.quantiles.question import QuantileAnswer, QuantileQuestion
from dxgeom.mechanisms.quantiles.reach import FINEST, UNREACHED, Reach, reach_of
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.noisy_maximum import LARGEST_SCORE, RATES, SelectionLaw, noisy_largest, noisy_largest_worth
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import Randomness, uniform_integer
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.sealed import cached_property, canonical_digest

LONGEST = 2**61
"""Lengths beyond count as this, which changes no faster."""


def parts_of_a_record(at: Sequence[Fraction]) -> int:
    """Into how many parts records are cut so that every level lies between parts."""
    return math.lcm(*(level.denominator for level in at))


def lengths_with_absence(
    reach: Reach, tally: NDArray[np.int64], at: Sequence[Fraction], stay: int
) -> NDArray[np.int64]:
    """(m, T) in units of ``reach`` over :func:`parts_of_a_record`, a row for each level.

    Args: ``stay``: units that it costs to come or to go, for every record.

    Definition: the least cost, moves to and from absence included, from the table to a measure μ ≥ 0 on records of
    which t is a q-quantile: q·μ(≥ t) ≥ (1 − q)·μ(< t), or for t below, (1 − q)·μ(≤ t) ≥ q·μ(> t). These are convex
    sets of measures, so parts of records may move.

    Closed form: of n records A have values below t, and D = A − q·n is missing. Moving a record up to t or beyond, by
    its distance w, gives 1; adding one gives q and removing one 1 − q, for ``stay``. A unit of what is missing costs w,
    stay/q or stay/(1 − q) so, and removing all A would give more than is missing. So the cheapest is to move the
    nearest records as long as w is below stay/max(q, 1 − q), and to pay that price for the rest: the sum of the D
    smallest min(w, stay/max(q, 1 − q)). In b parts to a record, q = a/b, these are the parts of ranks above a·n.

    Guarantee: *exact* but for the price, which is rounded down, as if it cost a little less to come and go. Adding,
    removing or replacing a record changes each length by its distance at most, for it is a distance to a set. 0 at the
    true quantile, everywhere in an empty table.
    """
    parts = parts_of_a_record(at)
    prices = [math.floor(stay / max(level, 1 - level)) for level in at]
    records = int(tally.sum())
    # Nothing may be refused or overflow by a number that is private: Python's integers where 64 bits might not do.
    wide = records * parts * max(*prices, reach.largest, 1) >= LONGEST
    cut = (tally.astype(object) if wide else tally) * parts
    rows = []
    for level, price in zip(at, prices, strict=True):
        rank = int(level * parts) * records
        row = reach.row(cut, (rank, rank + 1), (0, records * parts + 1), price)
        rows.append(np.minimum(row, LONGEST).astype(np.int64))
    return np.array(rows)


@final
@dataclass(frozen=True, eq=False)
class LargestLength:
    """P(t_1, …, t_m) ∝ exp(−rate·max_k lengths[k, t_k]), lengths below 0 for what has no chance.

    e^(−rate·z) is ∫ rate·e^(−rate·ζ) dζ over ζ ≥ z. So ζ may be drawn first, with a density in proportion to
    e^(−rate·ζ)·Π_k n_k(ζ), n_k the number of places of length at most ζ, and then each t_k among its n_k, all alike.
    Between ``levels``, the lengths that occur, the n_k stay the same, so that only the piece matters that ζ lies in:
    piece j has the weight Π_k n_k·(e^(−rate·level_j) − e^(−rate·level_{j+1})), the last one without what is subtracted.

    ``orders`` (m, T): the places in the order of their length; ``numbers`` (m, J): n_k on piece j, at least 1.
    """

    levels: NDArray[np.int64] = field(repr=False)
    orders: NDArray[np.int64] = field(repr=False)
    numbers: NDArray[np.int64] = field(repr=False)
    rate: Fraction

    @classmethod
    def of(cls, lengths: NDArray[np.int64], rate: Fraction) -> LargestLength:
        """The law of these lengths (m, T); in each row one is 0."""
        orders = np.argsort(lengths, axis=1, kind="stable")
        levels = np.unique(lengths[lengths >= 0])
        numbers = np.array([np.searchsorted(np.sort(row[row >= 0]), levels, side="right") for row in lengths])
        skipped = (lengths < 0).sum(axis=1)
        turned = np.array([np.roll(order, -skip) for order, skip in zip(orders, skipped, strict=True)])
        return cls(levels, turned, numbers, rate)

    def draw(self, randomness: Randomness) -> list[int]:
        """One place of each row. Guarantee: *exactly* the law, given uniform random words."""
        piece = noisy_largest_worth(self.log_weights, self._slacks, self._exact_log_weight, "exponential", randomness)
        drawn = [uniform_integer(int(number), randomness) for number in self.numbers[:, piece]]
        return [int(order[at]) for order, at in zip(self.orders, drawn, strict=True)]

    @cached_property
    def log_weights(self) -> NDArray[np.float64]:
        """(J,): of the pieces, up to the rounding of float64."""
        steps = np.diff(self.levels).astype(np.float64) * float(self.rate)
        return np.asarray(self._log_numbers + np.append(np.log(-np.expm1(-steps)), 0.0) - self._falls)

    @cached_property
    def _slacks(self) -> NDArray[np.float64]:
        """(J,): bounds on the rounding of log_weights: m + 4 operations, none off by more than 2⁻⁵⁰ of what it adds."""
        return np.asarray((1000 + self._log_numbers + self._falls) * (len(self.orders) + 4) * 2.0**-50)

    @cached_property
    def _log_numbers(self) -> NDArray[np.float64]:
        return np.asarray(np.log(self.numbers.astype(np.float64)).sum(axis=0))

    @cached_property
    def _falls(self) -> NDArray[np.float64]:
        return np.asarray(self.levels.astype(np.float64) * float(self.rate))

    def chances(self) -> NDArray[np.float64]:
        """(m, T): of each place in each row, up to the rounding of float64, for predictions."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        # A place has an equal part of every piece that it has a length for.
        parts = np.cumsum((weights / weights.sum() / self.numbers)[:, ::-1], axis=1)[:, ::-1]
        chances = np.zeros(self.orders.shape)
        for row, order, number, part in zip(chances, self.orders, self.numbers, parts, strict=True):
            first = np.searchsorted(number, np.arange(number[-1]), side="right")
            row[order[: number[-1]]] = part[first]
        return chances

    def _exact_log_weight(self, piece: int) -> arb:
        number = np.prod(self.numbers[:, piece].astype(object))
        weight = arb(int(number)).log() - _times(self.rate, int(self.levels[piece]))
        if piece + 1 < len(self.levels):
            step = _times(self.rate, int(self.levels[piece + 1] - self.levels[piece]))
            weight += (-((-step).expm1())).log()
        return weight


def _times(rate: Fraction, units: int) -> arb:
    product = rate * units
    return arb(fmpq(product.numerator, product.denominator))


FINEST_OF_SHARES = 2**14
"""The same as FINEST where people count once: their shares are many more than records, and lengths have 62 bits."""
_ASKED = "say what is asked with dx.quantiles.quantile_question"


@final
@dataclass(frozen=True, eq=False)
class TransportQuantiles(HistogramMechanism[QuantileAnswer]):
    """Values of the attribute, all alike but for their lengths; the shorter, the more likely.

    Definition: with the lengths of :class:`Reach`, or of :func:`lengths_with_absence` where records may be absent, and
    rate = spend/2 per nat. One quantile, and each of several where lengths add up, is selected on its own by the score
    −length: by "exponential", P(t) ∝ e^(−rate·len(x; t)); by "permute-and-flip", the first in random order that passes
    a coin of chance e^(−rate·len(x; t)), which never is further off in length. Several together otherwise have the law
    P(t_1, …, t_m) ∝ e^(−rate·max_k len_k(x; t_k)), under either name. Equal ranks are drawn once, and the drawn values
    put in order.
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
        absence = self.question.absence
        beside = 0.0 if absence is None else round_down(absence.epsilon)
        finest = FINEST if self.shares == 1 else FINEST_OF_SHARES
        return reach_of(self.question.present_metric, self.question.values, beside, finest)

    @property
    def unit(self) -> Fraction:
        """Nats of a unit of length."""
        if self.question.absence is None:
            return self.reach.unit
        return self.reach.unit / parts_of_a_record(self.question.at)

    def lengths(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """(M, T) in units, a row for each of the different ``keys``. **Private.**"""
        return self.lengths_of_tally(self.reach.tally(self.question.counts_asked(counts)))

    def lengths_of_tally(self, tally: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same from the reach's own counts."""
        absence, keys = self.question.absence, self.keys(int(tally.sum()))
        if absence is None:
            return self.reach.lengths(tally, [int(rank) for rank in keys])
        return lengths_with_absence(self.reach, tally, keys, self._stay(absence))

    def keys(self, records: int) -> tuple[Fraction, ...]:
        """The different ranks of so many records, increasing; the different levels where their number is private."""
        return tuple(sorted(set(self._key_of_each_level(records))))

    def is_alone(self, keys: int) -> bool:
        """Whether so many different quantiles are each drawn on their own."""
        return keys == 1 or (self.reach.adds_up and self.question.absence is None)

    def rate(self, spend: Fraction) -> Fraction:
        """By how much a unit of length lowers the logarithm of a chance."""
        return spend * self.unit / 2

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
        if self.is_alone(levels):
            return 2 / float(spend) * (math.log(levels * values) - math.log1p(-level))
        return 2 / float(spend) * (levels * math.log(values) - math.log1p(-level))

    def value_bound(self, level: float = 0.95, spend: Fraction = Fraction(1)) -> float | None:
        """With probability at least ``level`` no answer is further from its quantile than this, whatever the data.

        Definition: how far a record can be brought for ``transport_bound``; in the attribute's own unit, up to the
        rounding of float64. None where records may be absent: the price of those that come or go bounds ranks alone.
        """
        if self.question.absence is not None:
            return None
        values = self.question.values.numbers
        numbers = np.array([float(number - values[0]) for number in values])
        nats = self.transport_bound(level, spend) * self.shares * (1 + 1e-12)
        return self.reach.furthest(numbers, math.floor(nats / self.reach.unit))

    def rank_bound(self, records: int, level: float = 0.95, spend: Fraction = Fraction(1)) -> int | None:
        """With probability at least ``level`` no answer's rank is off by more than this; None where that is unknown.

        Definition: ``transport_bound`` over the least that one rank costs: the least distance between different values
        or, where records may be absent, the least price of coming and going; there one rank more. ``records``: those
        asked about. Their number is stated where the bound passes it or, with lengths that add up, the next rank; where
        it is private, it is not used.
        """
        require(records, WHOLE, "records", "give the number of records asked about")
        absence, least = self.question.absence, self.reach.smallest
        if absence is not None:
            prices = [self._stay(absence) // max(level_, 1 - level_) for level_ in self.question.at]
            least = int(min([least, *prices] if least else prices))
        cost = float(least * self.reach.unit)
        off = self.transport_bound(level, spend) * (1 + 1e-12) / cost if cost > 0 else math.inf
        # Ranks are whole, but where people count once they go by shares.
        whole = math.isinf(off) or self.shares == 1
        if absence is not None:
            return None if math.isinf(off) else math.floor(off) + (1 if whole else 2)
        ranks = [int(rank) for rank in self.keys(max(1, records) * self.shares)]
        room = int(np.diff(ranks).min(initial=records * self.shares)) / self.shares
        if not off < (room if self.reach.adds_up else records):
            return records
        return math.floor(off) if whole else math.ceil(off)

    def statement(self, records: int, level: float = 0.95, spend: Fraction = Fraction(1)) -> str:
        """What can be said of the error beforehand, from public facts alone, in words."""
        off = self.rank_bound(records, level, spend)
        if off is None:
            return "some values are at distance 0, so that nothing can be said of the ranks of answers"
        said = f"with probability {level:g} the rank of each answer is off by at most {off:,}"
        if self.question.absence is not None:
            return said
        counted = "records" if self.metric.people is None else self.metric.people.records_are
        return f"{said}: of {records:,} {counted} no more would have to change their value for it to be exact"

    def check(self, data: NDArray[np.int64], spend: Fraction) -> None:
        super().check(data, spend)
        self.question.require_some(data)

    def check_size(self, records: int, spend: Fraction) -> None:
        if self.question.absence is None and self.reach.largest * records * self.shares >= LARGEST_SCORE:
            raise TooLarge("lengths of so many records leave 62-bit integers: count them in a coarser sample")
        if not RATES[0] <= self.rate(spend / self.shares) <= RATES[1]:
            raise TooLarge("the lengths' rate leaves the range of float64; rescale the policy or the spend")

    def encode_answer(self, answer: Any) -> Any:
        return [None if answer.ranks is None else list(answer.ranks), list(answer.places)]

    def decode_answer(self, stored: Any) -> QuantileAnswer:
        return QuantileAnswer(
            self.question.values, self.question.at, None if stored[0] is None else tuple(stored[0]), tuple(stored[1])
        )

    def drawn(
        self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[QuantileAnswer]:
        """Ranks are counted in shares where people count once."""
        records = int(self.question.counts_asked(counts).sum())
        if records == 0 and self.question.absence is None:
            return [QuantileAnswer(self.question.values, self.question.at, (), ())] * count
        lengths, rate = self.lengths(counts), self.rate(spend)
        if self.is_alone(len(lengths)):
            drawn = _each_alone(lengths, rate, self.law, count, randomness)
        else:
            drawn = _together(lengths, rate, count, randomness)
        return [self._answer(sorted(places), records) for places in drawn]

    def _answer(self, places: list[int], records: int) -> QuantileAnswer:
        question = self.question
        drawn = dict(zip(self.keys(records), places, strict=True))
        ranks = question.ranks(records) if question.absence is None and self.shares == 1 else None
        released = tuple(drawn[key] for key in self._key_of_each_level(records))
        return QuantileAnswer(question.values, question.at, ranks, released)

    def _key_of_each_level(self, records: int) -> tuple[Fraction, ...]:
        if self.question.absence is not None:
            return self.question.at
        return tuple(map(Fraction, self.question.ranks(records)))

    def _stay(self, absence: PresenceMetric) -> int:
        """Units that it costs to come or to go, *rounded down*."""
        return int(Fraction(round_down(absence.epsilon)) // self.reach.unit)


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
