"""The release: the ledger is charged first, then the noise is drawn, once."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError, LedgerError, UnsupportedCombination
from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness, SystemRandomness

if TYPE_CHECKING:
    from dxgeom.engines.histogram import Histogram
    from dxgeom.ledger.ledger import Ledger
    from dxgeom.planner.plan import Plan


@final
@dataclass(frozen=True, eq=False)
class Release:
    """Private answers and what they cost.

    ``exact_values``: the released numbers as exact rationals; ``values`` (K,) are they in float64. ``records`` and
    ``dropped`` are not noisy: the number of records is public when neighbours replace one record by another, and
    whoever drops rows declares it public too how many lie outside the universe.
    """

    names: tuple[str, ...]
    exact_values: tuple[Fraction, ...] = field(repr=False)
    spent: Fraction
    remaining: Fraction
    records: int
    dropped: int
    time: str
    secure: bool
    plan: Plan = field(repr=False)

    @property
    def values(self) -> NDArray[np.float64]:
        """(K,): the private answers."""
        return np.array([float(value) for value in self.exact_values])

    @property
    def rmse(self) -> NDArray[np.float64]:
        """(K,): root mean squared error of each answer."""
        return self.plan.rmse(self.spent)

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """(K, 2): each true answer lies between these with probability *at least* ``level``, each on its own."""
        widths = self.plan.half_widths(level, self.spent, self.records)
        return np.column_stack([self.values - widths, self.values + widths])

    def as_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The release ready for JSON."""
        return {
            "answers": [
                {
                    "name": name,
                    "value": float(value),
                    "exact": str(value),
                    "rmse": float(error),
                    "interval": [float(low), float(high)],
                }
                for name, value, error, (low, high) in zip(
                    self.names, self.exact_values, self.rmse, self.intervals(level), strict=True
                )
            ],
            "level": level,
            "spent": str(self.spent),
            "remaining": str(self.remaining),
            "records": self.records,
            "dropped_rows": self.dropped,
            "mechanism": self.plan.mechanism.name,
            "time": self.time,
            "secure_randomness": self.secure,
            "policy": {"title": self.plan.metric.title, "fingerprint": self.plan.metric.fingerprint},
            "queries_fingerprint": self.plan.queries.fingerprint,
            "plan_fingerprint": self.plan.fingerprint,
        }

    def to_json(self, level: float = 0.95) -> str:
        """The release as JSON text."""
        return json.dumps(self.as_dict(level), indent=2, ensure_ascii=False)


def release_answers(
    plan: Plan,
    table: Any,
    *,
    ledger: str | Ledger,
    spend: Fraction,
    purpose: str,
    outside: Literal["refuse", "drop"],
    count_column: str | None,
    insecure_test_seed: int | None,
) -> Release:
    """See :meth:`Plan.release`. Whatever can go wrong with the data goes wrong before the ledger is charged."""
    histogram = _histogram(plan, table, outside, count_column)
    if plan.queries.records is not None and plan.queries.records != histogram.total:
        raise DataError(
            f"the queries were written for {plan.queries.records:,} records, the table has {histogram.total:,}; "
            "a mean divides by that public number: correct 'records' in the queries"
        )
    plan.mechanism.check_spend(spend)
    remaining = _charge(plan, ledger, spend, purpose)
    answers = plan.mechanism.answer(histogram.counts, _randomness(insecure_test_seed), spend)
    return Release(
        names=plan.queries.names,
        exact_values=answers,
        spent=spend,
        remaining=remaining,
        records=histogram.total,
        dropped=histogram.dropped,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        secure=insecure_test_seed is None,
        plan=plan,
    )


def _histogram(plan: Plan, table: Any, outside: Literal["refuse", "drop"], count_column: str | None) -> Histogram:
    from dxgeom.engines.histogram import histogram_of_counts, histogram_of_table

    if isinstance(table, (np.ndarray, list, tuple)):
        return histogram_of_counts(table, plan.queries.size)
    if plan.queries.universe is None:
        raise UnsupportedCombination(
            "queries given as a bare matrix do not know how to read a table: pass a histogram array, "
            "or give LinearQueries.from_matrix the universe"
        )
    return histogram_of_table(table, plan.queries.universe, outside=outside, count_column=count_column)


def _charge(plan: Plan, ledger: str | Ledger, spend: Fraction, purpose: str) -> Fraction:
    from dxgeom.ledger.ledger import Ledger

    purpose = purpose or f"{len(plan.queries.names)} queries by {plan.mechanism.name}"
    if isinstance(ledger, Ledger):
        promised = (plan.metric.fingerprint, plan.metric.budget)
        if (ledger.account.policy_fingerprint, ledger.account.budget) != promised:
            raise LedgerError("this open ledger belongs to another policy or budget than the plan; nothing was spent")
        return ledger.charge(spend, purpose=purpose, plan_fingerprint=plan.fingerprint).remaining
    with Ledger.open(
        ledger,
        policy_fingerprint=plan.metric.fingerprint,
        policy_name=plan.metric.title,
        budget=plan.metric.budget,
    ) as account:
        return account.charge(spend, purpose=purpose, plan_fingerprint=plan.fingerprint).remaining


def _randomness(insecure_test_seed: int | None) -> Randomness:
    return SystemRandomness() if insecure_test_seed is None else InsecureSeededRandomness(insecure_test_seed)
