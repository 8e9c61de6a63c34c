"""Gaussian noise of the best covariance, as a mechanism, and as a certificate.

Which answers carry noise of their own, and how the others follow from them: exactly, for very many differences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

import numpy as np
from flint import fmpq_mat, fmpz_mat, nmod_mat
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.gaussian.design import PairedShifts, ScaledPoints
from dxgeom.mechanisms.gaussian.program import QUICK_WORK, WORK, Covariance, Progress, best_covariance
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.containment import load_of_changes
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.numeric.arrays import FITS
from dxgeom.numeric.work import ALLOWED, require_affordable

_PRIME: Final = 2**31 - 1
_SEEN: Final = 4
_ADDED: Final = 2
_EXACT: Final = 2**53
_BLOCK: Final = 4096


class ExactSpan(NamedTuple):
    """``pivots`` (m,): answers whose differences are independent, rising; ``combinations`` (K, m) rationals with
    Δ_k = Σ_j combinations[k, j]·Δ_pivots[j] for every difference, *exactly*."""

    pivots: NDArray[np.int64]
    combinations: NDArray[Any]


def exact_span_of(differences: NDArray[np.int64]) -> ExactSpan:
    """The span of integer differences (E, K).

    The rank is that of a part of them modulo a prime, which is never too large; how the other answers follow is solved
    in rationals, and checked on all differences in integers. Those that do not fit join the part.
    Raises: NotANormBall where the prime hides a dimension, which it does for one workload in 10⁹.
    """
    width = differences.shape[1]
    step = max(1, len(differences) // (_SEEN * width))
    part = np.unique(np.concatenate([np.abs(differences).argmax(axis=0), np.arange(0, len(differences), step)]))
    rank = -1
    while True:
        rows, pivots = _independent(differences[part])
        if len(pivots) == rank:
            raise NotANormBall("the span of the queries' differences cannot be told exactly; leave a query out")
        rank = len(pivots)
        shares = _shares(differences[part[rows]], pivots)
        missed = _not_following(differences, pivots, shares)
        if missed.size == 0:
            return ExactSpan(pivots, shares)
        # Neighbours in the list are much alike.
        spread = np.linspace(0, len(missed) - 1, min(len(missed), _ADDED * width)).astype(np.int64)
        part = np.concatenate([part, missed[spread]])


def _whole_span_of(changes: PairedChanges) -> ExactSpan:
    """The span of differences of pairs, of few rows that have the same. Raises: as above."""
    return exact_span_of(changes.joined)


def _independent(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places of rows, and of columns, whose square is invertible modulo the prime, as many as its rank."""
    left, order = np.mod(rows, _PRIME), np.arange(len(rows))
    columns: list[int] = []
    for column in range(rows.shape[1]):
        done = len(columns)
        filled = np.flatnonzero(left[done:, column])
        if filled.size == 0:
            continue
        top = done + int(filled[0])
        left[[done, top]], order[[done, top]] = left[[top, done]], order[[top, done]]
        inverse = pow(int(left[done, column]), _PRIME - 2, _PRIME)
        left[done] = left[done] * inverse % _PRIME
        below = done + 1 + np.flatnonzero(left[done + 1 :, column])
        left[below] = (left[below] - left[below, column][:, None] * left[done] % _PRIME) % _PRIME
        columns.append(column)
        if len(columns) == len(rows):
            break
    return order[: len(columns)], np.array(columns, dtype=np.int64)


def _shares(rows: NDArray[np.int64], pivots: NDArray[np.int64]) -> NDArray[Any]:
    """(K, m): how each column of these m rows follows from the pivots; units for these themselves."""
    shares = np.full((rows.shape[1], len(pivots)), Fraction(0), dtype=object)
    shares[pivots, np.arange(len(pivots))] = Fraction(1)
    others = np.setdiff1d(np.flatnonzero(rows.any(axis=0)), pivots)
    if others.size:
        square = fmpq_mat(fmpz_mat(rows[:, pivots].tolist()))
        solved = square.solve(fmpq_mat(fmpz_mat(rows[:, others].tolist())))
        for place, column in enumerate(others.tolist()):
            for row in range(len(pivots)):
                entry = solved[row, place]
                shares[column, row] = Fraction(int(entry.p), int(entry.q))
    return shares


def _not_following(
    differences: NDArray[np.int64], pivots: NDArray[np.int64], shares: NDArray[Any]
) -> NDArray[np.int64]:
    """Differences of which some column is not what its shares of the pivots say."""
    others = np.setdiff1d(np.arange(differences.shape[1]), pivots)
    largest = max(int(np.abs(differences).max(initial=0)), 1)
    whole = [_whole(shares[column]) for column in others.tolist()]
    sizes = [max(common, sum(map(abs, parts))) * largest for common, parts in whole]
    wrong = np.zeros(len(differences), dtype=bool)
    for place in (place for place, size in enumerate(sizes) if size >= _EXACT):
        kind: Any = np.int64 if sizes[place] < FITS else object
        common, parts = whole[place]
        used = [column for column, part in enumerate(parts) if part]
        follows = differences[:, pivots[used]].astype(kind) @ np.array([parts[column] for column in used], dtype=kind)
        wrong |= differences[:, others[place]].astype(kind) * common != follows
    small = [place for place, size in enumerate(sizes) if size < _EXACT]
    common_of, parts_of = (np.array([whole[place][which] for place in small], dtype=np.float64) for which in (0, 1))
    # Every partial sum is a whole number below 2⁵³, which float64 adds up exactly, in whatever order.
    for start in range(0, len(differences) if small else 0, _BLOCK):
        here = differences[start : start + _BLOCK].astype(np.float64)
        follows = here[:, pivots] @ parts_of.T
        wrong[start : start + _BLOCK] |= np.any(here[:, others[small]] * common_of != follows, axis=1)
    return np.flatnonzero(wrong)


