"""Whole tables of counts with noise in residuals, or in tables, under constants for attributes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, UnsupportedCombination
from dxgeom.mechanisms.linear.marginals.assembly import (
    centred,
    measured_shape,
    measurement_shares,
    residual_table,
    summed_to,
)
from dxgeom.mechanisms.linear.marginals.counts_with_noise import CellErrors, CountsWithNoise
from dxgeom.mechanisms.linear.marginals.exact_loads import hides_everything
from dxgeom.mechanisms.linear.marginals.gaussian_scales import cell_variances
from dxgeom.mechanisms.linear.marginals.joint_promise import joint_promise_of
from dxgeom.mechanisms.linear.marginals.mechanism import NORMAL, residual_variances
from dxgeom.mechanisms.linear.marginals.question import MarginalQuestion
from dxgeom.mechanisms.linear.marginals.set_family import SetFamily
from dxgeom.metrics.checking.verification import VerifiedMetric
from dxgeom.noise.laws.laplace import LaplaceNoise
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.tables.differenced import DifferencedNormals
from dxgeom.numeric.canonical_digest import canonical_digest
from dxgeom.numeric.randomness import Randomness
from dxgeom.privacy.currencies import require_for_normal_noise
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
        if self.normal:
            require_for_normal_noise(self.metric.privacy)
        if self.queries.records is not None and self.absent is not None:
            raise UnsupportedCombination(
                "the queries state a number of records, which a policy with a rule about presence keeps private: leave "
                "'records' out"
            )
        family = self.question.family
        own = [tuple(family.members_of(number)) for number in family.asked.tolist()]
        if tuple(own) != self.queries.asked or tuple(family.sizes.tolist()) != self.queries.sizes:
            raise CertificateRefused("these are the parts of other tables than are asked for")
        promise = joint_promise_of(self.metric.metric, self.queries.universe.shape, self.queries.classes)
        if not hides_everything(family, promise, self.scales, self.normal):
            raise CertificateRefused("noise in the parts of these tables does not hide what the metric protects")

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

    @cached_property
    def cell_errors(self) -> CellErrors:
        """All cells of a table are alike."""
        own = self.scales**2 if self.normal else residual_variances(self.question, _inverse(self.scales))
        alike = cell_variances(self.question, own)
        return CellErrors(alike, alike)

    def _residuals(self, spend: Fraction, randomness: Randomness) -> dict[int, NDArray[Any]]:
        """Of every protected residual its noise, times the cells of its table, and times SHARES for Laplace noise."""
        family, factor, step = self.question.family, 1 / spend, float(self.step)
        found: dict[int, NDArray[Any]] = {}
        if self.normal:
            for place in np.flatnonzero(self.scales > 0).tolist():
                sizes = family.sizes[list(family.members_of(place))].astype(np.float64)
                drawn = DifferencedNormals(float(self.scales[place]) / step, sizes).draw(1, randomness, factor)
                drawn = drawn.astype(self._whole)
                found[place] = residual_table(drawn.reshape([int(size) - 1 for size in sizes]))
            return found
        averaged: dict[int, list[tuple[int, int]]] = {}
        for inside, shares in measurement_shares(self.question, self.scales).items():
            for measured, share in shares.items():
                averaged.setdefault(measured, []).append((inside, share))
        for place, parts in averaged.items():
            own, shape = family.members_of(place % family.count), measured_shape(family, place)
            law: NoiseLaw = LaplaceNoise(np.full(math.prod(shape), float(self.scales[place]) / step))
            drawn = law.draw(1, randomness, factor).astype(self._whole).reshape(shape)
            for inside, share in parts:
                part = share * centred(summed_to(drawn, own, family.members_of(inside)))
                found[inside] = found[inside] + part if inside in found else part
        return found


def _inverse(scales: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.where(scales > 0, 1 / np.where(scales > 0, scales, 1.0), 0.0))
