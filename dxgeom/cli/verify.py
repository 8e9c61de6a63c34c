"""``dxgeom verify``: is this matrix, or this edge list, a metric?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dxgeom.cli.options import CertificateOption, Format, FormatOption
from dxgeom.cli.terminal import Outcome, print_either, print_error, refusals
from dxgeom.errors import NotAMetric

if TYPE_CHECKING:
    from dxgeom.cli.verdicts import Verdict
    from dxgeom.metrics.matrices import Progress


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
        from dxgeom.cli.verdicts import claim_of

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
