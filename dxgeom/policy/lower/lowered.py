"""Fifth and sixth phase together: attributes' metrics, what no rule protects, and then the metric of records.

Values that no rule protects: allowed when asked for, never silent.

What rules state for pairs of listed records that differ only in the attributes that they are about.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import PolicyError, TooLarge
from dxgeom.metrics.combinations import CapMetric, OneMoreMetric, PresenceMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.metric import Metric
from dxgeom.policy.axes import runs
from dxgeom.policy.bounds.bound import MIXED_SIZE_LIMIT, Bound, Constant, closed
from dxgeom.policy.bounds.joint_bounds import JointBound
from dxgeom.policy.bounds.value_bounds import reduced
from dxgeom.policy.kinds.attribute_kinds import kind_making
from dxgeom.policy.lower.blocks import AttributeDescription, MetricDescription, joined
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.syntax.schema import splits_records
from dxgeom.universe.attributes import OUTSIDE
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import shown

_LISTED = 4


@final
@dataclass(frozen=True)
class Unprotected:
    """An attribute some of whose values may be told apart exactly.

    ``components``: (number of values, an example) of each group within which values are protected, largest first; each
    value for itself where only a partition of the records mentions them. Where a table lists the records, ``attribute``
    is None and the groups are of records; ``without_rule``: attributes that no rule is about.
    """

    attribute: str | None
    no_rule: bool
    components: tuple[tuple[int, str], ...]
    without_rule: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.attribute is None:
            alone = f" (no rule is about {', '.join(map(shown, self.without_rule))})" if self.without_rule else ""
            return (
                f"the rules leave {len(self.components):,} groups of listed records that may be told apart exactly"
                f"{alone}: {self._listed}"
            )
        if self.no_rule and self.components:
            blocks = self._some(shown(example) for _, example in self.components[:_LISTED])
            return (
                f"a partition by {shown(self.attribute)} protects nothing across its {len(self.components):,} blocks: "
                f"records may be told apart exactly when they lie in different ones of {blocks}"
            )
        if self.no_rule:
            return f"no rule protects the attribute {shown(self.attribute)}: its values may be told apart exactly"
        return (
            f"the rules on {shown(self.attribute)} leave {len(self.components):,} groups of values that may be told "
            f"apart exactly: {self._listed}"
        )

    @property
    def _listed(self) -> str:
        return self._some(f"{size:,} with {shown(example)}" for size, example in self.components[:_LISTED])

    def _some(self, words: Iterable[str]) -> str:
        more = len(self.components) - _LISTED
        return ", ".join([*words, *([f"and {more:,} more"] if more > 0 else [])])


def unprotected(
    description: MetricDescription, parts: tuple[Metric, ...], partitions: frozenset[str] = frozenset()
) -> tuple[Unprotected, ...]:
    """The attributes with pairs at infinite distance; ``parts`` are the attributes' metrics.

    ``partitions``: the attributes whose values are the blocks of a partition of the records.
    What a constant for several attributes covers is protected, and everything is where records may be absent. Where
    every other attribute's values are joined by chains, so are all records: change one attribute after another.
    """
    if description.ceiling is not None or description.presence is not None:
        return ()
    covered = {name for group, _ in description.groups for name in group.names}
    pairs = [pair for pair in zip(description.parts, parts, strict=True) if pair[0].attribute.name not in covered]
    found = (_of_attribute(part, metric, part.attribute.name in partitions) for part, metric in pairs)
    return tuple(one for one in found if one is not None)


def unprotected_records(
    description: MetricDescription, universe: Universe, edges: GraphMetric, public: frozenset[str] = frozenset()
) -> tuple[Unprotected, ...]:
    """The same where a table lists the records; ``edges`` join those that rules about some attributes bound.

    ``public``: the attributes of which it is not hidden whether they are missing; no rule joins records that differ in
    that, so as many groups as there are such differences are meant.
    """
    count, groups = edges.components()
    if description.ceiling is not None or description.presence is not None or count == _known_groups(universe, public):
        return ()
    components = _components(groups, lambda record: ", ".join(universe.record(record).values()))
    together = {name for bound in description.joint for name in bound.names}
    bare = (part.attribute.name for part in description.parts if not part.bounds and part.ceiling is None)
    alone = tuple(name for name in bare if name not in together)
    return (Unprotected(None, no_rule=False, components=components, without_rule=alone),)


def _known_groups(universe: Universe, public: frozenset[str]) -> int:
    """How many groups of listed records differ in what is publicly missing."""
    codes = zip(universe.attributes, universe.listed_codes, strict=True)
    gone = [code == attribute.missing for attribute, code in codes if attribute.name in public]
    return len(np.unique(np.stack(gone), axis=1).T) if gone else 1


def _of_attribute(part: AttributeDescription, metric: Metric, splits: bool) -> Unprotected | None:
    if isinstance(metric, OneMoreMetric):
        if metric.epsilon is not None:
            return None  # the missing value joins all others
        metric = metric.inner
    if not isinstance(metric, GraphMetric | PartitionMetric) or metric.size == 1:
        return None
    count, groups = metric.components()
    if count == 1:
        return None
    if not part.bounds:
        blocks = tuple((1, label) for label in part.attribute.labels) if splits else ()
        return Unprotected(part.attribute.name, no_rule=True, components=blocks)
    labels = part.attribute.labels
    components = _components(groups, lambda code: labels[code])
    return Unprotected(part.attribute.name, no_rule=False, components=components)


def _components(groups: NDArray[np.int64], example: Callable[[int], str]) -> tuple[tuple[int, str], ...]:
    _, first, sizes = np.unique(groups, return_index=True, return_counts=True)
    order = np.lexsort((first, -sizes))
    return tuple(
        (int(sizes[group]), example(int(first[group])) if place < _LISTED else "") for place, group in enumerate(order)
    )


def partitions_of(policy: ResolvedPolicy) -> frozenset[str]:
    """The attributes by which rules split the records."""
    splitting = [rule.syntax.secrets for rule in policy.rules if splits_records(rule.syntax)]
    return frozenset(name for secrets in splitting if secrets is not None for name in secrets.partition or ())


def check_connected(policy: ResolvedPolicy, found: tuple[Unprotected, ...], mistakes: Mistakes) -> None:
    """Note unprotected values as mistakes, unless the policy says ``unconnected: allow``."""
    if policy.unconnected_allowed:
        return
    spans = dict(zip(policy.universe.names, policy.attribute_spans, strict=True))
    for one in found:
        if one.attribute is None:
            advice = "add rules, or 'between: everything', or list the records between; or write 'unconnected: allow'"
            mistakes.add("DX155", policy.universe_span, str(one), f"{advice} if that is what you want")
            continue
        code = "DX150" if one.no_rule else "DX151"
        rule = kind_making(policy.universe.attribute(one.attribute).present).joining
        if one.no_rule:
            rule = f"add a rule 'change: {one.attribute}'"
        advice = f"{rule}; or write 'unconnected: allow' if that is what you want"
        mistakes.add(code, spans[one.attribute], str(one), advice)


MAX_PAIRS: Final = 5_000_000

Indices: TypeAlias = NDArray[np.int64]


@final
@dataclass(frozen=True)
class ListedAxisPairs:
    """The listed records, grouped by all attributes but those at ``places``."""

    universe: Universe
    places: tuple[int, ...]

    def pairs(self) -> tuple[Indices, Indices]:
        """All pairs of records that differ in these attributes only, each once.

        Raises: TooLarge.
        """
        if self.count > MAX_PAIRS:
            raise too_many(self.count, [self.universe.names[place] for place in self.places])
        order, ends = self.groups
        behind = np.arange(1, order.size + 1)
        first, second = runs(behind, ends - behind)
        return order[first], order[second]

    @property
    def count(self) -> int:
        """How many such pairs there are."""
        order, ends = self.groups
        return int((ends - np.arange(order.size) - 1).sum())

    @cached_property
    def groups(self) -> tuple[Indices, Indices]:
        """Records in the order of their group and then of their codes; for each place there, the end of its group."""
        listed = self.universe.listed
        rest = np.arange(self.universe.record_types) if listed is None else listed
        codes = [self.universe.listed_codes[place] for place in self.places]
        for place, code in zip(self.places, codes, strict=True):
            rest = rest - code * math.prod(self.universe.shape[place + 1 :])
        order = np.lexsort((*reversed(codes), rest))
        ordered = rest[order]
        last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        return order, last[np.searchsorted(last, np.arange(order.size))] + 1


def too_many(count: int, names: Sequence[str]) -> TooLarge:
    """The refusal of so many pairs of records that differ only in these attributes."""
    quoted = ", ".join(f"'{name}'" for name in names)
    return TooLarge(
        f"{count:,} pairs of listed records differ only in {quoted}; at most "
        f"{MAX_PAIRS:,} are handled: use a table of fewer records, 'per' on numbers, or attributes instead of a table"
    )


BoundedPairs: TypeAlias = tuple[Indices, Indices, NDArray[np.float64]]


def stated_together(universe: Universe, bound: JointBound) -> BoundedPairs:
    """The pairs of listed records that differ only in the attributes of a joint bound, with what it states for each.

    Guarantee: every bound is exact or *rounded down*. All pairs are there: the records between may not be listed.
    Raises: TooLarge.
    """
    places = tuple(place for place, name in enumerate(universe.names) if name in bound.names)
    first, second = ListedAxisPairs(universe, places).pairs()
    codes = {universe.names[place]: universe.listed_codes[place] for place in places}
    stated = bound.of_pairs({name: (each[first], each[second]) for name, each in codes.items()})
    known = np.isfinite(stated)
    return first[known], second[known], stated[known]


@final
@dataclass(frozen=True)
class Neighbourhoods:
    """The listed records, grouped by all attributes but the one at ``place``."""

    universe: Universe
    place: int

    @property
    def codes(self) -> Indices:
        """Its code in each record."""
        return self.universe.listed_codes[self.place]

    def as_written(self, bound: Bound) -> BoundedPairs:
        """The pairs that a bound is about, with what it states, *rounded down*.

        Raises: TooLarge.
        """
        few = bound.few_pairs() if self._fibres.count > MAX_PAIRS else None
        return self._bounded(bound, *(self._fibres.pairs() if few is None else self._joined(*few)))

    def generating(self, bound: Bound) -> BoundedPairs:
        """Pairs that generate what a bound states: on a line the next record in each group says it all.

        Raises: TooLarge.
        """
        if not bound.in_order:
            return self.as_written(bound)
        order, ends = self._fibres.groups
        inside = np.flatnonzero(np.arange(order.size) + 1 < ends)
        return self._bounded(bound, order[inside], order[inside + 1])

    def _bounded(self, bound: Bound, first: Indices, second: Indices) -> BoundedPairs:
        bounds = bound.of_pairs(self.codes[first], self.codes[second])
        known = np.isfinite(bounds)
        return first[known], second[known], bounds[known]

    def _joined(self, one: Indices, other: Indices) -> tuple[Indices, Indices]:
        """From pairs of codes: each record with the one code, and the same record with the other where it is listed."""
        order = np.argsort(self.codes, kind="stable")
        low, high = (np.searchsorted(self.codes[order], one, side=side) for side in ("left", "right"))
        counts = high - low
        total = int(counts.sum())
        if total > MAX_PAIRS:
            raise too_many(total, [self.universe.names[self.place]])
        pair, at = runs(low, counts)
        first = order[at]
        columns = [column[first] for column in self.universe.listed_codes]
        columns[self.place] = other[pair]
        second = self.universe.indices_of(columns)
        there = second != OUTSIDE
        return first[there], second[there]

    @cached_property
    def _fibres(self) -> ListedAxisPairs:
        return ListedAxisPairs(self.universe, (self.place,))


def edges_of_listed(universe: Universe, description: MetricDescription) -> GraphMetric:
    """The pairs of listed records that generate what the rules state about one attribute, or several together.

    Definition: the closure over *listed* records. A path through a record that is not listed does not exist, so
    distances may be larger than over the product of the attributes.
    Guarantee: every bound is exact or *rounded down*.
    Raises: TooLarge.
    """
    found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))]
    for place, part in enumerate(description.parts):
        groups = Neighbourhoods(universe, place)
        found += [groups.generating(bound) for bound in _bounds(part)]
    found += [stated_together(universe, bound) for bound in description.joint]
    first, second, bounds = (np.concatenate([one[k] for one in found]) for k in range(3))
    return GraphMetric(universe.record_types, first, second, bounds)


def _bounds(part: AttributeDescription) -> tuple[Bound, ...]:
    """A ceiling on one attribute is about its own pairs only: paths here may change several attributes."""
    return part.bounds if part.ceiling is None else (*part.bounds, Constant(part.ceiling))


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
