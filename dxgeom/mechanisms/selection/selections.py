"""Picking one of finitely many candidates, the better ones more likely, by scores that are linear in the histogram.

Picking by other scores than were asked for, where a known bias costs less than the noise that it saves.

The best few candidates, one after the other: each pick is among those that are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import NoneType
from typing import final, get_args

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require, require_level
from dxgeom.errors import CertificateRefused, DataError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.ledger.entry import amount
from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.mechanisms.linear.biased import changed_alike
from dxgeom.mechanisms.linear.score_sensitivities import over_common_unit, range_sensitivity
from dxgeom.mechanisms.linear.sensitivity import on_records_of, require_public_number, require_written_for
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.noisy_maximum import LARGEST_SCORE, SelectionLaw, check_rate, largest, noisy_largest
from dxgeom.numeric.arrays import integer_totals
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal
from dxgeom.privacy.measures import privacy_measure_of
from dxgeom.universe.queries import LinearQueries

MOST_UNITS = 2**24
"""Larger weights stay as they are: changed ones have up to 25 bits more, and stay below 2⁵⁰."""


@final
@dataclass(frozen=True, eq=False)
class ScoreChange:
    """What was asked, where a selection goes by other scores.

    ``unchanged``: the scores as they were; ``records``: their public number n; ``shift``: max_i (max_r e_r,i − min_r
    e_r,i) with e = q − q', what the change can do to a lead for each record. *Exact*. A shift that all scores of a
    possible record share changes no lead and costs nothing.
    """

    unchanged: LinearQueries = field(repr=False)
    records: int
    shift: Fraction

    @property
    def digest(self) -> str:
        """SHA-256 of what was asked, for how many records, and how far from it the leads are."""
        return canonical_digest("changed scores", self.unchanged.fingerprint, self.records, self.shift)

    @property
    def bias(self) -> Fraction:
        """n·shift: no lead by the changed scores is further from the same lead by those asked for."""
        return self.records * self.shift


@final
@dataclass(frozen=True, eq=False)
class ChangedRows:
    """Rows (R, N) of integers in units over 2^``finer``; ``shift``, in such units, as of :class:`ScoreChange`."""

    rows: NDArray[np.int64]
    finer: int
    shift: int


def _changed_rows(metric: Metric, rows: NDArray[np.int64], records: int, nats: float) -> Iterator[ChangedRows]:
    """Scores (R, N) changed so that n·shift + nats·(range sensitivity) is small, in two ways.

    All rows get one steepness c, at which n·2·bias + nats·2c is least (:func:`changed_alike`): the rows as they are,
    and the rows around the middle of each possible record's, which leads do not see.
    Guarantee: each shift is *exact*. For two candidates the second way is the best there is, up to a unit: their lead
    is one number, and its nearest slower map is half-way between its extensions. For more it is a good change, no more.
    Nothing is yielded for weights of 2²⁴ units and more, for metrics too large to be searched, or where a row moves at
    distance 0; a promise rests on the sensitivity of what is yielded, computed anew.
    """
    if int(np.abs(rows).max()) >= MOST_UNITS:
        return
    for around in (np.zeros(rows.shape[1], dtype=np.int64), rows.max(axis=0) + rows.min(axis=0)):
        with suppress(TooLarge, UnboundedLoss):
            change = changed_alike(metric, 2 * rows - around, records, nats)
            changed = change.rows + (around << change.finer)
            off = (rows << change.finer + 1) - changed
            yield ChangedRows(changed, change.finer + 1, int(np.ptp(off, axis=0).max()))


_LEVEL = 0.95


@final
@dataclass(frozen=True, eq=False)
class Selection(HistogramMechanism[int]):
    """The index of one candidate r, whose score on the histogram x is u_r(x) = unit·(numerators[r] @ x).

    Definition: with rate = spend/range_sensitivity, "exponential" picks r with a chance proportional to
    e^(rate·u_r(x)); "permute-and-flip" looks at the candidates in random order and takes the first that passes a coin
    of chance e^(rate·(u_r(x) − max u)). The latter never loses more at
    one rate.

    ``range_sensitivity``: max over generating pairs of (max_r Δ_r − min_r Δ_r)/d(i, j), in units, rounded up. It takes
    the place of 2c: it is 2c at most, and c when one replaced record moves all scores the same way.

    Guarantee: replacing record i by j changes the odds of any output by at most e^(spend·d(i, j)): under both laws the
    log-probability of r falls by no more than the rate times the largest change of a rival's lead over r. A range of 0
    means that nobody protected can influence the lead, and the best candidate is picked exactly. Where scores were
    changed (``change``), ``candidates``, ``numerators`` and ``range_sensitivity`` are all those of the changed ones.
    ``at_half``: the exponential law under concentrated privacy, at twice the rate: :func:`charged_lead`. There the
    cost is spend·d(i, j) in the concentrated sense, and odds change by at most e^(2·spend·d(i, j)).
    Source: Kamalaruban et al. 2020, §3.2; McKenna & Sheldon 2020; Ding et al. 2021 for the law as noise. Corrected: see
    :meth:`shortfall`, and docs/guide/selection.md for when the factor 2 goes.
    """

    name: SelectionLaw
    metric: VerifiedMetric = field(repr=False)
    candidates: LinearQueries = field(repr=False)
    numerators: NDArray[np.int64] = field(repr=False)
    unit: Fraction
    range_sensitivity: float
    change: ScoreChange | None = None
    at_half: bool = False

    def __post_init__(self) -> None:
        seal(self)
        if self.at_half:
            require_half(self.metric, self.name)

    @cached_property
    def fingerprint(self) -> str:
        scored = (self.candidates.fingerprint, self.numerators, self.unit)
        changed = () if self.change is None else (self.change.digest,)
        law = (self.name, *scored, self.range_sensitivity, *["at half"] * self.at_half)
        return canonical_digest("selection", self.metric.fingerprint, *law, *changed)

    @property
    def lead(self) -> float:
        """By how much leads change for each unit of distance, in units, as the law is charged for it."""
        return charged_lead(self.range_sensitivity, at_half=self.at_half)

    def shortfall(self, level: float = 0.95, spend: Fraction = Fraction(1)) -> float:
        """With probability at least ``level`` the score is above the best score less this; whatever the data.

        Scores are of values as the policy rounds them: where the candidates are sums of numbers that stand for others,
        each score is up to its ``candidates.each_rounding`` from that of the raw numbers.
        Definition: (ln R − ln(1 − level))·unit·lead/spend, and n·shift where scores were changed; up to
        the rounding of float64.
        Source: Kamalaruban et al. 2020, Theorem 4; corrected: what another score costs is subtracted, not added.
        Permute-and-flip inherits it, because its score stochastically dominates that of the other law.
        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        return self._per_nat(spend) * (math.log(self.candidates.count) + nats_of(level)) + self._bias

    def expected_shortfall(self, spend: Fraction = Fraction(1)) -> float:
        """The best score less the expected score is at most this, whatever the data.

        Definition: ln R·unit·lead/spend, and n·shift where scores were changed. The exponential law
        maximises expected score plus entropy/rate, and the entropy is at most ln R.
        """
        return self._per_nat(spend) * math.log(self.candidates.count) + self._bias

    def check_size(self, records: int, spend: Fraction) -> None:
        require_written_for(self.candidates.records, records)
        if self.change is not None and records != self.change.records:
            raise DataError(
                f"the scores were changed for {self.change.records:,} records, these are {records:,} in the table: "
                f"plan with records={records} (--records {records})"
            )
        require_scores_fit(int(np.abs(self.numerators).max()) * records * self.shares)
        require_rate(self.lead, spend / self.shares)

    def drawn(self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness) -> list[int]:
        scores = np.array(integer_totals(self.numerators, counts), dtype=np.int64)
        return [choose(scores, self.lead, spend, self.name, randomness) for _ in range(count)]

    def _per_nat(self, spend: Fraction) -> float:
        return float(self.unit) * self.lead / float(spend)

    @property
    def _bias(self) -> float:
        return 0.0 if self.change is None else float(self.change.bias)


