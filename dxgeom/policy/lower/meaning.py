"""What a policy comes to, however it is written: what tells accounts apart beside its fingerprint.

Idle rules, the order and repetition of rules, the order of attributes and ``from:`` an attribute's own name change
nothing here; labels, their order, ends, readings and distances do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.combinations import CapMetric
from dxgeom.metrics.diameters import closed_form
from dxgeom.metrics.metric import Metric, all_pairs
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.policy.bounds.bound import MIXED_SIZE_LIMIT, Bound
from dxgeom.policy.bounds.joint_bounds import JointBound
from dxgeom.policy.lower.blocks import AttributeDescription, MetricDescription
from dxgeom.policy.lower.lowered import lower_attribute
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.reading.expressions import NumberCell, WordCell
from dxgeom.universe.reading.reading import CellReading, plain_reading
from dxgeom.universe.universe import Universe

_SMALL: Final = 512
"""So many values of an attribute, or listed records, are compared pair by pair; of more, what is stated of them."""

_IDLE: Final = 1 + 2.0**-40
"""A bound that is this much above all that it bounds binds nowhere, whatever was rounded."""


def meaning_of(policy: ResolvedPolicy, description: MetricDescription, parts: Sequence[Metric], metric: Metric) -> str:
    """SHA-256 of how rows are read, the distances, and what these are counted in; no budget, no name.

    Guarantee: equal only of policies whose compiled metrics have equal distances, and that read rows alike. Where what
    is stated is compared, policies that come to the same may differ. Not for keeping: two machines may round places
    differently.
    """
    universe = policy.universe
    order = _order(universe)
    read = [
        [universe.attributes[place].digest, _reading(universe.attributes[place], universe.reading.attributes[place])]
        for place in order
    ]
    listed = None if universe.listed is None else np.asarray(universe.listed)
    people = None if universe.reading.people is None else _plain(universe.reading.people.digest)
    if universe.form.names or universe.reading.of_rows:
        people = [people, list(universe.form.names), _plain(universe.reading.of_rows)]
    if universe.listed is not None and metric.size <= _SMALL:
        distances: list[Any] = ["each", _matrix(metric)]
    else:
        distances = ["stated", *_meaning_as_written(description, parts, order)]
    known = policy.known
    held: list[Any] = [] if known is None or known.hold is None else [[known.hold, known.digest]]
    if policy.lasting:
        held.append(["periods", *([periods, str(epsilon)] for periods, epsilon in policy.lasting)])
    chance = [] if policy.delta is None else [["delta", str(policy.delta)]]
    return canonical_digest(
        "meaning of a policy",
        read,
        listed,
        people,
        universe.presence,
        policy.privacy,
        sorted(policy.public),
        distances,
        *held,
        *chance,
    )


def _order(universe: Universe) -> list[int]:
    """Attributes by name; a table lists records in the order of its columns."""
    places = range(len(universe.attributes))
    return [*places] if universe.listed is not None else sorted(places, key=lambda k: universe.attributes[k].name)


def _reading(attribute: Attribute, reading: CellReading) -> Any:
    plain, made = plain_reading(attribute), reading.expression
    own = isinstance(made, NumberCell) or (isinstance(made, WordCell) and made.length is None)
    if own and (reading.columns, reading.read_as) == (plain.columns, plain.read_as):
        made = None
    return _plain(replace(reading, expression=made).digest)


def _plain(digest: Any) -> Any:
    """Lists of words and numbers, as they are digested."""
    return [_plain(one) for one in digest] if isinstance(digest, list | tuple) else digest


def _matrix(metric: Metric) -> NDArray[np.float64]:
    codes = np.arange(metric.size)
    return np.asarray(metric.distance(codes[:, None], codes[None, :]), dtype=np.float64) + 0.0


def _meaning_as_written(description: MetricDescription, parts: Sequence[Metric], order: Sequence[int]) -> list[Any]:
    alone: list[Any] = []
    across: dict[str, float] = {}
    for place in order:
        part, own = description.parts[place], parts[place] if parts else None
        if own is not None:
            part, own = _without_idle(part, own)
        across[part.attribute.name] = _diameter(part, own)
        alone.append(_bounds(part, own) if own is None or own.size > _SMALL else _matrix(own))
    joint = [bound for bound in description.joint if not _is_idle(bound, across)]
    ceiling, whole = description.ceiling, sum(across.values())
    if ceiling is not None and float(ceiling) > whole * _IDLE:
        ceiling = None
    return [
        alone,
        sorted(canonical_digest("joint", _plain(bound.data)) for bound in joint),
        ceiling,
        description.presence,
    ]


def _without_idle(part: AttributeDescription, metric: Metric) -> tuple[AttributeDescription, Metric]:
    """The same without bounds that are above the distances by what is left, everywhere and by more than is rounded;
    and one epsilon for all values, whether it was written once or value by value, as the ceiling.

    Whichever is left out first: where A is above the closure of B, and B above that of A, some pair of A would be above
    its own distance by A, which holds of no shortest step.
    """
    kept, listed = part, next((one for one in part.bounds if one.constant is not None), None)
    if listed is not None:
        # Constants were put into the only list, so that there is no other ceiling.
        kept = replace(part, bounds=tuple(one for one in part.bounds if one is not listed), ceiling=listed.constant)
    for bound in sorted(kept.bounds, key=lambda one: canonical_digest("bound", _plain(one.data))):
        others = replace(kept, bounds=tuple(one for one in kept.bounds if one is not bound))
        if (others.bounds or others.ceiling is not None) and _is_above(bound, others):
            kept = others
    return (part, metric) if kept is part else (kept, lower_attribute(kept))


def _is_above(bound: Bound, others: AttributeDescription) -> bool:
    """Whether a bound binds nowhere beside the others; not sure counts as no."""
    size = others.attribute.size
    try:
        metric, few = lower_attribute(others), bound.few_pairs()
    except TooLarge:
        return False
    if few is None and size > MIXED_SIZE_LIMIT:
        return False
    return all(
        bool(np.all(bound.of_pairs(first, second) >= metric.distance(first, second) * _IDLE))
        for first, second in (all_pairs(size) if few is None else [few])
    )


def _bounds(part: AttributeDescription, metric: Metric | None) -> list[Any]:
    idle = isinstance(metric, CapMetric) and float(metric.epsilon) > _across(metric.inner) * _IDLE
    return [
        sorted(canonical_digest("bound", _plain(bound.data)) for bound in part.bounds),
        None if idle else part.ceiling,
    ]


def _diameter(part: AttributeDescription, metric: Metric | None) -> float:
    """Not less than any distance of the attribute's values, but for what is rounded."""
    if metric is not None:
        return _across(metric)
    return math.inf if part.ceiling is None else float(part.ceiling)


def _across(metric: Metric) -> float:
    """The largest distance where it is known or soon found; else that of two detours over the first value."""
    if metric.size <= _SMALL:
        return float(_matrix(metric).max())
    known, _ = closed_form(metric)
    return 2 * float(metric.distance(0, np.arange(metric.size)).max()) if known is None else known


def _is_idle(bound: JointBound, across: dict[str, float]) -> bool:
    whole = sum(across[name] for name in bound.names)
    return bound.constant is not None and float(bound.constant) > whole * _IDLE
