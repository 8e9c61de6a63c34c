"""Which noise in parts is chosen for whole tables of counts, and how near to the best it is.

Listed queries that are every cell of whole tables, as these tables: where what each answer takes of noise in tables
would not be laid out, they are planned as tables, of which nothing is listed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.kinds import registry
from dxgeom.mechanisms.contract.readers import require_own_records
from dxgeom.mechanisms.gaussian.mechanism import CAUTION
from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds, joint_distance_bounds_of
from dxgeom.mechanisms.parts.bases import uneven_distances
from dxgeom.mechanisms.parts.basis_program import FoundNoise, KroneckerQuestion
from dxgeom.mechanisms.parts.loads import enlarged
from dxgeom.mechanisms.parts.measured_parts import MOST_ENTRIES
from dxgeom.mechanisms.parts.public_tables import public_tables
from dxgeom.mechanisms.parts.scales import LAPLACE, NORMAL, GaussianScales, best_gaussian_scales, scales_of_laplace
from dxgeom.mechanisms.parts.table_mechanism import KRONECKER, Bases, TableMechanism
from dxgeom.mechanisms.parts.tables import MarginalQuestion, family_of
from dxgeom.mechanisms.parts.volumes import tables_volume_bound
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.candidates import CandidateResult
from dxgeom.planner.objectives.aims import Aim, TriedNoise, counts_worst, each_importance, with_aims
from dxgeom.planner.plan import Plan
from dxgeom.planner.public_numbers import MOST_ANSWERS, told_of_tables
from dxgeom.planner.wish import AUTO, Wish
from dxgeom.privacy.measures import CONCENTRATED, PURE, privacy_measure_of, require_for_normal_noise
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.weight_tables import over_layout
from dxgeom.universe.workloads.groups import groups_of_column
from dxgeom.universe.workloads.whole_tables import MarginalQueries


def plan_tables(
    metric: VerifiedMetric,
    queries: MarginalQueries,
    wish: Wish,
) -> Plan:
    """Choose the noise for whole tables of counts, under any policy whose rules are about single attributes.

    Args: of ``wish`` the objective, "mse" (or "balanced", the same here) or "max"; the mechanism, "auto",
    "marginal-laplace", "marginal-gaussian", or "kronecker-gaussian" where an attribute's values are not all equally far
    apart; importance and errors, one for each table, instead of the queries' own. With errors the worst answer counts,
    next to its own.
    Guarantee: reads no data; deterministic; what is chosen honours the metric, proved in integers.
    Raises: UnsupportedCombination; TooLarge where the metric is no sum over attributes; CertificateRefused.
    """
    queries, mechanism = with_aims(queries, wish), wish.mechanism
    worst = counts_worst(queries, wish.objective)
    kinds = _kinds_of(metric, mechanism)
    promise, question = _question(metric, queries, public=True)
    if question.public and _is_whole(question) and mechanism == AUTO:
        kinds = tuple(kind for kind in kinds if kind != KRONECKER)
    costs = question.costs
    best = best_gaussian_scales(question, worst)
    bound = _bound(metric, question, promise, worst, best)
    built: dict[str, TableMechanism] = {
        kind: _mechanism(kind, metric, queries, question, promise, np.sqrt(best.variances), worst)
        for kind in kinds
        if kind != KRONECKER
    }
    along = None
    if KRONECKER in kinds or not question.public:
        along = _along_bases(metric, queries, _question(metric, queries)[1], promise, worst, mechanism)
    if along is not None:
        if not question.public:
            bound = max(bound, along.bound * privacy_measure_of(metric.privacy).least_mean_square * CAUTION)
        if KRONECKER in kinds:
            built[KRONECKER] = TableMechanism(KRONECKER, metric, queries, along.bases, along.spreads)
    losses = {kind: _loss(one, costs, worst) for kind, one in built.items()}
    taken = min(losses, key=lambda kind: losses[kind]) if mechanism == AUTO else mechanism
    decided = TriedNoise("max" if worst else "mse", losses, lambda: bound)
    return Plan(registry.kind_of(queries), metric, queries, built[taken], queries.records, decided=decided)


def plan_of_scales(
    metric: VerifiedMetric,
    queries: MarginalQueries,
    objective: Aim,
    mechanism: str,
    scales: NDArray[np.float64],
    bases: Bases = (),
    public: bool = False,
) -> Plan:
    """The plan with these very ``scales``, and ``bases`` where noise is along such, as a file has them; ``public``:
    whether what public numbers tell has no noise.

    Raises: as :func:`plan_tables`, CertificateRefused where they do not hide what the metric protects.
    """
    _kinds_of(metric, mechanism)
    built = TableMechanism(mechanism, metric, queries, bases, scales, public)
    worst = objective == "max"
    losses = {mechanism: _loss(built, queries.costs, worst)}
    promise, question = _question(metric, queries, public=public)
    bound = partial(_bound, metric, question, promise, worst)
    return Plan(
        registry.kind_of(queries),
        metric,
        queries,
        built,
        queries.records,
        decided=TriedNoise(objective, losses, bound),
    )


def _bound(
    metric: VerifiedMetric,
    question: MarginalQuestion,
    promise: DistanceBounds,
    worst: bool,
    best: GaussianScales | None = None,
) -> float:
    """What no noise has less than, that along bases left out. ``best``: for normal noise, where it is known."""
    above = MarginalQuestion.under(question.family, promise.most, promise.presence, question.costs, question.public)
    found = best if best is not None and promise.exact else best_gaussian_scales(above, worst)
    bound = found.bound * privacy_measure_of(metric.privacy).least_mean_square * CAUTION
    if metric.privacy == PURE and not question.public:  # a volume of all that is asked
        bound = max(bound, tables_volume_bound(question.family, above.constants, question.costs, worst))
    return bound


def _kinds_of(metric: VerifiedMetric, mechanism: str) -> tuple[str, ...]:
    """The kinds of noise that are tried. Raises: UnsupportedCombination."""
    if mechanism not in (AUTO, NORMAL, LAPLACE, KRONECKER):
        raise UnsupportedCombination(
            f"whole tables of counts over universes of any size are answered by {LAPLACE}, {NORMAL} or "
            f"{KRONECKER}, and '{mechanism}' needs a count of every possible record: ask for them as dx.LinearQueries"
        )
    if mechanism in (NORMAL, KRONECKER):
        require_for_normal_noise(metric.privacy)
    if mechanism != AUTO:
        return (mechanism,)
    return (LAPLACE, NORMAL, KRONECKER) if metric.privacy == CONCENTRATED else (LAPLACE,)


def _question(
    metric: VerifiedMetric, queries: MarginalQueries, *, public: bool = False
) -> tuple[DistanceBounds, MarginalQuestion]:
    """``public``: less what public numbers tell. Raises: UnsupportedCombination for queries about other records;
    TooLarge."""
    require_own_records(metric, queries.universe)
    promise = joint_distance_bounds_of(metric.metric, queries.universe.shape, queries.classes)
    family = family_of(queries.sizes, queries.attribute_sets)
    told = public_tables(metric, queries, family) if public and metric.people is None else ()
    return promise, MarginalQuestion.under(family, promise.least, promise.presence, queries.costs, told)


def _is_whole(question: MarginalQuestion) -> bool:
    """Whether public numbers are all of some table."""
    return any(number in question.public for number in question.family.workload_sets.tolist())


def _along_bases(
    metric: VerifiedMetric,
    queries: MarginalQueries,
    question: MarginalQuestion,
    distance_bounds: DistanceBounds,
    worst: bool,
    mechanism: str,
) -> FoundNoise | None:
    """Noise along bases, and its bound; None where values are all equally far apart, or it is too much to look for.

    Raises: where it was asked for by name, TooLarge or CertificateRefused.
    """
    try:
        uneven = uneven_distances(metric.metric, queries.universe.shape, queries.classes)
        if all(one is None for one in uneven):
            raise TooLarge(f"every attribute's values are equally far apart: {NORMAL} is the best there is")
        return KroneckerQuestion(question.family, distance_bounds, uneven, question.costs, worst).best()
    except (TooLarge, CertificateRefused):
        if mechanism == KRONECKER:
            raise
        return None


def _mechanism(
    kind: str,
    metric: VerifiedMetric,
    queries: MarginalQueries,
    question: MarginalQuestion,
    distance_bounds: DistanceBounds,
    normal: NDArray[np.float64],
    worst: bool,
) -> TableMechanism:
    scales = normal if kind == NORMAL else scales_of_laplace(question, worst)
    if np.any(scales > 0):
        scales = enlarged(question.family, distance_bounds, scales, kind == NORMAL, question.public)
    return TableMechanism(kind, metric, queries, (), scales, bool(question.public))


def _loss(mechanism: TableMechanism, costs: NDArray[np.float64], worst: bool) -> float:
    if worst:
        return float((mechanism.variances * costs).max())
    return float(
        (mechanism.cell_errors.mean * costs)
        @ np.array([math.prod(shape) for shape in mechanism.queries.shapes], dtype=np.float64)
    )


def in_tables_instead(metric: VerifiedMetric, queries: LinearQueries, wish: Wish) -> Plan | None:
    """The plan of the same counts as whole tables, where answers and the numbers that noise is added to are too many
    to be laid out beside each other, or many, and public numbers tell parts of the tables; None for other queries, or
    where more is said of them than tables heed."""
    tables = whole_tables_of(queries) if wish.plainly and wish.errors is None else None
    if tables is None:
        return None
    numbers = _noisy_numbers(tables)
    many = queries.count * numbers > MOST_ENTRIES
    if not many and not (queries.count > MOST_ANSWERS and told_of_tables(metric, tables)):
        return None
    importance = queries.importance if wish.importance is None else each_importance(queries, wish.importance)
    try:
        each = None if importance is None else _alike(queries, importance)
        made = plan_tables(metric, replace(tables, importance=each), replace(wish, importance=None))
    except (TooLarge, CertificateRefused, UnsupportedCombination):  # as for answers: what became of these is told
        return None
    reason = f"{queries.count:,} answers that share {numbers:,} noisy numbers or more are not laid out"
    if not many:
        reason = f"of more than {MOST_ANSWERS} answers public numbers tell more of whole tables than of a list"
    others = (CandidateResult("laplace", None, reason=f"not built: {reason}"),)
    return replace(made, decided=replace(made.decided, others=others))


def whole_tables_of(queries: LinearQueries) -> MarginalQueries | None:
    """The tables that the queries are all cells of, each counted once, told apart as the policy does, and called and
    ordered as these; None where they are anything else, or errors are wanted of some."""
    universe = queries.universe
    if universe is None or universe.listed is not None or any(queries.errors) or len(queries.by_measure) > 1:
        return None
    moved = any(one.per_record for one in queries.rounding)
    if queries.derived or moved or any(unit != 1 for unit in queries.units):
        return None
    tables = over_layout(queries.tables, universe)
    sets = [one.axes for one in tables.tables]
    if len({*sets}) < len(sets) or not all(one.every_cell_once for one in tables.tables):
        return None
    axes = sorted({axis for own in sets for axis in own})
    columns = {axis: groups_of_column(universe, axis, universe.attributes[axis].columns[0]) for axis in axes}
    for one in tables.tables:
        for axis, classes in zip(one.axes, one.classes, strict=True):
            if len(columns[axis].words) < 2 or not np.array_equal(columns[axis].codes, classes):
                return None
    places = {axis: place for place, axis in enumerate(axes)}
    asked = tuple(tuple(places[axis] for axis in own) for own in sets)
    found = MarginalQueries(universe, tuple(columns.values()), asked, records=queries.records)
    # Their answers are found by table and cell: under other names, or in another order, the list would be gone.
    return found if found.listed.names == queries.names else None


def _noisy_numbers(tables: MarginalQueries) -> int:
    """How many at the least: what each table has of its own that lies in no larger one."""
    sets = [frozenset(one) for one in tables.attribute_sets]
    largest = [one for one in sets if not any(one < other for other in sets)]
    return sum(math.prod(tables.sizes[place] - 1 for place in one) for one in largest)


def _alike(queries: LinearQueries, importance: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Of each table. Raises: UnsupportedCombination where some of its cells count more than others."""
    found = []
    for table in queries.tables.tables:
        (own, *others) = {importance[query] for query in table.queries.tolist()}
        if others:
            raise UnsupportedCombination("cells of one table count alike where it is planned as a table")
        found.append(own)
    return tuple(found)
