"""How much of a distance every move of a record uses up, of noise in blocks of numbers: in integers and rationals.

Laplace noise of scale b hides numbers that are Σ|s| apart up to Σ|s|/b. Normal noise in what siblings have above their
first hides them up to the length of what is left without their mean, over its deviation; squares of these add up. What
the other attributes of a record add to a move is taken at its most, block by block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final, TypeAlias, final

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from dxgeom.audit.plans.claimed_blocks import NoisyBlock
from dxgeom.audit.plans.counted_blocks import FirstOfTwo
from dxgeom.audit.plans.moves import Moves
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import PairBlock
from dxgeom.noise.laws.tables.differenced import DifferencedNormals
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.exact_numbers import at_most_one
from dxgeom.numeric.rounding import round_down

Codes: TypeAlias = NDArray[np.int64]
_NEAR: Final = 1e-9
"""Relative: what is so near to its distance is summed in rationals; float64 is off by far less for all else."""
_MOST_NEAR: Final = 500_000
_AT_ONCE: Final = 1 << 14


def require_moves(noisy: Sequence[NoisyBlock], moves: Moves) -> str:
    """That every move is hidden, of which all changes are made; in a sentence.

    Raises: CertificateRefused; TooLarge where very many moves use up just their distance.
    """
    loads = _Loads(noisy)
    for axis in range(len(moves.sizes)):
        kinds, part, ceiling = loads.kinds(axis), moves.parts[axis], moves.ceiling(axis)
        if kinds is None or not isinstance(part, DiscreteMetric):
            for first, second, bounds in loads.told_pairs(moves, axis):
                loads.require_within(loads.moved(axis, first, second), bounds)
        elif ceiling is None or part.epsilon < ceiling:
            loads.require_within(loads.moved(axis, *kinds), np.full(len(kinds[0]), round_down(part.epsilon)))
    for places, distance in moves.together:
        if moves.presence is None or distance < 2 * moves.presence:
            loads.require_length([loads.farthest(axis) for axis in places], distance)
    if moves.presence is not None:
        loads.require_length([loads.used(loads.alone)], moves.presence)
    return "every move of one attribute is hidden whatever a record has of the others, in rationals: so is every change"


@final
class _Loads:
    """Raises: CertificateRefused for noise that is not all of one kind, or of another form."""

    def __init__(self, noisy: Sequence[NoisyBlock]) -> None:
        self._blocks = [one.block for one in noisy]
        self.normal = any(isinstance(law, DifferencedNormals) for one in noisy for law in one.laws)
        self.rates = [self._rate(one) for one in noisy]
        self.alone = [math.prod(along.most for along in block.along) for block in self._blocks]

    def _rate(self, noisy: NoisyBlock) -> Fraction:
        """What a size of 1 uses up of a distance, or of its square; *exact*."""
        block, scales = noisy.block, []
        radices = [one.over for one in block.along if one.over > 1]
        absolute = any(isinstance(one, FirstOfTwo) for one in block.along)  # whose squares are others
        for law in noisy.laws:
            if isinstance(law, LaplaceNoise) and not self.normal and not radices:
                scales.append(float(law.scales.min()))
            elif isinstance(law, DifferencedNormals) and law.shape == tuple(radices) and not absolute:
                scales.append(law.scale)
            else:
                raise CertificateRefused("the noise in a block of numbers is of another form than the numbers")
        rate = block.steps / Fraction(min(scales))
        return rate**2 / math.prod(radices) if self.normal else rate

    def used(self, sizes: Sequence[int]) -> Fraction:
        """What these (L,) use up, block by block; *exact*."""
        return sum((size * rate for size, rate in zip(sizes, self.rates, strict=True)), Fraction(0))

    def moved(self, axis: int, first: Codes, second: Codes) -> NDArray[np.int64]:
        """(n, L): of moves from told values to others, whatever a record has of the other attributes."""
        found = np.zeros((len(first), len(self._blocks)), dtype=np.int64)
        for place, (block, alone) in enumerate(zip(self._blocks, self.alone, strict=True)):
            if axis in block.axes:
                along = block.along[block.axes.index(axis)]
                found[:, place] = along.apart(first, second) * (alone // along.most)
        return found

    def told_pairs(self, moves: Moves, axis: int) -> Iterator[PairBlock]:
        """The moves along an attribute between told values, some at once."""
        own = [block.told[axis] for block in self._blocks if axis in block.axes]
        for first, second, bounds in moves.along(axis) if own else ():
            for start in range(0, len(first), _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                yield PairBlock(own[0][first[part]], own[0][second[part]], bounds[part])

    def kinds(self, axis: int) -> tuple[Codes, Codes] | None:
        """A move of each kind that sizes depend on; None where more than kinds is needed. Values 0 and w differ when
        divided by w or less, and by no more: for widths that divide each other there are no other kinds."""
        own = [block for block in self._blocks if axis in block.axes]
        along = [block.along[block.axes.index(axis)] for block in own]
        values = max((int(block.told[axis].max()) for block in own), default=0)
        widths = sorted({width for one in along for width in one.widths or () if width <= values})
        if any(one.widths is None for one in along) or any(larger % smaller for smaller, larger in pairwise(widths)):
            return None
        return np.zeros(len(widths), dtype=np.int64), np.array(widths, dtype=np.int64)

    def farthest(self, axis: int) -> Fraction:
        """What the furthest move of an attribute uses up at most. Raises: TooLarge."""
        kinds = self.kinds(axis)
        if kinds is None:
            raise TooLarge("noise at cuts is audited where distances add up over attributes")
        return max(map(self.used, self.moved(axis, *kinds).tolist()), default=Fraction(0))

    def require_within(self, sizes: NDArray[np.int64], distances: NDArray[np.float64]) -> None:
        """That each of these (n, L) uses up no more than its distance (n,), *exactly*."""
        limits = distances**2 if self.normal else distances
        floats = sizes @ np.array([float(rate) for rate in self.rates])
        open_still = ~(floats <= limits * (1 - _NEAR))
        near, which = np.unique(sizes[open_still], axis=0, return_inverse=True)
        if len(near) > _MOST_NEAR:
            raise TooLarge(f"more than {_MOST_NEAR:,} changes are too near to their distances to be told in float64")
        least = np.full(len(near), np.inf)
        np.minimum.at(least, which.ravel(), distances[open_still])
        for row, distance in zip(near.tolist(), least.tolist(), strict=True):
            self.require_length([self.used(row)], Fraction(distance))

    def require_length(self, parts: Sequence[Fraction], distance: Fraction) -> None:
        """That moves that use up so much each are no longer together: lengths add up, which are roots of squares."""
        if self.normal and len(parts) > 1:
            roots = [fmpq(*(one / distance**2).as_integer_ratio()) for one in parts]
            holds = at_most_one(lambda: sum((arb(one).sqrt() for one in roots), arb(0))) is True
        else:
            holds = sum(parts, Fraction(0)) <= (distance**2 if self.normal else distance)
        if not holds:
            raise CertificateRefused(
                f"the noise does not hide what the metric protects: a change of a record at the distance "
                f"{float(distance):.9g} uses up more"
            )
