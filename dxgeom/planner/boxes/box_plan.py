"""A plan for counts in very many boxes: which noise, along which trees or lines, which error, how near to the best."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.displayed import Displayed
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.boxes.bound import boxes_bound, worst_alone
from dxgeom.mechanisms.linear.boxes.factors import Factor, Tree
from dxgeom.mechanisms.linear.boxes.mechanism import BoxMechanism
from dxgeom.metrics.checking.verification import VerifiedMetric
from dxgeom.numeric.canonical_digest import canonical_digest
from dxgeom.planner.amounts import Amount, exact_amount, spend_for
from dxgeom.planner.answers.box_answers import BoxAnswers, half_widths_of
from dxgeom.planner.releases.releasable import Releasable, Releasing
from dxgeom.universe.workloads.box_queries import BoxQueries


@final
@dataclass(frozen=True, eq=False, repr=False)
class BoxPlan(Releasable[BoxAnswers], Displayed):
    """How counts in very many boxes are answered; reusable for many releases, each charged on its own.

    ``losses``: the objective at spend 1 of each kind of noise that was tried, by name, rounding left out.
    ``lower_bound``: no additive noise that stretches to every spend has less. ``pressed`` (K,): how much each box
    counts in it where the worst of all errors was made small; None where the plan is from a file.
    """

    metric: VerifiedMetric = field(repr=False)
    queries: BoxQueries
    mechanism: BoxMechanism = field(repr=False)
    losses: Mapping[str, float]
    objective: Literal["mse", "max"] = "mse"
    pressed: NDArray[np.float64] | None = field(default=None, repr=False)

    @cached_property
    def lower_bound(self) -> float:
        """By duality on averages of pairs; found when it is asked for."""
        costs = self.mechanism.question.costs
        if self.objective == "mse":
            return boxes_bound(self.metric, self.queries, costs)
        alone = worst_alone(self.metric, self.queries, costs)
        if self.pressed is None:
            return alone
        return max(alone, boxes_bound(self.metric, self.queries, costs * self.pressed / self.pressed.sum()))

    @property
    def loss(self) -> float:
        """The objective at spend 1: the total mean squared error, each box's times its importance, or the worst."""
        return self.losses[self.mechanism.name]

    @property
    def predicted_mse(self) -> float:
        """Total mean squared error over all boxes at spend 1, lattice rounding included."""
        return float(self.mechanism.mean_squares(Fraction(1)).sum())

    @property
    def gap(self) -> float:
        """The loss over the lower bound."""
        return 1.0 if self.loss == 0 else self.loss / self.lower_bound if self.lower_bound > 0 else math.inf

    @property
    def noise(self) -> Literal["gaussian", "pure"]:
        """What is known of the noise beside the promise, for curves of what many releases tell."""
        return "gaussian" if self.mechanism.normal else "pure"

    def rmse(self, spend: Amount = 1) -> NDArray[np.float64]:
        """(K,): root mean squared error of each box, rounding to the lattice included."""
        return np.asarray(np.sqrt(self.mechanism.mean_squares(exact_amount(spend, "spend"))))

    def half_widths(self, level: float = 0.95, spend: Amount = 1) -> NDArray[np.float64]:
        """(K,): each box's error is at most this with probability *at least* ``level``, each on its own."""
        return half_widths_of(self.mechanism, exact_amount(spend, "spend"), level)

    @property
    def least_spend(self) -> Fraction:
        """The smallest spend, rounded up to six digits, at which every count has the error that was asked for.

        Raises: UnsupportedCombination when none was, or rounding to the lattice alone is more.
        """
        if not any(self.queries.errors):
            raise UnsupportedCombination("the least spend is for boxes that were asked for with certain 'errors'")
        wanted = np.array([math.inf if one is None else float(one) for one in self.queries.errors])
        return spend_for(self.mechanism.variances, wanted, self.mechanism.rounding_part)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything that the answers' law depends on."""
        return canonical_digest("plan of boxes", self.mechanism.fingerprint)

    def _releasing(self) -> Releasing[BoxAnswers]:
        purpose = f"{self.queries.count:,} counts in boxes by {self.mechanism.name}"
        blank = (0.0,) * self.queries.count
        return Releasing(self.mechanism, purpose, self._said, blank, self.queries.records)

    def _said(self, answer: tuple[float, ...], spend: Fraction, records: int | None) -> BoxAnswers:
        return BoxAnswers(self.mechanism, np.array(answer), spend, records)

    def as_dict(self) -> dict[str, Any]:
        """The plan ready for JSON."""
        return {
            "metric": {"title": self.metric.title, "fingerprint": self.metric.fingerprint},
            "objective": self.objective,
            "boxes": self.queries.count,
            "mechanism": self.mechanism.name,
            "measured": list(map(_in_words, self.mechanism.factors)),
            "losses": dict(self.losses),
            "lower_bound": self.lower_bound,
            "fingerprint": self.fingerprint,
        }

    def to_json(self) -> str:
        """The plan as JSON text."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)

    def lines(self) -> list[str]:
        """The plan for a reader."""
        measured = [
            f"  {one.title} {_in_words(factor)}"
            for one, factor in zip(self.mechanism.told.columns, self.mechanism.factors, strict=True)
        ]
        title = {"mse": "total MSE", "max": "worst MSE"}[self.objective]
        rows = [f"  {name:<14} {title} {loss:.6g}" for name, loss in self.losses.items()]
        rows += [] if self.metric.people is None else [f"  {self.metric.people.sentence}"]
        head = f"{self.queries.count:,} boxes: {self.mechanism.name}"
        if not self.lower_bound > 0:
            return [head, *rows, *measured]
        foot = f"no additive noise that stretches to every spend has a {title} below {self.lower_bound:.6g}: this plan "
        return [head, *rows, *measured, f"{foot}is within a factor {self.gap:.3g} of it"]


def loss_of(mechanism: BoxMechanism, worst: bool) -> float:
    """The total of all squared errors at spend 1, each times its cost, or the worst of them."""
    errors = mechanism.variances * mechanism.question.costs
    return float(errors.max() if worst else errors.sum())


def _in_words(factor: Factor) -> str:
    if isinstance(factor, Tree):
        return f"in a tree that splits by {', '.join(map(str, factor.radices))}"
    return "cut by cut along its line"
