"""Libraries that only an extra of dxgeom brings."""

from __future__ import annotations

import importlib
from typing import Any

from dxgeom.errors import MissingExtra


def optional_library(name: str, extra: str, task: str) -> Any:
    """The module ``name``.

    Raises: MissingExtra where it is not installed; ``task`` is what it does, such as "pictures are drawn".
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        library = name.partition(".")[0]
        raise MissingExtra(
            f"{task} by {library}, which is not installed; install it with: pip install 'dxgeom[{extra}]'"
        ) from error
