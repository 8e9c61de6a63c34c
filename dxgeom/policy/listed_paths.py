"""The shortest path between two listed records, through listed records only."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Final, TypeAlias

from dxgeom.errors import TooLarge
from dxgeom.policy.hops import Hop
from dxgeom.policy.resolve import ResolvedPolicy
from dxgeom.policy.shortest_path import Amount, StatedBounds, Step

MOST_RECORDS: Final = 20_000
MOST_PAIRS: Final = 2_000_000

Codes: TypeAlias = tuple[int, ...]


def among_listed(policy: ResolvedPolicy, i: list[int], j: list[int]) -> tuple[list[Hop], list[str], bool]:
    """The steps from the record with codes ``i`` to that with ``j``, the attributes they differ in when there is no
    path, and whether its length is exact.

    Raises: TooLarge.
    """
    universe = policy.universe
    bounds = [
        StatedBounds(
            attribute,
            tuple((rule, one) for rule in policy.rules for name, one in rule.bounds if name == attribute.name),
        )
        for attribute in universe.attributes
    ]
    if universe.record_types > MOST_RECORDS:
        raise TooLarge(f"paths are sought among at most {MOST_RECORDS:,} listed records")
    records = list(zip(*(column.tolist() for column in universe.listed_codes), strict=True))
    alike = _alike(records, [place for place, one in enumerate(bounds) if one.stated])
    taken = _dijkstra(tuple(i), tuple(j), bounds, alike)
    if taken is None:
        return [], [name for name, one, other in zip(universe.names, i, j, strict=True) if one != other], True
    hops = [_hop(policy, place, step) for place, step in taken]
    return hops, [], all(isinstance(hop.bound, Fraction) for hop in hops) and all(one.stated_exactly for one in bounds)


def _hop(policy: ResolvedPolicy, place: int, step: Step) -> Hop:
    attribute = policy.universe.attributes[place]
    start, end = attribute.labels[step.start], attribute.labels[step.end]
    return Hop(attribute.name, start, end, step.bound, step.rule.line, step.rule.words)


def _alike(records: list[Codes], places: list[int]) -> dict[tuple[int, Codes], list[int]]:
    """For each attribute and each record without it, the codes that the attribute has there."""
    alike: dict[tuple[int, Codes], list[int]] = defaultdict(list)
    for record, place in itertools.product(records, places):
        alike[place, _without(record, place)].append(record[place])
    pairs = sum(len(codes) * (len(codes) - 1) // 2 for codes in alike.values())
    if pairs > MOST_PAIRS:
        raise TooLarge(
            f"{pairs:,} pairs of listed records differ in one attribute; paths are sought over {MOST_PAIRS:,}"
        )
    return alike


def _without(record: Codes, place: int) -> Codes:
    return (*record[:place], *record[place + 1 :])


def _dijkstra(
    start: Codes, end: Codes, bounds: list[StatedBounds], alike: dict[tuple[int, Codes], list[int]]
) -> list[tuple[int, Step]] | None:
    """The attribute and the step at each turn of a shortest path."""

    def steps(record: Codes) -> Iterator[tuple[int, Step]]:
        for place, stated in enumerate(bounds):
            for code in alike.get((place, _without(record, place)), ()):
                if code != record[place]:
                    yield place, stated.step(record[place], code)

    reached: dict[Codes, Amount] = {start: Fraction(0)}
    before: dict[Codes, tuple[Codes, int, Step]] = {}
    waiting: list[tuple[Amount, Codes]] = [(Fraction(0), start)]
    while waiting:
        distance, record = heapq.heappop(waiting)
        if record == end:
            break
        if distance > reached[record]:
            continue
        for place, step in steps(record):
            then = (*record[:place], step.end, *record[place + 1 :])
            length = distance + step.bound
            if length < reached.get(then, math.inf):
                reached[then], before[then] = length, (record, place, step)
                heapq.heappush(waiting, (length, then))
    if end not in reached:
        return None
    taken: list[tuple[int, Step]] = []
    while end != start:
        end, place, step = before[end]
        taken.append((place, step))
    return taken[::-1]
