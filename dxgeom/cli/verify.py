"""``dxgeom verify``: is this matrix, or this edge list, a metric?

Verdicts on claimed distances, for a reader and for JSON.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, final

import typer

from dxgeom.cli.distances import ClaimedEdges, ClaimedMatrix, read_edges, read_matrix, write_edges, write_matrix
from dxgeom.cli.options import CertificateOption, Format, FormatOption
from dxgeom.cli.terminal import Outcome, error_dict, print_either, print_error, refusals
from dxgeom.errors import NotAMetric
from dxgeom.metrics.edges import repair_edges, verify_edges, words_of
from dxgeom.metrics.matrices import Distance, Progress, repair_metric
from dxgeom.metrics.metric import MetricCertificate
from dxgeom.metrics.verification import VerifiedMetric, verify_metric

_LARGE = 500


def verify(
    matrix: Annotated[
        Path,
        typer.Argument(help="A square matrix of distances: .csv, .npy or .parquet; or an edge list.", metavar="MATRIX"),
    ],
    edges: Annotated[
        bool, typer.Option("--edges", help="MATRIX is an edge list: .csv with the columns from, to, distance.")
    ] = False,
    first: Annotated[
        bool, typer.Option("--first", help="Stop at the first violation instead of looking for the worst.")
    ] = False,
    repair: Annotated[
        Path | None,
        typer.Option("--repair", metavar="OUT", help="Write the largest metric below MATRIX to this new file."),
    ] = None,
    certificate: CertificateOption = None,
    output: FormatOption = Format.text,
) -> None:
    """Verify that a matrix of distances is a metric.

    Distances are 0 on the diagonal, symmetric, not negative, and no detour is shorter; infinity is allowed.
    Prints a certificate, or the worst witness that it fails, and then exits with 1, unless it was repaired.
    Only what holds gets a certificate file.

    In CSV, decimals such as 0.1 and fractions such as 1/3 are decided exactly. There are labels
    when the top left cell is no number: in a header row, in the first column, or in both.
    An edge list holds if no path is shorter than an edge between the same ends.

    \b
    Example:
      dxgeom verify distances.csv
      dxgeom verify roads.csv --edges --repair shortest-roads.csv
    """
    with refusals(output):
        from dxgeom.cli.distances import check_target
        from dxgeom.cli.terminal import check_new

        if repair is not None:
            check_target(matrix, repair)
        if certificate is not None:
            check_new(certificate)
        claim = claim_of(matrix, edges)
        with _progress("comparing detours", claim.claimed.size) as progress:
            verdict = claim.verdict(first, progress)
        if repair is not None:
            with _progress("closing", claim.claimed.size) as progress:
                verdict = claim.repaired(verdict, repair, progress)
        if certificate is not None and verdict.metric is not None:
            from dxgeom.audit.claims import claims_of, write_claims

            write_claims(certificate, claims_of(verdict.metric, claim.kind, verdict.certificate))
        _print(verdict, output)
        if verdict.refused is not None and not verdict.repair:
            raise typer.Exit(Outcome.REFUSED) from verdict.refused


@contextmanager
def _progress(work: str, size: int) -> Iterator[Progress | None]:
    """A bar on standard error while a large matrix is worked on, if somebody is looking."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    from dxgeom.metrics.detours import SLOWER, slow_for_want_of_numba

    console = Console(stderr=True)
    if size < _LARGE or not console.is_terminal:
        yield None
        return
    if slow_for_want_of_numba(size):
        console.print(SLOWER, highlight=False)
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task(work, total=size)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _print(verdict: Verdict, output: Format) -> None:
    if isinstance(verdict.refused, NotAMetric):
        print_error(f"error: {verdict.refused}")
    print_either(output, verdict.document, verdict.lines)


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


