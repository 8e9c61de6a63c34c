"""Shortest paths in sparse graphs, by SciPy.

Sparse linear programmes, by HiGHS.

Kernel: SciPy's sparse graphs, loaded by the first search; most policies are compiled without one. SciPy's HiGHS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused

EdgeGraph: TypeAlias = Any
"""A SciPy sparse matrix; SciPy carries no types."""


def edge_graph(
    size: int, first: NDArray[np.int64], second: NDArray[np.int64], lengths: NDArray[np.float64]
) -> EdgeGraph:
    """The symmetric graph with the given edges; of parallel edges the shortest counts, zero lengths are kept."""
    from scipy.sparse import csr_matrix

    low, high = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((lengths, high, low))
    low, high, lengths = low[order], high[order], lengths[order]
    fresh = np.ones(low.size, dtype=bool)
    fresh[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high, lengths = low[fresh], high[fresh], lengths[fresh]
    rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
    return csr_matrix((np.concatenate([lengths, lengths]), (rows, columns)), shape=(size, size))


def distances_from(graph: EdgeGraph, sources: NDArray[np.int64], limit: float = np.inf) -> NDArray[np.float64]:
    """Shortest-path lengths from each source to every node, shape (len(sources), nodes).

    ∞ where there is no path, or none up to ``limit``.
    Guarantee: within a relative (nodes + 1)·2⁻⁵³ of the exact shortest path over the given float lengths.
    """
    from scipy.sparse.csgraph import dijkstra

    return np.asarray(dijkstra(graph, directed=True, indices=sources, limit=limit), dtype=np.float64)


def lowest_arrivals(graph: EdgeGraph, starts: NDArray[np.float64]) -> NDArray[np.float64]:
    """min_j (starts_j + length of the shortest path from j) at every node: one search from a node before all others.

    Guarantee: *exact* where starts and lengths are integers and all sums stay below 2⁵³.
    """
    from scipy.sparse import csr_matrix

    size, lowest = len(starts), float(starts.min())
    data = np.concatenate([graph.data, starts - lowest])
    indices = np.concatenate([graph.indices, np.arange(size, dtype=graph.indices.dtype)])
    ends = np.concatenate([graph.indptr, np.array([data.size], dtype=graph.indptr.dtype)])
    beyond = csr_matrix((data, indices, ends), shape=(size + 1, size + 1))
    return distances_from(beyond, np.array([size]))[0, :size] + lowest


def path_between(graph: EdgeGraph, start: int, end: int) -> tuple[int, ...]:
    """The nodes of a shortest path from ``start`` to ``end``, both included; empty where there is none."""
    from scipy.sparse.csgraph import dijkstra

    _, before = dijkstra(graph, directed=True, indices=start, return_predecessors=True)
    path = [end]
    while path[-1] != start:
        if before[path[-1]] < 0:
            return ()
        path.append(int(before[path[-1]]))
    return tuple(reversed(path))


def component_labels(graph: EdgeGraph) -> tuple[int, NDArray[np.int64]]:
    """How many connected components there are, and the component of each node."""
    from scipy.sparse.csgraph import connected_components

    count, labels = connected_components(graph, directed=False)
    return int(count), np.asarray(labels, dtype=np.int64)


_TOLERANCE = 1e-10


@final
@dataclass(frozen=True)
class ConstraintRows:
    """The matrix with ``values[k]`` at (``rows[k]``, ``columns[k]``); entries at one place add up."""

    count: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]


def minimise_linear(
    costs: NDArray[np.float64], below_zero: ConstraintRows, equal: ConstraintRows, sides: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Minimise costs·x under A x ≤ 0, B x = sides, x ≥ 0.

    Args: ``costs`` (n,); ``below_zero`` A; ``equal`` B; ``sides``: one for each row of B.
    Guarantee: none beyond float64 and a tolerance of 1e-10 on each constraint; whoever rests a promise on the solution
    has to check it.
    Raises: CertificateRefused when no optimum was found.
    """
    from scipy.optimize import linprog  # not before a programme is solved: loading a plan solves none

    result = linprog(
        costs,
        A_ub=_matrix(below_zero, len(costs)) if below_zero.count else None,
        b_ub=np.zeros(below_zero.count) if below_zero.count else None,
        A_eq=_matrix(equal, len(costs)),
        b_eq=sides,
        bounds=(0, None),
        method="highs",
        options={"primal_feasibility_tolerance": _TOLERANCE, "dual_feasibility_tolerance": _TOLERANCE},
    )
    if result.x is None or result.status != 0:
        raise CertificateRefused(f"the linear programme has no optimum that HiGHS could find: {result.message}")
    return np.asarray(result.x, dtype=np.float64)


def _matrix(rows: ConstraintRows, columns: int) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix((rows.values, (rows.rows, rows.columns)), shape=(rows.count, columns))
