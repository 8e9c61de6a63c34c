"""Sixth phase, first half: the metric of each attribute in its most structured form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.families.graph import GraphMetric
from dxgeom.metrics.families.line import LineMetric
from dxgeom.metrics.families.partition import PartitionMetric
from dxgeom.metrics.families.star import StarMetric
from dxgeom.metrics.families.values import ValueSensitivityMetric
from dxgeom.metrics.metric import Metric, PairBlock
from dxgeom.numeric.rounding import round_down
from dxgeom.policy.bounds.bounds import Blocks, Bound, ByIndividual, ByValue, Constant, Edges, Growing, Near
from dxgeom.policy.lower.describe import AttributeDescription
from dxgeom.universe.attributes import Attribute

MIXED_SIZE_LIMIT: Final = 3000
"""An attribute whose bounds are of several families, one of them on all pairs, has at most this many values."""


def lower_attribute(part: AttributeDescription) -> Metric:
    """The metric on one attribute's codes.

    Raises: TooLarge when an exact form would exceed a stated size.
    """
    if not part.bounds:
        return (
            closed(part.attribute.size, ())
            if part.ceiling is None
            else DiscreteMetric(part.attribute.size, part.ceiling)
        )
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
            return axis.metric(rate, floor)
        case Near(axis=axis, epsilon=epsilon, reach=reach):
            first, second = axis.pairs(reach)
            return GraphMetric(attribute.size, first, second, np.full(first.size, round_down(epsilon)))
        case Edges(pairs=pairs, epsilons=epsilons):
            ends = np.array(pairs, dtype=np.int64)
            return GraphMetric(attribute.size, ends[:, 0], ends[:, 1], np.array([round_down(one) for one in epsilons]))
        case Blocks(blocks=blocks, epsilon=epsilon):
            return PartitionMetric(np.array(blocks, dtype=np.int64), epsilon)


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
    return closed(size, (block for form in forms for block in form.generating_pairs()))


def closed(size: int, stated: Iterable[PairBlock]) -> GraphMetric:
    """The closure of bounds on pairs of 0..size-1; ∞ where none leads."""
    none = np.empty(0, dtype=np.int64)
    blocks = [PairBlock(none, none, np.empty(0)), *stated]
    first, second, bound = (
        np.concatenate([getattr(block, field) for block in blocks]) for field in ("first", "second", "bound")
    )
    return GraphMetric(size, _codes(first), _codes(second), bound)


def _codes(array: NDArray[np.int64]) -> NDArray[np.int64]:
    return array.astype(np.int64, copy=False)
