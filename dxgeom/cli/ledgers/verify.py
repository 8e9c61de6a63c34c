"""``dxgeom ledger verify``: whether a ledger is still what was written."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from dxgeom.cli.ledgers.words import NOT_ANSWERED, LedgerFile, about, receipt_text, state_of
from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.options import Format, FormatOption
from dxgeom.cli.terminal.printing import print_json, print_lines


def _seal_of(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,17}:[0-9a-f]{64}", text):
        raise typer.BadParameter("a release prints its seal as the entry's number, ':', and 64 hexadecimal digits")
    return text


def verify(
    ledger: LedgerFile,
    seal: Annotated[
        str | None,
        typer.Option("--seal", parser=_seal_of, metavar="N:SEAL", help="The entry and seal that a release printed."),
    ] = None,
    output: FormatOption = Format.text,
) -> None:
    """Verify a ledger: all its pages, rows, seals, sums and answers.

    Whoever can write the file can replace it by an older copy, or rewrite its end so that it fits; both show when it is
    compared with a seal that a release printed. Changes nothing.

    \b
    Example:
      dxgeom ledger verify privacy.db --seal 12:9f2c...
    """
    with refusals(output):
        from dxgeom.ledger.history import verify_ledger

        number, _, printed = (seal or "").partition(":")
        history = verify_ledger(ledger, seal=(int(number), printed) if seal else None)
        unanswered = sum(state_of(history, one.number) == NOT_ANSWERED for one in history.entries)
        last = None if history.receipt is None else receipt_text(*history.receipt)
        if output is Format.json:
            counts = {"entries": len(history.entries), "answers": len(history.answers), "unanswered": unanswered}
            document = {"ledger": ledger, "verdict": "holds", **counts, "waiting": len(history.waiting)}
            print_json({**document, "compared_with": seal, "last_seal": last})
            return
        compared = "none given: an older copy would not show" if seal is None else f"agrees with {seal}"
        lines = [
            about(history),
            "verdict    holds",
            f"entries    {len(history.entries):,}, of which {unanswered:,} charged and not answered",
            f"answers    {len(history.answers):,}, each as it was stored",
            f"seal       {compared}",
            f"last seal  {last or 'none: nothing was charged'}",
        ]
        print_lines(lines)
