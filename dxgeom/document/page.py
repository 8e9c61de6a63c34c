"""A document as HTML, by Jinja2 with everything escaped: a page of its own, or a part of another page."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Final, TypeAlias

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from dxgeom.document.document import Block, Document, Picture, pieces
from dxgeom.document.layout import NARROW, Frame, arranged, frame_of, narrowed
from dxgeom.document.scene import ON_DARK, Area, Arrow, Dots, Label, Line, Mark, Point, Scene
from dxgeom.wording.glossary import TERMS, word_of

_HEAD = 7.0

Placed: TypeAlias = Callable[[Point], Point]


def svg_of(scene: Scene, look: str = "scene") -> str:
    """The picture as one element. Whatever names are in it, it holds no markup of theirs."""
    frame, scene = frame_of(scene), arranged(scene)
    drawn = "".join(_mark(mark, frame.placed) for mark in scene.marks)
    axes = "".join(_axes(scene, frame)) if scene.framed else ""
    box = f'viewBox="0 0 {scene.width} {scene.height}" width="{scene.width}" height="{scene.height}"'
    return f'<svg class="{look}" role="img" aria-label="{html.escape(scene.alt)}" {box}>{axes}{drawn}</svg>'


def _axes(scene: Scene, frame: Frame) -> Iterator[str]:
    for value, words in scene.across.ticks:
        x, _ = frame.placed((value, scene.up.low))
        yield f'<path class="grid" d="M{x:.1f} {frame.top:.1f}V{frame.bottom:.1f}"/>'
        yield _written(x, frame.bottom + 16, words, "middle", "muted")
    for value, words in scene.up.ticks:
        _, y = frame.placed((scene.across.low, value))
        yield f'<path class="grid" d="M{frame.left:.1f} {y:.1f}H{frame.right:.1f}"/>'
        yield _written(frame.left - 7, y + 4, words, "end", "muted")
    if scene.up.title:
        yield _written(4, 12, scene.up.title, "start", "muted")
    if scene.across.title:
        yield _written((frame.left + frame.right) / 2, scene.height - 6, scene.across.title, "middle", "muted")


def _mark(mark: Mark, placed: Placed) -> str:
    match mark:
        case Line():
            dash = ' stroke-dasharray="5 4"' if mark.dashed else ""
            way = _way(tuple(map(placed, mark.points)))
            return f'<path class="line {mark.look}" stroke-width="{mark.width}"{dash} d="{way}"/>'
        case Area():
            corners = tuple(map(placed, mark.points))
            edge = "" if mark.edge is None else f" edge-{mark.edge}"
            hatch = _hatch(corners) if mark.look == "band-5" else ""
            return f'<path class="area {mark.look}{edge}" d="{_way(corners)}Z"/>{hatch}'
        case Dots():
            spots = (
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{mark.size / 2:.1f}"/>' for x, y in map(placed, mark.points)
            )
            return f'<g class="dots {mark.look}">{"".join(spots)}</g>'
        case Label():
            x, y = placed(mark.at)
            look = ("on-dark" if mark.on in ON_DARK else "on-light") if mark.on is not None else mark.look
            shown = f"{look} strong" if mark.strong else look
            return _written(x + mark.shift[0], y + mark.shift[1] + 4, mark.words, mark.anchor, shown)
        case Arrow():
            return _arrow(placed(mark.start), placed(mark.end), mark.look)


def _way(points: tuple[Point, ...]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _written(x: float, y: float, words: str, anchor: str, look: str) -> str:
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(words)}</text>'


def _hatch(corners: tuple[Point, ...]) -> str:
    """Three strokes across a box: it is told from the colour beside it without seeing colours."""
    left, right = min(x for x, _ in corners), max(x for x, _ in corners)
    top, bottom = min(y for _, y in corners), max(y for _, y in corners)
    strokes = (
        f"M{left + share * (right - left):.1f} {bottom:.1f}"
        f"L{min(right, left + (share + 0.34) * (right - left)):.1f} {top:.1f}"
        for share in (0.0, 0.33, 0.66)
    )
    return f'<path class="hatch" d="{"".join(strokes)}"/>'


def _arrow(start: Point, end: Point, look: str) -> str:
    across, down = end[0] - start[0], end[1] - start[1]
    length = max((across**2 + down**2) ** 0.5, 1e-9)
    along = (across / length, down / length)
    wings = tuple(
        (end[0] - _HEAD * (along[0] - side * along[1]), end[1] - _HEAD * (along[1] + side * along[0]))
        for side in (0.6, -0.6)
    )
    head = _way((wings[0], end, wings[1]))
    return f'<path class="line {look}" stroke-width="2" d="{_way((start, end))}{head}"/>'


_OVER_THE_HOST: Final = ".dxgeom.dxgeom.dxgeom"
"""The same element, said more often than a notebook's own style says anything of what is in its cells."""
_ROOM: Final = "dxgeom.document"
# Links to a word of the glossary, or to a section: not every document has them. Names are escaped, and make no link.
_LINK: Final = re.compile('<a class="(?P<what>term|place)" href="#(?P<to>[^"]*)"(?P<rest>[^>]*>[^<]*)</a>')
_PLACE: Final = re.compile('id="([^"]*)"')
# Signs that change the direction of what follows them, and others that show nothing.
_UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")


def page_of(document: Document) -> str:
    """The document as one self-contained page.

    Guarantee: names from files are text in it, whatever they hold; it refers to nothing outside itself.
    """
    page = _environment().get_template("page.html").render(document=document, style=_style(), whole=True)
    there = set(_PLACE.findall(page))
    return _LINK.sub(lambda link: link[0] if link["to"] in there else _without_link(link), page)


def _without_link(link: re.Match[str]) -> str:
    """A word keeps its meaning, and a section that is not there is not named."""
    return f'<span class="term"{link["rest"]}</span>' if link["what"] == "term" else ""


def fragment_of(document: Document) -> str:
    """The document as an element with its own style, for a notebook; nothing in it has an address."""
    style = Markup(_style().replace(".dxgeom", _OVER_THE_HOST))  # noqa: S704 - a file of this room
    return _environment().get_template("fragment.html").render(document=document, style=style, whole=False)


def html_of(blocks: Iterable[Block]) -> str:
    """Blocks as they stand in a document, without its style; every word in them is escaped, nothing has an address."""
    return _environment().get_template("alone.html").render(shown=tuple(blocks))


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
        word = word_of(found[0])
        if not whole or known is None or word.term in known:
            continue
        known.append(word.term)
        parts.append(str(escape(seen(words[end : found.start()]))))
        link = f"#word-{word.term.replace(' ', '-')}"
        parts.append(f'<a class="term" href="{link}" title="{escape(word.meaning)}">{escape(found[0])}</a>')
        end = found.end()
    return Markup("".join([*parts, str(escape(seen(words[end:])))]))  # noqa: S704 - every part is escaped above


def _drawn(picture: Picture) -> Markup:
    """The picture as it is; where it is too wide for a telephone, once more for that, and styles choose."""
    if picture.scene.width <= NARROW:
        return Markup(seen(svg_of(picture.scene)))  # noqa: S704 - svg_of escapes all words
    narrow = narrowed(picture.scene) if picture.narrow is None else picture.narrow
    both = svg_of(picture.scene, "scene wide") + svg_of(narrow, "scene narrow")
    return Markup(seen(both))  # noqa: S704 - svg_of escapes all words
