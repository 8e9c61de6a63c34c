"""The reference of the API: a page for each room that ``dx`` reaches, of the names on its door sign.

A room's ``__all__`` says what it offers, and autodoc says the rest: signatures, types and docstrings. What several
rooms offer is described at the shortest of its names; the others lead there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import dxgeom

PAGES = Path(__file__).parents[1] / "reference" / "rooms"
SECTIONS = re.compile(
    r"(?:^|(?<=[.;:`] )|\n)(Args|Returns|Raises|Guarantees?|Source|Definition|Symbols|Use|Example):(?!:) +"
)
BARS = re.compile(r"``.*?``|\|", re.DOTALL)
KINDS = {"class": "autoclass", "function": "autofunction", "data": "autodata"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", in_paragraphs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(app: Sphinx) -> None:
    """Those of rooms that are no more are removed."""
    texts = {f"{name}.rst": page(name, room) for name, room in rooms(dxgeom)}
    PAGES.mkdir(exist_ok=True)
    for path in PAGES.iterdir():
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path = PAGES / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def rooms(room: ModuleType, name: str = "dxgeom") -> Iterator[tuple[str, ModuleType]]:
    """This one and those that it offers, in the order of their names."""
    yield name, room
    for offered in names(room):
        found = getattr(room, offered)
        if isinstance(found, ModuleType) and found.__name__ == f"{name}.{offered}":
            yield from rooms(found, f"{name}.{offered}")


def names(room: ModuleType) -> list[str]:
    """What it offers: the names on its door sign, or the classes of a file."""
    written = [
        name for name, found in vars(room).items() if inspect.isclass(found) and found.__module__ == room.__name__
    ]
    return getattr(room, "__all__", written)


def homes() -> dict[int, str]:
    """The shortest name by which each thing is reached."""
    found: dict[int, str] = {}
    for name, room in sorted(rooms(dxgeom), key=lambda pair: (pair[0].count("."), pair[0])):
        for offered in names(room):
            found.setdefault(id(getattr(room, offered)), f"{name}.{offered}")
    return found


def page(name: str, room: ModuleType) -> str:
    """One room's, in reStructuredText."""
    shown, home = name.replace("dxgeom", "dx", 1), homes()
    title, _, rest = inspect.getdoc(room).partition("\n")  # type: ignore[union-attr]
    offered = {one: getattr(room, one) for one in names(room)}
    inner = [one for one, found in offered.items() if isinstance(found, ModuleType)]
    other = [one for one in offered if one not in inner and home[id(offered[one])] != f"{name}.{one}"]
    parts = [f"{shown}\n{'=' * len(shown)}", f".. py:module:: {name}\n   :no-typesetting:", title, rest.strip()]
    if inner:
        parts.append(
            "Rooms in it: " + ", ".join(f":doc:`{shown}.{one} <{offered[one].__name__}>`" for one in inner) + "."
        )
    if other:
        parts.append(
            "Also reached here: " + ", ".join(reference(offered[one], home[id(offered[one])]) for one in other) + "."
        )
    parts += [entry(name, one, offered[one], home) for one in offered if one not in {*inner, *other}]
    return "\n\n".join(part for part in parts if part) + "\n"


def reference(thing: Any, name: str) -> str:
    """A link to where it is described."""
    role = "class" if inspect.isclass(thing) else "func" if callable(thing) else "obj"
    return f":py:{role}:`{name.replace('dxgeom', 'dx', 1)} <{name}>`"


def entry(room: str, name: str, thing: Any, home: dict[int, str]) -> str:
    """What autodoc is asked to describe; what a class has from one that is described is said there."""
    kind = "class" if inspect.isclass(thing) else "function" if callable(thing) else "data"
    lines = [f".. {KINDS[kind]}:: {room}.{name}"]
    if kind == "class":
        lines += ["   :members:", "   :show-inheritance:"]
        if not issubclass(thing, BaseException) and not any(id(one) in home for one in thing.__mro__[1:-1]):
            others = [one.__name__ for one in thing.__mro__ if not one.__module__.startswith("dxgeom")]
            lines.append(f"   :inherited-members: {', '.join(others)}")
    return "\n".join(lines)


def in_paragraphs(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Each section of a docstring begins a paragraph, its name in bold; bars of absolute values stand as they are."""
    text = BARS.sub(lambda found: found[0] if found[0] != "|" else "\\|", "\n".join(lines))
    lines[:] = [*SECTIONS.sub(lambda found: f"\n\n**{found[1]}.** ", text).strip("\n").split("\n"), ""]
