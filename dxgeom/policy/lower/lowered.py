"""Fifth and sixth phase together: attributes' metrics, what no rule protects, and then the metric of records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from dxgeom.errors import PolicyError, TooLarge
from dxgeom.metrics.metric import Metric
from dxgeom.policy.lower.connectivity import Unprotected, partitions_of, unprotected, unprotected_records
from dxgeom.policy.lower.describe import MetricDescription
from dxgeom.policy.lower.listed_pairs import edges_of_listed
from dxgeom.policy.lower.metrics import lower_attributes, lower_records, under_ceiling
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.source.mistakes import Mistakes, Span

Lowered: TypeAlias = tuple[tuple[Metric, ...], tuple[Unprotected, ...], Callable[[], Metric]]
"""The attributes' metrics, what no rule protects, and what makes the records' metric."""


def lower(resolved: ResolvedPolicy, description: MetricDescription, mistakes: Mistakes) -> Lowered:
    """The metrics of a description. Raises: PolicyError for what is too large, then or once records are lowered."""
    described = _of_product if resolved.universe.listed is None else _of_listed
    return described(resolved, description, mistakes)


def _of_product(resolved: ResolvedPolicy, description: MetricDescription, mistakes: Mistakes) -> Lowered:
    parts = lower_attributes(resolved, description, mistakes)
    if mistakes:
        raise PolicyError(mistakes.found)
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
        raise PolicyError(mistakes.found) from error
