"""What every noise law offers: its body, exact moments, a float simulation, and draws fit for release.

E|X| of signed sums of exponential numbers, exactly and without cancellation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.geometry.body import ConvexBody
from dxgeom.noise.rounding import IdealDraws, round_draws, whole_draws
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import DefinedByNumbers

WIDEST: Final = 126
"""Noise as Python's integers stays below 2 to this."""


class NoiseLaw(DefinedByNumbers):
    """A symmetric law of V in ℝᵐ, in lattice steps, that hides a shift w up to e^‖w‖_K; mostly ∝ exp(−‖V‖_K).

    Laws that are :attr:`concentrated` hide it in another sense: D_α(V + w‖V) ≤ α·‖w‖_K²/2 for every α > 1.

    A new law is a frozen dataclass with the abstract answers; ``for_body``, and a line in
    :data:`dxgeom.noise.k_norm.LAWS`, make it the noise of the bodies that it serves.

    Laws: ``second_moment`` is E[V Vᵀ]; ``simulate`` and ``draw`` agree with it and with each other, the latter rounded;
    adding w to V changes the odds of any set by at most e^‖w‖_K unless the law is concentrated, and
    ``loss_upper_bounds`` are not below ‖w‖_K; laws with one digest are one law.
    """

    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def body(self) -> ConvexBody | None:
            """K, the body whose norm ‖w‖_K bounds what a shift w can show.

            None where K is known as a projection only, the image of a body through a wide map: its norm is the least
            ‖u‖ of all u that the map takes to w, and ``loss_upper_bounds`` bounds it.
            """

    @property
    def second_moment(self) -> NDArray[np.float64]:
        """E[V Vᵀ], (m, m), exact up to the rounding of float64; here of the density ∝ e^(−‖v‖_K)."""
        return self.known_body.noise_second_moment

    def variances_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,): E[(r·V)²] of each of the ``rows`` (K, m), up to the rounding of float64."""
        return np.asarray(np.einsum("kj,kj->k", rows @ self.second_moment, rows))

    @property
    @abstractmethod
    def amplitude(self) -> float:
        """No coordinate exceeds this times the largest of its exponentials."""

    @abstractmethod
    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        """``count`` float draws (count, m) for predictions and plots. **Never release these.**"""

    @abstractmethod
    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        """``count`` draws of V with a bound on what float64 makes of them, and the way to their exact values."""

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> NoiseLaw | None:
        """The law of this kind with density ∝ exp(−‖v‖_K), None where this kind does not draw the body's noise.

        Args: ``law_of``: gives the laws of the bodies that this one is made of.
        """
        return None

    @property
    def concentrated(self) -> bool:
        """Whether shifts are hidden in the concentrated sense only, so that odds have no bound."""
        return False

    @property
    def normal(self) -> bool:
        """Whether every linear function of V is a normal number."""
        return False

    def loss_upper_bounds(self, shifts: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """(E,): ‖w‖_K, *rounded up*, for every w within ``errors`` (E, m) of the ``shifts`` (E, m)."""
        return self.known_body.gauge_upper_bounds(shifts, errors)

    def widths_along(self, rows: NDArray[np.float64], missed: float) -> NDArray[np.float64] | None:
        """(n,): what |a·V| exceeds with probability ``missed`` at most, for each a of ``rows`` (n, m), proved however
        small that is, and not below some norm of a that is such a bound everywhere; None where only the norm of V
        tells."""
        return None

    def quantiles_along(self, rows: NDArray[np.float64], missed: float) -> NDArray[np.float64] | None:
        """(n,): the least that |a·V| exceeds with probability ``missed`` at most, for each a of ``rows`` (n, m):
        *rounded up*, within 1e-9 of that chance; None where it has to be simulated."""
        return None

    def mean_sizes_along(self, rows: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """(n,): E|a·V| for each a of ``rows`` (n, m), exact up to the rounding of float64; None where it would have to
        be simulated."""
        return None

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        """Points (n, 2) whose hull is the image of K under ``onto`` (2, m), up to the rounding of float64."""
        return self.known_body.projection(onto)

    @property
    def known_body(self) -> ConvexBody:
        """``body``. Raises: UnsupportedCombination where it is known as a projection only."""
        if self.body is None:
            raise UnsupportedCombination(
                f"the body of this {type(self).__name__} is known as a projection only: name the noise that it is the "
                "image of, or a map with as many columns as rows"
            )
        return self.body

    @property
    def laplace_scales(self) -> NDArray[np.float64] | None:
        """(m,): the scales of independent Laplace coordinates, None for any other law."""
        return None

    @property
    def made_of(self) -> Literal["normal", "laplace"] | None:
        """Which independent numbers V is the linear image of that :meth:`image` works out; None of other laws."""
        return None

    @property
    def dependence(self) -> NDArray[np.bool_]:
        """(m, n): which of these numbers each coordinate depends on. Raises: UnsupportedCombination of other laws."""
        raise self.no_image

    def image(self, numbers: Sequence[arb], rows: Sequence[int]) -> list[arb]:
        """The coordinates at ``rows`` of V, in balls, from the numbers (n,); those that none of them depends on may be
        anything finite. Raises: UnsupportedCombination of other laws."""
        raise self.no_image

    def among(self, rows: NDArray[np.int64]) -> NoiseLaw:
        """The law of the coordinates at these rising rows, which depend on no number but those of these places.

        Raises: UnsupportedCombination of other laws.
        """
        raise self.no_image

    def fresh_in_turn(self, turns: Sequence[NDArray[np.int64]]) -> bool:
        """Whether the coordinates of each turn, rising, have noise of full rank that is in no earlier turn.

        False where it is not known. Raises: UnsupportedCombination of other laws; TooLarge.
        """
        order = np.concatenate(turns) if turns else np.zeros(0, dtype=np.int64)
        square = self.dependence[np.ix_(order, order)]
        return bool(np.all(np.diag(square)) and not np.any(np.triu(square, 1)))

    @property
    def no_image(self) -> UnsupportedCombination:
        """Why there is none."""
        return UnsupportedCombination(f"this {type(self).__name__} is no linear image of independent numbers")

    @property
    def facets(self) -> int:
        """The simplices of all polytopes that draws are made from, 0 where there are none."""
        return 0

    def size_in_words(self, hidden: str) -> str:
        """The size of what is set up for draws, which decides its cost; ``hidden``: what it is set up around."""
        return (
            f"{self.facets:,} facets around {hidden}"
            if self.facets
            else f"{self.dimension:,} dimensions around {hidden}"
        )

    def draw(self, count: int, randomness: Randomness, factor: Fraction = Fraction(1)) -> NDArray[np.int64]:
        """``count`` draws of ``factor·V``, each coordinate rounded to the nearest integer (count, m).

        Guarantee: *exactly* the law of the rounded ideal noise, given uniform random words.
        Raises: TooLarge when a coordinate could leave int64.
        """
        self.check_size(factor)
        return round_draws(self.apart(count, randomness), factor, randomness).reshape(count, self.dimension)

    def draw_whole(self, count: int, randomness: Randomness, factor: Fraction = Fraction(1)) -> list[list[int]]:
        """The same as Python's integers, which carry what int64 does not.

        Raises: TooLarge when a coordinate could leave 126 bits.
        """
        self.check_size(factor, WIDEST)
        numbers = [z for row in whole_draws(self.apart(count, randomness), factor, randomness) for z in row]
        return [numbers[at : at + self.dimension] for at in range(0, len(numbers), self.dimension)]

    def apart(self, count: int, randomness: Randomness) -> IdealDraws:
        """The same draws as ``ideal``, in as many rows or more: where coordinates are independent, each in its own, so
        that exact values are sought of no more than is not settled yet."""
        return self.ideal(count, randomness)

    @property
    def dimension(self) -> int:
        """The number m of coordinates."""
        return len(self.second_moment)

    def check_size(self, factor: Fraction, bits: int = 62) -> None:
        """Refuse a factor whose draws could leave so many bits, with a chance above e⁻¹⁰⁰.

        Raises: TooLarge.
        """
        if not self.amplitude * float(factor) * 400 < 2.0**bits:
            raise TooLarge(
                f"noise of this size does not fit {bits + 2}-bit integers; spend more of the budget on this release"
            )


def mean_sizes(rising: NDArray[np.float64], falling: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,): E|Σ_i rising_i·E_i − Σ_j falling_j·F_j| for independent standard exponentials; (n, p) and (n, q), not
    negative; up to the rounding of float64, relatively.

    Definition: of a·E and b·F one outlasts the other, by a·E with chance a/(a + b) and by b·F otherwise, since what is
    left of an exponential is one. So with one term less f(A, B) = (a·f(A, B∖b) + b·f(A∖a, B))/(a + b), and where one
    side is empty f is the sum of the other. Nothing is subtracted.
    """
    rises, falls = np.cumsum(rising, axis=1), np.cumsum(falling, axis=1)
    nothing = np.zeros((len(rising), 1))
    found = np.hstack([nothing, falls])  # f of no rising terms, and the first j that fall
    for place in range(rising.shape[1]):
        a, before = rising[:, place], found
        found = np.empty_like(before)
        found[:, 0] = rises[:, place]
        for other in range(falling.shape[1]):
            b = falling[:, other]
            both = a + b
            share = np.divide(a, both, out=np.ones_like(both), where=both > 0)
            found[:, other + 1] = share * found[:, other] + (1 - share) * before[:, other + 1]
    return found[:, -1]


def mean_sizes_of_laplace(scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,): E|Σ_j Y_j| for independent Laplace numbers of these ``scales`` (n, m): each is the difference of two
    exponentials."""
    return mean_sizes(scales, scales)
