"""Whole tables of counts with noise in residuals, or in tables, under constants for attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.contract.readers import require_own_records
from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds, joint_distance_bounds_of
from dxgeom.mechanisms.parts.counts_with_noise import (
    CellErrors,
    CountsWithNoise,
    measured_shape,
)
from dxgeom.mechanisms.parts.loads import hides_everything, moved
from dxgeom.mechanisms.parts.scales import NORMAL, cell_variances, inverse, measurement_shares, residual_variances
from dxgeom.mechanisms.parts.tables import MarginalQuestion, SetFamily, family_of
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.differenced import DifferencedNormals
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.sealed import cached_property, canonical_digest, freeze_arrays
from dxgeom.privacy.measures import require_for_normal_noise
from dxgeom.universe.workloads.whole_tables import MarginalQueries


@final
@dataclass(frozen=True, eq=False)
class TableMechanism(CountsWithNoise):
    """Counts in all cells of marginal tables, with noise in their residuals or in measured tables of ``scales``.

    ``scales``: in counts, as ``mechanism.py`` has them for plans of linear queries. Released tables agree: what two of
    them have in common is the same, exactly.

    Guarantee: replacing record i by j changes the odds of any output by at most e^{s·d(i, j)} at spend s, for
    ``marginal-gaussian`` D_α by at most α·(s·d(i, j))²/2: every budget is summed in integers when this is made. Each
    block is drawn from the source and rounded exactly; nothing as large as the universe is ever made.
    Raises: CertificateRefused for scales that are too small, or leave a part of the tables without noise; TooLarge
    where the metric is no sum over attributes; UnsupportedCombination for normal noise where it counts pure privacy.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    queries: MarginalQueries = field(repr=False)
    question: MarginalQuestion = field(repr=False)
    scales: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        freeze_arrays(self, "scales")
        require_own_records(self.metric, self.queries.universe)
        if self.normal:
            require_for_normal_noise(self.metric.privacy)
        self.require_no_number()
        family = self.question.family
        own = [tuple(family.members_of(number)) for number in family.workload_sets.tolist()]
        if tuple(own) != self.queries.attribute_sets or tuple(family.sizes.tolist()) != self.queries.sizes:
            raise CertificateRefused("these are the parts of other tables than are asked for")
        promise = joint_distance_bounds_of(self.metric.metric, self.queries.universe.shape, self.queries.classes)
        if not self._asks_all_that_moves(promise) or not hides_everything(family, promise, self.scales, self.normal):
            raise CertificateRefused("noise in the parts of these tables does not hide what the metric protects")

    def _asks_all_that_moves(self, distance_bounds: DistanceBounds) -> bool:
        """Whether the question knows every part of these tables, and that the metric protects all that it does."""
        family, own = self.question.family, family_of(self.queries.sizes, self.queries.attribute_sets)
        same = len(family.levels) == len(own.levels) and all(map(np.array_equal, family.levels, own.levels))
        return same and bool(np.all(self.question.protected | ~moved(own, distance_bounds)))

    @property
    def normal(self) -> bool:
        """Whether noise is normal, for concentrated privacy."""
        return self.name == NORMAL

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest(
            "whole tables with noise", self.name, self.metric.fingerprint, self.queries.fingerprint, self.scales
        )

    @property
    def family(self) -> SetFamily:
        """The tables, and all sets of attributes inside them."""
        return self.question.family

    @property
    def protected(self) -> NDArray[np.bool_]:
        return self.question.protected

    @cached_property
    def cell_errors(self) -> CellErrors:
        """All cells of a table are alike."""
        own = self.scales**2 if self.normal else residual_variances(self.question, inverse(self.scales))
        alike = cell_variances(self.question, own)
        return CellErrors(alike, alike)

    @cached_property
    def noisy(self) -> Sequence[int]:
        return tuple(np.flatnonzero(self.scales > 0).tolist())

    def law_of(self, number: int, step: float) -> tuple[NoiseLaw, int]:
        scale = float(self.scales[number]) / step
        if self.normal:
            own = self.family.members_of(number)
            return DifferencedNormals(scale, self.family.sizes[list(own)].astype(np.float64)), 1
        return LaplaceNoise(np.full(math.prod(measured_shape(self.family, number)), scale)), 1

    @cached_property
    def _shares(self) -> Mapping[int, Mapping[int, int]]:
        found = {n: {n: 1} for n in self.noisy} if self.normal else measurement_shares(self.question, self.scales)
        return MappingProxyType({number: MappingProxyType(own) for number, own in found.items()})
