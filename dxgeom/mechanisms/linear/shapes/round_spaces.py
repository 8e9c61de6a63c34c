"""The space that shapes are sought in: a workload's differences, turned and stretched so that error is plain length."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.containment import heaviest_pairs, hiding
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.linear.shapes.least_traces import trace_bound
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.noise.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.sealed import cached_property

LARGEST_DIMENSION = 512
"""Beyond, a search for a shape takes minutes."""
LARGEST_WORKLOAD = 20_000_000
_FIRST = 100
_FLAT = 1e-9
"""Directions in which the differences reach this little, next to the furthest, are left out of the search."""
_THIN = 1e-6
"""What the differences may use of their bounds in the directions that were left out; and the least noise there."""


@final
@dataclass(frozen=True, eq=False)
class RoundSpace:
    """Coordinates x of noise v = diag(scales)·axes·x, in which its weighted squared error is ‖unit·x‖².

    ``noisy`` (K,): which queries change at all, k of them; ``scales`` (k,): their own sensitivities; ``axes`` (k, m): a
    basis of the space that the differences over ``scales`` span up to 1e-9, ``back`` (m, k) its left inverse;
    ``left_out`` (k, k − m): orthonormal, orthogonal to that space. Nothing about privacy rests on any of this: a shape
    found here is checked afterwards against the differences themselves.
    """

    sensitivity: Sensitivity
    noisy: NDArray[np.bool_] = field(repr=False)
    scales: NDArray[np.float64] = field(repr=False)
    unit: float
    axes: NDArray[np.float64] = field(repr=False)
    back: NDArray[np.float64] = field(repr=False)
    left_out: NDArray[np.float64] = field(repr=False)

    @property
    def dimension(self) -> int:
        """The number m of coordinates."""
        return int(self.axes.shape[1])

    @cached_property
    def points(self) -> NDArray[np.float64]:
        """(E, m): what shapes are fitted to: differences over bounds in round coordinates, up to rounding."""
        return np.asarray(self._normalised @ self.back.T)

    @cached_property
    def least_trace(self) -> float:
        """What the trace of no Σ with x_eᵀΣ⁻¹x_e ≤ 1 for all points is below, to within a few percent."""
        return trace_bound(self.points)

    @property
    def query_basis(self) -> NDArray[np.float64] | None:
        """(m, m): the queries themselves as rows, None when they are more than the dimensions."""
        return self.axes if self.left_out.shape[1] == 0 else None

    def variances_of(self, image: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,): the variance of each answer if noise were ``image``·V in round coordinates, V of unit variance; nothing
        is proved of such noise."""
        variances = np.zeros(len(self.noisy))
        steps = self.sensitivity.queries.float_steps[self.noisy]
        variances[self.noisy] = np.sum((self.axes @ image) ** 2, axis=1) * (self.scales * steps) ** 2
        return variances

    def mechanism(self, name: str, inner: NoiseLaw, image: NDArray[np.float64]) -> AdditiveMechanism:
        """The answers with noise ``image``·V in round coordinates, V ~ ``inner``, as large as the metric needs.

        In the directions left out there is a trace of noise, so that what float64 took for nothing is hidden too.
        Guarantee: every generating difference is hidden, with all rounding errors counted against it.
        Raises: CertificateRefused when float64 cannot show it.
        """
        thin = self.left_out.shape[1]
        image = self.axes @ image
        if thin:
            reach = np.abs(self._normalised @ self.left_out).max(axis=0)
            image = np.hstack([image, self.left_out * np.maximum(reach * thin / _THIN, _THIN)])
            inner = ProductNoise((inner, LaplaceNoise(np.ones(thin))))
        proved, image = self.sensitivity.proved, self.scales[:, None] * image
        some = None
        if isinstance(proved, PairedChanges):
            some = heaviest_pairs(LinearImageNoise(inner, image), proved, self.noisy, _FIRST)
        law = hiding(inner, image, proved, self.noisy, some)
        return AdditiveMechanism(name, self.sensitivity, law, DiagonalMixing(self.noisy))

    @property
    def _normalised(self) -> NDArray[np.float64]:
        shaping = self.sensitivity.shaping
        return np.asarray(shaping.differences[:, self.noisy] / shaping.bounds[:, None] / self.scales)


def round_space(sensitivity: Sensitivity, weights: NDArray[np.float64] | None = None) -> RoundSpace | None:
    """The round space of a workload, or None when no answer needs noise.

    Args: ``weights`` (K,): what a squared error of each answer counts, positive; all 1 when left out.
    Raises: TooLarge beyond 512 queries that need noise, or differences too many to look at.
    """
    scales = sensitivity.of_each_query
    noisy = scales > 0
    if not np.any(noisy):
        return None
    if np.sum(noisy) > LARGEST_DIMENSION:
        raise TooLarge(f"a shape is sought for at most {LARGEST_DIMENSION} queries at once")
    shaping = sensitivity.shaping
    if shaping.differences.size > LARGEST_WORKLOAD:
        raise TooLarge(f"a shape is sought for differences of at most {LARGEST_WORKLOAD:,} entries in all")
    costs = scales * sensitivity.queries.float_steps * (1.0 if weights is None else np.sqrt(weights))
    scales, costs = scales[noisy], costs[noisy]
    normalised = shaping.differences[:, noisy] / shaping.bounds[:, None] / scales
    _, reach, turned = np.linalg.svd(np.asarray(np.linalg.qr(normalised, mode="r")), full_matrices=True)
    rank = int(np.sum(reach > _FLAT * reach[0]))
    # The triangle R has ‖R·z‖ = ‖diag(costs)·turnedᵀ·z‖, so x = R·z makes the error plain length.
    triangle = np.asarray(np.linalg.qr(turned[:rank].T * (costs / costs.max())[:, None], mode="r"))
    axes = np.asarray(np.linalg.solve(triangle.T, turned[:rank]).T)
    return RoundSpace(sensitivity, noisy, scales, float(costs.max()), axes, triangle @ turned[:rank], turned[rank:].T)
