"""``dxgeom ledger``: what was spent and answered, and whether it is still what was written."""

from __future__ import annotations

import typer

from dxgeom.cli.ledgers.allot import allot
from dxgeom.cli.ledgers.init import init
from dxgeom.cli.ledgers.migrate import migrate
from dxgeom.cli.ledgers.move import move
from dxgeom.cli.ledgers.show import show
from dxgeom.cli.ledgers.told import told
from dxgeom.cli.ledgers.verify import verify

ledger = typer.Typer(
    help="Begin, divide and look at a ledger: accounts, entries, past answers, seals.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@ledger.callback()
def _ledgers() -> None:
    """Begin, divide and look at a ledger: what was spent and answered, and whether it is still what was written."""


ledger.command()(init)
ledger.command()(show)
ledger.command()(verify)
ledger.command()(told)
ledger.command()(allot)
ledger.command()(migrate)
ledger.command()(move)
