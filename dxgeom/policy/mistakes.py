"""Collecting mistakes instead of stopping at the first one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from dxgeom.errors import Diagnostic
from dxgeom.policy.codes import CODES
from dxgeom.policy.text import PolicyText

MOST_REPORTED = 200


@final
@dataclass(frozen=True, order=True)
class Span:
    """Where something stands: character offsets, ``end`` not included."""

    start: int
    end: int


@final
@dataclass
class Mistakes:
    """The mistakes found so far in one text. Only grows; nothing is raised before all phases had their say."""

    text: PolicyText
    found: list[Diagnostic] = field(default_factory=list)

    def add(self, code: str, span: Span, message: str, advice: str = "") -> None:
        """Note one mistake; its code must be in the table, and the same mistake is noted once."""
        if code not in CODES:
            raise KeyError(code)
        line, column = self.text.position(span.start)
        source = self.text.line_text(line)
        mistake = Diagnostic(self.text.file, line, column, code, message, advice, source)
        if mistake not in self.found[-MOST_REPORTED:] and len(self.found) < MOST_REPORTED:
            self.found.append(mistake)

    def __bool__(self) -> bool:
        return bool(self.found)
