"""A plan of a selection: which candidates, which law, and how far from the best one may be picked."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, cast, final

from dxgeom.mechanisms.selection.selections import Selection, selection
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.noisy_maximum import SelectionLaw
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount
from dxgeom.planner.releases.releasable import Releasable, Releasing
from dxgeom.planner.tasks.selected import SelectedCandidate
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.asked import SelectTask


@final
@dataclass(frozen=True, eq=False, repr=False)
class SelectionPlan(Releasable[SelectedCandidate]):
    """How the best of several candidates is selected. ``records``: their public number, None where nobody says."""

    asked: SelectTask
    mechanism: Selection = field(repr=False)
    records: int | None

    @property
    def queries(self) -> LinearQueries:
        return self.asked.candidates

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("plan of a selection", self.mechanism.fingerprint, self.asked.fingerprint)

    def _releasing(self) -> Releasing[SelectedCandidate]:
        labels = self.asked.each_label
        longest = max(
            range(len(labels)), key=lambda place: len(labels[place]) + len(self.asked.candidates.names[place])
        )
        purpose = f"the best of {len(labels)} candidates by {self.mechanism.name}"
        return Releasing(self.mechanism, purpose, self._said, longest, self.records)

    def _said(self, place: int, spend: Fraction, records: int | None) -> SelectedCandidate:
        del records
        return SelectedCandidate(self.asked, self.mechanism, place, spend)

    def statements(self, spend: Amount | None = None, level: float = 0.95) -> tuple[str, ...]:
        amount = self.spend_of_figures(spend)
        below, expected = self.mechanism.shortfall(level, amount), self.mechanism.expected_shortfall(amount)
        proved = (
            f"proved: with probability {level:g} the score of the one picked is less than {below:.4g} below the best, "
            f"on average less than {expected:.4g}"
        )
        change = self.mechanism.change
        if change is None:
            return (proved,)
        bias = f"{float(change.bias):.4g}"
        return (
            proved,
            f"picked by other scores than asked for, which need less noise, for {change.records:,} records; leads are "
            f"off by at most {bias}, which is part of that",
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.asked.word,
            "candidates": list(self.asked.each_label),
            "law": self.mechanism.name,
            "changed_scores": self.mechanism.change is not None,
            "fingerprint": self.fingerprint,
        }


def plan_selection(metric: VerifiedMetric, asked: SelectTask, records: int | None) -> SelectionPlan:
    """The plan of a selection. Raises: as :func:`dxgeom.selection`."""
    made = selection(metric, asked.candidates, cast(SelectionLaw, asked.law), records=records)
    return SelectionPlan(asked, made, records)
