"""Where the closure of all rules is below what one rule states, and through which other rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.combinations import CapMetric, OneMoreMetric, PresenceMetric
from dxgeom.metrics.diameters import closed_form
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.metric import Metric
from dxgeom.policy.bounds.bound import Constant
from dxgeom.policy.explain.paths import shortest_path
from dxgeom.policy.lower.lowered import Neighbourhoods, stated_together
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.universe import Universe

EXAMINED_SIZE: Final = 2000
EXAMINED_WORK: Final = 100_000_000
NOBODY: Final = "no record"
LISTED: Final = "listed records"
_TOLERANCE: Final = 1e-9
"""Bounds and distances are each rounded down; what differs by less is the same number."""

Matrix: TypeAlias = NDArray[np.float64]


@final
@dataclass(frozen=True)
class Tightening:
    """A rule that states more than the metric gives.

    ``attribute``: the one whose values it compares, or "listed records". ``pairs``: how many pairs; the
    example's path goes from ``start`` through (line of the rule, next value).
    """

    line: int
    attribute: str
    stated: float
    given: float
    pairs: int
    start: str
    path: tuple[tuple[int, str], ...]

    def __str__(self) -> str:
        steps = " → ".join(f"{label} (rule line {line})" for line, label in self.path)
        return (
            f"the rule at line {self.line} states {self.stated:.4g} but the metric gives {self.given:.4g} for "
            f"{self.pairs:,} pair{'s' if self.pairs != 1 else ''} of {self._of}, "
            f"e.g. {self.start} → {steps}"
        )

    @property
    def _of(self) -> str:
        return LISTED if self.attribute == LISTED else f"values of '{self.attribute}'"

    def as_dict(self) -> dict[str, Any]:
        """The same fields, ready for JSON."""
        return {
            "line": self.line,
            "attribute": self.attribute,
            "stated": self.stated,
            "given": self.given,
            "pairs": self.pairs,
            "path": [{"value": self.start}, *({"rule": line, "value": label} for line, label in self.path)],
        }


@final
@dataclass(frozen=True)
class AttributeExamination:
    """An attribute looked at pair by pair, or only in closed form when ``examined`` is false.

    ``diameter``, ``smallest``: largest distance and smallest above 0, None where not known; ``same_spot``: an example
    of two values at distance 0; ``idle``: which of the policy's rules, from 0, are about it but select no pair here;
    ``slack``: which select pairs here, but state more than the metric gives for every one of them.
    """

    name: str
    values: int
    form: str
    examined: bool
    diameter: float | None = None
    smallest: float | None = None
    same_spot: tuple[str, str] | None = None
    tightened: tuple[Tightening, ...] = ()
    idle: tuple[int, ...] = ()
    slack: tuple[int, ...] = ()


def examine(attribute: Attribute, metric: Metric, rules: Sequence[ResolvedRule]) -> AttributeExamination:
    """Compare what each rule states for an attribute with what the metric gives."""
    # Records that differ only here are no farther apart than a constant for more attributes says.
    about = [rule for rule in rules if attribute.name in rule.names([attribute.name])]
    ceilings = [rule.constant for rule in about if rule.constant is not None]
    ceilings += [2 * rule.presence for rule in rules if rule.presence is not None]
    capped = CapMetric(metric, min(ceilings)) if ceilings else metric
    size = attribute.size
    kind = type(metric).__name__.removesuffix("Metric").lower()
    if size > EXAMINED_SIZE or work_of(capped) > EXAMINED_WORK:
        diameter, smallest = closed_form(capped)
        return AttributeExamination(attribute.name, size, kind, False, diameter, smallest)
    codes = np.arange(size)
    given = capped.distance(codes[:, None], codes[None, :])
    bounds = [rule.alone(attribute.name) for rule in rules]
    stated = [None if bound is None else bound.matrix(size) for bound in bounds]
    return _compared(attribute.name, attribute.labels, kind, given, rules, stated)


def examine_listed(
    universe: Universe, metric: Metric, rules: Sequence[ResolvedRule]
) -> tuple[AttributeExamination, ...]:
    """Compare what each rule states for listed records with what the metric gives.

    The records come first, under the name "listed records"; of each attribute only the size is told.
    """
    size = universe.record_types
    sizes = tuple(AttributeExamination(one.name, one.size, "graph", examined=True) for one in universe.attributes)
    if size > EXAMINED_SIZE or work_of(metric) > EXAMINED_WORK:
        return (AttributeExamination(LISTED, size, "graph", examined=False), *sizes)
    records = np.arange(size)
    given = metric.distance(records[:, None], records[None, :])
    labels = [", ".join(universe.record(record).values()) for record in range(size)]
    stated = [_stated_for_listed(universe, rule) for rule in rules]
    return (_compared(LISTED, labels, "graph", given, rules, stated), *sizes)


def _stated_for_listed(universe: Universe, rule: ResolvedRule) -> Matrix | None:
    if rule.presence is not None:
        return None
    if rule.everything is not None:
        return Constant(rule.everything).matrix(universe.record_types)
    named = ((Neighbourhoods(universe, universe.names.index(name)), bound) for name, bound in rule.bounds)
    found = [groups.as_written(bound) for groups, bound in named]
    found += [] if rule.joint is None else [stated_together(universe, rule.joint)]
    matrix = np.full((universe.record_types, universe.record_types), np.inf)
    for first, second, bounds in found:
        matrix[first, second] = matrix[second, first] = bounds
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _compared(
    name: str,
    labels: Sequence[str],
    kind: str,
    given: Matrix,
    rules: Sequence[ResolvedRule],
    stated: Sequence[Matrix | None],
) -> AttributeExamination:
    """What each rule states, pair by pair (None: nothing about these), beside what the metric gives."""
    above = given[(given > 0) & np.isfinite(given)]
    zero = np.argwhere(np.triu(given == 0, 1))
    spot = (labels[int(zero[0, 0])], labels[int(zero[0, 1])]) if len(zero) else None
    by_line = [(rule.line, one) for rule, one in zip(rules, stated, strict=True) if one is not None]
    through = min(((rule.presence, rule.line) for rule in rules if rule.presence is not None), default=None)
    every = [*by_line, *([] if through is None else [(through[1], Constant(2 * through[0]).matrix(len(labels)))])]
    nobody = None if through is None else through[1]
    found = (_tightening(name, labels, line, one, given, every, nobody) for line, one in by_line)
    apart = ~np.eye(len(labels), dtype=bool)
    idle = tuple(k for k, one in enumerate(stated) if one is not None and not np.isfinite(one[apart]).any())
    slack = tuple(k for k, one in enumerate(stated) if one is not None and k not in idle and _slack(one, given))
    smallest = float(above.min()) if above.size else None
    tightened = tuple(one for one in found if one is not None)
    return AttributeExamination(
        name, len(labels), kind, True, float(given.max()), smallest, spot, tightened, idle, slack
    )


def _slack(stated: Matrix, given: Matrix) -> bool:
    """No shortest path uses such a bound, so the metric is the same without it."""
    bound = np.isfinite(stated) & ~np.eye(len(stated), dtype=bool)
    return not np.any(bound & (stated <= given * (1 + _TOLERANCE) + np.finfo(float).tiny))


def work_of(metric: Metric) -> int:
    """How long it takes to look at all pairs: shortest paths cost about nodes times edges."""
    match metric:
        case CapMetric(inner=inner) | PresenceMetric(inner=inner) | OneMoreMetric(inner=inner):
            return work_of(inner)
        case GraphMetric():
            return metric.size * metric.first.size
        case _:
            return 0


def _tightening(
    name: str,
    labels: Sequence[str],
    line: int,
    stated: Matrix,
    given: Matrix,
    every: Sequence[tuple[int, Matrix]],
    nobody: int | None,
) -> Tightening | None:
    lower = np.triu(np.isfinite(stated) & (stated > given * (1 + _TOLERANCE) + np.finfo(float).tiny), 1)
    count = int(lower.sum())
    if count == 0:
        return None
    gain = np.where(lower, given, np.inf) / np.where(lower, stated, 1.0)
    start, end = (int(place) for place in np.unravel_index(int(np.argmin(gain)), gain.shape))
    path: list[tuple[int, str]] = []
    for rule, node in _shortest_path(every, start, end):
        path += [(rule, NOBODY)] if rule == nobody else []
        path.append((rule, labels[node]))
    first = float(stated[start, end]), float(given[start, end])
    return Tightening(line, name, *first, count, labels[start], tuple(path))


def _shortest_path(every: Sequence[tuple[int, Matrix]], start: int, end: int) -> list[tuple[int, int]]:
    """(line of the rule, next code) of each step of a shortest path under all rules' bounds."""
    edges = np.minimum.reduce([matrix for _, matrix in every])
    everyone = np.arange(len(edges))
    nodes = shortest_path(len(edges), start, end, lambda node: (everyone, edges[node]), np.float64) or []
    return [(min(every, key=lambda one: one[1][here, there])[0], there) for here, there in pairwise(nodes)]


def largest_distance(metric: Metric) -> float | None:
    """The largest distance; None where there are too many values to look and it is not known otherwise."""
    if metric.size > EXAMINED_SIZE or work_of(metric) > EXAMINED_WORK:
        return closed_form(metric)[0]
    codes = np.arange(metric.size)
    return float(metric.distance(codes[:, None], codes[None, :]).max())
