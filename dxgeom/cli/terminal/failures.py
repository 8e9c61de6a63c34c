"""What happens when a command cannot do what was asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from dxgeom.cli.terminal.options import Format, TableFormat
from dxgeom.cli.terminal.printing import print_error, print_json
from dxgeom.errors import DxgeomError, FileMistakes, NotAMetric

REFUSED = 1
INTERRUPTED = 130


@contextmanager
def refusals(output: Format | TableFormat) -> Iterator[None]:
    """Turns what a user can mend into a message on standard error and exit code 1.

    With JSON the same goes to standard output as ``{"error": …}``. Any other exception is a bug and stays visible.
    """
    try:
        yield
    except DxgeomError as error:
        print_error(_message(error))
        if output.value == Format.json.value:
            print_json({"error": error_dict(error)})
        raise typer.Exit(REFUSED) from error
    except KeyboardInterrupt as error:
        print_error("; ".join(["interrupted", *getattr(error, "__notes__", ())]))
        raise typer.Exit(INTERRUPTED) from error


def error_dict(error: DxgeomError) -> dict[str, Any]:
    """An error ready for JSON: its kind, its message, and what its kind carries."""
    document: dict[str, Any] = {"kind": type(error).__name__, "message": str(error)}
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
