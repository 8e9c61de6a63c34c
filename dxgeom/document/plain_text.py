"""A document as lines of text for a terminal: sentences, tables, warnings, and of pictures what they show."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from dxgeom.document.document import (
    Beside,
    Block,
    BudgetGauge,
    Definitions,
    Document,
    Notice,
    Paragraph,
    Picture,
    ShownTable,
    Signature,
    plain_words,
)

WIDTH: Final = 80
_CELLS: Final = 40
_LEAST: Final = 12


def lines_of(document: Document) -> list[str]:
    """The document, line by line."""
    facts = (f"{name}: {plain_words(words)}" for name, words in document.facts)
    about = [*_wrapped(document.about), ""] if document.about else []
    lines = [f"{document.heading}: {document.title}", *about, *(line for fact in facts for line in _wrapped(fact))]
    for section in document.sections:
        lines += ["", f"{section.number or ''} {section.title}".strip(), "=" * min(WIDTH, len(section.title) + 2)]
        for block in section.blocks:
            lines += _lines(block)
    return lines


def _wrapped(words: str, indent: str = "", first: str | None = None) -> list[str]:
    begin = indent if first is None else first
    return textwrap.wrap(words, WIDTH, initial_indent=begin, subsequent_indent=indent, break_on_hyphens=False)


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Paragraph(words=words, look=look):
            yield from ("", plain_words(words)) if look == "title" else _wrapped(plain_words(words))
        case ShownTable():
            yield from _table(block)
        case Picture(scene=scene, caption=caption):
            yield from _wrapped(f"{scene.alt} {plain_words(caption)}", "  ", "[ ")
        case BudgetGauge(used=used, words=words, left=left):
            full = round(_CELLS * min(max(used, 0), 1))
            yield f"[{'#' * full}{'.' * (_CELLS - full)}] {words}; {left}"
        case Notice(sign=sign, lead=lead, more=more, place=place):
            yield from _wrapped(f"{lead} {more} {place}".strip(), " " * 10, f"{sign:<10}")
        case Definitions(entries=entries):
            for term, meaning in entries:
                yield from _wrapped(f"{term}: {meaning}", "  ", "")
        case Signature(labels=labels):
            yield "   ".join(f"{label}: ________" for label in labels)
        case Beside(left=one, right=other):
            for each in (*one, *other):
                yield from _lines(each)
    yield ""


def _table(table: ShownTable) -> Iterator[str]:
    """Columns as narrow as their words, folded where that is still too wide; in few columns each row as a list."""
    rows = [tuple(plain_words(cell) for cell in row) for row in table.rows]
    titles = tuple(column.title for column in table.columns)
    widths = [max([len(row[place]) for row in rows] + [0]) for place in range(len(titles))]
    widths = [max(width, max(map(len, title.split()), default=0)) for width, title in zip(widths, titles, strict=True)]
    over = sum(widths) + 2 * (len(widths) - 1) - WIDTH
    while over > 0:
        place = max(range(len(widths)), key=lambda k: widths[k])
        if widths[place] <= _LEAST:
            break
        widths[place] -= 1
        over -= 1
    for row in (titles, *rows):
        yield from _folded(row, widths, table)


def _folded(row: tuple[str, ...], widths: list[int], table: ShownTable) -> Iterator[str]:
    cells = [textwrap.wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
    for line in range(max(map(len, cells))):
        parts = [cell[line] if line < len(cell) else "" for cell in cells]
        yield "  ".join(
            part.rjust(width) if column.figures else part.ljust(width)
            for part, width, column in zip(parts, widths, table.columns, strict=True)
        ).rstrip()
