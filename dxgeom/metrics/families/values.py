"""Some values of an attribute are more sensitive than others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.certificate import MetricCertificate, require
from dxgeom.metrics.metric import Metric, PairBlock, pairs_at_a_finite_distance
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.sealed import cached_property


@final
@dataclass(frozen=True)
class ValueSensitivityMetric(Metric):
    """The largest metric that gives values a ≠ b at most min(ε_a, ε_b).

    Definition: d(a, b) = min(ε_a, ε_b, 2·ε_min). The last term is the detour through the most sensitive value;
    it never binds for two values, and without it the triangle inequality fails for three.

    Source: Kamalaruban et al. 2020, eq. (3); corrected: as printed it is not a metric for three or more values.
    """

    epsilons: tuple[Fraction, ...]

    @property
    def size(self) -> int:
        return len(self.epsilons)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        first, second = np.asarray(i), np.asarray(j)
        direct = np.minimum(self._rounded[first], self._rounded[second])
        return np.where(first == second, 0.0, np.minimum(direct, 2 * self._rounded.min()))

    def generating_pairs(self) -> Iterator[PairBlock]:
        return pairs_at_a_finite_distance(self)

    def certificate(self) -> MetricCertificate:
        least = min(self.epsilons)
        require(least > 0, f"every epsilon is positive, found {least}")
        reason = "the smaller of two values' numbers, at most twice the least"
        return MetricCertificate("value sensitivities", self.size, reason)

    @cached_property
    def _rounded(self) -> NDArray[np.float64]:
        return np.array([round_down(epsilon) for epsilon in self.epsilons])
