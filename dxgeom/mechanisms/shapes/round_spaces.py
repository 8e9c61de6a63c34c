"""The space that shapes are sought in: a workload's differences, turned and stretched so that error is plain length.

The ellipsoid of least trace around points, and what its trace cannot be below.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.containment import heaviest_pairs, hiding
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.noise.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.sealed import cached_property

_ROUNDS = 2000
_WORK = 2e10
"""Multiplications to spend at most, the same on every machine."""
_CLOSE = 1e-4
"""Relative distance from the optimum at which to stop; the mean squared error of the noise is that much too large."""

_ROUNDS_OF_ALL = (4, 40)
_WORK_OF_BOUND = 1e10
_ROUNDS_OF_SOME = 15
_STRIDE = 1.5
"""The power of the gauges by which a bound's weights are raised; beyond 2 they may swing."""
_MOST_ENTRIES = 2_000_000
_NEAR = 1e-3
_NOTHING = 1e-3
_NEW = 0.3
_FLAT = 1e-10

_Ellipsoid: TypeAlias = tuple[float, float, NDArray[np.float64], NDArray[np.float64]]


def least_trace_ellipsoid(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """A positive definite M (m, m) with pᵀM⁻¹p ≤ 1 for all points, up to rounding, and tr M nearly least.

    Weights μ_e on the points, with C = Σ μ_e p pᵀ, give M = tr(C^½)·C^½; raising the weights of points outside and
    lowering those inside, in proportion to pᵀM⁻¹p, converges to the optimum, where none is outside.
    For every μ, tr(C^½)² is a lower bound of the least trace, which tells when to stop.

    Args: ``points`` (E, m), of rank m.
    """
    size = points.shape[1]
    rounds = int(min(_ROUNDS, max(20, _WORK / (2 * len(points) * size * size))))
    best, least = np.eye(size), np.inf
    for bound, furthest, roots, axes in _ellipsoids(points, rounds):
        if bound * furthest < least:
            best, least = (axes * (roots * (roots.sum() * furthest))) @ axes.T, bound * furthest
        if furthest <= 1 + _CLOSE:
            break
    return best


def trace_bound(points: NDArray[np.float64]) -> float:
    """What the trace of no such M is below, to within a few percent; *rounded down*, as far as eigenvalues go.

    Some rounds on all points, then more on those that weigh most; whatever is furthest outside joins them.
    """
    count, size = points.shape
    weights, best = np.full(count, 1 / count), 0.0
    rounds = int(min(_ROUNDS_OF_ALL[1], max(_ROUNDS_OF_ALL[0], _WORK_OF_BOUND / (4.0 * count * size * size))))
    for _ in range(rounds):
        bound, gauges = _weighed(points, weights)
        best, weights = max(best, bound), _raised(weights, gauges**_STRIDE)
    most = min(count, max(4 * size, min(40 * size, _MOST_ENTRIES // size)))
    active = np.argpartition(-weights, most - 1)[:most]
    weights = _raised(weights[active], 1.0)
    for _ in range(rounds):
        own = points[active]
        for _ in range(_ROUNDS_OF_SOME):
            bound, gauges = _weighed(own, weights)
            best, weights = max(best, bound), _raised(weights, gauges**_STRIDE)
        gauges = _weighed(points, weights, active)[1]
        if gauges.max() <= 1 + _NEAR:
            break
        kept = weights > _NOTHING / len(weights)
        active, weights = active[kept], weights[kept]
        gauges[active] = 0
        outside = np.argpartition(-gauges, min(count, most // 5) - 1)[: most // 5]
        outside = outside[gauges[outside] > 1]
        active = np.concatenate([active, outside])
        weights = _raised(np.concatenate([weights, np.full(len(outside), _NEW / len(active))]), 1.0)
    return best


def _weighed(
    points: NDArray[np.float64], weights: NDArray[np.float64], places: NDArray[np.int64] | slice = slice(None)
) -> tuple[float, NDArray[np.float64]]:
    """tr(C^½)² of the weights at these places, *rounded down*, and pᵀM⁻¹p of all points.

    An eigenvalue of C in float64 is off by some m·2⁻⁵³ of the largest, and so it is by what C is off.
    """
    own = points[places]
    values, axes = np.linalg.eigh((own * weights[:, None]).T @ own)
    sure = np.sqrt(np.maximum(values - values[-1] * ((len(values) + 64) * 2.0**-44), 0.0))
    roots = np.sqrt(np.maximum(values, values[-1] * _FLAT))
    steps = points @ (axes / np.sqrt(roots * roots.sum()))
    return float(sure.sum()) ** 2, np.asarray(np.einsum("ek,ek->e", steps, steps))


def _raised(weights: NDArray[np.float64], factors: NDArray[np.float64] | float) -> NDArray[np.float64]:
    weights = weights * factors
    return np.asarray(weights / weights.sum())


def _ellipsoids(points: NDArray[np.float64], rounds: int) -> Iterator[_Ellipsoid]:
    """Round by round: tr(C^½)², the largest pᵀM⁻¹p, and the roots and axes of C."""
    weights = np.full(len(points), 1 / len(points))
    for _ in range(rounds):
        values, axes = np.linalg.eigh((points * weights[:, None]).T @ points)
        roots = np.sqrt(np.maximum(values, values[-1] * 1e-300))
        places = points @ (axes / np.sqrt(roots * roots.sum()))
        gauges = np.einsum("ek,ek->e", places, places)
        yield float(roots.sum()) ** 2, float(gauges.max()), roots, axes
        weights = weights * gauges
        weights /= weights.sum()


LARGEST_WORKLOAD = 20_000_000
"""Entries of all differences together: what is made of them takes a gigabyte."""
_FIRST = 100
_UNREACHED = 1e-9
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
    Raises: TooLarge for differences too many to hold in memory several times.
    """
    scales = sensitivity.of_each_query
    noisy = scales > 0
    if not np.any(noisy):
        return None
    shaping = sensitivity.shaping
    if shaping.differences.size > LARGEST_WORKLOAD:
        raise TooLarge(f"a shape is sought for differences of at most {LARGEST_WORKLOAD:,} entries in all")
    costs = scales * sensitivity.queries.float_steps * (1.0 if weights is None else np.sqrt(weights))
    scales, costs = scales[noisy], costs[noisy]
    normalised = shaping.differences[:, noisy] / shaping.bounds[:, None] / scales
    _, reach, turned = np.linalg.svd(np.asarray(np.linalg.qr(normalised, mode="r")), full_matrices=True)
    rank = int(np.sum(reach > _UNREACHED * reach[0]))
    # The triangle R has ‖R·z‖ = ‖diag(costs)·turnedᵀ·z‖, so x = R·z makes the error plain length.
    triangle = np.asarray(np.linalg.qr(turned[:rank].T * (costs / costs.max())[:, None], mode="r"))
    axes = np.asarray(np.linalg.solve(triangle.T, turned[:rank]).T)
    return RoundSpace(sensitivity, noisy, scales, float(costs.max()), axes, triangle @ turned[:rank], turned[rank:].T)
