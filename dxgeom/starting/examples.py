"""What travels with the package: the example policies with their data, and the pages of the guide."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from dxgeom.errors import DataError, file_errors
from dxgeom.universe.wording import did_you_mean

_EXAMPLES: Final = Path(__file__).parents[2] / "policies"
_POLICY: Final = "policy.yaml"
ROOMS: Final = ("tutorials", "guide", "explanation")
_PAGES: Final = Path(__file__).parents[2] / "docs"


def example_names() -> dict[str, str]:
    """What each example is about, by its name."""
    return {name: _about(content[_POLICY]) for name, content in sorted(_examples().items())}


def write_example(name: str, folder: Path) -> tuple[Path, ...]:
    """Write an example's files into a new folder.

    Raises: DataError for an unknown name, or a folder that is there already.
    """
    found = _examples()
    if name not in found:
        raise DataError(
            f"there is no example '{name}'; {did_you_mean(name, list(found)) or 'dxgeom examples lists them'}"
        )
    if folder.exists():
        raise DataError(f"'{folder}' exists and is not overwritten; name a new folder")
    with file_errors(folder, "written"):
        folder.mkdir(parents=True)
        for file, content in sorted(found[name].items()):
            (folder / file).write_bytes(content)
    return tuple(folder / file for file in sorted(found[name]))


def _examples() -> dict[str, dict[str, bytes]]:
    """The files of each example; beside the package's source they are read from there."""
    if (_EXAMPLES / "clinic" / _POLICY).is_file():
        folders = (path for path in _EXAMPLES.iterdir() if (path / _POLICY).is_file())
        return {path.name: {file.name: file.read_bytes() for file in path.iterdir()} for path in folders}
    found: dict[str, dict[str, bytes]] = {}
    with archived("examples.zip") as archive:
        for entry in archive.infolist():
            name, _, file = entry.filename.partition("/")
            found.setdefault(name, {})[file] = archive.read(entry)
    return found


@contextmanager
def archived(name: str) -> Iterator[zipfile.ZipFile]:
    """An archive that travels with the package. Raises: DataError where it does not."""
    place = files("dxgeom.starting").joinpath(name)
    if not place.is_file():
        raise DataError("this dxgeom was installed without its examples and pages; install its wheel")
    with as_file(place) as path, zipfile.ZipFile(path) as archive:
        yield archive


def _about(policy: bytes) -> str:
    lines = policy.decode("utf-8").splitlines()
    return next((line.removeprefix("about:").strip() for line in lines if line.startswith("about:")), "")


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
    if (_PAGES / "guide" / "start.md").is_file():
        files = {f"{room}/{path.name}": path.read_bytes() for room in ROOMS for path in (_PAGES / room).glob("*.md")}
    else:
        with archived("pages.zip") as archive:
            files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    order = sorted(files, key=lambda file: (ROOMS.index(file.partition("/")[0]), file != "guide/start.md", file))
    return {Path(file).stem: files[file].decode("utf-8") for file in order}
