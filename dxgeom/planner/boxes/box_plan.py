"""A plan for counts in very many boxes: which noise, along which trees or lines, which error, how near to the best."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.displayed import Displayed
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.boxes.bound import boxes_bound
from dxgeom.mechanisms.linear.boxes.factors import Factor, Path, Tree, trees
from dxgeom.mechanisms.linear.boxes.mechanism import LAPLACE, NORMAL, BoxMechanism
from dxgeom.mechanisms.linear.boxes.promises import line_gaps, promised_of
from dxgeom.mechanisms.linear.boxes.question import BoxQuestion
from dxgeom.mechanisms.linear.boxes.scales import best_scales, block_variances
from dxgeom.metrics.checking.verification import VerifiedMetric, require_verified
from dxgeom.numeric.canonical_digest import canonical_digest
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.answers.box_answers import BoxAnswers, half_widths_of
from dxgeom.planner.options import AUTO
from dxgeom.planner.releases.releasable import Releasable, Releasing
from dxgeom.privacy.currencies import CONCENTRATED
from dxgeom.universe.workloads.box_queries import BoxQueries

_MOST_TREES: Final = 6


@final
@dataclass(frozen=True, eq=False, repr=False)
class BoxPlan(Releasable[BoxAnswers], Displayed):
    """How counts in very many boxes are answered; reusable for many releases, each charged on its own.

    ``losses``: the total squared error at spend 1 of each kind of noise that was tried, by name, rounding left out.
    ``lower_bound``: no additive noise that stretches to every spend has less.
    """

    metric: VerifiedMetric = field(repr=False)
    queries: BoxQueries
    mechanism: BoxMechanism = field(repr=False)
    losses: Mapping[str, float]

    @cached_property
    def lower_bound(self) -> float:
        """By duality on averages of pairs; found when it is asked for."""
        return boxes_bound(self.metric, self.queries, self.mechanism.question.costs)

    @property
    def loss(self) -> float:
        """The total mean squared error of all boxes at spend 1, each times its importance."""
        return self.losses[self.mechanism.name]

    @property
    def gap(self) -> float:
        """The loss over the lower bound."""
        return 1.0 if self.loss == 0 else self.loss / self.lower_bound if self.lower_bound > 0 else math.inf

    @property
    def noise(self) -> Literal["gaussian", "pure"]:
        """What is known of the noise beside the promise, for curves of what many releases tell."""
        return "gaussian" if self.mechanism.name == NORMAL else "pure"

    def rmse(self, spend: Amount = 1) -> NDArray[np.float64]:
        """(K,): root mean squared error of each box, rounding to the lattice included."""
        return np.asarray(np.sqrt(self.mechanism.mean_squares(exact_amount(spend, "spend"))))

    def half_widths(self, level: float = 0.95, spend: Amount = 1) -> NDArray[np.float64]:
        """(K,): each box's error is at most this with probability *at least* ``level``, each on its own."""
        return half_widths_of(self.mechanism, exact_amount(spend, "spend"), level)

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
            "objective": "mse",
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
            for one, factor in zip(self.queries.columns, self.mechanism.factors, strict=True)
        ]
        rows = [f"  {name:<14} total MSE {loss:.6g}" for name, loss in self.losses.items()]
        rows += [] if self.metric.people is None else [f"  {self.metric.people.sentence}"]
        foot = (
            f"no additive noise that stretches to every spend has a total MSE below {self.lower_bound:.6g}: this plan "
        )
        head = f"{self.queries.count:,} boxes: {self.mechanism.name}"
        return [head, *rows, *measured, f"{foot}is within a factor {self.gap:.3g} of it"]


def plan_boxes(metric: VerifiedMetric, queries: BoxQueries, *, mechanism: str = AUTO) -> BoxPlan:
    """Choose how counts in boxes are measured, under any policy whose rules are about single attributes.

    Args: ``mechanism``: "auto", "boxes-laplace" or "boxes-gaussian".
    Guarantee: reads no data; deterministic; what is chosen honours the metric, proved in integers.
    Raises: UnsupportedCombination; TooLarge where the metric is no sum over attributes; CertificateRefused.
    """
    require_verified(metric)
    if metric.universe is None or not metric.universe.lists_the_same_records(queries.universe):
        raise UnsupportedCombination("the queries are about other records than the metric: load both from one policy")
    built = {kind: _best(metric, queries, kind) for kind in _kinds(metric, mechanism)}
    losses = {kind: float(one.variances @ one.question.costs) for kind, one in built.items()}
    taken = min(losses, key=lambda kind: losses[kind])
    return BoxPlan(metric, queries, built[taken], losses)


def _kinds(metric: VerifiedMetric, mechanism: str) -> tuple[str, ...]:
    if mechanism not in (AUTO, NORMAL, LAPLACE):
        raise UnsupportedCombination(
            f"very many boxes are answered by {LAPLACE} or {NORMAL}, and '{mechanism}' needs their weights laid out: "
            "ask for them as dx.LinearQueries.boxes"
        )
    if mechanism == NORMAL and metric.privacy != CONCENTRATED:
        raise UnsupportedCombination("Gaussian noise bounds no odds: it serves policies with 'privacy: concentrated'")
    if mechanism != AUTO:
        return (mechanism,)
    return (NORMAL,) if metric.privacy == CONCENTRATED else (LAPLACE,)


def _best(metric: VerifiedMetric, queries: BoxQueries, kind: str) -> BoxMechanism:
    """One attribute after the other is measured in the way that is best, the others as they are."""
    gaps = line_gaps(metric, queries)
    ways: list[tuple[Factor, ...]] = [
        ((Path(size),) if line is not None else ()) + trees(size)[:_MOST_TREES]
        for size, line in zip(queries.sizes, gaps, strict=True)
    ]
    taken: list[Factor] = [own[0] if isinstance(own[0], Path) else Tree(own[0].size, (own[0].size,)) for own in ways]
    least, scales = _tried(metric, queries, tuple(taken), kind)
    for place, own in enumerate(ways):
        for factor in own:
            if factor == taken[place]:
                continue
            other = [*taken[:place], factor, *taken[place + 1 :]]
            loss, found = _tried(metric, queries, tuple(other), kind)
            if loss < least:
                least, scales, taken = loss, found, other
    if not math.isfinite(least):
        raise TooLarge("these boxes are measured in too many blocks: ask for fewer, or of fewer attributes each")
    return BoxMechanism(kind, metric, queries, tuple(taken), scales)


def _tried(
    metric: VerifiedMetric, queries: BoxQueries, factors: Sequence[Factor], kind: str
) -> tuple[float, NDArray[np.float64]]:
    """The loss and the scales; infinite where there would be too many blocks."""
    question = BoxQuestion(queries, tuple(factors), promised_of(metric, queries, factors), kind == NORMAL)
    try:
        scales = best_scales(question)
    except TooLarge:
        return math.inf, np.zeros(0)
    return float(question.weights @ block_variances(question, scales)), scales


def _in_words(factor: Factor) -> str:
    if isinstance(factor, Tree):
        return f"in a tree that splits by {', '.join(map(str, factor.radices))}"
    return "cut by cut along its line"
