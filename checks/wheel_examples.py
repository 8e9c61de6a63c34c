"""Puts the example policies with their data into the wheel, compressed; hatchling runs this when it builds one."""

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
    """Adds one file to the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Packs the folders below ``policies``."""
        if version == "editable":
            return
        target = Path(tempfile.mkdtemp()) / "examples.zip"
        pack(Path(self.root) / "policies", target)
        build_data["force_include"][str(target)] = "dxgeom/starting/examples.zip"


def pack(policies: Path, target: Path) -> None:
    """Write all examples into one archive. Raises: ValueError when it is larger than examples may be."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(policies.glob("*/*")):
            entry = zipfile.ZipInfo(path.relative_to(policies).as_posix(), _BEGINNING)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes(), compresslevel=9)
    if target.stat().st_size > MOST_BYTES:
        raise ValueError(f"the examples take {target.stat().st_size:,} bytes, at most {MOST_BYTES:,}")
