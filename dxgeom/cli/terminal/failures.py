"""What happens when a command cannot do what was asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from dxgeom.cli.terminal.options import Format, TableFormat
from dxgeom.cli.terminal.outcomes import Outcome, outcome_of
from dxgeom.cli.terminal.printing import print_error, print_json
from dxgeom.errors import AlreadyCharged, DxgeomError, FileMistakes, NotAMetric


@contextmanager
def refusals(output: Format | TableFormat) -> Iterator[None]:
    """Turns what ends a command into a message on standard error and the exit code of its outcome.

    With JSON the same goes to standard output as ``{"error": …}``. Any other exception is a bug and stays visible.
    """
    try:
        yield
    except DxgeomError as error:
        print_error(_message(error))
        if output.value == Format.json.value:
            print_json({"error": {**error_dict(error), "exit_code": int(outcome_of(error))}})
        raise typer.Exit(outcome_of(error)) from error
    except KeyboardInterrupt as error:
        print_error("; ".join(["interrupted", *getattr(error, "__notes__", ())]))
        raise typer.Exit(Outcome.INTERRUPTED) from error


def error_dict(error: DxgeomError) -> dict[str, Any]:
    """An error ready for JSON: its kind, its message, and what its kind carries."""
    document: dict[str, Any] = {"kind": type(error).__name__, "message": str(error)}
    if isinstance(error, AlreadyCharged):
        document["entry"] = error.entry
        document["stored"] = error.stored
    if isinstance(error, FileMistakes):
        document["mistakes"] = [diagnostic.as_dict() for diagnostic in error.diagnostics]
    if isinstance(error, NotAMetric):
        document["witness"] = list(error.witness)
        document["excess"] = error.excess
        document["broken"] = [{"axiom": rule, "count": count} for rule, count in error.broken]
    return document


def _message(error: DxgeomError) -> str:
    if not isinstance(error, FileMistakes):
        return f"error: {error}"
    found = len(error.diagnostics)
    return f"{error}\n{found} mistake{'s' if found != 1 else ''}"
