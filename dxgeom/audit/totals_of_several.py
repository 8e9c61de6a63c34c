"""What moves of a record reveal of running totals along several attributes, or of several categories.

Along several at once a record is as long as the product of what it is along each. Of K categories, alike in all of
them, V_c = D·N_c + E·Σ N, so that what a record adds to one is seen along the mean of all through D + K·E, a K-th of
its square, and across it through D, the rest. Two categories are apart by twice the square through D.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dxgeom.audit.counted_blocks import InClasses, InTotals, NoisyBlock
from dxgeom.audit.moves import MOST_TOTALS, NEAR, PRECISION, VECTORS_AT_ONCE, Moves, OfTriangle
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.noise.in_categories import CategoryNormals
from dxgeom.noise.triangular import KroneckerNormals
from dxgeom.numeric.rounding import round_down

_EXACT: Final = 2.0**53
_FINEST: Final = 200
_OTHER: Final = "the noise in totals of categories is of another form than the numbers"

Codes = NDArray[np.int64]


def in_joint_totals(noisy: Sequence[NoisyBlock]) -> bool:
    """Whether noise is in the running totals along several attributes at once."""
    return any(isinstance(along, InTotals) for one in noisy for along in one.block.along)


def require_joint_totals(noisy: Sequence[NoisyBlock], moves: Moves) -> str:
    """That every record is hidden, by the longest along each attribute, and so is any change, which is no further than
    two records are long; in a sentence. Raises: CertificateRefused, also where float64 does not tell it; TooLarge.
    """
    laws, block = [law for one in noisy for law in one.laws], noisy[0].block
    law = laws[0]
    totals = len(laws) == 1 and all(isinstance(one, InTotals) for one in block.along)
    if not (totals and isinstance(law, KroneckerNormals) and np.all(law.spreads == law.spreads.flat[0])):
        raise CertificateRefused("noise in joint totals has one law, alike in all totals")
    longest, nearest = Fraction(block.steps) / Fraction(float(law.spreads.flat[0])), []
    for axis, own in zip(block.axes, law.maps, strict=True):
        longest *= Fraction(OfTriangle(own, 1).longest)
        nearest += [Fraction(float(pairs.bound.min())) for pairs in moves.along(axis) if pairs.bound.size]
    nearest += [distance for places, distance in moves.together if {*places} & {*block.axes}]
    alone = moves.presence is not None and longest <= Fraction(round_down(moves.presence))
    if not (alone and all(2 * longest <= distance for distance in nearest)):
        raise CertificateRefused("the noise does not hide what the metric protects: joint totals move too far")
    return "every record is hidden in the joint totals, and so is every change, which is no further than two are long"


def require_by_category(noisy: Sequence[NoisyBlock], moves: Moves) -> str:
    """That every move is hidden, of which all changes are made; in a sentence. Raises: CertificateRefused, TooLarge."""
    vectors = _OfCategories(noisy)
    block = noisy[0].block
    own = [place for place, one in enumerate(block.along) if isinstance(one, InTotals)]
    line, values = block.axes[own[0]], np.arange(vectors.size)
    for places, distance in moves.together:
        if {*places} & {*block.axes} and (moves.presence is None or distance < 2 * moves.presence):
            raise TooLarge("noise in totals of categories is audited where distances add up over attributes")
    for first, second, bounds in moves.along(line):
        vectors.require(block.merged[line][first], block.merged[line][second], bounds)
    for axis in block.axes:
        for first, second, bounds in moves.along(axis) if axis != line else ():
            told = block.merged[axis][first] != block.merged[axis][second]
            vectors.require_between(float(bounds[told].min(initial=math.inf)))
    if moves.presence is not None:
        vectors.require(values, None, np.full(len(values), round_down(moves.presence)))
    return "every move along the attribute of the totals is hidden, and every change of category: so is every change"


@final
class _OfCategories:
    """Raises: CertificateRefused for noise of another form; TooLarge."""

    def __init__(self, noisy: Sequence[NoisyBlock]) -> None:
        laws = [law for one in noisy for law in one.laws]
        if len(laws) != 1 or not isinstance(laws[0], CategoryNormals):
            raise CertificateRefused(_OTHER)
        law, block = laws[0], noisy[0].block
        totals = [place for place, one in enumerate(block.along) if isinstance(one, InTotals)]
        formed = len(totals) == 1 and all(isinstance(one, InTotals | InClasses) for one in block.along)
        sizes = [one.numbers for one in block.along]
        before, within = (math.prod(sizes[part]) for part in (slice(totals[0]), slice(totals[0] + 1, None)))
        if not formed or law.shape != (before, sizes[totals[0]], within):
            raise CertificateRefused(_OTHER)
        self.size, self._count = sizes[totals[0]], before * within
        if self.size > MOST_TOTALS:
            raise TooLarge(f"running totals of more than {MOST_TOTALS:,} values are not laid out for this audit")
        self._require_exact(law)
        self._across = OfTriangle(law.own, block.steps)
        self._mean = OfTriangle(law.own + self._count * law.shared, block.steps)

    def _require_exact(self, law: CategoryNormals) -> None:
        """That D + K·E is so small a multiple of a power of two that nothing of it is rounded."""
        places = (power for power in range(_FINEST) if all(_is_whole(one, power) for one in (law.own, law.shared)))
        power, largest = next(places, None), np.abs(law.own).max() + self._count * np.abs(law.shared).max()
        if power is None or not largest * 2.0**power < _EXACT:
            raise CertificateRefused(_OTHER)

    def require(self, one: Codes, other: Codes | None, bounds: NDArray[np.float64]) -> None:
        """That records of one category are no further apart, or where there is no other, no longer."""
        for start in range(0, len(one), VECTORS_AT_ONCE):
            here = slice(start, start + VECTORS_AT_ONCE)
            own, beside = one[here], None if other is None else other[here]
            mean, across = (part.lengths(own, beside) for part in (self._mean, self._across))
            with np.errstate(all="ignore"):
                squares = mean**2 / self._count + across**2 * (1 - 1 / self._count)
                far = ~(np.sqrt(squares) <= bounds[here] * (1 - NEAR))
            for place in np.flatnonzero(far).tolist():
                apart = self._in_balls(int(own[place]), None if beside is None else int(beside[place]))
                _require(apart, float(bounds[here][place]))

    def require_between(self, bound: float) -> None:
        """That a record of one category is no further from one of another."""
        for value in range(self.size):
            across = self._across.lengths(np.array([value]), None)[0]
            if not math.sqrt(2) * across <= bound * (1 - NEAR):
                with ctx.workprec(PRECISION):
                    square = 2 * self._across.in_balls(value, None) ** 2
                _require(square, bound)

    def _in_balls(self, one: int, other: int | None) -> arb:
        """The square of how far they are apart."""
        with ctx.workprec(PRECISION):
            mean, across = (part.in_balls(one, other) ** 2 for part in (self._mean, self._across))
            return (mean + (self._count - 1) * across) / self._count


def _is_whole(numbers: NDArray[np.float64], power: int) -> bool:
    scaled = numbers * 2.0**power
    return bool(np.array_equal(scaled, np.rint(scaled)))


def _require(square: arb, bound: float) -> None:
    with ctx.workprec(PRECISION):
        if not bool(square <= arb(bound) ** 2):
            raise CertificateRefused("the noise does not hide what the metric protects: totals move too far")
