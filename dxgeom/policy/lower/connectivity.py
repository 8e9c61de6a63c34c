"""Values that no rule protects: allowed when asked for, never silent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.combinations import OneMoreMetric
from dxgeom.metrics.families import PartitionMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.metric import Metric
from dxgeom.policy.kinds.attribute_kinds import kind_making
from dxgeom.policy.lower.blocks import AttributeDescription, MetricDescription
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.syntax.rule_shapes import splits_records
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