class Claim(ABC):
    """A file that claims to state distances."""

    path: Path
    claimed: ClaimedMatrix | ClaimedEdges
    kind: ClassVar[Literal["matrix", "edges"]]

    def verdict(self, first: bool, progress: Progress | None) -> Verdict:
        """Raises: NotAMetric when these numbers cannot be decided at all."""
        try:
            return self._verified(first, progress)
        except NotAMetric as error:
            if not error.witness:
                raise
            witness, words = self._witness(error.witness)
            found = {"indices": list(error.witness), **witness}
            document = {**self._about, "verdict": "violated", "witness": found, "error": error_dict(error)}
            counts = (f"broken   {rule}: {count:,} times" for rule, count in error.broken)
            return Verdict((self._head, "verdict  violated", f"witness  {words}", *counts), document, error)

    @abstractmethod
    def repaired(self, verdict: Verdict, target: Path, progress: Progress | None) -> Verdict:
        """What holds below the claim, written in the format of the source.

        Raises: NotAMetric when nothing does; DataError.
        """

    @abstractmethod
    def _verified(self, first: bool, progress: Progress | None) -> Verdict:
        """The verdict where the claim holds. Raises: NotAMetric."""

    @abstractmethod
    def _witness(self, indices: tuple[int, ...]) -> tuple[dict[str, Any], str]:
        """What shows that it does not, for JSON and in words."""

    @property
    def _head(self) -> str:
        return f"{self.kind:<8} {self.path}"

    @property
    def _about(self) -> dict[str, Any]:
        return {self.kind: str(self.path), "size": self.claimed.size, "decimals_rounded": self.claimed.rounded}


@final
@dataclass(frozen=True, eq=False)
class MatrixClaim(Claim):
    """A matrix file that claims to be a metric."""

    path: Path
    claimed: ClaimedMatrix
    kind: ClassVar[Literal["matrix"]] = "matrix"

    def repaired(self, verdict: Verdict, target: Path, progress: Progress | None) -> Verdict:
        closed = repair_metric(self.claimed.entries, progress=progress)
        write_matrix(self.path, target, self.claimed, closed.entries)
        where = () if closed.where is None else tuple(self.claimed.label(index) for index in closed.where)
        of = self.claimed.size**2
        return _mended(verdict, target, "entries", (closed.fell, of), where, (closed.before, closed.after))

    def _verified(self, first: bool, progress: Progress | None) -> Verdict:
        metric = verify_metric(self.claimed.entries, title=str(self.path), progress=progress, first=first)
        head = f"{self._head}, {self.claimed.size:,} records"
        return _holding(head, self._about, metric, metric.certificate, self.claimed.rounded)

    def _witness(self, indices: tuple[int, ...]) -> tuple[dict[str, Any], str]:
        distances = {f"{i},{j}": self.claimed.distance(i, j) for i, j in _pairs(indices)}
        labels = [self.claimed.label(index) for index in indices]
        return {"labels": labels, "distances": distances}, _witness_words(self.claimed, indices)


@final
@dataclass(frozen=True, eq=False)
class EdgeClaim(Claim):
    """An edge list that claims that no path is shorter than an edge."""

    path: Path
    claimed: ClaimedEdges
    kind: ClassVar[Literal["edges"]] = "edges"

    def repaired(self, verdict: Verdict, target: Path, progress: Progress | None) -> Verdict:
        """Every edge is lowered to its shortest path."""
        closed = repair_edges(self.claimed.edges, progress=progress)
        write_edges(target, self.claimed, closed.distances)
        where = () if closed.where is None else tuple(self.claimed.edges[closed.where][:2])
        of = self.claimed.size
        return _mended(verdict, target, "edges", (closed.fell, of), where, (closed.before, closed.after))

    def _verified(self, first: bool, progress: Progress | None) -> Verdict:
        found = verify_edges(self.claimed.edges, title=str(self.path), progress=progress, first=first)
        apart = "" if found.components == 1 else f" in {found.components:,} parts, infinitely far from each other"
        head = f"{self._head}, {self.claimed.size:,} edges between {len(found.names):,} records{apart}"
        about = {**self._about, "records": len(found.names), "components": found.components}
        return _holding(head, about, found.metric, found.certificate, self.claimed.rounded)

    def _witness(self, indices: tuple[int, ...]) -> tuple[dict[str, Any], str]:
        names = sorted({name for edge in self.claimed.edges for name in edge[:2]})
        path = [names[index] for index in indices]
        shown = path if len(path) <= 8 else [*path[:4], "…", *path[-3:]]
        return {"labels": path}, f"the path {' – '.join(shown)}"


def claim_of(path: Path, edges: bool) -> Claim:
    """What a file claims, as an edge list or as a matrix. Raises: DataError, TooLarge."""
    return EdgeClaim(path, read_edges(path)) if edges else MatrixClaim(path, read_matrix(path))


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
