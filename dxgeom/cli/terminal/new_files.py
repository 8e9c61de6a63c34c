"""Files that a command is asked to write."""

from __future__ import annotations

from pathlib import Path

from dxgeom.errors import DataError


def check_new(target: Path) -> None:
    """Refuse a file that is there already, and a folder that is not. Raises: DataError."""
    if target.exists():
        raise DataError(f"'{target}' exists and is not overwritten; name a new file")
    if not target.parent.is_dir():
        raise DataError(f"the folder of '{target}' does not exist")
