"""Picking by any score on small data sets: each is scored beforehand, and what a record can change is proved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, Final, final, get_args

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require, require_function, words_of
from dxgeom.errors import DataError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.contract.histogram_mechanism import HistogramMechanism
from dxgeom.mechanisms.selection.declared_scores import Score
from dxgeom.mechanisms.selection.selections import choose, nats_of, require_rate
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.noise.noisy_maximum import LARGEST_SCORE, SelectionLaw
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import quotient_round_up
from dxgeom.numeric.sealed import cached_property, canonical_digest

DATA_SETS: Final = 200_000
"""All data sets of so many records are scored; more than this are refused."""
_MOST_CHANGES: Final = 50_000_000
_CODE_BITS: Final = 62


@final
@dataclass(frozen=True, eq=False)
class TabledSelection(HistogramMechanism[int]):
    """The index of one candidate, by any score on data sets of ``records`` records.

    Definition: as :class:`Selection`, the score of candidate r on the data set x being unit·scores[x, r].
    ``range_sensitivity``: max over all data sets and all replacements along generating pairs of
    (max_r Δ_r − min_r Δ_r)/d(i, j), in units, *rounded up*.
    Guarantee: replacing record i by j changes the odds of any pick by at most e^(spend·d(i, j)), *proved* by looking
    at every data set. Nothing is declared.
    ``codes``: each data set's place in the table: Σ counts[i]·(records + 1)^i, increasing.
    Source: Kamalaruban et al. 2020, §3.2; McKenna & Sheldon 2020.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    candidates: tuple[str, ...]
    records: int
    codes: NDArray[np.int64] = field(repr=False)
    scores: NDArray[np.int64] = field(repr=False)
    unit: Fraction
    range_sensitivity: float
    law: SelectionLaw

    @cached_property
    def fingerprint(self) -> str:
        table = (list(self.candidates), self.records, self.codes, self.scores, self.unit, self.range_sensitivity)
        return canonical_digest("tabled selection", self.metric.fingerprint, self.law, *table)

    def shortfall(self, level: float = 0.95, spend: Fraction = Fraction(1)) -> float:
        """With probability at least ``level`` the score is above the best score less this; whatever the data."""
        return self._per_nat(spend) * (math.log(len(self.candidates)) + nats_of(level))

    def expected_shortfall(self, spend: Fraction = Fraction(1)) -> float:
        """The best score less the expected score is at most this, whatever the data."""
        return self._per_nat(spend) * math.log(len(self.candidates))

    def check_size(self, records: int, spend: Fraction) -> None:
        if records != self.records:
            raise DataError(
                f"the scores are those of data sets of {self.records:,} records, these are {records:,}: make a table "
                "for so many"
            )
        require_rate(self.range_sensitivity, spend)

    def drawn(self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness) -> list[int]:
        place = int(np.searchsorted(self.codes, int(counts @ _powers(self.metric.size, self.records))))
        scores = self.scores[place]
        return [choose(scores, self.range_sensitivity, spend, self.law, randomness) for _ in range(count)]

    def _per_nat(self, spend: Fraction) -> float:
        return float(self.unit) * self.range_sensitivity / float(spend)


