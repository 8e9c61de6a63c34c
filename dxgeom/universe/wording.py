"""Quoting and guessing what a person wrote."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Final

_LONGEST_SHOWN: Final = 60
_MOST_COMPARED: Final = 1000
_MOST_LISTED: Final = 12


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
