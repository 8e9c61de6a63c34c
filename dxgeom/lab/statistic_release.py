"""Releasing a polynomial statistic of bounded records with noise shaped by what one record can change.

How far one record can move a statistic: in each entry, in ℓ₁, ℓ₂ and ℓ∞, and into which corners. The entries of a
statistic in blocks of a few, and the noise of the product of the blocks' hulls.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import NoneType
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import require, require_exact
from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge, UnsupportedCombination
from dxgeom.geometry.hulls import EnclosureLimits, enclosing_polytope
from dxgeom.geometry.round_bodies import Box, CartesianProduct
from dxgeom.learning.adjacent_outputs import AdjacentOutputs, Maximum, PolynomialOutputs
from dxgeom.learning.polynomials import PolynomialStatistic, universe_digest
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Mechanism, require_spend
from dxgeom.noise.composed import LinearImageNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rejection import RejectionNoise, box_around
from dxgeom.noise.round_laws import BoxNoise, LaplaceNoise
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import round_up
from dxgeom.numeric.sealed import cached_property, canonical_digest

MOST_SIGNED_ENTRIES = 14
"""ℓ₁ looks at 2^(m − 1) sign vectors."""


class NormSensitivities(NamedTuple):
    """Δ_p(T) = sup over the adjacent output space of ‖u‖_p, in the entries' own units: ``lower ≤ Δ_p ≤ upper``.

    Noise uses the upper ends. ``l2`` holds Δ₂², which is rational where Δ₂ is not.
    """

    l1: Maximum
    l2_squared: Maximum
    linf: Maximum

    @property
    def l2(self) -> tuple[float, float]:
        """Δ₂, rounded outward."""
        low, high = math.sqrt(self.l2_squared.lower), math.sqrt(self.l2_squared.upper)
        return math.nextafter(low * (1 - 2.0**-50), 0.0), math.nextafter(high * (1 + 2.0**-50), math.inf)


class CornerStructure(NamedTuple):
    """How many of the 2ᵐ corners of the box around S_T are in S_T.

    The box has the half-widths Δ(T_k). All corners: *negligible structure*, and the box is the hull. At least one:
    Δ_p = (Σ Δ(T_k)^p)^(1/p), so nothing is lost by adding up entries' own sensitivities.
    Source: Awan & Slavković 2020, Def. 3.2 and Prop. 3.3, there for equal Δ(T_k).
    """

    reached: int
    corners: int

    @property
    def negligible(self) -> bool:
        """Whether every corner is reached."""
        return self.reached == self.corners

    @property
    def norms_add_up(self) -> bool:
        """Whether some corner is reached."""
        return self.reached > 0


def entry_sensitivities(outputs: AdjacentOutputs) -> list[Maximum]:
    """Δ(T_k) of each entry, in its own unit."""
    reaches = outputs.reaches(np.eye(outputs.dimension, dtype=np.int64).astype(object))
    return [_times(reach, step) for reach, step in zip(reaches, outputs.steps, strict=True)]


def norm_sensitivities(outputs: AdjacentOutputs) -> NormSensitivities:
    """Δ₁, Δ₂ and Δ∞ of a statistic.

    Definition: Δ₁ is the largest support function over all sign vectors, Δ∞ that over the axes.
    Guarantee: *rounded outward*; Δ₁ and Δ∞ are exact where support functions are.
    Raises: TooLarge beyond 14 entries, or when Δ₂ has too many Bernstein coefficients.
    """
    single = entry_sensitivities(outputs)
    return NormSensitivities(_signed_reach(outputs, list(outputs.steps)), outputs.longest_square(), _largest(single))


def _signed_reach(outputs: AdjacentOutputs, weights: list[Fraction]) -> Maximum:
    """sup over S_T of Σ_k weights[k]·|u_k|, u in lattice steps, enclosed. Raises: TooLarge beyond 14 entries."""
    directions, denominator = _signed(outputs, weights)
    return _times(_largest(outputs.reaches(directions)), Fraction(1, denominator))


def corner_structure(outputs: AdjacentOutputs) -> CornerStructure:
    """Which corners of its box the adjacent output space reaches, by Σ s_k u_k/Δ(T_k) = m for signs s.

    Guarantee: *exact*. Raises: UnsupportedCombination when support functions are only enclosed; TooLarge beyond 14
    entries.
    """
    single = _exactly(entry_sensitivities(outputs))
    weights = [step / each for step, each in zip(outputs.steps, single, strict=True)]
    directions, denominator = _signed(outputs, weights)
    full = outputs.dimension * denominator
    reached = sum(reach == full for reach in _exactly(outputs.reaches(directions)))
    return CornerStructure(2 * reached, 2 * len(directions))


def _exactly(maxima: list[Maximum]) -> list[Fraction]:
    if any(each.lower != each.upper for each in maxima):
        raise UnsupportedCombination("whether corners are reached is told for exact support functions only")
    return [each.upper for each in maxima]


def _signed(outputs: AdjacentOutputs, weights: list[Fraction]) -> tuple[NDArray[Any], int]:
    """Integer directions (2^(m − 1), m): ±weights over a common denominator, the first sign positive."""
    if outputs.dimension > MOST_SIGNED_ENTRIES:
        raise TooLarge(f"2^m sign vectors are looked at for m ≤ {MOST_SIGNED_ENTRIES}, found m = {outputs.dimension}")
    denominator = math.lcm(*(weight.denominator for weight in weights))
    whole = [int(weight * denominator) for weight in weights]
    choices = itertools.product([1], *[[1, -1]] * (outputs.dimension - 1))
    rows = [[sign * size for sign, size in zip(signs, whole, strict=True)] for signs in choices]
    return np.array(rows, dtype=object), denominator


def _times(maximum: Maximum, factor: Fraction) -> Maximum:
    return Maximum(maximum.lower * factor, maximum.upper * factor)


def _largest(maxima: list[Maximum]) -> Maximum:
    return Maximum(max(each.lower for each in maxima), max(each.upper for each in maxima))


BLOCK: Final = 4
"""Entries of a block: hulls of more take long, and their noise is rarely accepted from a box."""
MOST_ENTRIES_IN_BLOCKS: Final = 12
"""Of three blocks' boxes together one point in a hundred or a thousand is in all hulls."""
_OF_A_BLOCK: Final = EnclosureLimits(tolerance=0.02, facets=600, seconds=5.0)


