"""The form each attribute's metric was given, and why: what decides how fast and how exactly it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from dxgeom.metrics.combinations import (
    CapMetric,
    GroupedMetric,
    MaxMetric,
    OneMoreMetric,
    PresenceMetric,
    ReorderedMetric,
    SumMetric,
)
from dxgeom.metrics.families import DiscreteMetric, StarMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.metric import Metric
from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.bounds.value_bounds import shapes
from dxgeom.policy.explain.sentences import listed
from dxgeom.policy.lower.blocks import AttributeDescription, MetricDescription, blocks_of, only_tie
from dxgeom.policy.resolve.rules import ResolvedRule, stated_alone
from dxgeom.universe.columns import plain

ALL_RECORDS: Final = "records"


@final
@dataclass(frozen=True)
class Form:
    """How the metric of an attribute, or at last of whole records, is computed.

    ``name``: the attribute, or "records"; ``form``: the metric's family. ``rules``: lines of the rules that shape it;
    ``idle``: lines of the rules about it that others undercut on every pair.
    """

    name: str
    form: str
    why: str
    rules: tuple[int, ...]
    idle: tuple[int, ...]

    def __str__(self) -> str:
        lines = f" (line {', '.join(map(str, self.rules))})" if self.rules else ""
        idle = (
            f"; line {', '.join(map(str, self.idle))} never binds: another rule is nowhere above" if self.idle else ""
        )
        return f"{self.name}: {self.form}: {self.why}{lines}{idle}"

    def as_dict(self) -> dict[str, Any]:
        """The same fields, ready for JSON."""
        return {**asdict(self), "rules": list(self.rules), "idle": list(self.idle)}


def forms(
    description: MetricDescription, parts: Sequence[Metric], whole: Metric, rules: Sequence[ResolvedRule]
) -> tuple[Form, ...]:
    """The form of each attribute's metric, then that of the metric on records."""
    metrics: Sequence[Metric | None] = parts or [None] * len(description.parts)
    found = [_of_attribute(part, metric, rules) for part, metric in zip(description.parts, metrics, strict=True)]
    return (*found, _of_records(description, whole, rules, of_a_table=not parts))


def _of_attribute(part: AttributeDescription, metric: Metric | None, rules: Sequence[ResolvedRule]) -> Form:
    name = part.attribute.name
    stated = stated_alone(rules, name)
    bounds = [bound for _, bound in stated]
    used, idle = _lines([(rule.line, shapes(bound, bounds, part.bounds)) for rule, bound in stated])
    if metric is None:
        why = "the rules about it bound the listed records that differ in nothing else"
        return Form(name, "listed pairs", why, used, idle)
    return Form(name, _family(metric), _why(metric, part.bounds), used, idle)


def _lines(stated: Sequence[tuple[int, bool]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The lines of rules that shape a metric, and of those that do not."""
    used, idle = (dict.fromkeys(line for line, shapes in stated if shapes is wanted) for wanted in (True, False))
    return tuple(used), tuple(idle)


def _of_records(description: MetricDescription, whole: Metric, rules: Sequence[ResolvedRule], of_a_table: bool) -> Form:
    stated = [(rule.line, rule.everything == description.ceiling) for rule in rules if rule.everything is not None]
    stated += [(rule.line, rule.joint in description.joint) for rule in rules if rule.joint is not None]
    stated += [(rule.line, rule.presence == description.presence) for rule in rules if rule.presence is not None]
    used, idle = _lines(sorted(stated))
    present = whole.inner if isinstance(whole, PresenceMetric) else whole
    why = _why_records(description, present, of_a_table)
    if isinstance(whole, PresenceMetric):
        why += f"; a record may be absent, at {plain(whole.epsilon)}, so no two are farther apart than twice that"
    return Form(ALL_RECORDS, _family(whole), why, used, idle)


def _why_records(description: MetricDescription, whole: Metric, of_a_table: bool) -> str:
    inner = whole.inner if isinstance(whole, CapMetric) and description.ceiling is not None else whole
    if isinstance(inner, DiscreteMetric) and description.ceiling is not None and inner is whole:
        why = "the only rules are about all pairs of records"
    elif of_a_table and isinstance(inner, GraphMetric):
        why = f"a table lists the records: shortest paths among them over {inner.first.size:,} pairs"
    else:
        why = _of_parts(inner.inner if isinstance(inner, ReorderedMetric) else inner, description)
    if inner is not whole and description.ceiling is not None:
        why += f"; a rule about all pairs cuts them off at {plain(description.ceiling)}"
    return why


def _of_parts(metric: Metric, description: MetricDescription) -> str:
    """Why the attributes' distances are joined as they are."""
    tied = []
    for block in (block for block in blocks_of(description) if len(block) > 1):
        names = listed([description.parts[place].attribute.name for place in block])
        alone = only_tie(block, description)
        why = "the largest change counts" if alone is not None else "shortest paths over all their combinations"
        tied.append(f"{names} are tied to each other: {why}")
    match metric:
        case SumMetric() if tied:
            why = "distances add, but not of attributes that rules tie to each other"
        case SumMetric():
            why = "a rule is about one attribute at a time, so the attributes' distances add"
        case GroupedMetric():
            why = "distances add, unless a constant for several attributes together is smaller"
        case _ if len(description.parts) > 1:
            return "; ".join(tied)
        case _:
            why = "there is one attribute, and its distance is the records'"
    return "; ".join([why, *tied])


def _family(metric: Metric) -> str:
    match metric:
        case CapMetric(inner=inner):
            return f"{_family(inner)}, capped"
        case PresenceMetric(inner=inner):
            return f"{_family(inner)}, and absence"
        case OneMoreMetric(inner=inner):
            return f"{_family(inner)}, or missing"
        case ReorderedMetric(inner=inner):
            return _family(inner)
        case MaxMetric():
            return "largest change"
        case DiscreteMetric():
            return "discrete"
        case ValueSensitivityMetric():
            return "value sensitivities"
        case StarMetric():
            return "individuals"
        case _:
            return type(metric).__name__.removesuffix("Metric").lower()


def _why(metric: Metric, bounds: Sequence[Bound]) -> str:
    """The theorem behind the form of some bounds, in words."""
    match metric:
        case CapMetric(inner=inner, epsilon=epsilon):
            return f"{_why(inner, bounds)}; no pair is farther apart than the constant {plain(epsilon)}"
        case OneMoreMetric(inner=inner, epsilon=epsilon):
            there = [bound.of_present for bound in bounds if bound.of_present is not None]
            away = "whether it is missing is public" if epsilon is None else f"missing is {plain(epsilon)} from each"
            return f"{_why(inner, there)}; {away}"
        case DiscreteMetric() if not bounds:
            return "every two values are bounded by the same epsilon"
        case GraphMetric(first=first) if first.size == 0:
            return "no rule is about it on its own"
        case GraphMetric(first=first) if len(bounds) > 1:
            return f"bounds of several kinds meet: shortest paths over the {first.size:,} pairs that generate them"
    return bounds[0].why(metric)
