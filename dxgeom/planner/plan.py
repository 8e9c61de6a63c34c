"""A plan: which mechanism, which error, and how far from the best possible, before any data is read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.amounts import Amount, require_records
from dxgeom.planner.answers.error_bars import ErrorBars
from dxgeom.planner.answers.linear_answers import LinearAnswers
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.currencies import CurrencyComparison, compared_currencies
from dxgeom.planner.objectives.objective import Objective, UnitError, unit_errors
from dxgeom.planner.objectives.usefulness import UselessAnswer, useless_answers
from dxgeom.planner.releases.releasable import Releasable, Releasing
from dxgeom.planner.words import (
    acceptance_lines,
    acceptance_of,
    bound_in_words,
    currency_lines,
    each_query,
    of_currency,
    reason_of,
    row_of,
    search_lines,
    search_of,
)
from dxgeom.universe.people.people import people_in_words
from dxgeom.universe.queries import LinearQueries


@final
@dataclass(frozen=True, eq=False, repr=False)
class Plan(Releasable[LinearAnswers]):
    """The chosen mechanism with its exact error; reusable for many releases, each charged on its own.

    At spend s the noise is 1/s as wide as at 1, its mean squared error 1/s² as large. In plans from files nothing else
    was tried: they list no candidates, and their lower bound is 0.
    ``comparison``: what else was considered. ``records``: their public number, where it was stated.
    """

    answers_a_list = True

    metric: VerifiedMetric = field(repr=False)
    queries: LinearQueries = field(repr=False)
    objective: Objective = field()
    mechanism: AdditiveMechanism = field()
    comparison: CandidateComparison = field()
    records: int | None = None

    @property
    def lower_bound(self) -> float:
        """Of all noise added to the exact answers that honours the metric and, stretched by 1/s, s times the metric for
        every spend s ≤ 1 as this plan's does, none has a smaller loss at spend 1; 0 where nothing is known.

        Answers to changed queries, with a known bias, may have one: their loss is the worst over all data of the stated
        number of records, each answer's on its own. Where a mechanism was named it is searched for when it is asked.
        """
        return self.comparison.lower_bound

    def as_it_is(self) -> Plan:
        return replace(self, comparison=replace(self.comparison, accepted=True))

    @property
    def predicted_mse(self) -> float:
        """Total mean squared error over the queries at spend 1, lattice rounding included."""
        return float(self.mechanism.variances().sum())

    @property
    def loss(self) -> float:
        """The objective at spend 1: the total mean squared error, unless another was asked for."""
        return self.objective.loss(self.mechanism.variances())

    @property
    def covariance_gap(self) -> float | None:
        if self.mechanism.law is None or not self.mechanism.law.normal or self.lower_bound <= 0:
            return None
        return max(0.0, self.objective.loss(self.mechanism.ideal_variances) / self.lower_bound - 1)

    @property
    def noise(self) -> Literal["gaussian", "pure"] | None:
        law = self.mechanism.law
        if law is None or not law.concentrated:
            return "pure"
        return "gaussian" if law.normal else None

    @cached_property
    def bounds(self) -> Mapping[str, float]:
        """What the objective cannot be below at spend 1, by name: see ``bounds_of``."""
        from dxgeom.planner.objectives.bounds import bounds_of

        return bounds_of(self.mechanism.sensitivity, self.objective, self.lower_bound)

    @cached_property
    def currencies(self) -> CurrencyComparison | None:
        return compared_currencies(self.candidates)

    @property
    def rounding_biases(self) -> NDArray[np.float64]:
        return self.bars().rounding

    def bars(self, spend: Amount | None = None, records: int | None = None) -> ErrorBars:
        require_records(records)
        return self._known(self.spend_of_figures(spend), records)

    def _known(self, spend: Fraction, records: int | None) -> ErrorBars:
        return ErrorBars(self.queries, self.mechanism, spend, self.records if records is None else records)

    @property
    def bound_in_words(self) -> str:
        return bound_in_words(self)

    @property
    def bias_in_words(self) -> str | None:
        if self.mechanism.change is None:
            return None
        biases = self.mechanism.biases
        worst = int(np.argmax(biases))
        return (
            f"answers are to changed queries: with {self.mechanism.change.records:,} records none is further off than "
            f"{biases[worst]:.4g} ('{self.queries.names[worst]}') apart from noise; errors are the worst over all "
            "such data"
        )

    @property
    def biases_in_words(self) -> list[str]:
        return [*([] if self.bias_in_words is None else [self.bias_in_words]), *self.bars().in_words()]

    @property
    def wants_errors(self) -> bool:
        return self.objective.wanted is not None

    @property
    def least_spend(self) -> Fraction:
        """The smallest spend, rounded up to six digits, at which every answer has the error that was asked for.

        Raises: UnsupportedCombination when none were, or rounding to the lattice alone exceeds one.
        """
        return self.objective.least_spend(self.mechanism, self.bars().rounding)

    @cached_property
    def units(self) -> tuple[UnitError, ...]:
        return unit_errors(self.objective, self.queries, self.mechanism.variances())

    def useless_answers(self, spend: Amount | None = None, records: int | None = None) -> tuple[UselessAnswer, ...]:
        """The answers whose expected error at a spend exceeds all that they can be, and what spend would help.

        Args: ``records``: their public number; left out, what the queries state. None are told without it.
        """
        require_records(records)
        number = self.queries.records if records is None else records
        return useless_answers(self.queries, self.mechanism, self.spend_of_figures(spend), number)

    def require_agreement(self) -> None:
        from dxgeom.planner.answers.consistency import require_few  # and a solver with it

        require_few(self.queries.count)

    def _releasing(self) -> Releasing[LinearAnswers]:
        if self.interrupted is not None and not self.comparison.accepted:
            raise UnsupportedCombination(
                "planning was interrupted, so this is not the plan that would have been chosen, and a release uses up "
                "budget: plan again, or release plan.as_it_is()"
            )
        change = self.mechanism.change
        return Releasing(
            self.mechanism,
            f"{self.queries.count} queries by {self.mechanism.name}",
            self._said,
            (Fraction(0),) * self.queries.count,
            self.queries.records or (None if change is None else change.records),
        )

    def _said(self, values: tuple[Fraction, ...], spend: Fraction, records: int | None) -> LinearAnswers:
        return LinearAnswers(self.queries, self.mechanism, values, spend, records)

    @cached_property
    def fingerprint(self) -> str:
        meaning = [self.mechanism.fingerprint, self.queries.fingerprint, repr(self.objective)]
        return hashlib.sha256(json.dumps(meaning).encode()).hexdigest()

    @property
    def reason(self) -> str:
        return reason_of(self)

    def as_dict(self) -> dict[str, Any]:
        return {
            "metric": {"title": self.metric.title, "fingerprint": self.metric.fingerprint},
            "objective": self.objective.name,
            "units": [one.as_dict() for one in self.units],
            "importance": None if self.objective.importance is None else [*map(str, self.objective.importance)],
            "mechanism": self.mechanism.name,
            "reason": self.reason,
            "predicted_mse": self.predicted_mse,
            "loss": self.loss,
            "lower_bound": self.lower_bound if self.comparison.bound_at_hand else None,
            "epsilon_dp_ratio": self.epsilon_dp_ratio,
            **of_currency(self),
            "candidates": [candidate.as_dict() for candidate in self.comparison.told],
            "queries": each_query(self),
            "records": self.records,
            **people_in_words(self.metric.people),
            **acceptance_of(self),
            **search_of(self),
            "rounding_share": self.mechanism.rounding_share,
            "fingerprint": self.fingerprint,
        }

    def lines(self) -> list[str]:
        head = f"{len(self.queries.names)} queries, objective {self.objective}: {self.reason}"
        told = self.comparison.told
        width = max((len(candidate.name) for candidate in told), default=0)
        table = [f"  {candidate.name:<{width}} {row_of(self, candidate)}" for candidate in told]
        foot = [
            self.bound_in_words,
            f"rounding to the lattice makes up {self.mechanism.rounding_share:.2g} of the error",
        ]
        if self.epsilon_dp_ratio is not None:
            foot.insert(
                0, f"ordinary ε-DP would have {self.epsilon_dp_ratio:.3g} times this plan's {self.objective.title}"
            )
        foot[:0] = [*currency_lines(self), *(f"drawn {said}" for said in acceptance_lines(self))]
        people = [] if self.metric.people is None else [self.metric.people.sentence]
        return [head, *search_lines(self), *table, *people, *self.biases_in_words, *foot]
