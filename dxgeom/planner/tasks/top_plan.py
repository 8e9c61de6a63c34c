"""A plan of the best few candidates: which, by which law, and how far from the best for its place each can be."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, cast, final

from dxgeom.mechanisms.selection.top import TopSelection, top_selection
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.noisy_maximum import SelectionLaw
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount
from dxgeom.planner.releases.releasable import Releasable, Releasing
from dxgeom.planner.tasks.selected_few import SelectedFew
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.asked import SelectTask


@final
@dataclass(frozen=True, eq=False, repr=False)
class TopPlan(Releasable[SelectedFew]):
    """How the best few of several candidates are selected. ``records``: their public number, None where nobody says."""

    asked: SelectTask
    mechanism: TopSelection = field(repr=False)
    records: int | None

    @property
    def queries(self) -> LinearQueries:
        return self.asked.candidates

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("plan of the best few", self.mechanism.fingerprint, self.asked.fingerprint)

    def _releasing(self) -> Releasing[SelectedFew]:
        labels = self.asked.each_label
        names = self.asked.candidates.names
        by_length = sorted(range(len(labels)), key=lambda place: -len(labels[place]) - len(names[place]))
        longest = tuple(by_length[: self.mechanism.picks])
        purpose = f"the best {self.mechanism.picks} of {len(labels)} candidates by {self.mechanism.law}"
        return Releasing(self.mechanism, purpose, self._said, longest, self.records)

    def _said(self, places: tuple[int, ...], spend: Fraction, records: int | None) -> SelectedFew:
        del records
        return SelectedFew(self.asked, self.mechanism, places, spend)

    def statements(self, spend: Amount | None = None, level: float = 0.95) -> tuple[str, ...]:
        below = self.mechanism.shortfall(level, self.spend_of_figures(spend))
        return (
            f"proved: with probability {level:g}, for every place at once, the score of the one picked is less than "
            f"{below:.4g} below the best for that place; picked one after the other by {self.mechanism.law}, at equal "
            "shares",
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.asked.word,
            "candidates": list(self.asked.each_label),
            "top": self.mechanism.picks,
            "law": self.mechanism.law,
            "fingerprint": self.fingerprint,
        }


def plan_top(metric: VerifiedMetric, asked: SelectTask, records: int | None) -> TopPlan:
    """The plan of the best few. Raises: as :func:`dxgeom.mechanisms.selection.top_selection`."""
    made = top_selection(metric, asked.candidates, asked.picks, cast(SelectionLaw, asked.law))
    return TopPlan(asked, made, records)
