"""Which way of measuring boxes: attribute by attribute the one with the smallest exact error.

Which triangular matrices for counts of intervals, or of boxes: those with the smallest exact error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.kinds import registry
from dxgeom.mechanisms.bounds.workload_bound import weighed_workload
from dxgeom.mechanisms.contract.readers import require_own_records
from dxgeom.mechanisms.parts.box_bound import WORK_OF_WEIGHTS, boxes_bound, worst_alone
from dxgeom.mechanisms.parts.box_mechanism import LAPLACE, NORMAL, BoxedCounts, BoxMechanism
from dxgeom.mechanisms.parts.box_scales import (
    BoxQuestion,
    best_scales,
    block_variances,
    line_gaps,
    promised_of,
    round_steps,
    worst_scales,
)
from dxgeom.mechanisms.parts.factors import Factor, Path, trees
from dxgeom.mechanisms.parts.joint_totals import gram_of_ranges, joint_strategy, round_strategy
from dxgeom.mechanisms.parts.measured_parts import MOST_ENTRIES
from dxgeom.mechanisms.parts.toeplitz_mechanism import (
    TOEPLITZ,
    LineStrategy,
    ToeplitzMechanism,
    TotalsStrategy,
    bounds_over_periods,
    joint_presence,
    line_bounds,
)
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds, ToeplitzStrategy, best_damped, best_theta
from dxgeom.mechanisms.parts.totals_by_category import (
    AskedByCategory,
    asked_by_category,
    category_bounds,
    category_strategy,
)
from dxgeom.mechanisms.parts.totals_in_a_row import totals_in_a_row
from dxgeom.mechanisms.parts.weighed_totals import weighed_strategies
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.triangular import LAID_OUT
from dxgeom.planner.candidates import CandidateResult
from dxgeom.planner.objectives.aims import Aim, TriedNoise, counts_worst, each_error, with_aims
from dxgeom.planner.plan import Plan
from dxgeom.planner.wish import AUTO, BOX_NOISE, Wish
from dxgeom.privacy.measures import CONCENTRATED, require_for_normal_noise
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.spans import boxes_of


def sought_totals(metric: VerifiedMetric, queries: BoxQueries, worst: bool) -> ToeplitzMechanism:
    """Along one attribute the best of the square root of running totals and of windows, with columns of their own
    lengths and of one, of the family that suits steps along a line, for prefixes of noise by weights of changes, and
    for others, or where something is promised of several periods, of a matrix that is sought for them; along several
    attributes of such a matrix for each.

    Raises: TooLarge where boxes are along several attributes and not only presence is protected, under steps alone, or
    where errors of so many are not found; CertificateRefused.
    """
    merged = queries.merged
    if len(merged.columns) > 1:
        return _of_several(metric, queries, worst)
    bounds = line_bounds(metric, merged)
    if bounds.line and bounds.presence is None:
        raise TooLarge("where steps along a line are all that is protected, independent noise at each cut is the best")
    lower, upper, costs = merged.lower[:, 0], merged.upper[:, 0], merged.costs
    least, found = math.inf, None
    over = bounds_over_periods(metric, merged)
    for strategy, held in _held(merged.sizes[0], bounds, over, lower, upper, costs):
        with suppress(TooLarge, CertificateRefused):
            scale = strategy.least_scale(held)
            errors = strategy.variances(scale, lower, upper) * costs
            loss = float(errors.max() if worst else errors.sum())
            if loss < least:
                least, found = loss, (strategy, scale)
    made = None if found is None else ToeplitzMechanism(TOEPLITZ, metric, queries, found[0], np.array([found[1]]))
    if over is not None:
        with suppress(TooLarge, CertificateRefused):
            in_a_row, scale = totals_in_a_row(lower, upper, costs, over)
            sought = ToeplitzMechanism(TOEPLITZ, metric, queries, in_a_row, np.array([scale]))
            if (loss := _loss(sought, worst)) < least:
                least, made = loss, sought
    with suppress(TooLarge, CertificateRefused):
        steps = round_steps(metric, merged)
        if steps is not None:
            matrix, size = round_strategy(steps, gram_of_ranges(steps.size, lower, upper, costs))
            around = ToeplitzMechanism(TOEPLITZ, metric, queries, matrix, np.array([size]))
            if _loss(around, worst) < least:
                return around
    if np.any(lower > 0):
        with suppress(TooLarge, CertificateRefused):
            joint = _jointly(metric, queries)
            if _loss(joint, worst) < least:
                return joint
    if made is None:
        raise TooLarge("errors of so many ranges by noise in running totals are not found")
    return made


def _loss(made: ToeplitzMechanism, worst: bool) -> float:
    errors = made.variances * made.merged.costs
    return float(errors.max() if worst else errors.sum())


def _of_several(metric: VerifiedMetric, queries: BoxQueries, worst: bool) -> ToeplitzMechanism:
    """Raises: TooLarge, CertificateRefused."""
    try:
        asked = asked_by_category(queries.merged, queries.merged.costs)
        found = _by_category(metric, queries, asked)
    except (TooLarge, CertificateRefused) as refused:
        try:
            return _jointly(metric, queries)
        except TooLarge as too_large:
            raise TooLarge(f"{refused}; {too_large}") from too_large
    if not asked.alike:
        with suppress(TooLarge, CertificateRefused):
            return min(found, _jointly(metric, queries), key=lambda one: _loss(one, worst))
    return found


def _jointly(metric: VerifiedMetric, queries: BoxQueries) -> ToeplitzMechanism:
    """Noise through a matrix for each attribute, sought for the total error. Raises: TooLarge, CertificateRefused."""
    merged = queries.merged
    presence = joint_presence(metric, merged)
    strategy, scale = joint_strategy(merged.sizes, merged.lower, merged.upper, merged.costs, presence)
    return ToeplitzMechanism(TOEPLITZ, metric, queries, strategy, np.array([scale]))


def _by_category(metric: VerifiedMetric, queries: BoxQueries, asked: AskedByCategory) -> ToeplitzMechanism:
    """Of prefixes in every combination of others' values. Raises: TooLarge, CertificateRefused."""
    bounds = category_bounds(metric, queries.merged, asked.line)
    strategy = category_strategy(bounds, asked.costs)
    if strategy is None:
        raise TooLarge(
            f"noise in running totals of {asked.costs.categories:,} categories is for up to {LAID_OUT:,} prefixes, "
            "each asked for, where nothing but steps along the line is nearer than records that come and go"
        )
    return ToeplitzMechanism(TOEPLITZ, metric, queries, strategy, np.array([strategy.least_scale(bounds)]))


