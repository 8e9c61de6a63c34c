"""Re-checking the certificates of matrices and edge lists by plain loops."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.audit.claims import (
    INFINITE,
    Claims,
    Exact,
    claimed_distances,
    claimed_pairs,
    require_equal,
    require_proof,
    shortest_paths,
)
from dxgeom.audit.policy_audit import Audit
from dxgeom.errors import CertificateRefused
from dxgeom.metrics.edges import Edge, fingerprint_of_edges, stated_edges
from dxgeom.metrics.matrices import ROUNDING_OF_INPUT, fingerprint_of, matrix_of
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, round_down

MOST_TRIPLES: Final = 1_000_000_000
"""Beyond, evenly spread rows are compared instead of all."""
MOST_SOURCES: Final = 64
_RELATIVE = Fraction(1, 10**9)


def audit_matrix(claims: Claims, matrix: ArrayLike) -> Audit:
    """Re-check a certificate against a matrix, one middle record at a time.

    Guarantee: up to a thousand records every triple is compared again; beyond, every detour of evenly spread rows.
    Raises: CertificateRefused with the reason; NotAMetric when this is no square matrix of numbers.
    """
    require_equal("kind", claims["kind"], "matrix")
    entries, factor = matrix_of(matrix)
    size = len(entries)
    shown = entries
    if factor != 1:
        shown = np.array([[_lowered(entry, factor) for entry in row] for row in entries.tolist()])
    require_equal("size", claims["size"], size)
    for i, j, claimed in claimed_distances(claims, claimed_pairs((size,))):
        require_equal(f"the distance of records {i} and {j}", claimed, float(shown[i, j]))
    require_equal("fingerprint", claims["fingerprint"], fingerprint_of(shown, factor))
    _require_entries(entries)
    rows = _spread(size, max(1, MOST_TRIPLES // (size * size)))
    excess = max((_worst_of_row(entries, row) for row in rows), default=0.0)
    whole = entries[np.isfinite(entries)]
    exact = bool(np.all(whole == np.trunc(whole)) and np.all(whole < 2.0**52))
    tolerance = 0.0 if exact else ROUNDING_OF_INPUT
    _require_verdict(claims, excess, tolerance, 0.0, len(rows) == size)
    _require_proof(
        claims,
        form="matrix",
        size=size,
        reason=f"every triple compared, in {'exact integers' if exact else 'float64'}",
        pairs=math.comb(size, 2),
        triples=3 * math.comb(size, 3),
        tolerance=tolerance,
    )
    return Audit(
        (
            "the fingerprint, size and distances are those of the matrix",
            f"every detour of {len(rows):,} of {size:,} records compared again, one by one",
        )
    )


def audit_edges(claims: Claims, edges: Sequence[Edge]) -> Audit:
    """Re-check a certificate against an edge list, by textbook searches in exact rationals from evenly spread records.

    Raises: CertificateRefused with the reason; NotAMetric when the list states no distances.
    """
    require_equal("kind", claims["kind"], "edges")
    stated = stated_edges(edges)
    require_equal("fingerprint", claims["fingerprint"], fingerprint_of_edges(stated))
    size = len(stated.names)
    require_equal("size", claims["size"], size)
    steps = _steps(edges, stated.names)
    sources = _spread(size, MOST_SOURCES)
    reached = {source: shortest_paths(source, lambda node: steps[node]) for source in sources}
    excess = max((_excess(steps[source], reached[source]) for source in sources), default=0.0)
    tolerance = 0.0 if stated.exact else max(ROUNDING_OF_INPUT, (size + 1) * UNIT_ROUNDOFF)
    # Sums along paths were rounded when the list was verified, and are not here.
    _require_verdict(claims, excess, tolerance, tolerance, False)
    _require_paths(claims, size, reached)
    _require_proof(
        claims,
        form="edge list",
        size=size,
        reason=f"every edge compared with the shortest path, {'exactly' if stated.exact else 'in float64'}",
        pairs=len(edges),
        triples=0,
        tolerance=tolerance,
    )
    return Audit(
        (
            "the fingerprint and size are those of the edge list",
            f"the edges of {len(sources):,} of {size:,} records compared with exact shortest paths",
        )
    )


def _require_proof(claims: Claims, **found: Any) -> None:
    """Compare the claimed form with what was found; its verdict and excess have been checked.

    Raises: CertificateRefused.
    """
    claimed = claims["proof"]
    require_proof(claimed, {**found, "verdict": claimed["verdict"], "excess": claimed["excess"], "parts": []})


def _steps(edges: Sequence[Edge], names: Sequence[str]) -> dict[int, list[tuple[int, Exact]]]:
    """The edges that leave each record. Raises: CertificateRefused."""
    index = {name: place for place, name in enumerate(names)}
    steps: dict[int, list[tuple[int, Exact]]] = defaultdict(list)
    for one, other, distance in edges:
        _require_length(one, other, distance)
        bound = Fraction(distance) if distance != INFINITE else INFINITE
        steps[index[one]].append((index[other], bound))
        steps[index[other]].append((index[one], bound))
    return steps


def _lowered(entry: float, factor: Fraction) -> float:
    return entry if math.isinf(entry) else round_down(Fraction(entry) * factor)


def _require_entries(entries: NDArray[np.float64]) -> None:
    if np.any(np.isnan(entries) | (entries < 0) | (entries != entries.T)) or np.any(np.diagonal(entries)):
        raise CertificateRefused("the matrix has undefined, negative, asymmetric or non-zero diagonal entries")


def _spread(size: int, most: int) -> list[int]:
    return list(range(size)) if size <= most else sorted({place * size // most for place in range(most)})


def _worst_of_row(entries: NDArray[np.float64], i: int) -> float:
    """The largest relative excess of d(i, j) over d(i, k) + d(k, j), over all k and j."""
    shortest = np.full(len(entries), np.inf)
    for k in range(len(entries)):
        shortest = np.minimum(shortest, entries[i, k] + entries[k])
    longer = shortest < entries[i]
    direct, detour = entries[i][longer], shortest[longer]
    with np.errstate(invalid="ignore"):
        excess = np.where(np.isinf(direct), 1.0, (direct - detour) / direct)
    return float(np.max(excess, initial=0.0))


def _require_verdict(claims: Claims, excess: float, tolerance: float, apart: float, complete: bool) -> None:
    proof: Any = claims["proof"]
    verdict = proof.get("verdict") if isinstance(proof, dict) else None
    claimed = proof.get("excess") if isinstance(proof, dict) else None
    if verdict not in ("holds", "within rounding") or not isinstance(claimed, float) or not 0 <= claimed <= tolerance:
        raise CertificateRefused("the certificate's verdict is 'holds' or 'within rounding', with an allowed excess")
    if excess > tolerance:
        raise CertificateRefused(f"the triangle inequality fails, by a relative {excess:.3g}")
    require_equal("whether it is within rounding only", verdict == "within rounding", claimed > 0)
    if excess > claimed + apart or (complete and excess < claimed - apart):
        raise CertificateRefused(f"the certificate claims an excess of {claimed:.3g}, found {excess:.3g}")


def _require_length(one: str, other: str, distance: Fraction | float | int) -> None:
    if not distance >= 0 or (one == other and distance != 0):
        raise CertificateRefused(f"the edge between '{one}' and '{other}' states {distance}, which is no distance")


def _excess(edges: Sequence[tuple[int, Exact]], reached: dict[int, Exact]) -> float:
    worst = 0.0
    for other, bound in edges:
        path = reached.get(other, INFINITE)
        if path < bound:
            worst = max(worst, 1.0 if bound == INFINITE else float((bound - path) / bound))
    return worst


def _require_paths(claims: Claims, size: int, reached: dict[int, dict[int, Exact]]) -> None:
    for i, j, claimed in claimed_distances(claims, claimed_pairs((size,))):
        for source, end in itertools.permutations((i, j)):
            if source not in reached:
                continue
            path = reached[source].get(end, INFINITE)
            exact = Fraction(claimed) if math.isfinite(claimed) else INFINITE
            if exact > path or (path == INFINITE) != (exact == INFINITE):
                raise CertificateRefused(f"the claimed distance of records {i} and {j} was raised above their path")
            if path != INFINITE and exact < path * (1 - _RELATIVE):
                raise CertificateRefused(f"the claimed distance of records {i} and {j} was lowered below their path")
