"""What the candidates of one plan are built from; what several need is made once, when the first one asks.

What each candidate costs: multiplications, from public sizes alone, known before anything of it is built.

Searches stop by themselves when they have spent their own work; stated is what they take at the least, which grows with
the workload. One allowance decides for all of them: :data:`dxgeom.numeric.work.ALLOWED`, or ``dx.Search(work=…)``. What
was built tells its size in words that do not depend on the machine, and the seconds that it took.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge, UnsupportedCombination
from dxgeom.geometry.hulls import LARGEST_DIMENSION, require_few_dimensions
from dxgeom.mechanisms import gaussian, parts  # whose files are loaded when they are asked for
from dxgeom.mechanisms.bounds.root_trace import MatrixBall, root_trace_below
from dxgeom.mechanisms.bounds.workload_bound import MOST_ANSWERS, WeighedWorkload, weighed_workload
from dxgeom.mechanisms.gaussian.mechanism import covariance_work, elimination_work
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import max_min_laplace, optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.table_candidates import (
    MarginalSpace,
    marginal_gaussian,
    marginal_laplace,
    marginal_space,
)
from dxgeom.mechanisms.shapes.hulls import (
    LARGEST_HULL_DIMENSION,
    SensitivityHull,
    block_hulls,
    body_mechanism,
    coarse_hull,
    hull_by_rejection,
    hull_mechanism,
    sensitivity_hull,
)
from dxgeom.mechanisms.shapes.round_spaces import RoundSpace, round_space
from dxgeom.mechanisms.shapes.strategy import QUICK, THOROUGH, Effort, best_strategy, best_sums
from dxgeom.mechanisms.shapes.strategy_program import fewest_steps_work, outgrows_a_search
from dxgeom.metrics.changes import FactoredChanges, ListedChanges
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.noise.triangular import LAID_OUT
from dxgeom.numeric.work import require_affordable
from dxgeom.planner.changed_queries import with_changed_queries
from dxgeom.planner.objectives.objective import Objective, error_weights
from dxgeom.planner.wish import PlanOptions
from dxgeom.privacy.measures import CONCENTRATED, privacy_measure_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.gaussian.boxed_covariance import BoxedCovariance
    from dxgeom.mechanisms.gaussian.mechanism import BestGaussian, GaussianSpace
    from dxgeom.planner.boxes.as_candidates import BoxCandidates, ContrastCandidates, ProductCandidates


@final
@dataclass(frozen=True)
class Sizes:
    """``answers``: that need noise; ``differences``: that noise has to hide, 0 where these are kept in factors;
    ``dimensions``: that the differences have at most."""

    answers: int
    differences: int
    dimensions: int

    @classmethod
    def of(cls, sensitivity: Sensitivity) -> Sizes:
        """Those of a workload."""
        answers, changes = int(np.sum(sensitivity.of_each_query > 0)), sensitivity.changes
        if isinstance(changes, PairedChanges):
            return cls(answers, changes.count, min(answers, len(changes.kinds.columns) - 1))
        count = changes.count if isinstance(changes, ListedChanges) else 0
        return cls(answers, count, min(answers, count) if count else answers)


Work: TypeAlias = Callable[[Sizes], float]
_LOOKS: Final = 40
"""So often a programme for scales looks at all differences, about."""
_LOOKS_OF_A_COVARIANCE: Final = 4
"""Sixteen, each in products of matrices, which count a quarter."""


def _look(sizes: Sizes) -> float:
    return float(sizes.differences) * sizes.answers


def _scales(sizes: Sizes) -> float:
    return _LOOKS * _look(sizes)


def _shape(sizes: Sizes) -> float:
    """The fewest steps, and all differences turned for the proof."""
    turned = (2.0 * sizes.differences + sizes.dimensions) * sizes.dimensions**2
    return fewest_steps_work(sizes.dimensions, sizes.dimensions) + turned


def _sums(sizes: Sizes) -> float:
    """The basis that it begins from, and the fewest steps for about twice as many sums as dimensions."""
    return _shape(sizes) + fewest_steps_work(2 * sizes.dimensions, sizes.dimensions)


def _polytope(most: int) -> Work:
    """Where there are so few dimensions; elsewhere it is refused at once."""
    return lambda sizes: _shape(sizes) if sizes.dimensions <= most else 0.0


def _normal(sizes: Sizes) -> float:
    """The search, which answers need noise of their own, and what each of its looks at all differences takes."""
    looked = _LOOKS_OF_A_COVARIANCE * float(sizes.differences) * sizes.dimensions**2
    return covariance_work(sizes.dimensions) + elimination_work(sizes.answers, sizes.dimensions) + looked


def _parts(sizes: Sizes) -> float:
    """Noise in parts is found from the sizes of attributes, by programs that hold what they lay out against bytes."""
    return float(sizes.answers)


def _totals(sizes: Sizes) -> float:
    """Three Fourier transforms for the error of each answer, where columns have lengths of their own; and where a
    triangular matrix is laid out, two proofs of it."""
    laid_out = 2.0 * sizes.dimensions**3 if sizes.dimensions <= LAID_OUT else 0.0
    return laid_out + 24.0 * sizes.answers * sizes.dimensions * math.log2(2.0 * sizes.dimensions + 2)


WORK_OF: Final[Mapping[str, Work]] = MappingProxyType(
    {
        **dict.fromkeys(("laplace", "changed-queries"), _scales),
        **dict.fromkeys(("box", "ellipsoid", "rotated-laplace", "block-hulls"), _shape),
        **dict.fromkeys(("hull", "hull-by-rejection"), _polytope(LARGEST_HULL_DIMENSION)),
        "coarse-hull": _polytope(LARGEST_DIMENSION),
        "strategy": _sums,
        **dict.fromkeys(("gaussian", "gaussian-with-jumps"), _normal),
        **dict.fromkeys(("marginal-laplace", "marginal-gaussian", "kronecker-gaussian"), _parts),
        **dict.fromkeys(("boxes-laplace", "boxes-gaussian", "product-laplace", "product-gaussian"), _parts),
        "toeplitz-gaussian": _totals,
        **dict.fromkeys(("body", "epsilon-dp"), _look),
        **dict.fromkeys(("laplace-equal-shares", "laplace-one-scale", "laplace-proportional-shares"), _look),
    }
)
"""By name, in multiplications."""


def timed(build: Callable[[], AdditiveMechanism]) -> tuple[AdditiveMechanism, float]:
    """The mechanism and the seconds that building it took; what several candidates share is paid by the first."""
    started = time.perf_counter()
    built = build()
    return built, time.perf_counter() - started


def build_cost(mechanism: AdditiveMechanism) -> str:
    """The size of what is built, which decides how long that takes."""
    changes = mechanism.sensitivity.changes
    found = "differences in factors"
    if isinstance(changes, ListedChanges | PairedChanges):
        found = f"{changes.count:,} differences"
    return "no noise" if mechanism.law is None else mechanism.law.size_in_words(found)


_Thing = TypeVar("_Thing")

_TOTAL = Objective("mse")
_TOGETHER = 1_600
"""Answers that have one bound, where they are too many for that."""
_MOMENT = 1e9
"""Multiplications that a bound may take unasked beside a quick search."""
_DEFAULT = PlanOptions()
_MOST_IN_BLOCKS = 24
"""Beyond, hulls of blocks gain about a hundredth over rotated Laplace noise, and take longest of all: not dear, but of
no use."""

BUILD_ERRORS = (TooLarge, NotANormBall, CertificateRefused)
"""A mechanism that cannot be built this time; any other error is a mistake of ours or of the caller."""


@final
@dataclass(frozen=True, eq=False)
class CandidateBuilder:
    """One workload under one metric, towards one objective, and what mechanisms for it have in common.

    Every property and method raises TooLarge, NotANormBall or CertificateRefused when that cannot be built.
    """

    sensitivity: Sensitivity
    objective: Objective = _TOTAL
    options: PlanOptions = _DEFAULT

    @cached_property
    def factors(self) -> NDArray[np.float64] | None:
        """(K,): what squared errors are multiplied with where noise is sought; None for all alike."""
        size, stated = self.objective.size, self.objective.factors
        return stated if size is None else size.squared_weights(self.sensitivity, stated)

    @property
    def _error_weights(self) -> NDArray[np.float64]:
        return error_weights(self.sensitivity, self.factors, self._effort, worst=self.objective.name == "max")

    def lower_bound(self) -> float:
        """The largest known lower bound of the objective; under concentrated privacy that of Gaussian noise."""
        if self.objective.size is not None:
            return self.objective.lower_bound(self.sensitivity, None, None)
        if self.sensitivity.metric.privacy == CONCENTRATED:
            found = self._bound_by_category() or self._gaussian_bound() or self._boxed_bound()
            found = found or self._bound_in_products()
            return found or max(self._bound_in_boxes(), self._bound_by_weights())
        tables = _if_made(self._marginal_space)
        found = self.objective.lower_bound(self.sensitivity, _if_made(self._hull), _if_made(self._space))
        least = privacy_measure_of(self.sensitivity.metric.privacy).least_mean_square
        known = 0.0 if tables is None else max(_cautiously(tables.bound * least), tables.volume_bound)
        weighed = self._bound_by_weights() * least if isinstance(self._space, Exception) and not tables else 0.0
        return max(found, known, weighed, 0.0 if self.asks_tables else self._bound_in_boxes())

    @property
    def bound_takes_long(self) -> bool:
        """Whether only weights of pairs tell a bound, and their proof is more than a moment's work."""
        if isinstance(self._space, Exception) and not self.asks_tables:
            return sum(workload.work for workload in self._weighed_workloads) > _MOMENT
        return False

    @cached_property
    def _weighed_workloads(self) -> tuple[WeighedWorkload, ...]:
        """All answers together, or where they are too many some thousand at a time: bounds of these add up."""
        sensitivity, factors = self.sensitivity, self.factors
        roots = sensitivity.queries.float_steps * (1.0 if factors is None else np.sqrt(factors))
        groups = 1 if len(roots) <= MOST_ANSWERS else -(-len(roots) // _TOGETHER)
        found = []
        for places in (np.arange(first, len(roots), groups) for first in range(groups)):
            tables = sensitivity.queries.tables
            tables = tables if groups == 1 else tables.only(places.tolist())
            with suppress(TooLarge):
                found.append(weighed_workload(sensitivity.metric.metric, tables, roots[places]))
        return tuple(one for one in found if one is not None)

    def _bound_by_weights(self) -> float:
        """Of Gaussian noise, by weights of pairs that are products over attributes: where differences are too many."""
        total, each = 0.0, self.options.work / max(1, len(self._weighed_workloads))
        for workload in self._weighed_workloads:
            with suppress(TooLarge):
                total += workload.bound(each)
        return total / len(self.sensitivity.queries.names) if self.objective.name == "max" else total

    def _bound_by_category(self) -> float:
        """Of prefixes in several categories, known without a search for a covariance."""
        return self.in_boxes.bound_by_category if self.asks_boxes else 0.0

    def _bound_in_boxes(self) -> float:
        return self.in_boxes.bound if self.asks_boxes else 0.0

    def _bound_in_products(self) -> float:
        return self._contrasts.bound(quick=self.options.quick) if self.asks_products else 0.0

    def _gaussian_bound(self) -> float:
        try:
            tables = _if_made(self._marginal_space)
            best = tables if tables is not None and self.has_best_covariance else self.best_gaussian
            return _cautiously(best.bound)
        except BUILD_ERRORS:
            return 0.0

    @cached_property
    def laplace(self) -> AdditiveMechanism:
        """Laplace noise with the scales that suit the objective best."""
        return self._scaled(self.sensitivity, self.factors)

    @property
    def has_hull(self) -> bool:
        """Whether the sensitivity hull was built within its limits."""
        return isinstance(self._hull, SensitivityHull)

    @property
    def hull(self) -> AdditiveMechanism:
        """Noise shaped by the sensitivity hull."""
        return hull_mechanism(self.sensitivity, _made(self._hull))

    @property
    def hull_by_rejection(self) -> AdditiveMechanism:
        """The same noise, drawn by rejection."""
        return hull_by_rejection(self.sensitivity, _made(self._hull))

    @property
    def coarse_hull(self) -> AdditiveMechanism:
        """Noise shaped by a polytope around the hull with fewer facets; by the hull itself where it has few."""
        hull, limits, facets = self._hull, self.options.told_hull_limits, self.options.facets
        if isinstance(hull, SensitivityHull) and hull.body.facets <= facets:
            return replace(hull_mechanism(self.sensitivity, hull), name="coarse-hull")
        require_few_dimensions(self.search_space.dimension)  # before a strategy is sought
        return coarse_hull(self.search_space, self.strategy, facets, limits.progress if limits else None)

    @property
    def block_hulls(self) -> AdditiveMechanism:
        """Noise shaped by small hulls side by side."""
        space = self.search_space
        if space.dimension > _MOST_IN_BLOCKS and self.options.mechanism != "block-hulls":
            raise TooLarge(
                f"beyond {_MOST_IN_BLOCKS} dimensions hulls of blocks gain about 1 % over rotated Laplace noise, and "
                "take longest; name 'block-hulls' to have them"
            )
        return block_hulls(space, self.strategy)

    @property
    def gaussian(self) -> AdditiveMechanism:
        """Gaussian noise of the best covariance."""
        if self.has_best_covariance and self.options.mechanism != "gaussian":
            raise TooLarge("for whole tables of counts marginal-gaussian has the same covariance, in closed form")
        in_factors = isinstance(self.sensitivity.changes, FactoredChanges)
        return _made(self._boxed_covariance).mechanism if in_factors else self.best_gaussian.mechanism

    @cached_property
    def _boxed_covariance(self) -> BoxedCovariance | Exception:
        from dxgeom.mechanisms.gaussian.boxed_covariance import boxed_covariance

        own, objective = self.options, self.objective
        if objective.name == "max":
            return TooLarge("a covariance of so many boxes makes totals of errors small, and not the worst")
        if len(self.sensitivity.queries.names) > self.in_boxes.counted.count:
            return TooLarge("a covariance of so many boxes is not sought beside answers that are public")
        return _attempt(
            lambda: boxed_covariance(self.sensitivity, self.in_boxes.counted, self.factors, own.work, quick=own.quick)
        )

    def _boxed_bound(self) -> float:
        """Of noise in counts in boxes whose covariance was sought; 0 where it was not."""
        found = self.__dict__.get("_boxed_covariance")
        if found is None or isinstance(found, Exception):
            return 0.0
        below = root_trace_below(MatrixBall(*found.weighed))
        return _cautiously((below / found.presence) ** 2)

    @property
    def gaussian_with_jumps(self) -> AdditiveMechanism:
        """Normal noise that jumps along the differences, which bounds odds."""
        options = self.options
        return gaussian.gaussian_with_jumps(_made(self._gaussian_space), options.progress, quick=options.quick)

    @property
    def marginal_gaussian(self) -> AdditiveMechanism:
        """Normal noise in what tables of counts have in common, and what each has beyond that."""
        return marginal_gaussian(_made(self._marginal_space))

    @property
    def marginal_laplace(self) -> AdditiveMechanism:
        """Laplace noise in tables of counts and in smaller ones, put together by least squares."""
        return marginal_laplace(_made(self._marginal_space))

    @property
    def kronecker_gaussian(self) -> AdditiveMechanism:
        """Normal noise in the same parts, along bases of attributes whose values are not all equally far apart."""
        return parts.kronecker_gaussian(_made(self._marginal_space))

    @property
    def asks_boxes(self) -> bool:
        """Whether they are boxes, and other shapes may be worse: where these are sought, and neither the hull nor the
        best covariance is to be had at once."""
        if self.sensitivity.metric.held:
            return False
        sought = self.sensitivity.metric.privacy != CONCENTRATED and not self.has_hull
        return (sought or outgrows_a_search(len(self.sensitivity.queries.names))) and self.in_boxes.boxes

    @cached_property
    def in_boxes(self) -> BoxCandidates:
        """The queries as very many boxes; what plans these is loaded where somebody asks."""
        from dxgeom.planner.boxes.as_candidates import BoxCandidates

        return BoxCandidates(self.sensitivity, self.factors, self.objective.name == "max")

    @property
    def toeplitz_gaussian(self) -> AdditiveMechanism:
        """Normal noise in running totals along one attribute, through a Toeplitz matrix."""
        self._require_affordable("toeplitz-gaussian", "noise in running totals")
        return self.in_boxes.built("toeplitz-gaussian")

    @property
    def product_laplace(self) -> AdditiveMechanism:
        """Laplace noise in products of values and sums along attributes, which answers share."""
        return self._products.built(quick=self.options.quick)

    @property
    def product_gaussian(self) -> AdditiveMechanism:
        """Normal noise in products of sums and of differences of values along attributes, which answers share."""
        return self._contrasts.built(quick=self.options.quick)

    @property
    def asks_products(self) -> bool:
        """Whether each query multiplies weights along attributes; for pure privacy, where only presence limits what
        noise may tell."""
        concentrated = self.sensitivity.metric.privacy == CONCENTRATED
        if self.sensitivity.metric.held or not outgrows_a_search(len(self.sensitivity.queries.names)):
            return False
        return self._contrasts.products if concentrated else self._products.products

    @cached_property
    def _contrasts(self) -> ContrastCandidates:
        from dxgeom.planner.boxes.as_candidates import ContrastCandidates

        return ContrastCandidates(self.sensitivity, self.objective)

    @cached_property
    def _products(self) -> ProductCandidates:
        from dxgeom.planner.boxes.as_candidates import ProductCandidates

        return ProductCandidates(self.sensitivity, self.objective)

    @property
    def asks_uneven_tables(self) -> bool:
        """Whether they are, with such attributes among them."""
        return self.asks_tables and parts.has_uneven_attributes(_made(self._marginal_space))

    @property
    def is_interrupted(self) -> bool:
        """Whether the search for a covariance was interrupted, and ended with the best so far."""
        best: BestGaussian | None = self.__dict__.get("best_gaussian")
        return best is not None and best.covariance is not None and best.covariance.interrupted

    @property
    def asks_tables(self) -> bool:
        """Whether the queries are whole tables of counts under constants for attributes, and worth an eye for that."""
        tables = _if_made(self._marginal_space)
        return tables is not None and tables.overlaps

    @property
    def has_best_covariance(self) -> bool:
        """Whether the best covariance is known in closed form."""
        tables = _if_made(self._marginal_space)
        return tables is not None and tables.overlaps and tables.optimal

    @property
    def bound_of_tables(self) -> float:
        """What the trace of no such covariance is below, or of none its worst part."""
        return _made(self._marginal_space).bound

    @cached_property
    def _marginal_space(self) -> MarginalSpace | Exception:
        if self.sensitivity.metric.held:
            return TooLarge("noise in tables is not proved for 'hold': name noise on answers, such as laplace")
        worst = self.objective.name == "max"
        return _attempt(lambda: marginal_space(self.sensitivity, self.factors, worst))

    @cached_property
    def best_gaussian(self) -> BestGaussian:
        """The same with its certificate."""
        options = self.options
        return gaussian.best_gaussian(
            _made(self._gaussian_space), self.sensitivity, options.progress, quick=options.quick
        )

    @cached_property
    def _gaussian_space(self) -> GaussianSpace | Exception | None:
        worst = self.objective.name == "max"
        own = self.options.work
        return _attempt(lambda: gaussian.gaussian_space(self.sensitivity, self.factors, worst, own))

    @property
    def changed_queries(self) -> AdditiveMechanism:
        """Less noise around answers to other queries than were asked, whose bias is known."""
        if self.objective.size is not None:
            raise UnsupportedCombination(
                f"the {self.objective.title} of changed queries is not known: leave the objective or the mechanism out"
            )
        if self.sensitivity.queries.public is not None:
            raise UnsupportedCombination(
                "queries less public numbers are not changed once more: name another mechanism"
            )
        if self.options.records is None:
            raise UnsupportedCombination(
                "changed queries need the public number of records: state 'records' in the queries or to the plan"
            )
        hull = None if isinstance(self._hull, Exception) else self.hull
        return with_changed_queries(
            self.laplace, hull, self.options.records, self.objective, self._scaled, self.options.told_hull_limits
        )

    @property
    def own_body(self) -> AdditiveMechanism:
        """Noise shaped by the body that was given."""
        if self.options.body is None:
            raise UnsupportedCombination(
                "a plan by a body of one's own needs it: dx.plan(..., search=dx.Search(body=...))"
            )
        return body_mechanism(self.sensitivity, self.options.body)

    @property
    def search_space(self) -> RoundSpace:
        """The coordinates in which shapes are looked for."""
        space = _made(self._search_space)
        if space is None:
            raise TooLarge("no answer needs noise, so there is no shape to look for")
        if space.dimension == 1:
            raise TooLarge("in one dimension every shape is the same")
        return space

    @property
    def space(self) -> RoundSpace | None:
        """The coordinates in which the objective itself is plain length; None where no answer needs noise."""
        return _made(self._space)

    @property
    def _effort(self) -> Effort:
        return QUICK if self.options.quick else THOROUGH

    @property
    def strategy(self) -> NDArray[np.float64]:
        """The directions in which independent noise has the least error."""
        return _made(self._strategy)

    @property
    def sums(self) -> NDArray[np.float64]:
        """More sums than dimensions, through which independent noise has little error."""
        return _made(self._sums)

    @property
    def _scaled(self) -> Callable[[Sensitivity, NDArray[np.float64] | None], AdditiveMechanism]:
        return max_min_laplace if self.objective.name == "max" else optimal_laplace

    @cached_property
    def _hull(self) -> SensitivityHull | Exception | None:
        return _attempt(lambda: sensitivity_hull(self.sensitivity, self.options.told_hull_limits))

    @cached_property
    def _space(self) -> RoundSpace | Exception | None:
        return _attempt(lambda: self._in_reach(lambda: round_space(self.sensitivity, self.factors)))

    @cached_property
    def _search_space(self) -> RoundSpace | Exception | None:
        """As ``_space``, with some attention for every query."""
        return _attempt(lambda: self._in_reach(lambda: round_space(self.sensitivity, self._error_weights)))

    def _in_reach(self, space: Callable[[], RoundSpace | None]) -> RoundSpace | None:
        """Raises: TooLarge where no shape can be sought in it for the work that is allowed."""
        self._require_affordable("rotated-laplace", "a search for a shape")
        return space()

    def _require_affordable(self, name: str, what: str) -> None:
        sizes = Sizes.of(self.sensitivity)
        own = f"{what} for {sizes.answers:,} answers in up to {sizes.dimensions:,} dimensions"
        require_affordable(own, WORK_OF[name](sizes), self.options.work)

    @cached_property
    def _sums(self) -> NDArray[np.float64] | Exception:
        def sought() -> NDArray[np.float64]:
            self._require_affordable("strategy", "a search for sums")
            return best_sums(self.search_space, self.strategy)

        return _attempt(sought)

    @cached_property
    def _strategy(self) -> NDArray[np.float64] | Exception:
        return _attempt(lambda: best_strategy(self.search_space, self._effort))


def _cautiously(bound: float) -> float:
    """A bound of float64, rounded down."""
    from dxgeom.mechanisms.gaussian.mechanism import CAUTION

    return bound * CAUTION


def _attempt(make: Callable[[], _Thing]) -> _Thing | Exception:
    try:
        return make()
    except BUILD_ERRORS as error:
        return error


def _if_made(thing: _Thing | Exception) -> _Thing | None:
    return None if isinstance(thing, Exception) else thing


def _made(thing: _Thing | Exception) -> _Thing:
    if isinstance(thing, Exception):
        raise thing
    return thing
