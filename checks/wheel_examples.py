"""Puts the example policies and the pages of the guide into the wheel, compressed; hatchling runs this to build one."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MOST_BYTES = 1_000_000
_BEGINNING = (2020, 1, 1, 0, 0, 0)
"""The date of all files: equal examples make equal archives."""


class ExamplesHook(BuildHookInterface[Any]):
    """Adds two files to the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Packs the folders below ``policies``, and the pages that are read."""
        if version == "editable":
            return
        root, folder = Path(self.root), Path(tempfile.mkdtemp())
        pack(root / "policies", folder / "examples.zip")
        pack(root / "docs", folder / "pages.zip", *(f"{room}/*.md" for room in ("tutorials", "guide", "explanation")))
        for name in ("examples.zip", "pages.zip"):
            build_data["force_include"][str(folder / name)] = f"dxgeom/starting/{name}"


def pack(source: Path, target: Path, *patterns: str) -> None:
    """Write all files, or those of some patterns, into one archive.

    Raises: ValueError when it is larger than archives may be.
    """
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(path for pattern in patterns or ("*/*",) for path in source.glob(pattern)):
            entry = zipfile.ZipInfo(path.relative_to(source).as_posix(), _BEGINNING)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes(), compresslevel=9)
    if target.stat().st_size > MOST_BYTES:
        raise ValueError(f"{target.name} takes {target.stat().st_size:,} bytes, at most {MOST_BYTES:,}")
