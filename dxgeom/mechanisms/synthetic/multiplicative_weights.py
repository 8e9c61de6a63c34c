"""Multiplicative weights: a synthetic histogram that learns from the queries it answers worst.

Measuring a whole workload at once, where selecting would not pay. How a spend is shared by rounds that select and
measure, each at the cost of pure privacy, as the account adds up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import NoneType
from typing import Any, ClassVar, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import WHOLE, array_of, require, require_exact
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import max_min_laplace
from dxgeom.mechanisms.linear.sensitivity import (
    on_records_of,
    require_public_number,
    require_written_for,
    sensitivity_of,
)
from dxgeom.mechanisms.selection.selections import (
    charged_lead,
    choose,
    costs_half,
    require_half,
    require_rate,
    require_scores_fit,
)
from dxgeom.mechanisms.synthetic.models import PASSES_BETWEEN, Known, fit, last_passes
from dxgeom.mechanisms.synthetic.slower_queries import parts_to_try, public_tables, slower_queries
from dxgeom.mechanisms.synthetic.synthetic import (
    IntegerQueries,
    LastLook,
    Measurement,
    QueryShifts,
    SyntheticHistogram,
    decoded_histogram,
    histogram_bytes,
    integer_queries,
    kept_histogram,
    known_blocks,
)
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.law import WIDEST
from dxgeom.noise.noisy_maximum import SelectionLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal
from dxgeom.privacy.measures import PrivacyMeasure, privacy_measure_of
from dxgeom.universe.queries import LinearQueries

MOST_QUERIES = 5000
"""More queries than this are not measured at once: to find their noise takes minutes."""
MOST_WEIGHTS = 20_000_000


def measured_at_once(metric: VerifiedMetric, queries: LinearQueries) -> AdditiveMechanism:
    """All queries at once, with the Laplace scales that make the worst answer as good as possible.

    Under a metric that is a sum over attributes, a record that changes one of them leaves most marginals alone; so the
    noise is far below that of as many rounds.
    Guarantee: the mechanism's. Answers are *exact* sums plus noise.
    Raises: TooLarge when the queries are too many, or their weights would have to be rounded; UnboundedLoss.
    """
    if queries.count > MOST_QUERIES:
        raise TooLarge(f"at most {MOST_QUERIES:,} queries are measured at once, found {queries.count:,}: give rounds")
    tables = () if queries.tables.is_matrix else queries.tables.tables
    if any(len(table.queries) * table.cells > MOST_WEIGHTS for table in tables):
        raise TooLarge(f"tables that are measured at once have at most {MOST_WEIGHTS:,} weights: give rounds")
    mechanism = max_min_laplace(sensitivity_of(metric, queries))
    if any(mechanism.sensitivity.queries.weight_errors):
        raise TooLarge("the queries' weights are too fine next to their noise; round them to fewer digits")
    return mechanism


SELECTING: Final = Fraction(1, 3)
"""The part of a round's budget that selects; the rest measures. Half each, as printed, errs more on census data."""
_DIGITS: Final = 9


def _share_of_round(privacy_measure: PrivacyMeasure, spend: Fraction, rounds: int) -> Fraction:
    """What each of so many rounds has, of which :data:`SELECTING` selects and the rest measures.

    Definition: spend/T; or, where squares add up, the largest r with T·r²·(1/9 + 4/9) ≤ spend², *rounded down* to nine
    digits: pure privacy at ε is concentrated at ε, and 2T of these, each chosen by earlier outputs, add up in squares.
    Source: Bun & Steinke 2016, Lemma 2.3 and Prop. 3.3.
    """
    if not privacy_measure.squares:
        return spend / rounds
    exact = privacy_measure.spend_below(spend * spend / (rounds * _parts()))
    unit = Fraction(10) ** (math.floor(math.log10(exact)) + 1 - _DIGITS)
    return exact // unit * unit


def _best_rounds(privacy_measure: PrivacyMeasure, reach: float, cost: float) -> float:
    """T where 2·reach/√T + cost·(what a round spends at T = 1 over what it does) is least; ``cost`` positive."""
    if not privacy_measure.squares:
        return math.pow(reach / cost, 2 / 3)
    return 2 * reach / (cost * math.sqrt(_parts()))


def _parts() -> Fraction:
    return SELECTING**2 + (1 - SELECTING) ** 2


def _worth_it(*, marginals: bool) -> int:
    """Everything is measured at once unless its noise is more than so many times that of the rounds, which leave most
    of the workload unmeasured, of whole marginals all but T. On census data that is about where both err alike."""
    return 4 if marginals else 2


