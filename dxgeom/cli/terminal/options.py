"""Options and arguments that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dxgeom.errors import UnsupportedCombination

if TYPE_CHECKING:
    from dxgeom.metrics.data_set import DataSet


class Format(StrEnum):
    """How results and mistakes are written."""

    text = "text"
    json = "json"


class TableFormat(StrEnum):
    """How results are written that make a table."""

    text = "text"
    json = "json"
    csv = "csv"
    parquet = "parquet"


def require_shown(output: TableFormat) -> None:
    """Raises: typer.BadParameter where a file of bytes would go to a terminal."""
    if output is TableFormat.parquet and sys.stdout.isatty():
        raise typer.BadParameter("a Parquet file is nothing for a terminal: lead it into a file, or name --output")


class ObjectiveChoice(StrEnum):
    """What a plan makes small: the names that Python takes."""

    balanced = "balanced"
    mse = "mse"
    max = "max"
    rmse = "rmse"


def spend_of(text: str | Fraction) -> Fraction:
    """A spend as written on the command line, exactly, also when it comes from a default.

    Raises: typer.BadParameter.
    """
    from dxgeom.planner.amounts import exact_amount

    with _understood():
        return exact_amount(text, "spend")


def data_set_of(text: str) -> DataSet:
    """The data set that 'visits' or 'visits/2026-01' names.

    Raises: typer.BadParameter.
    """
    from dxgeom.metrics.data_set import DataSet

    name, slash, edition = text.partition("/")
    if not name or (slash and not edition):
        raise typer.BadParameter("write the data set's name, or name and edition as in visits/2026-01")
    return DataSet(name, edition or None)


def table_of(text: str) -> Path | str:
    """The path of a table, or its URL on a server."""
    return text if "://" in text else Path(text)


def errors_of(texts: list[str] | None) -> dict[str, str] | None:
    """The wanted errors by query, from words such as 'residents: 50'; a name may have colons of its own.

    Raises: typer.BadParameter.
    """
    parts = [text.rpartition(":") for text in texts or ()]
    if any(not (name.strip() and error.strip()) for name, _, error in parts):
        raise typer.BadParameter("name the query and the error it may have, such as --error 'residents: 50'")
    return {name.strip(): error.strip() for name, _, error in parts} or None


def mechanism_of(text: str) -> str:
    """The name of a mechanism that can be asked for.

    Raises: typer.BadParameter.
    """
    from dxgeom.planner.options import AUTO

    if text == AUTO:
        return text
    from dxgeom.mechanisms.quantiles.choice import QUANTILE_FORMS
    from dxgeom.planner.candidates import require_known

    with _understood():
        return text if text in QUANTILE_FORMS else require_known(text)


@contextmanager
def _understood() -> Iterator[None]:
    try:
        yield
    except UnsupportedCombination as error:
        raise typer.BadParameter(str(error)) from error


def level_of(text: str | float) -> float:
    """A confidence level strictly between 0 and 1, also when it comes from a default.

    Raises: typer.BadParameter.
    """
    try:
        level = float(text)
    except ValueError as error:
        raise typer.BadParameter(f"a level is a number such as 0.95, found {text!r}") from error
    if not 0 < level < 1:
        raise typer.BadParameter(f"a level lies strictly between 0 and 1, such as 0.95; found {text!r}")
    return level


PolicyFile: TypeAlias = Annotated[Path, typer.Argument(help="The policy file (YAML).", metavar="POLICY")]
QueriesFiles: TypeAlias = Annotated[
    list[Path], typer.Argument(help="The queries file (YAML), or several for one account.", metavar="QUERIES...")
]
CertificateOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--certificate", metavar="OUT", help="Write the certificate to this new file, for 'dxgeom audit'."),
]
FormatOption: TypeAlias = Annotated[
    Format, typer.Option("--format", help="'json' writes one JSON document to standard output, for mistakes too.")
]
TableFormatOption: TypeAlias = Annotated[
    TableFormat,
    typer.Option(
        "--format",
        help="'json' writes one JSON document to standard output, for mistakes too; 'csv' a table, with a header; "
        "'parquet' the bytes of one.",
    ),
]
MechanismOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--mechanism",
        parser=mechanism_of,
        metavar="NAME",
        help="'auto' takes the one with the smallest predicted error; an unknown name is answered with all there are. "
        "Quantiles: 'transport' or 'laplace'.",
    ),
]
CoarseFacetsOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--coarse-facets",
        min=4,
        metavar="N",
        help="How many facets the coarsened hull may have, 8,000 when left out: more for less error, later.",
    ),
]
ObjectiveOption: TypeAlias = Annotated[
    ObjectiveChoice,
    typer.Option(
        "--objective",
        help="'balanced' makes squared errors small, each unit's relative to what they would be alone; 'mse' makes "
        "their total small, which is the same as its root, 'rmse'; 'max' the worst.",
    ),
]
ErrorOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--error",
        metavar="'NAME: E'",
        help="The root mean squared error that an answer may have; again for other answers. Shows the least spend.",
    ),
]
QuickOption: TypeAlias = Annotated[
    bool, typer.Option("--quick", help="Look only at noise that is found at once; more time may find less of it.")
]
LevelOption: TypeAlias = Annotated[
    float, typer.Option("--level", parser=level_of, metavar="LEVEL", help="Confidence of the error bars.")
]
JointOption: TypeAlias = Annotated[
    bool, typer.Option("--joint", help="Error bars that hold for all answers at once, and for all ratios.")
]
RecordsOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--records", min=1, help="The public number of records, where the queries file does not state it."),
]
