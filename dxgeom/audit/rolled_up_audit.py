"""Keys along a tree, audited: every level as keys are, their parts of what is spent, and rows made by a second route.

Levels look at the same records, each with noise of its own. So all together show what each shows at its part of the
budget, if which rows are shown, and what is left of them, follows from their answers alone.
"""

from __future__ import annotations

import math
import secrets
from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np

from dxgeom.audit.key_audit import RandomTable, require_keys
from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.rolled_up_keys import RolledUpKeys
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.randomness import InsecureSeededRandomness

_TRIALS: Final = 16
_RECORDED: Final = 64
_WORK: Final = 100_000
_FEW: Final = 4


def require_rolled_up(mechanism: RolledUpKeys, metric: Metric) -> list[str]:
    """That levels are noise on keys, which hides every move at their parts of the budget, and that rows follow from
    their answers; in sentences.

    Raises: as :func:`dxgeom.audit.key_audit.require_keys`.
    """
    levels, columns = mechanism.levels, mechanism.columns_of_keys
    shares = [one.share for one in levels]
    _require(min(shares) > 0 and sum(shares) <= 1, "parts of levels come to more than what is spent")
    nested = all({*above.places} < {*below.places} for above, below in pairwise(levels))
    _require(nested and [*levels[-1].places] == [*range(len(columns))], "a level is not below the one before")
    for one in levels:
        own = one.counts.columns_of_keys
        same = len(own) == len(one.places) and all(
            mine is columns[place] for mine, place in zip(own, one.places, strict=True)
        )
        _require(same and one.counts.shares == mechanism.shares, "a level counts other keys than it says")
        lines = require_keys(one.counts, metric)
    trials = _require_rows(mechanism)
    return [
        f"of each of {len(levels)} levels {lines[0]}",
        f"of each level, at its part of what is spent, of which all together take no more than the whole, {lines[1]}",
        f"rows follow from the answers of levels alone: {trials} answers over random tables made by a second route",
    ]


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise CertificateRefused(f"keys along a tree are not what was proved: {what}")


def _table(found: dict[int, int]) -> RandomTable:
    keys = sorted(found)
    counts = np.array([found[key] for key in keys], dtype=np.int64)
    return RandomTable(np.array(keys, dtype=np.int64), counts, int(counts.sum()))


def _require_rows(mechanism: RolledUpKeys) -> int:
    """That answers are what follows from the answers of levels to the same draws; how many were looked at."""
    expected = sum(one.counts.expected_spurious(one.share) for one in mechanism.levels)
    trials = max(1, min(_TRIALS, int(_WORK / (1 + expected))))
    most = max(one.counts.threshold(one.share) for one in mechanism.levels)
    sizes = [len(one.words) for one in mechanism.columns_of_keys]
    for _ in range(trials):
        # Some keys beside each other, so that children of one parent are told together.
        first = [secrets.randbelow(mechanism.key_count) for _ in range(_RECORDED)]
        near = [(one + step) % mechanism.key_count for one in first[:_FEW] for step in range(_FEW)]
        table = {one: 1 + secrets.randbelow(2 * most) for one in [*first, *near]}
        seed = secrets.randbits(62)
        found = mechanism.drawn(_table(table), Fraction(1, mechanism.shares), InsecureSeededRandomness(seed))
        made = sorted(_made_again(mechanism, table, sizes, InsecureSeededRandomness(seed)).items())
        _require(found.divisor == mechanism.shares, "counts are in other parts of a person than they are shown in")
        told = [*zip(found.keys.tolist(), found.numerators.tolist(), strict=True)]
        _require(told == made, "other rows are shown than those that pass with all above them, and what they leave")
    return trials


def _made_again(
    mechanism: RolledUpKeys, table: dict[int, int], sizes: list[int], randomness: InsecureSeededRandomness
) -> dict[int, int]:
    """Rows by their number: of what each level draws, one after the other, found by this audit."""
    rows: dict[int, int] = {}
    above: dict[tuple[int, ...], int] = {}
    before: tuple[int, ...] = ()
    for number, level in enumerate(mechanism.levels):
        own = [sizes[place] for place in level.places]
        summed: dict[int, int] = {}
        for key, count in table.items():
            codes = _codes(key, sizes)
            place = _number([codes[one] for one in level.places], own)
            summed[place] = summed.get(place, 0) + count
        drawn = level.counts.drawn(_table(summed), level.share / mechanism.shares, randomness)
        told: dict[tuple[int, ...], int] = {}
        left: dict[tuple[int, ...], int] = {}
        for key, count in zip(drawn.keys.tolist(), drawn.numerators.tolist(), strict=True):
            codes = _codes(key, own)
            parent = tuple(code for place, code in zip(level.places, codes, strict=True) if place in before)
            if number and parent not in above:
                continue
            told[codes] = count
            if number:
                left[parent] = left.get(parent, above[parent]) - count
        rows |= {_row(dict(zip(level.places, codes, strict=True)), sizes, ()): one for codes, one in told.items()}
        fresh = [place for place in level.places if place not in before]
        rows |= {_row(dict(zip(before, codes, strict=True)), sizes, fresh): one for codes, one in left.items()}
        above, before = told, level.places
    return rows


def _codes(number: int, sizes: list[int]) -> tuple[int, ...]:
    """The last one's the fastest."""
    found = []
    for size in reversed(sizes):
        number, code = divmod(number, size)
        found.append(code)
    return tuple(reversed(found))


def _number(codes: list[int], sizes: list[int]) -> int:
    return sum(code * math.prod(sizes[place + 1 :]) for place, code in enumerate(codes))


def _row(codes: dict[int, int], sizes: list[int], others: list[int] | tuple[()]) -> int:
    """The row of these codes: a value more stands for all values, and one more for all others."""
    each = [codes.get(place, size + (place in others)) for place, size in enumerate(sizes)]
    return _number(each, [size + 2 for size in sizes])
