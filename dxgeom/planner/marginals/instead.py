"""Listed queries that are every cell of whole tables, as these tables: where what each answer takes of noise in tables
would not be laid out, they are planned as tables, of which nothing is listed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.parts.measured_parts import MOST_ENTRIES
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.candidates import CandidateResult
from dxgeom.planner.marginals.marginal_plan import plan_tables
from dxgeom.planner.objectives.aims import each_importance
from dxgeom.planner.plan import Plan
from dxgeom.planner.public_numbers import MOST_ANSWERS, told_of_tables
from dxgeom.planner.wish import Wish
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.weight_tables import over_layout
from dxgeom.universe.workloads.groups import groups_of_column
from dxgeom.universe.workloads.whole_tables import MarginalQueries


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
        reason = f"of more than {MOST_ANSWERS} answers public numbers tell parts of whole tables, and nothing of a list"
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
