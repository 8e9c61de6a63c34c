"""Releasing what any mechanism answers: the ledger is charged first, then the answer is drawn, once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.contract.composition import histogram_readers
from dxgeom.mechanisms.contract.histogram_mechanism import HistogramMechanism
from dxgeom.mechanisms.contract.mechanism import Answer, Data, Mechanism
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.charging import Charge, charged_answer

if TYPE_CHECKING:
    from dxgeom.engines.histogram import Histogram
    from dxgeom.ledger.ledger import Ledger


@final
@dataclass(frozen=True, eq=False)
class MechanismRelease(Generic[Answer]):
    """A private answer and what it cost.

    ``records`` and ``dropped`` are None unless a table was read whose number of records is public; they are not noisy:
    whoever drops rows declares public, too, how many lie outside the universe.
    """

    mechanism: Mechanism[Any, Answer] = field(repr=False)
    answer: Answer
    spent: Fraction
    remaining: Fraction
    records: int | None
    dropped: int | None
    time: str
    secure: bool

    def as_dict(self) -> dict[str, Any]:
        """The release ready for JSON."""
        account = self.mechanism.account
        return {
            "answer": _plain(self.answer),
            "spent": str(self.spent),
            "remaining": str(self.remaining),
            "records": self.records,
            "dropped_rows": self.dropped,
            "mechanism": self.mechanism.name,
            "time": self.time,
            "secure_randomness": self.secure,
            "policy": {"title": account.policy_name, "fingerprint": account.policy_fingerprint},
            "plan_fingerprint": self.mechanism.fingerprint,
        }

    def to_json(self) -> str:
        """The release as JSON text."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)


def release_answer(
    mechanism: Mechanism[Data, Answer],
    data: Data,
    *,
    ledger: str | Ledger,
    spend: Amount | None = None,
    purpose: str = "",
    insecure_test_seed: int | None = None,
) -> MechanismRelease[Answer]:
    """Charge the ledger with the whole spend, then answer once, in as many rounds as the mechanism takes.

    Args: ``data``: what the mechanism reads. ``ledger``: path (created when new), ``":memory:"``, or an open Ledger.
    ``spend``: left out for a mechanism that was made for one spend.
    Raises: DataError, TooLarge, UnsupportedCombination before anything is charged; BudgetExceeded, LedgerError without
    anything charged.
    """
    amount = _amount(mechanism, spend)
    due = Charge(ledger, amount, purpose or f"one answer by {mechanism.name}", mechanism.fingerprint)
    answer, remaining = charged_answer(mechanism, data, due, insecure_test_seed)
    return MechanismRelease(
        mechanism=mechanism,
        answer=answer,
        spent=amount,
        remaining=remaining,
        records=None,
        dropped=None,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        secure=insecure_test_seed is None,
    )


def release_from_histogram(
    mechanism: Mechanism[NDArray[np.int64], Answer],
    table: Any,
    *,
    ledger: str | Ledger,
    spend: Amount | None = None,
    purpose: str = "",
    outside: Literal["refuse", "drop"] = "refuse",
    count_column: str | None = None,
    insecure_test_seed: int | None = None,
) -> MechanismRelease[Answer]:
    """Read a table, and then as :func:`release_answer`; also for sequences, and what functions make of answers.

    Args: as those of :meth:`dxgeom.Plan.release`.
    """
    _amount(mechanism, spend)
    readers = histogram_readers(mechanism)
    histogram = _histogram(readers, table, outside, count_column)
    release = release_answer(
        mechanism,
        histogram.counts,
        ledger=ledger,
        spend=spend,
        purpose=purpose,
        insecure_test_seed=insecure_test_seed,
    )
    if any(reader.absent is not None for reader in readers):
        return release
    return replace(release, records=histogram.total, dropped=histogram.dropped)


def _amount(mechanism: Mechanism[Any, Any], spend: Amount | None) -> Fraction:
    if spend is not None:
        return exact_amount(spend, "spend")
    if mechanism.only_spend is None:
        raise UnsupportedCombination(f"{mechanism.name} serves any spend: say how much of the budget to use, spend=...")
    return mechanism.only_spend


def _histogram(
    readers: Sequence[HistogramMechanism[Any]],
    table: Any,
    outside: Literal["refuse", "drop"],
    count_column: str | None,
) -> Histogram:
    from dxgeom.engines.histogram import histogram_of_counts, histogram_of_table

    metric = readers[0].metric
    if isinstance(table, (np.ndarray, list, tuple)):
        absent = next((reader.absent for reader in readers if reader.absent is not None), None)
        return histogram_of_counts(table, metric.size, absent)
    if metric.universe is None:
        raise UnsupportedCombination(
            "a metric given as a bare matrix does not know how to read a table: pass a histogram array, "
            "or give verify_metric the universe"
        )
    return histogram_of_table(table, metric.universe, outside=outside, count_column=count_column)


def _plain(answer: Any) -> Any:
    """Numbers, text, lists of them and what has names, as JSON has them; exact rationals as text beside their float."""
    match answer:
        case None | bool() | int() | float() | str():
            return answer
        case Fraction():
            return {"value": float(answer), "exact": str(answer)}
        case tuple() | list():
            return [_plain(part) for part in answer]
        case dict():
            return {str(name): _plain(part) for name, part in answer.items()}
        case np.ndarray() | np.generic():
            return answer.tolist()
        case _ if hasattr(answer, "as_dict"):
            return answer.as_dict()
        case _:
            raise UnsupportedCombination(f"an answer of type {type(answer).__name__} has no form in JSON")
