"""Normal noise in the running totals along several attributes at once, through a triangular matrix of each of them.

A record adds one to every total that is at its value or beyond it, along all attributes: q = ⊗ q_t, where
q_t = (0, …, 0, 1, …, 1). Through V = (L₁ ⊗ … ⊗ L_k)·N it is hidden as Π‖L_a⁻¹·q_t‖, and a count in a box, which is a
difference of totals along each attribute, has the product of what its intervals have along each as its variance. So no
matrix has more numbers than one attribute has pairs of values, however many boxes and kinds of records there are.

With the matrices of the others fixed, the total error is tr(G·L·Lᵀ), G the intervals along an attribute, each times
what it costs and what it errs along the others. The covariance for which that is least is A^{1/2} between roots of G,
A from the best weights of records. Attributes are taken in turn (theory-3 §1, Theorem 1, with one number for all).

Values of one attribute that go round have steps besides, from each to the next and from the last to the first. Where
counts are the same all around, one weight of all records and one of all steps are the best there are (Theorem 3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds
from dxgeom.mechanisms.parts.weighed_totals import MARGIN, hidden_along, told_along, within_along
from dxgeom.noise.triangular import KroneckerNormals, TotalsPreimages, TriangularNormals
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.sealed import Closed, cached_property, seal
from dxgeom.numeric.work import require_affordable

Floats = NDArray[np.float64]
Ends = NDArray[np.int64]

BITS: Final = 24
"""Entries are whole multiples of one over two to this."""
LARGEST_IN_ROOT: Final = 2**44
MOST_VALUES: Final = 1024
MOST_TOTALS: Final = 1 << 20
_LARGEST_SCALE: Final = 2.0**100
_WORK: Final = 2.0**35
_OF_A_ROUND: Final = 10
"""Multiplications for the cube of an attribute's values, of eigenvectors and products of matrices."""
_ROUNDS: Final = 12
_ROUNDS_AROUND: Final = 60
_SWEEPS: Final = 2
_POWERS: Final = (2.0, 1.5)
"""The powers of their loads by which weights are raised, first and second, and from there on:"""
_POWER: Final = 1.8
_CLOSE: Final = 3e-4
_RIDGE: Final = 1e-9
"""What every total costs besides, of the mean, where some difference of totals is asked by nobody."""
_FLAT: Final = 1e-12
_HALVINGS: Final = 60
_OFF: Final = 2.0**-48
_LEAST_SHARE: Final = 1e-9


@final
@dataclass(frozen=True, eq=False)
class RoundSteps:
    """What a metric promises of ``size`` values of an attribute that go round: ``presence``: a record and none;
    ``apart`` (size,): each value and the next, the last one and the first, of whose steps all other changes are made;
    *rounded down*. None, and ∞: no promise of its own.
    """

    size: int
    presence: Fraction | None
    apart: Floats = field(repr=False)

    @property
    def moves(self) -> Floats:
        """(size, E): how totals move, over the distance: of each record where it may be there or not, and by steps."""
        ones = np.tri(self.size)
        steps = (ones - np.roll(ones, -1, axis=1)) / self.apart
        records = np.zeros((self.size, 0)) if self.presence is None else ones / float(self.presence)
        return np.hstack([records, steps[:, np.isfinite(self.apart)]])

    def first_weights(self, gram: Floats) -> Floats:
        """(E,): the best for queries that are the same all around, of mean squares as these have over totals, (n, n).

        Definition: the share m of records for which Σ_ω √(w(ω)·(m/ε₀² + (1−m)·(2−2cos ω)/d²)) is the largest, w the
        spectrum of queries. It is concave in m.
        """
        known = np.isfinite(self.apart)
        if self.presence is None or not np.any(known):
            return np.full(self.moves.shape[1], 1 / self.moves.shape[1])
        size, ones = self.size, np.tri(self.size)
        cells = ones.T @ gram @ ones
        lags = (np.arange(size)[:, None] - np.arange(size)) % size
        spectrum = np.maximum(np.fft.fft(np.bincount(lags.ravel(), cells.ravel(), size)).real, 0.0)
        steps = (2 - 2 * np.cos(2 * np.pi * np.arange(size) / size)) / float(self.apart[known].min()) ** 2
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            thirds = low + (high - low) / 3, high - (high - low) / 3
            worth = [np.sqrt(spectrum * (m / float(self.presence) ** 2 + (1 - m) * steps)).sum() for m in thirds]
            low, high = (thirds[0], high) if worth[0] < worth[1] else (low, thirds[1])
        share = float(np.clip((low + high) / 2, _LEAST_SHARE, 1 - _LEAST_SHARE))
        return np.append(np.full(size, share / size), np.full(int(known.sum()), (1 - share) / known.sum()))


