"""The adjacent output space of a statistic: by how much a change of one record can move it.

Maxima of polynomials over the unit box, enclosed by Bernstein coefficients and halving. Maxima of quadratics over the
unit box, exactly, by looking at every face that can hold one.

On a box a polynomial lies between its least and its largest Bernstein coefficient, and takes the corner coefficients as
values. Halving a box halves the distance to the polynomial at least, so boxes that cannot hold the maximum drop out.

A maximum over the box is attained at a point whose smallest face has the fewest free coordinates. There the gradient
along the face vanishes, and the Hessian along it is negative definite: were it singular, one could walk along its
kernel to a smaller face without losing height. So it suffices to solve one linear system per choice of {0, 1, free}
for every coordinate, free only where the quadratic bends downwards.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from flint import fmpz_mpoly_ctx
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.geometry.hulls import SupportOracle
from dxgeom.learning.polynomials import BoxPolynomials, PolynomialStatistic, monomials
from dxgeom.numeric.exact_numbers import solve_exactly
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, round_up

MOST_COEFFICIENTS = 20_000
"""A polynomial with more Bernstein coefficients is refused."""
_BLOCK = 4_000_000


@final
@dataclass(frozen=True)
class HalvingLimits:
    """When to stop halving: a stop leaves a wider enclosure, never a wrong one."""

    tolerance: float = 1e-10
    rounds: int = 240
    coefficients: int = 12_000_000


class Maximum(NamedTuple):
    """``lower ≤ the maximum ≤ upper``, exact rationals."""

    lower: Fraction
    upper: Fraction


def polynomial_maxima(polynomials: BoxPolynomials, limits: HalvingLimits | None = None) -> list[Maximum]:
    """An enclosure of each polynomial's largest value on [0, 1]ᵖ.

    Guarantee: *rounded outward*, about ``tolerance`` of the largest coefficient wide unless a limit was met.
    Raises: TooLarge for more than 20,000 Bernstein coefficients.
    Source: J. Garloff, Convergent bounds for the range of multivariate polynomials, 1986.
    """
    limits = limits or HalvingLimits()
    tensors, sizes = bernstein_coefficients(polynomials)
    per_block = max(1, _BLOCK // math.prod(tensors.shape[1:]))
    found: list[Maximum] = []
    for start in range(0, len(tensors), per_block):
        block = slice(start, start + per_block)
        bounds = _halved(tensors[block], limits)
        found += [
            Maximum(Fraction(float(low)) * size, Fraction(float(high)) * size)
            for low, high, size in zip(*bounds, sizes[block], strict=True)
        ]
    return found


def bernstein_coefficients(polynomials: BoxPolynomials) -> tuple[NDArray[np.float64], list[Fraction]]:
    """Bernstein coefficients (R, d₁ + 1, …, d_p + 1) over their largest magnitude, correctly rounded; and those."""
    degrees = [int(d) for d in polynomials.exponents.max(axis=0)]
    count = math.prod(d + 1 for d in degrees)
    if count > MOST_COEFFICIENTS:
        raise TooLarge(f"a polynomial with {count:,} Bernstein coefficients passes {MOST_COEFFICIENTS:,}")
    common = math.prod(math.lcm(*(math.comb(d, i) for i in range(d + 1))) for d in degrees)
    table = np.zeros((count, len(polynomials.exponents)), dtype=object)
    for row, place in enumerate(itertools.product(*(range(d + 1) for d in degrees))):
        for column, powers in enumerate(polynomials.exponents.tolist()):
            above = math.prod(math.comb(i, e) for i, e in zip(place, powers, strict=True))
            below = math.prod(math.comb(d, e) for d, e in zip(degrees, powers, strict=True))
            table[row, column] = common * above // below
    exact: NDArray[Any] = polynomials.coefficients @ table.T
    largest = [max(1, *(abs(int(entry)) for entry in row)) for row in exact]
    scaled = np.array(exact / np.array(largest, dtype=object)[:, None], dtype=np.float64)
    return scaled.reshape(len(exact), *(d + 1 for d in degrees)), [Fraction(size, common) for size in largest]


def _halved(tensors: NDArray[np.float64], limits: HalvingLimits) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lower and upper bounds (R,) of the largest values, for coefficients of magnitude at most 1."""
    rows = np.arange(len(tensors))
    lower, upper = np.full(len(tensors), -np.inf), np.full(len(tensors), -np.inf)
    error = 2 * UNIT_ROUNDOFF
    for _ in range(limits.rounds):
        tops = _tops(tensors)
        np.maximum.at(lower, rows, _corners(tensors) - error)
        settled = tops + error <= lower[rows] + limits.tolerance
        np.maximum.at(upper, rows[settled], tops[settled] + error)
        tensors, rows = tensors[~settled], rows[~settled]
        if len(tensors) == 0 or 2 * tensors.size > limits.coefficients:
            break
        tensors, rows = _halves(tensors, rows)
        # Every mean of two numbers of magnitude at most 1 + error is off by 2⁻⁵³ of that; doubled.
        error += 2 * max(tensors.shape[1:]) * UNIT_ROUNDOFF
    np.maximum.at(upper, rows, _tops(tensors) + error)
    upper = np.maximum(upper, lower)
    return np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)


