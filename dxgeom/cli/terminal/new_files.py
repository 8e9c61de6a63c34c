"""Files that a command is asked to write."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from dxgeom.errors import DataError, file_errors

Content: TypeAlias = str | Callable[[BinaryIO], None]
"""What goes into a file."""


def check_new(target: Path) -> None:
    """Refuse a file that is there already, and a folder that is not. Raises: DataError."""
    if target.exists():
        raise DataError(f"'{target}' exists and is not overwritten; name a new file")
    if not target.parent.is_dir():
        raise DataError(f"the folder of '{target}' does not exist")


@contextmanager
def begun_file(target: Path | None, mode: int = 0o666) -> Iterator[Callable[[Content], None] | None]:
    """A new file, begun at once and empty, so that what forbids writing it is found out before anything is paid for.

    What is yielded writes it, once: a text, or what a function writes to it; None without a target. A file that was
    not written whole is taken away. ``mode``: who may read and write it, as far as the umask allows.
    Raises: DataError when it cannot be begun, or not be written.
    """
    if target is None:
        yield None
        return
    check_new(target)
    with file_errors(target, "written"):
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    whole = False

    def write(content: Content) -> None:
        nonlocal whole
        with file_errors(target, "written"):
            if isinstance(content, str):
                file.write(content.encode("utf-8"))
            else:
                content(file)
            file.flush()
            os.fsync(file.fileno())
        whole = True

    file = os.fdopen(descriptor, "wb")
    try:
        yield write
    finally:
        with suppress(OSError):  # what is whole is on the disk; what is not, is told of already
            file.close()
        if not whole:
            with suppress(OSError):
                target.unlink()
