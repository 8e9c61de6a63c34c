"""What every plan that was read from a file can do: be released at the spend that the file states."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from dxgeom.errors import UnsupportedCombination
from dxgeom.plan_files.aims import the_spend
from dxgeom.plan_files.text.json_text import document_text
from dxgeom.planner.amounts import Amount
from dxgeom.planner.release import Release
from dxgeom.planner.releases.releasable import Releasable
from dxgeom.policy.policy import Policy

if TYPE_CHECKING:
    from dxgeom.ledger.ledger import Ledger

Shown = TypeVar("Shown")


@dataclass(frozen=True, eq=False)
class LoadedReleasable(ABC, Generic[Shown]):
    """A plan that was read from a file: the law that was planned, made anew and proved again.

    ``plan``: the same mechanism and fingerprint as when it was planned. ``spend``: what the file states, None where it
    leaves that open. ``digest``: of the whole file; whoever signs a plan signs this.
    """

    policy: Policy
    plan: Releasable[Shown]
    spend: Fraction | None
    digest: str
    document: BaseModel = field(repr=False)

    @property
    def fingerprint(self) -> str:
        """What ledgers remember its releases by: that of the plan that was written."""
        return self.plan.fingerprint

    @property
    def _least_spend(self) -> Fraction | None:
        """The least spend for the errors that were asked for, None where none were."""
        return None

    def at_spend(self, spend: Amount | None) -> Fraction:
        """The spend of a release: that of the file, or, where it states none, the one given, or the least for the
        errors that were asked for.

        Raises: UnsupportedCombination for none at all, or another than the file's.
        """
        amount = the_spend(spend, self.spend)
        amount = self._least_spend if amount is None else amount
        if amount is None:
            raise UnsupportedCombination("this plan states no spend: say how much of the budget to use, spend=...")
        return amount

    def release(
        self,
        table: Any,
        *,
        ledger: str | Path | Ledger,
        spend: Amount | None = None,
        purpose: str = "",
        outside: Literal["refuse", "drop"] = "refuse",
        count_column: str | None = None,
        quiet_data: bool = False,
        id: str | None = None,
        allotment: str | None = None,
        insecure_test_seed: int | None = None,
    ) -> Release[Shown]:
        """Charge the ledger, then answer once, as the plan's own ``release`` does.

        Args: ``spend``: left out where the file states it. The others are those of :func:`dxgeom.release`.
        Raises: DataError before anything is charged; BudgetExceeded, LedgerError without anything charged.
        """
        return self.plan.release(
            table,
            ledger=ledger,
            spend=self.at_spend(spend),
            purpose=purpose,
            outside=outside,
            count_column=count_column,
            quiet_data=quiet_data,
            id=id,
            allotment=allotment,
            insecure_test_seed=insecure_test_seed,
        )

    def rehearse(self, *, spend: Amount | None = None, records: int | None = None) -> Release[Shown]:
        """A release of made-up records, as the plan's own ``rehearse``; without ``spend`` at the file's."""
        return self.plan.rehearse(spend=self.at_spend(spend), records=records)

    def to_opendp(self, *, ledger: str | Path | Ledger, spend: Amount | None = None, **how: Any) -> Any:
        """The plan as an OpenDP measurement, as the plan's own ``to_opendp``; without ``spend`` at the file's."""
        return self.plan.to_opendp(ledger=ledger, spend=self.at_spend(spend), **how)

    def to_json(self) -> str:
        """The text of the file."""
        return document_text(self.document.model_dump())
