"""Where the closure over listed records is below what one rule states: records are compared as wholes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dxgeom.metrics.metric import Metric
from dxgeom.policy.explain.tightening import (
    EXAMINED_SIZE,
    EXAMINED_WORK,
    LISTED,
    AttributeExamination,
    Matrix,
    compared,
    full_matrix,
    work_of,
)
from dxgeom.policy.lower.listed_pairs import Neighbourhoods, stated_together
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.universe import Universe


def examine_listed(
    universe: Universe, metric: Metric, rules: Sequence[ResolvedRule]
) -> tuple[AttributeExamination, ...]:
    """Compare what each rule states for listed records with what the metric gives.

    The records come first, under the name "listed records"; of each attribute only the size is told.
    """
    size = universe.record_types
    sizes = tuple(_not_on_its_own(attribute) for attribute in universe.attributes)
    if size > EXAMINED_SIZE or work_of(metric) > EXAMINED_WORK:
        return (AttributeExamination(LISTED, size, "graph", False, None, None, None, (), (), ()), *sizes)
    records = np.arange(size)
    given = metric.distance(records[:, None], records[None, :])
    labels = [", ".join(universe.record(record).values()) for record in range(size)]
    stated = [_stated_for_listed(universe, rule) for rule in rules]
    return (compared(LISTED, labels, "graph", given, rules, stated), *sizes)


def _not_on_its_own(attribute: Attribute) -> AttributeExamination:
    return AttributeExamination(attribute.name, attribute.size, "graph", True, None, None, None, (), (), ())


def _stated_for_listed(universe: Universe, rule: ResolvedRule) -> Matrix | None:
    if rule.presence is not None:
        return None
    if rule.everything is not None:
        return full_matrix(universe.record_types, rule.everything)
    named = ((Neighbourhoods(universe, universe.names.index(name)), bound) for name, bound in rule.bounds)
    found = [groups.stated(bound) for groups, bound in named]
    found += [] if rule.joint is None else [stated_together(universe, rule.joint)]
    matrix = np.full((universe.record_types, universe.record_types), np.inf)
    for first, second, bounds in found:
        matrix[first, second] = matrix[second, first] = bounds
    np.fill_diagonal(matrix, 0.0)
    return matrix