@final
@dataclass(frozen=True, eq=False)
class TotalsRoot(Closed):
    """L of one attribute, times two to :data:`BITS`: ``entries`` (n, n), lower triangular, whole, of positive diagonal.

    Raises: CertificateRefused for other numbers.
    """

    entries: NDArray[np.int64] = field(repr=False)

    def __post_init__(self) -> None:
        seal(self)
        own = self.entries
        formed = type(own) is np.ndarray and own.dtype == np.int64 and own.ndim == 2 and own.shape[0] == own.shape[1]
        if not (formed and 1 < len(own) <= MOST_VALUES and not np.any(np.triu(own, 1)) and np.all(np.diag(own) > 0)):
            raise CertificateRefused(
                f"noise in joint totals goes through lower triangular matrices of 2 to {MOST_VALUES:,} values"
            )
        if not np.all((own > -LARGEST_IN_ROOT) & (own < LARGEST_IN_ROOT)):
            raise CertificateRefused("the matrix of joint totals has entries that are too large")

    @property
    def size(self) -> int:
        """n."""
        return len(self.entries)

    @property
    def in_words(self) -> str:
        """What is measured, for a reader."""
        return "in running totals, through a matrix that was sought for these intervals"

    @cached_property
    def matrix(self) -> Floats:
        """L, exactly."""
        return np.asarray(np.ldexp(self.entries.astype(np.float64), -BITS))

    @cached_property
    def longest(self) -> Fraction:
        """The largest ‖L⁻¹·q_t‖; *rounded up*. Raises: CertificateRefused where float64 does not tell it."""
        return Fraction(float(np.max(self._records)))

    @cached_property
    def _preimages(self) -> TotalsPreimages:
        try:
            return TriangularNormals(self.matrix).preimages
        except (TooLarge, NotANormBall) as error:
            raise CertificateRefused(str(error)) from error

    @property
    def _up(self) -> float:
        return 1 + (self.size + 8) * 2.0**-51

    @property
    def _records(self) -> Floats:
        """(n,): each ‖L⁻¹·q_t‖; *rounded up*."""
        near, off = self._preimages
        return np.asarray((np.linalg.norm(near, axis=0) * self._up + off) * self._up)

    @cached_property
    def around(self) -> Floats:
        """(n,): ‖L⁻¹·(q_t − q_{t+1})‖, of the last and the first one, too; *rounded up*. Raises: CertificateRefused."""
        (near, off), records = self._preimages, self._records
        moved = np.linalg.norm(near - np.roll(near, -1, axis=1), axis=0) * self._up + off + np.roll(off, -1)
        # A difference of columns is rounded itself, by 2⁻⁵³ of both at most.
        return np.asarray((moved + (records + np.roll(records, -1)) * 2.0**-52) * self._up)

    @cached_property
    def _moment(self) -> Floats:
        """(n + 1, n + 1): L·Lᵀ, of totals from that of nobody on."""
        found = np.zeros((self.size + 1, self.size + 1))
        found[1:, 1:] = self.matrix @ self.matrix.T
        return found

    def variances(self, lower: Ends, upper: Ends) -> Floats:
        """(K,): of the noise between two totals, up to the rounding of float64."""
        own = self._moment
        return np.asarray(own[upper, upper] + own[lower, lower] - 2 * own[lower, upper])


