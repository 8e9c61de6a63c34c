"""The reference of the command line, made from the commands themselves: ``{commands}`` in a page."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dxgeom.cli.main import app as dxgeom


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Commands(SphinxDirective):
    """A section for each command, with its arguments and options."""

    def run(self) -> list[nodes.Node]:
        """What stands in the page."""
        text = "\n\n".join(described(typer.main.get_command(dxgeom), "dxgeom", 2))
        return self.parse_text_to_nodes(text, allow_section_headings=True)


def described(command: Any, name: str, level: int) -> Iterator[str]:
    """A command and those below it, in Markdown."""
    context = command.context_class(command, info_name=name)
    yield f"{'#' * level} {name}"
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    yield from paragraphs(command.help or "")
    records = [one.get_help_record(context) for one in command.get_params(context)]
    rows = [f"| {code(left)} | {escaped(right)} |" for left, right in filter(None, records)]
    yield "\n".join(["| | |", "|---|---|", *rows])
    for below, found in getattr(command, "commands", {}).items():
        yield from described(found, f"{name} {below}", level + 1 if name != "dxgeom" else level)


def paragraphs(text: str) -> Iterator[str]:
    """A command's help; what it marks as verbatim is its example."""
    for part in textwrap.dedent(text).replace("\b\n", "\b").split("\n\n"):
        if part.strip().startswith("\b"):
            lines = part.strip().removeprefix("\b").split("\n")
            yield lines[0]
            yield "```text\n" + textwrap.dedent("\n".join(lines[1:])) + "\n```"
        else:
            yield escaped(part)


def code(text: str) -> str:
    """In a cell of a table."""
    return "`" + text.replace("|", "\\|") + "`"


def escaped(text: str) -> str:
    """So that Markdown shows it as it is."""
    for sign in "\\|<>[]*_":
        text = text.replace(sign, "\\" + sign)
    return text
