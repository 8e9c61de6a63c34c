"""What a certificate file claims about a metric, in numbers that somebody else can check; and shortest paths for it."""

from __future__ import annotations

import heapq
import json
import math
import os
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from dxgeom.errors import CertificateRefused, file_errors
from dxgeom.metrics.metric import MetricCertificate
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.universe.universe import Universe

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


Kind: TypeAlias = Literal["policy", "matrix", "edges"]
Claims: TypeAlias = dict[str, Any]

FORMAT: Final = "dxgeom certificate 1"
KEYS: Final = frozenset({"format", "kind", "title", "fingerprint", "size", "budget", "proof", "distances"})
_LARGEST_FILE = 4_000_000
_ALL_PAIRS_UP_TO = 24
_ALONG_AN_AXIS = 32
_ANYWHERE = 64


def claims_of(verified: VerifiedMetric, kind: Kind, proof: MetricCertificate | None = None) -> Claims:
    """The certificate of a metric with the fingerprint of what it came from and a fixed selection of its distances.

    ``proof``: the certificate to claim where it says more than the metric's own. Titles are claimed for policies only.
    """
    pairs = claimed_pairs((verified.size,)) if verified.universe is None else pairs_of_universe(verified.universe)
    distances = verified.distance([i for i, _ in pairs], [j for _, j in pairs]).tolist() if pairs else []
    return {
        "format": FORMAT,
        "kind": kind,
        "title": verified.title if kind == "policy" else "",
        "fingerprint": verified.fingerprint,
        "size": verified.size,
        "budget": str(verified.budget),
        "proof": (proof or verified.certificate).as_dict(),
        "distances": [[i, j, _written(d)] for (i, j), d in zip(pairs, distances, strict=True)],
    }


def claimed_pairs(shape: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of records whose distances are claimed: all of few, else some along every axis and some anywhere.

    The selection is a function of the shape, so that none can be left out unnoticed.
    """
    size = math.prod(shape)
    if size <= _ALL_PAIRS_UP_TO:
        return [(i, j) for i in range(size) for j in range(i + 1, size)]
    pairs: dict[tuple[int, int], None] = {}
    stride = 1
    for length in reversed(shape):
        codes = sorted({code * (length - 1) // _ALONG_AN_AXIS for code in range(1, _ALONG_AN_AXIS + 1)} - {0})
        pairs.update({(0, code * stride): None for code in codes})
        stride *= length
    state = size
    for _ in range(_ANYWHERE):
        # Any spread will do; Knuth's multiplier, so that every Python draws the same.
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        i, j = (state >> 33) % size, (state >> 13) % size
        if i != j:
            pairs[min(i, j), max(i, j)] = None
    return list(pairs)


def pairs_of_universe(universe: Universe) -> list[tuple[int, int]]:
    """The same for the records of a universe; some records are paired with the absent one. None of universes whose
    records are not numbered."""
    if not universe.indexable:
        return []
    shape = universe.layout
    if universe.absent is None or universe.size <= _ALL_PAIRS_UP_TO:
        return claimed_pairs(shape if universe.absent is None else (universe.size,))
    some = sorted({place * universe.record_types // _ALONG_AN_AXIS for place in range(_ALONG_AN_AXIS)})
    return [*claimed_pairs(shape), *((record, universe.absent) for record in some)]


def write_claims(path: Path, claims: Claims) -> None:
    """Write a new certificate file. Raises: DataError; nothing is overwritten."""
    with file_errors(path, "written"), path.open("x", encoding="ascii") as stream:
        stream.write(json.dumps(claims, indent=1, allow_nan=False) + "\n")


def read_claims(path: str | os.PathLike[str]) -> Claims:
    """Read a certificate file.

    Raises: DataError when it cannot be read; CertificateRefused when it is no certificate of this version.
    """
    with file_errors(path, "read"), Path(path).open("rb") as stream:
        content = stream.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise CertificateRefused(f"'{path}' is larger than any certificate ({_LARGEST_FILE:,} bytes)")
    try:
        claims = json.loads(content.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise CertificateRefused(f"'{path}' is not JSON, so no certificate") from error
    if not isinstance(claims, dict) or claims.get("format") != FORMAT or set(claims) != KEYS:
        raise CertificateRefused(f"'{path}' is not a '{FORMAT}' file with the keys {', '.join(sorted(KEYS))}")
    return claims


def claimed_distances(claims: Claims, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int, float]]:
    """The claimed distances, of exactly the pairs that have to be there. Raises: CertificateRefused."""
    rows = claims["distances"]
    if not isinstance(rows, list) or any(not isinstance(row, list) or len(row) != 3 for row in rows):
        raise CertificateRefused("the claimed distances are not a list of [record, record, distance]")
    if [tuple(row[:2]) for row in rows] != list(pairs):
        raise CertificateRefused("the claimed distances are not those of the pairs that a certificate has to list")
    return [(i, j, _read(distance)) for i, j, distance in rows]


def require_equal(name: str, claimed: object, found: object) -> None:
    """Raises: CertificateRefused, naming what differs."""
    if claimed != found or type(claimed) is not type(found):
        raise CertificateRefused(f"the certificate claims {name} {claimed!r}, found {found!r}")


def require_proof(claimed: object, found: dict[str, Any], place: str = "proof") -> None:
    """Compare a claimed tree of forms with one that was derived. Raises: CertificateRefused, naming the place."""
    if not isinstance(claimed, dict) or set(claimed) != set(found):
        raise CertificateRefused(f"the certificate's {place} does not have the keys {', '.join(found)}")
    for key, value in found.items():
        if key != "parts":
            require_equal(f"{place}.{key}", claimed[key], value)
    require_equal(f"{place}: number of parts", len(claimed["parts"]), len(found["parts"]))
    for number, (one, other) in enumerate(zip(claimed["parts"], found["parts"], strict=True)):
        require_proof(one, other, f"{place}.parts[{number}]")


def _written(distance: float) -> float | str:
    return distance if math.isfinite(distance) else "inf"


def _read(distance: object) -> float:
    if distance == "inf":
        return math.inf
    if not isinstance(distance, float) or not math.isfinite(distance) or distance < 0:
        raise CertificateRefused(f"a claimed distance is a number of at least 0 or 'inf', found {distance!r}")
    return distance
