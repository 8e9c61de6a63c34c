"""The command line: every command has its own file here."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from dxgeom.cli.audit import audit
from dxgeom.cli.check import check
from dxgeom.cli.distances.verify import verify
from dxgeom.cli.explain import explain
from dxgeom.cli.ledger import ledger
from dxgeom.cli.plan import plan
from dxgeom.cli.release import release
from dxgeom.cli.report import report
from dxgeom.cli.schema import schema

HELP = """Private answers where not everything is equally sensitive.

A policy file says which differences between records stay hidden, and how strongly. Write one, check it, plan your
queries, release the answers.

Exit codes: 0 fine; 1 the policy, the data or the budget says no; 2 the command was not understood.
"""

# Plain help can be searched and piped; tracebacks with local variables could show the data.
app = typer.Typer(
    name="dxgeom",
    help=HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(check)
app.command()(explain)
app.command()(verify)
app.command()(plan)
app.command()(release)
app.command()(report)
app.command()(schema)
app.add_typer(audit, name="audit")
app.add_typer(ledger, name="ledger")


def _print_version(wanted: bool) -> None:
    if wanted:
        from dxgeom import __version__

        typer.echo(f"dxgeom {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Options that stand before the command."""


def run() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        # An answer that was paid for must not be lost because a terminal cannot show one of its letters.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="dxgeom")
