"""What is typed: options and arguments that several commands share, records, and answers to an option not known."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from fractions import Fraction
from importlib.util import LazyLoader, find_spec, module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, cast, final

import typer
from typer.core import TyperCommand, TyperGroup

from dxgeom.errors import UnsupportedCombination

if TYPE_CHECKING:
    from dxgeom.metrics.metric import DataSet


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
    l1 = "l1"
    l2 = "l2"
    linf = "linf"
    quantile_90 = "quantile-90"
    quantile_95 = "quantile-95"
    quantile_99 = "quantile-99"


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
    from dxgeom.metrics.metric import DataSet

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


_UNUSED: Final = ("f2py", "polynomial", "testing")
"""Parts of NumPy that no command uses, and SciPy names; they load ``unittest``, ``pydoc`` and ``argparse`` as well."""


def leave_unloaded() -> None:
    """Before SciPy is loaded: it takes every name of NumPy, and a third of its own start is the loading of these.

    Whoever uses one has it all the same, by :class:`importlib.util.LazyLoader`. Only for the process of a command,
    which is nobody else's.
    """
    import numpy as np  # slow to load, and help needs none

    for part in _UNUSED:
        name = f"numpy.{part}"
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
            module = module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            setattr(np, part, module)


def mechanism_of(text: str) -> str:
    """The name of a mechanism that can be asked for.

    Raises: typer.BadParameter.
    """
    leave_unloaded()  # options are read before a command begins, and names of noise load SciPy
    from dxgeom.planner.wish import AUTO

    if text == AUTO:
        return text
    from dxgeom.mechanisms.quantiles.choice import QUANTILE_FORMS
    from dxgeom.planner.candidates import require_known

    with _understood():
        return text if text in QUANTILE_FORMS else require_known(text)


def body_of(text: str) -> list[list[float]]:
    """The corners of a body, written as JSON or as a polygon in WKT; or as a file of either.

    Raises: typer.BadParameter.
    """
    leave_unloaded()
    from dxgeom.queries.queries_file import NoBody, corners_stated

    said = text.strip()
    if said[:1] != "[" and "(" not in said:
        try:
            said = Path(said).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise typer.BadParameter(
                f"{text!r} is no list of corners, no polygon, and no file that can be read"
            ) from error
    try:
        corners = corners_stated(json.loads(said, parse_float=str, parse_int=str) if said[:1] == "[" else said)
    except json.JSONDecodeError as error:
        raise typer.BadParameter(f"corners are written as JSON, such as [[2, 0], [0, 1]]: {error}") from error
    except NoBody as error:
        raise typer.BadParameter(str(error)) from error
    return [[float(number) for number in corner] for corner in corners]


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
AllOption: TypeAlias = Annotated[
    bool, typer.Option("--all", help="Show everything, and of mistakes every one: not only what fits on a screen.")
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
BodyOption: TypeAlias = Annotated[
    Any,  # the corners
    typer.Option(
        "--body",
        parser=body_of,
        metavar="CORNERS",
        help="The shape of the noise: corners such as '[[2, 0], [0, 1]]', a number for every query in each, for two "
        "queries a polygon in WKT, or the file of either; in place of the queries file's.",
    ),
]
ObjectiveOption: TypeAlias = Annotated[
    ObjectiveChoice,
    typer.Option(
        "--objective",
        help="'balanced' makes squared errors small, each unit's relative to what they would be alone; 'mse' makes "
        "their total small, which is the same as its root, 'rmse'; 'max' the worst; 'l1', 'l2' and 'linf' the expected "
        "norm of the errors themselves; 'quantile-95' what no error exceeds with 95 %.",
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
ThoroughOption: TypeAlias = Annotated[
    bool, typer.Option("--thorough", help="Look for every kind of noise, however long that takes: there may be less.")
]
QuickOption: TypeAlias = Annotated[bool, typer.Option("--quick", hidden=True, help="What is done unless --thorough.")]
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


def _ledger(text: str) -> str:
    if text == ":memory:":
        raise typer.BadParameter("a ledger in memory would be forgotten at once, and the budget with it; name a file")
    return text if "://" in text else str(Path(text))


LedgerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        parser=_ledger,
        metavar="FILE",
        help="The ledger: a file, begun when there is none, or postgresql://… of one that was begun.",
    ),
]
AllotmentOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--allotment", metavar="NAME", help="Whose part of the budget is charged, where it is divided."),
]
IdOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--id", metavar="KEY", help="A name of this release: asked for again, its stored answers are shown."),
]
OutputOption: TypeAlias = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write the release as JSON to this new file, too.")
]
PurposeOption: TypeAlias = Annotated[
    str, typer.Option("--purpose", help="What the answers are for; written into the ledger.")
]


def record_of(text: str) -> int | str | dict[str, Any]:
    """A record as written: a number, a JSON object, ``attribute=value,attribute=value``, or ``absent``.

    A piece between commas that has no equals sign belongs to the value before it, as in ``age=[0, 18)``.
    Raises: typer.BadParameter.
    """
    written = text.strip()
    if written.isascii() and written.isdecimal() and len(written) < 20:
        return int(written)
    if written == "absent":
        return written
    if written.startswith("{"):
        return _record_of_json(written)
    pieces: list[str] = []
    for piece in written.split(","):
        if "=" in piece or not pieces:
            pieces.append(piece)
        else:
            pieces[-1] += f",{piece}"
    pairs = [(name.strip(), sign, value.strip()) for name, sign, value in (one.partition("=") for one in pieces)]
    if not all(sign and name for name, sign, _ in pairs) or len({name for name, _, _ in pairs}) < len(pairs):
        order = "; the policy is named first, then the two records" if written.endswith((".yaml", ".yml")) else ""
        raise typer.BadParameter(
            f"a record is a number, a JSON object, 'absent', or like sex=F,age=40; found {text!r}{order}"
        )
    return {name: value for name, _, value in pairs}


def _record_of_json(text: str) -> dict[str, Any]:
    record = json_of(text)
    if not all(isinstance(value, str) for value in record.values()):
        raise typer.BadParameter("the values of a record are words and numbers")
    return dict(record)


def json_of(text: str) -> Any:
    """What a text of JSON says, numbers as written. Raises: typer.BadParameter."""
    try:
        return json.loads(text, parse_float=str, parse_int=str)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"this is not JSON: {error}") from error


_USAGE: Final = cast("type[Exception]", typer.BadParameter.__mro__[1])
"""What the command line raises of its own: an option that it does not have, a value that does not fit."""

_MEANT: Final = {
    **dict.fromkeys(("--epsilon", "--eps", "--budget", "-e", "-s"), "--spend"),
    **dict.fromkeys(("--seed", "--random-seed", "--random-state"), "--rehearse"),
    **dict.fromkeys(("--out", "--target", "--html", "-o"), "--output"),
}
_WHY: Final = {
    "--spend": "a release spends a part of the budget, and the policy's rules say which epsilon that is",
    "--rehearse": "what is released is drawn from the system's randomness; a rehearsal is for trying",
    "--output": "the file that is written is named by it",
}
_INSTEAD: Final = {
    "--delta": "leave it out: the policy says which privacy, 'privacy: pure' or 'privacy: concentrated'",
    **dict.fromkeys(("--table", "--data"), "name it without one, as in dxgeom release POLICY TABLE QUERIES"),
    **dict.fromkeys(("--queries", "--query"), "name it without one, as in dxgeom plan POLICY QUERIES"),
    "--plan": "a plan file is named in the place of the policy",
    "-l": "options of several letters have two dashes, as in --ledger",
}
"""What to do about options that no command has, or another one."""
_NO_NUMBER: Final = "Input should be a valid integer, unable to parse string as an integer"


_OTHER_COMMANDS: Final = {
    **dict.fromkeys(("validate", "lint", "test"), "dxgeom check POLICY"),
    **dict.fromkeys(("run", "query", "ask"), "dxgeom release POLICY TABLE QUERIES --ledger FILE --spend S"),
    **dict.fromkeys(("budget", "status"), "dxgeom ledger show FILE"),
    **dict.fromkeys(("new", "start", "create"), "dxgeom init TABLE"),
    "help": "dxgeom --help",
    "version": "dxgeom --version",
}
"""Commands of other tools, and what is written here."""


@final
class Commands(TyperGroup):
    """The commands, which answers those of other tools with its own."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Raises: typer's usage errors, said plainly."""
        if args and args[0] in _OTHER_COMMANDS:
            ctx.fail(f"No such command '{args[0]}'; write {_OTHER_COMMANDS[args[0]]}")
        return super().resolve_command(ctx, args)


