"""``dxgeom docs``: the pages of the guide, without a network."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from dxgeom.cli.options import Format, FormatOption
from dxgeom.cli.terminal import print_either, refusals

PageArgument: TypeAlias = Annotated[str | None, typer.Argument(help="The page to print.", metavar="[PAGE]")]


def docs(page: PageArgument = None, output: FormatOption = Format.text) -> None:
    """List the pages of the guide, or print one of them.

    \b
    Example:
      dxgeom docs
      dxgeom docs policies | less
    """
    with refusals(output):
        from dxgeom.starting.examples import page_text, page_titles

        if page is None:
            found = page_titles()
            width = max(map(len, found))
            print_either(output, {"pages": found}, [f"{name:<{width}}  {title}" for name, title in found.items()])
            return
        text = page_text(page)
        print_either(output, {"page": page, "text": text}, text.splitlines())
