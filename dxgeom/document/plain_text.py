"""A document as lines of text for a terminal: sentences, tables, warnings, and of pictures what they show.

A section without a title is a paragraph of a screen: nothing stands above it, and its blocks follow each other closely.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from dxgeom.document.document import (
    Beside,
    Block,
    BudgetGauge,
    Definitions,
    Document,
    Notice,
    Paragraph,
    Picture,
    Section,
    ShownTable,
    Signature,
    plain_words,
)
from dxgeom.wording.numbers import in_encoding

WIDTH: Final = 80
_CELLS: Final = 40
_LEAST: Final = 12
_GAP, _REMARK, _FIGURES = 2, 3, 8
"""Blanks between columns, and before remarks; figures below a heading that is wider."""


def lines_of(document: Document, width: int = WIDTH, encoding: str = "utf-8") -> list[str]:
    """The document, line by line: none is wider, and all can be written in this encoding.

    Only a word in a sentence that is wider stays whole, as a path is. Of our own signs, those that the encoding has not
    are written in ASCII.
    """
    return _Lines(width, encoding).of(document)


@final
@dataclass(frozen=True)
class _Lines:
    """How wide lines may be, and in which encoding they are written."""

    width: int
    encoding: str

    def of(self, document: Document) -> list[str]:
        about = [*self._wrapped(document.about), ""] if document.about else []
        lines = [*self._wrapped(f"{document.heading}: {document.title}"), *about]
        for name, words in document.facts:
            lines += self._wrapped(f"{name}: {plain_words(words)}")
        for section in document.sections:
            lines += self._titled(section) if section.title else self._close(section)
        return lines

    def _titled(self, section: Section) -> Iterator[str]:
        title = self._in_signs(section.title)
        yield from ("", f"{section.number or ''} {title}".strip(), "=" * min(self.width, len(title) + 2))
        for block in section.blocks:
            yield from self._lines(block)
            yield ""

    def _close(self, section: Section) -> Iterator[str]:
        yield ""
        for block in section.blocks:
            yield from self._lines(block)

    def _in_signs(self, words: str) -> str:
        return in_encoding(words, self.encoding)

    def _wrapped(self, words: str, indent: str = "", first: str | None = None) -> list[str]:
        begin, words = indent if first is None else self._in_signs(first), self._in_signs(words)
        wrapper = textwrap.TextWrapper(self.width, begin, indent, break_on_hyphens=False, break_long_words=False)
        return wrapper.wrap(words)

    def _lines(self, block: Block) -> Iterator[str]:
        match block:
            case Paragraph(words=words, look="title"):
                yield from ("", self._in_signs(plain_words(words)))
            case Paragraph(words=words):
                yield from self._wrapped(plain_words(words))
            case ShownTable():
                yield from self._table(block)
            case Picture(scene=scene, caption=caption):
                yield from self._wrapped(f"{scene.alt} {plain_words(caption)}", "  ", "[ ")
            case BudgetGauge(used=used, words=words, left=left):
                full = round(_CELLS * min(max(used, 0), 1))
                yield from self._wrapped(f"[{'#' * full}{'.' * (_CELLS - full)}] {words}; {left}")
            case Notice(sign=sign, lead=lead, more=more, place=place):
                yield from self._wrapped(f"{lead} {more} {place}".strip(), " " * 10, f"{sign:<10}")
            case Definitions(entries=entries):
                for term, meaning in entries:
                    yield from self._wrapped(f"{term}: {meaning}", "  ", "")
            case Signature(labels=labels):
                yield from self._wrapped("   ".join(f"{label}: ________" for label in labels))
            case Beside(left=one, right=other):
                for each in (*one, *other):
                    yield from self._lines(each)
                    yield ""

    def _table(self, table: ShownTable) -> Iterator[str]:
        """Columns as narrow as their words, folded where that is still too wide; headings where there are any.

        The last heading may stand over remarks that have none. A row without a name goes on with the one above, over
        all columns that it leaves empty.
        """
        rows = [tuple(self._in_signs(plain_words(cell)) for cell in row) for row in table.rows]
        titles = tuple(self._in_signs(column.title) for column in table.columns)
        named = [row for row in rows if row[0]]
        widths = [max([len(row[place]) for row in named] + [0]) for place in range(len(titles))]
        last = max((place for place, title in enumerate(titles) if title), default=-1)
        over_remarks = 0 < last < len(titles) - 1
        for place, title in enumerate(titles):
            word = max(map(len, title.split()), default=0)
            figures = widths[place] + 2 if over_remarks and table.columns[place].figures else widths[place]
            widths[place] = max(figures, _FIGURES) if over_remarks and place == last else max(widths[place], word)
        gaps = [_REMARK if over_remarks and place > last else _GAP for place in range(1, len(widths))]
        gaps = [*gaps[:-1], _REMARK] if len(widths) > 2 and not any(titles) else gaps
        over = sum(widths) + sum(gap for gap, width in zip(gaps, widths[1:], strict=True) if width) - self.width
        while over > 0:
            place = max(range(len(widths)), key=lambda k: widths[k])
            if widths[place] <= _LEAST:
                break
            widths[place] -= 1
            over -= 1
        if over_remarks:
            before = sum(widths[:last]) + _GAP * last
            yield from self._wrapped(titles[last], " " * before)
        elif any(titles):
            yield from self._folded(titles, widths, gaps, table)
        for row in rows:
            yield from self._folded(row, widths, gaps, table)

    def _folded(self, row: tuple[str, ...], widths: list[int], gaps: list[int], table: ShownTable) -> Iterator[str]:
        """A row in as many lines as its cells need; columns in which nothing stands are left out."""
        shown = [place for place, width in enumerate(widths) if width]
        if not row[0] and len(row) > 1:
            before = sum(widths[place] + (gaps[place - 1] if place else 0) for place in shown[:1])
            yield from self._wrapped(" ".join(filter(None, row)), " " * (before + _GAP))
            return
        cells = [_indented(row[place], widths[place]) or [""] for place in shown]
        for line in range(max(map(len, cells), default=0)):
            said = ""
            for place, cell in zip(shown, cells, strict=True):
                part = cell[line] if line < len(cell) else ""
                said += " " * (gaps[place - 1] if place and said else 0)
                said += part.rjust(widths[place]) if table.columns[place].figures else part.ljust(widths[place])
            yield said.rstrip()


def _indented(cell: str, width: int) -> list[str]:
    """The lines of a cell; blanks that it begins with stay, in its further lines, too."""
    blanks = " " * (len(cell) - len(cell.lstrip()))
    return textwrap.wrap(cell.strip(), width, initial_indent=blanks, subsequent_indent=blanks)
