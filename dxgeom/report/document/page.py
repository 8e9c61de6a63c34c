"""A document as HTML, by Jinja2 with everything escaped: a page of its own, or a part of another page."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Final

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from dxgeom.report.document.blocks import pieces
from dxgeom.report.document.document import Document
from dxgeom.report.drawing.scene import Scene
from dxgeom.report.drawing.svg import svg_of
from dxgeom.wording.glossary import MEANINGS, TERMS, term_of

_ROOM: Final = "dxgeom.report.document"
# Signs that change the direction of what follows them, and others that show nothing.
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def page_of(document: Document) -> str:
    """The document as one self-contained page.

    Guarantee: names from files are text in it, whatever they hold; it refers to nothing outside itself.
    """
    return _environment().get_template("page.html").render(document=document, style=_style(), whole=True)


def fragment_of(document: Document) -> str:
    """The document as an element with its own style, for a notebook; nothing in it has an address."""
    return _environment().get_template("fragment.html").render(document=document, style=_style(), whole=False)


def _style() -> Markup:
    return Markup(_text("page.css"))  # noqa: S704 - a file of this room


def _text(name: str) -> str:
    return files(_ROOM).joinpath(name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_text), trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"pieces": pieces, "terms": _with_terms, "seen": seen, "drawn": _drawn}
    return environment


def seen(words: str) -> str:
    """Words without signs that nobody sees, which are shown by their numbers: they could turn what stands beside them.

    >>> seen("ab\\u202ecd")
    'ab\\\\u202ecd'
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", words)


def _with_terms(words: str, whole: bool, known: list[str] | None) -> Markup:
    """Words with what they mean behind those of the glossary, at their first place in a section; where ``known`` is
    given, which remembers them."""
    parts: list[str] = []
    end = 0
    for found in TERMS.finditer(words):
        term = term_of(found[0])
        if not whole or known is None or term in known:
            continue
        known.append(term)
        parts.append(str(escape(seen(words[end : found.start()]))))
        parts.append(f'<a class="term" href="#word-{term}" title="{escape(MEANINGS[term])}">{escape(found[0])}</a>')
        end = found.end()
    return Markup("".join([*parts, str(escape(seen(words[end:])))]))  # noqa: S704 - every part is escaped above


def _drawn(scene: Scene) -> Markup:
    return Markup(seen(svg_of(scene)))  # noqa: S704 - svg_of escapes all words
