"""What may be computed unasked: work, known from public sizes before any of it is done."""

from __future__ import annotations

from typing import Final

from dxgeom.errors import TooLarge

ALLOWED: Final = 2e11
"""Multiplications that a search may take which cannot be cut short: about a minute on one slow core."""


def require_affordable(what: str, work: float, allowed: float = ALLOWED) -> None:
    """Raises: TooLarge where ``what`` takes more multiplications than are ``allowed``."""
    if work > allowed:
        raise TooLarge(
            f"{what} takes about {work:.2g} multiplications, and at most {allowed:.2g} are made: ask for less at once, "
            "or allow more with dx.Search(work=…)"
        )
