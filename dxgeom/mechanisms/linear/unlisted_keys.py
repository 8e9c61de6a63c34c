"""Counts of keys that nobody listed: noise on those that some record has, and a threshold that hides own ones."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.errors import DataError, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.contract.mechanism import ANSWER_BYTES
from dxgeom.mechanisms.contract.readers import CountedKeys, KeyReader
from dxgeom.mechanisms.linear.key_counts import MOST_COUNTED, KeyCounts, NoisyKeys
from dxgeom.metrics.lipschitz_maps import IndependentRates
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.own_keys import OwnKeys, own_keys
from dxgeom.numeric.arrays import LARGEST, exact_sum
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal
from dxgeom.universe.people.people import People
from dxgeom.universe.workloads.groups import Groups

MOST_LISTED: Final = 2**31
"""Combinations of the listed values beside those that nobody listed; as many of these are numbered."""


@final
@dataclass(frozen=True, eq=False)
class UnlistedKeys(KeyReader[NoisyKeys]):
    """The keys whose counts with noise reach a threshold θ, with these counts; of those alone that some record has.

    Definition: x_k + round(V_k) for each key k with x_k ≥ 1, independently, where that is θ or more. V_k is as of
    :class:`dxgeom.mechanisms.linear.key_counts.KeyCounts`. θ is the least from 1 on at which the keys that one person
    alone has are reported with at most the chance ``chance``, in whatever way that person's rows make them:
    :class:`dxgeom.noise.own_keys.OwnKeys`. ``columns_of_keys``: a key is a value of each; of one of them
    nobody listed the values, which stand as texts in the rows.
    Guarantee: x and x′ that differ in one person's rows have P = (1 − δ)·A + δ·B and P′ = (1 − δ)·A′ + δ·B′, with
    δ = ``chance`` and A, A′ as near as the policy says. So odds of any answer are as stated, except with chance δ. Over
    releases these chances add up, whatever earlier answers chose the later ones. θ depends on no data.
    A key's number is the place of its text among ``words`` times the combinations of the other columns, plus the
    number of its combination.
    Raises: UnsupportedCombination where people may have keys without bound, or the policy allows no such chance; else
    as KeyCounts; TooLarge for more rows of a person than are looked at.
    """

    metric: VerifiedMetric = field(repr=False)
    columns_of_keys: tuple[Groups, ...] = field(repr=False)
    chance: Fraction
    name: str = field(default="noisy keys that nobody listed", init=False)

    def __post_init__(self) -> None:
        seal(self)
        _ = self.known  # what cannot be protected is reported at once
        unlisted = [one for one in self.columns_of_keys if one.unlisted]
        if len(unlisted) != 1:
            raise UnsupportedCombination("keys here have one attribute whose values nobody listed, and not more")
        if self.listed_keys > MOST_LISTED:
            raise TooLarge(
                f"the listed attributes make {self.listed_keys:,} combinations, and at most {MOST_LISTED:,} stand "
                "beside values that nobody listed: take fewer, or coarser ones"
            )
        require_bounded(self.metric.people)
        allowed = self.metric.delta
        if not isinstance(self.chance, Fraction) or allowed is None or not 0 < self.chance <= allowed:
            raise UnsupportedCombination(
                "a release of keys that nobody listed has a chance 'delta' above 0 of being outside its promise, at "
                f"most the policy's own 'delta', {allowed or 'which it lacks'}, which is for all releases together: "
                "state a smaller one"
            )
        self.own(Fraction(1))  # more rows than are looked at are so at every spend

    @property
    def delta(self) -> Fraction:
        return self.chance

    @cached_property
    def known(self) -> KeyCounts:
        """What noise keys have, as if two values of the column were all: any two are as far from each other."""
        return KeyCounts(self.metric, self.columns_of_keys, at_least=1)

    @property
    def rates(self) -> IndependentRates:
        """As of :attr:`known`."""
        return self.known.rates

    @cached_property
    def listed_keys(self) -> int:
        """How many combinations the listed columns have."""
        return math.prod(len(one.words) for one in self.columns_of_keys if not one.unlisted)

    @property
    def rows(self) -> int:
        """The most rows of one person."""
        return 1 if self.metric.people is None else self.metric.people.most_rows

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest(self.name, self.metric.fingerprint, self.known.fingerprint, str(self.chance))

    def own(self, spend: Fraction) -> OwnKeys:
        """What is reported of keys that one person alone has, where so much is spent."""
        return own_keys(self.known.events(spend, 1), self.rows)

    def threshold(self, spend: Fraction) -> int:
        """θ where so much is spent. Guarantee: the chance δ, *rounded up*, is at most ``chance``. Raises: TooLarge."""
        return _threshold(self, spend)

    def widths(self, level: float, spend: Fraction) -> NDArray[np.float64]:
        """As :meth:`dxgeom.mechanisms.linear.key_counts.KeyCounts.widths`."""
        require_level(level)
        return self.known.widths(level, spend)

    def codes_of(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Of each key the place of each of its values; of the column that nobody listed, among the texts."""
        texts, rest = np.divmod(keys, self.listed_keys)
        sizes = [len(one.words) for one in self.columns_of_keys if not one.unlisted]
        listed = iter(np.unravel_index(rest, sizes) if sizes else ())
        return tuple(np.asarray(texts if one.unlisted else next(listed), np.int64) for one in self.columns_of_keys)

    def blocks_of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The block of each key, among those of :attr:`known`."""
        each = zip(self.columns_of_keys, self.codes_of(keys), strict=True)
        codes = [np.zeros_like(own) if one.unlisted else own for one, own in each]
        return self.known.blocks_of(np.asarray(np.ravel_multi_index(codes, self.known.key_shape), dtype=np.int64))

    def require_keys(self, data: CountedKeys) -> None:
        words, keys, counts = (getattr(data, name, None) for name in ("words", "keys", "counts"))
        proper = all(type(one) is np.ndarray and one.dtype == np.int64 and one.ndim == 1 for one in (keys, counts))
        if not proper or not isinstance(words, tuple) or not isinstance(getattr(data, "total", None), int):
            raise DataError("this is answered of the counts of keys and of their texts, as a table's rows have them")
        known, number = np.asarray(keys), np.asarray(counts)
        inside = len(known) == len(number) and (
            not len(known) or (known[0] >= 0 and known[-1] < len(words) * self.listed_keys)
        )
        if not inside or np.any(np.diff(known) <= 0) or np.any(number < 1):
            raise DataError("counts of keys are at least 1, each of another key, by rising number")
        if any(one >= other for one, other in itertools.pairwise(words)):
            raise DataError("the texts of keys are different from each other, and in order")
        if exact_sum(number) > LARGEST:
            raise DataError(f"keys have at most {LARGEST} records; these have more")

    def check(self, data: CountedKeys, spend: Fraction) -> None:
        self.require_keys(data)
        self.require_feasible(spend)

    def require_feasible(self, spend: Fraction) -> None:
        """Refuse, whatever the data, noise or a threshold that 64-bit integers do not hold. Raises: TooLarge."""
        for block in self.known.blocks:
            self.known.law_of(block).check_size(1 / spend)
        if self.threshold(spend) >= MOST_COUNTED:
            raise TooLarge("the threshold does not fit 64-bit integers; spend more of the budget on this release")

    def drawn(self, data: CountedKeys, spend: Fraction, randomness: Randomness) -> NoisyKeys:
        threshold, words = self.threshold(spend), getattr(data, "words", ())
        noisy = np.zeros(len(data.keys), dtype=np.int64)
        for block, here in zip(self.known.blocks, self.known.by_block(self.blocks_of(data.keys)), strict=True):
            if len(here):
                noisy[here] = self.known.with_noise(block, data.counts[here], randomness, 1 / spend)
        reported = noisy >= threshold
        texts, rest = np.divmod(data.keys[reported], self.listed_keys)
        # Texts are numbered among the reported ones: their places among all would tell how many there are.
        kept, places = np.unique(texts, return_inverse=True)
        keys = places.reshape(-1).astype(np.int64) * self.listed_keys + rest
        return NoisyKeys(keys, noisy[reported], 1, tuple(words[place] for place in kept.tolist()))

    def encode_answer(self, answer: NoisyKeys) -> Any:
        return answer.stored()

    def decode_answer(self, stored: Any) -> NoisyKeys:
        words = stored.get("words", [])
        if not (isinstance(words, list) and all(isinstance(one, str) for one in words)):
            raise DataError("a stored answer of keys that nobody listed has their texts")
        return NoisyKeys.of_stored(stored, len(words) * self.listed_keys, 1, tuple(words))

    def answer_bytes(self, spend: Fraction) -> int:
        """How many keys are reported depends on the data, and is not known before."""
        return ANSWER_BYTES


@lru_cache(maxsize=16)
def _threshold(keys: UnlistedKeys, spend: Fraction) -> int:
    return keys.own(spend).threshold(keys.chance)


def require_bounded(people: People | None) -> None:
    """Raises: UnsupportedCombination where one person may have keys in any number, or fractions of them."""
    if people is not None and people.in_shares:
        raise UnsupportedCombination(
            "who is spread over rows may have keys in any number, each of which shows with some chance: write 'people: "
            f"{{column: {people.column}, count: rows, at_most: 5, order: …}}', by whose order the first rows are kept, "
            "or 'count: single'"
        )
