"""``dxgeom examples``: example policies with their data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from dxgeom.cli.options import Format, FormatOption
from dxgeom.cli.terminal import print_either, refusals

NameArgument: TypeAlias = Annotated[str | None, typer.Argument(help="The example to write.", metavar="[NAME]")]
FolderOption: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FOLDER", help="A new folder; left out, called as the example.")
]


def examples(name: NameArgument = None, folder: FolderOption = None, output: FormatOption = Format.text) -> None:
    """List the examples, or write one with its data into a new folder.

    \b
    Example:
      dxgeom examples us-cities
      dxgeom report us-cities/policy.yaml us-cities/queries.yaml -o report.html
    """
    with refusals(output):
        from dxgeom.starting.examples import example_names, write_example

        if name is None:
            found = example_names()
            width = max(map(len, found))
            lines = [f"{example:<{width}}  {about}" for example, about in found.items()]
            print_either(output, {"examples": found}, lines)
            return
        written = [str(path) for path in write_example(name, folder or Path(name))]
        hint = f"next: dxgeom check {written[0].rsplit('/', 1)[0]}/policy.yaml"
        print_either(output, {"written": written}, [*written, "", hint])
