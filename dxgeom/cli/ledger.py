"""``dxgeom ledger``: what was spent and answered, and whether it is still what was written."""

from __future__ import annotations

import typer

from dxgeom.cli.ledgers.migrate import migrate
from dxgeom.cli.ledgers.show import show
from dxgeom.cli.ledgers.told import told
from dxgeom.cli.ledgers.verify import verify

ledger = typer.Typer(
    help="Look at a ledger: entries, past answers, seals.", no_args_is_help=True, rich_markup_mode=None
)


@ledger.callback()
def _ledgers() -> None:
    """Look at a ledger: what was spent and answered, and whether it is still what was written."""


ledger.command()(show)
ledger.command()(verify)
ledger.command()(told)
ledger.command()(migrate)