@final
@dataclass(frozen=True, eq=False)
class JointStrategy(Closed):
    """Noise in joint totals through these ``roots``, one for each attribute.

    Guarantee: privacy is what :meth:`hides` proves of the whole numbers that are drawn with.
    """

    roots: tuple[TotalsRoot, ...]

    def __post_init__(self) -> None:
        seal(self)
        if not (type(self.roots) is tuple and self.roots and {*map(type, self.roots)} == {TotalsRoot}):
            raise CertificateRefused("noise in joint totals has a matrix for each attribute")
        if math.prod(self.sizes) > MOST_TOTALS:
            raise TooLarge(f"noise is drawn in at most {MOST_TOTALS:,} joint totals, not in {math.prod(self.sizes):,}")

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many values each attribute has."""
        return tuple(one.size for one in self.roots)

    @property
    def identity(self) -> tuple[object, ...]:
        """What a fingerprint holds of it."""
        return "joint", *(one.entries for one in self.roots)

    @property
    def narrowest(self) -> float:
        """So much noise at least any total has, at a scale of 1, that no total before it has."""
        return math.prod(float(np.diag(one.matrix).min()) for one in self.roots)

    def law(self, scale: float, step: float) -> KroneckerNormals | TriangularNormals:
        """The noise, in lattice steps of this size; both are powers of two, so that its numbers are exactly these."""
        if len(self.roots) == 1:
            return TriangularNormals(self.roots[0].matrix * (scale / step))
        return KroneckerNormals(np.full(self.sizes, scale / step), tuple(one.matrix for one in self.roots))

    @cached_property
    def longest(self) -> Fraction:
        """What a record is hidden as at a scale of 1; *rounded up*. Raises: CertificateRefused."""
        return math.prod((one.longest for one in self.roots), start=Fraction(1))

    def hides(self, scale: float, presence: Fraction) -> bool:
        """Whether noise of this scale hides every record that comes or goes at this distance; *rounded up*.

        Two records are no further apart than both are long.
        """
        if not (0 < scale <= _LARGEST_SCALE and math.frexp(scale)[0] == 0.5):
            return False
        try:
            return self.longest <= Fraction(scale) * Fraction(round_down(presence))
        except CertificateRefused:
            return False

    def told(self, steps: RoundSteps) -> Fraction:
        """What the farthest change around is hidden as at a scale of 1, over its distance; *rounded up*. Raises:
        CertificateRefused."""
        (root,), known = self.roots, np.isfinite(steps.apart)
        pairs = zip(root.around[known].tolist(), steps.apart[known].tolist(), strict=True)
        each = [Fraction(length) / Fraction(apart) for length, apart in pairs]
        return max([*each, *([] if steps.presence is None else [root.longest / Fraction(round_down(steps.presence))])])

    def hides_around(self, scale: float, steps: RoundSteps) -> bool:
        """Whether noise of this scale hides all that is promised of values that go round; *rounded up*."""
        if self.sizes != (steps.size,) or not (0 < scale <= _LARGEST_SCALE and math.frexp(scale)[0] == 0.5):
            return False
        try:
            return self.told(steps) <= Fraction(scale)
        except CertificateRefused:
            return False

    def hides_along(self, scale: float, bounds: LineBounds) -> bool:
        """Whether noise of this scale in the totals of one attribute hides what ``bounds`` promise; lengths *rounded
        up*."""
        if not (len(self.roots) == 1 and 0 < scale <= _LARGEST_SCALE and math.frexp(scale)[0] == 0.5):
            return False
        try:
            return hidden_along(TriangularNormals(self.roots[0].matrix * scale), bounds)
        except (CertificateRefused, NotANormBall, TooLarge):
            return False

    def within(self, scale: float, bounds: LineBounds) -> Iterator[Fraction]:
        """Of totals of one attribute: for each of the spans the square of what any change within it reveals at most,
        over its number's; *rounded up*. Raises: TooLarge."""
        return within_along(TriangularNormals(self.roots[0].matrix * scale), bounds)

    def variances(self, scale: float, lower: Ends, upper: Ends) -> Floats:
        """(K,): of the noise in the boxes from ``lower`` (K, attributes) to below ``upper``."""
        found = np.full(len(lower), scale**2)
        for axis, root in enumerate(self.roots):
            found *= root.variances(lower[:, axis], upper[:, axis])
        return found


