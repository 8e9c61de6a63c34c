"""Quoting and guessing what a person wrote."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

_LONGEST_SHOWN: Final = 60
_MOST_COMPARED: Final = 1000
_MOST_LISTED: Final = 12
_MOST_ACCEPTED: Final = 5
_BINARY: Final = {
    b"PAR1": "a table in Parquet",
    b"PK": "a workbook or an archive",
    b"\x1f\x8b": "compressed",
    b"SQLite": "a database",
}
"""How files begin that hold no text."""
_LONGEST_LIST: Final = 5000
"""Likeness is measured word by word, which would take minutes on longer lists."""


def shown(text: str) -> str:
    """A piece of someone's file, in quotes, short and printable."""
    clean = "".join(character if character.isprintable() else "�" for character in text[: _LONGEST_SHOWN + 1])
    return f"'{clean}'" if len(clean) <= _LONGEST_SHOWN else f"'{clean[:_LONGEST_SHOWN]}…'"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence naming the nearest known word, or listing the known ones when there are few, or nothing."""
    words = list(known)
    if len(word) <= _LONGEST_SHOWN and len(words) <= _MOST_COMPARED:
        lower = {candidate.lower(): candidate for candidate in reversed(words)}
        near = difflib.get_close_matches(word.lower(), lower, n=1, cutoff=0.6)
        if near:
            return f"did you mean {shown(lower[near[0]])}?"
    if 0 < len(words) <= _MOST_LISTED:
        return f"known here: {', '.join(map(shown, words))}"
    return ""


def nearest(word: str, words: Sequence[str]) -> str | None:
    """The word most like ``word``, or None when none is alike."""
    folded = {other.strip().casefold(): other for other in reversed(words)}
    key = word.strip().casefold()
    if key in folded:
        return folded[key]
    alike = difflib.get_close_matches(key, folded, n=1)
    return folded[alike[0]] if alike else None


def accepted_words(words: Sequence[str], found: str) -> str:
    """What a cell may hold that holds ``found``, which is none of the words."""
    same = unicodedata.normalize("NFC", found)
    twin = next((word for word in words if word != found and unicodedata.normalize("NFC", word) == same), None)
    if twin is not None:
        form = "NFC" if unicodedata.is_normalized("NFC", twin) else "NFD"
        how = f"only in how Unicode writes its accents: normalise the column to {form}"
        return f"which differs from the value {twin!r} {how}"
    padded = next((word for word in words if word != found and _unpadded(word) == _unpadded(found) != ""), None)
    if padded is not None:
        return f"which is {padded!r} with zeros lost or added: keep such a column as text, dtype=str"
    alike = nearest(found, words) if found and len(words) <= _LONGEST_LIST else None
    if alike is not None:
        return f"the nearest value is {alike!r}"
    if len(words) <= _MOST_ACCEPTED:
        return f"accepted are {', '.join(map(repr, words))}"
    return f"accepted are {len(words)} values such as {words[0]!r}"


def _unpadded(word: str) -> str:
    """The digits of a number without the zeros before it; empty for other words."""
    return word.lstrip("0") or "0" if word.isascii() and word.isdecimal() else ""


def cell_text(cell: str | None) -> str:
    """A cell of a table in quotes, short; or that it is missing."""
    if not cell:
        return "missing"
    return repr(cell if len(cell) <= _LONGEST_SHOWN else cell[:_LONGEST_SHOWN] + "…")


def is_nan(cell: str | None) -> bool:
    """Whether a cell of numbers holds none in the way that engines write this."""
    return cell is not None and cell.strip().casefold() == "nan"


def other_encoding(content: bytes, wrong: int) -> str:
    """What text that is not UTF-8 seems to be, and how it becomes UTF-8; ``wrong``: its first wrong byte.

    No letter of it is shown, for it may be somebody's.

    >>> other_encoding("Köln".encode("latin-1"), 1)
    "it looks like Latin-1 (Windows-1252); convert it: iconv -f WINDOWS-1252 -t UTF-8"
    """
    kind = next((words for begin, words in _BINARY.items() if content.startswith(begin)), None)
    if kind is not None:
        return f"it is {kind}, and no text; the order is policy, data, queries"
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in content[:100]:
        return f"it looks like UTF-16, which Windows calls Unicode; {_convert('UTF-16')}"
    letter = content[wrong : wrong + 1].decode("cp1252", "replace")
    if not letter.isprintable() or letter == "\ufffd":
        return "save it as UTF-8"
    return f"it looks like Latin-1 (Windows-1252); {_convert('WINDOWS-1252')}"


def _convert(encoding: str) -> str:
    return f"convert it: iconv -f {encoding} -t UTF-8"


def not_there(name: str, folder: str, there: Iterable[str]) -> str:
    """Why a file cannot be opened that its folder does not hold, with the nearest that it holds.

    >>> not_there("polcy.yaml", "/data", ["policy.yaml"])
    "No such file or directory: there is no 'polcy.yaml' in the folder /data; did you mean 'policy.yaml'?"
    """
    alike = did_you_mean(name, [*islice(there, _MOST_COMPARED)])
    meant = f"; {alike}" if alike.startswith("did you mean") else ""
    return f"No such file or directory: there is no {shown(name)} in the folder {folder}{meant}"
