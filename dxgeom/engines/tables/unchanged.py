"""Tables that stay as they are while they are read: two passes, or the halves of one, are of the same rows.

Servers are asked for one state of a table; files are looked at before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dxgeom.engines.failures import changed_meanwhile
from dxgeom.engines.tables.parquet_files import files_of_folder
from dxgeom.errors import DataError


@contextmanager
def unchanged(described: str, state: Callable[[], Any]) -> Iterator[None]:
    """Raises: DataError where ``state`` of a table is another one after it was read, whatever else was wrong."""
    before = state()
    try:
        yield
    except DataError as error:
        if state() != before:
            raise changed_meanwhile(described) from error
        raise
    if state() != before:
        raise changed_meanwhile(described)


def state_of_files(table: Any) -> tuple[Any, ...]:
    """Which files on this machine a table is, and what the system says of each that no writer leaves as it was: its
    place, its size and when it was changed; nothing of other tables."""
    if isinstance(table, str | Path):
        return tuple(_state(file) for file in files_of_folder(Path(table)) or [Path(table)])
    # By name: a dataset of Arrow that is files here. Those of Delta are never written again.
    local = type(getattr(table, "filesystem", None)).__name__ == "LocalFileSystem"
    return tuple(_state(Path(file)) for file in table.files) if local else ()


def _state(file: Path) -> tuple[Any, ...]:
    if not file.exists():
        return (file,)
    found = file.stat()
    return file, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
