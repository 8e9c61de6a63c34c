"""Signs that a stream cannot take, in words or signs of ASCII."""

from __future__ import annotations

from functools import cache
from typing import Final

_ASCII: Final = {
    " ·": ";",
    "·": "*",
    "±": "+/-",
    "▲": "[!]",
    "✖": "[x]",
    "→": "->",
    "ε": "eps",
    "δ": "delta",
    "≤": "<=",
    "≥": ">=",
    "×": "x",
    "∞": "inf",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "²": "^2",
    "√": "sqrt ",
    "°": " deg",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "\u00a0": " ",
}


def in_encoding(text: str, encoding: str) -> str:
    """The text with every sign of ours that this encoding has not in ASCII; other letters stay.

    >>> in_encoding("race ± 5 · age", "ascii"), in_encoding("▲ ± é", "latin-1"), in_encoding("±", "utf-8")
    ('race +/- 5; age', '[!] ± é', '±')
    """
    if text.isascii():
        return text
    for sign, words in _ASCII.items():
        if sign in text and not _has(encoding, sign):
            text = text.replace(sign, words)
    return text


@cache
def _has(encoding: str, sign: str) -> bool:
    try:
        sign.encode(encoding)
    except UnicodeEncodeError:
        return False
    except LookupError:  # a codec that Python does not know: the stream's own matter
        return True
    return True
