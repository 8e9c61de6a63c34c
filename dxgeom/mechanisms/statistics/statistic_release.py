"""Releasing a polynomial statistic of bounded records with noise shaped by what one record can change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import NoneType
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import require, require_exact
from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge, UnsupportedCombination
from dxgeom.geometry.enclosing import EnclosureLimits, enclosing_polytope
from dxgeom.geometry.round_bodies import Box
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Mechanism, require_spend
from dxgeom.mechanisms.statistics.adjacent_outputs import PolynomialOutputs
from dxgeom.mechanisms.statistics.blocks_of_entries import cylinder_noise
from dxgeom.mechanisms.statistics.bounded_columns import universe_digest
from dxgeom.mechanisms.statistics.polynomial_statistics import PolynomialStatistic
from dxgeom.mechanisms.statistics.sensitivities import MOST_SIGNED_ENTRIES, entry_sensitivities, signed_reach
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import BoxNoise, LaplaceNoise
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import round_up
from dxgeom.numeric.sealed import cached_property, canonical_digest

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

    def draw(self, data: ArrayLike, spend: Fraction, randomness: Randomness) -> tuple[Fraction, ...]:
        """One noisy value per entry, as exact rationals."""
        return self.draws(data, spend, 1, randomness)[0]

    def draws(self, data: ArrayLike, spend: Fraction, count: int, randomness: Randomness) -> list[tuple[Fraction, ...]]:
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
        "cylinders": lambda: _by_cylinders(statistic, limits),
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


def _by_cylinders(statistic: PolynomialStatistic, limits: EnclosureLimits | None) -> StatisticMechanism:
    return StatisticMechanism("statistic, cylinders", statistic, cylinder_noise(statistic, limits))


def _by_box(statistic: PolynomialStatistic) -> StatisticMechanism:
    body = Box(np.array([round_up(width) for width in _widths(statistic)]))
    return StatisticMechanism("statistic, box", statistic, BoxNoise(body))


def _by_laplace(statistic: PolynomialStatistic) -> StatisticMechanism:
    """Σ_k |u_k|/r_k ≤ 1 on S_T with r_k = Δ(T_k)·max over S_T of Σ_j |u_j|/Δ(T_j)."""
    if statistic.dimension > MOST_SIGNED_ENTRIES:
        raise TooLarge(f"Laplace noise has at most {MOST_SIGNED_ENTRIES} entries here, found {statistic.dimension}")
    widths = _widths(statistic)
    spread = signed_reach(PolynomialOutputs(statistic), [1 / width for width in widths]).upper
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
