"""A policy as a folder: its file, and every data file that it read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from dxgeom.policy.source.text import PolicyText

_NAME: Final = "policy.yaml"


def save(content: str, text: PolicyText | None, folder: str | os.PathLike[str]) -> Path:
    """Write the content as ``policy.yaml``, and beside it the data files that were read for a text; the former's path.

    Raises: FileExistsError where one of these is there already, which then stays as it is.
    """
    home = Path(folder)
    taken = {} if text is None or text.folder is None else text.folder.taken
    for name, written in {**taken, _NAME: content.encode("utf-8")}.items():
        place = home / name
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as file:
            file.write(written)
    return home / _NAME
