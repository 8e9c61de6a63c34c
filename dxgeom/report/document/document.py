"""A document, and the forms that it takes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from dxgeom.errors import file_errors
from dxgeom.report.document.blocks import Section, Words


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
        from dxgeom.report.document.page import page_of

        return page_of(self)

    def fragment(self) -> str:
        """The same as a part of another page, such as a notebook's."""
        from dxgeom.report.document.page import fragment_of

        return fragment_of(self)

    def lines(self) -> list[str]:
        """The document as lines of text, 80 characters wide; of pictures what they show in words."""
        from dxgeom.report.document.plain_text import lines_of

        return lines_of(self)

    def as_dict(self) -> dict[str, Any]:
        """The document ready for JSON."""
        from dxgeom.report.document.json_form import dict_of

        return dict_of(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file. Raises: DataError when it cannot be written."""
        place = Path(path)
        with file_errors(place, "written"):
            place.write_text(self.html(), encoding="utf-8")
        return place
