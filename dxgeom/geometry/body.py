"""What every norm ball offers and may know of itself, and the lists of exact corners and facets that it is told in.

Gauges as norms of linear forms: evaluated in float64 with a proved error, and in ball arithmetic.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, final

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.numeric.arrays import block_slices
from dxgeom.numeric.exact_numbers import ExactNumber, largest, power, rational, total, value_rounded_up
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.sealed import DefinedByNumbers, cached_property

if TYPE_CHECKING:
    from dxgeom.geometry.polytope import SymmetricPolytope


_HEIGHTS_PER_BLOCK = 250_000


class Gauge(ABC):
    """v ↦ ‖v‖ for a norm whose numbers are known exactly. Laws: ``near`` holds ``exact`` within its bounds."""

    @abstractmethod
    def near(
        self, points: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values (B,) and bounds (B,) on how far they are off, for points (B, m) off by at most ``errors``."""

    @abstractmethod
    def exact(self, point: Sequence[arb]) -> arb:
        """The value at a point known as balls, as a ball that contains it."""

    @abstractmethod
    def through(self, matrix: fmpq_mat) -> Gauge:
        """v ↦ ‖matrix·v‖."""


@final
@dataclass(frozen=True, eq=False)
class RowNorm(Gauge):
    """v ↦ ‖rows·v‖_p. ``rows`` (r, m): exact rationals; ``exponent``: p, from 1 to infinity."""

    rows: fmpq_mat
    exponent: float

    def near(
        self, points: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """With A the rows, |‖A(v + δ)‖ − ‖Av‖| ≤ ‖ |A||δ| ‖.

        The rounded rows and products act like a δ of (m + 2)·2⁻⁵³·|v|, doubled here; powers, sum and root of
        non-negative numbers are allowed (r + 64)·2⁻⁵² relative, where libraries promise fewer than 4 units in the last
        place for each power.
        """
        rows, size = self._float_rows, max(1, _HEIGHTS_PER_BLOCK // len(self._float_rows))
        values, bounds = np.empty(len(points)), np.empty(len(points))
        for start in range(0, len(points), size):
            here = slice(start, start + size)
            heights = points[here] @ rows.T
            np.abs(heights, out=heights)
            slack = errors[here] * (1 + 2.0**-40) + np.abs(points[here]) * ((rows.shape[1] + 2) * 2.0**-52)
            values[here] = power_norm(heights, self.exponent)
            bounds[here] = self._largest_change(slack) + values[here] * (self._summed + 64) * 2.0**-52
        return values, bounds

    def exact(self, point: Sequence[arb]) -> arb:
        rows = ([arb(entry) for entry in row] for row in self.rows.tolist())
        return _power_norm_of_balls([_product(row, point) for row in rows], self.exponent)

    def through(self, matrix: fmpq_mat) -> RowNorm:
        return RowNorm(self.rows * matrix, self.exponent)

    def _largest_change(self, slack: NDArray[np.float64]) -> NDArray[np.float64]:
        """A bound on ‖rows·δ‖ over |δ| ≤ slack."""
        sizes = np.abs(self._float_rows)
        if math.isinf(self.exponent):
            return np.asarray(slack @ sizes.max(axis=0)) * (1 + 2.0**-40)
        return power_norm(slack @ sizes.T, self.exponent) * (1 + 2.0**-40)

    @cached_property
    def _float_rows(self) -> NDArray[np.float64]:
        """(r, m), correctly rounded."""
        return np.array([[float(Fraction(int(x.p), int(x.q))) for x in row] for row in self.rows.tolist()])

    @property
    def _summed(self) -> int:
        return 0 if math.isinf(self.exponent) else len(self._float_rows)


@final
@dataclass(frozen=True, eq=False)
class LargestGauge(Gauge):
    """The largest of several gauges, at least one of which bounds every direction."""

    parts: tuple[Gauge, ...]

    def near(
        self, points: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        found = [part.near(points, errors) for part in self.parts]
        return np.max([value for value, _ in found], axis=0), np.max([bound for _, bound in found], axis=0)

    def exact(self, point: Sequence[arb]) -> arb:
        return reduce(lambda a, b: a.max(b), (part.exact(point) for part in self.parts))

    def through(self, matrix: fmpq_mat) -> LargestGauge:
        return LargestGauge(tuple(part.through(matrix) for part in self.parts))


@final
@dataclass(frozen=True, eq=False)
class SumGauge(Gauge):
    """The sum of several gauges; adding n values loses (n − 1)·2⁻⁵³ relative, doubled."""

    parts: tuple[Gauge, ...]

    def near(
        self, points: NDArray[np.float64], errors: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        found = [part.near(points, errors) for part in self.parts]
        value = np.sum([value for value, _ in found], axis=0)
        return value, np.sum([bound for _, bound in found], axis=0) * (1 + 2.0**-40) + value * len(found) * 2.0**-52

    def exact(self, point: Sequence[arb]) -> arb:
        return sum((part.exact(point) for part in self.parts), arb(0))

    def through(self, matrix: fmpq_mat) -> SumGauge:
        return SumGauge(tuple(part.through(matrix) for part in self.parts))


def _product(row: Sequence[arb], point: Sequence[arb]) -> arb:
    return sum((a * x for a, x in zip(row, point, strict=True) if not a.is_zero()), arb(0))


def _power_norm_of_balls(values: Sequence[arb], exponent: float) -> arb:
    """(Σ |value|^p)^(1/p), the largest |value| for infinite p, as a ball that contains it."""
    sizes = [abs(value) for value in values]
    if math.isinf(exponent):
        return reduce(lambda a, b: a.max(b), sizes)
    if exponent == 1:
        return sum(sizes, arb(0))
    if exponent == 2:
        return sum((size * size for size in sizes), arb(0)).sqrt()
    return sum((size ** arb(exponent) for size in sizes), arb(0)) ** (1 / arb(exponent))


def power_norm(lengths: NDArray[np.float64], exponent: float) -> NDArray[np.float64]:
    """The same of non-negative numbers along the last axis, divided by the longest first so that nothing overflows."""
    if exponent == 1:
        return np.asarray(np.sum(lengths, axis=-1))
    longest = np.max(lengths, axis=-1)
    if math.isinf(exponent):
        return np.asarray(longest)
    shares = lengths / np.where(longest > 0, longest, 1.0)[..., None]
    return np.asarray(longest * np.sum(shares**exponent, axis=-1) ** (1 / exponent))


Rows: TypeAlias = list[list[fmpq]]
MOST_ROWS = 1 << 17
"""More corners or facets than this are not listed."""


def rationals(lengths: NDArray[np.float64]) -> list[fmpq]:
    """Each float64 (m,) as the rational that it is."""
    return [rational(length) for length in lengths.tolist()]


def reciprocals(lengths: NDArray[np.float64]) -> fmpq_mat:
    """The diagonal matrix (m, m) of 1/length."""
    return fmpq_mat(diagonal([1 / length for length in rationals(lengths)]))


def diagonal(entries: list[fmpq]) -> Rows:
    """The entries along the diagonal, zeros elsewhere."""
    return [[x if k == j else fmpq(0) for j in range(len(entries))] for k, x in enumerate(entries)]


def dot(row: Sequence[fmpq], point: Sequence[fmpq]) -> fmpq:
    """``row·point``."""
    return sum((a * x for a, x in zip(row, point, strict=True)), fmpq(0))


def image_of(matrix: NDArray[np.float64], point: Sequence[fmpq]) -> list[fmpq]:
    """``matrix @ point``."""
    return [dot(rationals(row), point) for row in matrix]


def highest(direction: Sequence[fmpq], points: Iterable[Sequence[fmpq]]) -> ExactNumber:
    """The largest of direction·point."""
    return largest(dot(direction, point) for point in points)


def on_the_axes(lengths: list[fmpq]) -> Rows:
    """±lengths[k] on axis k and zeros elsewhere."""
    return [[sign * x for x in row] for row in diagonal(lengths) for sign in (1, -1)]


def every_sign(lengths: list[fmpq]) -> Rows:
    """The lengths with every choice of signs. Raises: TooLarge."""
    return combined([[[length], [-length]] for length in lengths]) or []


def combined(parts: Sequence[Rows | None]) -> Rows | None:
    """Every choice of one row from each part, side by side; None where one is None. Raises: TooLarge."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if math.prod(len(part) for part in known) > MOST_ROWS:
        raise TooLarge(f"a body with more than {MOST_ROWS:,} corners or facets is not compared corner by corner")
    return [list(itertools.chain(*rows)) for rows in itertools.product(*known)]


def side_by_side(rows: Sequence[Rows | None], sizes: Sequence[int]) -> Rows | None:
    """The rows of every part, with zeros in the other parts' coordinates; None where one is None."""
    known = [part for part in rows if part is not None]
    if len(known) < len(rows):
        return None
    blocks = block_slices(sizes)
    size = blocks[-1].stop
    return [
        [fmpq(0)] * block.start + row + [fmpq(0)] * (size - block.stop)
        for part, block in zip(known, blocks, strict=True)
        for row in part
    ]


def dual_power_norm(sizes: list[fmpq], exponent: float) -> ExactNumber:
    """max of Σ sizes·u over ‖u‖_p ≤ 1, for sizes of at least 0."""
    if exponent == 1:
        return largest(sizes)
    dual = Fraction(1) if math.isinf(exponent) else Fraction(exponent) / (Fraction(exponent) - 1)
    return power(total(power(size, dual) for size in sizes), 1 / dual)


_PRECISION = 256
_ANGLES = np.linspace(0, 2 * np.pi, 360, endpoint=False)
DEGREES = np.column_stack([np.cos(_ANGLES), np.sin(_ANGLES)])
"""A round body is drawn as a polygon with a corner for every degree."""


class Powers(NamedTuple):
    """{v: Σ (|v_k|/radii[k])^exponent ≤ 1}, a ball of ℓp along the axes."""

    radii: NDArray[np.float64]
    exponent: float


class ConvexBody(DefinedByNumbers):
    """A symmetric convex body K in ℝᵐ with interior: the unit ball of a norm.

    A new body is a frozen dataclass with the eight abstract answers. Whatever else it knows of itself it says too, and
    rules, proofs and samplers that need no more than that serve it; None, or a refusal, says that it does not know.

    Laws: the gauge is a norm; ``gauge(v) ≤ 1`` iff v ∈ K; ``u·v ≤ support_function(u)·gauge(v)``, with equality for
    some v; a uniform point has the stated second moment; the exact gauge is what the gauge rounds, and the upper bounds
    are not below it.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number m of coordinates."""

    @abstractmethod
    def gauge(self, points: ArrayLike) -> NDArray[np.float64]:
        """``‖v‖_K`` of points (…, m), up to the rounding of float64."""

    @abstractmethod
    def support_function(self, directions: ArrayLike) -> NDArray[np.float64]:
        """max over v ∈ K of u·v, of directions (…, m), up to the rounding of float64."""

    @abstractmethod
    def exact_gauge(self, point: Sequence[fmpq]) -> ExactNumber:
        """``‖point‖_K`` of one rational point: rational where it can be, else a ball at the precision in force."""

    @property
    @abstractmethod
    def certified_gauge(self) -> Gauge:
        """``‖·‖_K`` in float64 with a bound on the error, and in ball arithmetic.

        Guarantee: *exact*: lengths, normals and maps are the rationals that float64 holds.
        """

    @abstractmethod
    def simulate_uniform(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """``count`` float points (count, m), uniform in K, for predictions and plots. **Never release these.**"""

    @property
    @abstractmethod
    def volume(self) -> float:
        """The volume, up to the rounding of float64."""

    @property
    @abstractmethod
    def second_moment(self) -> NDArray[np.float64]:
        """E[U Uᵀ] (m, m) of a uniform point, up to the rounding of float64."""

    @property
    def noise_second_moment(self) -> NDArray[np.float64]:
        """E[V Vᵀ] (m, m) of the noise with density ∝ exp(−‖v‖_K): a uniform point times a Gamma(m + 1) radius."""
        return (self.dimension + 1) * (self.dimension + 2) * self.second_moment

    def gauge_upper_bounds(self, points: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """(E,): ``‖v‖_K``, *rounded up*, for every v within ``errors`` (E, m) of the ``points`` (E, m)."""
        values, slack = self.certified_gauge.near(points, errors)
        return np.asarray((values + slack) * (1 + 4 * UNIT_ROUNDOFF))

    def exact_support(self, direction: Sequence[fmpq]) -> ExactNumber:
        """max over v ∈ K of direction·v: rational where it can be, else a ball at the precision in force.

        Raises: UnsupportedCombination for a body that knows neither this nor its corners; as ``exact_corners``.
        """
        if self.powers is not None:
            sizes = [abs(x) * radius for x, radius in zip(direction, rationals(self.powers.radii), strict=True)]
            return dual_power_norm(sizes, self.powers.exponent)
        corners = self.exact_corners()
        if corners is None:
            raise UnsupportedCombination(f"how far a {type(self).__name__} reaches is known in float64 only")
        return highest(direction, corners)

    def support_upper_bounds(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """max over v ∈ K of u·v for each of the directions (H, m), *rounded up*: what an outer polytope asks for."""
        with ctx.workprec(_PRECISION):
            return np.array([value_rounded_up(self.exact_support(rationals(direction))) for direction in directions])

    def exact_corners(self) -> Rows | None:
        """Points whose hull is the body, or None for a round body.

        Guarantee: *exact*. Raises: TooLarge where they are too many to list; CertificateRefused where they are not
        proved.
        """
        return None

    def stated_corners(self) -> Rows | None:
        """Points whose hull the body was asked for, where it was rounded outward to be proved; else ``exact_corners``.

        Guarantee: *exact*, and all of them in the body. Raises: as ``exact_corners``.
        """
        return self.exact_corners()

    def exact_facets(self) -> Rows | None:
        """Normals a with K = {v: a·v ≤ 1 for all of them}, or None for a round body.

        Guarantee and Raises: as ``exact_corners``.
        """
        return None

    @property
    def powers(self) -> Powers | None:
        """The radii and the exponent of a ball of ℓp along the axes, None for any other body."""
        return None

    @property
    def axes_of_ball(self) -> NDArray[np.float64] | None:
        """A (m, m) with K = A·(the unit ball of ℓ₂), None for any other body."""
        return None

    @property
    def polytope(self) -> SymmetricPolytope | None:
        """The body itself where it is a polytope with a proved boundary of simplices, else None."""
        return None

    @property
    def polytope_around(self) -> SymmetricPolytope | None:
        """A polytope with a proved boundary that *contains* the body and is barely larger; None where there is none.

        Raises: TooLarge, CertificateRefused, NotANormBall when it is too large to be found or proved.
        """
        return None

    @property
    def factors(self) -> tuple[ConvexBody, ...] | None:
        """Bodies over blocks of coordinates, in order, of which this is the Cartesian product."""
        return None

    @property
    def summands(self) -> tuple[ConvexBody, ...] | None:
        """Bodies over blocks of coordinates, in order, of whose union this is the hull."""
        return None

    @property
    def preimage(self) -> tuple[ConvexBody, NDArray[np.float64]] | None:
        """A body, and an invertible matrix that makes this one of it."""
        return None

    def to_shapely(self, first: int = 0, second: int = 1) -> Any:
        """The body's orthogonal projection on two of its coordinates, as a Shapely geometry.

        Guarantee: up to the rounding of float64; of a round body *around* the projection, within a ten-thousandth.
        Raises: UnsupportedCombination unless first and second are two of the body's coordinates.
        """
        from dxgeom.universe.polygons import hull_around

        if first == second or not {first, second} <= set(range(self.dimension)):
            raise UnsupportedCombination(
                f"a region of the plane has two different coordinates of {self.dimension}, found {first} and {second}"
            )
        return hull_around(self.projection(np.eye(self.dimension)[[first, second]]))

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points (n, 2) whose hull is the body's image under ``onto`` (2, m), up to the rounding of float64.

        Unless a body knows better, its image's supporting lines of every degree are cut with each other: the hull is
        around the image, and within a ten-thousandth of it.
        """
        heights = self.support_function(DEGREES @ onto)
        sides = np.stack([DEGREES, np.roll(DEGREES, -1, axis=0)], axis=1)
        return np.asarray(np.linalg.solve(sides, np.stack([heights, np.roll(heights, -1)], axis=1)[..., None])[:, :, 0])
