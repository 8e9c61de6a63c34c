"""The adjacent output space of a statistic: by how much a change of one record can move it."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from flint import fmpz_mpoly_ctx
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.enclosing import SupportOracle
from dxgeom.mechanisms.statistics.bernstein import HalvingLimits, Maximum, polynomial_maxima
from dxgeom.mechanisms.statistics.box_quadratics import MOST_VARIABLES, float_maximisers, quadratic_maxima
from dxgeom.mechanisms.statistics.polynomial_statistics import PolynomialStatistic
from dxgeom.mechanisms.statistics.polynomials import BoxPolynomials, monomials
from dxgeom.numeric.rounding import round_up

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
