"""Collecting mistakes instead of stopping at the first one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from dxgeom.errors import Diagnostic
from dxgeom.policy.source.codes import CODES
from dxgeom.policy.source.text import PolicyText

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
        if self.full:
            return
        line, column = self.text.position(span.start)
        paths = self.text.paths
        source = self.text.line_text(line) if paths is None else ""
        path = "" if paths is None else paths.at(span.start, span.end)
        mistake = Diagnostic(self.text.file, line, column, code, message, advice, source, path)
        if mistake not in self.found:
            self.found.append(mistake)

    @property
    def full(self) -> bool:
        """Whether so much is wrong that further mistakes are not worth finding."""
        return len(self.found) >= MOST_REPORTED

    def noted_at(self, code: str, span: Span) -> bool:
        """Whether a mistake of that code was noted at that place."""
        return (code, self.text.position(span.start)) in {(one.code, (one.line, one.column)) for one in self.found}

    def __bool__(self) -> bool:
        return bool(self.found)
