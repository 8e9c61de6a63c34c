"""A document: text, tables, pictures, warnings, sections, all of it data; and the forms that it takes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, final

from dxgeom.document.scene import Scene
from dxgeom.errors import file_errors

Severity: TypeAlias = Literal["stop", "decide", "know"]
SIGNS: Final[dict[Severity, str]] = {"stop": "✖ Stop", "decide": "▲ Decide", "know": "i Know"}
"""A sign and a word, so that colour says nothing alone."""


@final
@dataclass(frozen=True)
class Strong:
    """Words of weight."""

    words: str
    kind: str = field(default="strong", init=False)


@final
@dataclass(frozen=True)
class Code:
    """Words to be typed or compared letter by letter; ``whole``: may be broken anywhere, as a digest is."""

    words: str
    kind: str = field(default="code", init=False)


@final
@dataclass(frozen=True)
class Link:
    """Words that lead to a section of the same document."""

    words: str
    target: str
    kind: str = field(default="link", init=False)


@final
@dataclass(frozen=True)
class Badge:
    """Words in a box of a colour: ``look`` is a band's or a warning's name."""

    words: str
    look: str
    kind: str = field(default="badge", init=False)


Piece: TypeAlias = str | Strong | Code | Link | Badge
Words: TypeAlias = str | tuple[Piece, ...]


def pieces(words: Words) -> tuple[Piece, ...]:
    """Words as pieces."""
    return (words,) if isinstance(words, str) else words


def plain_words(words: Words) -> str:
    """Words without their looks."""
    return "".join(piece if isinstance(piece, str) else piece.words for piece in pieces(words))


@final
@dataclass(frozen=True)
class Paragraph:
    """A paragraph; ``look``: "note" for what explains a table or a picture, "title" for a heading inside a section."""

    words: Words
    look: Literal["text", "note", "title"] = "text"
    kind: str = field(default="paragraph", init=False)


@final
@dataclass(frozen=True)
class ShownColumn:
    """A column of a table: its heading, and whether it holds figures, which stand at the right."""

    title: str
    figures: bool = False


@final
@dataclass(frozen=True)
class ShownTable:
    """Rows below headings; the first cell of a row names it. ``label``: what it shows, for who cannot see it."""

    label: str
    columns: tuple[ShownColumn, ...]
    rows: tuple[tuple[Words, ...], ...]
    kind: str = field(default="table", init=False)


@final
@dataclass(frozen=True)
class Picture:
    """A picture with how to read it. ``table``: the same as figures, shown on request; ``narrow``: the picture on a
    telephone, where it is made otherwise than by fewer pixels."""

    scene: Scene
    caption: Words
    table: ShownTable | None = None
    narrow: Scene | None = field(default=None, repr=False)
    kind: str = field(default="picture", init=False)


@final
@dataclass(frozen=True)
class BudgetGauge:
    """How much of a whole is used up."""

    used: float
    words: str
    left: str
    kind: str = field(default="gauge", init=False)


@final
@dataclass(frozen=True)
class Notice:
    """A warning: how grave, what it is in a sentence, more, and where to read on."""

    severity: Severity
    lead: str
    more: str
    target: str = ""
    place: str = ""
    kind: str = field(default="notice", init=False)

    @property
    def sign(self) -> str:
        """Its sign and word."""
        return SIGNS[self.severity]


@final
@dataclass(frozen=True)
class Definitions:
    """Words and what they mean."""

    entries: tuple[tuple[str, str], ...]
    kind: str = field(default="definitions", init=False)


@final
@dataclass(frozen=True)
class Signature:
    """Lines to be filled in by hand."""

    labels: tuple[str, ...]
    kind: str = field(default="signature", init=False)


@final
@dataclass(frozen=True)
class Beside:
    """Two groups of blocks side by side where there is room."""

    left: tuple[Block, ...]
    right: tuple[Block, ...]
    kind: str = field(default="beside", init=False)


Block: TypeAlias = Paragraph | ShownTable | Picture | BudgetGauge | Notice | Definitions | Signature | Beside


@final
@dataclass(frozen=True)
class Section:
    """A numbered part of a document; ``number`` 0 for the one that stands above the numbers."""

    number: int
    title: str
    blocks: tuple[Block, ...]

    @property
    def anchor(self) -> str:
        """What links to it name."""
        return f"section-{self.number}" if self.number else "in-short"


@final
@dataclass(frozen=True)
class Document:
    """What a reader is shown, in order: a head, the decisions in short, numbered sections.

    ``heading``: what sort of document it is; ``facts``: a few words each, by what they are about; ``digest``: names
    what the document is about, on every printed page.
    """

    heading: str
    title: str
    about: str
    facts: tuple[tuple[str, Words], ...]
    sections: tuple[Section, ...]
    digest: str

    def section(self, number: int) -> Section:
        """The section of that number. Raises: KeyError."""
        return {section.number: section for section in self.sections}[number]

    def html(self) -> str:
        """One self-contained page: it asks for nothing, runs no script, and prints."""
        from dxgeom.document.page import page_of

        return page_of(self)

    def fragment(self) -> str:
        """The same as a part of another page, such as a notebook's."""
        from dxgeom.document.page import fragment_of

        return fragment_of(self)

    def lines(self, width: int = 80, encoding: str = "utf-8") -> list[str]:
        """The document as lines of text of at most this width, in this encoding; of pictures what they show in words.

        Signs of ours that the encoding has not are written in ASCII.
        """
        from dxgeom.document.plain_text import lines_of

        return lines_of(self, width, encoding)

    def as_dict(self) -> dict[str, Any]:
        """The document ready for JSON."""

        return dict_of(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file. Raises: DataError when it cannot be written."""
        place = Path(path)
        with file_errors(place, "written"):
            place.write_text(self.html(), encoding="utf-8")
        return place


def dict_of(document: Document) -> dict[str, Any]:
    """The whole document."""
    return {
        "document": document.heading,
        "title": document.title,
        "about": document.about,
        "facts": {name: plain_words(words) for name, words in document.facts},
        "digest": document.digest,
        "sections": [_section(section) for section in document.sections],
    }


def _section(section: Section) -> dict[str, Any]:
    blocks = [_plain(block) for block in section.blocks]
    return {"number": section.number, "title": section.title, "blocks": blocks}


def _plain(part: Any) -> Any:
    """Data of any kind as mappings, lists and words; words with looks lose these."""
    if isinstance(part, Picture):
        table = {} if part.table is None else {"table": _plain(part.table)}
        return {"kind": part.kind, "alt": part.scene.alt, "caption": plain_words(part.caption), **table}
    if is_dataclass(part):
        return {field.name: _plain(getattr(part, field.name)) for field in fields(part)}
    if isinstance(part, tuple):
        return [_plain(one) for one in part]
    return part
