"""Laplace noise in products beside the other candidates for linear queries, without being asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.distance_bounds import joint_distance_bounds_of
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.products import ProductQueries, in_products, product_queries
from dxgeom.planner.objectives.objective import Objective
from dxgeom.privacy.measures import PURE


@final
@dataclass(frozen=True, eq=False)
class ProductCandidates:
    """Linear queries as products of weights along attributes, where all are such."""

    sensitivity: Sensitivity
    objective: Objective = field(repr=False)

    @property
    def products(self) -> bool:
        """Whether they are, of two attributes or more, and noise in products may be the best for them."""
        found = self._found
        return not isinstance(found, TooLarge) and len(found[0].classes) > 1

    @cached_property
    def _found(self) -> tuple[ProductQueries, Fraction] | TooLarge:
        metric, universe = self.sensitivity.metric, self.sensitivity.universe
        try:
            if metric.privacy != PURE or self.objective.name == "max":
                raise TooLarge("noise in products makes totals of errors small, for pure privacy")
            queries = product_queries(self.sensitivity)
            shape = () if universe is None else universe.shape
            bounds = joint_distance_bounds_of(metric.metric, shape, queries.classes)
        except TooLarge as error:
            return error
        if bounds.presence is None or any(one is not None for one in bounds.least):
            return TooLarge("noise in products is for records that come and go, and no nearer changes")
        return queries, bounds.presence

    def built(self, *, quick: bool) -> AdditiveMechanism:
        """The noise. Raises: TooLarge, CertificateRefused."""
        from dxgeom.mechanisms.parts.product_search import QUICK, THOROUGH, sought_products  # SciPy's optimiser

        if isinstance(self._found, TooLarge):
            raise self._found
        queries, presence = self._found
        factors = 1.0 if self.objective.factors is None else self.objective.factors
        costs = (self.sensitivity.queries.float_steps * queries.units) ** 2 * factors
        products, product_of = sought_products(queries, np.asarray(costs), presence, QUICK if quick else THOROUGH)
        return in_products(self.sensitivity, queries, products, product_of.tolist())
