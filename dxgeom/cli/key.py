"""``dxgeom key``: the key that seals of instalments are closed with. It is never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dxgeom.cli.instalments import AlongOption, KeyOption, plan_in
from dxgeom.cli.options import Format, FormatOption, LedgerOption
from dxgeom.cli.terminal import print_either, refusals

key = typer.Typer(
    help="Make, find and change the key that seals of instalments are closed with.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@key.callback()
def _keys() -> None:
    """Make, find and change the key that seals of instalments are closed with; it is never shown.

    Whoever has the key and the ledger knows the exact sums so far: keep it as the table, apart from the ledger, and
    with a copy of its own. Without it an opened plan cannot go on.
    """


@key.command()
def make(key: KeyOption = None, output: FormatOption = Format.text) -> None:
    """Make a new key, in a file that only its owner may read.

    \b
    Example:
      dxgeom key make
      dxgeom key make --key /srv/keys/visits.key
    """
    with refusals(output):
        from dxgeom.planner.instalments.keys import make_key, place_of_key

        made = make_key(place_of_key(key))
        lines = [f"made  {made.file}", f"name  {made.name}"]
        print_either(output, {"file": str(made.file), "name": made.name}, lines)


@key.command()
def where(key: KeyOption = None, output: FormatOption = Format.text) -> None:
    """Show where the key is, and what seals call it; never the key."""
    with refusals(output):
        from dxgeom.planner.instalments.keys import place_of_key, read_keys

        found = read_keys(place_of_key(key))
        lines = [f"file     {found.file}", f"name     {found.name}", f"earlier  {len(found.earlier)} kept"]
        document = {"file": str(found.file), "name": found.name, "earlier": len(found.earlier)}
        print_either(output, document, lines)


@key.command()
def rotate(
    plans: Annotated[list[Path], typer.Argument(help="The plan files that are open.", metavar="PLAN...")],
    ledger: LedgerOption = None,
    along: AlongOption = None,
    key: KeyOption = None,
    output: FormatOption = Format.text,
) -> None:
    """Put a new key in the place of the old one, and close the seals of opened plans with it.

    The old key stays in the file for other plans, until 'forget'. The ledger keeps the old seals, as it keeps
    everything: whoever has an old key and the ledger can still open those. Answers and noise stay what they are.

    \b
    Example:
      dxgeom key rotate plan.json --ledger privacy.db --along day
    """
    if ledger is None:
        raise typer.BadParameter("is missing", param_hint="--ledger")
    with refusals(output):
        from dxgeom.planner.instalments.keys import alone_with, place_of_key, read_keys, with_new_key
        from dxgeom.planner.instalments.telling import seal_again

        chosen, file = [plan_in(one) for one in plans], place_of_key(key)
        read_keys(file, ledger)
        with alone_with(file):
            found = with_new_key(read_keys(file, ledger))
            seals = sum(seal_again(one, ledger, along, found) for one in chosen)
        lines = [f"file   {found.file}", f"name   {found.name}", f"seals  {seals:,} closed with it"]
        print_either(output, {"file": str(found.file), "name": found.name, "seals": seals}, lines)


@key.command()
def forget(key: KeyOption = None, output: FormatOption = Format.text) -> None:
    """Remove earlier keys from the file: seals that were not closed anew can then never be opened."""
    with refusals(output):
        from dxgeom.planner.instalments.keys import Keys, alone_with, place_of_key, read_keys, replaced

        read_keys(place_of_key(key))
        with alone_with(place_of_key(key)):
            found = read_keys(place_of_key(key))
            replaced(Keys(found.file, found.current))
        lines = [f"file      {found.file}", f"name      {found.name}", f"forgotten {len(found.earlier)}"]
        print_either(output, {"file": str(found.file), "name": found.name, "forgotten": len(found.earlier)}, lines)