def _held(
    size: int,
    bounds: LineBounds,
    over: LineBounds | None,
    lower: NDArray[np.int64],
    upper: NDArray[np.int64],
    costs: NDArray[np.float64],
) -> Iterator[tuple[LineStrategy, LineBounds]]:
    """Strategies, each with what it is held to: distances of records, or what is promised of several periods."""
    for strategy in _strategies(size, bounds, lower, upper, costs):
        yield strategy, bounds
    if over is not None:
        for strategy in _strategies(size, over, lower, upper, costs):
            yield strategy, over
        with suppress(TooLarge):
            theta, alpha = best_damped(size, over, lower, upper, costs)
            yield ToeplitzStrategy(size, theta=theta, alpha=alpha), over


def _strategies(
    size: int, bounds: LineBounds, lower: NDArray[np.int64], upper: NDArray[np.int64], costs: NDArray[np.float64]
) -> Iterator[LineStrategy]:
    for scaled in (True, False):
        yield ToeplitzStrategy(size, scaled=scaled)
    inside = lower > 0
    if not np.any(inside):
        yield from weighed_strategies(size, bounds, np.bincount(upper - 1, costs, size).astype(np.float64))
    if np.any(inside):
        # The width that counts most.
        window = int(np.bincount((upper - lower)[inside], costs[inside]).argmax())
        for scaled in (True, False) if window > 1 else ():
            yield ToeplitzStrategy(size, window=window, scaled=scaled)
    if bounds.line and bounds.apart is not None:
        with suppress(TooLarge):
            yield ToeplitzStrategy(size, theta=best_theta(size, bounds, lower, upper, costs))


