"""Counts of keys rolled up along a tree: those of each parent, and below the reported ones those of its children."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.contract.readers import CountedKeys, KeyReader
from dxgeom.mechanisms.linear.key_counts import KeyCounts, NoisyKeys
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import canonical_digest, seal
from dxgeom.universe.workloads.groups import Groups

ALL: Final = "(all)"
"""In the place of a value: of whatever values there are."""
OTHERS: Final = "(others)"
"""In the place of a value: of those that are not reported beside it."""
_MOST_ROWS: Final = 2**62
_HALF: Final = 31

Keys = NDArray[np.int64]


class _Level(NamedTuple):
    """``places``: of the columns that its keys are made of; ``counts``: of these; ``share``: of what is spent."""

    places: tuple[int, ...]
    counts: KeyCounts
    share: Fraction


@final
@dataclass(frozen=True, eq=False)
class RolledUpKeys(KeyReader[NoisyKeys]):
    """Keys by levels: of the first attribute of ``rollup``, of the first two, …, of all; each key below a reported one.

    Definition: every level is :class:`dxgeom.mechanisms.linear.key_counts.KeyCounts` of its attributes, with noise of
    its own, at its share of what is spent: that beside its attribute in ``rollup``, and the rest for keys of all
    attributes. Of a level those are reported whose parents are. Where children of a parent are reported, so is the
    rest: its count less theirs.
    Guarantee: as of KeyCounts, of all that is spent. Levels look at the same records with independent noise, each at
    its share, and shares sum to 1; what is reported follows from their answers alone.
    Rows are numbered as keys are, where each attribute has two more values, :data:`ALL` and :data:`OTHERS`.
    Raises: as KeyCounts; UnsupportedCombination for shares that leave nothing, or other attributes than those of keys,
    and where a value is called :data:`ALL` or :data:`OTHERS`.
    """

    metric: VerifiedMetric = field(repr=False)
    columns_of_keys: tuple[Groups, ...] = field(repr=False)
    rollup: tuple[tuple[int, Fraction], ...]
    spurious: Fraction | None = None
    at_least: int | None = None
    name: str = field(default="noisy keys along a tree", init=False)

    def __post_init__(self) -> None:
        seal(self)
        axes, known = [axis for axis, _ in self.rollup], {one.axis for one in self.columns_of_keys}
        if not axes or len({*axes}) != len(axes) or not {*axes} < known:
            raise UnsupportedCombination("keys are rolled up by some of their attributes, each once, and not by all")
        if any(share <= 0 for _, share in self.rollup) or sum(share for _, share in self.rollup) >= 1:
            raise UnsupportedCombination("shares of levels are positive, and leave something for the keys themselves")
        if any({ALL, OTHERS} & {*one.words} for one in self.columns_of_keys):
            raise UnsupportedCombination(
                f"rows of keys that are rolled up have '{ALL}' or '{OTHERS}' in the place of a value, and one value of "
                "these keys is called so: ask without 'rollup', or give the value another name"
            )
        if math.prod(self.row_shape) >= _MOST_ROWS:
            raise TooLarge("keys of so many attributes are not rolled up: take fewer")
        _ = self.levels  # what cannot be protected is reported at once

    @cached_property
    def levels(self) -> tuple[_Level, ...]:
        """From the top."""
        place_of = {one.axis: place for place, one in enumerate(self.columns_of_keys)}
        order, shares = [place_of[axis] for axis, _ in self.rollup], [share for _, share in self.rollup]
        found = [tuple(sorted(order[: number + 1])) for number in range(len(order))]
        found.append(tuple(range(len(self.columns_of_keys))))
        each = zip(found, [*shares, 1 - sum(shares)], strict=True)
        return tuple(_Level(places, self._counts(places), Fraction(share)) for places, share in each)

    def _counts(self, places: tuple[int, ...]) -> KeyCounts:
        return KeyCounts(self.metric, tuple(self.columns_of_keys[one] for one in places), self.spurious, self.at_least)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """How many values each column of a row has."""
        return tuple(len(one.words) + 2 for one in self.columns_of_keys)

    @cached_property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """The values of each column of a row."""
        return tuple((*one.words, ALL, OTHERS) for one in self.columns_of_keys)

    @cached_property
    def fingerprint(self) -> str:
        levels = [(list(one.places), one.counts.fingerprint, str(one.share)) for one in self.levels]
        return canonical_digest(self.name, self.metric.fingerprint, levels)

    def codes_of(self, rows: Keys) -> tuple[Keys, ...]:
        """Of each row the place of each of its values."""
        return tuple(np.asarray(own, dtype=np.int64) for own in np.unravel_index(rows, self.row_shape))

    def level_of(self, rows: Keys) -> tuple[Keys, NDArray[np.bool_]]:
        """Of each row its level, from 0 on, and whether it is the rest of a key of that level."""
        codes, sizes = np.stack(self.codes_of(rows)), np.array([len(one.words) for one in self.columns_of_keys])
        real = (codes < sizes[:, None]).sum(axis=0)
        level = np.searchsorted([len(one.places) for one in self.levels], real)
        return level.astype(np.int64), np.any(codes == sizes[:, None] + 1, axis=0)

    def _numbered(self, level: int, keys: Keys, *, rest: bool = False) -> Keys:
        """The rows of keys of a level, or of what is left of them."""
        own = self.levels[level]
        sizes = [len(one.words) for one in self.columns_of_keys]
        codes = [np.full(len(keys), size, dtype=np.int64) for size in sizes]
        for place, found in zip(own.places, own.counts.codes_of(keys), strict=True):
            codes[place] = found
        if rest:
            for place in {*self.levels[level + 1].places} - {*own.places}:
                codes[place] += 1
        return np.asarray(np.ravel_multi_index(codes, self.row_shape), dtype=np.int64)

    def keys_of(self, level: int, rows: Keys) -> Keys:
        """The keys of a level that rows of it, or of one below, belong to."""
        codes, own = self.codes_of(rows), self.levels[level]
        return np.asarray(
            np.ravel_multi_index([codes[place] for place in own.places], own.counts.key_shape), dtype=np.int64
        )

    def check(self, data: CountedKeys, spend: Fraction) -> None:
        self.require_keys(data)
        for one in self.levels:
            one.counts.require_feasible(spend * one.share)

    def drawn(self, data: CountedKeys, spend: Fraction, randomness: Randomness) -> NoisyKeys:
        codes = np.unravel_index(data.keys, [len(one.words) for one in self.columns_of_keys])
        rows: list[Keys] = []
        numbers: list[Keys] = []
        above = NoisyKeys(data.keys[:0], data.keys[:0], self.shares)
        for number, level in enumerate(self.levels):
            table = _added_up([codes[place] for place in level.places], level.counts.key_shape, data)
            found = level.counts.drawn(table, spend * level.share, randomness)
            if number:
                parents = self.keys_of(number - 1, self._numbered(number, found.keys))
                told = np.isin(parents, above.keys)
                found = NoisyKeys(found.keys[told], found.numerators[told], found.divisor)
                left = _left_of(above, parents[told], found.numerators)
                rows.append(self._numbered(number - 1, left.keys, rest=True))
                numbers.append(left.numerators)
            rows.append(self._numbered(number, found.keys))
            numbers.append(found.numerators)
            above = found
        return NoisyKeys.rising(rows, numbers, self.shares)

    def encode_answer(self, answer: NoisyKeys) -> Any:
        return answer.stored()

    def decode_answer(self, stored: Any) -> NoisyKeys:
        return NoisyKeys.of_stored(stored, math.prod(self.row_shape), self.shares)

    def answer_bytes(self, spend: Fraction) -> int:
        return 2 * sum(one.counts.answer_bytes(spend * one.share) for one in self.levels)


@final
@dataclass(frozen=True, eq=False)
class _Table:
    """The counts of a level's keys."""

    keys: Keys
    counts: Keys
    total: int