STEPS_PER_SENSITIVITY = 16
"""The lattice is at most this part of the smallest sensitivity; a measurement's noise is T times wider still."""


@final
@dataclass(frozen=True, eq=False)
class Mwem(HistogramMechanism[SyntheticHistogram]):
    """In each of T rounds a query with a large error is selected and measured, and the model fitted to all so far.

    Definition: y⁰ = start. ``law`` selects a query k by the scores |q_k(x) − n·q_k(y)| among those that were not
    measured yet, at the cost of spend·d/3T. The cells of its marginal, or the query alone where it is not of a
    marginal, are measured with Laplace noise at the cost of 2·spend·d/3T. y^t is y^(t−1) reweighed along all that was
    measured (:func:`dxgeom.mechanisms.synthetic.models.fit`). The answer is y^T. With T = 0 nothing is selected:
    everything is measured at once (:func:`measured_at_once`) costs spend·d.
    Under concentrated privacy squares add up, and a round has more: ``_share_of_round``; there the law is exponential,
    at twice the rate (:func:`dxgeom.mechanisms.selection.selections.charged_lead`). Elsewhere it is permute-and-flip,
    and so it is in plan files of earlier versions.

    ``query_sensitivities`` (K,): c_k = max |q_k,i − q_k,j|/d(i, j) in units, rounded up; scores change by at
    most max_k c_k·d.
    The cells of a marginal have noise of scale 2·max c_k·3T/(2·spend): a replaced record leaves one and enters another.
    ``fineness``: the lattice's steps per unit. ``start`` (N,): a public distribution. ``rounds``: None for
    :meth:`rounds_for`. ``shifts``: where other queries than those asked for are measured, which ``workload`` then is:
    how far they are off.

    Guarantee: replacing record i by j changes the odds of any output by at most e^(spend·d(i, j)): T selections and T
    measurements, each chosen by earlier outputs, whose exact fractions of spend·d add up to it; under a metric of
    concentrated privacy D_α is at most α·(spend·d)²/2, and the squares add up. What is left to select
    from, the model and T follow from public numbers and earlier outputs. Scores compare exact integers with public
    ones; noise is exact.
    Source: Kamalaruban et al. 2020, §3.4, after Hardt, Ligett & McSherry 2012; corrected: measurement and model are
    compared on the same scale (printed: c·q'(x) with q'(y)). Their step, their average over rounds and their even split
    are replaced: docs/decisions/022.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    workload: IntegerQueries = field(repr=False)
    query_sensitivities: NDArray[np.float64] = field(repr=False)
    fineness: int
    start: NDArray[np.float64] = field(repr=False)
    rounds: int | None
    law: SelectionLaw = "permute-and-flip"
    shifts: QueryShifts | None = None
    needs_whole_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        seal(self)
        if self.at_half:
            require_half(self.metric, self.law)

    @cached_property
    def fingerprint(self) -> str:
        asked = (self.metric.fingerprint, self.workload.queries.fingerprint, self.query_sensitivities)
        said = ["rounds in squares"] * self._privacy_measure.squares
        said += [f"{self.law} at half"] * self.at_half
        said += ["at once up to four"] * (self.rounds is None and self.workload.whole_marginals)
        said += [] if self.shifts is None else [self.shifts.digest]
        return canonical_digest("mwem", self.name, *asked, self.fineness, self.rounds, self.start, *said)

    @property
    def at_half(self) -> bool:
        """Whether its law is charged half the range of its odds."""
        return self.law == "exponential"

    @property
    def _privacy_measure(self) -> PrivacyMeasure:
        return privacy_measure_of(self.metric.privacy)

    def rounds_for(self, records: int, spend: Fraction) -> int:
        """T, as given or else where 2n√(ln N/T) + 10·c·ln K/share is least, c the steepest block's; no data is read.

        0 where everything can be measured at once with at most twice the noise, four times where all are marginals, in
        root mean square, that each query would have in one of T rounds.
        Source: Hardt, Ligett & McSherry 2012, Theorem 2.2, for queries scaled to [−1, 1].
        """
        if self.rounds is not None:
            return self.rounds
        steepest = np.max(self._block_steepness / np.maximum(self.workload.largest, 1))
        cost = 10 * float(steepest) * math.log(max(self.workload.queries.count, 2)) / float(spend)
        best = math.inf
        if cost > 0:
            best = _best_rounds(self._privacy_measure, records * math.sqrt(math.log(max(self.metric.size, 2))), cost)
        rounds = max(1, round(min(best, len(np.unique(self.workload.blocks[:, 0])))))
        worth = _worth_it(marginals=self.workload.whole_marginals)
        return 0 if self._total_at_once <= worth**2 * self._total_of(rounds) else rounds

    def bound_by_steepness(self, records: int, spend: Fraction) -> tuple[float, float]:
        """(price, power): a bound of all errors is price·c^power where T is best and all queries are of steepness c.

        Definition: of what :meth:`rounds_for` makes small, the least over all T: 3·(n·w·√ln N)^⅔·(10·c·ln K/spend)^⅓
        for queries of weights up to w; under concentrated privacy by the share of a round there, with the power ½.
        """
        reach = records * float(self.workload.largest.max()) * math.sqrt(math.log(max(self.metric.size, 2)))
        cost = 10 * math.log(max(self.workload.queries.count, 2)) / float(spend)
        if self._privacy_measure.squares:
            return 2 * math.sqrt(2 * reach * cost * math.sqrt(_parts())), 1 / 2
        return 3 * math.pow(reach, 2 / 3) * math.pow(cost, 1 / 3), 1 / 3

    def check_size(self, records: int, spend: Fraction) -> None:
        if records < 1:
            raise UnsupportedCombination("a synthetic histogram needs at least one record")
        require_written_for(self.workload.queries.records, records)
        require_scores_fit(2 * int(self.workload.largest.max()) * records * self.fineness * self.shares)
        rounds = self.rounds_for(records, spend)
        if rounds == 0:
            self._at_once.check_size(records, spend)
            return
        share = _share_of_round(self._privacy_measure, spend / self.shares, rounds)
        require_rate(self._charged_lead, share * SELECTING)
        if self._largest_lead > 0:
            LaplaceNoise(np.array([self._largest_lead])).check_size(1 / (share * (1 - SELECTING)), self._noise_bits)

    def drawn(
        self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[SyntheticHistogram]:
        return [self._one(counts, spend, randomness) for _ in range(count)]

    def _one(self, data: NDArray[np.int64], spend: Fraction, randomness: Randomness) -> SyntheticHistogram:
        """``spend``: of a share; rounds are chosen for people."""
        records = int(data.sum()) // self.shares
        rounds = self.rounds_for(records, spend * self.shares)
        if rounds > 0:
            return self._learnt(self.workload.totals(data) * self.fineness, records, rounds, spend, randomness)
        model = self.workload.model(self.start)
        measured = self._everything(model.answers() * records, data, spend, randomness)
        known = known_blocks(self.workload, measured, records)
        fit(model, known, last_passes(len(known), self.metric.size))
        return SyntheticHistogram(model.distribution(), self.workload, records, measured, None, self.shifts)

    def encode_answer(self, answer: Any) -> Any:
        return kept_histogram(answer)

    def decode_answer(self, stored: Any) -> SyntheticHistogram:
        return decoded_histogram(stored, self.workload, self.shifts)

    def answer_bytes(self, spend: Fraction) -> int:
        return histogram_bytes(self.workload)

    @property
    def _noise_bits(self) -> int:
        return 62 if self.shares == 1 else WIDEST

    @property
    def _step(self) -> Fraction:
        """Of the lattice: sums over people who count once are of shares."""
        return self.workload.unit / (self.fineness * self.shares)

    @cached_property
    def _at_once(self) -> AdditiveMechanism:
        return measured_at_once(self.metric, self.workload.queries)

    @cached_property
    def _total_at_once(self) -> float:
        """Of the squared scales in units, at spend 1; infinite where not everything can be measured at once."""
        try:
            return float(self._at_once.ideal_variances.sum()) / 2 / float(self.workload.unit) ** 2
        except TooLarge:
            return math.inf

    def _total_of(self, rounds: int) -> float:
        """The same, if each query had the noise that it has in one of so many rounds."""
        share = float(_share_of_round(self._privacy_measure, Fraction(1), rounds) * (1 - SELECTING))
        return float(np.sum((self._block_steepness / share) ** 2))

    @cached_property
    def _block_steepness(self) -> NDArray[np.float64]:
        """(K,): for each query, by how much Σ |Δ_k| over its block can change for each unit of distance, at most.

        A replaced record leaves one query of a block and enters another.
        """
        firsts, beyond = self.workload.blocks.T
        starts = np.unique(firsts)
        steepest = np.maximum.reduceat(self.query_sensitivities, starts)[np.searchsorted(starts, firsts)]
        return np.asarray(steepest * np.minimum(beyond - firsts, 2))

    @property
    def _largest_lead(self) -> float:
        """How far a lead between two scores can change for each unit of distance, in steps: one rises, one falls."""
        return 2 * self.fineness * float(self.query_sensitivities.max())

    @property
    def _charged_lead(self) -> float:
        return charged_lead(self._largest_lead, at_half=self.at_half)

    def _everything(
        self, modelled: NDArray[np.float64], data: NDArray[np.int64], spend: Fraction, randomness: Randomness
    ) -> tuple[Measurement, ...]:
        (values,) = self._at_once.drawn(data, spend, 1, randomness)
        scales = np.sqrt(self._at_once.ideal_variances / 2) / float(spend * self.shares)
        steps, unit = self._at_once.sensitivity.queries.steps, float(self.workload.unit)
        return tuple(
            Measurement(0, False, query, name, values[query], float(scales[query]), steps[query], expected * unit)
            for query, (name, expected) in enumerate(zip(self.workload.queries.names, modelled.tolist(), strict=True))
        )

    def _learnt(
        self, exact: NDArray[np.int64], records: int, rounds: int, spend: Fraction, randomness: Randomness
    ) -> SyntheticHistogram:
        """Round by round, each at the same part of the spend; ``exact``: the private answers in steps."""
        share = _share_of_round(self._privacy_measure, spend, rounds)
        model = self.workload.model(self.start)
        left = np.arange(self.workload.queries.count)
        measured: list[Measurement] = []
        known: list[Known] = []
        for number in range(rounds):
            modelled = model.answers() * records
            ones = self._round(number, exact, left, modelled, share, randomness)
            left = left[(left < ones[0].query) | (left > ones[-1].query)]
            measured += ones
            known += known_blocks(self.workload, ones, records)
            passes = PASSES_BETWEEN if number < rounds - 1 else last_passes(rounds, self.metric.size)
            fit(model, known, passes)
        nat = self._charged_lead / float(share * SELECTING) * float(self._step)
        look = LastLook(modelled * float(self.workload.unit), nat) if left.size else None
        return SyntheticHistogram(model.distribution(), self.workload, records, tuple(measured), look, self.shifts)

    def _round(
        self,
        number: int,
        exact: NDArray[np.int64],
        left: NDArray[np.int64],
        modelled: NDArray[np.float64],
        share: Fraction,
        randomness: Randomness,
    ) -> list[Measurement]:
        """Select one of those ``left`` and measure its block. All but ``exact`` is public; ``modelled`` in units."""
        in_steps = np.rint(modelled[left] * self.fineness * self.shares).astype(np.int64)
        scores = np.abs(exact[left] - in_steps)
        picked = int(left[choose(scores, self._charged_lead, share * SELECTING, self.law, randomness)])
        queries = self.workload.block_of(picked)
        scale, factor = self.fineness * float(self._block_steepness[picked]), 1 / (share * (1 - SELECTING))
        values, step, unit = exact[queries.start : queries.stop].tolist(), self._step, float(self.workload.unit)
        if scale > 0:
            noise = LaplaceNoise(np.full(len(queries), scale)).draw_whole(1, randomness, factor)[0]
            values = [value + drawn for value, drawn in zip(values, noise, strict=True)]
        return [
            Measurement(
                number,
                query == picked,
                query,
                self.workload.queries.names[query],
                Fraction(value * step.numerator, step.denominator),
                scale * float(factor) * float(step),
                step,
                float(modelled[query]) * unit,
            )
            for query, value in zip(queries, values, strict=True)
        ]


def mwem(
    metric: VerifiedMetric,
    queries: LinearQueries,
    *,
    rounds: int | None = None,
    start: ArrayLike | None = None,
    records: int | None = None,
    spend: Fraction | int = Fraction(1),
    steepness: Fraction | int | None = None,
) -> Mwem:
    """Multiplicative weights for linear queries under a metric.

    Cells of marginals, ranges and products of ranges are learnt fast, by the slices that they touch.

    Args: ``rounds``: T, at most the number of marginals and single queries; 0 to measure everything at once; None to
    have it chosen by :meth:`Mwem.rounds_for`. ``start`` (N,): positive numbers that the first model is proportional to;
    None for all equal. It must be public: it is not protected. ``steepness``: queries that change more steeply than
    this part of the steepest are measured changed, with less noise and a known bias, which ``error_bounds`` count;
    ``mechanism.shifts`` says how far they are off. ``records``: n, public. Given it, the part is chosen among twelve
    by how far off answers are on public tables of so many records at this ``spend``; no data are read.
    Raises: UnsupportedCombination when metric and queries are not about the same records, or for a start or rounds
    that make no sense; UnboundedLoss when a query separates records at distance 0; TooLarge for weights that need too
    many digits, or for 0 rounds where not everything can be measured at once.
    """
    metric = on_records_of(metric, queries)
    require_public_number(metric, queries)
    asked = integer_queries(queries)
    blocks = len(np.unique(asked.blocks[:, 0]))
    require(rounds, (*WHOLE, NoneType), "rounds", "give a whole number, or leave it out")
    if rounds is not None and not 0 <= rounds <= blocks:
        raise UnsupportedCombination(
            f"each of the {blocks:,} marginals and single queries is measured once: rounds are a whole number between "
            f"0 and that many, found {rounds}"
        )
    if rounds == 0:
        measured_at_once(metric, queries)
    slopes, begin = asked.query_sensitivities(metric.metric), _public_start(start, metric.size)
    whole = None if rounds is None else int(rounds)
    law: SelectionLaw = "exponential" if costs_half(metric, "exponential") else "permute-and-flip"
    made = Mwem("mwem", metric, asked, slopes, _fineness(slopes), begin, whole, law)
    if steepness is not None:
        require(records, NoneType, "records", "leave it out beside 'steepness', which it would choose")
        require_exact(steepness, "steepness")
        if steepness > 1:
            raise UnsupportedCombination(f"'steepness' is a part of the steepest query's, at most 1, found {steepness}")
        return _slower(made, Fraction(steepness))
    require(records, (*WHOLE, NoneType), "records", "give their whole number, or leave it out")
    require_exact(spend, "spend")
    return made if records is None else _tried_for_few(made, int(records), Fraction(spend))


def _slower(made: Mwem, part: Fraction) -> Mwem:
    """The same where queries that are steeper than this part of the steepest are measured changed."""
    found = slower_queries(made.metric.metric, made.workload.queries, part) if part < 1 else None
    if found is None:
        return made
    workload = integer_queries(found.queries)
    slopes = workload.query_sensitivities(made.metric.metric)
    fineness, shifts = _fineness(slopes), found.shifts
    return replace(made, workload=workload, query_sensitivities=slopes, fineness=fineness, shifts=shifts)


WORTH_A_BIAS: Final = 0.95
"""Queries stay as they are unless changed ones err less than so much of what they do, where both are tried out."""
_ENOUGH_TRIED: Final = 4
"""Tries without a better one after which no slower queries are looked at."""
_SEEDS: Final = 2


def _tried_for_few(made: Mwem, records: int, spend: Fraction) -> Mwem:
    """That of the steepness which errs least on public tables; ``made`` where none gains, or where it is too large to
    be tried out. It reads no data, and finds the same every time."""
    if records < 1:
        raise UnsupportedCombination(f"'records' is a positive number of records, found {records}")
    queries = made.workload.queries
    try:
        parts = parts_to_try(made.metric.metric, queries, records, *made.bound_by_steepness(records, spend))
    except TooLarge:
        return made
    tables = [table * made.shares for table in public_tables(made.metric.metric, records)]
    best, least, since = made, WORTH_A_BIAS * _tried_out(made, made, tables, spend), 0
    for part in parts:
        slower = _slower(made, part)
        error = _tried_out(slower, made, tables, spend)
        best, least, since = (slower, error, 0) if error < least else (best, least, since + 1)
        if since == _ENOUGH_TRIED:
            break
    return best


def _tried_out(one: Mwem, asked: Mwem, tables: list[NDArray[np.int64]], spend: Fraction) -> float:
    """The mean over public tables of the largest error of an answer to what was asked."""
    errors = []
    for table in tables:
        truth = asked.workload.totals(table) / asked.shares
        for seed in range(_SEEDS):
            found = one.draw(table, spend, InsecureSeededRandomness(seed)).answers / float(asked.workload.unit)
            errors.append(float(np.abs(found - truth).max()))
    return math.fsum(errors) / len(errors)


def _fineness(query_sensitivities: NDArray[np.float64]) -> int:
    """A power of two, so that nothing is rounded when sensitivities are multiplied by it."""
    noisy = query_sensitivities[query_sensitivities > 0]
    if not noisy.size:
        return 1
    needed = math.ceil(math.log2(STEPS_PER_SENSITIVITY / float(noisy.min())))
    if needed > 50:
        raise TooLarge("a query's sensitivity is too small next to its unit; rescale its weights or the policy")
    return 1 << max(needed, 0)


def _public_start(start: ArrayLike | None, size: int) -> NDArray[np.float64]:
    weights = np.ones(size) if start is None else array_of(start, "start", "give one for each possible record", float)
    if weights.shape != (size,) or not np.all((weights > 0) & (weights < 1e100)) or weights.min() < 1e-100:
        raise UnsupportedCombination(f"a start has one positive number for each of the {size:,} possible records")
    return np.asarray(weights / weights.sum())
