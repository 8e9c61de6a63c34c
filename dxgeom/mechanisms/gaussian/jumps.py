"""Normal noise that jumps along the differences that it hides: purely private noise for very many answers.

The covariance for normal noise with jumps: of least error with all that the jumps add to it.

The error is tr CΣ + Σ_e ρ_e(s_e⁴ + 2)·|x_e|²/(1 − r), with s_e² = 1/g_e, ρ_e = R(s_e²), g_e = x_eᵀΣ⁻¹x_e. Where its
derivative by g_e is λ_e, the best Σ has ΣCΣ = Σ λ_e x_e x_eᵀ: weights move towards these derivatives, and Σ follows in
closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.gaussian.design import PairedShifts, ScaledPoints
from dxgeom.mechanisms.gaussian.mechanism import GaussianSpace, gaussian_space
from dxgeom.mechanisms.gaussian.program import Progress
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.changes import largest_first
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.jump_shifts import JumpShifts
from dxgeom.noise.jumps import LARGEST_REACH, LEAST_REACH, REACHES_PER_UNIT, GaussianWithJumps, float_rates

_ROUNDS: Final = 41
_FEWEST_ROUNDS: Final = 8
_WORK: Final = 1e12
_ENOUGH: Final = 1e-3
_IDLE: Final = 4
"""Rounds that may gain less than a thousandth before the search ends."""
_STRIDE: Final = 1.4
"""Over the least s²: the power by which weights move; their derivatives fall as e^(−s²/2)."""
_SCALES: Final = 48
_LARGEST: Final = LARGEST_REACH / REACHES_PER_UNIT
_LEAST: Final = LEAST_REACH / REACHES_PER_UNIT
_MOST: Final = 0.9
"""No search is for more jumps than this rate."""
_FLAT: Final = 1e-12
_NOTHING: Final = 1e-300


class JumpShape(NamedTuple):
    """``axes`` (m, m) of the normal part; ``costs`` (K,): what each answer's squared error counts, where the worst is
    wanted so that their sum is that; ``value``: of the objective, jumps and all, up to the rounding of float64."""

    axes: NDArray[np.float64]
    costs: NDArray[np.float64]
    value: float


class _Scaled(NamedTuple):
    value: float
    scale: float
    reaches: NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class _Jumps:
    """What jumps add to the error, for differences with |x_e|² = ``sizes`` (E,), each of which stands for ``times``."""

    sizes: NDArray[np.float64]
    times: NDArray[np.float64] | float = 1.0

    def added(self, reaches: NDArray[np.float64]) -> float:
        """For reaches s_e² (E,); infinite where there would be too many jumps."""
        rates = float_rates(reaches) * self.times
        total = float(rates.sum())
        return np.inf if total > _MOST else float(rates @ ((reaches**2 + 2) * self.sizes)) / (1 - total)

    def derivatives(self, reaches: NDArray[np.float64]) -> NDArray[np.float64]:
        """(E,): of the same by g_e = 1/s_e²."""
        rates = float_rates(reaches) * self.times
        total = float(rates.sum())
        steps = 1e-4 * reaches
        # R has a closed derivative, too; this one is as good for a search, and shorter.
        slopes = (float_rates(reaches - steps) - float_rates(reaches + steps)) * self.times / (2 * steps) * reaches**2
        own = slopes * (reaches**2 + 2) - 2 * rates * reaches**3
        share = float(rates @ ((reaches**2 + 2) * self.sizes)) / (1 - total)
        return np.asarray(np.maximum((own * self.sizes + share * slopes) / (1 - total), _NOTHING))


def best_jump_shape(
    points: NDArray[np.float32],
    times: NDArray[np.float64],
    answers: NDArray[np.float64],
    worst: bool,
    progress: Progress | None = None,
) -> JumpShape:
    """The covariance for noise that jumps along all ``points`` (E, m), each of which stands for ``times`` (E,) like
    it, towards the least total of the ``answers`` (K, m), rows c_k, or of the ``worst``.

    Guarantee: none but that its value is what it says: reaches are proved where the law is made. Deterministic; it ends
    where rounds gain little, or with so many that they multiplied 10¹² numbers, but not before the eighth, from which
    on a hundredth was seen to be gained at most for totals.
    Raises: CertificateRefused when float64 cannot tell the rank of either, or jumps would not end.
    """
    search = _Search(points, times, answers, worst)
    most = min(_ROUNDS, max(_FEWEST_ROUNDS, int(_WORK / (2.0 * points.size * points.shape[1]))))
    idle = 0
    for number in range(1, most + 1):
        idle = 0 if search.step() > _ENOUGH else idle + 1
        if progress is not None:
            progress(f"gaussian-with-jumps: round {number}, {len(points):,} differences")
        if idle == _IDLE or not np.isfinite(search.best.value):
            break
    if not np.isfinite(search.best.value):
        raise CertificateRefused("no covariance was found for normal noise with jumps along these differences")
    return JumpShape(search.best.image, search.best.costs, search.best.value)


class _Found(NamedTuple):
    """What weights (E,) of differences and ``costs`` (K,) of answers came to, and which way each would move."""

    value: float
    image: NDArray[np.float64]
    weights: NDArray[np.float64]
    costs: NDArray[np.float64]
    towards: NDArray[np.float64]
    variances: NDArray[np.float64]
    least_reach: float


@final
class _Search:
    """Weights of differences, and of answers where the worst counts, as they move: from the best that was found, and by
    less after every move that led to worse."""

    def __init__(
        self, points: NDArray[np.float32], times: NDArray[np.float64], answers: NDArray[np.float64], worst: bool
    ) -> None:
        self._points, self._times, self._answers, self._worst = points, times, answers, worst
        self._weights = np.full(len(points), 1 / len(points))
        self._costs = np.full(len(answers), 1 / len(answers) if worst else 1.0)
        self._round, self._turned = self._in_round(), points
        self._boldness = 1.0
        self.best = _Found(np.inf, *(np.empty(0),) * 5, _LEAST)
        self._turn()

    def step(self) -> float:
        """How much of the value the weights as they are gain on the best so far, relatively; then they move."""
        found = self._found()
        gained = 1 - found.value / self.best.value if np.isfinite(self.best.value) else 1.0
        self._boldness = self._boldness / 2 if gained <= 0 else min(1.0, 2 * self._boldness)
        if gained > 0:
            self.best = found
        if np.isfinite(self.best.value):
            self._move()
        return gained

    def _in_round(self) -> NDArray[np.float64]:
        """(m, m): what takes a shift to where its cost is plain length."""
        triangle = np.asarray(np.linalg.qr(self._answers * np.sqrt(self._costs)[:, None], mode="r"))
        if np.abs(np.diag(triangle)).min() <= _FLAT * np.abs(triangle).max():
            raise CertificateRefused("the answers do not tell as many dimensions as are noisy, as float64 sees them")
        return triangle

    def _turn(self) -> None:
        self._turned = self._points @ self._round.T.astype(np.float32)
        self._jumps = _Jumps(np.einsum("ek,ek->e", self._turned, self._turned).astype(np.float64), self._times)

    def _found(self) -> _Found:
        """The covariance of the weights as they are, as wide as is best."""
        weighted = (self._turned * self._weights.astype(np.float32)[:, None]).T @ self._turned
        try:
            values, axes = np.linalg.eigh(weighted.astype(np.float64) / float(np.trace(weighted)))
        except np.linalg.LinAlgError as error:
            raise CertificateRefused("no covariance was found for these differences within float64") from error
        roots = np.sqrt(np.maximum(values, values[-1] * _FLAT))
        places = self._turned @ (axes / np.sqrt(roots)).astype(np.float32)
        loads = np.einsum("ek,ek->e", places, places).astype(np.float64)
        scaled = _widened(float(roots.sum()), loads, self._jumps)
        if not np.isfinite(scaled.value):
            return self.best._replace(value=np.inf)
        image = np.linalg.solve(self._round, axes * np.sqrt(roots * scaled.scale))
        variances = self._variances(image, scaled.reaches) if self._worst else np.empty(0)
        value = float(variances.max()) if self._worst else scaled.value
        towards, least = self._jumps.derivatives(scaled.reaches), float(scaled.reaches.min())
        return _Found(value, image, self._weights, self._costs, towards, variances, least)

    def _variances(self, image: NDArray[np.float64], reaches: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,): of each answer, with jumps."""
        rates = float_rates(reaches) * self._times
        weights = (rates * (reaches**2 + 2) / (1 - float(rates.sum()))).astype(np.float32)
        moment = image @ image.T + (self._points * weights[:, None]).T @ self._points
        return np.asarray(np.einsum("kj,kj->k", self._answers @ moment, self._answers))

    def _move(self) -> None:
        best, stride = self.best, self._boldness * _STRIDE / max(self.best.least_reach, _LEAST)
        towards = best.towards / best.towards.sum()
        moved = np.maximum(best.weights, _NOTHING) ** (1 - stride) * towards**stride
        self._weights = moved / moved.sum()
        if self._worst:
            costs = best.costs * best.variances ** (self._boldness / 2)
            self._costs = np.maximum(costs / costs.sum(), _FLAT)
            self._round = self._in_round()
            self._turn()


