"""The reference of the API: a page for each room that ``dx`` reaches, with a table, and one for each name in it.

A room's ``__all__`` says what it offers, and autodoc says the rest: signatures, types and docstrings. What several
rooms offer is described at the shortest of its names; the others lead there.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import dxgeom

if TYPE_CHECKING:
    from sphinx.application import Sphinx

PAGES = Path(__file__).parents[1] / "reference" / "rooms"
NAMES = PAGES.with_name("names")
SENTENCE = re.compile(r".*?(?:[.!?](?=\s)|$)", re.DOTALL)
SECTIONS = re.compile(
    r"(?:^|(?<=[.;:`] )|\n)(Args|Returns|Raises|Guarantees?|Source|Definition|Symbols|Use|Example):(?!:) +"
)
ARGUMENT = re.compile(r"(?:(?<=[.;,] )|^)(?=``[^`]+``(?:(?:,| and) ``[^`]+``)*(?: \([^)]*\))?: )")
BARS = re.compile(r"``.*?``|\|", re.DOTALL)
HEADINGS = {"function": "Functions", "class": "Classes", "data": "Constants"}
KINDS = {"class": "autoclass", "function": "autofunction", "data": "autodata"}


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", in_paragraphs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(app: Sphinx) -> None:
    """Of rooms, and of names in them."""
    home = homes()
    write(PAGES, {f"{name}.rst": page(name, room) for name, room in rooms(dxgeom)})
    described = {
        name: getattr(room, name.rpartition(".")[2])
        for room_name, room in rooms(dxgeom)
        for name in own(room_name, room, home)
    }
    write(
        NAMES, {f"{file_of(name, thing)}.rst": described_page(name, thing, home) for name, thing in described.items()}
    )


def write(folder: Path, texts: dict[str, str]) -> None:
    """What is there and is no more is removed."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
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
    mine = {one.rpartition(".")[2]: one for one in own(name, room, home)}
    for kind, heading in HEADINGS.items():
        rows = [(whole, offered[one]) for one, whole in mine.items() if kind_of(offered[one]) == kind]
        if rows:
            parts += [f"{heading}\n{'-' * len(heading)}", summary(rows)]
    return "\n\n".join(part for part in parts if part) + "\n"


def own(name: str, room: ModuleType, home: dict[int, str]) -> list[str]:
    """What is described as this room's, by its whole name."""
    found = {one: getattr(room, one) for one in names(room)}
    return [
        f"{name}.{one}"
        for one, it in found.items()
        if not isinstance(it, ModuleType) and home[id(it)] == f"{name}.{one}"
    ]


def kind_of(thing: Any) -> str:
    """Of what kind something is, as autodoc calls it."""
    return "class" if inspect.isclass(thing) else "function" if callable(thing) else "data"


def file_of(name: str, thing: Any) -> str:
    """A page's name; a class has it in its own, as some file systems take Plan and plan for one."""
    return f"{name}-class" if kind_of(thing) == "class" else name


def summary(rows: list[tuple[str, Any]]) -> str:
    """A table: each name, and the first sentence of what is said of it."""
    lines = [".. list-table::", "   :widths: 30 70", "   :width: 100%", ""]
    for name, thing in rows:
        said = inspect.getdoc(thing) if kind_of(thing) != "data" else ""
        first = " ".join(SENTENCE.match((said or "").split("\n\n")[0])[0].split())  # type: ignore[index]
        text = BARS.sub(lambda found: found[0] if found[0] != "|" else "\\|", first)
        lines += [f"   * - {reference(thing, name)}", f"     - {text}"]
    return "\n".join(lines)


def described_page(name: str, thing: Any, home: dict[int, str]) -> str:
    """One name's page, in reStructuredText; tables lead there, and the list of all pages leaves it out."""
    shown, (room, _, last) = name.replace("dxgeom", "dx", 1), name.rpartition(".")
    up = f"In :doc:`{room.replace('dxgeom', 'dx', 1)} </docs/reference/rooms/{room}>`."
    return "\n\n".join([":orphan:", f"{shown}\n{'=' * len(shown)}", up, entry(room, last, thing, home)]) + "\n"


def reference(thing: Any, name: str) -> str:
    """A link to where it is described."""
    role = "class" if inspect.isclass(thing) else "func" if callable(thing) else "obj"
    return f":py:{role}:`{name.replace('dxgeom', 'dx', 1)} <{name}>`"


def entry(room: str, name: str, thing: Any, home: dict[int, str]) -> str:
    """What autodoc is asked to describe; what a class has from one that is described is said there."""
    kind = kind_of(thing)
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
    text = SECTIONS.sub(lambda found: f"\n\n**{found[1]}.** ", text).strip("\n")
    lines[:] = [*"\n\n".join(map(arguments, text.split("\n\n"))).split("\n"), ""]


def arguments(paragraph: str) -> str:
    """Arguments, where there are several, as a list; other paragraphs as they are."""
    head, begun, rest = paragraph.lstrip("\n").partition("**Args.** ")
    each = [part.strip() for part in ARGUMENT.split(" ".join(rest.split()))] if begun and not head else []
    if len(each := [part for part in each if part]) < 2:
        return paragraph
    return "\n\n".join(["**Args.**", "\n".join(f"* {part.removesuffix(';')}" for part in each)])
