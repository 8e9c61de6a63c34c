"""The cheapest way to carry one distribution to another, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Carried(NamedTuple):
    """``amount`` of mass from the place ``start`` to the place ``end``."""

    start: int
    end: int
    amount: int


def least_transport(
    supply: Sequence[int], demand: Sequence[int], costs: Sequence[Sequence[Fraction | None]]
) -> tuple[Carried, ...] | None:
    """A plan that carries ``supply`` to ``demand`` at least cost; None where there is none.

    Args: whole masses of equal sums; ``costs[i][j]``: at least 0, None where nothing goes from i to j.
    Guarantee: *optimal* in exact rationals: mass is sent along cheapest paths of what is left, backwards too, one after
    another (Ford & Fulkerson 1962), and no path is cheaper for having waited.
    """
    flow: dict[tuple[int, int], int] = {}
    left, wanted = list(supply), list(demand)
    while any(left):
        path = _cheapest_path(left, wanted, costs, flow)
        if path is None:
            return None
        forwards, backwards = path[::2], path[1::2]
        amount = min(left[path[0][0]], wanted[path[-1][1]], *(flow[edge] for edge in backwards))
        for edge in forwards:
            flow[edge] = flow.get(edge, 0) + amount
        for edge in backwards:
            flow[edge] -= amount
        left[path[0][0]] -= amount
        wanted[path[-1][1]] -= amount
    return tuple(Carried(i, j, amount) for (i, j), amount in sorted(flow.items()) if amount)


def _cheapest_path(
    left: Sequence[int],
    wanted: Sequence[int],
    costs: Sequence[Sequence[Fraction | None]],
    flow: dict[tuple[int, int], int],
) -> list[tuple[int, int]] | None:
    """Edges (start, end), used forwards and backwards in turn, from what is left to what is wanted, by Bellman and
    Ford."""
    to_start: dict[int, Fraction] = {i: Fraction(0) for i, mass in enumerate(left) if mass}
    to_end: dict[int, Fraction] = {}
    before_start: dict[int, int] = {}
    before_end: dict[int, int] = {}
    changed = True
    while changed:
        changed = False
        for i, reached in list(to_start.items()):
            for j, cost in enumerate(costs[i]):
                if cost is not None and (j not in to_end or reached + cost < to_end[j]):
                    to_end[j], before_end[j], changed = reached + cost, i, True
        for (i, j), amount in flow.items():
            back = costs[i][j]
            if amount and j in to_end and back is not None and (i not in to_start or to_end[j] - back < to_start[i]):
                to_start[i], before_start[i], changed = to_end[j] - back, j, True
    ends = [j for j in to_end if wanted[j]]
    if not ends:
        return None
    end = min(ends, key=lambda j: to_end[j])
    path: list[tuple[int, int]] = []
    while True:
        start = before_end[end]
        path.append((start, end))
        if start not in before_start:
            return path[::-1]
        end = before_start[start]
        path.append((start, end))
