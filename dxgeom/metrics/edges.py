"""Is a list of edges a metric? Is every stated distance the shortest path between its ends? And the repair.

What a list states is kept in exact numbers where it was written in them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from numbers import Rational, Real
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import described
from dxgeom.errors import NotAMetric, WrongArgument
from dxgeom.metrics.graph import MOST_OF_A_GRAPH, GraphMetric, edges_of_graph, is_networkx
from dxgeom.metrics.matrices import (
    ROUNDING_OF_INPUT,
    TRIANGLE,
    Distance,
    Progress,
    largest_fall,
    over_common_denominator,
    refuse_broken,
    require_of_a_check,
    require_progress,
)
from dxgeom.metrics.metric import MetricCertificate, Verdict, gathered
from dxgeom.metrics.verification import VerifiedMetric, named_in, verify
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, round_down
from dxgeom.numeric.shortest_paths import EdgeGraph, distances_from, edge_graph, path_between
from dxgeom.privacy.measures import PURE, Privacy, privacy_measure_of
from dxgeom.universe.columns import plain
from dxgeom.universe.wording import did_you_mean

Edge: TypeAlias = tuple[str, str, Fraction | float | int]


@final
@dataclass(frozen=True, eq=False)
class StatedEdges:
    """Ends as indices into the sorted ``names``, and lengths that times ``factor`` are the stated distances; all (E,).

    ``exact``: the lengths are integers below 2⁵² or infinite, so that sums up to any stated length are exact.
    """

    names: tuple[str, ...]
    first: NDArray[np.int64] = field(repr=False)
    second: NDArray[np.int64] = field(repr=False)
    lengths: NDArray[np.float64] = field(repr=False)
    factor: Fraction
    exact: bool

    @property
    def tolerance(self) -> float:
        """The relative excess over a path that rounding alone may cause."""
        return 0.0 if self.exact else max(ROUNDING_OF_INPUT, (len(self.names) + 1) * UNIT_ROUNDOFF)

    @property
    def joining(self) -> NDArray[np.bool_]:
        """(E,): which edges join two records by a path; the others state a distance of 0 or ∞."""
        return np.asarray(np.isfinite(self.lengths) & (self.first != self.second))

    def distance(self, length: float) -> Distance:
        """A length in the numbers that were given."""
        if not math.isfinite(length):
            return length
        return Fraction(length) * self.factor if self.exact else length


def stated_edges(edges: Iterable[Edge] | Any) -> StatedEdges:
    """The edges with their names numbered in sorted order, so that the order of edges has no meaning.

    Raises: NotAMetric for an empty list, and for rationals that need integers beyond 2⁵²; WrongArgument for what is no
    list of edges.
    """
    if is_networkx(edges):
        edges = edges_of_graph(edges)
    given = list(edges) if isinstance(edges, Iterable) else [edges]
    if not all(map(_is_edge, given)):
        raise WrongArgument(
            "'edges' are triples of two names and a number, such as ('a', 'b', 2); found "
            f"{described(edges)} that holds others: write names as text or as whole numbers, and read a file first"
        )
    if not given:
        raise NotAMetric("a list of edges holds at least one edge", ())
    names = sorted({name for edge in given for name in edge[:2]})
    place = {name: number for number, name in enumerate(names)}
    ends = np.array([[place[name] for name in edge[:2]] for edge in given], dtype=np.int64)
    distances = [edge[2] if isinstance(edge[2], Rational) else float(edge[2]) for edge in given]
    exact = all(not isinstance(distance, float) or distance == math.inf for distance in distances)
    if exact:
        rationals = [None if distance == math.inf else Fraction(distance) for distance in distances]
        lengths, factor = over_common_denominator(rationals)
    else:
        lengths, factor = np.array(distances, dtype=np.float64), Fraction(1)
    return StatedEdges(tuple(names), ends[:, 0], ends[:, 1], lengths, factor, exact)


def _is_edge(edge: object) -> bool:
    if not isinstance(edge, (tuple, list)) or len(edge) != 3:
        return False
    first, second, distance = edge
    named = all(isinstance(name, (str, int, np.integer)) for name in (first, second)) and type(first) is type(second)
    return named and isinstance(distance, Real)


def check_bounds(stated: StatedEdges) -> None:
    """Refuse what no metric lies below. Raises: NotAMetric."""
    _refuse(stated, _bounds(stated))


def check_statements(stated: StatedEdges) -> None:
    """Refuse what breaks an axiom without any detour. Raises: NotAMetric with the count of each broken axiom."""
    low, high = np.minimum(stated.first, stated.second), np.maximum(stated.first, stated.second)
    order = np.lexsort((high, low))
    same = (low[order][1:] == low[order][:-1]) & (high[order][1:] == high[order][:-1])
    again = np.zeros(low.size, dtype=bool)
    again[order[1:]] = same & (stated.lengths[order][1:] != stated.lengths[order][:-1])
    apart = (low == high) & (stated.lengths != 0)
    rules = (
        (apart, "the distance of a record from itself is 0"),
        (again, "a pair that is stated twice has one distance, in both directions"),
    )
    _refuse(stated, (*_bounds(stated), *rules))


def fingerprint_of_edges(stated: StatedEdges) -> str:
    """SHA-256 of the statements; neither their order nor their direction nor saying one twice changes it."""
    lines = {
        (
            min(stated.names[i], stated.names[j]),
            max(stated.names[i], stated.names[j]),
            words_of(stated.distance(length)),
        )
        for i, j, length in zip(stated.first, stated.second, stated.lengths.tolist(), strict=True)
    }
    return sha256(json.dumps(["edges", *sorted(lines)]).encode()).hexdigest()


def words_of(distance: Distance) -> str:
    """A distance as a person writes it."""
    return plain(distance) if isinstance(distance, Fraction) else f"{distance:.17g}"


_Rule: TypeAlias = tuple[NDArray[np.bool_], str]


def _bounds(stated: StatedEdges) -> tuple[_Rule, ...]:
    return ((np.isnan(stated.lengths), "no distance is NaN"), (stated.lengths < 0, "no distance is negative"))


def _refuse(stated: StatedEdges, rules: tuple[_Rule, ...]) -> None:
    def found(place: int) -> tuple[str, tuple[int, int]]:
        i, j = int(stated.first[place]), int(stated.second[place])
        length = words_of(stated.distance(float(stated.lengths[place])))
        return f"{length} between '{stated.names[i]}' and '{stated.names[j]}'", (i, j)

    refuse_broken(rules, "edges", found)


_CELLS_PER_BLOCK = 1 << 22


@final
class EdgePath(NamedTuple):
    """A shortest path: its ``nodes``, none where there is no path; the length of each step, and ``distance``, all
    *rounded down*."""

    nodes: tuple[str, ...]
    steps: tuple[float, ...]
    distance: float


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

    def explain(self, first: str, second: str) -> EdgePath:
        """Why two of the names are as far apart as they are: a shortest path between them. Raises: WrongArgument."""
        place = {name: number for number, name in enumerate(self.names)}
        for name in (first, second):
            if not isinstance(name, str | int) or name not in place:
                raise WrongArgument(f"no edge names {name!r}: {did_you_mean(str(name), map(str, self.names))}")
        start, end = place[first], place[second]
        pairs = gathered(self.metric.metric.generating_pairs(), MOST_OF_A_GRAPH, "more edges than are searched")
        graph = edge_graph(len(self.names), pairs.first, pairs.second, pairs.bound)
        nodes = (start,) if start == end else path_between(graph, start, end)
        steps = tuple(float(self.metric.distance(*step)) for step in pairwise(nodes))
        distance = float(self.metric.distance(start, end))
        return EdgePath(tuple(self.names[node] for node in nodes), steps, distance)


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
    edges: Iterable[Edge] | Any,
    *,
    title: str = "edges",
    budget: Fraction | int = 1,
    progress: Progress | None = None,
    first: bool = False,
    privacy: Privacy = PURE,
) -> EdgeVerdict:
    """The triangle-inequality checker for an edge list: no path is shorter than an edge between its ends.

    Args: ``edges`` of (from, to, distance), undirected, or a NetworkX graph whose edges have a ``weight``; ∞ states
    that there is no path. ``first`` stops at the first records that show a violation; ``progress`` is called with the
    records done and their number. ``privacy``: what a distance promises, as of :func:`verify_metric`.
    Guarantee: *exact* for integers and rationals below 2⁵² over their common denominator; float64 lengths may exceed
    a path by a relative max(2⁻⁴⁸, (N + 1)·2⁻⁵³), which the certificate then says.
    Raises: NotAMetric; the witness of a too long edge is the whole shorter path, as places among the sorted names.
    """
    require_of_a_check(title, budget, progress, first)
    privacy_measure_of(privacy)
    stated = stated_edges(edges)
    check_statements(stated)
    excess, worst, count = _worst(stated, progress, first)
    if worst is not None and excess > stated.tolerance:
        raise _too_long(stated, worst, count, first)
    verdict: Verdict = "holds" if worst is None else "within rounding"
    reason = "every edge compared with the shortest path" + (", exactly" if stated.exact else ", in float64")
    certificate = MetricCertificate(
        "edge list", len(stated.names), reason, stated.first.size, 0, verdict, excess, stated.tolerance
    )
    finite = stated.joining
    bounds = np.array([round_down(Fraction(length) * stated.factor) for length in stated.lengths[finite]])
    metric = GraphMetric(len(stated.names), stated.first[finite], stated.second[finite], bounds)
    named = named_in(privacy, fingerprint_of_edges(stated))
    verified = verify(metric, title=title, fingerprint=named, budget=Fraction(budget), privacy=privacy)
    return EdgeVerdict(verified, certificate, stated.names, metric.components()[0])


def repair_edges(edges: Iterable[Edge] | Any, *, progress: Progress | None = None) -> EdgeRepair:
    """Every edge lowered to the shortest path between its ends: the largest metric below the list.

    Guarantee: *exact* for integers and rationals; float64 paths are sums rounded to nearest, never above the input.
    Raises: NotAMetric when a distance is negative or NaN.
    """
    require_progress(progress)
    stated = stated_edges(edges)
    check_bounds(stated)
    closed = stated.lengths.copy()
    for places, shortest in _by_source(stated, progress):
        closed[places] = np.minimum(closed[places], shortest)
    closed[stated.first == stated.second] = 0.0
    fell, most = largest_fall(stated.lengths, closed)
    return EdgeRepair(
        tuple(stated.distance(float(length)) for length in closed),
        fell,
        most if fell else None,
        stated.distance(float(stated.lengths[most])),
        stated.distance(float(closed[most])),
    )


def _by_source(
    stated: StatedEdges, progress: Progress | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """The edges' places, in blocks of sources, and the shortest path of each."""
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
        if progress is not None:
            progress(end, sources.size)
        yield places, rows[at, stated.second[places]]


def _worst(stated: StatedEdges, progress: Progress | None, first: bool) -> tuple[float, int | None, int]:
    """The largest relative excess of an edge over the shortest path, its place, and how many edges are too long."""
    worst, place, count = 0.0, None, 0
    for places, shortest in _by_source(stated, progress):
        longer = shortest < stated.lengths[places]
        if not longer.any():
            continue
        lengths, count = stated.lengths[places[longer]], count + int(np.count_nonzero(longer))
        excess = np.maximum(1 - shortest[longer] / lengths, UNIT_ROUNDOFF)
        most = int(np.argmax(excess))
        if excess[most] > worst:
            worst, place = float(excess[most]), int(places[longer][most])
        if first and worst > stated.tolerance:
            break
    return worst, place, count


def _too_long(stated: StatedEdges, place: int, count: int, first: bool) -> NotAMetric:
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
    finite = stated.joining
    return edge_graph(len(stated.names), stated.first[finite], stated.second[finite], stated.lengths[finite])
