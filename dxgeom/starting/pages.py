"""The guide, the tutorials and the explanations, as they travel with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dxgeom.errors import DataError
from dxgeom.starting.examples import archived
from dxgeom.universe.wording import did_you_mean

ARCHIVE: Final = "pages.zip"
ROOMS: Final = ("tutorials", "guide", "explanation")
_SOURCE: Final = Path(__file__).parents[2] / "docs"


def page_titles() -> dict[str, str]:
    """What each page is called, by its name, in the order in which they are read."""
    heads = {name: (line for line in text.splitlines() if line.startswith("# ")) for name, text in _pages().items()}
    return {name: next(lines, name).removeprefix("# ") for name, lines in heads.items()}


def page_text(name: str) -> str:
    """A page as it is written, in Markdown. Raises: DataError for an unknown name."""
    found = _pages()
    if name not in found:
        raise DataError(f"there is no page '{name}'; {did_you_mean(name, list(found)) or 'dxgeom docs lists them'}")
    return found[name]


def _pages() -> dict[str, str]:
    """The text of each page; beside the package's source they are read from there."""
    if (_SOURCE / "guide" / "start.md").is_file():
        files = {f"{room}/{path.name}": path.read_bytes() for room in ROOMS for path in (_SOURCE / room).glob("*.md")}
    else:
        with archived(ARCHIVE) as archive:
            files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    order = sorted(files, key=lambda file: (ROOMS.index(file.partition("/")[0]), file != "guide/start.md", file))
    return {Path(file).stem: files[file].decode("utf-8") for file in order}
