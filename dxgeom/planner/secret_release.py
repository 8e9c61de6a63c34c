"""Releasing an answer about one secret: the ledger is charged first, then the answer is drawn, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Generic, final

from dxgeom.errors import DataError
from dxgeom.mechanisms.secret_mechanism import Answer, SecretMechanism
from dxgeom.planner.charging import charge, randomness_of

if TYPE_CHECKING:
    from dxgeom.ledger.ledger import Ledger


@final
@dataclass(frozen=True, eq=False)
class SecretRelease(Generic[Answer]):
    """A private answer and what it cost."""

    mechanism: SecretMechanism[Answer] = field(repr=False)
    answer: Answer
    spent: Fraction
    remaining: Fraction
    time: str
    secure: bool


def release_secret(
    mechanism: SecretMechanism[Answer],
    secret: int,
    *,
    ledger: str | Ledger,
    purpose: str = "",
    insecure_test_seed: int | None = None,
) -> SecretRelease[Answer]:
    """Charge the ledger with the mechanism's spend, then answer once.

    Args: ``secret``: its index under the mechanism's metric. ``ledger``: path (created when new), ``":memory:"``, or an
    open Ledger.
    Raises: DataError for a secret that the metric does not know, before anything is charged; BudgetExceeded,
    LedgerError without anything charged.
    """
    if not 0 <= secret < mechanism.metric.size:
        raise DataError(f"secrets run from 0 to {mechanism.metric.size - 1:,}; this one is none of them")
    remaining = charge(
        mechanism.metric,
        ledger,
        mechanism.spend,
        purpose=purpose or f"one answer by {mechanism.name}",
        plan_fingerprint=mechanism.fingerprint,
    )
    return SecretRelease(
        mechanism=mechanism,
        answer=mechanism.draw(secret, randomness_of(insecure_test_seed)),
        spent=mechanism.spend,
        remaining=remaining,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        secure=insecure_test_seed is None,
    )
