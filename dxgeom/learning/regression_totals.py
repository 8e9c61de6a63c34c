"""The sums that least squares needs, with noise of cylinders over each number and its square, or of one joint hull."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.geometry.hulls import EnclosureLimits, enclosing_polytope
from dxgeom.geometry.polytope import SymmetricPolytope
from dxgeom.geometry.round_bodies import Box
from dxgeom.learning.adjacent_outputs import PolynomialOutputs
from dxgeom.learning.least_squares import TotalsLayout
from dxgeom.learning.polynomials import bounded_column, moments, polynomial_statistic
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Mechanism, require_spend
from dxgeom.noise.composed import CartesianProductNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.law import WIDEST, NoiseLaw
from dxgeom.noise.rejection import CutNoise
from dxgeom.noise.round_laws import BoxNoise
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import round_up
from dxgeom.numeric.sealed import canonical_digest

MOST_IN_A_HULL: Final = 3
"""Predictors: of more, hardly any draw from the cylinders would be kept."""
GRID: Final = 2**16
"""Steps from 0 to 1: numbers within [−1, 1] are moved to multiples of 2⁻¹⁶ before anything is added up."""
_MOST_RECORDS: Final = 2**30
_EXCESS: Final = EnclosureLimits(tolerance=0.002)
_JOINT: Final = EnclosureLimits(tolerance=0.02, seconds=600)
"""Facets end it, never how long it takes, so that a slow machine has no other noise."""
Shape: TypeAlias = Literal["cylinders", "hull"]


@final
@dataclass(frozen=True, eq=False)
class RegressionTotals(Mechanism[ArrayLike, tuple[Fraction, ...]]):
    """Σ x_j and Σ x_j², Σ y and Σ y², then Σ x_j·x_k and Σ x_j·y, of numbers within [−1, 1], with noise.

    The data are a table (n, p + 1): the predictors of a record, then its response, all within [−1, 1]. Each number z
    and its square change within {(z − z′, z² − z′²)}, a product of two numbers by at most 2: the body of the noise is
    the product of the hulls of the former and of intervals for the latter (``law``, in steps of the lattice).
    ``shape``: "cylinders", that product, or "hull", of one to three predictors: a polytope around all changes together.

    Guarantee: replacing one record by any other changes the odds of any answers by at most e^spend. Numbers are moved
    to the grid first, so totals lie on the lattice, and noise is rounded to it. The number of records is public.
    Source: Awan & Slavković 2020, §6, corrected: an intersection of cylinders, not a union; the response is bounded.
    """

    name: str
    predictors: tuple[str, ...]
    account: Account
    shape: Shape = "cylinders"

    def __post_init__(self) -> None:
        if not self.predictors or len(set(self.predictors)) != len(self.predictors):
            raise UnsupportedCombination("a regression has predictors, each with a name of its own")
        if self.shape not in ("cylinders", "hull"):
            raise UnsupportedCombination(
                f"the shape of a regression's noise is cylinders or hull; found {self.shape!r}"
            )
        if self.shape == "hull" and len(self.predictors) > MOST_IN_A_HULL:
            raise UnsupportedCombination(
                f"the hull of a regression's sums is built for one to three predictors; found {len(self.predictors)}: "
                "leave the mechanism out, which takes cylinders"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.predictors, "response")

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest(
            "regression totals", self.account.policy_fingerprint, self.name, self.predictors, GRID, self.law
        )

    @property
    def law(self) -> NoiseLaw:
        """The noise at spend 1, in steps of the lattice."""
        numbers = len(self.predictors) + 1
        if self.shape == "cylinders":
            return cylinder_noise(numbers)
        return joint_noise() if numbers == 2 else cut_noise(numbers)

    @cached_property
    def steps(self) -> tuple[Fraction, ...]:
        """What a step of each total is worth: 1/GRID of a number, 1/GRID² of a product."""
        single, square = Fraction(1, GRID), Fraction(1, GRID**2)
        numbers = len(self.predictors) + 1
        return (single, square) * numbers + (square,) * len(product_pairs(numbers))

    @cached_property
    def layout(self) -> TotalsLayout:
        """Where the totals stand."""
        numbers = len(self.predictors) + 1
        singles = [((0, k),) for k in range(1, numbers + 1)]
        squares = [((k, k),) for k in range(1, numbers + 1)]
        products = [((j + 1, k + 1),) for j, k in product_pairs(numbers)]
        both = itertools.chain.from_iterable(zip(singles, squares, strict=True))
        return TotalsLayout(numbers + 1, (*both, *products))

    def signal_kept(self, records: int, spend: Fraction) -> float:
        """The part of a coefficient that a fit can be expected to keep, against the noise: a rough, public count."""
        told = records / 10
        return told / (told + float(np.sqrt(self.covariance(spend)[-1, -1])))

    def check(self, data: ArrayLike, spend: Fraction) -> None:
        require_spend(spend)
        self.law.check_size(1 / spend, WIDEST)
        self._places(data)

    def draws(self, data: ArrayLike, spend: Fraction, count: int, randomness: Randomness) -> list[tuple[Fraction, ...]]:
        """The noisy totals, as exact rationals."""
        self.check(data, spend)
        totals = integer_totals(self._places(data))
        drawn = self.law.draw_whole(count, randomness, 1 / spend)
        return [
            tuple((total + z) * step for total, z, step in zip(totals, noise, self.steps, strict=True))
            for noise in drawn
        ]

    def covariance(self, spend: Fraction) -> NDArray[np.float64]:
        """(m, m): second moments of the totals' errors, up to the rounding of float64; of the hull of two or three
        predictors *estimated*, within a hundredth."""
        steps = np.array([float(step) for step in self.steps])
        moment = self.law.second_moment / float(spend) ** 2 + np.eye(len(steps)) / 12
        return np.asarray(moment * np.outer(steps, steps))

    def simulate(self, count: int, spend: Fraction, generator: np.random.Generator) -> NDArray[np.float64]:
        """(count, m): the totals' errors by the law in float64: for figures, never for release."""
        steps = np.array([float(step) for step in self.steps])
        return np.asarray(self.law.simulate(count, generator) / float(spend) * steps)

    def _places(self, data: ArrayLike) -> NDArray[np.int64]:
        """(n, p + 1): each number in steps of the grid. Raises: DataError for what no record has."""
        try:
            table = np.asarray(data, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError("a table of predictors and a response holds numbers only") from error
        width = len(self.predictors) + 1
        if table.ndim != 2 or table.shape[1] != width or not 0 < len(table) <= _MOST_RECORDS:
            raise DataError(
                f"the table has {width - 1} predictors and a response for each of 1 to 2^30 records; found shape "
                f"{table.shape}"
            )
        if not np.all(np.abs(table) <= 1):
            raise DataError("each number lies within [−1, 1]: scale it by its bounds first")
        return np.rint(table * GRID).astype(np.int64)


def product_pairs(numbers: int) -> list[tuple[int, int]]:
    """The pairs of different numbers of a record, in the order of their totals."""
    return list(itertools.combinations(range(numbers), 2))


def integer_totals(places: NDArray[np.int64]) -> list[int]:
    """The totals of (n, q) whole numbers, in the order of the mechanism's; exact. **Not private.**"""
    gram = places.T @ places
    singles = [(int(places[:, k].sum()), int(gram[k, k])) for k in range(places.shape[1])]
    return [*itertools.chain.from_iterable(singles), *(int(gram[j, k]) for j, k in product_pairs(places.shape[1]))]


@lru_cache(maxsize=32)
def cylinder_noise(numbers: int) -> CartesianProductNoise:
    """The noise of cylinders over each number and its square, and of intervals of ±2 for products."""
    curved = tuple(FacetConeNoise(_number_and_square()) for _ in range(numbers))
    products = np.full(len(product_pairs(numbers)), 2.0 * GRID**2)
    return CartesianProductNoise((*curved, BoxNoise(Box(products))))


_CUTS: Final = (
    (5, 2, 5, 0, 0, 4, 1, 6, -6),
    (0, 2, 0, 0, 0, -2, 0, 3, 0),
    (2, 3, 2, 2, 0, 0, -2, 0, 0),
    (0, 2, 0, 1, 0, 0, 3, 0, 0),
    (0, 3, 0, 2, 0, 0, 2, 2, -2),
    (2, 3, 2, 0, 0, 0, -2, 0, 0),
    (1, 0, 1, 0, 0, 0, 0, 1, -1),
    (2, 6, 1, 0, 1, 0, 0, -2, 1),
)
"""Weights of the totals of three numbers whose sums cut most off the cylinders, of those that were tried: any are safe,
since how far records change a sum is worked out exactly."""


@final
@dataclass(frozen=True)
class CutFigures:
    """What simulation finds of the noise, for numbers within [−1, 1] and a budget of 1: the ``share`` of the cylinders
    that is left, and second moments of a number's total, of a square's, of two squares', and of a product's."""

    share: float
    number: float
    square: float
    squares: float
    product: float


FIGURES: Final = {3: CutFigures(0.2097, 81.69, 26.3, -0.4, 68.35), 4: CutFigures(0.0369, 150.4, 53.1, -1.1, 141.1)}
"""By how many numbers, the response among them; from 840,000 and 74,000 points, all numbers alike: within 1 %."""


@lru_cache(maxsize=2)
def cut_noise(numbers: int) -> CutNoise:
    """The noise of cylinders, cut by what no change of one record exceeds of sums of totals.

    Each of :data:`_CUTS` bounds the totals of any three numbers in any order, and with any of their signs turned: the
    box of records is the same after that.
    """
    columns = [bounded_column(name, -1, 1, Fraction(1, GRID)) for name in "xyz"]
    entries = [(name,) * power for name in "xyz" for power in (1, 2)] + list(itertools.combinations("xyz", 2))
    statistic = polynomial_statistic(columns, {"·".join(entry): {entry: 1} for entry in entries})
    of_steps = np.array([GRID, 1] * 3 + [1] * 3)
    if statistic.steps != tuple(Fraction(int(one), GRID**2) for one in of_steps):
        raise UnsupportedCombination("numbers and their products have other steps than their lattice")
    reaches = PolynomialOutputs(statistic).reaches(np.array(_CUTS, dtype=object) * of_steps)
    heights: dict[tuple[int, ...], float] = {}
    for cut, reach in zip(_CUTS, reaches, strict=True):
        for normal in _turned(cut, numbers):
            heights[normal] = round_up(reach.upper)
    figures = FIGURES[numbers]
    pairs = len(product_pairs(numbers))
    each = [figures.number * GRID**2, figures.square * GRID**4] * numbers + [figures.product * GRID**4] * pairs
    moment = np.diag(np.array(each, dtype=np.float64))
    squares = np.arange(1, 2 * numbers, 2)
    moment[np.ix_(squares, squares)] += figures.squares * GRID**4 * (1 - np.eye(numbers))
    return CutNoise(
        cylinder_noise(numbers), np.array(list(heights)), np.array(list(heights.values())), figures.share, moment
    )


def _turned(cut: tuple[int, ...], numbers: int) -> set[tuple[int, ...]]:
    """The weights (m,), in steps, of the same sum of any three of so many numbers; one of two opposite ones."""
    pairs, found = product_pairs(numbers), set[tuple[int, ...]]()
    for places in itertools.permutations(range(numbers), 3):
        for signs in itertools.product((1, -1), repeat=3):
            row = [0] * (2 * numbers + len(pairs))
            for k, (place, sign) in enumerate(zip(places, signs, strict=True)):
                row[2 * place], row[2 * place + 1] = sign * cut[2 * k] * GRID, cut[2 * k + 1]
            for weight, (j, k) in zip(cut[6:], product_pairs(3), strict=True):
                pair = (min(places[j], places[k]), max(places[j], places[k]))
                row[2 * numbers + pairs.index(pair)] = signs[j] * signs[k] * weight
            found.add(max(tuple(row), tuple(-one for one in row)))
    return found


@lru_cache(maxsize=1)
def joint_noise() -> FacetConeNoise:
    """The noise of a polytope proved to hold all changes of (x, x², y, y², x·y), some seconds to build."""
    columns = [bounded_column(name, -1, 1, Fraction(1, GRID)) for name in ("x", "y")]
    entries = [("x",), ("x", "x"), ("y",), ("y", "y"), ("x", "y")]
    statistic = polynomial_statistic(columns, {"·".join(entry): {entry: 1} for entry in entries})
    single, square = Fraction(1, GRID), Fraction(1, GRID**2)
    if statistic.steps != (single, square, single, square, square):
        raise UnsupportedCombination("two numbers and their products have other steps than their lattice")
    return FacetConeNoise(enclosing_polytope(PolynomialOutputs(statistic), _JOINT).body)


@lru_cache(maxsize=1)
def _number_and_square() -> SymmetricPolytope:
    """A polytope proved to hold all changes of a number within [−1, 1] and its square, in steps of the lattice."""
    statistic = moments([bounded_column("z", -1, 1, Fraction(1, GRID))], 2)
    if statistic.steps != (Fraction(1, GRID), Fraction(1, GRID**2)):
        raise UnsupportedCombination("a number and its square have other steps than their lattice")
    return enclosing_polytope(PolynomialOutputs(statistic), _EXCESS).body
