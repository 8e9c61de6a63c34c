"""The shortest path between two listed records, through listed records only."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from dxgeom.errors import TooLarge
from dxgeom.policy.explain.block_path import BlockBounds, BlockStep, Codes
from dxgeom.policy.explain.record_path import RecordPath, step_inside
from dxgeom.policy.explain.shortest_path import Amount
from dxgeom.policy.lower.blocks import Block
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy

MOST_RECORDS: Final = 20_000
MOST_PAIRS: Final = 2_000_000

_Alike: TypeAlias = dict[tuple[Block, Codes], list[Codes]]
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
    records = list(zip(*(column.tolist() for column in universe.listed_codes), strict=True))
    taken = _dijkstra(tuple(start), tuple(end), bounds, _alike(records, choices), choices)
    if taken is None:
        pairs = zip(universe.names, start, end, strict=True)
        return RecordPath((), tuple(name for name, one, other in pairs if one != other), math.inf)
    everywhere = tuple(range(len(universe.attributes)))
    steps = tuple(step_inside(everywhere, one) for one in taken)
    length: Amount = sum((step.bound for step in steps), Fraction(0))
    return RecordPath(steps, (), length if bounds.exact else float(length))


def _alike(records: Iterable[Codes], choices: Iterable[Block]) -> _Alike:
    alike: _Alike = defaultdict(list)
    for record, places in itertools.product(records, choices):
        alike[places, _without(record, places)].append(record)
    pairs = sum(len(group) * (len(group) - 1) // 2 for group in alike.values())
    if pairs > MOST_PAIRS:
        raise TooLarge(
            f"{pairs:,} pairs of listed records differ in what one rule is about; paths are sought over {MOST_PAIRS:,}"
        )
    return alike


def _without(record: Codes, places: Block) -> Codes:
    return tuple(code for place, code in enumerate(record) if place not in places)


def _dijkstra(
    start: Codes, end: Codes, bounds: BlockBounds, alike: _Alike, choices: Sequence[Block]
) -> list[BlockStep] | None:
    """The steps of a shortest path; None when there is none."""

    def steps(record: Codes) -> Iterator[BlockStep]:
        near = {other for places in choices for other in alike[places, _without(record, places)]}
        return (bounds.step(record, other) for other in sorted(near) if other != record)

    reached: dict[Codes, Amount] = {start: Fraction(0)}
    before: dict[Codes, BlockStep] = {}
    waiting: list[tuple[Amount, Codes]] = [(Fraction(0), start)]
    while waiting:
        distance, record = heapq.heappop(waiting)
        if record == end:
            break
        if distance > reached[record]:
            continue
        for step in steps(record):
            length = distance + step.bound
            if length < reached.get(step.end, math.inf):
                reached[step.end], before[step.end] = length, step
                heapq.heappush(waiting, (length, step.end))
    if end not in reached:
        return None
    taken: list[BlockStep] = []
    while end != start:
        taken.append(before[end])
        end = taken[-1].start
    return taken[::-1]
