"""First phase: the text of a policy file or a queries file, and where each character stands."""

from __future__ import annotations

import os
import re
import stat
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath
from types import NoneType
from typing import Any, final

from dxgeom.arguments import require
from dxgeom.errors import Diagnostic, FileMistakes
from dxgeom.universe.wording import not_there, other_encoding

MAX_BYTES = 1 << 20
"""A policy is written by a person; a megabyte of it is a mistake or an attack."""
_LONGEST_SHOWN_LINE = 200
_YAML = (".yaml", ".yml")
_OWN = ("", *_YAML, ".json")
_OWN_KEYS = ("policy", "universe", "rules", "queries", "tasks", "answer", "graphs", "database")
_BEGINS_WITH_ONE = re.compile(rf"""^[\s{{]*["']?({"|".join(_OWN_KEYS)})["']?\s*:""", re.MULTILINE)
_ONE_WORD = re.compile(r"\s*\S*\s*")


@final
@dataclass(frozen=True)
class Paths:
    """The paths of the Python data that a text was written from.

    ``words``: by (start, end) of each key and scalar; ``starts``: where lists and mappings begin, increasing, and
    ``outermost``: the path of the outermost one that begins there.
    """

    words: Mapping[tuple[int, int], str]
    starts: tuple[int, ...]
    outermost: tuple[str, ...]

    def at(self, start: int, end: int) -> str:
        """The path of the key or scalar that holds ``start`` to ``end``, or of the nearest thing that begins before."""
        word = bisect_right(self._ends, start)
        if word < len(self._ends) and self._in_order[word][0] <= start and end <= self._ends[word]:
            return self.words[self._in_order[word]]
        place = bisect_right(self.starts, start) - 1
        return self.outermost[place] if place >= 0 else "top level"

    @cached_property
    def _in_order(self) -> list[tuple[int, int]]:
        return sorted(self.words)

    @cached_property
    def _ends(self) -> list[int]:
        return [end for _, end in self._in_order]


@final
@dataclass(frozen=True)
class PolicyText:
    """A file's text with its name as shown in messages, and the folder its data files live in (None: no files).

    ``paths``: for a policy that was built in Python; its mistakes are named by path and not by line. ``trees``: what
    was read of it without a mistake, so that it is read once.
    """

    file: str
    content: str
    folder: Folder | None
    paths: Paths | None = None
    trees: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of the character at ``offset``."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    @property
    def may_be_data(self) -> bool:
        """Whether the file is called like no policy: nothing of a table is shown that was named in its place."""
        return PurePath(self.file).suffix.lower() not in _OWN or self.has_no_key

    @cached_property
    def has_no_key(self) -> bool:
        """Whether a file that is not called YAML has no line that begins with a key of ours: it may be a table."""
        if self.folder is None or PurePath(self.file).suffix.lower() in _YAML or _ONE_WORD.fullmatch(self.content):
            return False
        return _BEGINS_WITH_ONE.search(self.content) is None

    def line_text(self, line: int) -> str:
        """The text of a line, for showing under a message; empty when it is too long to help, or may be data."""
        if self.may_be_data:
            return ""
        end = self._starts[line] - 1 if line < len(self._starts) else len(self.content)
        found = self.content[self._starts[line - 1] : end]
        if len(found) > _LONGEST_SHOWN_LINE:
            return ""
        return "".join(character if character.isprintable() else " " for character in found).rstrip()

    @cached_property
    def _starts(self) -> list[int]:
        starts, at = [0], self.content.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.content.find("\n", at + 1)
        return starts


@final
class Unreadable(Exception):
    """A file may not or cannot be read; the text says why. Never leaves this module."""


