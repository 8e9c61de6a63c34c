"""A logistic regression under a policy, planned before any data are read, and fitted to what a histogram counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.learning.least_squares import Coefficients
from dxgeom.learning.perturbation import STEP, ObjectivePerturbation
from dxgeom.learning.policy_model import NAME, PolicyModel, policy_model
from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.plan import Plan
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.planner.unknown import Unknown
from dxgeom.policy.policy import Policy

_MOST_RECORDS = 20_000_000
"""Rows of features that are laid out at once."""


@final
@dataclass(frozen=True, eq=False)
class FitToCounts(HistogramMechanism[tuple[Fraction, ...]]):
    """The minimiser of a perturbed objective over the records of a histogram, one row of features for each.

    Guarantee: that of ``inner``, :class:`ObjectivePerturbation`: which records there are is all that it sees of a
    table, in no order.
    Raises: UnsupportedCombination where people are spread over their rows.
    """

    name: str
    model: PolicyModel = field(repr=False)
    inner: ObjectivePerturbation = field(repr=False)

    def __post_init__(self) -> None:
        if self.shares > 1:
            raise UnsupportedCombination("a model is fitted to whole records, and people here are spread over theirs")

    @property
    def metric(self) -> VerifiedMetric:
        return self.model.metric

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients' names, the intercept first."""
        return self.inner.features.names

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("fit to counts", self.inner.fingerprint, self.model.universe.digest, self.model.label)

    def check_size(self, records: int, spend: Fraction) -> None:
        if records > _MOST_RECORDS:
            raise UnsupportedCombination(f"a model is fitted to at most {_MOST_RECORDS:,} records, these are more")
        if not records and not self.inner.absence:
            raise DataError("a model is fitted to a record at least")
        self.inner.check_size(records, spend)

    def drawn(
        self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[tuple[Fraction, ...]]:
        return self.inner.draws(self.model.of_counts(counts), spend, count, randomness)


_USUAL_RECORDS = 1000


@final
class LogisticFitPlans(PlanKind):
    """Objective perturbation over a table as a policy reads it.

    Guarantee: that of :class:`ObjectivePerturbation`.
    """

    no_errors = Unknown("no intervals of these coefficients are proved", "statements() say what can be expected")

    def _fit(self, plan: Plan) -> FitToCounts:
        fit: FitToCounts = plan.mechanism
        return fit

    def fingerprint(self, plan: Plan) -> str:
        return canonical_digest("logistic regression", plan.mechanism.fingerprint)

    def queries(self, plan: Plan) -> Any:
        raise self.no_question.refusal

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        number = records or plan.records or _USUAL_RECORDS
        kept = self._fit(plan).inner.signal_kept(number, spend)
        return (
            f"estimate: with {number:,} records about {kept:.0%} of a coefficient is left of noise and ridge; the "
            f"exact minimiser is released, in steps of {float(STEP):.1g}",
        )

    def purpose(self, plan: Plan) -> str:
        return f"a logistic regression of {self._fit(plan).model.label}"

    def blank(self, plan: Plan, records: int | None) -> tuple[Fraction, ...]:
        return (Fraction(0),) * len(self._fit(plan).names)

    def answers(self, plan: Plan, answer: tuple[Fraction, ...], spend: Fraction, records: int | None) -> Coefficients:
        fit = self._fit(plan)
        inner, model = fit.inner, fit.model
        share = inner.share_for(1 if records is None else records, spend)
        halves = model.feature_rows.halves
        worth = np.array([1.0, *(1.0 if half is None else 1 / float(half) for half in halves)])
        second = model.universe.attribute(model.label).labels[1]
        return Coefficients(
            f"log-odds of {model.label}={second}",
            fit.names,
            ("", *("" if half is None else "1" for half in halves)),
            np.array([float(value) for value in answer]) * worth,
            worth,
            None,
            inner.strength(share, spend),
            plan.fingerprint,
        )

    def as_dict(self, plan: Plan) -> dict[str, Any]:
        fit = self._fit(plan)
        return {
            "kind": "fit",
            "fit": {"logistic": fit.model.label, "features": list(fit.names)},
            "ridge": str(fit.inner.ridge),
            "share": None if fit.inner.share is None else str(fit.inner.share),
            "fingerprint": plan.fingerprint,
        }

    def lines(self, plan: Plan) -> list[str]:
        fit = self._fit(plan)
        head = f"{NAME} of {fit.model.label} on {', '.join(fit.names[1:])}, by objective perturbation"
        return [head, *plan.statements()]


LOGISTIC: Final = LogisticFitPlans()


def plan_logistic(
    policy: Policy | VerifiedMetric,
    label: str,
    features: Sequence[str] | None = None,
    *,
    ridge: Amount | None = None,
    records: int | None = None,
) -> Plan:
    """A logistic regression of the attribute ``label`` on ``features``, all others where they are left out.

    Args: as of :func:`plan_linear`. ``records``: their public number, for what is said of it.
    Guarantee: reads no data.
    Raises: UnsupportedCombination for what the policy cannot have: see :class:`PolicyModel`; where labels alone are
    protected, which the estimator fits; TooLarge for a universe of which no histogram can be made.
    """
    return logistic_plan_of(policy, label, features, None if ridge is None else exact_amount(ridge, "ridge"), records)


def logistic_plan_of(
    metric: Any, label: str, features: Sequence[str] | None, ridge: Fraction | None, records: int | None = None
) -> Plan:
    """The same, with an exact ridge."""
    model = policy_model(metric, label, features)
    model.universe.require_indexable("fits to tables as a policy reads them")
    inner = model.mechanism(Fraction(0) if ridge is None else ridge, None)
    if not isinstance(inner, ObjectivePerturbation):
        raise UnsupportedCombination(
            "labels alone are protected here, and their sum is released: fit PrivateLogisticRegression to the table, "
            "whose features need not be hidden"
        )
    return Plan(LOGISTIC, model.metric, model, FitToCounts(NAME, model, inner), records)
