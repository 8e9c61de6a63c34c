"""The whole error tree, on one screen.

Every error a user can cause derives from :class:`DxgeomError`. A message states the rule, what was found,
and what to do about it; the command line prints it without a traceback.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


class DxgeomError(Exception):
    """Root of every error raised on purpose by dxgeom."""


@dataclass(frozen=True, order=True)
class Diagnostic:
    """One mistake in a file: where it is, which rule it breaks, and what to do.

    ``line`` and ``column`` count from 1; ``code`` is stable across versions; ``source`` is the text of the line.
    ``path``: where it is in a policy that was built in Python, such as ``rules[0].epsilon``; else empty.
    """

    file: str
    line: int
    column: int
    code: str
    message: str
    advice: str = ""
    source: str = ""
    path: str = ""

    def __str__(self) -> str:
        place = f"{self.file}: {self.path}" if self.path else f"{self.file}:{self.line}:{self.column}"
        head = f"{place}: {self.code}: {self.message}"
        lines = [head]
        if self.source:
            lines += [f"    {self.source}", "    " + " " * (self.column - 1) + "^"]
        if self.advice:
            lines.append(f"    {self.advice}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The same fields, ready for JSON."""
        return {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "code": self.code,
            "message": self.message,
            "advice": self.advice,
            "source": self.source,
            **({"path": self.path} if self.path else {}),
        }


class FileMistakes(DxgeomError):
    """A file that a person wrote is wrong; carries every mistake found in it, sorted by position."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = sorted(diagnostics)
        super().__init__("\n".join(str(diagnostic) for diagnostic in self.diagnostics))


class PolicyError(FileMistakes):
    """A policy file is wrong."""


class QueryError(FileMistakes):
    """A query file is wrong, or does not fit the policy's universe."""


class PlanError(FileMistakes):
    """A plan file cannot be read, or does not keep what it says; nothing was drawn and nothing spent."""


class PredicateError(DxgeomError):
    """A predicate cannot be read; ``offset`` counts characters from the start of its text."""

    def __init__(self, message: str, offset: int, advice: str = "") -> None:
        self.message, self.offset, self.advice = message, offset, advice
        super().__init__(message if not advice else f"{message} ({advice})")


class NotAMetric(DxgeomError):
    """A claimed distance breaks an axiom; ``witness`` are the records that show it.

    ``broken``: every broken axiom that was looked for, in words, each with the number of entries (for the triangle
    inequality: pairs) that break it.
    """

    def __init__(
        self, message: str, witness: tuple[int, ...], excess: float = 0.0, broken: tuple[tuple[str, int], ...] = ()
    ) -> None:
        self.witness, self.excess, self.broken = witness, excess, broken
        super().__init__(message)


class NotANormBall(DxgeomError):
    """A body is not symmetric, not full-dimensional, or its boundary is not closed."""


class CertificateRefused(DxgeomError):
    """A claim was re-checked in exact arithmetic and does not hold; nothing may rest on it."""


class UnboundedLoss(DxgeomError):
    """The metric forbids any finite noise: a query separates records that must be indistinguishable."""


class TooLarge(DxgeomError):
    """Doing this honestly would exceed a stated limit; the message names the limit and the way out."""


class UnsupportedCombination(DxgeomError):
    """Things that are right on their own do not go together."""


class WrongArgument(UnsupportedCombination, TypeError):
    """An argument is of another kind than what it is for."""


class NotDue(UnsupportedCombination):
    """An instalment that is not due: the plan is not open, or the period is none of its, is not over, or is out of
    turn. Nothing was read or spent."""


class MissingExtra(UnsupportedCombination):
    """What was asked for needs an optional library that is not installed; the message says how to install it."""


class DataError(DxgeomError):
    """The data table cannot be read, or holds rows outside the policy's universe."""


class ArrayError(DataError, ValueError):
    """An array is no table of numbers that an estimator takes: the ValueError that its users expect of one."""


class LedgerError(DxgeomError):
    """The ledger file cannot be used: damaged, locked too long, or opened for another policy."""


class BudgetExceeded(LedgerError):
    """The release would spend more than the policy's budget; nothing was spent."""


class TryAgain(DxgeomError):
    """Something was away or busy; the same may be done in a while. Nothing was drawn, and no more is spent by another
    try than once, where a release has a name of its own."""


class LedgerUnreachable(LedgerError, TryAgain):
    """The server that keeps the ledger cannot be reached, or has not said what became of a commit."""


class LedgerBusy(LedgerError, TryAgain):
    """Others kept the ledger locked for too long; nothing was spent."""


class AlreadyCharged(LedgerError):
    """Something failed after the charge, which counts as spent; the message says where the answer is, if it is stored.

    ``entry``: the ledger's entry; ``stored``: whether it has its answer. Drawing again would need a charge of its own.
    """

    def __init__(self, message: str, entry: int, *, stored: bool = False) -> None:
        self.entry, self.stored = entry, stored
        super().__init__(message)


@contextmanager
def file_errors(path: object, done: str) -> Iterator[None]:
    """Raises: DataError where the system refuses that a file is ``done``, that is read or written."""
    try:
        yield
    except OSError as error:
        raise DataError(f"'{path}' cannot be {done}: {error.strerror or error}") from error