def _corners(tensors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest corner coefficient (B,): a value that the polynomial takes."""
    ends = tensors
    for axis in range(1, tensors.ndim):
        ends = np.take(ends, [0, -1], axis=axis)
    return _tops(ends)


def _tops(tensors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest coefficient (B,) of each tensor."""
    return np.asarray(tensors.max(axis=tuple(range(1, tensors.ndim))))


def _halves(tensors: NDArray[np.float64], rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Both halves of every box, each cut across the axis along which its coefficients change most."""
    axes = range(1, tensors.ndim)
    changes = [np.abs(np.diff(tensors, axis=axis)).reshape(len(tensors), -1).max(axis=1, initial=0.0) for axis in axes]
    steepest = 1 + np.argmax(changes, axis=0)
    cut = [(_split(tensors[steepest == axis], axis), np.tile(rows[steepest == axis], 2)) for axis in axes]
    return np.concatenate([boxes for boxes, _ in cut]), np.concatenate([owners for _, owners in cut])


def _split(tensors: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Coefficients on both halves along an axis, by de Casteljau's repeated means."""
    work = np.moveaxis(tensors, axis, 0).copy()
    left, right = np.empty_like(work), np.empty_like(work)
    degree = len(work) - 1
    for level in range(degree + 1):
        left[level], right[degree - level] = work[0], work[degree - level]
        work[: degree - level] = (work[: degree - level] + work[1 : degree - level + 1]) / 2
    return np.concatenate([np.moveaxis(left, 0, axis), np.moveaxis(right, 0, axis)])


_Face: TypeAlias = tuple[list[int], list[int], list[int]]
"""The fixed coordinates, the free ones, and where the fixed ones are."""

MOST_VARIABLES = 10
"""Beyond, the faces of the box are too many (3¹⁰ is 59,049)."""


def quadratic_maxima(quadratics: BoxPolynomials) -> list[Fraction]:
    """The largest value of each quadratic on [0, 1]ᵖ.

    Guarantee: *exact*. Raises: TooLarge beyond ten variables; UnsupportedCombination beyond degree two.
    """
    hessians, slopes = _derivatives(quadratics, quadratics.coefficients)
    count = len(slopes)
    above = np.zeros(count, dtype=object)  # the corner 0 has value 0
    below = np.ones(count, dtype=object)
    for rows, (_, free, _), start, gradient in _candidates(hessians, slopes):
        determinant, places = _stationary(hessians[rows][:, free][:, :, free], gradient)
        inside = (determinant != 0) & np.all((places >= 0) & (places <= determinant[:, None]), axis=1)
        # On the face the height over the corner is half the gradient times the way to the stationary point.
        value, scale = 2 * determinant * start + np.sum(gradient * places, axis=1), 2 * determinant
        better = inside & (value * below[rows] > above[rows] * scale)
        above[rows[better]], below[rows[better]] = value[better], scale[better]
    return [Fraction(int(value), int(scale)) for value, scale in zip(above, below, strict=True)]


def float_maximisers(quadratics: BoxPolynomials, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (F, p) of [0, 1]ᵖ where the weighted sums of quadratics are largest, as far as float64 tells.

    Args: ``weights`` (F, R). A guess for searches; what a guarantee needs comes from :func:`quadratic_maxima`.
    """
    hessians, slopes = _derivatives(quadratics, weights @ quadratics.float_coefficients)
    best = np.zeros(len(weights))
    points = np.zeros((len(weights), quadratics.variables))
    for rows, (fixed, free, corner), start, gradient in _candidates(hessians, slopes):
        inner = hessians[rows][:, free][:, :, free]
        regular = np.abs(np.linalg.det(inner)) > 1e-12 * np.prod(np.abs(np.diagonal(inner, axis1=1, axis2=2)), axis=1)
        inner[~regular] = -np.eye(len(free))
        places = np.linalg.solve(inner, -gradient[:, :, None])[:, :, 0]
        height = start + np.sum(gradient * places, axis=1) / 2
        better = regular & np.all((places >= 0) & (places <= 1), axis=1) & (height > best[rows])
        chosen = rows[better]
        best[chosen] = height[better]
        points[np.ix_(chosen, fixed)] = corner
        points[np.ix_(chosen, free)] = places[better]
    return points


def _candidates(
    hessians: NDArray[Any], slopes: NDArray[Any]
) -> Iterator[tuple[NDArray[np.int64], _Face, NDArray[Any], NDArray[Any]]]:
    """For every face the rows whose quadratic bends downwards along all of its free coordinates, and, at its corner
    where those are 0, their values and their gradients along them."""
    variables = slopes.shape[1]
    if variables > MOST_VARIABLES:
        raise TooLarge(f"quadratics on a box are maximised in at most {MOST_VARIABLES} variables, found {variables}")
    for choice in itertools.product((0, 1, None), repeat=variables):
        fixed = [j for j, place in enumerate(choice) if place is not None]
        free = [j for j, place in enumerate(choice) if place is None]
        corner = [place for place in choice if place is not None]
        place = np.array(corner, dtype=np.int64)
        rows = np.flatnonzero(np.all(hessians[:, free, free] < 0, axis=1))
        if rows.size:
            along = hessians[rows][:, :, fixed] @ place
            doubled = 2 * (slopes[rows][:, fixed] @ place) + along[:, fixed] @ place
            values = doubled // 2 if hessians.dtype == object else doubled / 2
            yield rows, (fixed, free, corner), values, slopes[rows][:, free] + along[:, free]


def _derivatives(quadratics: BoxPolynomials, coefficients: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Hessians (F, p, p) and gradients at 0 (F, p)."""
    if quadratics.degree > 2:
        raise UnsupportedCombination(f"quadratics have degree at most 2, found {quadratics.degree}")
    count, variables = len(coefficients), quadratics.variables
    hessians = np.zeros((count, variables, variables), dtype=coefficients.dtype)
    slopes = np.zeros((count, variables), dtype=coefficients.dtype)
    for column, powers in zip(coefficients.T, quadratics.exponents, strict=True):
        used = np.flatnonzero(powers)
        if powers.sum() == 1:
            slopes[:, used[0]] += column
        else:
            hessians[:, used[0], used[-1]] += column
            hessians[:, used[-1], used[0]] += column
    return hessians, slopes


def _stationary(inner: NDArray[Any], gradient: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Positive determinants (B,) and numerators (B, f) of the point where the gradient along the face vanishes."""
    if gradient.shape[1] == 0:
        return np.ones(len(gradient), dtype=object), gradient
    determinant, numerators = solve_exactly(inner, -gradient[:, :, None])
    sign = np.where(determinant < 0, -1, 1)
    return determinant * sign, numerators[:, :, 0] * sign[:, None]


LARGEST_VALUE = 2**52
MOST_LISTED = 20_000
_SEARCH_POINTS = 4096
_SEARCH_ZOOMS = 6
_PAIRS_PER_BLOCK = 1 << 21


class AdjacentOutputs(SupportOracle):
    """S_T = {T(X) − T(X′): X and X′ differ in one record}, in lattice steps.

    Laws: ``lower ≤ h ≤ upper`` for every direction; no point of S_T is longer than ``longest_square`` says.
    """

    @property
    @abstractmethod
    def steps(self) -> tuple[Fraction, ...]:
        """What one lattice step of each entry is worth in its own unit."""

    @abstractmethod
    def reaches(self, directions: NDArray[Any]) -> list[Maximum]:
        """h(u) = sup over s ∈ S_T of u·s, enclosed, for integer directions (F, m)."""

    @abstractmethod
    def longest_square(self) -> Maximum:
        """sup over s ∈ S_T of Σ_k (steps[k]·s_k)², enclosed."""

    def reach_bounds(self, directions: NDArray[Any], scales: Sequence[int]) -> NDArray[np.float64]:
        pairs = zip(self.reaches(directions), scales, strict=True)
        return np.array([round_up(reach.upper / scale) for reach, scale in pairs])


@final
@dataclass(frozen=True, eq=False)
class PolynomialOutputs(AdjacentOutputs):
    """S_T = {t(x) − t(x′): x, x′ in the box} in lattice steps, of a sum T of polynomials t.

    Definition: h(u) = max u·t − min u·t over the box. The records of a table lie on the grid in the box, so what one of
    them can change is in S_T; nothing has to be added for rounding.
    Guarantee: h(u) is *exact* where u·t has degree two and uses at most ten columns, else enclosed by Bernstein
    coefficients.
    Source: Awan & Slavković 2020, Def. 2.6.
    """

    statistic: PolynomialStatistic

    @property
    def dimension(self) -> int:
        return self.statistic.dimension

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return self.statistic.steps

    def furthest(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        both = np.vstack([directions, -directions])
        polynomials = self.statistic.on_unit_box
        points = float_maximisers(polynomials, both) if _closed(polynomials) else _searched(polynomials, both)
        images = polynomials.values(points)
        return np.asarray(images[: len(directions)] - images[len(directions) :])

    def reaches(self, directions: NDArray[Any]) -> list[Maximum]:
        rows = self.statistic.on_unit_box.combined(np.vstack([directions, -directions]))
        maxima = [Maximum(Fraction(0), Fraction(0))] * len(rows.coefficients)
        for members, group in rows.by_variables():
            for row, maximum in zip(members, _maxima(group), strict=True):
                maxima[row] = maximum
        pairs = zip(maxima[: len(directions)], maxima[len(directions) :], strict=True)
        return [Maximum(above.lower + below.lower, above.upper + below.upper) for above, below in pairs]

    def longest_square(self) -> Maximum:
        """Enclosed by Bernstein coefficients of the squared length as a polynomial in both records.

        Raises: TooLarge for more than 20,000 of them: beyond three columns of degree two.
        """
        square, denominator = _squared_length(self.statistic.on_unit_box, self.steps)
        (found,) = polynomial_maxima(square, HalvingLimits(tolerance=1e-12))
        return Maximum(found.lower / denominator, found.upper / denominator)


@final
@dataclass(frozen=True, eq=False)
class ListedOutputs(AdjacentOutputs):
    """S_T = {t_i − t_j} of a sum T whose term for a record is one of a list: row i of ``values`` (N, m), int64.

    Guarantee: everything is *exact*. Histograms are of this kind: Awan & Slavković 2020, Example 3.6.
    """

    values: NDArray[np.int64]

    def __post_init__(self) -> None:
        fits = self.values.ndim == 2 and self.values.dtype == np.int64 and 2 <= len(self.values) <= MOST_LISTED
        if not (fits and self.values.min() > -LARGEST_VALUE and self.values.max() < LARGEST_VALUE):
            raise UnsupportedCombination(f"listed outputs are 2 to {MOST_LISTED:,} rows of integers below 2**52")

    @property
    def dimension(self) -> int:
        return int(self.values.shape[1])

    @property
    def steps(self) -> tuple[Fraction, ...]:
        return (Fraction(1),) * self.dimension

    def furthest(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        heights = directions @ self.values.T
        highest, lowest = self.values[heights.argmax(axis=1)], self.values[heights.argmin(axis=1)]
        return np.asarray((highest - lowest).astype(np.float64))

    def reaches(self, directions: NDArray[Any]) -> list[Maximum]:
        columns = self.values.T.astype(object)
        heights = [direction @ columns for direction in directions.astype(object)]
        spreads = [Fraction(int(each.max() - each.min())) for each in heights]
        return [Maximum(spread, spread) for spread in spreads]

    def longest_square(self) -> Maximum:
        """By all pairs: float64 finds the longest up to rounding, and those are measured exactly."""
        found = 0
        size = max(1, _PAIRS_PER_BLOCK // len(self.values))
        for start in range(0, len(self.values), size):
            moves = (self.values[start : start + size, None, :] - self.values[None, :, :]).astype(np.float64)
            squares = np.sum(moves * moves, axis=2)
            for i, j in np.argwhere(squares >= squares.max() * (1 - 1e-12)):
                move = self.values[start + i].astype(object) - self.values[j].astype(object)
                found = max(found, int(np.dot(move, move)))
        return Maximum(Fraction(found), Fraction(found))


def _closed(polynomials: BoxPolynomials) -> bool:
    """Whether maxima have a closed form here."""
    return polynomials.degree <= 2 and polynomials.variables <= MOST_VARIABLES


def _maxima(polynomials: BoxPolynomials) -> list[Maximum]:
    """Exact where there is a closed form, else enclosed."""
    if _closed(polynomials):
        return [Maximum(value, value) for value in quadratic_maxima(polynomials)]
    return polynomial_maxima(polynomials)


def _squared_length(polynomials: BoxPolynomials, steps: tuple[Fraction, ...]) -> tuple[BoxPolynomials, int]:
    """Σ_k steps[k]²·(P_k(z) − P_k(z′))² as an integer polynomial on [0, 1]²ᵖ, and what it is to be divided by."""
    squares = [step * step for step in steps]
    denominator = math.lcm(*(square.denominator for square in squares))
    nothing = (0,) * polynomials.variables
    ring = fmpz_mpoly_ctx.get(("z", 2 * polynomials.variables))
    total = ring.constant(0)
    for row, square in zip(polynomials.coefficients.tolist(), squares, strict=True):
        terms = list(zip(map(tuple, polynomials.exponents.tolist()), map(int, row), strict=True))
        one = ring.from_dict({(*powers, *nothing): value for powers, value in terms})
        other = ring.from_dict({(*nothing, *powers): value for powers, value in terms})
        total += int(square * denominator) * (one - other) ** 2
    kept = sorted((tuple(map(int, powers)), int(value)) for powers, value in total.to_dict().items())
    exponents, coefficients = zip(*kept, strict=True)
    return BoxPolynomials(np.array(exponents, dtype=np.int64), np.array([coefficients], dtype=object)), denominator


def _searched(polynomials: BoxPolynomials, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Points (F, p) of the unit box where weighted sums of the polynomials are large: a grid, then finer ones near."""
    count, variables = len(weights), polynomials.variables
    side = max(3, int(_SEARCH_POINTS ** (1 / variables)))
    lattice = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, side)] * variables), axis=-1).reshape(-1, variables)
    rows = weights @ polynomials.float_coefficients
    heights = rows @ monomials(polynomials.exponents, lattice + 0.5).T
    points = lattice[heights.argmax(axis=1)] + 0.5
    width = 1.0
    for _ in range(_SEARCH_ZOOMS):
        width *= 3 / side
        for row in range(count):
            near = np.clip(points[row] + width * lattice[:: 1 + len(lattice) // 512], 0, 1)
            near = np.vstack([points[row], near])
            points[row] = near[np.argmax(monomials(polynomials.exponents, near) @ rows[row])]
    return np.asarray(points, dtype=np.float64)
