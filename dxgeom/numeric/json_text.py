"""JSON that every reader understands: infinite numbers, which it has no word for, are text."""

from __future__ import annotations

import json
import math
from typing import Any


def jsonable(value: Any) -> Any:
    """The same lists, names and numbers, with infinite numbers as "inf" and "-inf"."""
    if isinstance(value, dict):
        return {key: jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def compact_json(document: Any) -> str:
    """One line of ASCII without blanks.

    >>> compact_json({"a": [1, float("inf")]})
    '{"a":[1,"inf"]}'
    """
    return json.dumps(jsonable(document), allow_nan=False, separators=(",", ":"))
