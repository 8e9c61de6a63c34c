"""What only looks like what a person means: spaces that do not break, typographic quotes, a glued colon."""

from __future__ import annotations

import re
from typing import Final

from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.universe.wording import shown

_NO_SPACES: Final = "\u00a0\u2007\u202f\u200b\u200c\u200d\u2060\ufeff\u3000"
"""Look like a space or like nothing, and are neither to YAML."""
_QUOTED: Final = re.compile("[“”„‟«»‘’‚‛‹›](.*)[“”„‟«»‘’‚‛‹›]", re.DOTALL)
_GLUED: Final = re.compile(rf"[\s-]*([^\s:'\"]+):([{_NO_SPACES}]*)(\S.*)")


def taken_as_meant(text: str, span: Span, mistakes: Mistakes) -> str:
    """A word that stands without quotes, as it was meant: where it only looks right, this is noted."""
    bare = text.strip(_NO_SPACES)
    if bare != text:
        message = f"a no-break space is part of {shown(text)}, where it looks like a plain space and is none"
        mistakes.add("DX119", span, message, f"delete it and type a plain space: {bare}")
        return bare
    if quoted := _QUOTED.fullmatch(text):
        message = f"typographic quotes are letters like others: they are part of the word {shown(text)}"
        mistakes.add("DX119", span, message, f"write '{quoted[1]}', or \"{text}\" where they are meant")
        return quoted[1]
    return text


def glued(line: str) -> tuple[int, str, str] | None:
    """Where a key's value is glued to its colon in a line, what is wrong, and what to write instead; else None.

    >>> glued("    epsilon:0.5")
    (4, "behind a key's colon stands a space, found 'epsilon:0.5'", 'write epsilon: 0.5')
    """
    found = _GLUED.fullmatch(line)
    if found is None:
        return None
    between = "a no-break space, which only looks like one" if found[2] else shown(f"{found[1]}:{found[3]}")
    return found.start(1), f"behind a key's colon stands a space, found {between}", f"write {found[1]}: {found[3]}"
