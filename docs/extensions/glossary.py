"""The page of words, made from the words themselves: ``{glossary-of-dxgeom}`` in a page."""

from __future__ import annotations

from collections.abc import Iterator

from commands import escaped
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dxgeom.wording.glossary import FIRST, LATER, Word


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("glossary-of-dxgeom", Glossary)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Glossary(SphinxDirective):
    """Two tables: the ten words that come first, and the others."""

    def run(self) -> list[nodes.Node]:
        """What stands in the page."""
        parts = ["## Before the first answer", *table(FIRST), "## Later", *table(LATER)]
        return self.parse_text_to_nodes("\n\n".join(parts), allow_section_headings=True)


def table(words: tuple[Word, ...]) -> Iterator[str]:
    """Words with what they mean, an example, and where they are met."""
    rows = ["| word | meaning | for example | met in | also called |", "|---|---|---|---|---|"]
    for one in words:
        cells = (f"**{one.term}**", *map(escaped, (one.meaning, one.example, one.where, ", ".join(one.also))))
        rows.append(f"| {' | '.join(cells)} |")
    yield "\n".join(rows)
