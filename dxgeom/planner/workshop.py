"""Every mechanism that a plan may choose from, built when asked for; what several need is made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import epsilon_dp_laplace, fairest_laplace, optimal_laplace
from dxgeom.mechanisms.linear.laplace_strategies import equal_shares, one_scale, proportional_shares
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.linear.shapes.block_hulls import block_hulls
from dxgeom.mechanisms.linear.shapes.coarse_hull import FACETS, coarse_hull
from dxgeom.mechanisms.linear.shapes.hull import SensitivityHull, hull_mechanism, sensitivity_hull
from dxgeom.mechanisms.linear.shapes.rotated_laplace import best_strategy, rotated_laplace
from dxgeom.mechanisms.linear.shapes.round_shapes import box_mechanism, ellipsoid_mechanism
from dxgeom.mechanisms.linear.shapes.round_space import RoundSpace, round_space
from dxgeom.mechanisms.linear.shapes.strategy import strategy_mechanism
from dxgeom.numeric.qhull import HullLimits
from dxgeom.planner.changing import with_changed_queries
from dxgeom.planner.objective import Objective

Name: TypeAlias = Literal[
    "laplace", "box", "ellipsoid", "rotated-laplace", "hull", "coarse-hull", "block-hulls", "strategy", "epsilon-dp"
]
"""Every mechanism for linear queries; among equally good ones the earlier is taken, because it is simpler."""

Biased: TypeAlias = Literal["changed-queries"]
"""What answers other queries than were asked: built where the number of records is public, or when asked for."""

Published: TypeAlias = Literal["laplace-equal-shares", "laplace-one-scale", "laplace-proportional-shares"]
"""The literature's ways to scale Laplace noise: built when asked for, chosen when named, the optimum is no worse."""

_Thing = TypeVar("_Thing")

_TOTAL = Objective("mse")
_ATTENTION = 1e-3
_SHIFTS = 5
_LEAST_SHIFT = 1e-2

BUILD_ERRORS = (TooLarge, NotANormBall, CertificateRefused)
"""A mechanism that cannot be built this time; any other error is a mistake of ours or of the caller."""


@final
@dataclass(frozen=True, eq=False)
class Workshop:
    """Builds mechanisms for one workload under one metric, towards one objective."""

    sensitivity: Sensitivity
    aim: Objective = _TOTAL
    hull_limits: HullLimits | None = field(default=None, repr=False)
    coarse_facets: int = FACETS
    records: int | None = None

    def build(self, name: Name | Biased | Published) -> AdditiveMechanism:
        """The mechanism of that name.

        Raises: TooLarge, NotANormBall or CertificateRefused when it cannot be built.
        """
        return self._builders[name]()

    def lower_bound(self) -> float:
        """The largest known lower bound of the objective."""
        hull = None if isinstance(self._hull, Exception) else self._hull
        space = None if isinstance(self._space, Exception) else self._space
        return self.aim.lower_bound(self.sensitivity, hull, space)

    @cached_property
    def _builders(self) -> dict[Name | Biased | Published, Callable[[], AdditiveMechanism]]:
        return {
            "laplace": lambda: self._laplace(self.sensitivity, self.aim.factors),
            "hull": lambda: hull_mechanism(self.sensitivity, _made(self._hull)),
            "coarse-hull": self._coarse_hull,
            "rotated-laplace": lambda: rotated_laplace(self._room, _made(self._strategy)),
            "block-hulls": lambda: block_hulls(self._room, _made(self._strategy)),
            "strategy": lambda: strategy_mechanism(self._room, _made(self._strategy)),
            "ellipsoid": lambda: ellipsoid_mechanism(self._room),
            "box": lambda: box_mechanism(self._room),
            "epsilon-dp": lambda: epsilon_dp_laplace(self.sensitivity),
            "changed-queries": self._changed_queries,
            "laplace-equal-shares": lambda: equal_shares(self.sensitivity),
            "laplace-one-scale": lambda: one_scale(self.sensitivity),
            "laplace-proportional-shares": lambda: proportional_shares(self.sensitivity),
        }

    def _changed_queries(self) -> AdditiveMechanism:
        if self.records is None:
            raise UnsupportedCombination(
                "changed queries need the public number of records: state 'records' in the queries or to the plan"
            )
        hull = None if isinstance(self._hull, Exception) else hull_mechanism(self.sensitivity, self._hull)
        unbiased = self._laplace(self.sensitivity, self.aim.factors)
        return with_changed_queries(unbiased, hull, self.records, self.aim, self._laplace, self.hull_limits)

    @property
    def _laplace(self) -> Callable[[Sensitivity, NDArray[np.float64] | None], AdditiveMechanism]:
        return optimal_laplace if self.aim.name == "mse" else fairest_laplace

    def _coarse_hull(self) -> AdditiveMechanism:
        hull = self._hull
        if isinstance(hull, SensitivityHull) and hull.body.facets <= self.coarse_facets:
            return replace(hull_mechanism(self.sensitivity, hull), name="coarse-hull")
        progress = self.hull_limits.progress if self.hull_limits else None
        return coarse_hull(self._room, _made(self._strategy), self.coarse_facets, progress)

    @property
    def _room(self) -> RoundSpace:
        space = _made(self._search_space)
        if space is None:
            raise TooLarge("no answer needs noise, so there is no shape to look for")
        if space.dimension == 1:
            raise TooLarge("in one dimension every shape is the same")
        return space

    @cached_property
    def _hull(self) -> SensitivityHull | Exception | None:
        return _attempt(lambda: sensitivity_hull(self.sensitivity, self.hull_limits))

    @cached_property
    def _space(self) -> RoundSpace | Exception | None:
        return _attempt(lambda: round_space(self.sensitivity, self.aim.factors))

    @cached_property
    def _search_space(self) -> RoundSpace | Exception | None:
        """As ``_space``, with a thousandth of the attention for every query's error next to its own sensitivity.

        A query in tiny units counts nothing in the total; without this its noise would be whatever suits the others.
        Where the worst answer counts, the answers' attention is shifted to those that come out worst.
        """
        return _attempt(lambda: round_space(self.sensitivity, self._attention))

    @cached_property
    def _attention(self) -> NDArray[np.float64]:
        factors = np.ones(len(self.sensitivity.queries.names)) if self.aim.factors is None else self.aim.factors
        own = factors * (self.sensitivity.of_each_query * self.sensitivity.queries.float_steps) ** 2
        attention = np.asarray(factors * (1 + _ATTENTION * own.mean() / np.where(own > 0, own, 1)))
        return attention if self.aim.name == "mse" else self._attention_to_the_worst(attention, factors)

    def _attention_to_the_worst(
        self, attention: NDArray[np.float64], factors: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Multiplicative steps towards the weights at which all weighted errors are alike; the best of them."""
        best, least = attention, np.inf
        for _ in range(_SHIFTS):
            space = round_space(self.sensitivity, attention)
            if space is None or space.dimension == 1:
                break
            errors = factors * rotated_laplace(space, best_strategy(space)).variances()
            if errors.max() < least:
                best, least = attention, float(errors.max())
            attention = attention * np.maximum(errors / errors.max(), _LEAST_SHIFT)
        return best

    @cached_property
    def _strategy(self) -> NDArray[np.float64] | Exception:
        return _attempt(lambda: best_strategy(self._room))


def _attempt(make: Callable[[], _Thing]) -> _Thing | Exception:
    try:
        return make()
    except BUILD_ERRORS as error:
        return error


def _made(thing: _Thing | Exception) -> _Thing:
    if isinstance(thing, Exception):
        raise thing
    return thing
