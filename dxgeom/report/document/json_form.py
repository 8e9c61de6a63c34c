"""A document ready for JSON: every block with its kind; of pictures their words and tables."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from dxgeom.report.document.blocks import Picture, Section, plain_words
from dxgeom.report.document.document import Document


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
