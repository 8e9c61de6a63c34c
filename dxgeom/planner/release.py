"""The release: the ledger is charged first, then the noise is drawn, once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.intervals import half_widths
from dxgeom.metrics.checking.verification import VerifiedMetric
from dxgeom.planner.amounts import Amount
from dxgeom.planner.charging import Charge, charged_answer
from dxgeom.planner.consistency import ConsistentAnswers, consistent_answers
from dxgeom.universe.queries import LinearQueries

if TYPE_CHECKING:
    from dxgeom.engines.histogram import Histogram
    from dxgeom.ledger.ledger import Ledger


@final
@dataclass(frozen=True, eq=False)
class Offer:
    """What a plan is prepared to release: the queries, the metric they honour, and by which mechanism."""

    metric: VerifiedMetric = field(repr=False)
    queries: LinearQueries = field(repr=False)
    mechanism: AdditiveMechanism
    plan_fingerprint: str


@final
@dataclass(frozen=True, eq=False)
class Release:
    """Private answers and what they cost.

    ``exact_values``: the released numbers as exact rationals; ``values`` (K,) are they in float64. ``records`` and
    ``dropped`` are not noisy: the number of records is public when neighbours replace one record by another, and
    whoever drops rows declares it public too how many lie outside the universe. Both are None where records may be
    absent: then they are private, and nothing here depends on them.
    """

    offer: Offer = field(repr=False)
    exact_values: tuple[Fraction, ...] = field(repr=False)
    spent: Fraction
    remaining: Fraction
    records: int | None
    dropped: int | None
    time: str
    secure: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The queries' names."""
        return self.offer.queries.names

    @property
    def values(self) -> NDArray[np.float64]:
        """(K,): the private answers."""
        return np.array([float(value) for value in self.exact_values])

    @property
    def rmse(self) -> NDArray[np.float64]:
        """(K,): root mean squared error of each answer, at its worst where answers have a known bias."""
        return np.asarray(np.sqrt(self.offer.mechanism.variances(self.spent)))

    @property
    def biases(self) -> NDArray[np.float64]:
        """(K,): how far each answer can be off apart from its noise; 0 unless changed queries were answered."""
        return self.offer.mechanism.biases

    def half_widths(self, level: float = 0.95) -> NDArray[np.float64]:
        """(K,): each answer's error is at most this with probability *at least* ``level``, each on its own."""
        return half_widths(self.offer.mechanism, level, self.spent, self.records)

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """(K, 2): each true answer lies between these with probability *at least* ``level``, each on its own."""
        widths = self.half_widths(level)
        return np.column_stack([self.values - widths, self.values + widths])

    def consistent(
        self,
        *,
        nonnegative: bool = False,
        integers: bool = False,
        totals: Mapping[str, Amount] | None = None,
    ) -> ConsistentAnswers:
        """Answers that agree: the nearest that satisfy every equation the queries imply, and what is asked for here.

        Definition: least Σ (change_k)²/variance_k. The equations are all that hold whatever the records are, given
        their public number: parts and their sum, tables that share cells. An exact answer stays.
        Args: ``nonnegative``: answers with no negative weight are not negative. ``integers``: answers with integer
        weights are integers. ``totals``: answers that are known otherwise, by name; they must be public.
        Guarantee: *exact* in rationals, up to weights rounded to ten bits; never further, in that distance, from any
        truth that satisfies all this, than the release is, unless ``integers`` moved it further. Reads no data: it
        costs no privacy.
        Raises: UnsupportedCombination for an unknown name, or when nothing satisfies all this; TooLarge beyond 300
        answers.
        """
        return consistent_answers(self, nonnegative=nonnegative, integers=integers, totals=totals or {})

    def as_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The release ready for JSON."""
        return {
            "answers": [
                {
                    "name": name,
                    "value": float(value),
                    "exact": str(value),
                    "rmse": float(error),
                    "bias": float(bias),
                    "interval": [float(low), float(high)],
                }
                for name, value, error, bias, (low, high) in zip(
                    self.names, self.exact_values, self.rmse, self.biases, self.intervals(level), strict=True
                )
            ],
            "level": level,
            "spent": str(self.spent),
            "remaining": str(self.remaining),
            "records": self.records,
            "dropped_rows": self.dropped,
            "mechanism": self.offer.mechanism.name,
            "time": self.time,
            "secure_randomness": self.secure,
            "policy": {"title": self.offer.metric.title, "fingerprint": self.offer.metric.fingerprint},
            "queries_fingerprint": self.offer.queries.fingerprint,
            "plan_fingerprint": self.offer.plan_fingerprint,
        }

    def to_json(self, level: float = 0.95) -> str:
        """The release as JSON text."""
        return json.dumps(self.as_dict(level), indent=2, ensure_ascii=False)


def release_answers(
    offer: Offer,
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
    histogram = _histogram(offer, table, outside, count_column)
    public = offer.mechanism.absent is None
    purpose = purpose or f"{len(offer.queries.names)} queries by {offer.mechanism.name}"
    due = Charge(ledger, spend, purpose, offer.plan_fingerprint)
    answers, remaining = charged_answer(offer.mechanism, histogram.counts, due, insecure_test_seed)
    return Release(
        offer=offer,
        exact_values=answers,
        spent=spend,
        remaining=remaining,
        records=histogram.total if public else None,
        dropped=histogram.dropped if public else None,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        secure=insecure_test_seed is None,
    )


def _histogram(offer: Offer, table: Any, outside: Literal["refuse", "drop"], count_column: str | None) -> Histogram:
    from dxgeom.engines.histogram import histogram_of_counts, histogram_of_table

    if isinstance(table, (np.ndarray, list, tuple)):
        return histogram_of_counts(table, offer.queries.size, offer.mechanism.absent)
    if offer.queries.universe is None:
        raise UnsupportedCombination(
            "queries given as a bare matrix do not know how to read a table: pass a histogram array, "
            "or give LinearQueries.from_matrix the universe"
        )
    return histogram_of_table(table, offer.queries.universe, outside=outside, count_column=count_column)
