"""``dxgeom ledger migrate``: a ledger of an older format, brought to this one."""

from __future__ import annotations

from dxgeom.cli.ledgers.words import LedgerFile, about
from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.options import Format, FormatOption
from dxgeom.cli.terminal.printing import print_json, print_lines


def migrate(ledger: LedgerFile, output: FormatOption = Format.text) -> None:
    """Bring a ledger of an older format to this one, as its next release does.

    All at once or not at all; entries, spends and what remains stay as they are. An older dxgeom refuses it afterwards.
    On a server it is for whoever keeps the ledger, who does it before the next release.
    Keep no copy of the old file: a copy is a second budget.

    \b
    Example:
      dxgeom ledger migrate privacy.db
    """
    with refusals(output):
        from dxgeom.ledger.history import migrate_ledger
        from dxgeom.ledger.tables import COMMITTED

        history = migrate_ledger(ledger)
        if output is Format.json:
            print_json({"ledger": ledger, "format": COMMITTED, "entries": len(history.entries)})
        else:
            print_lines([about(history), f"format   {COMMITTED}", f"entries  {len(history.entries):,}"])