def selection(
    metric: VerifiedMetric,
    candidates: LinearQueries,
    law: SelectionLaw = "permute-and-flip",
    *,
    records: int | None = None,
    spend: Fraction | int = Fraction(1),
) -> Selection:
    """The mechanism that picks one of the candidates by these linear scores, largest best.

    Args: ``records``: n, public. Given it, changed scores are gone by in place of those asked for where that lowers
    :meth:`Selection.shortfall` at level 0.95 and ``spend``, the bias included, and below what picking one candidate
    whatever the data can lose; ``mechanism.change`` says which. Either way any spend is served, with the same bias.
    Raises: UnsupportedCombination when metric and candidates are not about the same records, or for an unknown law,
    or for less than one record; UnboundedLoss when a lead differs at distance 0; TooLarge when the
    weights need too many digits.
    """
    if law not in get_args(SelectionLaw):
        raise UnsupportedCombination(f"there is no law '{law}'; known are {', '.join(get_args(SelectionLaw))}")
    require(records, (*WHOLE, NoneType), "records", "give their whole number, or leave it out")
    exact = amount(spend, "spend")
    metric = on_records_of(metric, candidates, "candidates")
    require_public_number(metric, candidates)
    numerators, unit = over_common_unit(candidates)
    steepest, half = range_sensitivity(metric.metric, numerators), costs_half(metric, law)
    asked = Selection(law, metric, candidates, numerators, unit, steepest, at_half=half)
    return asked if records is None else _better_changed(asked, int(records), exact)


