"""The parts of whole tables of counts that noise is added to: residuals, or tables; with the proof of its scales."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.marginals.assembly import measured_shape
from dxgeom.mechanisms.linear.marginals.exact_loads import hides_everything
from dxgeom.mechanisms.linear.marginals.promise import promise_of
from dxgeom.mechanisms.linear.marginals.set_family import SetFamily
from dxgeom.mechanisms.linear.measured import (
    Block,
    Classes,
    FirstLessSecond,
    MeasuredNumbers,
    Siblings,
    lattice_step,
)
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.differenced import DifferencedNormals
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.sealed import cached_property, freeze_arrays, frozen_integers, seal
from dxgeom.privacy.currencies import require_for_normal_noise


@final
@dataclass(frozen=True, eq=False)
class TableMeasurement(MeasuredNumbers):
    """Residuals of the tables of ``family`` with normal noise, or the tables, and differences inside them, with Laplace
    noise, of these ``scales``. ``shape``: how many values each attribute of the records has.

    Guarantee: every budget of the metric's constants is summed in integers for these very scales.
    Raises: CertificateRefused for scales that are too small; TooLarge where the metric is no sum over attributes;
    UnsupportedCombination for normal noise where it counts pure privacy.
    """

    metric: VerifiedMetric
    shape: tuple[int, ...]
    classes: Mapping[int, NDArray[np.int64]] = field(repr=False)
    family: SetFamily = field(repr=False)
    scales: NDArray[np.float64] = field(repr=False)
    normal: bool

    def __post_init__(self) -> None:
        freeze_arrays(self, "scales")
        if self.normal:
            require_for_normal_noise(self.metric.privacy)
        object.__setattr__(self, "classes", {axis: frozen_integers(one) for axis, one in self.classes.items()})
        seal(self)
        require_same_attributes(self.family, self.classes, self.shape)
        if self.scales.shape != (self.family.count * (1 if self.normal else 2),) or not np.any(self.scales > 0):
            raise CertificateRefused(f"these tables have {self.family.count:,} parts, and noise in some of them")
        promise = promise_of(self.metric.metric, self.shape, dict(self.classes))
        if not hides_everything(self.family, promise, self.scales, self.normal):
            raise CertificateRefused("noise in the parts of these tables does not hide what the metric protects")
        _ = self.blocks, self.law  # worked out of what was proved, now

    @property
    def codes(self) -> Mapping[int, NDArray[np.int64]]:
        return self.classes

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        axes, found = sorted(self.classes), []
        for place in np.flatnonzero(self.scales > 0).tolist():
            members = self.family.members_of(place % self.family.count)
            sizes = [int(self.family.sizes[a]) for a in members]
            shape = measured_shape(self.family, place)
            sums = tuple(
                Siblings(1, size) if self.normal else Classes(size) if numbers > 1 else FirstLessSecond()
                for size, numbers in zip(sizes, shape, strict=True)
            )
            found.append(Block(tuple(axes[a] for a in members), sums))
        return tuple(found)

    @cached_property
    def law(self) -> ProductNoise | LaplaceNoise:
        used, step = np.flatnonzero(self.scales > 0).tolist(), float(lattice_step(self.scales))
        if not self.normal:
            numbers = [math.prod(measured_shape(self.family, place)) for place in used]
            return LaplaceNoise(np.repeat(self.scales[used] / step, numbers))
        sizes = [self.family.sizes[list(self.family.members_of(place))].astype(np.float64) for place in used]
        scales = (self.scales[used] / step).tolist()
        return ProductNoise(tuple(DifferencedNormals(scale, own) for scale, own in zip(scales, sizes, strict=True)))


def require_same_attributes(
    family: SetFamily, classes: Mapping[int, NDArray[np.int64]], shape: tuple[int, ...]
) -> None:
    """Raises: CertificateRefused unless the sets are of attributes with these classes of values."""
    each = [(np.unique(one), len(one) == shape[axis]) for axis, one in sorted(classes.items())]
    proper = all(whole and np.array_equal(one, np.arange(len(one))) for one, whole in each)
    if not proper or [len(one) for one, _ in each] != family.sizes.tolist():
        raise CertificateRefused("these are tables of other attributes than those that are measured")
