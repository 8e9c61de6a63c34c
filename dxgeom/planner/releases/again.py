"""The release of a ledger's entry again, by the plan that it was made by."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dxgeom.arguments import require
from dxgeom.errors import LedgerError
from dxgeom.ledger.history import read_answer, read_ledger
from dxgeom.planner.release import Release
from dxgeom.planner.releases.answer_once import repeated
from dxgeom.planner.releases.paying import Earlier, receipt_of
from dxgeom.planner.releases.stored_form import read_stored

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan


def release_of_entry(plan: Plan, ledger: str | Path, number: int) -> Release[Any]:
    """See :meth:`dxgeom.planner.plan.Plan.release_again`."""
    require(ledger, (str, os.PathLike), "ledger", "name the file of a ledger")
    answer = read_answer(ledger, number)
    history = read_ledger(ledger)
    entry = history.entries[number - 1]
    policy = plan.mechanism.account.policy_fingerprint
    found = (entry.plan_fingerprint, history.account_of(entry).policy_fingerprint)
    if found != (plan.fingerprint, policy):
        what, its, this = ("policy", found[1], policy) if found[1] != policy else ("plan", found[0], plan.fingerprint)
        raise LedgerError(
            f"entry {number} is of another {what} than this: its {what} is {its}, this one {this}; give the plan that "
            "it was released by"
        )
    if answer is None:
        raise LedgerError(f"entry {number} was charged and not answered, so there is nothing to show again")
    kept = history.answers[number].seal
    earlier = Earlier(read_stored(answer, number), receipt_of(str(ledger), entry, kept))
    present = partial(plan.kind.answers, plan)
    return repeated(plan.mechanism, present, entry.spend, plan.fingerprint, earlier)
