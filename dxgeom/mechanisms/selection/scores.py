"""Scores of any kind: declared, tabled, or of challenges.

Picking by any score whose sensitivity somebody declares: a promise, told with each answer. Picking by any score on
small data sets: each is scored beforehand, and what a record can change is proved. Attempts to refute what is promised
of a score. They can show that it is untrue, and never that it is true.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, Final, TypeAlias, final, get_args

import numpy as np
from flint import arb
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import NUMBER, WHOLE, require, require_function, words_of
from dxgeom.errors import DataError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.mechanisms.selection.selections import choose, nats_of, require_rate
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.noise.noisy_maximum import LARGEST_SCORE, SelectionLaw, noisy_largest_worth
from dxgeom.numeric.exact_numbers import rational
from dxgeom.numeric.randomness import Randomness, uniform_integer
from dxgeom.numeric.rounding import quotient_round_up
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
        return [self.decode_answer(place) for place in places]

    def scores(self, counts: NDArray[np.int64]) -> list[Fraction]:
        """What the function says of a histogram, exactly. Raises: DataError where it breaks its promise."""
        found = list(self.score(counts.copy()))
        numbers = [Fraction(one) if isinstance(one, Fraction | int) else _rational(one) for one in found]
        if len(numbers) != len(self.candidates):
            raise DataError(f"the score '{self.version}' says a number for each of {len(self.candidates)} candidates")
        return numbers

    def encode_answer(self, answer: Any) -> Any:
        return answer.place

    def decode_answer(self, stored: Any) -> DeclaredPick:
        return DeclaredPick(stored, self.candidates[stored], self.promise)

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
    if metric.people is not None and metric.people.in_shares:
        raise UnsupportedCombination(
            "a declared score is one of whole records, and people here count in shares of rows"
        )
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
    spread = metric.people is not None and metric.people.in_shares
    if metric.absent is not None or spread:
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


_MOST_PAIRS: Final = 1_000_000


@final
@dataclass(frozen=True, eq=False)
class Refutation:
    """Two neighbouring histograms on which a promise is broken: by ``changed`` where ``allowed`` was promised."""

    before: NDArray[np.int64] = field(repr=False)
    after: NDArray[np.int64] = field(repr=False)
    replaced: tuple[int, int]
    what: str
    changed: Fraction
    allowed: Fraction

    def __str__(self) -> str:
        one, other = self.replaced
        return (
            f"the promise is untrue: replacing a record of type {one} by {other} changes {self.what} by "
            f"{float(self.changed):.6g}, promised was at most {float(self.allowed):.6g}"
        )


@final
@dataclass(frozen=True)
class Challenge:
    """What came of trying to refute a promise: a refutation, or that so many pairs of histograms gave none."""

    tried: int
    refutation: Refutation | None

    def __str__(self) -> str:
        if self.refutation is not None:
            return str(self.refutation)
        return f"{self.tried:,} pairs of neighbouring histograms do not break the promise; that is no proof of it"


def challenge(
    mechanism: DeclaredSelection,
    histograms: Iterable[ArrayLike] = (),
    *,
    records: int = 20,
    tries: int = 1000,
    seed: int = 0,
) -> Challenge:
    """Look for two neighbouring histograms on which the declared sensitivity is untrue.

    Args: ``histograms`` to begin with, which should be made up and not the data; then random ones of at most so many
    ``records``, in few types or in many. Every try replaces one record along a generating pair, which is enough: what
    holds on these holds on all.
    Guarantee: a refutation is exact. That none was found proves nothing.
    """
    require(mechanism, DeclaredSelection, "mechanism", "pass what dx.mechanisms.selection.declared_selection made")
    for name, number in (("records", records), ("tries", tries), ("seed", seed)):
        require(number, WHOLE, name, "give a whole number")
    first, second, bounds = _pairs(mechanism.metric.metric)
    generator = np.random.default_rng(seed)
    given = [np.array(one, dtype=np.int64) for one in histograms]
    tried = 0
    for attempt in range(tries if first.size else 0):
        before = given[attempt % len(given)] if given and attempt % 2 else _made_up(mechanism, records, generator)
        places = np.flatnonzero((before[first] > 0) | (before[second] > 0))
        if not places.size:
            continue
        place = int(generator.choice(places))
        one, other = int(first[place]), int(second[place])
        one, other = (one, other) if before[one] else (other, one)
        tried += 1
        found = _broken(mechanism, before, (one, other), Fraction(float(bounds[place])))
        if found is not None:
            return Challenge(tried, found)
    return Challenge(tried, None)


def _pairs(metric: Metric) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The first generating pairs of finite distance."""
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
    for block in metric.generating_pairs():
        near = np.isfinite(block.bound)
        found.append((block.first[near], block.second[near], block.bound[near]))
        if sum(one[0].size for one in found) > _MOST_PAIRS:
            break
    none = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    first, second, bounds = (np.concatenate([one[k] for one in (none, *found)]) for k in range(3))
    return first.astype(np.int64), second.astype(np.int64), bounds


def _made_up(mechanism: DeclaredSelection, records: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """A random histogram: of one type, of a few, or of many."""
    size = mechanism.metric.size
    types = generator.choice(size, min(size, int(generator.integers(1, 1 + max(1, records)))), replace=False)
    counts = np.zeros(size, dtype=np.int64)
    share = generator.dirichlet(np.full(types.size, generator.choice([0.1, 1.0, 10.0])))
    counts[types] = generator.multinomial(int(generator.integers(1, 1 + max(1, records))), share)
    return counts


def _broken(
    mechanism: DeclaredSelection, before: NDArray[np.int64], replaced: tuple[int, int], distance: Fraction
) -> Refutation | None:
    after = before.copy()
    after[replaced[0]] -= 1
    after[replaced[1]] += 1
    pairs = zip(mechanism.scores(before), mechanism.scores(after), strict=True)
    changes = [there - here for here, there in pairs]
    allowed = mechanism.sensitivity * distance
    worst = max(range(len(changes)), key=lambda place: abs(changes[place]))
    if abs(changes[worst]) > allowed:
        what = f"the score of '{mechanism.candidates[worst]}'"
        return Refutation(before, after, replaced, what, abs(changes[worst]), allowed)
    if mechanism.one_way and max(changes) > 0 > min(changes):
        what = "one score up and another down, their lead"
        return Refutation(before, after, replaced, what, max(changes) - min(changes), allowed)
    return None
