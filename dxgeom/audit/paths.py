"""Shortest paths in exact numbers, by the textbook."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TypeAlias

Exact: TypeAlias = Fraction | float
"""An exact rational, or ∞."""

INFINITE = float("inf")


def shortest_paths(start: int, steps: Callable[[int], Iterable[tuple[int, Exact]]]) -> dict[int, Exact]:
    """Dijkstra from one node: the *exact* distance of every node that can be reached.

    Args: ``steps`` gives a node's neighbours with their bounds, at least 0; an infinite bound is no step.
    """
    reached: dict[int, Exact] = {}
    hoped: dict[int, Exact] = {}
    waiting: list[tuple[Exact, int]] = [(Fraction(0), start)]
    while waiting:
        distance, node = heapq.heappop(waiting)
        if node in reached:
            continue
        reached[node] = distance
        for neighbour, bound in steps(node):
            if neighbour in reached or bound == INFINITE:
                continue
            length = distance + bound
            if length < hoped.get(neighbour, INFINITE):
                hoped[neighbour] = length
                heapq.heappush(waiting, (length, neighbour))
    return reached
