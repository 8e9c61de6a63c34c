"""``dxgeom verify``: is this matrix a metric?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dxgeom.cli.failures import REFUSED, error_dict, refusals
from dxgeom.cli.options import Format, FormatOption
from dxgeom.cli.printing import print_error, print_json, print_lines
from dxgeom.errors import NotAMetric

if TYPE_CHECKING:
    from dxgeom.cli.matrix_file import ClaimedMatrix
    from dxgeom.metrics.certificate import MetricCertificate
    from dxgeom.metrics.matrix_check import Progress

_LARGE = 500
_VERDICTS = {"holds": "holds", "within rounding": "within rounding of equality"}


def verify(
    matrix: Annotated[
        Path, typer.Argument(help="A square matrix of distances: .csv, .npy or .parquet.", metavar="MATRIX")
    ],
    output: FormatOption = Format.text,
) -> None:
    """Verify that a matrix of distances is a metric.

    Distances are 0 on the diagonal, symmetric, not negative, and no detour is shorter; infinity is allowed.
    Prints a certificate, or the worst witness that it fails, and then exits with 1.

    In CSV, decimals such as 0.1 and fractions such as 1/3 are decided exactly. There are labels
    when the top left cell is no number: in a header row, in the first column, or in both.

    \b
    Example:
      dxgeom verify distances.csv
    """
    with refusals(output):
        from dxgeom.cli.matrix_file import read_matrix
        from dxgeom.metrics.verification import verify_metric

        claimed = read_matrix(matrix)
        try:
            with _progress(claimed.size) as progress:
                certificate = verify_metric(claimed.entries, title=str(matrix), progress=progress).certificate
        except NotAMetric as error:
            if not error.witness:
                raise
            _violated(matrix, claimed, error, output)
            raise typer.Exit(REFUSED) from error
        _holds(matrix, claimed, certificate, output)


@contextmanager
def _progress(size: int) -> Iterator[Progress | None]:
    """A bar on standard error while a large matrix is checked, if somebody is looking."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if size < _LARGE or not console.is_terminal:
        yield None
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task("comparing detours", total=size)
        yield lambda done, _: bar.update(task, completed=done)


def _holds(path: Path, claimed: ClaimedMatrix, certificate: MetricCertificate, output: Format) -> None:
    verdict = _VERDICTS[certificate.verdict]
    if output is Format.json:
        print_json({**_about(path, claimed), "verdict": verdict, "certificate": certificate.as_dict()})
        return
    note = (
        ["note     the decimals have too many digits to be decided exactly; read as float64"] if claimed.rounded else []
    )
    print_lines([f"matrix   {path}, {certificate.size:,} records", f"verdict  {verdict}", *note])
    print_lines(["", "certificate", *certificate.lines("  ")])


def _violated(path: Path, claimed: ClaimedMatrix, error: NotAMetric, output: Format) -> None:
    print_error(f"error: {error}")
    if output is Format.json:
        witness = {
            "indices": list(error.witness),
            "labels": [claimed.label(index) for index in error.witness],
            "distances": {f"{i},{j}": claimed.distance(i, j) for i, j in _pairs(error.witness)},
        }
        print_json({**_about(path, claimed), "verdict": "violated", "witness": witness, "error": error_dict(error)})
        return
    print_lines([f"matrix   {path}", "verdict  violated", f"witness  {_witness_words(claimed, error.witness)}"])


def _about(path: Path, claimed: ClaimedMatrix) -> dict[str, Any]:
    return {"matrix": str(path), "size": claimed.size, "decimals_rounded": claimed.rounded}


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
