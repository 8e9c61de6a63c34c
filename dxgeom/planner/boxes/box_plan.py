"""A plan for counts in very many boxes: which noise, along which trees or lines, which error, how near to the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.parts.box_bound import boxes_bound, worst_alone
from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.mechanisms.parts.factors import Factor, Tree
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.answers.box_answers import BoxAnswers
from dxgeom.planner.candidates import CandidateResult
from dxgeom.planner.releases.releasable import Releasing
from dxgeom.planner.releases.structured_plan import StructuredPlan
from dxgeom.privacy.currencies import PURE
from dxgeom.universe.workloads.box_queries import BoxQueries


@final
@dataclass(frozen=True, eq=False, repr=False)
class BoxPlan(StructuredPlan[BoxAnswers]):
    """How counts in very many boxes are answered; reusable for many releases, each charged on its own.

    Fields: those of :class:`StructuredPlan`. ``pressed`` (K,): how much each box counts in the lower bound where the
    worst of all errors was made small; None where the plan is from a file. ``others``: what became of other noise that
    was looked at.
    """

    asked, one, counted = "boxes", "box", "count"
    digest_title = "boxes"

    metric: VerifiedMetric = field(repr=False)
    queries: BoxQueries = field()
    mechanism: BoxMechanism = field(repr=False)
    losses: Mapping[str, float]
    objective: Literal["mse", "max"] = "mse"
    pressed: NDArray[np.float64] | None = field(default=None, repr=False)
    others: tuple[CandidateResult, ...] = field(default=(), repr=False)

    @cached_property
    def lower_bound(self) -> float:
        """By duality on averages of pairs, and for pure privacy by volumes along random directions, up to a chance of
        10⁻⁹ in drawing these; found when it is asked for."""
        costs = self.mechanism.question.costs
        if self.objective == "mse":
            return boxes_bound(self.metric, self.queries, costs)
        alone = worst_alone(self.metric, self.queries, costs)
        if self.pressed is None:
            return alone
        return max(alone, boxes_bound(self.metric, self.queries, costs * self.pressed / self.pressed.sum()))

    @property
    def _errors(self) -> tuple[Fraction | None, ...]:
        return self.queries.errors

    def _releasing(self) -> Releasing[BoxAnswers]:
        purpose = f"{self.queries.count:,} counts in boxes by {self.mechanism.name}"
        blank = (0.0,) * self.queries.count
        return Releasing(self.mechanism, purpose, self._said, blank, self.queries.records)

    def _said(self, answer: tuple[float, ...], spend: Fraction, records: int | None) -> BoxAnswers:
        return BoxAnswers(self.mechanism, np.array(answer), spend, records)

    def _counted(self) -> dict[str, Any]:
        return {
            "boxes": self.queries.count,
            "mechanism": self.mechanism.name,
            "measured": list(map(_in_words, self.mechanism.factors)),
        }

    def lines(self) -> list[str]:
        measured = [
            f"  {one.title} {_in_words(factor)}"
            for one, factor in zip(self.mechanism.told.columns, self.mechanism.factors, strict=True)
        ]
        lines = self._compared(f"{self.queries.count:,} boxes: {self.mechanism.name}", measured)
        drawn = self.metric.privacy == PURE and self.lower_bound > 0
        return [*lines, *(["where the bound draws directions: it holds but for a chance of 1e-9"] if drawn else [])]


def loss_of(mechanism: BoxMechanism, worst: bool) -> float:
    """The total of all squared errors at spend 1, each times its cost, or the worst of them."""
    errors = mechanism.variances * mechanism.question.costs
    return float(errors.max() if worst else errors.sum())


def _in_words(factor: Factor) -> str:
    if isinstance(factor, Tree):
        return f"in a tree that splits by {', '.join(map(str, factor.radices))}"
    return "cut by cut along its line"
