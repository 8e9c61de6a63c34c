"""Sixth phase: from the exact description to the metric, each attribute in its most structured form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.cap import CapMetric
from dxgeom.metrics.discrete import DiscreteMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.line import LineMetric
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.presence import PresenceMetric
from dxgeom.metrics.product import SumMetric
from dxgeom.metrics.star import StarMetric
from dxgeom.metrics.values import ValueSensitivityMetric
from dxgeom.numeric.rounding import round_down
from dxgeom.policy.bounds import Bound, ByIndividual, ByValue, Constant, Edges, Growing, Near
from dxgeom.policy.describe import AttributeDescription, MetricDescription
from dxgeom.policy.near_pairs import near_pairs, positions_on
from dxgeom.universe.attributes import Attribute, PointsAttribute

MIXED_SIZE_LIMIT: Final = 3000
"""An attribute whose bounds are of several families, one of them on all pairs, has at most this many values."""


def lower(description: MetricDescription, parts: Sequence[Metric]) -> Metric:
    """The metric of a whole description, from its attributes' metrics.

    Guarantee: every bound is exact or *rounded down*.
    """
    present = _of_records(description, parts)
    return present if description.presence is None else PresenceMetric(present, description.presence)


def _of_records(description: MetricDescription, parts: Sequence[Metric]) -> Metric:
    ceiling = description.ceiling
    bare = all(not part.bounds and part.ceiling is None for part in description.parts)
    if ceiling is not None and bare:
        return DiscreteMetric(math.prod(part.size for part in parts), ceiling)
    inner = parts[0] if len(parts) == 1 else SumMetric(tuple(parts))
    return inner if ceiling is None else CapMetric(inner, ceiling)


def lower_attribute(part: AttributeDescription) -> Metric:
    """The metric on one attribute's codes.

    Raises: TooLarge when an exact form would exceed a stated size.
    """
    if not part.bounds:
        return _nothing(part.attribute) if part.ceiling is None else DiscreteMetric(part.attribute.size, part.ceiling)
    forms = [form(part.attribute, bound) for bound in part.bounds]
    inner = forms[0] if len(forms) == 1 else _union(part.attribute, forms)
    return inner if part.ceiling is None else CapMetric(inner, part.ceiling)


def form(attribute: Attribute, bound: Bound) -> Metric:
    """The structured metric of one bound on its own: its closure.

    Raises: TooLarge.
    """
    match bound:
        case Constant(epsilon=epsilon):
            return DiscreteMetric(attribute.size, epsilon)
        case ByValue(epsilons=epsilons):
            return _by_value(epsilons)
        case ByIndividual(epsilons=epsilons):
            return _by_individual(epsilons)
        case Growing(axis=axis, rate=rate, floor=floor):
            if isinstance(attribute, PointsAttribute):
                return PointsMetric(attribute.coordinates, attribute.geometry, rate, floor)
            positions = positions_on(attribute, axis)
            if floor == 0:
                return LineMetric(positions, rate)
            column = np.array([[float(position)] for position in positions])
            return PointsMetric(column, "plane", rate, floor)
        case Near(axis=axis, epsilon=epsilon, reach=reach):
            first, second = near_pairs(attribute, axis, reach)
            return GraphMetric(attribute.size, first, second, np.full(first.size, round_down(epsilon)))
        case Edges(pairs=pairs, epsilons=epsilons):
            ends = np.array(pairs, dtype=np.int64)
            return GraphMetric(attribute.size, ends[:, 0], ends[:, 1], np.array([round_down(one) for one in epsilons]))


def _by_value(epsilons: tuple[Fraction | None, ...]) -> Metric:
    """A value without an ε of its own is reached through the most sensitive one and back: twice the smallest ε."""
    smallest = min(epsilon for epsilon in epsilons if epsilon is not None)
    return ValueSensitivityMetric(tuple(2 * smallest if epsilon is None else epsilon for epsilon in epsilons))


def _by_individual(epsilons: tuple[Fraction | None, ...]) -> Metric:
    """A value without an ε of its own stands alone; among the others no detour is shorter than a sum."""
    known = [(code, epsilon) for code, epsilon in enumerate(epsilons) if epsilon is not None]
    star = StarMetric(tuple(epsilon for _, epsilon in known))
    if star.size == len(epsilons):
        return star
    if star.size > MIXED_SIZE_LIMIT:
        raise TooLarge(
            f"'individuals' lists {star.size:,} of its values and leaves others out; at most {MIXED_SIZE_LIMIT:,} are "
            "handled then: say 'otherwise'"
        )
    codes = np.array([code for code, _ in known], dtype=np.int64)
    blocks = list(star.generating_pairs())
    first, second = (np.concatenate([np.empty(0, np.int64), *(block[k] for block in blocks)]) for k in (0, 1))
    bounds = np.concatenate([np.empty(0), *(block.bound for block in blocks)])
    return GraphMetric(len(epsilons), codes[_codes(first)], codes[_codes(second)], bounds)


def _union(attribute: Attribute, forms: Sequence[Metric]) -> GraphMetric:
    """The closure of several metrics' minimum: their generating pairs together generate it."""
    size = attribute.size
    if size > MIXED_SIZE_LIMIT and not all(isinstance(form, GraphMetric | LineMetric) for form in forms):
        raise TooLarge(
            f"its rules mix bounds of different kinds over {size:,} values; at most {MIXED_SIZE_LIMIT:,} are handled: "
            "use one kind of bound, or fewer values"
        )
    blocks = [block for form in forms for block in form.generating_pairs()]
    if not blocks:
        return _nothing(attribute)
    first, second, bound = (
        np.concatenate([getattr(block, field) for block in blocks]) for field in ("first", "second", "bound")
    )
    return GraphMetric(size, _codes(first), _codes(second), bound)


def _codes(array: NDArray[np.int64]) -> NDArray[np.int64]:
    return array.astype(np.int64, copy=False)


def _nothing(attribute: Attribute) -> GraphMetric:
    none = np.empty(0, dtype=np.int64)
    return GraphMetric(attribute.size, none, none, np.empty(0))