_WORTH: Final = 0.99
_TRIED: Final = {NORMAL: (2, 9), LAPLACE: (1, 2)}
"""How often attributes are gone through, and in how many ways each; finding Laplace scales takes ten times as long."""


def plan_boxes(
    metric: VerifiedMetric,
    queries: BoxQueries,
    wish: Wish,
) -> Plan:
    """Choose how counts in boxes are measured, under any policy whose rules are about single attributes.

    Args: of ``wish`` the objective, "mse" (or "balanced", the same here) or "max"; the mechanism, "auto",
    "boxes-laplace", "boxes-gaussian" or
    "toeplitz-gaussian"; importance and errors, one for each box, instead of the queries' own. With errors the worst
    answer counts, next to its own.
    Guarantee: reads no data; deterministic; what is chosen honours the metric, proved in integers.
    Raises: UnsupportedCombination; TooLarge where the metric is no sum over attributes; CertificateRefused.
    """
    queries = with_aims(queries, wish)
    worst = counts_worst(queries, wish.objective)
    require_own_records(metric, queries.universe)
    built: dict[str, BoxedCounts] = {}
    pressed: NDArray[np.float64] | None = None
    for kind in _kinds(metric, wish.mechanism):
        if kind != TOEPLITZ:
            built[kind], pressed = sought(metric, queries, kind, worst)
        else:
            with suppress(*(() if wish.mechanism == TOEPLITZ else (TooLarge, CertificateRefused))):
                built[kind] = sought_totals(metric, queries, worst)
    losses = {kind: loss_of(made, worst) for kind, made in built.items()}
    taken = min(losses, key=lambda kind: losses[kind])
    return _with_bound(
        Plan(registry.kind_of(queries), metric, queries, built[taken], queries.records), losses, worst, pressed
    )


def boxes_of_scales(
    metric: VerifiedMetric,
    queries: BoxQueries,
    objective: Aim,
    mechanism: str,
    factors: Sequence[Factor] | TotalsStrategy,
    scales: NDArray[np.float64],
) -> Plan:
    """The plan with these very ``factors``, or this strategy, and ``scales``, as a file has them; nothing is sought.

    Raises: as :func:`plan_boxes`, CertificateRefused where they do not hide what the metric protects.
    """
    require_own_records(metric, queries.universe)
    _kinds(metric, mechanism)
    built: BoxedCounts
    if isinstance(factors, Sequence):
        built = BoxMechanism(mechanism, metric, queries, tuple(factors), scales)
    else:
        built = ToeplitzMechanism(mechanism, metric, queries, factors, scales)
    worst = objective == "max"
    plan = Plan(registry.kind_of(queries), metric, queries, built, queries.records)
    return _with_bound(plan, {mechanism: loss_of(built, worst)}, worst, None)


def _with_bound(plan: Plan, losses: dict[str, float], worst: bool, pressed: NDArray[np.float64] | None) -> Plan:
    objective: Aim = "max" if worst else "mse"
    bound = partial(bound_on_boxes, plan.metric, plan.question, plan.mechanism, objective, pressed)
    left_out = partial(weights_left_out, plan.metric, plan.question)
    return replace(plan, decided=TriedNoise(objective, losses, bound, left_out=left_out))


def weights_left_out(metric: VerifiedMetric, queries: BoxQueries) -> str:
    """Why the bound on boxes seeks no weights of pairs; empty where it does."""
    boxes = queries.merged
    if float(boxes.count) ** 2 * (sum(boxes.sizes) + 4 * (len(boxes.sizes) + 1) ** 2) <= WORK_OF_WEIGHTS:
        return ""
    try:
        workload = weighed_workload(metric.metric, boxes.tables, np.ones(boxes.count))
        if workload is not None:
            workload.require_affordable(WORK_OF_WEIGHTS)
    except TooLarge as error:
        return str(error)
    return ""


