"""Where a release is written down, and what to tell whoever has lost sight of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True)
class ReleaseReceipt:
    """The entry of a ledger that a release was charged to and is stored under.

    ``ledger``: the ledger's file; ``seal``: that of the ledger once the answer was stored, which proves the release
    later (``dxgeom ledger verify --seal entry:seal``). ``waiting``: why the answer lies beside the ledger for now, None
    when it is in it; the seal is then that of the charge. ``warning``: what to know of a ledger that is new, or that
    has several accounts for the same data; None of any other.
    """

    ledger: str
    entry: int
    seal: str
    waiting: str | None = None
    warning: str | None = None

    @property
    def command(self) -> str:
        """What shows the answers again, at no cost."""
        return shown_again_by(self.ledger, self.entry)

    def as_dict(self) -> dict[str, Any]:
        """The booking ready for JSON."""
        return {"file": self.ledger, **self.public_dict(), **({"warning": self.warning} if self.warning else {})}

    def public_dict(self) -> dict[str, Any]:
        """The same without the file: by entry and seal an auditor can ask for the entry."""
        return {"entry": self.entry, "seal": self.seal}


def shown_again_by(ledger: str, entry: int) -> str:
    """The command that shows an entry's answers."""
    return f"dxgeom ledger show {shlex.quote(ledger)} --entry {entry}"
