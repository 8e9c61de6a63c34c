"""Verdicts on claimed distances, for a reader and for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, final

from dxgeom.cli.distances.edge_file import ClaimedEdges, read_edges
from dxgeom.cli.distances.matrix_file import ClaimedMatrix, read_matrix
from dxgeom.cli.distances.repaired_file import write_edges, write_matrix
from dxgeom.cli.terminal.failures import error_dict
from dxgeom.errors import NotAMetric
from dxgeom.metrics.certificate import MetricCertificate
from dxgeom.metrics.checking.closure import Distance, repair_metric
from dxgeom.metrics.checking.edge_check import repair_edges, verify_edges
from dxgeom.metrics.checking.edge_list import words_of
from dxgeom.metrics.checking.matrix_check import Progress
from dxgeom.metrics.checking.verification import VerifiedMetric, verify_metric

_VERDICTS = {"holds": "holds", "within rounding": "within rounding of equality"}
_ROUNDED = "note     the decimals have too many digits to be decided exactly; read as float64"


@final
@dataclass(frozen=True, eq=False)
class Verdict:
    """What to print; ``refused`` says which axiom fails, ``metric`` is there when none does."""

    lines: tuple[str, ...]
    document: dict[str, Any]
    refused: NotAMetric | None = None
    metric: VerifiedMetric | None = None
    certificate: MetricCertificate | None = None
    repair: dict[str, Any] = field(default_factory=dict)


@final
@dataclass(frozen=True, eq=False)
class MatrixClaim:
    """A matrix file that claims to be a metric."""

    path: Path
    claimed: ClaimedMatrix
    kind: ClassVar[Literal["matrix"]] = "matrix"

    @staticmethod
    def read(path: Path) -> MatrixClaim:
        """Raises: DataError, TooLarge."""
        return MatrixClaim(path, read_matrix(path))

    @property
    def size(self) -> int:
        """The number of records."""
        return self.claimed.size

    @property
    def _about(self) -> dict[str, Any]:
        return {"matrix": str(self.path), "size": self.size, "decimals_rounded": self.claimed.rounded}

    def verdict(self, first: bool, progress: Progress | None) -> Verdict:
        """Raises: NotAMetric when this is no square matrix of numbers at all."""
        try:
            metric = verify_metric(self.claimed.entries, title=str(self.path), progress=progress, first=first)
        except NotAMetric as error:
            if not error.witness:
                raise
            return self._violated(error)
        head = f"matrix   {self.path}, {self.size:,} records"
        return _holding(head, self._about, metric, metric.certificate, self.claimed.rounded)

    def repaired(self, verdict: Verdict, target: Path, progress: Progress | None) -> Verdict:
        """The closure, written in the format of the source. Raises: NotAMetric when none lies below; DataError."""
        closed = repair_metric(self.claimed.entries, progress=progress)
        write_matrix(self.path, target, self.claimed, closed.entries)
        where = () if closed.where is None else tuple(self.claimed.label(index) for index in closed.where)
        return _mended(verdict, target, "entries", (closed.fell, self.size**2), where, (closed.before, closed.after))

    def _violated(self, error: NotAMetric) -> Verdict:
        witness = {
            "indices": list(error.witness),
            "labels": [self.claimed.label(index) for index in error.witness],
            "distances": {f"{i},{j}": self.claimed.distance(i, j) for i, j in _pairs(error.witness)},
        }
        document = {**self._about, "verdict": "violated", "witness": witness, "error": error_dict(error)}
        said = _witness_words(self.claimed, error.witness)
        lines = (f"matrix   {self.path}", "verdict  violated", f"witness  {said}", *_counts(error))
        return Verdict(lines, document, error)


@final
@dataclass(frozen=True, eq=False)
class EdgeClaim:
    """An edge list that claims that no path is shorter than an edge."""

    path: Path
    claimed: ClaimedEdges
    kind: ClassVar[Literal["edges"]] = "edges"

    @staticmethod
    def read(path: Path) -> EdgeClaim:
        """Raises: DataError, TooLarge."""
        return EdgeClaim(path, read_edges(path))

    @property
    def size(self) -> int:
        """The number of edges."""
        return len(self.claimed.edges)

    @property
    def _about(self) -> dict[str, Any]:
        return {"edges": str(self.path), "size": self.size, "decimals_rounded": self.claimed.rounded}

    def verdict(self, first: bool, progress: Progress | None) -> Verdict:
        """Raises: NotAMetric when the numbers cannot be decided."""
        try:
            found = verify_edges(self.claimed.edges, title=str(self.path), progress=progress, first=first)
        except NotAMetric as error:
            if not error.witness:
                raise
            return self._violated(error)
        apart = "" if found.components == 1 else f" in {found.components:,} parts, infinitely far from each other"
        head = f"edges    {self.path}, {self.size:,} edges between {len(found.names):,} records{apart}"
        about = {**self._about, "records": len(found.names), "components": found.components}
        return _holding(head, about, found.metric, found.certificate, self.claimed.rounded)

    def repaired(self, verdict: Verdict, target: Path, progress: Progress | None) -> Verdict:
        """Every edge lowered to its shortest path. Raises: NotAMetric when none lies below; DataError."""
        closed = repair_edges(self.claimed.edges, progress=progress)
        write_edges(target, self.claimed, closed.distances)
        where = () if closed.where is None else tuple(self.claimed.edges[closed.where][:2])
        return _mended(verdict, target, "edges", (closed.fell, self.size), where, (closed.before, closed.after))

    def _violated(self, error: NotAMetric) -> Verdict:
        names = sorted({name for edge in self.claimed.edges for name in edge[:2]})
        path = [names[index] for index in error.witness]
        witness = {"indices": list(error.witness), "labels": path}
        document = {**self._about, "verdict": "violated", "witness": witness, "error": error_dict(error)}
        shown = path if len(path) <= 8 else [*path[:4], "…", *path[-3:]]
        lines = (
            f"edges    {self.path}",
            "verdict  violated",
            f"witness  the path {' – '.join(shown)}",
            *_counts(error),
        )
        return Verdict(lines, document, error)


Claim: TypeAlias = MatrixClaim | EdgeClaim


def _holding(
    head: str, about: dict[str, Any], metric: VerifiedMetric, certificate: MetricCertificate, rounded: bool
) -> Verdict:
    said = _VERDICTS[certificate.verdict]
    allowed = f" (relative excess {certificate.excess:.3g}, allowed {certificate.tolerance:.3g})"
    lines = [head, f"verdict  {said}{allowed if certificate.verdict == 'within rounding' else ''}"]
    lines += [_ROUNDED] if rounded else []
    lines += ["", "certificate", *certificate.lines("  ")]
    document = {**about, "verdict": said, "certificate": certificate.as_dict()}
    return Verdict(tuple(lines), document, None, metric, certificate)


def _mended(
    verdict: Verdict,
    target: Path,
    what: str,
    fell: tuple[int, int],
    where: Sequence[str],
    change: tuple[Distance, Distance],
) -> Verdict:
    repair: dict[str, Any] = {"written": str(target), "fell": fell[0], "of": fell[1]}
    lines = [f"repaired {target}: {fell[0]:,} of {fell[1]:,} {what} fell"]
    if where:
        before, after = map(words_of, change)
        repair |= {"largest_fall": {"where": list(where), "from": before, "to": after, "by": _fall(*change)}}
        lines += [f"         most at ({', '.join(where)}): from {before} to {after}, by {_fall(*change)}"]
    document = {**verdict.document, "repair": repair}
    return replace(verdict, lines=(*verdict.lines, *lines), document=document, repair=repair)


def _fall(before: Distance, after: Distance) -> str:
    if math.isinf(before):
        return "inf"
    both_exact = isinstance(before, Fraction) and isinstance(after, Fraction)
    return words_of(before - after) if both_exact else f"{float(before) - float(after):.6g}"


def _counts(error: NotAMetric) -> list[str]:
    return [f"broken   {rule}: {count:,} times" for rule, count in error.broken]


def _witness_words(claimed: ClaimedMatrix, witness: tuple[int, ...]) -> str:
    pairs = list(dict.fromkeys(_pairs(witness)))
    names = [f"d({claimed.label(i)}, {claimed.label(j)})" for i, j in pairs]
    stated = [claimed.distance(i, j) for i, j in pairs]
    if len(witness) == 3:
        return f"{names[0]} = {stated[0]} > {names[1]} + {names[2]} = {stated[1]} + {stated[2]}"
    return " and ".join(f"{name} = {distance}" for name, distance in zip(names, stated, strict=True))


def _pairs(witness: tuple[int, ...]) -> list[tuple[int, int]]:
    match witness:
        case (i, k, j):
            return [(i, j), (i, k), (k, j)]
        case (i, j):
            return [(i, j), (j, i)]
        case _:
            return []