@final
class Command(TyperCommand):
    """A command that answers options of other tools with its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raises: typer's usage errors, said plainly."""
        try:
            return super().parse_args(ctx, args)
        except _USAGE as error:
            known = {option for parameter in self.params for option in parameter.opts}
            said = str(error.message)  # type: ignore[attr-defined]
            told = plainly(said, getattr(error, "option_name", None), known)
            error.message = told  # type: ignore[attr-defined]
            if told != said and hasattr(error, "possibilities"):
                error.possibilities = None
            raise


def plainly(message: str, option: str | None, known: set[str]) -> str:
    """What typer says, without the name of the library that found it, and with the option that is meant.

    >>> plainly("Value error, 'gaussian' is not one of 'mse'.", None, set())
    "'gaussian' is not one of 'mse'."
    >>> plainly("No such option: --epsilon", "--epsilon", {"--spend"})[:39]
    'No such option: --epsilon; write --spen'
    """
    meant = _MEANT.get(option or "")
    if meant in known:
        return f"{message}; write {meant}: {_WHY[meant]}"
    if message.endswith("requires an argument."):
        return f"{message[:-1]}; write it behind the option, with a blank between"
    if option in _INSTEAD:
        return f"{message}; {_INSTEAD[option]}"
    if message.startswith("Got unexpected extra argument"):
        return f"{message}; {'a table is named by --table' if '--table' in known else 'leave it out'}"
    return message.removeprefix("Value error, ").replace(_NO_NUMBER, "a whole number is expected here, such as 1000")
