"""Noise along bases as a candidate of plans for linear queries that are whole tables of counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.integer_mixing import IntegerMixing
from dxgeom.mechanisms.linear.kronecker.bases import TurnedShifts
from dxgeom.mechanisms.linear.kronecker.blocks import Blocks
from dxgeom.mechanisms.linear.kronecker.distances import ValueDistances, uneven_distances
from dxgeom.mechanisms.linear.kronecker.loads import Loads
from dxgeom.mechanisms.linear.kronecker.mechanism import KRONECKER, Bases, maps_of, require_bases
from dxgeom.mechanisms.linear.kronecker.program import KroneckerQuestion
from dxgeom.mechanisms.linear.marginals.mechanism import MarginalSpace, lattice_step, of_residuals
from dxgeom.noise.laws.composed import ProductNoise
from dxgeom.noise.laws.tables.kronecker import KroneckerNormals


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
    uneven, family = uneven_attributes(space), space.family
    require_bases(bases, [None if one is None else one.size for one in uneven])
    blocks = Blocks.of(family, [one is not None for one in bases])
    shifts = tuple(
        None if basis is None or own is None else TurnedShifts(basis, own)
        for basis, own in zip(bases, uneven, strict=True)
    )
    loads = Loads(blocks, space.promise, shifts)
    if not loads.largest(scales) <= 1 or not np.any(scales > 0):
        raise CertificateRefused("noise in the parts of these tables does not hide what the metric protects")
    noisy = loads.protected
    step = lattice_step(scales)
    numerators, over = of_residuals(space, noisy.astype(np.float64))
    steps = space.sensitivity.queries.steps
    divisors = tuple(one * own / step for one, own in zip(over, steps, strict=True))
    law = ProductNoise(
        tuple(
            KroneckerNormals(blocks.table(number, scales) / float(step), maps_of(family, bases, number))
            for number in np.flatnonzero(noisy).tolist()
        )
    )
    return AdditiveMechanism(KRONECKER, space.sensitivity, law, IntegerMixing(numerators, divisors, scales, bases))
