"""The blocks of numbers that noise in boxes is added to, when it is noise in answers to linear queries."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.boxes.factors import Factor, Tree
from dxgeom.mechanisms.linear.boxes.mechanism import BoxMechanism
from dxgeom.mechanisms.linear.measured import Block, Classes, Cuts, MeasuredNumbers, Siblings, Summing
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.differenced import DifferencedNormals
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.sealed import cached_property

_MOST_PARTS: Final = 1 << 14


@final
@dataclass(frozen=True, eq=False)
class BoxMeasurement(MeasuredNumbers):
    """What ``made`` measures; it has proved its scales when it was made."""

    made: BoxMechanism

    def __post_init__(self) -> None:
        if type(self.made) is not BoxMechanism:
            raise CertificateRefused(f"noise in boxes is proved by a BoxMechanism, found a {type(self.made).__name__}")
        _ = self.law  # worked out of what was proved, now

    @property
    def metric(self) -> VerifiedMetric:  # type: ignore[override]
        return self.made.metric

    @property
    def scales(self) -> NDArray[np.float64]:  # type: ignore[override]
        return self.made.scales

    @property
    def trees(self) -> tuple[tuple[int, ...], ...]:
        return tuple(one.radices if isinstance(one, Tree) else () for one in self.made.factors)

    @property
    def codes(self) -> Mapping[int, NDArray[np.int64]]:
        return {one.axis: one.codes for one in self.made.told.columns}

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return blocks_of(self.made)

    @cached_property
    def law(self) -> NoiseLaw:
        """Raises: TooLarge."""
        used = self.scales[self.scales > 0] * self.steps_per_count
        if not self.made.normal:
            return LaplaceNoise(np.repeat(used, [block.size for block in self.blocks]))
        parts: list[NoiseLaw] = []
        for scale, block in zip(used.tolist(), self.blocks, strict=True):
            groups = math.prod(one.shape[0] for one in block.sums)
            if len(parts) + groups > _MOST_PARTS:
                raise TooLarge(f"noise in more than {_MOST_PARTS:,} groups of siblings is not laid out")
            sizes = np.array([one.radix for one in block.sums if isinstance(one, Siblings)], dtype=np.float64)
            parts += [DifferencedNormals(scale, sizes)] * groups
        return ProductNoise(tuple(parts))


def blocks_of(made: BoxMechanism) -> tuple[Block, ...]:
    """The blocks with noise, as what is summed of each attribute."""
    axes, found = [one.axis for one in made.told.columns], []
    for number in np.flatnonzero(made.scales > 0).tolist():
        levels = [*zip(axes, made.factors, made.question.blocks[number], strict=True)]
        sums = tuple(_summing(factor, level, made.normal) for _, factor, level in levels if level)
        found.append(Block(tuple(axis for axis, _, level in levels if level), sums))
    return tuple(found)


def _summing(factor: Factor, level: int, normal: bool) -> Summing:
    """Of a level, but that of all records: of normal noise along a tree what siblings are above the first."""
    if not isinstance(factor, Tree):
        return Cuts(factor.size)
    width = factor.padded // factor.cells(level)
    if normal:
        return Siblings(factor.cells(level - 1), factor.radices[level - 1], width)
    return Classes(factor.cells(level), width)