def tabled_selection(
    metric: VerifiedMetric,
    candidates: Sequence[str],
    score: Score,
    *,
    records: int,
    law: SelectionLaw = "permute-and-flip",
) -> TabledSelection:
    """The mechanism that picks a candidate by any score on data sets of so many records.

    Args: ``score``: a function of a histogram that returns an exact number (int or Fraction) for each candidate; it is
    asked for every data set here, and never again.
    Raises: TooLarge beyond 200,000 data sets, or where scores need more than 62 bits; UnboundedLoss when a lead differs
    at distance 0; UnsupportedCombination where the number of records is private, or people count once; DataError for
    what is no exact number.
    """
    require_verified(metric)
    require_function(score, "score", "pass one that takes a histogram and returns a number for each candidate")
    require(records, WHOLE, "records", "give the public number of records")
    names = words_of(candidates, "candidates", "list the names of what is picked from")
    if not names or len(set(names)) < len(names):
        raise UnsupportedCombination("candidates have names of their own, and there is at least one")
    if law not in get_args(SelectionLaw):
        raise UnsupportedCombination(f"there is no law '{law}'; known are {', '.join(get_args(SelectionLaw))}")
    once = metric.people is not None and metric.people.count == "once"
    if metric.absent is not None or once:
        raise UnsupportedCombination(
            "a table of data sets has one public number of whole records: nobody may be absent, or count in shares"
        )
    histograms = _every_data_set(metric.size, int(records))
    exact = [_exact(score(counts.copy()), len(names)) for counts in histograms]
    denominator = math.lcm(*(number.denominator for row in exact for number in row))
    whole = [[int(number * denominator) for number in row] for row in exact]
    if max(abs(number) for row in whole for number in row) >= LARGEST_SCORE // 4:
        raise TooLarge("scores over a common denominator stay below 2**60: round them to fewer digits")
    codes = histograms @ _powers(metric.size, int(records))
    order = np.argsort(codes)
    histograms, codes, scores = histograms[order], codes[order], np.array(whole, dtype=np.int64)[order]
    steepest = _steepest(metric.metric, histograms, codes, scores)
    return TabledSelection(
        "tabled score", metric, names, int(records), codes, scores, Fraction(1, denominator), steepest, law
    )


def _exact(scores: Sequence[Any], candidates: int) -> list[Fraction]:
    found = list(scores)
    if len(found) != candidates or not all(isinstance(one, int | np.integer | Fraction) for one in found):
        raise DataError(f"a score returns an int or a Fraction for each of the {candidates} candidates")
    return [one if isinstance(one, Fraction) else Fraction(int(one)) for one in found]


def _every_data_set(size: int, records: int) -> NDArray[np.int64]:
    """(M, N): all histograms of so many records. Raises: TooLarge."""
    total = math.comb(size + records - 1, records) if records > 0 else 0
    if not 0 < total <= DATA_SETS or size * math.log2(records + 1) >= _CODE_BITS:
        raise TooLarge(
            f"{records:,} records of {size:,} types make {total:,} data sets; scores are listed for {DATA_SETS:,} at "
            "most: declare the sensitivity of the score instead, with dx.mechanisms.selection.declared_selection"
        )
    found = np.zeros((total, size), dtype=np.int64)
    for place, types in enumerate(combinations_with_replacement(range(size), records)):
        np.add.at(found[place], list(types), 1)
    return found


def _powers(size: int, records: int) -> NDArray[np.int64]:
    return np.array([(records + 1) ** place for place in range(size)], dtype=np.int64)


def _steepest(
    metric: Metric, histograms: NDArray[np.int64], codes: NDArray[np.int64], scores: NDArray[np.int64]
) -> float:
    """The range sensitivity, *rounded up*. Raises: UnboundedLoss, TooLarge."""
    powers = _powers(histograms.shape[1], int(histograms[0].sum()))
    widest, looked = 0.0, 0
    for block in metric.generating_pairs():
        looked += block.bound.size * len(histograms)
        if looked > _MOST_CHANGES:
            raise TooLarge("too many replacements to look at: use fewer records, or fewer pairs in the policy")
        for first, second, bound in zip(block.first.tolist(), block.second.tolist(), block.bound.tolist(), strict=True):
            there = np.flatnonzero(histograms[:, first])
            after = np.searchsorted(codes, codes[there] - powers[first] + powers[second])
            changes = scores[after] - scores[there]
            ranges = (changes.max(axis=1) - changes.min(axis=1)).max(initial=0)
            raised = math.nextafter(float(ranges), math.inf) if ranges > 2**53 else float(ranges)
            widest = max(widest, float(quotient_round_up(np.array([raised]), np.array([bound]))[0]))
    if not math.isfinite(widest):
        raise UnboundedLoss("a score separates records at distance 0, so no selection by it can honour the metric")
    return widest