def cylinder_noise(statistic: PolynomialStatistic, limits: EnclosureLimits | None = None) -> NoiseLaw:
    """K-norm noise of the intersection of cylinders over the hulls of blocks of entries, drawn from their box.

    Definition: every entry is in one block b, and ‖u‖ is the largest of the blocks' ‖u_b‖; the cylinders intersect in
    the product of their bodies.
    Guarantee: S_T is inside: its part in each block is inside the block's hull, by proved support functions.
    Raises: TooLarge beyond 12 entries, or where hardly any draw from the box would be kept.
    Source: Awan & Slavković 2020, §6; corrected: an intersection, not a union.
    """
    size = statistic.dimension
    if size > MOST_ENTRIES_IN_BLOCKS:
        raise TooLarge(f"cylinders of statistics have at most {MOST_ENTRIES_IN_BLOCKS} entries, found {size}")
    blocks = entry_blocks(statistic)
    hulls = [enclosing_polytope(PolynomialOutputs(statistic.part(block)), limits or _OF_A_BLOCK) for block in blocks]
    body = CartesianProduct(tuple(hull.body for hull in hulls))
    places = [place for block in blocks for place in block]
    return LinearImageNoise(RejectionNoise(body, box_around(body)), np.eye(size)[:, places])


def entry_blocks(statistic: PolynomialStatistic) -> list[list[int]]:
    """The entries in blocks of at most four, as even as can be, those of the same columns together, greedily."""
    columns = [{place for powers in entry for place, power in enumerate(powers) if power} for entry in statistic.terms]
    left = list(range(statistic.dimension))
    blocks = []
    for blocks_left in range(math.ceil(len(left) / BLOCK), 0, -1):
        size = math.ceil(len(left) / blocks_left)
        block = [left.pop(0)]
        while len(block) < size:
            together = {
                other: sum(len(columns[other] & columns[one]) / len(columns[other] | columns[one]) for one in block)
                for other in left
            }
            block.append(max(left, key=lambda other: together[other]))
            left.remove(block[-1])
        blocks.append(block)
    return blocks