def loss_of(mechanism: BoxedCounts, worst: bool) -> float:
    """The total of all squared errors at spend 1, each times its cost, or the worst of them."""
    errors = mechanism.variances * mechanism.merged.costs
    return float(errors.max() if worst else errors.sum())


def bound_on_boxes(
    metric: VerifiedMetric,
    queries: BoxQueries,
    mechanism: BoxedCounts,
    objective: Aim,
    pressed: Any,
) -> float:
    """By duality on averages of pairs, and for pure privacy by volumes along random directions, up to a chance of 10⁻⁹
    in drawing these. ``pressed`` (K,): how much each box counts where the worst of all errors was made small; None
    where the plan is from a file."""
    costs, metric = mechanism.merged.costs, _of_single_records(metric)
    if objective == "mse":
        return boxes_bound(metric, queries, costs)
    alone = worst_alone(metric, queries, costs)
    if pressed is None:
        return alone
    return max(alone, boxes_bound(metric, queries, costs * pressed / pressed.sum()))


def _of_single_records(metric: VerifiedMetric) -> VerifiedMetric:
    """What a policy says of single records, which no noise that keeps its promise tells more of."""
    over = metric.over_periods
    return metric if over is None else metric.narrowed(over.metric)


def _kinds(metric: VerifiedMetric, mechanism: str) -> tuple[str, ...]:
    if mechanism not in (AUTO, *BOX_NOISE):
        raise UnsupportedCombination(
            f"very many boxes are answered by {LAPLACE}, {NORMAL} or {TOEPLITZ}, and '{mechanism}' needs their weights "
            "laid out: ask for them as dx.LinearQueries.boxes"
        )
    if mechanism in (NORMAL, TOEPLITZ):
        require_for_normal_noise(metric.privacy)
    if mechanism != AUTO:
        return (mechanism,)
    return (NORMAL, TOEPLITZ) if metric.privacy == CONCENTRATED else (LAPLACE,)


def sought(
    metric: VerifiedMetric, queries: BoxQueries, kind: str, worst: bool
) -> tuple[BoxMechanism, NDArray[np.float64] | None]:
    """The noise of one kind, and where the worst error counts how much each box does in its bound. One attribute after
    the other is measured in the way that is best, the others as they are.

    Raises: TooLarge, CertificateRefused.
    """
    least, scales, taken = _descended(metric, queries.merged, kind, _ways(metric, queries.merged))
    if not math.isfinite(least):
        raise TooLarge("these boxes are measured in too many blocks: ask for fewer, or of fewer attributes each")
    if not worst:
        return BoxMechanism(kind, metric, queries, tuple(taken), scales), None
    found_worst = worst_scales(_question(metric, queries.merged, taken, kind))
    return BoxMechanism(kind, metric, queries, tuple(taken), found_worst.scales), found_worst.dual_weights


def measured_flat(metric: VerifiedMetric, queries: BoxQueries, worst: bool) -> BoxMechanism:
    """Laplace noise that is found at once: the first way of each attribute, value by value or along its line.

    Raises: TooLarge, CertificateRefused.
    """
    flat = tuple(own[0] for own in _ways(metric, queries.merged))
    question = _question(metric, queries.merged, flat, LAPLACE)
    scales = worst_scales(question).scales if worst else best_scales(question)
    return BoxMechanism(LAPLACE, metric, queries, flat, scales)


def _ways(metric: VerifiedMetric, queries: BoxQueries) -> list[tuple[Factor, ...]]:
    """Of each attribute the ways of measuring it: along its line, where it is one, and in trees, the flat one first."""
    gaps = line_gaps(metric, queries)
    return [
        ((Path(size),) if line is not None else ()) + trees(size)
        for size, line in zip(queries.sizes, gaps, strict=True)
    ]


