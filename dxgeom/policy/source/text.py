"""First phase: the text of a policy file or a queries file, and where each character stands."""

from __future__ import annotations

import os
import stat
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import final

MAX_BYTES = 1 << 20
"""A policy is written by a person; a megabyte of it is a mistake or an attack."""
_LONGEST_SHOWN_LINE = 200


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

    ``paths``: for a policy that was built in Python; its mistakes are told by path and not by line.
    """

    file: str
    content: str
    folder: Path | None
    paths: Paths | None = None

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of the character at ``offset``."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """The text of a line, for showing under a message; empty when it is too long to help."""
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
    """A file may not or cannot be read; the text says why. Never leaves this room."""


def read_bytes(path: Path, limit: int) -> bytes:
    """The content of a regular file of at most ``limit`` bytes.

    Raises: Unreadable.
    """
    try:
        # A named pipe would block on a plain open.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its name is not a file name"
        raise Unreadable(f"the file cannot be opened: {reason}") from error
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise Unreadable("this is not a regular file")
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
        raise Unreadable(f"the file is not UTF-8 text: the first wrong byte is in line {line}") from error
    return plain_lines(text)


def plain_lines(text: str) -> str:
    """The text with newlines as \\n and without a byte order mark."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
