"""Fifth and sixth phase together: attributes' metrics, what no rule protects, and then the metric of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import TypeAlias

from dxgeom.errors import PolicyError, TooLarge
from dxgeom.metrics.combinations import CapMetric, OneMoreMetric, PresenceMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.metric import Metric
from dxgeom.policy.bounds.bound import MIXED_SIZE_LIMIT, Bound, Constant, closed
from dxgeom.policy.bounds.value_bounds import reduced
from dxgeom.policy.lower.blocks import AttributeDescription, MetricDescription, joined
from dxgeom.policy.lower.connectivity import Unprotected, partitions_of, unprotected, unprotected_records
from dxgeom.policy.lower.listed_pairs import edges_of_listed
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.universe.wording import shown


def lower_attribute(part: AttributeDescription) -> Metric:
    """The metric on one attribute's codes.

    Raises: TooLarge when an exact form would exceed a stated size.
    """
    apart = all(bound.of_present is not None or bound.to_missing is not None for bound in part.bounds)
    if part.attribute.missing is not None and apart:
        return _with_missing_value(part)
    return _closed(part.attribute.size, part.bounds, part.ceiling)


def lower_attributes(
    resolved: ResolvedPolicy, description: MetricDescription, mistakes: Mistakes
) -> tuple[Metric, ...]:
    """Each attribute's metric; all that are too large are told together, as mistakes, and left out."""
    parts = []
    for part in description.parts:
        try:
            parts.append(lower_attribute(part))
        except TooLarge as error:
            name = part.attribute.name
            rule = next(rule for rule in resolved.rules if rule.alone(name) is not None)
            mistakes.add("DX138", rule.span, f"attribute {shown(name)}: {error}")
    return tuple(parts)


def _closed(size: int, bounds: Sequence[Bound], ceiling: Fraction | None) -> Metric:
    if not bounds:
        return closed(size, ()) if ceiling is None else DiscreteMetric(size, ceiling)
    forms = [bound.metric(size) for bound in bounds]
    inner = forms[0] if len(forms) == 1 else _union(size, forms)
    return inner if ceiling is None else CapMetric(inner, ceiling)


def _with_missing_value(part: AttributeDescription) -> Metric:
    """Where no bound tells one value that is there from another by how far it is from the missing one."""
    among = [bound.of_present for bound in part.bounds if bound.of_present is not None]
    bounds, least = reduced([*among, *([] if part.ceiling is None else [Constant(part.ceiling)])])
    present = _closed(part.attribute.present.size, bounds, least)
    away = [bound.to_missing for bound in part.bounds if bound.to_missing is not None]
    away += [] if part.ceiling is None else [part.ceiling]
    if isinstance(present, DiscreteMetric) and away and min(away) == present.epsilon:
        return DiscreteMetric(part.attribute.size, present.epsilon)
    return OneMoreMetric(present, min(away, default=None))


def _union(size: int, forms: Sequence[Metric]) -> GraphMetric:
    """The closure of several metrics' minimum: their generating pairs together generate it."""
    if size > MIXED_SIZE_LIMIT and not all(isinstance(form, GraphMetric | LineMetric) for form in forms):
        raise TooLarge(
            f"its rules mix bounds of different kinds over {size:,} values; at most {MIXED_SIZE_LIMIT:,} are handled: "
            "use one kind of bound, or fewer values"
        )
    return closed(size, (block for form in forms for block in form.generating_pairs()))


def lower_records(description: MetricDescription, parts: Sequence[Metric]) -> Metric:
    """The metric of a whole description, from its attributes' metrics.

    Guarantee: every bound is exact or *rounded down*.
    Raises: TooLarge when an exact form would exceed a stated size.
    """
    bare = all(not part.bounds and part.ceiling is None for part in description.parts) and not description.joint
    return under_ceiling(joined(description, parts), bare, description)


def under_ceiling(metric: Metric, bare: bool, description: MetricDescription) -> Metric:
    """The metric with what is stated about all pairs of records; ``bare``: nothing else is stated."""
    if description.ceiling is not None:
        ceiling = description.ceiling
        metric = DiscreteMetric(metric.size, ceiling) if bare else CapMetric(metric, ceiling)
    return metric if description.presence is None else PresenceMetric(metric, description.presence)


Lowered: TypeAlias = tuple[tuple[Metric, ...], tuple[Unprotected, ...], Callable[[], Metric]]
"""The attributes' metrics, what no rule protects, and what makes the records' metric."""


def lower(resolved: ResolvedPolicy, description: MetricDescription, mistakes: Mistakes) -> Lowered:
    """The metrics of a description. Raises: PolicyError for what is too large, then or once records are lowered."""
    described = _of_product if resolved.universe.listed is None else _of_listed
    return described(resolved, description, mistakes)


def _of_product(resolved: ResolvedPolicy, description: MetricDescription, mistakes: Mistakes) -> Lowered:
    parts = lower_attributes(resolved, description, mistakes)
    if mistakes:
        raise PolicyError(mistakes.all)
    apart = unprotected(description, parts, partitions_of(resolved))

    def of_records() -> Metric:
        """What is too large is told at a rule about several attributes together."""
        span = next((rule.span for rule in resolved.rules if rule.joint is not None), resolved.universe_span)
        with _small_enough(mistakes, span):
            return lower_records(description, parts)

    return parts, apart, of_records


def _of_listed(resolved: ResolvedPolicy, description: MetricDescription, mistakes: Mistakes) -> Lowered:
    with _small_enough(mistakes, resolved.universe_span):
        edges = edges_of_listed(resolved.universe, description)
    apart = unprotected_records(description, resolved.universe, edges, resolved.public)
    return (), apart, lambda: under_ceiling(edges, edges.first.size == 0, description)


@contextmanager
def _small_enough(mistakes: Mistakes, span: Span) -> Iterator[None]:
    """Stops at the sizes that cannot be kept exactly."""
    try:
        yield
    except TooLarge as error:
        mistakes.add("DX138", span, str(error))
        raise PolicyError(mistakes.all) from error