def _added_up(codes: list[Any], shape: tuple[int, ...], data: CountedKeys) -> _Table:
    """The counts of keys that are less than whole ones."""
    number = np.asarray(np.ravel_multi_index(codes, shape), dtype=np.int64)
    keys, which = np.unique(number, return_inverse=True)
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, which.reshape(-1), data.counts)
    return _Table(keys.astype(np.int64), counts, data.total)


def _left_of(above: NoisyKeys, parents: Keys, numerators: Keys) -> NoisyKeys:
    """What reported children leave of the counts of their parents; of those that have some. *Exact*, and cut at what
    64 bits hold."""
    place = np.searchsorted(above.keys, parents)
    high, low = np.zeros(len(above.keys), dtype=np.int64), np.zeros(len(above.keys), dtype=np.int64)
    np.add.at(high, place, numerators >> _HALF)
    np.add.at(low, place, numerators & ((1 << _HALF) - 1))
    there = np.unique(place)
    each = zip(above.numerators[there].tolist(), high[there].tolist(), low[there].tolist(), strict=True)
    left = [min(max(own - (up << _HALF) - down, -_MOST_ROWS), _MOST_ROWS) for own, up, down in each]
    return NoisyKeys(above.keys[there], np.array(left, dtype=np.int64), above.divisor)