def _best_widening(trace: float, loads: NDArray[np.float64], sizes: NDArray[np.float64]) -> float:
    """The multiple of a covariance with this ``trace`` of CΣ at which it has the least error, jumps and all, along
    differences with ``loads`` (E,), x_eᵀΣ⁻¹x_e, and ``sizes`` (E,), |x_e|².

    Raises: CertificateRefused where jumps would not end at any.
    """
    scaled = _widened(trace, loads, _Jumps(sizes))
    if not np.isfinite(scaled.value):
        raise CertificateRefused("along these differences noise would have to jump without end")
    return scaled.scale


def _widened(trace: float, loads: NDArray[np.float64], jumps: _Jumps) -> _Scaled:
    """The multiple of a covariance of this trace, with these loads g_e, at which it has the least error with jumps."""
    top = float(loads.max())

    def reaches_at(least: float) -> NDArray[np.float64]:
        return np.asarray(np.minimum(least * top / np.maximum(loads, _NOTHING), _LARGEST))

    # With the least reach in the middle of two sixteenths rounding errors do not decide which of them it has.
    sixteenths = np.unique(np.round(np.geomspace(LEAST_REACH, LARGEST_REACH, _SCALES))) + 0.5
    errors = [one * top * trace + jumps.added(reaches_at(one)) for one in (sixteenths / REACHES_PER_UNIT).tolist()]
    around = int(np.argmin(errors))
    low, high = sixteenths[max(around - 1, 0)], sixteenths[min(around + 1, len(sixteenths) - 1)]
    finer = np.unique(np.floor(np.linspace(low, high, 12))) + 0.5
    errors = [one * top * trace + jumps.added(reaches_at(one)) for one in (finer / REACHES_PER_UNIT).tolist()]
    least = float(finer[int(np.argmin(errors))]) / REACHES_PER_UNIT
    return _Scaled(float(min(errors)), least * top, reaches_at(least))


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
        widening = _best_widening(float(np.sum((answers @ axes) ** 2)), loads, sizes)
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
