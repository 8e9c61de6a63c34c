"""Which of very many keys have records, and how many, with noise on every key, of which few are ever made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, Final, NamedTuple, final

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.errors import DataError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.contract.mechanism import ANSWER_BYTES
from dxgeom.mechanisms.contract.readers import CountedKeys, KeyReader, require_own_records
from dxgeom.metrics.lipschitz_maps import IndependentRates, blocks_of_rates, independent_rates
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rare_events import PRECISION, RareEvents, RareLaplace, RareNormal
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal
from dxgeom.privacy.measures import PURE
from dxgeom.universe.workloads.groups import Groups, require_columns

MOST_KEYS: Final = 10**12
"""There can be no more."""
MOST_SPURIOUS: Final = 20_000_000
"""So many keys without a record are expected at most, for their number is what a release takes time and room for."""
MOST_BLOCKS: Final = 4096
"""Products of values with one rate each."""
_WIDER: Final = 1 + 2.0**-50
_BYTES_OF_A_KEY: Final = 256
MOST_COUNTED: Final = 2**62
"""Counts beyond are cut, and thresholds refused: sums would begin again from below."""


@final
@dataclass(frozen=True, eq=False)
class NoisyKeys:
    """Released keys: that of number ``keys[k]`` has the count ``numerators[k]/divisor``, exactly; rising. ``words``: of
    keys that nobody listed the texts that are reported, by which keys are numbered."""

    keys: NDArray[np.int64] = field(repr=False)
    numerators: NDArray[np.int64] = field(repr=False)
    divisor: int
    words: tuple[str, ...] = field(default=(), repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The keys ready for JSON."""
        return {
            "keys": self.keys.tolist(),
            "numerators": self.numerators.tolist(),
            "divisor": str(self.divisor),
            **self._texts,
        }

    @classmethod
    def rising(cls, keys: list[NDArray[np.int64]], numerators: list[NDArray[np.int64]], divisor: int) -> NoisyKeys:
        """Of parts in any order."""
        every = np.concatenate(keys)
        order = np.argsort(every, kind="stable")
        return cls(every[order], np.concatenate(numerators)[order], divisor)

    def stored(self) -> dict[str, Any]:
        """As ledgers hold it, without what the mechanism says."""
        return {"keys": self.keys.tolist(), "counts": self.numerators.tolist(), **self._texts}

    @property
    def _texts(self) -> dict[str, Any]:
        return {"words": [*self.words]} if self.words else {}

    @classmethod
    def of_stored(cls, stored: Any, many: int, divisor: int, words: tuple[str, ...] = ()) -> NoisyKeys:
        """What :meth:`stored` wrote. Raises: DataError for other keys than the first ``many``, or other counts."""
        keys, counts = (np.array(stored[word], dtype=np.int64) for word in ("keys", "counts"))
        if len(keys) != len(counts) or (len(keys) and not (keys.min() >= 0 and keys.max() < many)):
            raise DataError("a stored answer of keys has a count for each, and no others than the policy has")
        return cls(keys, counts, divisor, words)


class KeyBlock(NamedTuple):
    """Keys of one rate: a product of ``members``, places of values. ``scale``: of noise where 1 is spent."""

    members: tuple[NDArray[np.int64], ...]
    scale: float

    @property
    def size(self) -> int:
        return math.prod(len(own) for own in self.members)


