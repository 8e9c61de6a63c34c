"""Patterns of words, letter for letter."""

from __future__ import annotations

from collections.abc import Sequence

from dxgeom.errors import PredicateError
from dxgeom.universe.predicates import Literal


def letters_of(pattern: Literal) -> list[str | None]:
    """The pattern's letters; None for any one letter, the empty word for any letters or none.

    Raises: PredicateError for a backslash before anything else than ``%``, ``_`` or a backslash.
    """
    letters: list[str | None] = []
    text, at = str(pattern.value), 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
            if text[at : at + 1] not in ("%", "_", "\\"):
                advice = "write \\\\ for a backslash itself"
                raise PredicateError(
                    "in a pattern a backslash stands before %, _ or a backslash", pattern.offset, advice
                )
            letters.append(text[at])
        else:
            letters.append({"%": "", "_": None}.get(text[at], text[at]))
        at += 1
    return letters


def fits(word: str, letters: Sequence[str | None]) -> bool:
    """Whether a word fits a pattern: the last ``%`` takes one letter more whenever what follows does not fit."""
    at = place = 0
    again: tuple[int, int] | None = None
    while at < len(word):
        if place < len(letters) and letters[place] == "":
            place += 1
            again = (at, place)
        elif place < len(letters) and letters[place] in (None, word[at]):
            at, place = at + 1, place + 1
        elif again is not None:
            again = (again[0] + 1, again[1])
            at, place = again
        else:
            return False
    return all(letter == "" for letter in letters[place:])
