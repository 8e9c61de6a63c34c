"""Picking one of finitely many candidates, the better ones more likely, by scores that are linear in the histogram."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import final, get_args

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.contract.histogram_mechanism import HistogramMechanism
from dxgeom.mechanisms.linear.score_sensitivities import over_common_unit, range_sensitivity
from dxgeom.mechanisms.linear.sensitivity import on_records_of, require_public_number, require_written_for
from dxgeom.metrics.checking.verification import VerifiedMetric
from dxgeom.noise.discrete.noisy_maximum import LARGEST_SCORE, SelectionLaw, check_rate, largest, noisy_largest
from dxgeom.numeric.canonical_digest import canonical_digest
from dxgeom.numeric.exact_sums import integer_totals
from dxgeom.numeric.randomness import Randomness
from dxgeom.universe.queries import LinearQueries


@final
@dataclass(frozen=True, eq=False)
class Selection(HistogramMechanism[int]):
    """The index of one candidate r, whose score on the histogram x is u_r(x) = unit·(numerators[r] @ x).

    Definition: with rate = spend/range_sensitivity, "exponential" picks r with a chance proportional to
    e^(rate·u_r(x)); "permute-and-flip" looks at the candidates in random order and takes the first that passes a coin
    of chance e^(rate·(u_r(x) − max u)). The latter never loses more.

    ``range_sensitivity``: max over generating pairs of (max_r Δ_r − min_r Δ_r)/d(i, j), in units, rounded up. It takes
    the place of 2c: it is 2c at most, and c when one replaced record moves all scores the same way.

    Guarantee: replacing record i by j changes the odds of any output by at most e^(spend·d(i, j)): under both laws the
    log-probability of r falls by no more than the rate times the largest change of a rival's lead over r. A range of 0
    means that nobody protected can influence the lead, and the best candidate is picked exactly.
    Source: Kamalaruban et al. 2020, §3.2; McKenna & Sheldon 2020; Ding et al. 2021 for the law as noise. Corrected: see
    :meth:`shortfall`, and docs/guide/selection.md for when the factor 2 goes.
    """

    name: SelectionLaw
    metric: VerifiedMetric = field(repr=False)
    candidates: LinearQueries = field(repr=False)
    numerators: NDArray[np.int64] = field(repr=False)
    unit: Fraction
    range_sensitivity: float

    @cached_property
    def fingerprint(self) -> str:
        scored = (self.candidates.fingerprint, self.numerators, self.unit)
        return canonical_digest("selection", self.metric.fingerprint, self.name, *scored, self.range_sensitivity)

    def shortfall(self, level: float = 0.95, spend: Fraction = Fraction(1)) -> float:
        """With probability at least ``level`` the score is above the best score less this; whatever the data.

        Definition: (ln R − ln(1 − level))·unit·range_sensitivity/spend, up to the rounding of float64.
        Source: Kamalaruban et al. 2020, Theorem 4; corrected: what another score costs is subtracted, not added.
        Permute-and-flip inherits it, because its score stochastically dominates that of the other law.
        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        return self._per_nat(spend) * (math.log(self.candidates.count) + nats_of(level))

    def expected_shortfall(self, spend: Fraction = Fraction(1)) -> float:
        """The best score less the expected score is at most ln R·unit·range_sensitivity/spend, whatever the data.

        The exponential law maximises expected score plus entropy/rate, and the entropy is at most ln R.
        """
        return self._per_nat(spend) * math.log(self.candidates.count)

    def check_size(self, records: int, spend: Fraction) -> None:
        require_written_for(self.candidates.records, records)
        require_scores_fit(int(np.abs(self.numerators).max()) * records * self.shares)
        require_rate(self.range_sensitivity, spend / self.shares)

    def drawn(self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness) -> list[int]:
        scores = np.array(integer_totals(self.numerators, counts), dtype=np.int64)
        return [choose(scores, self.range_sensitivity, spend, self.name, randomness) for _ in range(count)]

    def _per_nat(self, spend: Fraction) -> float:
        return float(self.unit) * self.range_sensitivity / float(spend)


def selection(metric: VerifiedMetric, candidates: LinearQueries, law: SelectionLaw = "permute-and-flip") -> Selection:
    """The mechanism that picks one of the candidates by these linear scores, largest best.

    Raises: UnsupportedCombination when metric and candidates are not about the same records, or for an unknown law;
    UnboundedLoss when a lead differs at distance 0; TooLarge when the weights need too many digits.
    """
    if law not in get_args(SelectionLaw):
        raise UnsupportedCombination(f"there is no law '{law}'; known are {', '.join(get_args(SelectionLaw))}")
    metric = on_records_of(metric, candidates, "candidates")
    require_public_number(metric, candidates)
    numerators, unit = over_common_unit(candidates)
    return Selection(law, metric, candidates, numerators, unit, range_sensitivity(metric.metric, numerators))


def choose(
    scores: NDArray[np.int64],
    largest_change: float | Fraction,
    spend: Fraction,
    law: SelectionLaw,
    randomness: Randomness,
) -> int:
    """The place picked by scores whose leads over each other change by at most ``largest_change``·d.

    Guarantee: costs spend·d; *exactly* the law. Raises: TooLarge for scores or a rate out of range.
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