def read_bytes(path: Path, limit: int) -> bytes:
    """The content of a regular file of at most ``limit`` bytes.

    Raises: Unreadable.
    """
    try:
        # A named pipe would block on a plain open.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError as error:
        raise Unreadable(f"the file cannot be opened: {_not_there(path)}") from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its name is not a file name"
        raise Unreadable(f"the file cannot be opened: {reason}") from error
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            folder = "; it is a folder: name the file in it" if stat.S_ISDIR(facts.st_mode) else ""
            raise Unreadable(f"this is not a regular file{folder}")
        if facts.st_size > limit:
            raise Unreadable(f"the file has {facts.st_size:,} bytes; at most {limit:,} are read")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            content = stream.read(limit + 1)
    except OSError as error:
        raise Unreadable(f"the file cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise Unreadable(f"the file has more than the {limit:,} bytes that are read")
    return content


def decoded(content: bytes) -> str:
    """UTF-8 text with newlines as \\n and without a byte order mark.

    Raises: Unreadable naming the line of the first wrong byte.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        looks = other_encoding(content, error.start)
        raise Unreadable(f"the file is not UTF-8 text: the first wrong byte is in line {line}; {looks}") from error
    return plain_lines(text)


def _not_there(path: Path) -> str:
    """That a file is not in its folder, or that there is no such folder."""
    if len(path.parts) > 1 and re.fullmatch("[a-z0-9+]{2,}:", path.parts[0]):
        return "it is an address elsewhere, and files are here: download it first"
    try:
        folder = path.parent.resolve()
        if not folder.is_dir():
            return f"No such file or directory: there is no folder {folder} to look in"
        return not_there(path.name, str(folder), (one.name for one in folder.iterdir()))
    except (OSError, RuntimeError):
        return "No such file or directory"


def plain_lines(text: str) -> str:
    """The text with newlines as \\n and without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


class Folder(ABC):
    """Where the data files of a text lie; no others are ever read."""

    @property
    @abstractmethod
    def taken(self) -> Mapping[str, bytes]:
        """What has been read, by name, as it was then."""

    @abstractmethod
    def content(self, name: str, limit: int) -> bytes:
        """The content of the file of that name, of at most ``limit`` bytes.

        Raises: Unreadable.
        """


@final
@dataclass(frozen=True)
class FolderOnDisk(Folder):
    """A folder and what lies below it, links followed."""

    path: Path
    _taken: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    @property
    def taken(self) -> Mapping[str, bytes]:
        return self._taken

    def content(self, name: str, limit: int) -> bytes:
        self._taken[name] = read_bytes(self._inside(name), limit)
        return self._taken[name]

    def _inside(self, name: str) -> Path:
        """The real path of a file that must lie in the folder."""
        if Path(name).is_absolute() or "\\" in name or "\0" in name:
            raise Unreadable("files are named relative to the policy's folder, with /")
        try:
            home = self.path.resolve(strict=True)
            path = (home / name).resolve()
            if not path.is_relative_to(home):  # asked first: whether something is there is not told of other folders
                raise Unreadable("this path leaves the policy's folder")
            return path.resolve(strict=True)
        except FileNotFoundError as error:
            where = f"in the policy's folder, '{self.path.name or '.'}'"
            raise Unreadable(f"the file cannot be opened: No such file or directory {where}") from error
        except (OSError, RuntimeError) as error:
            # RuntimeError: how Python before 3.13 reports a loop of links.
            reason = getattr(error, "strerror", None) or "its links run in a circle"
            raise Unreadable(f"the file cannot be opened: {reason}") from error


@final
@dataclass(frozen=True)
class FolderInMemory(Folder):
    """Files that were handed over with the text; the disk is not looked at, but for what is ``beside`` them."""

    contents: Mapping[str, bytes] = field(repr=False)
    beside: Folder | None = None
    _taken: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    @property
    def taken(self) -> Mapping[str, bytes]:
        return self._taken

    def content(self, name: str, limit: int) -> bytes:
        if name not in self.contents and self.beside is not None:
            self._taken[name] = self.beside.content(name, limit)
            return self._taken[name]
        if name not in self.contents:
            raise Unreadable("the file is not among those that came with the text")
        if len(self.contents[name]) > limit:
            raise Unreadable(f"the file has {len(self.contents[name]):,} bytes; at most {limit:,} are read")
        self._taken[name] = self.contents[name]
        return self.contents[name]


def folder_of(place: str | os.PathLike[str] | Folder | None) -> Folder | None:
    """The folder at a path; None for none."""
    return place if isinstance(place, Folder | None) else FolderOnDisk(Path(place))


def read_beside(folder: Folder | None, name: str, limit: int) -> bytes:
    """The content of a data file by its name in the folder.

    Raises: Unreadable when it may not or cannot be opened.
    """
    if folder is None:
        raise Unreadable("a policy given as text has no folder to read files from")
    return folder.content(name, limit)


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