LARGEST_DIMENSION = 6
"""Facets of curved bodies explode beyond."""
Body: TypeAlias = Literal["auto", "hull", "cylinders", "box", "laplace"]


@final
@dataclass(frozen=True, eq=False)
class StatisticMechanism(Mechanism[ArrayLike, tuple[Fraction, ...]]):
    """T(X) + noise of the norm whose unit ball, in lattice steps, is the body of ``law``.

    ``excess``: how much larger than the hull of the adjacent output space the body is at most, relative; None where
    that is not known (boxes and Laplace noise). ``title``: what the ledger calls the account. The data are a table
    (n, p): one row per record, one column per bounded column, in their order.

    Guarantee: replacing one record of the table by any other changes the odds of any output by at most e^spend. Every
    record is clipped to its columns' boxes and moved to their grids first, so T(X) lies on the lattice exactly, one
    record moves it within S_T, and S_T is inside the body. The noise is the ideal K-norm noise rounded to that lattice,
    which is post-processing. The number of records is public.
    Source: Awan & Slavković 2020, Prop. 2.10, with their Algorithm 8 replaced: see :func:`hull_mechanism` of linear
    queries.
    """

    name: str
    statistic: PolynomialStatistic = field(repr=False)
    law: NoiseLaw = field(repr=False)
    excess: float | None = None
    title: str = "statistics"
    budget: Fraction = Fraction(1)

    @property
    def account(self) -> Account:
        """That of everybody whose records have these columns: any record is hidden by any other."""
        return Account(self.title, universe_digest(self.statistic.columns), self.budget)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.statistic.columns)

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest(
            "statistic", self.account.policy_fingerprint, self.name, self.statistic.digest, self.law
        )

    def covariance(self, epsilon: Fraction = Fraction(1)) -> NDArray[np.float64]:
        """(m, m): second moments of the error in the entries' own units, up to the rounding of float64.

        The ideal noise's moment is exact; rounding to the lattice adds about a twelfth of a squared step.
        """
        steps = np.array([float(step) for step in self.statistic.steps])
        moment = self.law.second_moment / float(epsilon) ** 2 + np.eye(self.law.dimension) / 12
        return np.asarray(moment * np.outer(steps, steps))

    def check(self, data: ArrayLike, spend: Fraction) -> None:
        self._check_spend(spend)
        self.statistic.integer_totals(data)

    def draws(self, data: ArrayLike, spend: Fraction, count: int, randomness: Randomness) -> list[tuple[Fraction, ...]]:
        """One noisy value per entry, as exact rationals."""
        self._check_spend(spend)
        totals, records = self.statistic.integer_totals(data)
        return [
            self.statistic.values([total + z for total, z in zip(totals, noise, strict=True)], records)
            for noise in self.law.draw(count, randomness, 1 / spend).tolist()
        ]

    def _check_spend(self, spend: Fraction) -> None:
        require_spend(spend)
        self.law.check_size(1 / spend)