def _descended(
    metric: VerifiedMetric, queries: BoxQueries, kind: str, ways: Sequence[tuple[Factor, ...]]
) -> tuple[float, NDArray[np.float64], list[Factor]]:
    """From the best of a few ways that are alike for all attributes, to ways that no other of one attribute betters."""
    least, scales, taken = math.inf, np.zeros(0), [own[0] for own in ways]
    for number in range(max(map(len, ways))):
        alike = [own[0] if isinstance(own[0], Path) else own[min(number, len(own) - 1)] for own in ways]
        loss, found = _tried(metric, queries, tuple(alike), kind)
        if loss < least:
            least, scales, taken = loss, found, alike
    times, each = _TRIED[kind]
    for _ in range(times if len(ways) > 1 else 0):
        before = least
        for place, own in enumerate(ways):
            for factor in own[:each]:
                other = [*taken[:place], factor, *taken[place + 1 :]]
                loss, found = _tried(metric, queries, tuple(other), kind) if other != taken else (least, scales)
                if loss < least:
                    least, scales, taken = loss, found, other
        if least > before * _WORTH:
            break
    return least, scales, taken


def _question(metric: VerifiedMetric, queries: BoxQueries, factors: Sequence[Factor], kind: str) -> BoxQuestion:
    return BoxQuestion(queries, tuple(factors), promised_of(metric, queries, factors), kind == NORMAL)


def _tried(
    metric: VerifiedMetric, queries: BoxQueries, factors: Sequence[Factor], kind: str
) -> tuple[float, NDArray[np.float64]]:
    """The total and the scales; infinite where there would be too many blocks."""
    question = _question(metric, queries, factors, kind)
    try:
        scales = best_scales(question)
    except TooLarge:
        return math.inf, np.zeros(0)
    return float(question.weights @ block_variances(question, scales)), scales


def refused_as_answers(queries: LinearQueries) -> TooLarge | None:
    """Why intervals of one attribute, of records that come and go, get no noise in the answers: what each of them takes
    of noise in boxes would not be laid out, and their differences are as many numbers. None for others."""
    if not queries.tables.absent or len(queries.tables.tables) > 1:
        return None
    (table,) = queries.tables.tables
    kinds = 0 if table.between is None else table.kinds
    if queries.count * (kinds - 1) <= MOST_ENTRIES:
        return None
    return TooLarge(
        f"{queries.count:,} counts of {kinds:,} kinds of records have {queries.count * kinds:,} differences; beside "
        f"noise in boxes at most {MOST_ENTRIES:,} are laid out: name a mechanism to have it"
    )


def in_boxes_instead(metric: VerifiedMetric, queries: LinearQueries, wish: Wish, found: Plan | TooLarge) -> Plan | None:
    """The plan of the same counts as boxes, where it is the one to take; None else.

    ``found``: what became of noise in the answers. That is better left where it was found with noise in boxes among its
    candidates; where these were too many to lay out, or nothing could be built, boxes are compared by their loss.
    """
    if not isinstance(found, TooLarge):
        # Of noise in answers nothing is proved over several periods.
        worth = metric.over_periods is not None or _boxes_left_out(found)
        if found.interrupted is not None or not worth:
            return None
    if not wish.plainly or len(queries.by_measure) > 1:
        return None
    errors = None if wish.errors is None else each_error(queries, wish.errors)
    try:
        made = plan_boxes(metric, boxes_of(queries), replace(wish, errors=errors))
    except (TooLarge, UnsupportedCombination):  # as for answers, or no boxes: what became of these is told
        return None
    if isinstance(found, TooLarge):
        return _beside(made, (CandidateResult("laplace", None, reason=f"not built: {found}"),))
    if made.wants_errors or made.loss >= found.loss:
        return None
    return _beside(made, tuple(one for one in found.candidates if one.name != made.mechanism.name))


def _beside(made: Plan, others: tuple[CandidateResult, ...]) -> Plan:
    """The same plan, which tells of other noise, too."""
    return replace(made, decided=replace(made.decided, others=others))


def _boxes_left_out(found: Plan) -> bool:
    return any(one.name in BOX_NOISE and one.loss is None for one in found.comparison.shown)
