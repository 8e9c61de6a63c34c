"""Records as they are written on a command line."""

from __future__ import annotations

import json
from typing import Any

import typer


def record_of(text: str) -> int | str | dict[str, Any]:
    """A record as written: a number, a JSON object, ``attribute=value,attribute=value``, or ``absent``.

    A piece between commas that has no equals sign belongs to the value before it, as in ``age=[0, 18)``.
    Raises: typer.BadParameter.
    """
    written = text.strip()
    if written.isascii() and written.isdecimal() and len(written) < 20:
        return int(written)
    if written == "absent":
        return written
    if written.startswith("{"):
        return _record_of_json(written)
    pieces: list[str] = []
    for piece in written.split(","):
        if "=" in piece or not pieces:
            pieces.append(piece)
        else:
            pieces[-1] += f",{piece}"
    pairs = [(name.strip(), sign, value.strip()) for name, sign, value in (one.partition("=") for one in pieces)]
    if not all(sign and name for name, sign, _ in pairs) or len({name for name, _, _ in pairs}) < len(pairs):
        order = "; the policy is named first, then the two records" if written.endswith((".yaml", ".yml")) else ""
        raise typer.BadParameter(
            f"a record is a number, a JSON object, 'absent', or like sex=F,age=40; found {text!r}{order}"
        )
    return {name: value for name, _, value in pairs}


def _record_of_json(text: str) -> dict[str, Any]:
    record = json_of(text)
    if not all(isinstance(value, str) for value in record.values()):
        raise typer.BadParameter("the values of a record are words and numbers")
    return dict(record)


def json_of(text: str) -> Any:
    """What a text of JSON says, numbers as written. Raises: typer.BadParameter."""
    try:
        return json.loads(text, parse_float=str, parse_int=str)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"this is not JSON: {error}") from error
