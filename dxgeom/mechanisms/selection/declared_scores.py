"""Picking by any score whose sensitivity somebody declares: a promise, told with each answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias, final, get_args

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.arguments import NUMBER, require, require_function, words_of
from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.mechanisms.contract.histogram_mechanism import HistogramMechanism
from dxgeom.mechanisms.selection.selections import nats_of, require_rate
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.noise.noisy_maximum import SelectionLaw, noisy_largest_worth
from dxgeom.numeric.exact_numbers import rational
from dxgeom.numeric.randomness import Randomness, uniform_integer
from dxgeom.numeric.sealed import cached_property, canonical_digest
from dxgeom.universe.decimals import NotANumber, exact

Score: TypeAlias = Callable[[NDArray[np.int64]], Sequence[Any]]
"""The scores of all candidates on a histogram, as numbers; floats count as the rationals that they are."""
_FARTHEST: Final = -(Fraction(10) ** 300)


@final
@dataclass(frozen=True)
class DeclaredPick:
    """A pick by a declared score, which is as private as the promise is true."""

    place: int
    name: str
    promise: str

    def __str__(self) -> str:
        return f"{self.name}\n{self.promise}"

    def as_dict(self) -> dict[str, Any]:
        """The pick ready for JSON, never without the promise."""
        return {"place": self.place, "name": self.name, "promise": self.promise}


@final
@dataclass(frozen=True, eq=False)
class DeclaredSelection(HistogramMechanism[DeclaredPick]):
    """One candidate by any score on histograms, of a sensitivity that is declared and not proved.

    Definition: as :class:`Selection`, with the rate spend/(2·sensitivity), or spend/sensitivity where all scores move
    ``one_way``.
    Guarantee: **if the promise is true**, replacing record i by j changes the odds of any pick by at most
    e^(spend·d(i, j)). The promise: a replacement changes each score by at most sensitivity·d(i, j) (``one_way``: and
    all up, or all down), and the function returns a finite number for each candidate whatever the histogram is.
    A function that fails, or takes long, on some data tells of them. :func:`challenge` tries to refute the promise.
    ``version`` names the function in the fingerprint: another text for another function.
    Source: Kamalaruban et al. 2020, §3.2; McKenna & Sheldon 2020.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    candidates: tuple[str, ...]
    score: Score = field(repr=False)
    sensitivity: Fraction
    one_way: bool
    version: str
    law: SelectionLaw

    @cached_property
    def fingerprint(self) -> str:
        declared = (self.version, self.sensitivity, self.one_way)
        return canonical_digest(
            "declared selection", self.metric.fingerprint, self.law, list(self.candidates), declared
        )

    @property
    def promise(self) -> str:
        """What the guarantee rests on, in a sentence: said with every answer."""
        ways = ", and all of them one way" if self.one_way else ""
        return (
            f"Promised by whoever released this, and not proved: replacing a record changes each score of "
            f"'{self.version}' by at most {self.sensitivity} times the distance of the two records{ways}. If that is "
            "untrue, this answer may tell more than the policy allows."
        )

    @property
    def lead_sensitivity(self) -> Fraction:
        """How much the lead of one candidate over another changes per unit of distance, by the promise."""
        return self.sensitivity * (1 if self.one_way else 2)

    def shortfall(self, level: float = 0.95, spend: Fraction = Fraction(1)) -> float:
        """With probability at least ``level`` the score is above the best score less this; whatever the data."""
        return float(self.lead_sensitivity / spend) * (math.log(len(self.candidates)) + nats_of(level))

    def expected_shortfall(self, spend: Fraction = Fraction(1)) -> float:
        """The best score less the expected score is at most ln R·lead_sensitivity/spend, whatever the data."""
        return float(self.lead_sensitivity / spend) * math.log(len(self.candidates))

    def check_size(self, records: int, spend: Fraction) -> None:
        require_rate(self.lead_sensitivity, spend)

    def drawn(
        self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[DeclaredPick]:
        scores = self.scores(counts)
        places = [self._place(scores, spend, randomness) for _ in range(count)]
        return [self.recalled(place) for place in places]

    def scores(self, counts: NDArray[np.int64]) -> list[Fraction]:
        """What the function says of a histogram, exactly. Raises: DataError where it breaks its promise."""
        found = list(self.score(counts.copy()))
        numbers = [Fraction(one) if isinstance(one, Fraction | int) else _rational(one) for one in found]
        if len(numbers) != len(self.candidates):
            raise DataError(f"the score '{self.version}' says a number for each of {len(self.candidates)} candidates")
        return numbers

    def kept(self, answer: Any) -> Any:
        return answer.place

    def recalled(self, kept: Any) -> DeclaredPick:
        return DeclaredPick(kept, self.candidates[kept], self.promise)

    def _place(self, scores: list[Fraction], spend: Fraction, randomness: Randomness) -> int:
        best = max(scores)
        if self.lead_sensitivity == 0:
            equals = [place for place, score in enumerate(scores) if score == best]
            return equals[uniform_integer(len(equals), randomness)]
        rate = spend / self.lead_sensitivity
        worths = [max((score - best) * rate, _FARTHEST) for score in scores]
        floats = np.array([float(worth) for worth in worths])

        def ball(place: int) -> arb:
            return arb(rational(worths[place]))

        return noisy_largest_worth(floats, np.abs(floats) * 2.0**-50, ball, self.law, randomness)


def declared_selection(
    metric: VerifiedMetric,
    candidates: Sequence[str],
    score: Score,
    *,
    sensitivity: object,
    version: str,
    one_way: bool = False,
    law: SelectionLaw = "permute-and-flip",
) -> DeclaredSelection:
    """The mechanism that picks a candidate by any score, on the caller's promise of its sensitivity.

    Args: ``score``: a function of a histogram, which is handed a copy, that returns a number for each candidate, and
    for the same histogram the same; ``sensitivity``: a replaced record changes each score by at most so much per unit
    of distance; ``one_way``: and all of them up, or all down; ``version``: names the function, another text for
    another one.
    Raises: UnsupportedCombination for a sensitivity below 0, no candidates, an unknown law, or people who count once.
    """
    require_verified(metric)
    require_function(score, "score", "pass one that takes a histogram and returns a number for each candidate")
    require(version, str, "version", "name the function, such as 'interaction 1'")
    require(one_way, bool, "one_way", "say whether a replacement moves all scores the same way")
    names = words_of(candidates, "candidates", "list the names of what is picked from")
    require(sensitivity, (*NUMBER, str), "sensitivity", "declare it, such as Fraction(1) or '0.5'")
    declared = _declared(sensitivity)
    if declared < 0 or not names or len(set(names)) < len(names):
        raise UnsupportedCombination("a sensitivity is at least 0, and candidates have names of their own")
    if law not in get_args(SelectionLaw):
        raise UnsupportedCombination(f"there is no law '{law}'; known are {', '.join(get_args(SelectionLaw))}")
    if metric.people is not None and metric.people.count == "once":
        raise UnsupportedCombination("a declared score is one of whole records, and people here count once, in shares")
    return DeclaredSelection("declared score", metric, names, score, declared, one_way, version, law)


def _declared(sensitivity: Any) -> Fraction:
    try:
        return exact(str(sensitivity)) if isinstance(sensitivity, float | str) else Fraction(sensitivity)
    except NotANumber as error:
        raise UnsupportedCombination(f"a sensitivity is a finite number, found {sensitivity!r}") from error


def _rational(number: Any) -> Fraction:
    try:
        return Fraction(float(number))
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError("a score says a finite number for each candidate; this one did not") from error
