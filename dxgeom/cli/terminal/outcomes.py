"""How a command ended, as an exit code that a scheduler can go by."""

from __future__ import annotations

from enum import IntEnum
from typing import final

from dxgeom.errors import AlreadyCharged, BudgetExceeded, DxgeomError, TryAgain


@final
class Outcome(IntEnum):
    """Exit codes; none ever changes its meaning. Of 1 to 4 nothing was drawn and nothing is told of the data."""

    FINE = 0
    REFUSED = 1
    """The policy, the queries, the table or the ledger is not as it must be: somebody has to mend something."""
    NOT_UNDERSTOOD = 2
    OVER_BUDGET = 3
    """The budget, or an allotment, does not allow it."""
    TRY_AGAIN = 4
    """A server is away, or others kept the ledger locked."""
    STORED = 5
    """Charged and answered, but not shown: the answers are in the ledger."""
    UNANSWERED = 6
    """Charged and not answered: it counts as spent."""
    INTERRUPTED = 130


def outcome_of(error: DxgeomError) -> Outcome:
    """The exit code of a command that an error ended."""
    match error:
        case AlreadyCharged():
            return Outcome.STORED if error.stored else Outcome.UNANSWERED
        case BudgetExceeded():
            return Outcome.OVER_BUDGET
        case TryAgain():
            return Outcome.TRY_AGAIN
        case _:
            return Outcome.REFUSED