def statistic_mechanism(
    statistic: PolynomialStatistic,
    body: Body = "auto",
    limits: EnclosureLimits | None = None,
    *,
    title: str = "statistics",
    budget: Fraction = Fraction(1),
) -> StatisticMechanism:
    """The mechanism of one body, or with "auto" the one of least error relative to the entries' own sensitivities.

    ``title``, ``budget``: of the ledger's account, which is that of the columns, their bounds and their steps, whatever
    the title: all statistics of the same people are given the same columns and the same budget.

    *hull*: a polytope around S_T, up to six entries; *cylinders*: the largest of the norms of such hulls of blocks of
    up to four entries, at most 12 in all, which "auto" takes for more than six only; *box*: |u_k| ≤ Δ(T_k); *laplace*:
    independent noise, the scales in proportion to Δ(T_k), up to 14 entries. "auto" leaves out what is too large.
    Raises: TooLarge when the body asked for has too many facets or entries, or the lattice is too fine for 64 bits.
    """
    require(statistic, PolynomialStatistic, "statistic", "make one with moments, regression_statistic and their like")
    require(body, str, "body", "name auto, hull, cylinders, box or laplace")
    require(limits, (EnclosureLimits, NoneType), "limits", "give EnclosureLimits(…), or leave it out")
    require(title, str, "title", "give the name that a ledger is to know the statistics by")
    require_exact(budget, "budget")
    builders: dict[str, Callable[[], StatisticMechanism]] = {
        "hull": lambda: _by_hull(statistic, limits),
        "cylinders": lambda: StatisticMechanism("statistic, cylinders", statistic, cylinder_noise(statistic, limits)),
        "box": lambda: _by_box(statistic),
        "laplace": lambda: _by_laplace(statistic),
    }
    if body != "auto":
        if body not in builders:
            raise UnsupportedCombination(f"a statistic's body is auto, hull, cylinders, box or laplace, found '{body}'")
        return _checked(builders[body](), title, budget)
    built = []
    if statistic.dimension <= LARGEST_DIMENSION:
        del builders["cylinders"]  # their product holds the hull
    for build in builders.values():
        try:
            built.append(build())
        except (TooLarge, NotANormBall, CertificateRefused):  # the box is always left
            continue
    return _checked(min(built, key=_relative_error), title, budget)


def _by_hull(statistic: PolynomialStatistic, limits: EnclosureLimits | None) -> StatisticMechanism:
    if statistic.dimension > LARGEST_DIMENSION:
        raise TooLarge(
            f"hulls of statistics have at most {LARGEST_DIMENSION} entries, found {statistic.dimension}: take 'auto', "
            "or 'cylinders'"
        )
    enclosing = enclosing_polytope(PolynomialOutputs(statistic), limits)
    return StatisticMechanism("statistic, hull", statistic, FacetConeNoise(enclosing.body), enclosing.excess)


def _by_box(statistic: PolynomialStatistic) -> StatisticMechanism:
    body = Box(np.array([round_up(width) for width in _widths(statistic)]))
    return StatisticMechanism("statistic, box", statistic, BoxNoise(body))


def _by_laplace(statistic: PolynomialStatistic) -> StatisticMechanism:
    """Σ_k |u_k|/r_k ≤ 1 on S_T with r_k = Δ(T_k)·max over S_T of Σ_j |u_j|/Δ(T_j)."""
    if statistic.dimension > MOST_SIGNED_ENTRIES:
        raise TooLarge(f"Laplace noise has at most {MOST_SIGNED_ENTRIES} entries here, found {statistic.dimension}")
    widths = _widths(statistic)
    spread = _signed_reach(PolynomialOutputs(statistic), [1 / width for width in widths]).upper
    law = LaplaceNoise(np.array([round_up(width * spread) for width in widths]))
    return StatisticMechanism("statistic, laplace", statistic, law)


def _widths(statistic: PolynomialStatistic) -> list[Fraction]:
    """Δ(T_k) in lattice steps, rounded up where it is not exact."""
    single = entry_sensitivities(PolynomialOutputs(statistic))
    return [each.upper / step for each, step in zip(single, statistic.steps, strict=True)]


def _relative_error(mechanism: StatisticMechanism) -> float:
    widths = np.array([float(width) for width in _widths(mechanism.statistic)])
    return float(np.sum(np.diagonal(mechanism.law.second_moment) / widths**2))


def _checked(mechanism: StatisticMechanism, title: str, budget: Fraction) -> StatisticMechanism:
    try:
        mechanism.law.check_size(Fraction(1))
    except TooLarge as error:
        raise TooLarge(
            "this statistic's lattice is too fine for 64-bit noise: give its columns coarser steps"
        ) from error
    return replace(mechanism, title=title, budget=budget)
