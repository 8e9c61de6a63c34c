"""Whole tables of counts with normal noise along bases of their attributes, under any distances of their values.

As a mechanism that reads tables, and as a candidate of plans for linear queries that are whole tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.contract.readers import require_own_records
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.distance_bounds import distance_bounds_of
from dxgeom.mechanisms.parts.bases import Blocks, TurnedShifts, ValueDistances, cell_errors, uneven_distances
from dxgeom.mechanisms.parts.basis_loads import Loads
from dxgeom.mechanisms.parts.basis_program import KroneckerQuestion
from dxgeom.mechanisms.parts.counts_with_noise import CellErrors, CountsWithNoise
from dxgeom.mechanisms.parts.measured_parts import parts_in_answers
from dxgeom.mechanisms.parts.table_candidates import MarginalSpace
from dxgeom.mechanisms.parts.tables import SetFamily, family_of
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.kronecker import KroneckerNormals
from dxgeom.noise.law import NoiseLaw
from dxgeom.numeric.sealed import cached_property, canonical_digest, freeze_arrays, sealed
from dxgeom.privacy.measures import require_for_normal_noise
from dxgeom.universe.workloads.whole_tables import MarginalQueries

KRONECKER: Final = "kronecker-gaussian"
Bases: TypeAlias = tuple[NDArray[np.float64] | None, ...]
"""Of each attribute looked at a square matrix: what every vector of its basis has at the second, third, … value above
the first; None where its values are all equally far apart."""


@final
@dataclass(frozen=True, eq=False)
class KroneckerMechanism(CountsWithNoise):
    """Counts in all cells of marginal tables, with normal noise in their residuals: along products of ``bases``, of the
    size ``scales`` (coordinates,) in each, as ``Blocks`` numbers them.

    Guarantee: replacing record i by j has D_α at most α·(s·d(i, j))²/2 at spend s: when this is made, what every change
    of a record moves is bounded above in these very bases and scales, with all rounding errors counted against it.
    Raises: CertificateRefused for noise that is too small, or leaves a part of the tables without; TooLarge where the
    metric is no sum over attributes; UnsupportedCombination where it counts pure privacy.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    queries: MarginalQueries = field(repr=False)
    bases: Bases = field(repr=False)
    scales: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        freeze_arrays(self, "scales")
        require_own_records(self.metric, self.queries.universe)
        object.__setattr__(self, "bases", _own_bases(self.bases))
        if self.name != KRONECKER:
            raise CertificateRefused(f"noise along bases is called {KRONECKER}")
        require_for_normal_noise(self.metric.privacy)
        self.require_no_number()
        if not self.loads.largest(self.scales) <= 1:
            raise CertificateRefused("noise in the parts of these tables does not hide what the metric protects")

    @property
    def normal(self) -> bool:
        return True

    @property
    def along(self) -> Bases:
        return self.bases

    @cached_property
    def family(self) -> SetFamily:
        """The tables, and all sets of attributes inside them."""
        return family_of(self.queries.sizes, self.queries.attribute_sets)

    @cached_property
    def blocks(self) -> Blocks:
        """The coordinates of the noise."""
        return Blocks.of(self.family, [one is not None for one in self.bases])

    @cached_property
    def loads(self) -> Loads:
        """What is protected: from the metric itself, whatever anybody says. Raises: CertificateRefused."""
        shape, classes = self.queries.universe.shape, self.queries.classes
        uneven = uneven_distances(self.metric.metric, shape, classes)
        _require_bases(self.bases, [None if one is None else one.size for one in uneven])
        shifts = tuple(
            None if basis is None or own is None else TurnedShifts(basis, own)
            for basis, own in zip(self.bases, uneven, strict=True)
        )
        return Loads(self.blocks, distance_bounds_of(self.metric.metric, shape, classes), shifts)

    @cached_property
    def fingerprint(self) -> str:
        bases = [np.zeros((0, 0)) if one is None else one for one in self.bases]
        asked = self.metric.fingerprint, self.queries.fingerprint
        return canonical_digest("whole tables with noise along bases", self.name, *asked, bases, self.scales)

    @cached_property
    def protected(self) -> NDArray[np.bool_]:
        return self.loads.protected

    @cached_property
    def cell_errors(self) -> CellErrors:
        """Cells of unlike values are not alike."""
        return cell_errors(self.blocks, self.bases, self.scales)

    @cached_property
    def noisy(self) -> Sequence[int]:
        return tuple(n for n in range(self.family.count) if np.all(self.blocks.table(n, self.scales) > 0))

    def law_of(self, number: int, step: float) -> tuple[NoiseLaw, int]:
        spreads = self.blocks.table(number, self.scales) / step
        return KroneckerNormals(spreads, maps_of(self.family, self.bases, number)), 1

    @property
    def _shares(self) -> Mapping[int, Mapping[int, int]]:
        return {n: {n: 1} for n in self.noisy}


def maps_of(family: SetFamily, bases: Bases, number: int) -> tuple[NDArray[np.float64], ...]:
    """The matrix along each attribute of a set: its basis, or what each number is above the first."""
    found = []
    for a in family.members_of(number):
        basis, size = bases[a], int(family.sizes[a])
        found.append(np.hstack([-np.ones((size - 1, 1)), np.eye(size - 1)]) if basis is None else basis)
    return tuple(found)


def _own_bases(bases: Bases) -> Bases:
    """Read-only copies."""
    return tuple(None if one is None else sealed(np.array(one, dtype=np.float64)) for one in bases)


def _require_bases(bases: Bases, sizes: Sequence[int | None]) -> None:
    """Raises: CertificateRefused unless just the attributes with these sizes, None for others, have bases that fit."""
    same = len(bases) == len(sizes) and all(
        (basis is None and size is None)
        or (basis is not None and size is not None and basis.shape == (size - 1, size - 1) and np.isfinite(basis).all())
        for basis, size in zip(bases, sizes, strict=False)
    )
    if not same:
        raise CertificateRefused("these are bases of other attributes than those whose values are unlike")


def kronecker_gaussian(space: MarginalSpace) -> AdditiveMechanism:
    """Normal noise in residuals, along bases of their attributes.

    Guarantee: as :class:`KroneckerMechanism`; answers agree with each other, exactly.
    Raises: TooLarge, CertificateRefused; UnsupportedCombination where the metric counts pure privacy.
    """
    if not has_uneven_attributes(space):
        raise TooLarge("every attribute's values are equally far apart: marginal-gaussian is the best there is")
    found = KroneckerQuestion(
        space.family, space.distance_bounds, _uneven_attributes(space), space.costs, space.worst
    ).best()
    return proved_along(space, found.bases, found.spreads)


def has_uneven_attributes(space: MarginalSpace) -> bool:
    """Whether the values of some attribute of the tables are not all equally far apart."""
    return any(one is not None for one in _uneven_attributes(space))


def _uneven_attributes(space: MarginalSpace) -> tuple[ValueDistances | None, ...]:
    return uneven_distances(space.sensitivity.metric.metric, space.shape, space.tables.classes)


def proved_along(space: MarginalSpace, bases: Bases, scales: NDArray[np.float64]) -> AdditiveMechanism:
    """The mechanism with noise along these very ``bases``, of these ``scales``.

    Raises: CertificateRefused where they are too small; TooLarge; UnsupportedCombination.
    """
    made = KroneckerMechanism(KRONECKER, space.sensitivity.metric, space.queries, bases, scales)
    return parts_in_answers(made, space.sensitivity, space.boxes)
