"""Synthetic records of an answer that a ledger keeps, once more: nothing is drawn, and nothing is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dxgeom.errors import LedgerError

if TYPE_CHECKING:
    from dxgeom.ledger.history import History

SYNTHESIS, DATABASE = "synthesize", "small_database"
"""The kinds of tasks that make records."""


def kept_records(history: History, number: int, document: Any) -> dict[str, list[Any]]:
    """The records of the one task of an entry that made any, as columns; ``document``: what was stored of the release.

    Raises: LedgerError where there is no such task, or more than one, or the ledger does not know the policy.
    """
    from dxgeom.mechanisms.synthetic.synthetic import whole_counts
    from dxgeom.universe.reading.record_tables import columns_of_records

    task, kept = _task(number, document)
    universe = _policy(history, number).universe
    try:
        if task["kind"] == SYNTHESIS:
            distribution = np.array(kept["distribution"], dtype=np.float64)
            counts = whole_counts(distribution, int(task["rows"]))
        else:
            counts = np.bincount(np.array(kept[1:], dtype=np.int64), minlength=universe.size).astype(np.int64)
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerError(f"the records of entry {number} were stored otherwise; show it as json") from error
    return columns_of_records(universe, counts)


def has_records(document: Any) -> bool:
    """Whether a task of a release made synthetic records."""
    return bool(_makers(document))


def _task(number: int, document: Any) -> tuple[dict[str, Any], Any]:
    """The task that made records, and what was kept of its answer."""
    found = _makers(document)
    if len(found) != 1:
        raise LedgerError(f"entry {number} has {len(found) or 'no'} tasks that made synthetic records; one has to")
    if found[0][0].get("estimate", "weights") != "weights":
        raise LedgerError(
            f"the records of entry {number} were estimated by {found[0][0]['estimate']}, which a ledger does not keep: "
            "release again with the same --id, which costs nothing"
        )
    return found[0]


def _makers(document: Any) -> list[tuple[dict[str, Any], Any]]:
    """The tasks that made records, each with what was kept of its answer."""
    tasks = document.get("tasks") if isinstance(document, dict) else None
    kept = document.get("kept") if isinstance(document, dict) else None
    if tasks is None and isinstance(document, dict) and {"rows", "bounds", "kept"} <= {*document}:
        return [({**document, "kind": SYNTHESIS if isinstance(kept, dict) else DATABASE}, kept)]
    pairs: list[tuple[dict[str, Any], Any]] = []
    if isinstance(tasks, list) and isinstance(kept, list) and len(tasks) == len(kept):
        pairs = list(zip(tasks, kept, strict=True))
    return [(task, one) for task, one in pairs if task.get("kind") in (SYNTHESIS, DATABASE)]


def _policy(history: History, number: int) -> Any:
    from dxgeom.policy.policy import Policy

    account = history.accounts[history.entries[number - 1].account - 1]
    stated = history.documents.get(account.number)
    policy = None if stated is None else Policy.from_stated(stated)
    if policy is None or policy.fingerprint != account.policy_fingerprint:
        raise LedgerError(
            f"the ledger does not know the policy of entry {number}, which says what its records are: release again "
            "with the same --id, which costs nothing"
        )
    return policy
