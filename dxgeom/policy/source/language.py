"""What policies and queries share as languages of files: how their texts are taken in, and refused."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import final

from dxgeom.arguments import require
from dxgeom.errors import Diagnostic, FileMistakes
from dxgeom.policy.source.text import (
    MAX_BYTES,
    Folder,
    FolderOnDisk,
    Paths,
    PolicyText,
    Unreadable,
    decoded,
    folder_of,
    plain_lines,
    read_bytes,
)


@final
@dataclass(frozen=True)
class Language:
    """A language that files are written in: policies, or queries.

    ``name``: how its functions call it; ``from_data``: the one that takes Python data; ``beside``: the files that its
    texts may name; ``refused``: the error that tells its mistakes.
    """

    name: str
    from_data: str
    beside: str
    refused: type[FileMistakes]

    def read(self, path: str | os.PathLike[str]) -> PolicyText:
        """The text of a file. Raises: ``refused`` when it cannot be read; WrongArgument."""
        otherwise = f"dx.parse_{self.name} takes a text, {self.from_data} a dict"
        require(path, (str, os.PathLike), "path", f"name a file; {otherwise}")
        place = Path(path)
        if "\n" in os.fspath(path):
            raise self._unreadable(
                f"the {self.name}", f"a file's name has one line, and this is a text of several: {otherwise}"
            )
        try:
            return PolicyText(str(place), decoded(read_bytes(place, MAX_BYTES)), FolderOnDisk(place.parent))
        except Unreadable as error:
            raise self._unreadable(os.fspath(path), str(error)) from error

    def given(
        self, content: str, file: str, folder: str | os.PathLike[str] | Folder | None, paths: Paths | None = None
    ) -> PolicyText:
        """A text as if it had been read from ``file``. Raises: ``refused`` when it is longer than a file may be."""
        otherwise = f"dx.load_{self.name} takes a file, {self.from_data} a dict"
        require(content, str, "content", f"give a text; {otherwise}")
        require(file, str, "file", "give the name that messages call the text by")
        held = self.folder(folder)
        if len(content) > MAX_BYTES:
            raise self._unreadable(file, f"the text has {len(content):,} characters; at most {MAX_BYTES:,} are read")
        return PolicyText(file, plain_lines(content), held, paths)

    def folder(self, folder: str | os.PathLike[str] | Folder | None) -> Folder | None:
        """The folder that data files are read from. Raises: WrongArgument."""
        advice = f"name the folder of the {self.beside} files, or leave it out"
        require(folder, (str, os.PathLike, Folder, NoneType), "folder", advice)
        return folder_of(folder)

    def _unreadable(self, file: str, reason: str) -> FileMistakes:
        return self.refused([Diagnostic(file, 1, 1, "DX100", reason)])
