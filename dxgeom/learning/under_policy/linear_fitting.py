"""A linear model fitted under a policy, and its predictions of other rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from dxgeom.learning.accounts import usable_ledger
from dxgeom.learning.charged import charged, warn_of_little
from dxgeom.learning.under_policy.fitting import refuse_what_is_the_policys
from dxgeom.learning.under_policy.linear_plan import LinearRegressionPlan, plan_linear
from dxgeom.learning.under_policy.whole_tables import joined_table
from dxgeom.planner.amounts import exact_amount


def fit_linear(estimator: Any, X: Any, y: Any) -> None:
    """Charges the ledger for the policy's account, and sets what is learned.

    Raises: as the estimator's ``fit``; nothing is spent on a refusal.
    """
    refuse_what_is_the_policys(estimator, "epsilon", "bounds", "response", "budget")
    ledger, spend = usable_ledger(estimator.ledger), exact_amount(estimator.spend, "spend")
    plan = plan_linear(
        estimator.policy, estimator.label, estimator.features, ridge=estimator.ridge, mechanism=estimator.mechanism
    )
    universe = plan.rows.universe
    table = X if y is None and not isinstance(X, dict) else joined_table(universe, estimator.label, X, y)
    records = len(table) if hasattr(table, "__len__") and not isinstance(table, str) else None
    if records and universe.absent is None and universe.reading.people is None:
        warn_of_little(plan, records, spend, len(plan.names))
    estimator.release_ = charged(
        estimator,
        lambda: plan.release(
            table,
            ledger=ledger,
            spend=spend,
            purpose=estimator.purpose,
            id=estimator.id,
            insecure_test_seed=estimator.insecure_test_seed,
        ),
    )
    _learned(estimator, plan)


def _learned(estimator: Any, plan: LinearRegressionPlan) -> None:
    coefficients = estimator.release_.answer
    estimator._rows = plan.rows
    found = coefficients.values / coefficients.worth
    estimator.intercept_, estimator.coef_ = float(found[0]), found[1:]
    estimator.coefficients_ = coefficients
    estimator.encoded_names_ = np.array(plan.rows.names, dtype=object)
    estimator.n_features_in_ = len(plan.rows.columns)
    estimator.feature_names_in_ = np.array(plan.rows.columns, dtype=object)
