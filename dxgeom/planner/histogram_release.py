"""Releasing what a mechanism answers about a histogram: the ledger is charged once, in full, then it is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, Literal, final

import numpy as np

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.histogram_mechanism import Answer, HistogramMechanism
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.charging import charge, randomness_of

if TYPE_CHECKING:
    from dxgeom.engines.histogram import Histogram
    from dxgeom.ledger.ledger import Ledger


@final
@dataclass(frozen=True, eq=False)
class HistogramRelease(Generic[Answer]):
    """A private answer and what it cost.

    ``records`` and ``dropped`` are not noisy: the number of records is public when neighbours replace one record by
    another, and whoever drops rows declares it public too how many lie outside the universe.
    """

    mechanism: HistogramMechanism[Answer] = field(repr=False)
    answer: Answer
    spent: Fraction
    remaining: Fraction
    records: int
    dropped: int
    time: str
    secure: bool


def release_from_histogram(
    mechanism: HistogramMechanism[Answer],
    table: Any,
    *,
    ledger: str | Ledger,
    spend: Amount,
    purpose: str = "",
    outside: Literal["refuse", "drop"] = "refuse",
    count_column: str | None = None,
    insecure_test_seed: int | None = None,
) -> HistogramRelease[Answer]:
    """Charge the ledger with the whole spend, then answer once, in as many rounds as the mechanism takes.

    Args: as those of :meth:`dxgeom.Plan.release`.
    Raises: DataError, TooLarge, UnsupportedCombination before anything is charged; BudgetExceeded, LedgerError without
    anything charged.
    """
    amount = exact_amount(spend, "spend")
    histogram = _histogram(mechanism, table, outside, count_column)
    mechanism.check(histogram.total, amount)
    remaining = charge(
        mechanism.metric,
        ledger,
        amount,
        purpose=purpose or f"one answer by {mechanism.name}",
        plan_fingerprint=mechanism.fingerprint,
    )
    return HistogramRelease(
        mechanism=mechanism,
        answer=mechanism.draw(histogram.counts, amount, randomness_of(insecure_test_seed)),
        spent=amount,
        remaining=remaining,
        records=histogram.total,
        dropped=histogram.dropped,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        secure=insecure_test_seed is None,
    )


def _histogram(
    mechanism: HistogramMechanism[Answer], table: Any, outside: Literal["refuse", "drop"], count_column: str | None
) -> Histogram:
    from dxgeom.engines.histogram import histogram_of_counts, histogram_of_table

    if isinstance(table, (np.ndarray, list, tuple)):
        return histogram_of_counts(table, mechanism.metric.size)
    if mechanism.metric.universe is None:
        raise UnsupportedCombination(
            "a metric given as a bare matrix does not know how to read a table: pass a histogram array, "
            "or give verify_metric the universe"
        )
    return histogram_of_table(table, mechanism.metric.universe, outside=outside, count_column=count_column)
