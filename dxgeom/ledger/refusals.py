"""How a ledger that cannot be used is refused."""

from __future__ import annotations

from typing import Final

from dxgeom.errors import LedgerBusy, LedgerError

RESTORE: Final = "restore it from a copy that is not older than the last release"
"""What to do about a ledger that is damaged."""


def unusable(described: str, reason: str) -> LedgerError:
    """The error that says why a ledger is refused."""
    return LedgerError(f"the ledger {described} cannot be used: {reason}")


def busy(described: str, reason: str) -> LedgerBusy:
    """The error about a ledger that others kept for too long."""
    return LedgerBusy(str(unusable(described, f"{reason}; try again")))


def altered(described: str, what: str) -> LedgerError:
    """The error about a ledger that is not what was written."""
    return unusable(described, f"it was altered: {what}; {RESTORE}")
