"""Noise for very many boxes, and in products, beside the other candidates for linear queries, unasked."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.distance_bounds import AnyChange, any_change, joint_distance_bounds_of
from dxgeom.mechanisms.linear.lengths_in_boxes import boxes_left
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.box_bound import boxes_bound, worst_alone
from dxgeom.mechanisms.parts.box_bound_at_once import UPWARD, bound_at_once, of_prefixes_by_category
from dxgeom.mechanisms.parts.box_candidates import in_answers
from dxgeom.mechanisms.parts.box_scales import line_gaps
from dxgeom.mechanisms.parts.contrast_answers import in_contrasts
from dxgeom.mechanisms.parts.contrast_search import QUICK_WORK, THOROUGH_WORK, ContrastSearch, Look
from dxgeom.mechanisms.parts.joint_totals import round_bound
from dxgeom.mechanisms.parts.products import ProductQueries, in_products, product_queries, require_laid_out
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ, WeightsAround, totals_in_answers
from dxgeom.planner.boxes.choosing import measured_flat, sought, sought_totals
from dxgeom.planner.objectives.objective import Objective
from dxgeom.privacy.measures import CONCENTRATED, PURE
from dxgeom.universe.workloads.box_queries import BoxQueries


@final
@dataclass(frozen=True, eq=False)
class BoxCandidates:
    """Linear queries as boxes, where all are such. ``factors`` (K,): what squared errors count, None
    for all alike; ``worst``: whether the worst of them is to be small."""

    sensitivity: Sensitivity
    factors: NDArray[np.float64] | None = field(repr=False)
    worst: bool

    @property
    def boxes(self) -> bool:
        """Whether there are any, under a metric for whose attributes noise in boxes is known."""
        return self._boxes is not None or self._around is not None

    @cached_property
    def _around(self) -> WeightsAround | None:
        """Weights of values that go round, where these are no boxes but perhaps ranges over the end of the round."""
        try:
            return None if self.worst or self._boxes is not None else WeightsAround.of(self.sensitivity)
        except TooLarge:
            return None

    @cached_property
    def _boxes(self) -> BoxQueries | None:
        try:
            found, left = boxes_left(self.sensitivity)
            line_gaps(self.sensitivity.metric, found)
        except TooLarge:
            return None
        if self.factors is None:
            return found
        return replace(found, importance=tuple(map(Fraction, self.factors[left].tolist())))

    @property
    def left(self) -> NDArray[np.int64]:
        """The places of the boxes among the answers; the others follow from public numbers. Raises: TooLarge."""
        return boxes_left(self.sensitivity)[1]

    @property
    def counted(self) -> BoxQueries:
        """The boxes. Raises: TooLarge where there are none."""
        if self._boxes is None:
            raise TooLarge("these queries are not all counts in boxes")
        return self._boxes

    def built(self, kind: str) -> AdditiveMechanism:
        """The noise of that kind. Raises: TooLarge, CertificateRefused."""
        if kind == TOEPLITZ and self._around is not None:
            return self._around.built(self.sensitivity, self._costs_around)
        if kind == TOEPLITZ:
            made = sought_totals(self.sensitivity.metric, self.counted, self.worst)
            return totals_in_answers(made, self.sensitivity, self.left)
        made_of_boxes, _ = sought(self.sensitivity.metric, self.counted, kind, self.worst)
        return in_answers(made_of_boxes, self.sensitivity, self.left)

    @cached_property
    def beginning(self) -> NDArray[np.float64]:
        """(K,): the mean squared errors of the noise that a search begins from: each attribute as it is, or along its
        line. Raises: TooLarge, CertificateRefused."""
        found = np.zeros(len(self.sensitivity.queries.names))
        found[self.left] = measured_flat(self.sensitivity.metric, self.counted, self.worst).variances
        return found

    @cached_property
    def bound_at_once(self) -> float:
        """What normal noise has no smaller objective than, found in a moment; 0 where none is known."""
        if self._boxes is None:
            return self.bound
        costs = self._costs(self._boxes)
        if self.worst:
            costs = costs / self._boxes.count
        return bound_at_once(self.sensitivity.metric, self._boxes, costs)

    @cached_property
    def bound_by_category(self) -> float:
        """The same of prefixes along one attribute for every value of others; 0 of any other boxes."""
        if self._boxes is None or self.worst:
            return 0.0
        boxes = self._boxes.merged
        return of_prefixes_by_category(self.sensitivity.metric, boxes, self._costs(boxes)) / UPWARD

    @cached_property
    def bound(self) -> float:
        """What no additive noise that stretches to every spend has a smaller objective than; 0 where none is known. For
        pure privacy up to a chance of 10⁻⁹ in the directions that it draws."""
        try:
            if self._around is not None:
                steps = self._around.steps
                farther = replace(steps, apart=steps.apart * UPWARD)
                return round_bound(farther, self._around.gram(self._costs_around)) / UPWARD**2
            if self._boxes is None:
                return 0.0
            boxes, metric = self._boxes, self.sensitivity.metric
            costs = self._costs(boxes)
            if self.worst:
                return max(worst_alone(metric, boxes, costs), boxes_bound(metric, boxes, costs / boxes.count))
            return boxes_bound(metric, boxes, costs)
        except (TooLarge, CertificateRefused, NotANormBall):
            return 0.0

    @property
    def _costs_around(self) -> NDArray[np.float64]:
        return self.sensitivity.queries.float_steps**2 * (1.0 if self.factors is None else self.factors)

    def _costs(self, boxes: BoxQueries) -> NDArray[np.float64]:
        return np.ones(boxes.count) if self.factors is None else self.factors[self.left]


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
        require_laid_out(queries)
        costs = _costs(self.sensitivity, self.objective, queries)
        products, product_of = sought_products(queries, costs, presence, QUICK if quick else THOROUGH)
        return in_products(self.sensitivity, queries, products, product_of.tolist())


@final
@dataclass(frozen=True, eq=False)
class ContrastCandidates:
    """The same with normal noise, of sums and of differences of values."""

    sensitivity: Sensitivity
    objective: Objective = field(repr=False)

    @property
    def products(self) -> bool:
        """Whether they are, of two attributes or more, and such noise may be the best for them."""
        with suppress(TooLarge):
            # Values that are alike are not sought for one attribute: that takes long.
            return len(self._asked[0].classes) > 1 and not isinstance(self._search, TooLarge)
        return False

    @cached_property
    def _asked(self) -> tuple[ProductQueries, AnyChange]:
        metric, universe = self.sensitivity.metric, self.sensitivity.universe
        if metric.privacy != CONCENTRATED or self.objective.name == "max":
            raise TooLarge("normal noise in products makes totals of errors small, for concentrated privacy")
        queries = product_queries(self.sensitivity)
        change = any_change(metric.metric, () if universe is None else universe.shape, queries.classes)
        if change.presence is None and change.least is None:
            raise TooLarge("no record moves these counts at a finite distance, so they need no noise")
        return queries, change

    @cached_property
    def _search(self) -> ContrastSearch | TooLarge:
        try:
            queries, change = self._asked
            return ContrastSearch(queries, _costs(self.sensitivity, self.objective, queries), change)
        except TooLarge as error:
            return error

    @cached_property
    def _looks(self) -> dict[bool, Look]:
        return {}

    def _found(self, quick: bool) -> tuple[ContrastSearch, Look]:
        if isinstance(self._search, TooLarge):
            raise self._search
        if quick not in self._looks:
            self._looks[quick] = self._search.found(QUICK_WORK if quick else THOROUGH_WORK)
        return self._search, self._looks[quick]

    def built(self, *, quick: bool) -> AdditiveMechanism:
        """The noise. Raises: TooLarge, CertificateRefused."""
        search, look = self._found(quick)
        return in_contrasts(self.sensitivity, self._asked[0], search.parts(look))

    def bound(self, *, quick: bool) -> float:
        """What no normal noise errs less than in all. Raises: TooLarge."""
        search, look = self._found(quick)
        return search.bound(look)


def _costs(sensitivity: Sensitivity, objective: Objective, queries: ProductQueries) -> NDArray[np.float64]:
    """(K,): what the square of each answer's error over its unit counts."""
    factors = 1.0 if objective.factors is None else objective.factors
    return np.asarray((sensitivity.queries.float_steps * queries.units) ** 2 * factors)
