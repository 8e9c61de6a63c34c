"""Models fitted under a policy, linear or logistic, by an estimator."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import ArrayError, UnsupportedCombination
from dxgeom.learning.label_totals import LabelTotals, fitted_to_totals
from dxgeom.learning.linear_plan import LeastSquares, plan_linear
from dxgeom.learning.plain_arrays import Prepared, charged, charged_fit, usable_ledger, warn_of_little
from dxgeom.learning.policy_model import PolicyModel, policy_model
from dxgeom.learning.policy_rows import joined_table, require_single_rows
from dxgeom.planner.amounts import exact_amount


def fit_under_policy(estimator: Any, X: Any, y: Any) -> None:
    """Charges the ledger for the policy's account, and sets what is learned.

    Raises: as the estimator's ``fit``; nothing is spent on a refusal.
    """
    refuse_what_is_the_policys(estimator, "epsilon", "bounds", "radius", "classes", "budget")
    ledger, spend = usable_ledger(estimator.ledger), exact_amount(estimator.spend, "spend")
    model = policy_model(estimator.policy, estimator.label, estimator.features)
    ridge = Fraction(0) if estimator.ridge is None else exact_amount(estimator.ridge, "ridge")
    share = None if estimator.share is None else exact_amount(estimator.share, "share")
    mechanism = model.mechanism(ridge, share)
    people = model.metric.people
    counted = isinstance(X, (str, Path)) or (people is not None and people.count != "single")
    data = _by_engine(model, X, y) if counted else _by_rows(model, X, y)
    estimator.release_ = charged_fit(estimator, Prepared(mechanism, data, spend), ledger)
    answer = estimator.release_.answer
    if isinstance(mechanism, LabelTotals):
        found = fitted_to_totals(mechanism, data[:, :-1], answer, spend, ridge)
    else:
        found = np.array([float(x) for x in answer])
    _learned(estimator, model, found)


def refuse_what_is_the_policys(estimator: Any, *names: str) -> None:
    """Raises: UnsupportedCombination where an estimator says what its policy says, or not how much a fit may use."""
    for name in names:
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


def _by_rows(model: PolicyModel, X: Any, y: Any) -> NDArray[np.float64]:
    """Features and labels of a table's rows, in their order. Raises: ArrayError."""
    require_single_rows(model.metric.people, X)
    rows, labels = model.rows(X), model.labels(X, y)
    if len(rows) != len(labels):
        raise ArrayError(f"Found input variables with inconsistent numbers of samples: {[len(rows), len(labels)]}")
    return np.column_stack([rows, labels.astype(np.float64)])


def _by_engine(model: PolicyModel, X: Any, y: Any) -> NDArray[np.float64]:
    """The same of the records that a histogram counts, which knows all that a policy says of reading.

    Raises: DataError; TooLarge for a universe of which no histogram can be made.
    """
    as_it_is = y is None and not isinstance(X, dict)
    table = X if as_it_is else joined_table(model.universe, model.label, X, y)
    return model.of_counts(histogram_of_table(table, model.universe).counts)


def _learned(estimator: Any, model: PolicyModel, found: NDArray[np.float64]) -> None:
    estimator.intercept_, estimator.coef_ = found[:1], found[None, 1:]
    estimator.classes_ = np.array(model.universe.attribute(model.label).labels)
    estimator.encoded_names_ = np.array(model.features.names[1:], dtype=object)
    estimator.n_features_in_ = len(model.columns)
    estimator.feature_names_in_ = np.array(model.columns, dtype=object)
    estimator._model = model
    estimator.n_iter_ = 1


def fit_linear(estimator: Any, X: Any, y: Any) -> None:
    """Charges the ledger for the policy's account, and sets what is learned.

    Raises: as the estimator's ``fit``; nothing is spent on a refusal.
    """
    refuse_what_is_the_policys(estimator, "epsilon", "bounds", "response", "budget")
    ledger, spend = usable_ledger(estimator.ledger), exact_amount(estimator.spend, "spend")
    plan = plan_linear(
        estimator.policy, estimator.label, estimator.features, ridge=estimator.ridge, mechanism=estimator.mechanism
    )
    fit: LeastSquares = plan.decided
    universe = fit.rows.universe
    table = X if y is None and not isinstance(X, dict) else joined_table(universe, estimator.label, X, y)
    records = len(table) if hasattr(table, "__len__") and not isinstance(table, str) else None
    if records and universe.absent is None and universe.reading.people is None:
        warn_of_little(fit, records, spend, len(fit.names))
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
    _learned_linear(estimator, fit)


def _learned_linear(estimator: Any, fit: LeastSquares) -> None:
    coefficients = estimator.release_.answer
    estimator._rows = fit.rows
    found = coefficients.values / coefficients.worth
    estimator.intercept_, estimator.coef_ = float(found[0]), found[1:]
    estimator.coefficients_ = coefficients
    estimator.encoded_names_ = np.array(fit.rows.names, dtype=object)
    estimator.n_features_in_ = len(fit.rows.columns)
    estimator.feature_names_in_ = np.array(fit.rows.columns, dtype=object)
