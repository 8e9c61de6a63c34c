"""A logistic model fitted under a policy, and its predictions of other rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import ArrayError, UnsupportedCombination
from dxgeom.learning.accounts import usable_ledger
from dxgeom.learning.charged import charged_fit
from dxgeom.learning.plain_models import Prepared
from dxgeom.learning.totals.label_totals import LabelTotals, fitted_to_totals
from dxgeom.learning.under_policy.models import PolicyModel, policy_model
from dxgeom.learning.under_policy.rows import column_of, require_single_rows
from dxgeom.planner.amounts import exact_amount


def fit_under_policy(estimator: Any, X: Any, y: Any) -> None:
    """Charges the ledger for the policy's account, and sets what is learned.

    Raises: as the estimator's ``fit``; nothing is spent on a refusal.
    """
    for name in ("epsilon", "bounds", "radius", "classes", "budget"):
        if getattr(estimator, name) is not None:
            raise UnsupportedCombination(
                f"under a policy '{name}' is the policy's own: leave it out, and say by spend= how much of "
                "the policy's budget this fit uses"
            )
    if estimator.spend is None:
        raise UnsupportedCombination("say how much of the policy's budget this fit uses: spend=0.5, for instance")
    if not estimator.fit_intercept or estimator.outside != "refuse":
        raise UnsupportedCombination(
            "under a policy a model has an intercept, and rows outside the universe are refused"
        )
    ledger, spend = usable_ledger(estimator.ledger), exact_amount(estimator.spend, "spend")
    model = policy_model(estimator.policy, estimator.label)
    ridge = Fraction(0) if estimator.ridge is None else exact_amount(estimator.ridge, "ridge")
    share = None if estimator.share is None else exact_amount(estimator.share, "share")
    mechanism = model.mechanism(ridge, share)
    require_single_rows(model.metric.people, X)
    rows, labels = model.rows(X), model.labels(column_of(X, model.label) if y is None else y)
    if len(rows) != len(labels):
        raise ArrayError(f"Found input variables with inconsistent numbers of samples: {[len(rows), len(labels)]}")
    data = np.column_stack([rows, labels.astype(np.float64)])
    estimator.release_ = charged_fit(estimator, Prepared(mechanism, data, spend), ledger)
    answer = estimator.release_.answer
    if isinstance(mechanism, LabelTotals):
        found = fitted_to_totals(mechanism, rows, answer, spend, ridge)
    else:
        found = np.array([float(x) for x in answer])
    _learned(estimator, model, found)


def _learned(estimator: Any, model: PolicyModel, found: NDArray[np.float64]) -> None:
    estimator.intercept_, estimator.coef_ = found[:1], found[None, 1:]
    estimator.classes_ = np.array(model.universe.attribute(model.label).labels)
    estimator.encoded_names_ = np.array(model.features.names[1:], dtype=object)
    estimator.n_features_in_ = len(model.columns)
    estimator.feature_names_in_ = np.array(model.columns, dtype=object)
    estimator._model = model
    estimator.n_iter_ = 1