def joint_strategy(
    sizes: Sequence[int], lower: Ends, upper: Ends, costs: Floats, presence: Fraction
) -> tuple[JointStrategy, float]:
    """Nearly the best matrices for boxes from ``lower`` (K, attributes) to below ``upper`` with these ``costs`` (K,) of
    squared errors, where a record comes or goes at a distance of ``presence``; and their scale, which hides it.

    Raises: TooLarge where that takes too much work; CertificateRefused.
    """
    if max(sizes) > MOST_VALUES or math.prod(sizes) > MOST_TOTALS:
        raise TooLarge(
            f"joint totals are of at most {MOST_VALUES:,} values along an attribute, and {MOST_TOTALS:,} in all"
        )
    cubes = _OF_A_ROUND * float(sum(size**3 for size in sizes))
    require_affordable(f"noise in joint totals of {' by '.join(map(str, sizes))} values", 3 * _SWEEPS * cubes, _WORK)
    rounds = min(_ROUNDS, int(_WORK / (_SWEEPS * cubes)))
    errors = np.ones(lower.shape)
    weights = [np.full(size, 1 / size) for size in sizes]
    roots = [np.eye(size) for size in sizes]
    try:
        for axis in [*range(len(sizes))] * (_SWEEPS if len(sizes) > 1 else 1):
            ends = lower[:, axis], upper[:, axis]
            others = costs * np.prod(np.delete(errors, axis, axis=1), axis=1)
            gram, moves = gram_of_ranges(sizes[axis], *ends, others), np.tri(sizes[axis])
            roots[axis], weights[axis] = _best_root(gram, weights[axis], rounds, moves)
            errors[:, axis] = _whole(roots[axis]).variances(*ends)
    except np.linalg.LinAlgError as error:
        raise CertificateRefused("noise in these joint totals is too badly scaled: it has no root") from error
    return _hiding(roots, presence)


def round_strategy(steps: RoundSteps, gram: Floats) -> tuple[JointStrategy, float]:
    """Nearly the best matrix for queries of values that go round, whose squared errors add up to tr(G·Σ), Σ the
    covariance of totals and G the ``gram`` (n, n); and its scale, which hides them.

    Raises: TooLarge where that takes too much work; CertificateRefused.
    """
    rounds = _rounds_around(steps)
    try:
        root, _ = _best_root(gram, steps.first_weights(gram), rounds, steps.moves)
    except np.linalg.LinAlgError as error:
        raise CertificateRefused("noise around these values is too badly scaled: it has no root") from error
    part, power = math.frexp(float(JointStrategy((_whole(root),)).told(steps)) * (1 + MARGIN))
    found, scale = JointStrategy((_whole(root * part),)), math.ldexp(1.0, power)
    if not found.hides_around(scale, steps):
        raise CertificateRefused("noise around these values is too badly scaled to prove that it hides a record")
    return found, scale


def round_bound(steps: RoundSteps, gram: Floats) -> float:
    """What the total of no normal noise is below: (tr A^{1/2})² of the weights that are found for it, A of what
    weighed moves do to the queries.

    Guarantee: up to the rounding of float64 in eigenvalues, each of which is made smaller by what it may be off by.
    Raises: TooLarge, CertificateRefused.
    """
    rounds = _rounds_around(steps)
    try:
        _, weights = _best_root(gram, steps.first_weights(gram), rounds, steps.moves)
        values, axes = np.linalg.eigh(gram)
        moved = (axes * np.sqrt(np.maximum(values, 0.0))).T @ steps.moves
        squares = np.linalg.eigvalsh((moved * weights) @ moved.T)
    except np.linalg.LinAlgError as error:
        raise CertificateRefused("a bound around these values is too badly scaled: it has no root") from error
    least = np.maximum(squares - squares[-1] * steps.size * _OFF, 0.0)
    return float(np.sqrt(least).sum()) ** 2


