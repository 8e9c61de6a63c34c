"""A plan of synthetic records by multiplicative weights: rounds or all at once, and what estimates the records."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np

from dxgeom.mechanisms.contract.composition import followed_by
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.mechanisms.synthetic.graphical_model import by_graphical_model, require_whole_marginals
from dxgeom.mechanisms.synthetic.multiplicative_weights import Mwem, mwem
from dxgeom.mechanisms.synthetic.synthetic import LastLook, Measurement, SyntheticHistogram
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount
from dxgeom.planner.releases.rehearsal import RECORDS
from dxgeom.planner.releases.releasable import Releasable, Releasing
from dxgeom.planner.tasks.synthetic_answers import SyntheticAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.asked import SynthesisTask


@final
@dataclass(frozen=True, eq=False, repr=False)
class SynthesisPlan(Releasable[SyntheticAnswers]):
    """How synthetic records are learnt. ``records``: the public number of records, None where nobody says."""

    makes_records = True
    no_errors = Unknown(
        "how far off synthetic records are is proved of what was measured", "it is told with the answers"
    )

    asked: SynthesisTask
    weights: Mwem = field(repr=False)
    records: int | None

    @cached_property
    def mechanism(self) -> Mechanism[Any, SyntheticHistogram]:
        """What is released: the weights, or what a graphical model makes of their measurements."""
        if self.asked.estimate == "weights":
            return self.weights
        return followed_by(self.weights, by_graphical_model, f"mwem, {self.asked.estimate}")

    @property
    def queries(self) -> LinearQueries:
        return self.asked.workload

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("plan of synthetic records", self.mechanism.fingerprint, self.asked.fingerprint)

    def _releasing(self) -> Releasing[SyntheticAnswers]:
        purpose = f"synthetic records for {self.asked.workload.count} queries by {self.mechanism.name}"
        return Releasing(self.mechanism, purpose, self._said, self._blank(), self.records)

    def _said(self, made: SyntheticHistogram, spend: Fraction, records: int | None) -> SyntheticAnswers:
        del records
        rows = made.records if self.asked.rows is None else self.asked.rows
        return SyntheticAnswers(self.asked, made, None, spend, rows, self.asked.estimate)

    def _blank(self) -> SyntheticHistogram:
        """A histogram that was made of nothing: the public start, and one measurement of no query of the data."""
        name, count = self.asked.workload.names[0], self.asked.workload.count
        nothing = Measurement(0, True, 0, name, Fraction(0), 1.0, Fraction(1), 0.0)
        look = LastLook(np.zeros(count), 1.0)
        return SyntheticHistogram(self.weights.start, self.weights.asked, self.records or RECORDS, (nothing,), look)

    def rounds_at(self, spend: Amount | None = None, records: int | None = None) -> int:
        """The rounds at a spend, 0 where everything is measured at once; reads no data."""
        return self.weights.rounds_for(records or self.records or RECORDS, self.spend_of_figures(spend))

    def statements(self, spend: Amount | None = None, level: float = 0.95) -> tuple[str, ...]:
        rounds = self.rounds_at(spend)
        number = (
            f"{self.records:,} records" if self.records else f"{RECORDS:,} records (nobody says how many there are)"
        )
        how = f"in {rounds} rounds" if rounds else "all at once"
        return (
            f"with {number}, {self.asked.workload.count} queries are measured {how}; how far off each answer can be, "
            f"with probability {level:g} for all at once, is proved of what was measured and told beside it",
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.asked.word,
            "queries": list(self.asked.workload.names),
            "rounds": self.asked.rounds,
            "rows": self.asked.rows,
            "estimate": self.asked.estimate,
            "mechanism": self.mechanism.name,
            "fingerprint": self.fingerprint,
        }


def plan_synthesis(metric: VerifiedMetric, asked: SynthesisTask, records: int | None) -> SynthesisPlan:
    """The plan of synthetic records.

    Raises: as :func:`dxgeom.mwem`; UnsupportedCombination, MissingExtra where a graphical model cannot be estimated.
    """
    weights = mwem(metric, asked.workload, rounds=asked.rounds)
    if asked.estimate == "mbi":
        require_whole_marginals(weights.asked)
    return SynthesisPlan(asked, weights, records)
