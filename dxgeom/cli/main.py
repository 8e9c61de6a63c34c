"""The command line: every command has its own file here."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Final

import typer

from dxgeom.cli.options import Command, Commands
from dxgeom.cli.terminal import Outcome, hang_doors, print_error, unshown

HELP = """Private answers where not everything is equally sensitive.

A policy file says which differences between records stay hidden, and how strongly. Write one, check it, plan your
queries, release the answers.

Exit codes: 0 fine; 1 the policy, the queries, the data or the ledger says no; 2 the command was not understood;
3 the budget does not allow it; 4 a server is away or the ledger is busy, try again; 5 charged and answered, but not
shown; 6 charged and not answered; 130 interrupted: 'plan' then shows the best that was finished, if any.
"""

COMMANDS: Final = {
    "words": "dxgeom.cli.words",
    "examples": "dxgeom.cli.examples",
    "docs": "dxgeom.cli.docs",
    "init": "dxgeom.cli.init",
    "check": "dxgeom.cli.check",
    "explain": "dxgeom.cli.explain",
    "verify": "dxgeom.cli.verify",
    "plan": "dxgeom.cli.plan",
    "release": "dxgeom.cli.release",
    "open": "dxgeom.cli.open",
    "close": "dxgeom.cli.close",
    "key": "dxgeom.cli.key",
    "answer": "dxgeom.cli.answer",
    "report": "dxgeom.cli.report",
    "studio": "dxgeom.cli.studio",
    "schema": "dxgeom.cli.schema",
    "audit": "dxgeom.cli.audit",
    "ledger": "dxgeom.cli.ledger",
}
"""Where each command is, under its own name: a function, or commands below it."""


def application(commands: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line with these commands; the others are not loaded."""
    # Plain help can be searched and piped; tracebacks with local variables could show the data.
    made = typer.Typer(
        name="dxgeom",
        help=HELP,
        no_args_is_help=True,
        add_completion=True,
        cls=Commands,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
    )
    made.callback()(_options)
    for name in commands:
        command = getattr(import_module(COMMANDS[name]), name)
        if isinstance(command, typer.Typer):
            made.add_typer(command, name=name)
        else:
            made.command(name, cls=Command)(command)
    return made


def __getattr__(name: str) -> typer.Typer:
    """``app``: with all commands."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return application()


def _print_version(wanted: bool) -> None:
    if wanted:
        from dxgeom import __version__

        typer.echo(f"dxgeom {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    """Options that stand before the command."""


def run() -> None:
    """The console script: a command, and the exit code of what it did and showed."""
    if not hang_doors():
        print_error(
            "error: standard output is closed, so that nothing can be shown; nothing was read, spent or written: open "
            "it, or send it to a file or to /dev/null"
        )
        sys.exit(Outcome.REFUSED)
    # Most of the time to start is loading: what was not asked for stays where it is.
    named = [name for name in sys.argv[1:2] if name in COMMANDS]
    try:
        application(named or COMMANDS)(prog_name="dxgeom")
    except SystemExit as ended:
        missed = unshown()
        if missed is None or ended.code:
            raise
        if not isinstance(missed, BrokenPipeError):  # whoever closes a pipe has read enough
            why = missed.strerror or missed
            print_error(f"error: not all could be shown: {why}; nothing was spent, and what was written stays")
        raise SystemExit(Outcome.REFUSED) from missed
    except Exception as mistake:
        sys.excepthook(type(mistake), mistake, mistake.__traceback__)
        raise SystemExit(getattr(mistake, "exit_code", Outcome.REFUSED)) from mistake
