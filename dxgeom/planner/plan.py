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

from dxgeom.displayed import Pictured
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.amounts import Amount, exact_amount, require_records
from dxgeom.planner.answers.error_bars import ErrorBars
from dxgeom.planner.answers.linear_answers import LinearAnswers
from dxgeom.planner.candidates import CandidateResult, Kind, names
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
class Plan(Releasable[LinearAnswers], Pictured):
    """The chosen mechanism with its exact error; reusable for many releases, each charged on its own.

    All figures are at spend 1; at spend s the noise is 1/s as wide, its mean squared error 1/s² as large.
    ``comparison``: what else was considered. ``records``: their public number, where it was stated.
    """

    metric: VerifiedMetric = field(repr=False)
    queries: LinearQueries = field(repr=False)
    objective: Objective
    mechanism: AdditiveMechanism
    comparison: CandidateComparison
    records: int | None = None

    @property
    def candidates(self) -> tuple[CandidateResult, ...]:
        """Every mechanism that was considered; where one was named, the others are built when this is first asked."""
        return self.comparison.candidates

    @property
    def lower_bound(self) -> float:
        """Of all noise added to the exact answers that honours the metric and, stretched by 1/s, s times the metric for
        every spend s ≤ 1 as this plan's does, none has a smaller loss at spend 1; 0 where nothing is known.

        Answers to changed queries, with a known bias, may have one: their loss is the worst over all data of the stated
        number of records, each answer's on its own. Where a mechanism was named it is searched for when it is asked.
        """
        return self.comparison.lower_bound

    @property
    def interrupted(self) -> str | None:
        """The candidate that was being built when somebody interrupted the planning; None where nobody did, or where
        the plan is from a file: then ``comparison.search`` says what the file does."""
        return self.comparison.interrupted

    def as_it_is(self) -> Plan:
        """The same plan to be released, though somebody interrupted the search for a better one."""
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
        """How far, relatively, the ideal noise's objective is above that of the best Gaussian noise: the certificate of
        the covariance, up to the rounding of float64. None for noise that is not Gaussian, and without a bound."""
        if self.mechanism.law is None or not self.mechanism.law.normal or self.lower_bound <= 0:
            return None
        return max(0.0, self.objective.loss(self.mechanism.ideal_variances) / self.lower_bound - 1)

    @property
    def noise(self) -> Literal["gaussian", "pure"] | None:
        """What is known of the noise beside the promise, for curves of what many releases tell; None where nothing."""
        law = self.mechanism.law
        if law is None or not law.concentrated:
            return "pure"
        return "gaussian" if law.normal else None

    @property
    def gap(self) -> float:
        """The loss over the lower bound: within this factor of the best noise added to the exact answers."""
        if self.loss == 0:
            return 1.0
        return self.loss / self.lower_bound if self.lower_bound > 0 else np.inf

    @cached_property
    def bounds(self) -> Mapping[str, float]:
        """What the objective cannot be below at spend 1, by name: see ``bounds_of``."""
        from dxgeom.planner.objectives.bounds import bounds_of

        return bounds_of(self.mechanism.sensitivity, self.objective, self.lower_bound)

    @cached_property
    def currencies(self) -> CurrencyComparison | None:
        """Gaussian noise beside the best noise for pure privacy, at equal distances and at equal (ε, δ); None unless
        both were built."""
        return compared_currencies(self.candidates)

    @property
    def biases(self) -> NDArray[np.float64]:
        """(K,): how far each answer can be off apart from its noise, at any spend, by what values stand for and by
        changed queries; infinite where that grows with a number of records that was not stated."""
        return self.bars().biases

    @property
    def rounding_biases(self) -> NDArray[np.float64]:
        """(K,): the part of :attr:`biases` that is there because values stand for many numbers."""
        return self.bars().rounding

    def bars(self, spend: Fraction = Fraction(1), records: int | None = None) -> ErrorBars:
        """What is known of the answers' errors at a spend."""
        require_records(records)
        return ErrorBars(self.queries, self.mechanism, spend, self.records if records is None else records)

    @property
    def bound_in_words(self) -> str:
        """What the lower bound says about this plan, in one sentence."""
        return bound_in_words(self)

    @property
    def bias_in_words(self) -> str | None:
        """What is to be known about a bias, in one sentence; None without one."""
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
        """What is to be known beside noise, in plain sentences."""
        return [*([] if self.bias_in_words is None else [self.bias_in_words]), *self.bars().in_words()]

    @property
    def least_spend(self) -> Fraction:
        """The smallest spend, rounded up to six digits, at which every answer has the error that was asked for.

        Raises: UnsupportedCombination when none were, or rounding to the lattice alone exceeds one.
        """
        return self.objective.least_spend(self.mechanism, self.bars().rounding)

    @property
    def ordinary(self) -> CandidateResult:
        """Ordinary ε-DP, which every plan is compared with; not tried where the plan is from a file."""
        (name,) = names(Kind.ORDINARY)
        return self.comparison.result(name)

    @property
    def epsilon_dp_ratio(self) -> float | None:
        """How many times this plan's loss ordinary ε-DP would have; None without either."""
        ordinary = self.ordinary.loss
        return None if ordinary is None or self.loss == 0 else ordinary / self.loss

    @cached_property
    def units(self) -> tuple[UnitError, ...]:
        """What balancing did: each unit's total squared error beside what it would be alone; () unless balanced."""
        return unit_errors(self.objective, self.queries, self.mechanism.variances())

    def useless_answers(self, spend: Amount = 1, records: int | None = None) -> tuple[UselessAnswer, ...]:
        """The answers whose expected error at a spend exceeds all that they can be, and what spend would help.

        Args: ``records``: their public number; left out, what the queries state. None are told without it.
        """
        require_records(records)
        number = self.queries.records if records is None else records
        return useless_answers(self.queries, self.mechanism, exact_amount(spend, "spend"), number)

    def rmse(self, spend: Amount = 1) -> NDArray[np.float64]:
        """(K,): root mean squared error of each answer, at its worst over all data; what rounding of values adds for
        each record is left out where their number was not stated."""
        return self.bars(exact_amount(spend, "spend")).rmse

    def half_widths(self, level: float = 0.95, spend: Amount = 1, records: int | None = None) -> NDArray[np.float64]:
        """(K,): each answer's error is at most this with probability *at least* ``level``; infinite where rounding of
        values moves an answer for each of a number of records that was not stated."""
        return self.bars(exact_amount(spend, "spend"), records).half_widths(level)

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
        """SHA-256 of everything that the answers' law depends on."""
        meaning = [self.mechanism.fingerprint, self.queries.fingerprint, repr(self.objective)]
        return hashlib.sha256(json.dumps(meaning).encode()).hexdigest()

    @property
    def reason(self) -> str:
        """Why this mechanism, in one sentence."""
        return reason_of(self)

    def as_dict(self) -> dict[str, Any]:
        """The plan ready for JSON."""
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
        """The plan for a reader."""
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
