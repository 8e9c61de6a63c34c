"""JSON as a plan file holds it: read without mercy, written the same way every time."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final, NoReturn

from dxgeom.plan_files.wrong import Wrong
from dxgeom.policy.source.text import Unreadable, decoded, read_bytes

MAX_BYTES: Final = 256 << 20
_LONGEST_WHOLE: Final = 17
_NOT_JSON: Final = "write the plan again with 'dxgeom plan ... --output'"


def read_document(path: Path) -> dict[str, Any]:
    """The one mapping that a file holds.

    Guarantee: no key stands twice, no number is anything but a whole one, all text is proper Unicode.
    Raises: Wrong.
    """
    try:
        text = decoded(read_bytes(path, MAX_BYTES))
    except Unreadable as error:
        raise Wrong("DX300", "", str(error), "name a plan file") from error
    return document_of_text(text)


def document_of_text(text: str) -> dict[str, Any]:
    """The same of a text. Raises: Wrong."""
    try:
        document = json.loads(
            text, parse_float=_no_float, parse_constant=_no_float, parse_int=_whole, object_pairs_hook=_distinct
        )
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except json.JSONDecodeError as error:
        what = f"this is not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        raise Wrong("DX300", "", what, _NOT_JSON) from error
    except RecursionError as error:
        raise Wrong("DX300", "", "brackets are nested too deeply", _NOT_JSON) from error
    except UnicodeEncodeError as error:
        raise Wrong("DX300", "", "a text holds half a character: a surrogate without the other one") from error
    if not isinstance(document, dict):
        raise Wrong("DX301", "", "a plan file holds one mapping, this holds something else", _NOT_JSON)
    return document


def canonical(data: Any) -> str:
    """The one text that stands for these data: keys in their order, which may mean something, no blanks, ASCII."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest_of(document: dict[str, Any]) -> str:
    """SHA-256 of all fields but the digest itself, in their order and canonical text."""
    said = {key: value for key, value in document.items() if key != "digest"}
    return hashlib.sha256(canonical(said).encode("ascii")).hexdigest()


def document_text(document: dict[str, Any]) -> str:
    """The text of a file: a line for each field, the canonical text of what it holds behind it."""
    lines = [f"{json.dumps(key)}: {canonical(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _no_float(word: str) -> NoReturn:
    raise Wrong(
        "DX302", "", f"numbers that are not whole are written as text, found {word[:40]}", "leave files as they are"
    )


def _whole(word: str) -> int:
    if len(word) > _LONGEST_WHOLE or word == "-0":
        raise Wrong("DX302", "", f"whole numbers stay below 2**53, found {word[:40]}", "leave files as they are")
    return int(word)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Wrong("DX300", "", f"the key '{key[:40]}' is here twice", "keep files as they were written")
        found[key] = value
    return found
