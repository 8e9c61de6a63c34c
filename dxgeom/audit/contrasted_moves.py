"""How much of a distance normal noise in products gives to records that come, and to any change of one into another.

Another route than the plan's, which takes lengths from the inverse of a root: here what a record adds is laid out, and
held against the inverse of the covariance in balls. That values are alike is not believed, either: their inner products
are compared, in rationals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from flint import arb, arb_mat, ctx
from numpy.typing import NDArray

from dxgeom.audit.counted_blocks import NoisyBlock, Weighed
from dxgeom.audit.moves import Moves
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.noise.triangular import KroneckerNormals
from dxgeom.numeric.arrays import kinds_of_rows

_PRECISION: Final = 256
_MOST_RECORDS: Final = 1 << 12
_LARGEST_ENTRY: Final = 1 << 16
_UPWARD: Final = 1 + 2.0**-30
Floats = NDArray[np.float64]


def require_contrasted(noisy: Sequence[NoisyBlock], moves: Moves) -> str:
    """That records that come or go are hidden, and all changes of one into another; in a sentence.

    The nearest two records that differ are no nearer than the nearest values of some attribute, or a bound for several
    together. Raises: CertificateRefused; TooLarge.
    """
    with ctx.workprec(_PRECISION):
        parts = [_Part(one) for one in noisy]
    told = {axis: own for one in noisy for axis, own in one.block.merged.items()}
    chosen = {axis: _chosen(parts, axis, int(own.max()) + 1) for axis, own in sorted(told.items())}
    count = math.prod(map(len, chosen.values()))
    if count > _MOST_RECORDS:
        raise TooLarge(
            f"of {count:,} kinds of records not all changes are audited; of at most {_MOST_RECORDS:,} they are"
        )
    grams = np.zeros((count, count))
    for one in parts:
        grams += one.inner(chosen)
    lengths = np.diag(grams)
    slack = (sum(len(one.inverse) for one in parts) + 64) * 2.0**-46 * float(lengths.max())
    if moves.presence is not None:
        _require(float(lengths.max()) + slack, moves.presence)
    nearest = _nearest(moves, told)
    if nearest is not None:
        _require(float(np.max(lengths[:, None] + lengths - 2 * grams)) + 4 * slack, nearest)
    return f"records that come or go, and all changes of a record, are hidden by the covariance: of {count:,} kinds"


def _require(square: float, distance: Fraction) -> None:
    if not (math.isfinite(square) and Fraction(square) * Fraction(_UPWARD) <= distance**2):
        raise CertificateRefused("the noise does not hide what the metric protects: a change of a record uses up more")


def _nearest(moves: Moves, told: Mapping[int, NDArray[np.int64]]) -> Fraction | None:
    """No two records that are told apart are nearer; None where presence alone limits it."""
    found = [distance for _, distance in moves.together]
    for axis, codes in told.items():
        for first, second, bounds in moves.along(axis):
            apart = bounds[codes[first] != codes[second]]
            found += [Fraction(float(apart.min()))] if apart.size else []
    least = min(found, default=None)
    return None if moves.presence is not None and least is not None and least >= 2 * moves.presence else least


@final
class _Part:
    """A block: ``along`` each attribute what a record of each told value adds; ``contrasts``, those whose noise is that
    of differences; of all others the ``inverse`` of one covariance, for lattice steps that a record adds."""

    def __init__(self, noisy: NoisyBlock) -> None:
        law, *others = noisy.laws
        block = noisy.block
        if others or not isinstance(law, KroneckerNormals) or not all(isinstance(one, Weighed) for one in block.along):
            raise CertificateRefused("the noise in a block of numbers is of another form than the numbers")
        *maps, root = law.maps
        sizes = [one.numbers for one in block.along]
        formed = [len(one) for one in maps] == sizes[: len(maps)] and len(root) == math.prod(sizes[len(maps) :])
        formed = formed and all(np.array_equal(one, _above_first(len(one))) for one in maps)
        if not (formed and len(np.unique(law.spreads)) == 1):
            raise CertificateRefused("the noise in a block of numbers is of another form than the numbers")
        self.along: dict[int, Any] = {}
        for axis, one in zip(block.axes, block.along, strict=True):
            self.along[axis] = one.rows if isinstance(one, Weighed) else None
        self.contrasts = block.axes[: len(maps)]
        whole = arb_mat(root.tolist())
        unit = (arb(float(law.spreads.ravel()[0])) / block.steps) ** 2
        found = (whole * whole.transpose()).inv().tolist()
        entries = [[entry / unit for entry in row] for row in found]
        widest = max((float(entry.rad()) for row in entries for entry in row), default=0.0)
        self.inverse = np.array([[float(entry.mid()) for entry in row] for row in entries])
        if not widest <= 2.0**-60 * float(np.diag(self.inverse).min()):
            raise TooLarge("a covariance is too badly conditioned for this audit")

    def inner(self, chosen: Mapping[int, Sequence[int]]) -> Floats:
        """Inner products of what any two of these combinations of values add."""
        joined: Floats = np.ones((1, 1))
        for axis, rows in self.along.items():
            if axis not in self.contrasts:
                joined = np.kron(joined, rows.astype(np.float64))
        joined_places = [axis for axis in self.along if axis not in self.contrasts]
        inner = joined.T @ self.inverse @ joined
        sizes = [self.along[axis].shape[1] for axis in joined_places]
        shape = [len(one) for one in chosen.values()]
        axes, found = [*chosen], np.ones((*shape, *shape))
        table = inner.reshape([*sizes, *sizes])
        for place, axis in enumerate(joined_places):
            table = table.take(chosen[axis], axis=place).take(chosen[axis], axis=place + len(sizes))
        order = np.argsort([axes.index(axis) for axis in joined_places])
        table = table.transpose([*order, *(order + len(sizes))])
        inside = [len(chosen[axis]) if axis in joined_places else 1 for axis in axes]
        found = found * table.reshape([*inside, *inside])
        for axis in self.contrasts:
            products, over = _without_mean(self.along[axis], chosen[axis])
            own = products / over
            inside = [len(chosen[axis]) if one == axis else 1 for one in axes]
            found = found * own.reshape([*inside, *inside])
        count = math.prod(shape)
        return np.asarray(found.reshape(count, count))


def _above_first(numbers: int) -> Floats:
    return np.hstack([-np.ones((numbers, 1)), np.eye(numbers)])


def _without_mean(rows: NDArray[np.int64], values: Sequence[int]) -> tuple[NDArray[np.int64], int]:
    """vᵀ(1 + 11ᵀ)⁻¹w of what any two of these values add, times how much; *exact*."""
    own = rows[:, [*values]]
    if int(np.abs(own).max(initial=0)) > _LARGEST_ENTRY:
        raise TooLarge("differences of such weights are not audited")
    sums, over = own.sum(axis=0), len(rows) + 1
    return own.T @ own * over - np.outer(sums, sums), over


def _chosen(parts: Sequence[_Part], axis: int, count: int) -> list[int]:
    """Two told values of each kind, or the only one. Values are of one kind if they add the same to all sums, and to
    exchange two of them leaves all inner products of differences as they are."""
    sums = [one.along[axis] for one in parts if axis in one.along and axis not in one.contrasts]
    grams = [_without_mean(one.along[axis], range(count))[0] for one in parts if axis in one.contrasts]
    looks = [np.sort(gram, axis=1) for gram in grams] + [np.diag(gram)[:, None] for gram in grams]
    looks += [np.zeros((count, 1), dtype=np.int64), *(rows.T for rows in sums)]
    kinds = kinds_of_rows(np.ascontiguousarray(np.concatenate(looks, axis=1).astype(np.int64)))[1]
    found = []
    for kind in range(int(kinds.max()) + 1):
        first, *others = np.flatnonzero(kinds == kind).tolist()
        alike = all(_exchanged(gram, first, other) for gram in grams for other in others)
        found += [first, *(others[:1] if alike else others)]
    return sorted(found)


def _exchanged(gram: NDArray[np.int64], one: int, other: int) -> bool:
    order = np.arange(len(gram))
    order[[one, other]] = other, one
    return np.array_equal(gram[np.ix_(order, order)], gram)
