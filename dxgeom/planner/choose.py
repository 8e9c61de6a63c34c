"""Which mechanism: build every candidate, compare their exact errors, keep the best.

A plan of noise on a list of queries, of a mechanism that is at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

from dxgeom.errors import TooLarge, UnboundedLoss, UnsupportedCombination, WrongArgument
from dxgeom.geometry.halfspaces import body_of_corners
from dxgeom.kinds import registry
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.shapes.hulls import coordinate_bounds, require_norm_ball
from dxgeom.mechanisms.shapes.strategy_program import outgrows_a_search
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.candidate_builder import BUILD_ERRORS, CandidateBuilder
from dxgeom.planner.changed_queries import public_records
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.comparing.thoroughness import candidate_names, error_alone, of_small_work, settled
from dxgeom.planner.kind import Planning, QuestionKind, kind_of
from dxgeom.planner.objectives.aims import Errors, with_aims
from dxgeom.planner.objectives.objective import Objective, ObjectiveName, objective_of
from dxgeom.planner.plan import Plan
from dxgeom.planner.public_numbers import fits_of, helped, leaves_shapes, sensitivity_less_public, told_of_tables
from dxgeom.planner.wish import AUTO, USUAL, PlanOptions, Progress, Search, Wish, listener, with_old_words
from dxgeom.universe.public_shares import Shares
from dxgeom.universe.queries import LinearQueries


@final
@dataclass(frozen=True, eq=False)
class ListedNoise:
    """What was decided of noise on a list of queries. ``objective``: what was made small; ``comparison``: what else was
    considered."""

    objective: Objective
    comparison: CandidateComparison = field(repr=False)


def listed_plan(
    metric: VerifiedMetric,
    queries: LinearQueries,
    objective: Objective,
    mechanism: AdditiveMechanism,
    comparison: CandidateComparison,
    records: int | None = None,
) -> Plan:
    """The plan of this very noise."""
    return Plan(
        registry.kind_of(queries), metric, queries, mechanism, records, decided=ListedNoise(objective, comparison)
    )


@with_old_words
def plan(
    metric: VerifiedMetric,
    queries: Any,
    *,
    objective: ObjectiveName = "balanced",
    importance: Sequence[Amount] | None = None,
    errors: Errors | None = None,
    mechanism: str = AUTO,
    records: int | None = None,
    spend: Amount | None = None,
    thorough: bool = False,
    progress: Progress | bool | None = None,
    search: Search | None = None,
) -> Plan:
    """Choose how what is asked is answered under a metric: linear queries, quantiles, whole tables of counts, very many
    boxes, or several tasks, each by itself.

    What a kind of question does not heed of the following is refused. Args: ``objective``: "mse" minimises the total
    mean squared error over the queries ("rmse", its root, is smallest at the same plan), "max" that of the worst
    answer. "balanced" takes the total of each unit (all counts together, every summed column by itself, or what the
    queries state) relative to what it would be if only that unit were asked for, and adds these up; with one unit it is
    "mse". "l1", "l2" and "linf" minimise the expected norm of the errors themselves, "quantile-90", "-95" and "-99"
    what none exceeds with that chance: exactly for independent Laplace noise, "l1" for any that is taken, else at most.
    ``importance`` (K,): how many times each answer's, table's or box's squared error counts; left out, what the
    queries state. ``errors``: the root mean squared errors that they may have, (K,) or by name, the others any; left
    out, a balanced plan takes those that the queries state. The plan then needs the least spend for them, see
    :attr:`Plan.least_spend`. ``mechanism``: "auto" builds every candidate
    and takes the one with the smallest exact error; naming one builds that one and nothing else: the others, and the
    lower bound, are found when they are asked for, by ``plan.candidates`` and ``plan.lower_bound``. Named, any noise
    answers whole tables and boxes, too, listed one by one while possible records can be counted; so they are where
    public numbers of the policy say something of few answers. Units are then
    balanced against what that mechanism would do for each alone. "mwem" and "small-database" answer by synthetic
    records in place of noise; "families" takes noise or a small database, whichever has the smaller bound that is
    proved at 95 % for all answers at once, at ``spend``. Quantiles are answered by "transport" cost or with "laplace"
    noise, whichever is expected to err less.
    ``records``: their public number, where the queries do not state it; given it, a plan also considers answering
    changed queries, with a known bias and less noise, and does so
    when that makes the worst loss at spend 1 smaller by more than 1 %. ``spend``: what a release will use up; the forms
    of quantiles, and families, are compared at it, at 1 where it is left out. Where it is stated and the policy says
    'adaptive: allow', whole tables of a public number of records that would be mostly noise follow the data: the plan
    is then one of a task 'tables'. All other choices are the same at any. ``thorough``: every
    candidate is looked for, however long that takes. Left out, one whose work, stated before it begins, takes longer
    than it may pay is not: the table says which and why, and a lower bound that takes a search waits until it is asked
    for. Where the thorough search is itself a second's work, it is made in any case. ``progress``: True shows on
    standard error, or in a notebook, what is being built; a function is told it in words, and may raise to end the
    work: nothing is lost. ``search``: how noise is looked for.

    Whoever interrupts a plan of counts and sums (control-C) gets the best of what was finished by then, marked by
    ``plan.interrupted``, which is released after ``plan.as_it_is()``; KeyboardInterrupt where nothing was finished.
    Guarantee: reads no data; deterministic unless a hull runs into its time limit; the chosen mechanism honours the
    metric (see its own docstring), and its predicted error is exact up to the rounding of float64.
    Raises: UnsupportedCombination for an unknown objective or mechanism, a body that is none, when metric and queries
    are not about the same records, or when their number is stated and the policy keeps it private; NotANormBall for a
    body of another dimension, or one that is flat or not symmetric; UnboundedLoss when no finite noise can honour the
    metric; TooLarge, NotANormBall or CertificateRefused when the mechanism asked for cannot be built.
    """
    if isinstance(queries, VerifiedMetric) and registry.kind_of(metric) is not None:
        raise WrongArgument(
            "the metric comes first: 'metric' and 'queries' are swapped, write dx.plan(metric, queries)"
        )
    require_verified(metric)
    amount = exact_amount(1 if spend is None else spend, "spend")
    how = USUAL if search is None else search
    with listener(progress) as tell:
        wish = Wish(objective, importance, errors, mechanism, records, amount, thorough, tell, how)
        kind = kind_of(queries)
        own: Plan | None = None
        if kind.own_noise and queries.universe.indexable and _is_listed(kind, metric, queries, mechanism):
            own = _less_public(kind, metric, queries, wish)
            queries = with_aims(queries, wish).listed
            kind, wish = kind_of(queries), replace(wish, importance=None, errors=None)
        kind.require_heeded(wish)
        found = kind.part(queries, Planning(metric, wish))
        found = own if own is not None and found.interrupted is None and own.loss < found.loss else found
        if metric.held:
            _ = found.mechanism.account  # which refuses what does not honour that
        return found.kind.unasked(found, amount) if spend is not None and mechanism == AUTO else found


def _is_listed(kind: QuestionKind[Any], metric: VerifiedMetric, queries: Any, mechanism: str) -> bool:
    """Whether tables and boxes are answered one by one: where other noise is named than their own, or public numbers
    help, or rings of people are to be hidden."""
    if mechanism not in kind.own_noise:
        return True
    return mechanism == AUTO and (metric.held or helped(metric, queries))


def _less_public(kind: QuestionKind[Any], metric: VerifiedMetric, queries: Any, wish: Wish) -> Plan | None:
    """The plan of whole tables as such, less what public numbers tell of them, where they tell something."""
    if wish.mechanism != AUTO or metric.held or any(with_aims(queries, wish).errors):
        return None
    with suppress(*BUILD_ERRORS):
        return kind.part(queries, Planning(metric, wish)) if told_of_tables(metric, queries) else None
    return None


def by_cost(metric: VerifiedMetric, queries: LinearQueries, wish: Wish, *, in_a_task: bool = False) -> Plan:
    """Noise in the answers; or in tables or boxes that they share, where these are such, and too many for that. A file
    of tasks holds no plan of tables; noise that is shared hides no rings of people, where a policy says 'hold'.

    Raises: as :func:`plan`.
    """
    few = not outgrows_a_search(queries.count) and metric.over_periods is None
    if wish.mechanism != AUTO or queries.body is not None or few or metric.held:
        return plan_of_answers(metric, queries, wish)
    from dxgeom.planner.boxes.choosing import in_boxes_instead, refused_as_answers
    from dxgeom.planner.marginals.marginal_plan import in_tables_instead

    tables = None if in_a_task else in_tables_instead(metric, queries, wish)
    if tables is not None:
        return tables
    refused = refused_as_answers(queries)
    instead = None if refused is None else in_boxes_instead(metric, queries, wish, refused)
    if instead is not None:
        return instead
    try:
        found = plan_of_answers(metric, queries, wish)
    except TooLarge as error:
        instead = in_boxes_instead(metric, queries, wish, error)
        if instead is None:
            raise
        return instead
    return in_boxes_instead(metric, queries, wish, found) or found


def plan_of_answers(metric: VerifiedMetric, queries: LinearQueries, wish: Wish) -> Plan:
    """The plan of noise on a list of queries, less what public numbers say of them. Raises: as :func:`plan`."""
    options = wish.options
    if options.body is None and queries.body is not None:
        options = replace(options, body=body_of_corners([[float(one) for one in corner] for corner in queries.body]))
    if options.body is not None:
        require_norm_ball(options.body, queries.count)
    found: list[Plan] = []
    for public in fits_of(metric, queries):
        # Losses of several units are compared in those of the first.
        wanted = found[0].objective if found else None
        with suppress(*([*BUILD_ERRORS, UnboundedLoss] if public is not None else ())):
            found.append(_plan_less(metric, queries, public, wish, options, wanted))
            if found[-1].interrupted is not None:
                break
    if not found:
        return _plan_less(metric, queries, None, wish, options, None)
    best = min(found, key=lambda one: one.loss)
    if leaves_shapes(best):
        with suppress(*BUILD_ERRORS, UnboundedLoss):
            best = min(best, _plan_less(metric, queries, None, wish, options, best.objective), key=lambda one: one.loss)
    return best


def _plan_less(
    metric: VerifiedMetric,
    queries: LinearQueries,
    public: Shares | None,
    wish: Wish,
    options: PlanOptions,
    wanted: Objective | None,
) -> Plan:
    try:
        sensitivity, answered = sensitivity_less_public(metric, queries, public)
    except UnsupportedCombination as error:
        if public is None:
            raise
        # Weights less public numbers may be too fine where they were not before.
        raise TooLarge(str(error)) from error
    number = public_records(metric, queries, options.records)
    options = of_small_work(options, sensitivity)
    if wanted is None:
        wanted = objective_of(
            wish.objective,
            queries,
            wish.importance,
            wish.errors,
            coordinate_bounds(sensitivity),
            partial(error_alone, sensitivity, answered, options),
        )
    changed = number if public is None else None
    shared = settled(CandidateBuilder(sensitivity, wanted, replace(options, records=changed)))
    compared = CandidateComparison(shared, candidate_names(shared))
    chosen = compared.mechanism(options.mechanism) if options.mechanism != AUTO else compared.best_so_far()
    return listed_plan(sensitivity.metric, queries, wanted, chosen, compared, number)
