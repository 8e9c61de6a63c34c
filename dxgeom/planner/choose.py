"""Which mechanism: build every candidate, compare their exact errors, keep the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

from dxgeom.arguments import require
from dxgeom.errors import TooLarge, UnsupportedCombination, WrongArgument
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.shapes.hulls import FACETS, coordinate_bounds, require_norm_ball
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.candidate_builder import FEW_BOXES, CandidateBuilder
from dxgeom.planner.candidates import require_known
from dxgeom.planner.changed_queries import public_records
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.comparing.considered import considered, error_alone
from dxgeom.planner.objectives.objective import ObjectiveName, objective_of
from dxgeom.planner.options import AUTO, BOX_NOISE, NAMED_FAMILIES, PlanOptions, Progress
from dxgeom.planner.plan import Plan
from dxgeom.universe.quantile_queries import QuantileQueries
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.tasks import Tasks
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.spans import boxes_of
from dxgeom.universe.workloads.whole_tables import MarginalQueries

if TYPE_CHECKING:
    from dxgeom.geometry.body import ConvexBody
    from dxgeom.numeric.qhull import HullLimits
    from dxgeom.planner.boxes.box_plan import BoxPlan
    from dxgeom.planner.marginals.marginal_plan import MarginalPlan
    from dxgeom.planner.quantile_plan import QuantilePlan
    from dxgeom.planner.releases.plans import ChosenPlan
    from dxgeom.planner.tasks.families import FamilyPlan
    from dxgeom.planner.tasks.task_plan import TaskPlan


@overload
def plan(  # type: ignore[overload-overlap]  # a variable's mechanism is taken to be one of noise
    metric: VerifiedMetric,
    queries: LinearQueries,
    *,
    mechanism: Literal["families", "mwem", "small-database"],
    objective: ObjectiveName = "balanced",
    records: int | None = None,
    hull_limits: HullLimits | None = None,
    coarse_facets: int = FACETS,
    progress: Progress | None = None,
    spend: Amount = 1,
    quick: bool = False,
) -> FamilyPlan: ...
@overload
def plan(
    metric: VerifiedMetric,
    queries: LinearQueries,
    *,
    objective: ObjectiveName = "balanced",
    importance: Sequence[Amount] | None = None,
    errors: Sequence[Amount] | Mapping[str, Amount] | None = None,
    mechanism: str = AUTO,
    records: int | None = None,
    published: bool = False,
    hull_limits: HullLimits | None = None,
    coarse_facets: int = FACETS,
    progress: Progress | None = None,
    body: ConvexBody | None = None,
    spend: Amount = 1,
    quick: bool = False,
) -> Plan: ...
@overload
def plan(
    metric: VerifiedMetric,
    queries: MarginalQueries,
    *,
    objective: ObjectiveName = "balanced",
    importance: Sequence[Amount] | None = None,
    errors: Sequence[Amount] | Mapping[str, Amount] | None = None,
    mechanism: str = AUTO,
) -> MarginalPlan: ...
@overload
def plan(
    metric: VerifiedMetric,
    queries: BoxQueries,
    *,
    objective: ObjectiveName = "balanced",
    importance: Sequence[Amount] | None = None,
    errors: Sequence[Amount] | Mapping[str, Amount] | None = None,
    mechanism: str = AUTO,
) -> BoxPlan: ...
@overload
def plan(
    metric: VerifiedMetric,
    queries: QuantileQueries,
    *,
    mechanism: str = AUTO,
    records: int | None = None,
    spend: Amount = 1,
) -> QuantilePlan: ...
@overload
def plan(
    metric: VerifiedMetric,
    queries: Tasks,
    *,
    objective: ObjectiveName = "balanced",
    mechanism: str = AUTO,
    records: int | None = None,
    hull_limits: HullLimits | None = None,
    coarse_facets: int = FACETS,
    progress: Progress | None = None,
    spend: Amount = 1,
    quick: bool = False,
) -> TaskPlan: ...
def plan(
    metric: VerifiedMetric,
    queries: LinearQueries | QuantileQueries | MarginalQueries | BoxQueries | Tasks,
    *,
    objective: ObjectiveName = "balanced",
    importance: Sequence[Amount] | None = None,
    errors: Sequence[Amount] | Mapping[str, Amount] | None = None,
    mechanism: str = AUTO,
    records: int | None = None,
    published: bool = False,
    hull_limits: HullLimits | None = None,
    coarse_facets: int = FACETS,
    progress: Progress | None = None,
    body: ConvexBody | None = None,
    spend: Amount = 1,
    quick: bool = False,
) -> ChosenPlan:
    """Choose how to answer a workload, or several tasks, under a metric; quantiles by transport cost or with noise,
    whichever errs less, where all that may be said is ``records``, ``spend`` and ``mechanism``; whole tables of counts,
    as ``MarginalQueries`` have them, in closed form, and very many boxes, as ``BoxQueries`` have them, along trees and
    lines of their attributes, where ``objective``, ``importance``, ``errors`` and ``mechanism`` may be said, by table
    or box; tasks, each by itself, where the options of noise are about those that ask counts and sums.

    Args: ``objective``: "mse" minimises the total mean squared error over the queries ("rmse", its root, is smallest at
    the same plan), "max" that of the worst answer. "balanced" takes the total of each unit (all counts together, every
    summed column by itself, or what the queries state) relative to what it would be if only that unit were asked for,
    and adds these up; with one unit it is "mse". ``importance`` (K,): how many times each answer's squared error
    counts; left out, what the queries state. ``errors``: the root mean squared errors that answers may have, (K,) or by
    name, the others any; left out, a balanced plan takes those that the queries state. The plan then needs the least
    spend for them, see :attr:`Plan.least_spend`. ``mechanism``: "auto" builds every candidate
    and takes the one with the smallest exact error; naming one builds that one and nothing else: the others, and the
    lower bound, are found when they are asked for, by ``plan.candidates`` and ``plan.lower_bound``. Units are then
    balanced against what that mechanism would do for each alone. "mwem" and "small-database" answer by synthetic
    records in place of noise; "families" takes noise or a small database, whichever has the smaller bound that is
    proved at 95 % for all answers at once, at ``spend``. ``published``: also build the literature's ways to scale
    Laplace noise, to be compared with; they are never chosen unless named, the optimal scales are no worse.
    ``records``: their public number, where the queries do not state it; given it, a plan also considers answering
    changed queries, with a known bias and less noise, and does so
    when that makes the worst loss at spend 1 smaller by more than 1 %. ``hull_limits``: when to give the exact hull up.
    ``coarse_facets``: how many facets the coarsened hull may have; more make its error smaller and its set-up longer.
    ``progress``: told in words what is being built; it may raise to end the work, and nothing is lost. ``body``: a norm
    ball of one's own, in answer units with a coordinate for each query, in their order; the candidate ``body`` is its
    noise, the body made as large or as small as the metric needs. ``spend``: what a release will use up; the forms of
    quantiles, and families, are compared at it, all other choices are the same at any. ``quick``: look only at what is
    found at once; the table says what was left out, and the lower bound is searched for when it is asked.

    Whoever interrupts a plan of counts and sums (control-C) gets the best of what was finished by then, marked by
    ``plan.interrupted``, which is released after ``plan.as_it_is()``; KeyboardInterrupt where nothing was finished.
    Guarantee: reads no data; deterministic unless a hull runs into its time limit; the chosen mechanism honours the
    metric (see its own docstring), and its predicted error is exact up to the rounding of float64.
    Raises: UnsupportedCombination for an unknown objective or mechanism, a body that is none, when metric and queries
    are not about the same records, or when their number is stated and the policy keeps it private; NotANormBall for a
    body of another dimension, or one that is flat or not symmetric; UnboundedLoss when no finite noise can honour the
    metric; TooLarge, NotANormBall or CertificateRefused when the mechanism asked for cannot be built.
    """
    _require_in_order(metric, queries)
    require_verified(metric)
    amount = exact_amount(spend, "spend")
    options = PlanOptions(mechanism, records, published, hull_limits, coarse_facets, progress, body, quick)
    if isinstance(queries, QuantileQueries):
        return _of_quantiles(metric, queries, options, amount, linear=(objective != "balanced", importance, errors))
    if mechanism in BOX_NOISE and isinstance(queries, LinearQueries):
        queries = boxes_of(queries)
    if isinstance(queries, BoxQueries | MarginalQueries):
        _require_closed_form(options)
        own: dict[str, Any] = {"mechanism": mechanism, "importance": importance, "errors": errors}
        return _in_closed_form(metric, queries, objective=objective, **own)
    if isinstance(queries, Tasks):
        from dxgeom.planner.tasks.with_options import tasks_with

        return tasks_with(plan, metric, queries, options, objective, amount, said=(importance, errors))
    require(queries, LinearQueries, "queries", "load them with dx.load_queries, or use dx.LinearQueries.from_matrix")
    require_known(mechanism)
    if mechanism in NAMED_FAMILIES:
        if queries.universe is not None:
            queries.universe.require_indexable("synthetic records")
        from dxgeom.planner.tasks.with_options import family_with

        return family_with(plan, metric, queries, options, objective, amount, said=(importance, errors))
    return _by_cost(metric, queries, options, objective, importance, errors)


def _by_cost(
    metric: VerifiedMetric,
    queries: LinearQueries,
    options: PlanOptions,
    objective: ObjectiveName,
    importance: Sequence[Amount] | None,
    errors: Sequence[Amount] | Mapping[str, Amount] | None,
) -> Plan | BoxPlan:
    """Noise in the answers; or in boxes that they share, where weights are too many for that, and these are boxes."""
    found: Plan | TooLarge
    try:
        found = _of_answers(metric, queries, options, objective, importance, errors)
    except TooLarge as refused:
        found = refused
    if options.mechanism == AUTO and queries.count > FEW_BOXES:
        from dxgeom.planner.boxes.choosing import in_boxes_instead

        instead = in_boxes_instead(metric, queries, options, objective, importance, errors, found)
        if instead is not None:
            return instead
    if isinstance(found, TooLarge):
        raise found
    return found


def _of_answers(
    metric: VerifiedMetric,
    queries: LinearQueries,
    options: PlanOptions,
    objective: ObjectiveName,
    importance: Sequence[Amount] | None,
    errors: Sequence[Amount] | Mapping[str, Amount] | None,
) -> Plan:
    if options.body is not None:
        require_norm_ball(options.body, queries.count)
    sensitivity, number = sensitivity_of(metric, queries), public_records(metric, queries, options.records)
    wanted = objective_of(
        objective,
        queries,
        importance,
        errors,
        coordinate_bounds(sensitivity),
        partial(error_alone, sensitivity, queries, options),
    )
    shared = CandidateBuilder(sensitivity, wanted, replace(options, records=number))
    compared = CandidateComparison(shared, considered(shared))
    chosen = compared.mechanism(options.mechanism) if options.mechanism != AUTO else compared.best_so_far()
    return Plan(sensitivity.metric, queries, wanted, chosen, compared, number)


def _in_closed_form(
    metric: VerifiedMetric, queries: BoxQueries | MarginalQueries, **said: Any
) -> BoxPlan | MarginalPlan:
    """Whole tables, or very many boxes; what plans these is loaded for these alone."""
    if isinstance(queries, BoxQueries):
        from dxgeom.planner.boxes.choosing import plan_boxes

        return plan_boxes(metric, queries, **said)
    from dxgeom.planner.marginals.marginal_plan import plan_tables

    return plan_tables(metric, queries, **said)


def _require_closed_form(options: PlanOptions) -> None:
    """Raises: UnsupportedCombination where anything is said that is about other noise."""
    if options != PlanOptions(mechanism=options.mechanism, progress=options.progress, quick=options.quick):
        raise UnsupportedCombination(
            "whole tables and very many boxes are answered in closed form: of a plan's options only objective, "
            "mechanism, and importance or errors, one for each table or box, are about them; leave the others out"
        )


def _require_in_order(metric: object, queries: object) -> None:
    """Raises: WrongArgument for queries and a metric in each other's place."""
    asked = (LinearQueries, QuantileQueries, MarginalQueries, BoxQueries, Tasks)
    if isinstance(metric, asked) and isinstance(queries, VerifiedMetric):
        raise WrongArgument(
            "the metric comes first: 'metric' and 'queries' are swapped, write dx.plan(metric, queries)"
        )


def _of_quantiles(
    metric: VerifiedMetric, queries: QuantileQueries, options: PlanOptions, spend: Fraction, linear: tuple[object, ...]
) -> QuantilePlan:
    """Raises: UnsupportedCombination where anything is said that is about noise on linear answers."""
    own = PlanOptions(
        mechanism=options.mechanism, records=options.records, progress=options.progress, quick=options.quick
    )
    if options != own or any(one for one in linear):
        raise UnsupportedCombination(
            "quantiles are drawn among values, or get noise of one kind: objective, importance, errors and the options "
            "of hulls are about counts and sums; leave them out"
        )
    from dxgeom.planner.quantile_plan import plan_quantiles

    return plan_quantiles(metric, queries, records=options.records, spend=spend, mechanism=options.mechanism)
