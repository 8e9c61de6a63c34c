"""Normal noise along bases of attributes: what every move of a record uses up, from bases that are undone in balls.

What values are along each vector is enclosed in float64 from these balls; sums of products of squares, none of them
negative, are taken in float64 and counted too large by more than all roundings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Final, final

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from dxgeom.audit.plans.claimed_blocks import NoisyBlock
from dxgeom.audit.plans.counted_blocks import AboveFirst
from dxgeom.audit.plans.moves import Moves
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.noise.laws.tables.kronecker import KroneckerNormals
from dxgeom.numeric.exact_numbers import value_rounded_up
from dxgeom.numeric.rounding import round_down, round_up

_PRECISION: Final = 256
_LEAST: Final = 1e-200
_ROUNDED: Final = 1 + 2.0**-50
_AT_ONCE: Final = 1 << 24


@final
class _Turned:
    """What each told value is along each vector of an ``image`` (n - 1, L) of normal numbers, within errors: the
    second, third, … above the first, undone in balls.

    Where all vectors have the same noise it hides what is left of the values' numbers without their mean.
    """

    def __init__(self, image: NDArray[np.float64]) -> None:
        self.size, self.alike = len(image) + 1, image.shape[1] > len(image)
        if not self.alike:
            undoing = arb_mat(image.tolist()).inv()
            rows = [[-sum(row, arb(0)) for row in undoing.tolist()], *undoing.transpose().tolist()]
            self._values = np.array([[float(entry.mid()) for entry in row] for row in rows])
            widths = np.array([[value_rounded_up(arb(entry.rad())) for entry in row] for row in rows])
            self._errors = np.maximum(widths + np.abs(self._values) * 2.0**-52, _LEAST)
        elif not np.array_equal(image, np.hstack([-np.ones((len(image), 1)), np.eye(len(image))])):
            raise CertificateRefused("the noise in a block of numbers is of another form than the numbers")

    @cached_property
    def alone(self) -> NDArray[np.float64]:
        """(n, L), or (1, 1): squares of what a record is, *rounded up*."""
        if self.alike:
            return np.array([[round_up(Fraction(self.size - 1, self.size))]])
        return _squares(np.abs(self._values), self._errors)

    def moved(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        """(E, L), or (E, 1): likewise of one that moves from one value to another."""
        if self.alike:
            return np.where(first == second, 0.0, 2.0)[:, None]
        sizes = np.abs(self._values[first] - self._values[second]) * _ROUNDED
        squares = _squares(sizes, self._errors[first] + self._errors[second])
        return np.where((first == second)[:, None], 0.0, squares)


def _squares(sizes: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.maximum((sizes + errors * _ROUNDED) ** 2 * _ROUNDED, _LEAST))


@final
class _Part:
    """A block, what values are along each of its attributes, and what a square of 1 uses up of a squared distance."""

    def __init__(self, noisy: NoisyBlock, known: dict[tuple[int, bytes], _Turned]) -> None:
        law, *others = noisy.laws
        sizes = [one.numbers for one in noisy.block.along]
        above = all(isinstance(one, AboveFirst) and one.groups == one.width == 1 for one in noisy.block.along)
        formed = above and not others
        if not (formed and isinstance(law, KroneckerNormals) and [len(one) for one in law.maps] == sizes):
            raise CertificateRefused("the noise in a block of numbers is of another form than the numbers")
        self.block = noisy.block
        self.turned = [
            known.setdefault((axis, one.tobytes()), known.get((axis, one.tobytes())) or _Turned(one))
            for axis, one in zip(noisy.block.axes, law.maps, strict=True)
        ]
        with np.errstate(all="raise"):
            self.rates = (noisy.block.steps / law.spreads) ** 2

    def others(self, axis: int) -> int:
        """How many values of the other attributes, or vectors, there are together."""
        return math.prod(
            max(one.alone.shape) for place, one in zip(self.block.axes, self.turned, strict=True) if place != axis
        )

    def used(self, axis: int | None, moved: NDArray[np.float64]) -> NDArray[np.float64]:
        """(E,): what moves (E, L) along an axis, or a record alone, use up in the block at most, of others' values."""
        place = None if axis is None else self.block.axes.index(axis)
        table = self.rates[None] if place is None else np.moveaxis(self.rates, place, 0)
        found = np.tensordot(moved, table, axes=1)
        for number, one in enumerate(self.turned):
            if number != place:
                found = np.tensordot(found, one.alone, axes=([1], [1]))
        return np.asarray(found.reshape(len(found), -1).max(axis=1))


def require_along_bases(noisy: Sequence[NoisyBlock], moves: Moves) -> str:
    """Every move, with the most that the other attributes can add to it, block by block.

    Raises: CertificateRefused; TooLarge for metrics with a bound for several attributes together.
    """
    if moves.together:
        raise TooLarge("noise along bases is audited where distances add up over attributes")
    known: dict[tuple[int, bytes], _Turned] = {}
    with ctx.workprec(_PRECISION):
        parts = [_Part(one, known) for one in noisy]
    looked_at = 0
    for axis in range(len(moves.sizes)):
        own = [one for one in parts if axis in one.block.axes]
        at_once = _AT_ONCE // max((one.others(axis) for one in own), default=1)
        if not at_once:
            raise TooLarge("noise along bases of so many vectors is not audited")
        for first, second, bounds in moves.along(axis) if own else ():
            looked_at += len(bounds)
            for start in range(0, len(bounds), at_once):
                some = slice(start, start + at_once)
                one, other = (own[0].block.told[axis][values[some]] for values in (first, second))
                turned = [part.turned[part.block.axes.index(axis)] for part in own]
                used = [part.used(axis, along.moved(one, other)) for part, along in zip(own, turned, strict=True)]
                _require(np.sum(used, axis=0), bounds[some], parts)
    if moves.presence is not None:
        used = [one.used(None, np.ones((1, 1))) for one in parts]
        _require(np.sum(used, axis=0), np.array([round_down(moves.presence)]), parts)
    return (
        f"all {looked_at:,} moves of one attribute are hidden along the bases, whatever a record has of the others, in "
        "balls: so is every change"
    )


def _require(squares: NDArray[np.float64], distances: NDArray[np.float64], parts: Sequence[_Part]) -> None:
    """All roundings, of sums of so many products in any order, are counted in one factor."""
    widest = max((sum(one.rates.shape) + 8 * one.rates.ndim for one in parts), default=0)
    roundings = 1 + (widest + len(parts) + 32) * 2.0**-52
    if not np.all(squares * roundings <= distances**2):
        raise CertificateRefused("the noise does not hide what the metric protects: it is too narrow along some basis")
