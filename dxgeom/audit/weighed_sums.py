"""Noise in weighted sums, whose scales differ from number to number: what one record adds, summed up cell by cell.

The plan's proof multiplies the largest column sums of factors. Here all combinations of told values are gone through,
over all products together, in float64 and too large by more than all roundings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from dxgeom.audit.counted_blocks import NoisyBlock, Weighed
from dxgeom.audit.moves import Moves
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.rounding import round_down

_MOST_CELLS: Final = 1 << 26
_UPWARD: Final = 1 + 2.0**-34
"""Sums of non-negative numbers, of at most a million each, are off by less."""


def weighs_sums(noisy: Sequence[NoisyBlock]) -> bool:
    """Whether noise is in such numbers."""
    return any(isinstance(one, Weighed) for each in noisy for one in each.block.along)


def require_weighed(noisy: Sequence[NoisyBlock], moves: Moves) -> str:
    """That no record that comes or goes uses up more than its distance, in a sentence.

    Raises: CertificateRefused; TooLarge where other changes are nearer than twice that, or told values very many.
    """
    presence, told = moves.presence, {axis: own for one in noisy for axis, own in one.block.merged.items()}
    if presence is None or any(distance < 2 * presence for _, distance in moves.together):
        raise TooLarge("noise in weighted sums is audited where records come and go, and none are nearer than that")
    for axis, own in told.items():
        for first, second, bounds in moves.along(axis):
            if np.any((own[first] != own[second]) & (bounds < float(2 * presence))):
                raise TooLarge("noise in weighted sums is audited where no two values are nearer than by absence")
    axes = sorted(told)
    sizes = [int(told[axis].max()) + 1 for axis in axes]
    if math.prod(sizes) > _MOST_CELLS:
        raise TooLarge(f"{math.prod(sizes):,} combinations of values are not gone through in an audit")
    loads = np.zeros(sizes)
    for block, laws in noisy:
        if not all(isinstance(one, LaplaceNoise) for one in laws):
            raise CertificateRefused("the noise in weighted sums is of another form than the numbers")
        scales = np.concatenate([one.scales for one in laws if isinstance(one, LaplaceNoise)])
        table = (block.steps / scales).reshape([one.numbers for one in block.along])
        for place, one in enumerate(block.along):
            if not isinstance(one, Weighed):
                raise CertificateRefused("the noise in weighted sums is of another form than the numbers")
            table = np.moveaxis(np.tensordot(table, np.abs(one.rows).astype(np.float64), axes=(place, 0)), -1, place)
        own_sizes = iter(table.shape)
        loads = loads + table.reshape([next(own_sizes) if axis in block.axes else 1 for axis in axes])
    if not float(loads.max()) * _UPWARD <= round_down(presence):
        raise CertificateRefused("the noise does not hide a record that comes or goes")
    return f"a record that comes or goes is hidden, whichever of {loads.size:,} combinations of values it has"
