"""The steps of a path between records, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dxgeom.policy.explain.shortest_path import Amount


@final
@dataclass(frozen=True)
class Hop:
    """One step of the path: from one value of an attribute to another.

    ``attribute`` is None when several change at once: those in ``together``, or whatever there is when it is empty.
    A step to the absent record ends at "no record", and one from it starts there.
    """

    attribute: str | None
    start: str
    end: str
    bound: Amount
    line: int
    rule: str
    together: tuple[str, ...] = ()
