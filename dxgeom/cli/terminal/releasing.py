"""Options of whatever charges a ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer


def _ledger(text: str) -> str:
    if text == ":memory:":
        raise typer.BadParameter("a ledger in memory would be forgotten at once, and the budget with it; name a file")
    return text if "://" in text else str(Path(text))


LedgerOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        parser=_ledger,
        metavar="FILE",
        help="The ledger: a file, begun when there is none, or postgresql://… of one that was begun.",
    ),
]
AllotmentOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--allotment", metavar="NAME", help="Whose part of the budget is charged, where it is divided."),
]
IdOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--id", metavar="KEY", help="A name of this release: asked for again, its stored answers are shown."),
]
OutputOption: TypeAlias = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write the release as JSON to this new file, too.")
]
PurposeOption: TypeAlias = Annotated[
    str, typer.Option("--purpose", help="What the answers are for; written into the ledger.")
]
