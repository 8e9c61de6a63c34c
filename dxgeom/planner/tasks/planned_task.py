"""What the plan of one task can do beside being released: say what it will do, and how well."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Generic, TypeVar

from dxgeom.planner.amounts import Amount
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.plan import Plan
from dxgeom.planner.releases.releasable import Releasable

Shown = TypeVar("Shown", bound=ShownAnswers)


class TaskKindPlan(Releasable[Shown], Generic[Shown]):
    """The plan of a task that is answered in one way only: all of it follows from policy, task and numbers that are
    public, and nothing is searched for but its ``totals``.
    """

    records: int | None
    """The public number of records that statements are for, None where nobody says."""

    @cached_property
    def totals(self) -> Plan | None:
        """The plan of the sums that it is made of, which a search decided; None where nothing was."""
        return None

    @abstractmethod
    def statements(self, spend: Amount | None = None, level: float = 0.95) -> tuple[str, ...]:
        """What holds of its errors at a spend, whatever the data, in sentences."""
