"""Noise in parts as noise in answers to linear queries: each is its exact value and whole multiples of what parts get.

A box is Σ C·M·x over what is new in each part, M·x the numbers that are measured and C whole numbers over a divisor;
noise z in these reaches it as Σ C·z. That the weights which are released are C·M is proved by whoever releases them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.mixing import Block, FirstLessSecond, IntegerMixing, Siblings, Summing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.factors import Factor, Tree
from dxgeom.mechanisms.parts.lattice_noise import LatticeNoise
from dxgeom.mechanisms.parts.scales import SHARES

MOST_ENTRIES: Final = 1 << 25
"""How noise reaches answers is not laid out beyond so many numbers."""
_LARGEST: Final = 2.0**61


class AskedBoxes(NamedTuple):
    """Boxes over the same ``columns``, places among a mechanism's factors: ``answers`` (k,), whose value each is;
    ``lower``, ``upper`` (k, columns): the first told value inside, and the first beyond."""

    columns: tuple[int, ...]
    answers: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]


def parts_in_answers(
    made: LatticeNoise[Any], sensitivity: Sensitivity, boxes: Sequence[AskedBoxes]
) -> AdditiveMechanism:
    """The same noise in the answers to linear queries, which are the boxes ``boxes``; other answers have none.

    Guarantee: as ``made``, of whose noisy numbers the answers are functions; they agree with each other, exactly.
    Raises: TooLarge where there are too many answers to lay out what each takes; CertificateRefused.
    """
    if not made.noisy:
        return without_noise(made.name, sensitivity)
    count = len(sensitivity.queries.names)
    law, each = made.law, zip(_divisors(made, boxes, count), sensitivity.queries.steps, strict=True)
    divisors = tuple(one * own * made.steps_per_count for one, own in each)
    mixing = IntegerMixing(_numerators(made, made.blocks, boxes, count), divisors, made)
    return AdditiveMechanism(made.name, sensitivity, law, mixing)


def _divisors(made: LatticeNoise[Any], boxes: Sequence[AskedBoxes], count: int) -> list[int]:
    """(K,): what the numerators of each answer are over."""
    padded = [one.padded if isinstance(one, Tree) else 1 for one in made.factors]
    found = [1] * count
    for one in boxes:
        own = math.prod(padded[place] for place in one.columns) * (1 if made.normal else SHARES)
        if own * max(padded, default=1) >= _LARGEST:
            raise TooLarge("noise in so fine a tree is not laid out in 64-bit integers")
        for answer in one.answers.tolist():
            found[answer] = own
    return found


def _numerators(
    made: LatticeNoise[Any], blocks: Sequence[Block], boxes: Sequence[AskedBoxes], count: int
) -> NDArray[np.int64]:
    """(K, m): what each answer takes of the noise in each part. Raises: TooLarge."""
    ends = np.cumsum([0, *(block.size for block in blocks)])
    if count * int(ends[-1]) > MOST_ENTRIES:
        raise TooLarge(
            f"{count:,} answers that share {ends[-1]:,} noisy numbers are not laid out; at most {MOST_ENTRIES:,} "
            "pairs are: ask for them as dx.universe.MarginalQueries, or BoxQueries"
        )
    found = np.zeros((count, int(ends[-1])), dtype=np.int64)
    at = {number: slice(*ends[place : place + 2].tolist()) for place, number in enumerate(made.noisy)}
    parts = [(levels, list(_part(made, levels, shares, at))) for levels, shares in made.averages()]
    for one in boxes:
        taken, first = _Boxes(made.factors, one), int(one.answers.min(initial=count))
        in_turn = np.array_equal(one.answers, np.arange(first, first + len(one.answers)))
        rows = found[first : first + len(one.answers)] if in_turn else found[one.answers]
        for levels, seen in parts:
            if levels.keys() <= {*one.columns}:
                own = taken.of(levels)
                for numbers, places, share in seen:
                    rows[:, numbers] += own[:, places] if share == 1 else share * own[:, places]
        if not in_turn:
            found[one.answers] = rows
    return found


def _part(
    made: LatticeNoise[Any], levels: Mapping[int, int], shares: Mapping[int, int], at: Mapping[int, slice]
) -> Iterator[tuple[slice, NDArray[np.int64] | slice, int]]:
    """All numbers with noise in which a part of these levels is seen, the place of each among its own, and its share
    there."""
    cells = {place: made.factors[place].cells(level) for place, level in sorted(levels.items())}
    for number, share in shares.items():
        places = _seen_in(made.sums_of(number), cells)
        whole = np.array_equal(places, np.arange(math.prod(cells.values())))
        yield at[number], slice(None) if whole else places, share


def _seen_in(sums: Mapping[int, Summing], cells: Mapping[int, int]) -> NDArray[np.int64]:
    """(numbers,): of each number of a part with noise, group by group, the place of what it adds to, among so many
    ``cells`` along each attribute."""
    found, stride = np.zeros((1, 1), dtype=np.int64), math.prod(cells.values())
    for place in sorted(sums):
        own = np.zeros(sums[place].shape, dtype=np.int64)
        if place in cells:
            stride //= cells[place]
            own = own + stride * _along(sums[place], cells[place])
        shape = found.shape[0] * own.shape[0], found.shape[1] * own.shape[1]
        found = (found[:, None, :, None] + own[None, :, None, :]).reshape(shape)
    return found.ravel()


def _along(sums: Summing, cells: int) -> NDArray[np.int64]:
    """(groups, inner): along one attribute."""
    if isinstance(sums, FirstLessSecond):
        return np.zeros((1, 1), dtype=np.int64)  # the second's is the same, less
    if isinstance(sums, Siblings):
        return np.arange(cells).reshape(sums.groups, -1)[:, 1:]  # the first sibling's is what the others lack
    return np.repeat(np.arange(cells), sums.shape[0] // cells)[:, None]


@final
class _Boxes:
    """What boxes over the same columns take of parts."""

    def __init__(self, factors: Sequence[Factor], boxes: AskedBoxes) -> None:
        ends = dict(zip(boxes.columns, zip(boxes.lower.T, boxes.upper.T, strict=True), strict=True))
        self._columns, self._everybody = boxes.columns, np.ones((len(boxes.answers), 1), dtype=np.int64)
        self._along = cache(lambda place, level: factors[place].taken(level, *ends[place]))

    def of(self, levels: Mapping[int, int]) -> NDArray[np.int64]:
        """(k, cells): of the part of these levels."""
        found = self._everybody
        for place in sorted(self._columns):
            own = self._along(place, levels.get(place, 0))
            found = (found[:, :, None] * own[:, None, :]).reshape(len(found), -1)
        return found
