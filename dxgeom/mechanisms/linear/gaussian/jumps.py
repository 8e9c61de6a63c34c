"""Normal noise that jumps along the differences that it hides: purely private noise for very many answers."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.gaussian.jump_search import best_jump_shape, best_widening
from dxgeom.mechanisms.linear.gaussian.mechanism import GaussianSpace, gaussian_space
from dxgeom.mechanisms.linear.gaussian.program import Progress
from dxgeom.mechanisms.linear.gaussian.scaled_points import PairedShifts, ScaledPoints
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.changes import largest_first
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.jump_shifts import JumpShifts
from dxgeom.noise.jumps import GaussianWithJumps

NAME: Final = "gaussian-with-jumps"
_FITTED: Final = (30_000, 60)
"""Differences in all, or of each dimension, that a covariance is fitted to; whatever is found is proved for all."""
_QUICKLY_FITTED: Final = (5_000, 30)
"""A third to a half of the time of all this; .3 to 1.8 % more error for 30 and 100 random counts."""
_MORE_OF_EACH: Final = 10
_LOOKS: Final = 4
_WIDE: Final = 1.1
"""By how much more than what fits these the differences left out may need; else some of them are fitted to, too."""


def gaussian_with_jumps(
    space: GaussianSpace | None, progress: Progress | None = None, quick: bool = False
) -> AdditiveMechanism:
    """Purely private noise: normal, of nearly the best covariance for it, with jumps along every difference.

    Args: ``quick``: the covariance is fitted to fewer differences.
    Guarantee: every generating difference is hidden up to e^d, for the very numbers that the law holds, with all
    rounding errors counted against it; so all pairs are, because the odds of a sum of shifts multiply.
    Raises: TooLarge in one dimension; CertificateRefused where float64 cannot show it.
    Source: ``docs/decisions/046-gaussian-noise-with-jumps.md``.
    """
    if space is None:
        raise TooLarge("no answer needs noise, so there is no shape to look for")
    shifts = jump_shifts(space)
    if shifts.width == 1:
        raise TooLarge("in one dimension no noise is better than Laplace noise")
    axes = _axes(space, space.points(shifts.distances), progress, _QUICKLY_FITTED if quick else _FITTED)
    law = GaussianWithJumps.around(GaussianNoise(Ellipsoid(axes)), shifts)
    return AdditiveMechanism(NAME, space.sensitivity, law, space.mixing)


def _axes(
    space: GaussianSpace, every: ScaledPoints, progress: Progress | None, fitted_to: tuple[int, int]
) -> NDArray[np.float64]:
    """(m, m): of the normal part. Very many differences are like each other: some stand for all, with those that reach
    furthest along a coordinate, and those that turn out to need more room than all others."""
    changes = space.sensitivity.proved
    if isinstance(changes, PairedChanges):
        units, furthest = changes.of_each_query[space.span.pivots], changes.furthest[space.span.pivots]
    else:
        units, furthest = every.largest()
    step = -(-len(every) // max(fitted_to[0], fitted_to[1] * every.width))
    regular = np.arange(0, len(every), step)
    fitted = np.union1d(regular, furthest)
    looked = 0
    while True:
        looked += 1
        times = np.where(np.isin(fitted, regular, assume_unique=True), float(step), 1.0)
        points = (every.rows(fitted) / units).astype(np.float32)
        shape = best_jump_shape(points, times, space.answers * units, space.worst, progress)
        axes = units[:, None] * shape.axes
        answers = space.answers * np.sqrt(shape.costs)[:, None]
        loads = every.lengths(np.linalg.inv(axes).T.astype(np.float32))
        sizes = every.lengths(np.asarray(np.linalg.qr(answers, mode="r")).T.astype(np.float32))
        widening = best_widening(float(np.sum((answers @ axes) ** 2)), loads, sizes)
        more = np.setdiff1d(largest_first(loads, _MORE_OF_EACH * every.width), fitted)
        if widening <= _WIDE or more.size == 0 or looked == _LOOKS:
            return np.asarray(axes * np.sqrt(widening))
        fitted = np.union1d(fitted, more)


def jump_law(sensitivity: Sensitivity, axes: NDArray[np.float64]) -> GaussianWithJumps:
    """The law of a workload whose normal part has these axes (m, m): all else follows from the differences.

    Raises: CertificateRefused, NotANormBall for axes that are none of such a law; TooLarge.
    """
    space = gaussian_space(sensitivity, None, worst=False)
    if space is None:
        raise CertificateRefused("no answer needs noise")
    return GaussianWithJumps.around(GaussianNoise(Ellipsoid(axes)), jump_shifts(space))


def jump_shifts(space: GaussianSpace) -> JumpShifts:
    """All generating differences of a workload, each with its distance, in the coordinates that carry noise."""
    shifts, bounds = space.shifts, space.sensitivity.proved.bounds
    if isinstance(shifts, PairedShifts):
        return JumpShifts(shifts.columns, shifts.first, shifts.second, bounds)
    return JumpShifts.listed(shifts, bounds)