def _better_changed(unchanged: Selection, records: int, spend: Fraction) -> Selection:
    """With the scores whose noise and bias together have the smallest bound, those asked for among them."""
    if records < 1:
        raise UnsupportedCombination(f"the number of records is a positive number, found {records}")
    nats = (math.log(unchanged.candidates.count) + nats_of(_LEVEL)) / float(spend)
    rows = _changed_rows(unchanged.metric.metric, unchanged.numerators, records, nats)
    changed = [_with(unchanged, found, records) for found in rows if _fits(unchanged, found, records)]
    best = min([unchanged, *changed], key=lambda one: one.shortfall(_LEVEL, spend))
    return best if best.shortfall(_LEVEL, spend) < records * _lost_without_data(unchanged) else unchanged


def _fits(unchanged: Selection, found: ChangedRows, records: int) -> bool:
    return int(np.abs(found.rows).max()) * records * unchanged.shares < LARGEST_SCORE


def _with(unchanged: Selection, found: ChangedRows, records: int) -> Selection:
    unit = unchanged.unit / 2**found.finer
    return replace(
        unchanged,
        candidates=replace(unchanged.candidates, weights=found.rows, units=(unit,) * len(found.rows)),
        numerators=found.rows,
        unit=unit,
        range_sensitivity=range_sensitivity(unchanged.metric.metric, found.rows),
        change=ScoreChange(unchanged.candidates, records, found.shift * unit),
    )


def _lost_without_data(unchanged: Selection) -> float:
    """For each record, what the best candidate to pick whatever the data can lose."""
    best = unchanged.numerators.max(axis=0)
    return float(unchanged.unit) * int((best - unchanged.numerators).max(axis=1).min())


def costs_half(metric: VerifiedMetric, law: SelectionLaw) -> bool:
    """Whether a selection by this law costs half of what it would under pure privacy: :func:`charged_lead`."""
    return law == "exponential" and privacy_measure_of(metric.privacy).squares


def require_half(metric: VerifiedMetric, law: SelectionLaw) -> None:
    """Raises: CertificateRefused where a law is to be charged half of what it costs."""
    if not costs_half(metric, law):
        raise CertificateRefused(
            "only the exponential law, and only under concentrated privacy, costs half of the range of its log-odds"
        )


def charged_lead(largest_change: float, *, at_half: bool) -> float:
    """What :func:`choose` is to be given where leads change by at most ``largest_change``·d; *exact*.

    Definition: half of it for the exponential law under concentrated privacy. Scores r at rate η have chances
    proportional to e^(η·score_r), so the log-odds of two data sets lie in an interval of length R = η·largest_change·d.
    Then D_α ≤ α·R²/8 = α·(R/2)²/2 both ways, for all α > 1: the cost is R/2. Permute-and-flip has no such bound; it
    was found to tell up to 3.6 times that much, and is charged R.
    Source: Cesar & Rogers 2021 (a bounded range is concentrated), after Dong, Durfee & Rogers 2020.
    """
    return largest_change / 2 if at_half else largest_change


def choose(
    scores: NDArray[np.int64],
    largest_change: float | Fraction,
    spend: Fraction,
    law: SelectionLaw,
    randomness: Randomness,
) -> int:
    """The place picked by scores whose leads over each other change by at most ``largest_change``·d.

    Guarantee: costs spend·d; *exactly* the law. For the exponential law under concentrated privacy half of that change
    will do (:func:`charged_lead`). Raises: TooLarge for scores or a rate out of range.
    """
    if largest_change == 0:
        return largest(scores, randomness)
    return noisy_largest(scores, spend / Fraction(largest_change), law, randomness)