def _rounds_around(steps: RoundSteps) -> int:
    """Raises: TooLarge."""
    if steps.size > MOST_VALUES:
        raise TooLarge(f"noise around values is in at most {MOST_VALUES:,} of them")
    cube = 2 * _OF_A_ROUND * float(steps.size) ** 3
    require_affordable(f"noise around {steps.size:,} values", cube, _WORK)
    return min(_ROUNDS_AROUND, int(_WORK / cube))


def gram_of_ranges(size: int, lower: Ends, upper: Ends, costs: Floats) -> Floats:
    """(n, n): Σ c·(e_upper − e_lower)·(e_upper − e_lower)ᵀ over totals, of which that of nobody is left out."""
    found = np.zeros((size + 1, size + 1))
    for one, other, sign in ((lower, lower, 1), (upper, upper, 1), (lower, upper, -1), (upper, lower, -1)):
        found += sign * np.bincount(one * (size + 1) + other, costs, (size + 1) ** 2).reshape(found.shape)
    return found[1:, 1:]


def _best_root(gram: Floats, weights: Floats, rounds: int, moves: Floats) -> tuple[Floats, Floats]:
    """L, with a least diagonal entry of 1, and the weights of ``moves`` (n, E) that it follows from."""
    size = len(gram)
    half = np.linalg.cholesky(gram + np.eye(size) * (_RIDGE * np.trace(gram) / size)).T
    moved = half @ moves
    best = math.inf, half, weights
    for place in range(rounds):
        values, axes = np.linalg.eigh((moved * weights) @ moved.T)
        halves = np.sqrt(np.maximum(values, values[-1] * _FLAT))
        total = float(halves.sum())
        loads = np.sum(((axes / np.sqrt(halves)).T @ moved) ** 2, axis=0)
        most = float(loads.max())
        if most * total < best[0]:
            best = most * total, (axes * halves) @ axes.T, weights
        if most < total * (1 + _CLOSE):
            break
        weights = weights * (loads / total) ** (_POWERS[place] if place < len(_POWERS) else _POWER)
        weights = weights / weights.sum()
    turned = np.linalg.solve(half, np.linalg.solve(half, best[1]).T)
    root = np.linalg.cholesky((turned + turned.T) / 2)
    return np.asarray(root / np.diag(root).min()), best[2]


def _whole(root: Floats) -> TotalsRoot:
    """Raises: CertificateRefused where its entries are too far apart."""
    return TotalsRoot(np.rint(np.ldexp(root, BITS)).astype(np.int64))


def _hiding(roots: Sequence[Floats], presence: Fraction) -> tuple[JointStrategy, float]:
    """The same noise, as large as it has to be, with a power of two for its scale."""
    longest = JointStrategy(tuple(map(_whole, roots))).longest
    part, power = math.frexp(float(longest / presence) * (1 + MARGIN))
    found, scale = JointStrategy((_whole(roots[0] * part), *map(_whole, roots[1:]))), math.ldexp(1.0, power)
    if not found.hides(scale, presence):
        raise CertificateRefused("noise in these joint totals is too badly scaled to prove that it hides a record")
    return found, scale


def hiding_along(root: Floats, bounds: LineBounds) -> tuple[JointStrategy, float]:
    """Noise through this triangular matrix in the totals of one attribute, as large as ``bounds`` need it, with a power
    of two for its scale. Raises: CertificateRefused, TooLarge."""
    try:
        told = told_along(TriangularNormals(_whole(root / np.diag(root).min()).matrix), bounds)
    except NotANormBall as error:
        raise CertificateRefused(str(error)) from error
    part, power = math.frexp(told * (1 + MARGIN))
    found, scale = JointStrategy((_whole(root / np.diag(root).min() * part),)), math.ldexp(1.0, power)
    if not found.hides_along(scale, bounds):
        raise CertificateRefused("noise in these totals is too badly scaled to prove what it hides")
    return found, scale