def _whole(shares: NDArray[Any]) -> tuple[int, list[int]]:
    """A common denominator of the shares, and the shares times that."""
    common = math.lcm(*(share.denominator for share in shares))
    return common, [share.numerator * (common // share.denominator) for share in shares]


NAME: Final = "gaussian"
_COVARIANCES: Final = 200
"""So often a search multiplies two matrices of all dimensions, or inverts one, at the least."""
_MODULO: Final = 10.0
"""So many multiplications takes one modulo a prime."""
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

    def points(self, distance_bounds: NDArray[np.float64]) -> ScaledPoints:
        """(E, m): the differences over what is promised for each (E,)."""
        return ScaledPoints(self.shifts, distance_bounds, np.ones(len(self.span.pivots)))

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


def gaussian_space(
    sensitivity: Sensitivity, factors: NDArray[np.float64] | None, worst: bool, work: float = ALLOWED
) -> GaussianSpace | None:
    """The space of a workload; None when no answer needs noise. ``factors`` (K,): what squared errors count. ``work``:
    multiplications that finding it, and then a covariance, may take.

    Raises: TooLarge where they take more, or for differences too many to list.
    """
    if not np.any(sensitivity.of_each_query > 0):
        return None
    proved, noisy = sensitivity.proved, int(np.sum(sensitivity.of_each_query > 0))
    kinds = len(proved.kinds.columns) if isinstance(proved, PairedChanges) else len(proved.bounds) + 1
    dimensions = min(noisy, kinds - 1)
    elimination = elimination_work(noisy, dimensions)
    require_affordable(f"which of {noisy:,} noisy answers follow from which others", elimination, work)
    if covariance_work(dimensions) > work:
        least = _least_dimensions(proved, noisy)
        require_affordable(f"a search for a covariance in {least:,} dimensions", covariance_work(least), work)
    if len(proved.bounds) * len(sensitivity.queries.names) > _MOST_ENTRIES:
        raise TooLarge(f"a covariance is sought for at most {_MOST_ENTRIES:,} numbers in all differences")
    span = _whole_span_of(proved) if isinstance(proved, PairedChanges) else exact_span_of(proved.differences)
    what = f"a search for a covariance in {len(span.pivots):,} dimensions"
    require_affordable(what, covariance_work(len(span.pivots)), work)
    costs = sensitivity.queries.float_steps * (1.0 if factors is None else np.sqrt(factors))
    return GaussianSpace(sensitivity, span, span.combinations.astype(np.float64) * costs[:, None], worst)


def _least_dimensions(proved: ListedChanges | PairedChanges, noisy: int) -> int:
    """How many dimensions some of the differences span at the least: their rank modulo a prime, told in seconds."""
    rows = proved.joined if isinstance(proved, PairedChanges) else proved.differences
    some = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), noisy + 1)).astype(np.int64))]
    return int(nmod_mat(np.mod(some, _PRIME).tolist(), _PRIME).rank())


def elimination_work(noisy: int, dimensions: int) -> float:
    """Multiplications that telling which of so many answers follow from which others takes."""
    return _MODULO * float(noisy) ** 2 * dimensions


def covariance_work(dimension: int) -> float:
    """Multiplications that the search for a covariance takes at the least."""
    return _COVARIANCES * float(dimension) ** 3


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


def best_gaussian(
    space: GaussianSpace | None, sensitivity: Sensitivity, progress: Progress | None, *, quick: bool = False
) -> BestGaussian:
    """Noise of the least total, or the least worst, squared error among all Gaussian noise that honours the metric;
    ``quick``: or near that, where the search is long.

    Guarantee: every generating difference is hidden in the concentrated sense, √(ΔᵀΣ⁻¹Δ) ≤ d, with all rounding errors
    counted against it, for the very matrix that noise is drawn with; so all pairs are, because that is a norm.
    Raises: CertificateRefused when float64 cannot show it; UnsupportedCombination where the metric counts pure privacy.
    """
    if space is None:
        return BestGaussian(without_noise(NAME, sensitivity), None, None, 0.0, 0.0)
    points, work = space.points(sensitivity.proved.bounds), QUICK_WORK if quick else WORK
    found = best_covariance(points, space.answers, space.worst, progress, work)
    law = hiding_gaussian(found.axes, lambda law: space.load_of(law))
    mechanism = AdditiveMechanism(NAME, sensitivity, law, space.mixing)
    variances = np.sum((space.answers @ law.body.axes) ** 2, axis=1)
    value = float(variances.max() if space.worst else variances.sum())
    return BestGaussian(mechanism, space, found, value, found.bound)


def hiding_gaussian(axes: NDArray[np.float64], load_of: Callable[[GaussianNoise], float]) -> GaussianNoise:
    """The noise of these axes, as much larger or smaller as its load asks for. Raises: CertificateRefused."""
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


def _bound(space: GaussianSpace, distance_bounds: NDArray[np.float64]) -> float:
    if float(distance_bounds.max()) >= _LARGEST_PROMISE:
        return 0.0
    try:
        return best_covariance(space.points(distance_bounds), space.answers, space.worst).bound * CAUTION
    except CertificateRefused:
        return 0.0