def nats_of(level: float) -> float:
    """−ln(1 − level). Raises: UnsupportedCombination unless 0 < level < 1."""
    require_level(level)
    return -math.log1p(-level)


def require_scores_fit(largest_score: int) -> None:
    """Raises: TooLarge unless scores up to this magnitude fit 62 bits."""
    if largest_score >= LARGEST_SCORE:
        raise TooLarge("scores of so many records leave 62-bit integers: round the weights to fewer digits")


def require_rate(largest_change: float | Fraction, spend: Fraction) -> None:
    """Raises: TooLarge when spend/largest_change leaves the range that a selection can use."""
    if largest_change > 0:
        check_rate(spend / Fraction(largest_change))


@final
@dataclass(frozen=True, eq=False)
class TopSelection(HistogramMechanism[tuple[int, ...]]):
    """The indices of ``picks`` different candidates, the best first.

    Definition: peeling. ``each`` picks one at spend/picks; it is taken out, and ``each`` picks among the rest. By the
    exponential law that is the same as the largest few of all scores with Gumbel noise drawn once, at the same rate.
    Guarantee: replacing record i by j changes the odds of any list by at most e^(spend·d(i, j)): a pick costs its share
    whatever was picked before, since a lead among the rest changes by no more than one among all. Where ``each`` is
    charged at half, that is the cost in the concentrated sense.
    Source: McKenna & Sheldon 2020 for the picks; Durfee & Rogers 2019 for Gumbel noise drawn once.
    """

    name: str
    each: Selection = field(repr=False)
    picks: int

    @property
    def metric(self) -> VerifiedMetric:
        """The metric that it honours."""
        return self.each.metric

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("top selection", self.each.fingerprint, self.picks)

    @property
    def law(self) -> SelectionLaw:
        """By which each is picked."""
        return self.each.name

    def shortfall(self, level: float = 0.95, spend: Fraction = Fraction(1)) -> float:
        """With probability at least ``level``, for every place at once: its score is above that of the truly best
        candidate for this place less this; and no candidate that was left out has more than this above the last pick.

        Definition: the bound of one pick at spend/picks and 1 − (1 − level)/picks. After k − 1 picks some of the k best
        are left, so whoever is near the best of the rest is near the k-th best of all.
        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        return self._per_nat(spend) * (math.log(self.each.candidates.count) + math.log(self.picks) + nats_of(level))

    def expected_shortfall(self, spend: Fraction = Fraction(1)) -> float:
        """For every place, the k-th best score less the expected score of the k-th pick is at most this."""
        return self._per_nat(spend) * math.log(self.each.candidates.count)

    def check_size(self, records: int, spend: Fraction) -> None:
        self.each.check_size(records, spend / self.picks)

    def drawn(
        self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[tuple[int, ...]]:
        scores = np.array(integer_totals(self.each.numerators, counts), dtype=np.int64)
        return [self._picked(scores, spend / self.picks, randomness) for _ in range(count)]

    def _picked(self, scores: NDArray[np.int64], spend: Fraction, randomness: Randomness) -> tuple[int, ...]:
        left = np.arange(len(scores))
        picked = []
        for _ in range(self.picks):
            place = choose(scores[left], self.each.lead, spend, self.each.name, randomness)
            picked.append(int(left[place]))
            left = np.delete(left, place)
        return tuple(picked)

    def _per_nat(self, spend: Fraction) -> float:
        return float(self.each.unit) * self.each.lead * self.picks / float(spend)


def top_selection(
    metric: VerifiedMetric, candidates: LinearQueries, picks: int, law: SelectionLaw = "permute-and-flip"
) -> TopSelection:
    """The mechanism that picks so many of the candidates by linear scores, the best first.

    Raises: UnsupportedCombination unless there are at least so many candidates; else as :func:`selection`.
    """
    require(picks, WHOLE, "picks", "give a whole number, such as 3")
    each = selection(metric, candidates, law)
    if not 1 <= picks <= candidates.count:
        raise UnsupportedCombination(
            f"'picks': at least 1 and at most {candidates.count} candidates are picked, not {picks}"
        )
    return TopSelection(f"top by {law}", each, int(picks))
