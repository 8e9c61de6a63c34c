"""The shortest path between two listed records, through listed records only."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.policy.axes.axis import Amount, Codes, Row
from dxgeom.policy.explain.paths.block_path import BlockBounds
from dxgeom.policy.explain.paths.record_path import RecordPath, step_inside
from dxgeom.policy.explain.paths.shortest_path import Combination, shortest_path
from dxgeom.policy.lower.blocks import Block
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy

MOST_RECORDS: Final = 20_000
MOST_PAIRS: Final = 2_000_000

_Alike: TypeAlias = dict[tuple[Block, Combination], list[int]]
"""By some attributes' places and the codes of all others, the records."""


def listed_path(policy: ResolvedPolicy, start: Sequence[int], end: Sequence[int]) -> RecordPath:
    """A shortest path through listed records under all rules but those about all pairs.

    Raises: TooLarge.
    """
    universe = policy.universe
    if universe.record_types > MOST_RECORDS:
        raise TooLarge(f"paths are sought among at most {MOST_RECORDS:,} listed records")
    about = [rule for rule in policy.rules if rule.bounds or rule.joint is not None]
    bounds = BlockBounds(universe.attributes, tuple(about), direct=False)
    names: set[tuple[str, ...]] = {(name,) for rule in about for name, _ in rule.bounds}
    names |= {rule.joint.names for rule in about if rule.joint is not None}
    choices = [tuple(place for place, name in enumerate(universe.names) if name in some) for some in names]
    records = sorted(zip(*(column.tolist() for column in universe.listed_codes), strict=True))
    nodes = _nodes(records, records.index(tuple(start)), records.index(tuple(end)), bounds, choices)
    if nodes is None:
        pairs = zip(universe.names, start, end, strict=True)
        return RecordPath((), tuple(name for name, one, other in pairs if one != other), math.inf)
    everywhere = tuple(range(len(universe.attributes)))
    taken = itertools.pairwise(records[node] for node in nodes)
    steps = tuple(step_inside(everywhere, bounds.step(one, other)) for one, other in taken)
    length: Amount = sum((step.bound for step in steps), Fraction(0))
    return RecordPath(steps, (), length if bounds.exact else float(length))


def _nodes(
    records: Sequence[Combination], start: int, end: int, bounds: BlockBounds, choices: Sequence[Block]
) -> list[int] | None:
    """The places of a shortest path's records; None when there is none."""
    alike = _alike(records, choices)

    def steps(node: int) -> tuple[Codes, Row]:
        record = records[node]
        near = {other for places in choices for other in alike[places, _without(record, places)]}
        others = sorted(near - {node})
        each = np.empty(len(others), dtype=object)
        each[:] = [bounds.step(record, records[other]).bound for other in others]
        return np.array(others, dtype=np.int64), each

    return shortest_path(len(records), start, end, steps, object)


def _alike(records: Iterable[Combination], choices: Iterable[Block]) -> _Alike:
    alike: _Alike = defaultdict(list)
    for (node, record), places in itertools.product(enumerate(records), choices):
        alike[places, _without(record, places)].append(node)
    pairs = sum(len(group) * (len(group) - 1) // 2 for group in alike.values())
    if pairs > MOST_PAIRS:
        raise TooLarge(
            f"{pairs:,} pairs of listed records differ in what one rule is about; paths are sought over {MOST_PAIRS:,}"
        )
    return alike


def _without(record: Combination, places: Block) -> Combination:
    return tuple(code for place, code in enumerate(record) if place not in places)
