"""A plan of a small database: how many records it has, and how far off its answers can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, cast, final

from dxgeom.mechanisms.selection.small_databases import SmallDatabase, SmallDatabaseMechanism, small_database
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.noisy_maximum import SelectionLaw
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount
from dxgeom.planner.releases.rehearsal import RECORDS
from dxgeom.planner.releases.releasable import KnownErrors, Releasable, Releasing
from dxgeom.planner.tasks.synthetic_answers import SyntheticAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.asked import DatabaseTask


@final
@dataclass(frozen=True, eq=False, repr=False)
class DatabasePlan(Releasable[SyntheticAnswers]):
    """How a small database is picked. ``records``: the public number of records, None where nobody says."""

    makes_records = True

    asked: DatabaseTask
    mechanism: SmallDatabaseMechanism = field(repr=False)
    records: int | None

    @property
    def queries(self) -> LinearQueries:
        return self.asked.workload

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("plan of a small database", self.mechanism.fingerprint, self.asked.fingerprint)

    def _releasing(self) -> Releasing[SyntheticAnswers]:
        purpose = f"a database of {self.asked.rows} records for {self.asked.workload.count} queries"
        return Releasing(self.mechanism, purpose, self._said, self._blank(self.records or RECORDS), self.records)

    def _blank(self, records: int) -> SmallDatabase:
        return SmallDatabase((0,) * self.asked.rows, records, self.mechanism.queries)

    def _known(self, spend: Fraction, records: int | None) -> KnownErrors:
        number = records or self.records
        if number is None:
            raise Unknown(
                "how far off a small database is grows with the number of records", "half_widths(records=...) takes it"
            ).refusal
        return self._said(self._blank(number), spend, number)

    def _said(self, made: SmallDatabase, spend: Fraction, records: int | None) -> SyntheticAnswers:
        del records
        return SyntheticAnswers(self.asked, made, self.mechanism, spend, self.asked.rows)

    def error_bound(self, spend: Amount | None = None, level: float = 0.95, records: int | None = None) -> float:
        """With probability *at least* ``level`` no answer is further from the truth than this, whatever the data."""
        return self.mechanism.error_bound(records or self.records or RECORDS, level, self.spend_of_figures(spend))

    def statements(self, spend: Amount | None = None, level: float = 0.95) -> tuple[str, ...]:
        number = (
            f"{self.records:,} records" if self.records else f"{RECORDS:,} records (nobody says how many there are)"
        )
        bound = self.error_bound(spend, level)
        return (
            f"proved: with {number} none of {self.asked.workload.count} answers is off by more than {bound:.4g}, with "
            f"probability {level:g} for all at once",
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.asked.word,
            "queries": list(self.asked.workload.names),
            "rows": self.asked.rows,
            "law": self.mechanism.law,
            "databases": self.mechanism.databases,
            "changed_queries": self.mechanism.planned is not None,
            "fingerprint": self.fingerprint,
        }


def plan_database(metric: VerifiedMetric, asked: DatabaseTask, records: int | None) -> DatabasePlan:
    """The plan of a small database. Raises: as :func:`dxgeom.small_database`."""
    law = cast(SelectionLaw, asked.law)
    made = small_database(metric, asked.workload, law=law, records=records, rows=asked.rows)
    return DatabasePlan(asked, made, records)