@final
@dataclass(frozen=True, eq=False)
class KeyCounts(KeyReader[NoisyKeys]):
    """The keys whose counts with noise reach a threshold θ, with these counts; of all that there can be.

    Definition: x_k + round(V_k) for each key k, independently, where that is θ or more; of keys without a record, too.
    V_k is a Laplace number of scale 1/(r_k·spend), in concentrated privacy a normal one of deviation 1/(√q_k·spend).
    Counts of people who are spread are in shares, and θ with them. ``columns_of_keys``: a key is a value of each.
    ``at_least``: θ. Where it is None, θ is the least from 1 on at which ``spurious`` keys or fewer are expected to be
    reported, if no key had a record.
    Guarantee: replacing record i by j changes the odds of any answer by at most e^(spend·d(i, j)); in concentrated
    privacy it has D_α ≤ α·(spend·d(i, j))²/2. A record that changes its key moves two counts by 1, which costs r_k +
    r_l ≤ d(i, j); one that comes or goes moves one: :func:`dxgeom.metrics.lipschitz_maps.independent_rates`. Normal
    noise has q_k = r_k·max(r_k, 2·min r), at most the square of the distance to no record. So q_k + q_l is at most
    (r_k + r_l)², and that is at most d². θ, and which keys there can be, depend on no data. What is left out follows
    from the counts with noise.
    Keys without a record are drawn by :mod:`dxgeom.noise.rare_events`, as if all keys were such; those that some record
    has are left out of them. So the law is that of noise on every key, and what is made grows with the rows and the
    answer. Keys come by their number, never in the order of rows.
    Raises: UnboundedLoss where records of two keys are at distance 0; UnsupportedCombination where no rule protects a
    key; TooLarge.
    """

    metric: VerifiedMetric = field(repr=False)
    columns_of_keys: tuple[Groups, ...] = field(repr=False)
    spurious: Fraction | None = None
    at_least: int | None = None
    name: str = field(default="noisy keys", init=False)

    def __post_init__(self) -> None:
        seal(self)
        universe = self.columns_of_keys[0].universe if self.columns_of_keys else None
        if universe is None or universe.listed is not None:
            raise UnsupportedCombination(
                "a key is a value of each of some attributes, one at least, of no listed records"
            )
        require_own_records(self.metric, universe)
        require_columns(universe, self.columns_of_keys)
        if (self.spurious is None) == (self.at_least is None):
            raise UnsupportedCombination("either 'spurious' or 'at_least' says which keys are reported")
        if (self.spurious is not None and self.spurious <= 0) or (self.at_least is not None and self.at_least < 1):
            raise UnsupportedCombination("'spurious' is above 0, and 'at_least' from 1 on")
        if self.key_count > MOST_KEYS:
            raise TooLarge(
                f"these are {self.key_count:,} keys; there can be at most {MOST_KEYS:,}: take coarser values"
            )
        _ = self.blocks  # what cannot be protected is reported at once

    @cached_property
    def rates(self) -> IndependentRates:
        """r_k where 1 is spent, by the places of a key's values."""
        shape = self.columns_of_keys[0].universe.shape
        return independent_rates(self.metric.metric, shape, {one.axis: one.codes for one in self.columns_of_keys})

    @cached_property
    def blocks(self) -> tuple[KeyBlock, ...]:
        """The keys by their rate, as products.

        Raises: UnboundedLoss, UnsupportedCombination, TooLarge.
        """
        if math.prod(len(np.unique(own)) for own in self.rates.rates) > MOST_BLOCKS:
            raise TooLarge(f"keys have more than {MOST_BLOCKS:,} combinations of protections: state fewer numbers")
        found = list(blocks_of_rates(self.rates))
        rates = [rate for _, rate in found]
        if min(rates) <= 0:
            raise UnboundedLoss("records of different keys are at distance 0, so no noise can hide how many there are")
        if math.isinf(max(rates)):
            raise UnsupportedCombination(
                "no rule protects these keys, and exact counts would be reported: state a rule that changes one of "
                "their attributes, or one about presence"
            )
        least = min(rates)
        return tuple(KeyBlock(members, self._scale(rate, least)) for members, rate in found)

    def _scale(self, rate: float, least: float) -> float:
        """That of the noise where 1 is spent, *rounded up*."""
        if not self.normal:
            return math.nextafter(1 / rate, math.inf)
        square = rate * max(rate, 2 * least)
        near = math.inf if self.rates.presence is None else self.rates.presence**2
        return 1 / math.sqrt(min(square, near)) * _WIDER

    @property
    def normal(self) -> bool:
        """Whether noise is normal, for concentrated privacy."""
        return self.metric.privacy != PURE

    @cached_property
    def fingerprint(self) -> str:
        columns = [(one.column, one.axis, one.words, one.codes) for one in self.columns_of_keys]
        scales = [block.scale for block in self.blocks]
        return canonical_digest(
            self.name, self.metric.fingerprint, columns, str(self.spurious), self.at_least, np.array(scales)
        )

    def events(self, spend: Fraction, threshold: int) -> tuple[RareEvents, ...]:
        """Of each block what reaches a threshold where so much is spent; both are in shares where people are spread."""
        kind = RareNormal if self.normal else RareLaplace
        return tuple(kind(block.scale, 1 / spend, threshold) for block in self.blocks)

    def expected(self, spend: Fraction, threshold: int) -> arb:
        """How many keys are expected to be reported, if no key had a record, as a ball; both as above."""
        with ctx.workprec(PRECISION):
            each = zip(self.blocks, self.events(spend, threshold), strict=True)
            return sum((block.size * event.chance for block, event in each), arb(0))

    def threshold(self, spend: Fraction) -> int:
        """θ where so much is spent; in shares where people are spread. Guarantee: no more than ``spurious`` keys are
        expected, where that was stated; *exact*, with balls."""
        if self.at_least is not None:
            return self.at_least * self.shares
        share, most = spend / self.shares, fmpq(*(self.spurious or Fraction(1)).as_integer_ratio())
        low, high = 0, 1
        while not bool(self.expected(share, high) <= arb(most)):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if bool(self.expected(share, middle) <= arb(most)) else (middle, high)
        return high

    def expected_spurious(self, spend: Fraction) -> float:
        """How many keys are expected to be reported where so much is spent, if no key had a record, *rounded up*."""
        return math.nextafter(float(self.expected(spend / self.shares, self.threshold(spend)).upper()), math.inf)

    def none_spurious(self, spend: Fraction) -> float:
        """The chance that no key is reported if no key has a record, *rounded down* to four digits."""
        with ctx.workprec(PRECISION):
            each = zip(self.blocks, self.events(spend / self.shares, self.threshold(spend)), strict=True)
            log = sum((block.size * (-event.chance).log1p() for block, event in each), arb(0))
            return math.floor(max(float(log.exp().lower()), 0.0) * 10_000) / 10_000

    def widths(self, level: float, spend: Fraction) -> NDArray[np.float64]:
        """(blocks,): u with P(|V| ≥ u) ≤ 1 − level where so much is spent, *rounded up*; in shares, as above.

        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        require_level(level)
        events = self.events(spend / self.shares, 1)
        return np.array([event.beyond(1 - level) for event in events])

    def blocks_of(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """The block of each key: blocks are the combinations of groups, the last column's fastest."""
        found = np.zeros(len(keys), dtype=np.int64)
        for (which, count), own in zip(self._groups, self.codes_of(keys), strict=True):
            found = found * count + which[own]
        return found

    @cached_property
    def _groups(self) -> tuple[tuple[NDArray[np.int64], int], ...]:
        """Of each column the group of every value, of one rate each, and how many groups there are."""
        each = (np.unique(own, return_inverse=True) for own in self.rates.rates)
        return tuple((which.reshape(-1).astype(np.int64), len(distinct)) for distinct, which in each)

    @cached_property
    def key_shape(self) -> tuple[int, ...]:
        """How many values each column has."""
        return tuple(len(one.words) for one in self.columns_of_keys)

    def codes_of(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Of each key the place of each of its values."""
        return tuple(np.asarray(own, dtype=np.int64) for own in np.unravel_index(keys, self.key_shape))

    def check(self, data: CountedKeys, spend: Fraction) -> None:
        self.require_keys(data)
        self.require_feasible(spend)

    def require_feasible(self, spend: Fraction) -> None:
        """Refuse, whatever the data, what would tell too many keys. Raises: TooLarge."""
        for block in self.blocks:
            self.law_of(block).check_size(self.shares / spend)
        threshold = self.threshold(spend)
        if threshold >= MOST_COUNTED:
            raise TooLarge("the threshold does not fit 64-bit integers; spend more of the budget on this release")
        expected = self.expected_spurious(spend)
        if expected > MOST_SPURIOUS:
            raise TooLarge(
                f"about {expected:,.0f} keys that nobody has would be reported, at most {MOST_SPURIOUS:,} are: state a "
                "larger 'at_least', or a smaller 'spurious', or spend more"
            )

    def law_of(self, block: KeyBlock) -> NoiseLaw:
        """That of the noise on its keys where 1 is spent."""
        if self.normal:
            return GaussianNoise(Ellipsoid(np.array([[block.scale]])))
        return LaplaceNoise(np.array([block.scale]))

    def by_block(self, which: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """For each block the places of its keys, rising, of keys of whose blocks ``which`` are the numbers."""
        order = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[order], np.arange(len(self.blocks) + 1))
        return (order[start:end] for start, end in pairwise(ends.tolist()))

    def with_noise(
        self, block: KeyBlock, counts: NDArray[np.int64], randomness: Randomness, factor: Fraction
    ) -> NDArray[np.int64]:
        """Counts of keys of a block and noise of their own; those that nobody counts to are cut, lest a sum begin again
        from below. Args: ``factor``: by what the noise is larger than where 1 is spent."""
        return np.minimum(counts, MOST_COUNTED) + self.law_of(block).draw(len(counts), randomness, factor)[:, 0]

    def drawn(self, data: CountedKeys, spend: Fraction, randomness: Randomness) -> NoisyKeys:
        threshold = self.threshold(spend * self.shares)
        keys, counts = [], []
        blocks = zip(self.blocks, self.events(spend, threshold), self.by_block(self.blocks_of(data.keys)), strict=True)
        for block, event, here in blocks:
            if len(here):
                noisy = self.with_noise(block, data.counts[here], randomness, event.factor)
                reported = noisy >= threshold
                keys.append(data.keys[here][reported])
                counts.append(noisy[reported])
            places = _Places(block.members, self.key_shape)
            hits = event.among(block.size, randomness, partial(_without_records, places, data.keys))
            keys.append(places.keys(hits.positions))
            counts.append(hits.values)
        return NoisyKeys.rising(keys, counts, self.shares)

    def encode_answer(self, answer: NoisyKeys) -> Any:
        return answer.stored()

    def decode_answer(self, stored: Any) -> NoisyKeys:
        return NoisyKeys.of_stored(stored, self.key_count, self.shares)

    def answer_bytes(self, spend: Fraction) -> int:
        """Of the keys that nobody has; how many others are reported depends on the data, and is not known before."""
        return ANSWER_BYTES + 2 * _BYTES_OF_A_KEY * math.ceil(self.expected_spurious(spend))


class _Places(NamedTuple):
    """A product of ``members``, places of values, within all keys of a ``shape``."""

    members: tuple[NDArray[np.int64], ...]
    shape: tuple[int, ...]

    def keys(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The keys at these positions of the product, rising as they are."""
        inside = np.unravel_index(positions, [len(own) for own in self.members])
        codes = [own[place] for own, place in zip(self.members, inside, strict=True)]
        return np.asarray(np.ravel_multi_index(codes, self.shape), dtype=np.int64)


def _without_records(places: _Places, known: NDArray[np.int64], positions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which positions of a product are of keys that are not among the ``known``, rising ones."""
    if not len(known):
        return np.ones(len(positions), dtype=np.bool_)
    keys = places.keys(positions)
    return np.asarray(known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] != keys)
