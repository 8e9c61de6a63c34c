"""``dxgeom ledger move``: a ledger's file brought to a server."""

from __future__ import annotations

from typing import Annotated

import typer

from dxgeom.cli.ledgers.words import LedgerFile, about, receipt_text
from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.options import Format, FormatOption
from dxgeom.cli.terminal.printing import print_json, print_lines


def move(
    ledger: LedgerFile,
    server: Annotated[
        str, typer.Argument(help="Where to: postgresql://… of a ledger that nobody has begun.", metavar="SERVER")
    ],
    grant: Annotated[
        list[str] | None,
        typer.Option("--grant", metavar="ROLE", help="A role of the server that may release; may be repeated."),
    ] = None,
    output: FormatOption = Format.text,
) -> None:
    """Bring a ledger's file to a server, where many can share it, with every row, seal and answer as it is.

    All at once or not at all; every seal that was printed holds there. The file can still be looked at, says where its
    ledger went, and takes no charge any more: two ledgers would be two budgets. Keep no copy of it from before.

    \b
    Example:
      dxgeom ledger move privacy.db postgresql://keeper@db.example/privacy?ledger=clinic --grant analysts
    """
    with refusals(output):
        from dxgeom.ledger.migration import move_ledger

        history = move_ledger(ledger, server, grant=grant or [])
        last = None if history.receipt is None else receipt_text(*history.receipt)
        if output is Format.json:
            counts = {"entries": len(history.entries), "answers": len(history.answers)}
            print_json({"ledger": server, "moved_from": ledger, **counts, "last_seal": last})
            return
        lines = [
            about(history),
            f"moved      from '{ledger}', which takes no charge any more",
            f"entries    {len(history.entries):,}, answers {len(history.answers):,}",
            f"last seal  {last or 'none: nothing was charged'}",
        ]
        print_lines(lines)
