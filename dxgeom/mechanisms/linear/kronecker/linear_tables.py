"""Noise along bases as a candidate of plans for linear queries that are whole tables of counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.kronecker.bases import TurnedShifts
from dxgeom.mechanisms.linear.kronecker.blocks import Blocks
from dxgeom.mechanisms.linear.kronecker.distances import ValueDistances, uneven_distances
from dxgeom.mechanisms.linear.kronecker.loads import Loads
from dxgeom.mechanisms.linear.kronecker.mechanism import KRONECKER, Bases, maps_of, own_bases, require_bases
from dxgeom.mechanisms.linear.kronecker.program import KroneckerQuestion
from dxgeom.mechanisms.linear.marginals.mechanism import MarginalSpace, of_residuals
from dxgeom.mechanisms.linear.marginals.promise import promise_of
from dxgeom.mechanisms.linear.marginals.set_family import SetFamily
from dxgeom.mechanisms.linear.marginals.table_measurement import require_same_attributes
from dxgeom.mechanisms.linear.measured import Block, MeasuredNumbers, Siblings, lattice_step
from dxgeom.mechanisms.linear.mixing import IntegerMixing
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.kronecker import KroneckerNormals
from dxgeom.numeric.sealed import cached_property, freeze_arrays, frozen_integers, seal
from dxgeom.privacy.currencies import require_for_normal_noise


def uneven_attributes(space: MarginalSpace) -> tuple[ValueDistances | None, ...]:
    """Of each attribute of the tables: see :func:`uneven_distances`."""
    universe = space.sensitivity.universe
    shape = () if universe is None else universe.shape
    return uneven_distances(space.sensitivity.metric.metric, shape, space.tables.classes)


def has_uneven_attributes(space: MarginalSpace) -> bool:
    """Whether there are any."""
    return any(one is not None for one in uneven_attributes(space))


def kronecker_gaussian(space: MarginalSpace) -> AdditiveMechanism:
    """Normal noise in residuals, along bases of their attributes.

    Guarantee: as :class:`KroneckerMechanism`; answers agree with each other, exactly.
    Raises: TooLarge, CertificateRefused; UnsupportedCombination where the metric counts pure privacy.
    """
    if not has_uneven_attributes(space):
        raise TooLarge("every attribute's values are equally far apart: marginal-gaussian is the best there is")
    found = KroneckerQuestion(space.family, space.promise, uneven_attributes(space), space.costs, space.worst).best()
    return proved_along(space, found.bases, found.spreads)


def proved_along(space: MarginalSpace, bases: Bases, scales: NDArray[np.float64]) -> AdditiveMechanism:
    """The mechanism with these very ``bases`` and ``scales``.

    Raises: CertificateRefused where they are too small; TooLarge; UnsupportedCombination.
    """
    sensitivity = space.sensitivity
    measured = BasisMeasurement(sensitivity.metric, space.shape, space.tables.classes, space.family, bases, scales)
    numerators, over = of_residuals(space, measured.noisy.astype(np.float64))
    steps = sensitivity.queries.steps
    divisors = tuple(one * own * measured.steps_per_count for one, own in zip(over, steps, strict=True))
    return AdditiveMechanism(KRONECKER, sensitivity, measured.law, IntegerMixing(numerators, divisors, measured))


@final
@dataclass(frozen=True, eq=False)
class BasisMeasurement(MeasuredNumbers):
    """Residuals of the tables of ``family`` with normal noise along bases, ``along``, of these ``scales`` in each
    coordinate. ``shape``: how many values each attribute of the records has; ``classes``: which are told apart.

    Guarantee: what every change of a record moves is bounded above in these very bases and scales.
    Raises: CertificateRefused for scales that are too small; TooLarge where the metric is no sum over attributes;
    UnsupportedCombination where it counts pure privacy.
    """

    metric: VerifiedMetric
    shape: tuple[int, ...]
    classes: dict[int, NDArray[np.int64]] = field(repr=False)
    family: SetFamily = field(repr=False)
    along: Bases = field(repr=False)
    scales: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        freeze_arrays(self, "scales")
        require_for_normal_noise(self.metric.privacy)
        object.__setattr__(self, "along", own_bases(self.along))
        object.__setattr__(self, "classes", {axis: frozen_integers(one) for axis, one in self.classes.items()})
        seal(self)
        require_same_attributes(self.family, self.classes, self.shape)
        if not self._loads.largest(self.scales) <= 1 or not np.any(self.scales > 0):
            raise CertificateRefused("noise in the parts of these tables does not hide what the metric protects")
        _ = self.blocks, self.law  # worked out of what was proved, now

    @cached_property
    def _loads(self) -> Loads:
        """What is protected: from the metric itself, whatever anybody says. Raises: CertificateRefused."""
        uneven = uneven_distances(self.metric.metric, self.shape, self.classes)
        require_bases(self.along, [None if one is None else one.size for one in uneven])
        shifts = tuple(
            None if basis is None or own is None else TurnedShifts(basis, own)
            for basis, own in zip(self.along, uneven, strict=True)
        )
        promise = promise_of(self.metric.metric, self.shape, self.classes)
        return Loads(Blocks.of(self.family, [one is not None for one in self.along]), promise, shifts)

    @property
    def noisy(self) -> NDArray[np.bool_]:
        """(sets,): the residuals that have noise."""
        return self._loads.protected

    @property
    def bases(self) -> Bases:
        return self.along

    @property
    def codes(self) -> dict[int, NDArray[np.int64]]:
        return self.classes

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        axes, found = sorted(self.classes), []
        for number in np.flatnonzero(self.noisy).tolist():
            members = self.family.members_of(number)
            sums = tuple(Siblings(1, int(self.family.sizes[a])) for a in members)
            found.append(Block(tuple(axes[a] for a in members), sums))
        return tuple(found)

    @cached_property
    def law(self) -> ProductNoise:
        blocks, step = self._loads.blocks, float(lattice_step(self.scales))
        return ProductNoise(
            tuple(
                KroneckerNormals(blocks.table(number, self.scales) / step, maps_of(self.family, self.along, number))
                for number in np.flatnonzero(self.noisy).tolist()
            )
        )
