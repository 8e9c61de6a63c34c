"""Is a list of edges a metric? Is every stated distance the shortest path between its ends?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import NotAMetric
from dxgeom.metrics.certificate import MetricCertificate, Verdict
from dxgeom.metrics.checking.closure import Distance
from dxgeom.metrics.checking.edge_list import (
    Edge,
    StatedEdges,
    check_bounds,
    check_statements,
    fingerprint_of_edges,
    stated_edges,
    words_of,
)
from dxgeom.metrics.checking.matrix_check import TRIANGLE, Progress, require_of_a_check, require_progress
from dxgeom.metrics.checking.verification import VerifiedMetric, verify
from dxgeom.metrics.families.graph import GraphMetric
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, round_down
from dxgeom.numeric.shortest_paths import EdgeGraph, distances_from, edge_graph, path_between

_CELLS_PER_BLOCK = 1 << 22


@final
@dataclass(frozen=True, eq=False)
class EdgeVerdict:
    """An edge list that holds: ``metric`` is its shortest-path closure on ``names``, which are sorted.

    ``components``: how many parts the graph falls into; between them distances are infinite.
    """

    metric: VerifiedMetric
    certificate: MetricCertificate
    names: tuple[str, ...]
    components: int


@final
@dataclass(frozen=True, eq=False)
class EdgeRepair:
    """``distances``: each edge's shortest path, exact where the input was; ``fell``: how many edges are shorter now.

    ``where``: the place in the list of the edge that fell most, from ``before`` to ``after``; None when none fell.
    """

    distances: tuple[Distance, ...] = field(repr=False)
    fell: int
    where: int | None
    before: Distance
    after: Distance


def verify_edges(
    edges: Iterable[Edge],
    *,
    title: str = "edges",
    budget: Fraction | int = 1,
    progress: Progress | None = None,
    first: bool = False,
) -> EdgeVerdict:
    """The triangle-inequality checker for an edge list: no path is shorter than an edge between its ends.

    Args: ``edges`` of (from, to, distance), undirected; ∞ states that there is no path. ``first`` stops at the first
    records that show a violation; ``progress`` is called with the records done and their number.
    Guarantee: *exact* for integers and rationals below 2⁵² over their common denominator; float64 lengths may exceed
    a path by a relative max(2⁻⁴⁸, (N + 1)·2⁻⁵³), which the certificate then says.
    Raises: NotAMetric; the witness of a too long edge is the whole shorter path, as places among the sorted names.
    """
    require_of_a_check(title, budget, progress, first)
    stated = stated_edges(edges)
    check_statements(stated)
    excess, worst, count = _worst(stated, progress, first)
    if worst is not None and excess > stated.tolerance:
        raise _too_long(stated, worst, count, excess, first)
    verdict: Verdict = "holds" if worst is None else "within rounding"
    reason = "every edge compared with the shortest path" + (", exactly" if stated.exact else ", in float64")
    certificate = MetricCertificate(
        "edge list", len(stated.names), reason, stated.first.size, 0, verdict, excess, stated.tolerance
    )
    finite = np.isfinite(stated.lengths) & (stated.first != stated.second)
    bounds = np.array([round_down(Fraction(length) * stated.factor) for length in stated.lengths[finite]])
    metric = GraphMetric(len(stated.names), stated.first[finite], stated.second[finite], bounds)
    verified = verify(metric, title=title, fingerprint=fingerprint_of_edges(stated), budget=Fraction(budget))
    return EdgeVerdict(verified, certificate, stated.names, metric.components()[0])


def repair_edges(edges: Iterable[Edge], *, progress: Progress | None = None) -> EdgeRepair:
    """Every edge lowered to the shortest path between its ends: the largest metric below the list.

    Guarantee: *exact* for integers and rationals; float64 paths are sums rounded to nearest, never above the input.
    Raises: NotAMetric when a distance is negative or NaN.
    """
    require_progress(progress)
    stated = stated_edges(edges)
    check_bounds(stated)
    closed = stated.lengths.copy()

    def keep(places: NDArray[np.int64], shortest: NDArray[np.float64]) -> bool:
        closed[places] = np.minimum(closed[places], shortest)
        return False

    _by_source(stated, progress, keep)
    closed[stated.first == stated.second] = 0.0
    fell = closed < stated.lengths
    falls = np.zeros_like(closed)
    falls[fell] = stated.lengths[fell] - closed[fell]
    most = int(np.argmax(falls))
    return EdgeRepair(
        tuple(stated.distance(float(length)) for length in closed),
        int(np.count_nonzero(fell)),
        most if fell.any() else None,
        stated.distance(float(stated.lengths[most])),
        stated.distance(float(closed[most])),
    )


def _by_source(
    stated: StatedEdges, progress: Progress | None, seen: Callable[[NDArray[np.int64], NDArray[np.float64]], bool]
) -> None:
    """The shortest path of every edge, in blocks of sources; ``seen`` takes the edges' places and stops when True."""
    size, graph = len(stated.names), _graph(stated)
    order = np.argsort(stated.first, kind="stable")
    sources, starts = np.unique(stated.first[order], return_index=True)
    starts = np.append(starts, order.size)
    step = max(1, _CELLS_PER_BLOCK // size)
    for begin in range(0, sources.size, step):
        end = min(begin + step, sources.size)
        places = order[starts[begin] : starts[end]]
        limit = float(np.max(stated.lengths[places]))
        rows = distances_from(graph, sources[begin:end], limit)
        at = np.searchsorted(sources[begin:end], stated.first[places])
        stop = seen(places, rows[at, stated.second[places]])
        if progress is not None:
            progress(end, sources.size)
        if stop:
            return


def _worst(stated: StatedEdges, progress: Progress | None, first: bool) -> tuple[float, int | None, int]:
    """The largest relative excess of an edge over the shortest path, its place, and how many edges are too long."""
    found: list[tuple[float, int, int]] = []

    def compare(places: NDArray[np.int64], shortest: NDArray[np.float64]) -> bool:
        lengths = stated.lengths[places]
        longer = shortest < lengths
        if not longer.any():
            return False
        excess = np.zeros(lengths.size)
        with np.errstate(invalid="ignore"):
            excess[longer] = np.where(np.isinf(lengths[longer]), 1.0, 1 - shortest[longer] / lengths[longer])
            excess[longer] = np.maximum(excess[longer], UNIT_ROUNDOFF)
        most = int(np.argmax(excess))
        found.append((float(excess[most]), int(places[most]), int(np.count_nonzero(longer))))
        return first and float(excess[most]) > stated.tolerance

    _by_source(stated, progress, compare)
    if not found:
        return 0.0, None, 0
    excess, place, _ = max(found, key=lambda block: block[0])
    return excess, place, sum(block[2] for block in found)


def _too_long(stated: StatedEdges, place: int, count: int, excess: float, first: bool) -> NotAMetric:
    graph = _graph(stated)
    i, j = int(stated.first[place]), int(stated.second[place])
    path = path_between(graph, i, j)
    names = [stated.names[node] for node in path]
    shown = names if len(names) <= 8 else [*names[:4], "…", *names[-3:]]
    direct = stated.distance(float(stated.lengths[place]))
    shortest = stated.distance(float(distances_from(graph, np.array([i]))[0, j]))
    least = "at least " if first else ""
    return NotAMetric(
        f"{least}{count:,} of {stated.first.size:,} edges are longer than a path between their ends; worst: "
        f"{words_of(direct)} between '{stated.names[i]}' and '{stated.names[j]}' > {words_of(shortest)} along "
        f"{' – '.join(shown)}; lower the edge, or take the shortest-path closure",
        path,
        float(direct) - float(shortest),
        ((TRIANGLE, count),),
    )


def _graph(stated: StatedEdges) -> EdgeGraph:
    finite = np.isfinite(stated.lengths) & (stated.first != stated.second)
    return edge_graph(len(stated.names), stated.first[finite], stated.second[finite], stated.lengths[finite])
