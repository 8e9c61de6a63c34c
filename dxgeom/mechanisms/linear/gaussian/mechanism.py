"""Gaussian noise of the best covariance, as a mechanism, and as a certificate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.containment import largest_load, load_of_changes
from dxgeom.mechanisms.linear.gaussian.exact_span import ExactSpan, exact_span_of, whole_span_of
from dxgeom.mechanisms.linear.gaussian.program import Covariance, Progress, best_covariance
from dxgeom.mechanisms.linear.gaussian.scaled_points import PairedShifts, ScaledPoints
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.noise.gaussian import GaussianNoise

NAME: Final = "gaussian"
LARGEST_DIMENSION: Final = 1000
"""Beyond, a search for a covariance takes more than minutes."""
_MOST_ENTRIES: Final = 1_500_000_000
"""Numbers of all differences together, which are held in memory twice."""
_MARGINS: Final = (1e-14, 1e-12, 1e-10, 1e-7)
"""By how much more than the load noise is enlarged, each tried when the one before was not enough."""


@final
@dataclass(frozen=True, eq=False)
class GaussianSpace:
    """A workload in the coordinates of the answers that carry noise.

    ``span``: which they are, and how the others follow, exactly. ``answers`` (K, m): how much of each coordinate every
    answer gets, times its unit and the root of its importance; what is made small is the sum of c_kᵀΣc_k over its rows
    c_k, or with ``worst`` the largest.
    """

    sensitivity: Sensitivity
    span: ExactSpan = field(repr=False)
    answers: NDArray[np.float64] = field(repr=False)
    worst: bool

    @property
    def shifts(self) -> NDArray[np.int64] | PairedShifts:
        """(E, m): the differences of the answers that carry noise, or pairs that they are differences of."""
        changes = self.sensitivity.changes
        if isinstance(changes, PairedChanges):
            columns, first, second, _ = changes.kinds
            return PairedShifts(np.ascontiguousarray(columns[:, self.span.pivots]), first, second)
        differences = self.sensitivity.differences
        if len(self.span.pivots) == differences.shape[1]:
            return differences
        return np.ascontiguousarray(differences[:, self.span.pivots])

    def points(self, promise: NDArray[np.float64]) -> ScaledPoints:
        """(E, m): the differences over what is promised for each (E,)."""
        return ScaledPoints(self.shifts, promise, np.ones(len(self.span.pivots)))

    def load_of(self, law: GaussianNoise) -> float:
        """max_e ‖Δ_e‖/b_e, *rounded up*."""
        return load_of_changes(law, self.sensitivity.proved, self.span.pivots)

    @property
    def mixing(self) -> NDArray[Any] | DiagonalMixing:
        """How the answers take the noise."""
        noisy = self.sensitivity.of_each_query > 0
        if len(self.span.pivots) == int(noisy.sum()):
            return DiagonalMixing(noisy)
        return self.span.combinations


def gaussian_space(sensitivity: Sensitivity, factors: NDArray[np.float64] | None, worst: bool) -> GaussianSpace | None:
    """The space of a workload; None when no answer needs noise. ``factors`` (K,): what squared errors count.

    Raises: TooLarge beyond 1,000 dimensions, or for differences too many to list.
    """
    if not np.any(sensitivity.of_each_query > 0):
        return None
    if int(np.sum(sensitivity.of_each_query > 0)) > 4 * LARGEST_DIMENSION:
        raise TooLarge(f"a covariance is sought for at most {4 * LARGEST_DIMENSION:,} noisy answers")
    proved = sensitivity.proved
    if len(proved.bounds) * len(sensitivity.queries.names) > _MOST_ENTRIES:
        raise TooLarge(f"a covariance is sought for at most {_MOST_ENTRIES:,} numbers in all differences")
    span = whole_span_of(proved) if isinstance(proved, PairedChanges) else exact_span_of(proved.differences)
    if len(span.pivots) > LARGEST_DIMENSION:
        raise TooLarge(
            f"a covariance is sought in at most {LARGEST_DIMENSION} dimensions, these are {len(span.pivots)}"
        )
    costs = sensitivity.queries.float_steps * (1.0 if factors is None else np.sqrt(factors))
    return GaussianSpace(sensitivity, span, span.combinations.astype(np.float64) * costs[:, None], worst)


@final
@dataclass(frozen=True, eq=False)
class BestGaussian:
    """The mechanism, and the certificate that no Gaussian noise is much better.

    ``covariance``: as the search left it, before the last margin. ``value``: the objective of the very noise that is
    used, rounding to the lattice left out; ``bound``: what no Gaussian noise that honours the metric is below.
    """

    mechanism: AdditiveMechanism
    space: GaussianSpace | None
    covariance: Covariance | None
    value: float
    bound: float

    @property
    def gap(self) -> float:
        """value/bound − 1, up to the rounding of float64."""
        return 0.0 if self.covariance is None else self.value / self.bound - 1


def best_gaussian(space: GaussianSpace | None, sensitivity: Sensitivity, progress: Progress | None) -> BestGaussian:
    """Noise of the least total, or the least worst, squared error among all Gaussian noise that honours the metric.

    Guarantee: every generating difference is hidden in the concentrated sense, √(ΔᵀΣ⁻¹Δ) ≤ d, with all rounding errors
    counted against it, for the very matrix that noise is drawn with; so all pairs are, because that is a norm.
    Raises: CertificateRefused when float64 cannot show it; UnsupportedCombination where the metric counts pure privacy.
    """
    if space is None:
        return BestGaussian(without_noise(NAME, sensitivity), None, None, 0.0, 0.0)
    found = best_covariance(space.points(sensitivity.proved.bounds), space.answers, space.worst, progress)
    law = _hiding(found.axes, lambda law: space.load_of(law))
    mechanism = AdditiveMechanism(NAME, sensitivity, law, space.mixing)
    variances = np.sum((space.answers @ law.body.axes) ** 2, axis=1)
    value = float(variances.max() if space.worst else variances.sum())
    return BestGaussian(mechanism, space, found, value, found.bound)


def hiding_gaussian(axes: NDArray[np.float64], shifts: NDArray[np.int64], bounds: NDArray[np.float64]) -> GaussianNoise:
    """The noise of these axes (m, m), as much larger or smaller as it has to be to hide every shift (E, m).

    Raises: CertificateRefused when float64 cannot show it.
    """
    return _hiding(axes, lambda law: largest_load(law, shifts, bounds))


def _hiding(axes: NDArray[np.float64], load_of: Callable[[GaussianNoise], float]) -> GaussianNoise:
    for margin in _MARGINS:
        load = load_of(GaussianNoise(Ellipsoid(axes)))
        if not 0 < load < math.inf:
            break
        axes = axes * (load * (1 + margin))
        law = GaussianNoise(Ellipsoid(axes))
        if load_of(law) <= 1:
            return law
    raise CertificateRefused("this covariance is too badly scaled to prove that its noise hides every difference")


def gaussian_bound(space: GaussianSpace | None) -> float:
    """What no Gaussian noise, and no additive noise that serves every spend by stretching, has a smaller objective
    than: for small spends such noise has ΔᵀCov⁻¹Δ ≤ d², which is what Gaussians have to have. Under pure privacy
    that other noise has twice as much at least: see ``second_moment_bound``."""
    return 0.0 if space is None else _bound(space, space.sensitivity.proved.bounds)


def unbiased_bound(space: GaussianSpace | None, concentrated: bool) -> float:
    """What no unbiased mechanism has a smaller objective than, additive or not, at every table that holds the records.

    Definition: the same program with √(e^{d²} − 1) for d, and 2·sinh(d/2) for pure privacy, each the root of the
    largest χ² divergence that the promise allows. Source: Chapman & Robbins 1951.
    """
    if space is None:
        return 0.0
    with np.errstate(over="ignore"):
        distances = space.sensitivity.proved.bounds * _UPWARD
        promise = np.sqrt(np.expm1(distances**2)) if concentrated else 2 * np.sinh(distances / 2)
    return _bound(space, np.minimum(promise, _LARGEST_PROMISE))


_UPWARD: Final = 1 + 1e-9
"""Distances are rounded down; a bound needs them rounded up."""
CAUTION: Final = 1 - 1e-12
"""Bounds are computed in float64; this keeps them below the exact ones."""
_LARGEST_PROMISE: Final = 1e100


def _bound(space: GaussianSpace, promise: NDArray[np.float64]) -> float:
    if float(promise.max()) >= _LARGEST_PROMISE:
        return 0.0
    try:
        return best_covariance(space.points(promise), space.answers, space.worst).bound * CAUTION
    except CertificateRefused:
        return 0.0
