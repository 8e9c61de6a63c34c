"""The page of words, made from the words themselves, and their meanings behind words of other pages.

``{glossary-of-dxgeom}`` makes the page. On every other page for readers the first place of a word leads there, and
shows its meaning when it is pointed at.
"""

from __future__ import annotations

from collections.abc import Iterator

from commands import escaped
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dxgeom.wording.glossary import FIRST, LATER, TERMS, Word, word_of

PAGES = ("docs/guide/", "docs/explanation/", "docs/tutorials/")
WORDS = "docs/reference/words"


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("glossary-of-dxgeom", Glossary)
    app.connect("doctree-resolved", explain_words)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def explain_words(app: Sphinx, tree: nodes.document, page: str) -> None:
    """A link with the meaning at each word's first place in a page's paragraphs."""
    if not page.startswith(PAGES) or app.builder.format != "html":
        return
    known: set[str] = set()
    where = app.builder.get_relative_uri(page, WORDS)
    for text in list(tree.findall(nodes.Text)):
        paragraph = text.parent
        if isinstance(paragraph, nodes.paragraph) and isinstance(paragraph.parent, nodes.section):
            paragraph.replace(text, _explained(str(text), known, where))


def _explained(text: str, known: set[str], where: str) -> list[nodes.Node]:
    """A text in parts, in which words that are met for the first time are links."""
    parts: list[nodes.Node] = []
    end = 0
    for found in TERMS.finditer(text):
        word = word_of(found[0])
        if word.term in known:
            continue
        known.add(word.term)
        link = nodes.reference("", found[0], internal=True, refuri=where, reftitle=word.meaning, classes=["word"])
        parts += [nodes.Text(text[end : found.start()]), link]
        end = found.end()
    return [*parts, nodes.Text(text[end:])]


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
