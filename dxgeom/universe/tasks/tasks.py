"""Several tasks that one release answers, at the price of one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.sealed import cached_property, canonical_digest
from dxgeom.universe.tasks.questions import AskedTask
from dxgeom.universe.universe import Universe


@final
@dataclass(frozen=True, eq=False)
class TaskWithShare:
    """A task by its name, with its share of the spend."""

    name: str
    share: Fraction
    question: AskedTask


@final
@dataclass(frozen=True, eq=False)
class Tasks:
    """Tasks about the same records: names are distinct, shares are positive and sum to 1.

    ``records``: their public number, where it was stated. ``source``: the text that they were read from, as whoever
    read it keeps it; ``why``: what is said of the choice of them, where nobody wrote them; no part of what they mean.
    """

    parts: tuple[TaskWithShare, ...]
    universe: Universe = field(repr=False)
    records: int | None = None
    source: object = field(default=None, repr=False)
    why: str = ""

    def __post_init__(self) -> None:
        if not self.parts or max(Counter(self.names).values()) > 1:
            raise UnsupportedCombination("there is one task at least, and no two have one name")
        if any(share <= 0 for share in self.shares) or sum(self.shares) != 1:
            raise UnsupportedCombination("the shares of tasks are positive, and sum to 1")

    @property
    def names(self) -> tuple[str, ...]:
        """The tasks' names, in order."""
        return tuple(part.name for part in self.parts)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """What each task has of a spend."""
        return tuple(part.share for part in self.parts)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything that is asked."""
        asked = [(part.name, str(part.share), part.question.word, part.question.fingerprint) for part in self.parts]
        return canonical_digest("tasks", asked)
