"""What every plan can do, whatever it asks: be released, and be rehearsed."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, final

from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.planner.amounts import Amount, require_records
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.release import Release
from dxgeom.planner.releases.rehearsal import RECORDS, made_up

if TYPE_CHECKING:
    from dxgeom.ledger.ledger import Ledger

Shown = TypeVar("Shown")


@final
@dataclass(frozen=True, eq=False)
class Releasing(Generic[Shown]):
    """What a plan's release is made of.

    ``purpose``: written into the ledger where whoever releases says none. ``said``: the mechanism's answer, at a spend,
    of so many records or None where that is private, as it is shown. ``blank``: an answer that no data were read for.
    ``records``: how many a rehearsal makes up; None where nothing says. ``taken``: what the release is given, as it is
    to be read; left out, as it is.
    """

    mechanism: Mechanism[Any, Any] = field(repr=False)
    purpose: str
    said: Callable[[Any, Fraction, int | None], Shown] = field(repr=False)
    blank: Any = field(repr=False)
    records: int | None
    taken: Callable[[Any], Any] = field(default=lambda data: data, repr=False)


class Releasable(ABC, Generic[Shown]):
    """A plan: what is answered and how is decided, no data are read yet; reusable, each release charged on its own."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of everything that the answers' law depends on."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """The plan ready for JSON."""

    def to_json(self) -> str:
        """The plan as JSON text."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)

    @abstractmethod
    def _releasing(self) -> Releasing[Shown]:
        """What a release of it is made of."""

    @property
    def releasing(self) -> Releasing[Shown]:
        """What a release of it is made of, for whoever releases several plans as one."""
        return self._releasing()

    def release(
        self,
        table: Any,
        *,
        ledger: str | Path | Ledger,
        spend: Amount,
        purpose: str = "",
        outside: Literal["refuse", "drop"] = "refuse",
        count_column: str | None = None,
        quiet_data: bool = False,
        id: str | None = None,
        allotment: str | None = None,
        insecure_test_seed: int | None = None,
    ) -> Release[Shown]:
        """Charge the ledger, then answer once: :func:`dxgeom.release` of the plan's mechanism.

        Args: ``table``: path to CSV or Parquet, DataFrame, Arrow table, or histogram array. The others are those of
        :func:`dxgeom.release`.
        Raises: DataError before anything is charged; BudgetExceeded, LedgerError without anything charged.
        """
        from dxgeom.planner.releases.answer_once import checked_order, release_as  # a plan alone needs no ledger

        made = self._releasing()
        order = checked_order(
            made.mechanism,
            spend,
            purpose=purpose or made.purpose,
            plan_fingerprint=self.fingerprint,
            id=id,
            allotment=allotment,
        )
        reading = {"outside": outside, "count_column": count_column, "quiet_data": quiet_data}
        return release_as(
            order, made.mechanism, made.said, made.blank, made.taken(table), ledger, insecure_test_seed, **reading
        )

    def require_bars(self, level: float, spend: Fraction, *, joint: bool = False) -> None:
        """Raises: UnsupportedCombination, before anything is charged, for intervals of a level that the answers will
        not have, or that will not hold at once."""
        made = self._releasing()
        blank: Any = made.said(made.blank, spend, made.records)
        _ = blank.document(level, joint=joint)

    def require_agreement(self) -> None:
        """Raises: UnsupportedCombination where answers are not made to agree; TooLarge where they are too many."""
        raise ShownAnswers.not_to_agree.refusal

    def to_opendp(
        self,
        *,
        ledger: str | Path | Ledger,
        spend: Amount,
        purpose: str = "",
        outside: Literal["refuse", "drop"] = "refuse",
        count_column: str | None = None,
        allotment: str | None = None,
    ) -> Any:
        """This plan at a spend as an ``opendp.Measurement``, which releases, and charges the ledger, at each call.

        Guarantee, arguments, errors: those of :func:`dxgeom.planner.releases.opendp_measurement.measurement_of`.
        """
        from dxgeom.planner.releases.opendp_measurement import measurement_of

        return measurement_of(
            self.release,
            self._releasing().mechanism,
            ledger=ledger,
            spend=spend,
            purpose=purpose,
            outside=outside,
            count_column=count_column,
            allotment=allotment,
        )

    def rehearse(self, *, spend: Amount, records: int | None = None) -> Release[Shown]:
        """A release of made-up records, each of any type alike: everything happens but for a ledger. Reads no data.

        Args: ``records``: how many; left out, as many as the plan is for, or else 1,000.
        Raises: as :meth:`release`, for a spend beyond the whole budget too.
        """
        require_records(records)
        rows = self._made_up(records or self._releasing().records or RECORDS)
        return replace(self.release(rows, ledger=":memory:", spend=spend), rehearsal=True)

    def _made_up(self, records: int) -> Any:
        return made_up(self._releasing().mechanism, records)
