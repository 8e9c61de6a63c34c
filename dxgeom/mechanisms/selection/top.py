"""The best few candidates, one after the other: each pick is among those that are left."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.mechanisms.selection.selections import Selection, choose, nats_of, selection
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.noisy_maximum import SelectionLaw
from dxgeom.numeric.arrays import integer_totals
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest
from dxgeom.universe.queries import LinearQueries


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
