"""A linear model fitted under a policy, and its predictions of other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.people import columns_of
from dxgeom.engines.results.answer_frames import arrow_table
from dxgeom.errors import ArrayError, UnsupportedCombination
from dxgeom.learning.accounts import usable_ledger
from dxgeom.learning.charged import charged, warn_of_little
from dxgeom.learning.under_policy.linear_plan import LinearRegressionPlan, plan_linear
from dxgeom.learning.under_policy.rows import column_of
from dxgeom.planner.amounts import exact_amount
from dxgeom.universe.universe import Universe


def fit_linear(estimator: Any, X: Any, y: Any) -> None:
    """Charges the ledger for the policy's account, and sets what is learned.

    Raises: as the estimator's ``fit``; nothing is spent on a refusal.
    """
    _refuse_others(estimator)
    ledger, spend = usable_ledger(estimator.ledger), exact_amount(estimator.spend, "spend")
    plan = plan_linear(
        estimator.policy, estimator.label, estimator.features, ridge=estimator.ridge, mechanism=estimator.mechanism
    )
    universe = plan.rows.universe
    table = X if y is None and not isinstance(X, dict) else _joined(universe, estimator.label, X, y)
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


def _refuse_others(estimator: Any) -> None:
    """Raises: UnsupportedCombination."""
    for name in ("epsilon", "bounds", "response", "budget"):
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


def _joined(universe: Universe, label: str, X: Any, y: Any) -> Any:
    """One table of the columns that the policy reads, the predicted one among them. Raises: ArrayError."""
    people = universe.reading.people
    own = universe.reading.attributes[universe.names.index(label)]
    wanted = (*universe.reading.columns, *columns_of(people))
    if y is not None and (own.expression is not None or len(own.columns) != 1):
        raise UnsupportedCombination(
            f"'{label}' is made of other columns by the policy: leave y out, and hand over a table that has them"
        )
    columns = {
        name: np.asarray(y).ravel() if y is not None and name in own.columns else column_of(X, name)
        for name in dict.fromkeys(wanted)
    }
    if len({len(column) for column in columns.values()}) > 1:
        sizes = [len(column) for column in columns.values()]
        raise ArrayError(f"Found input variables with inconsistent numbers of samples: {sorted(set(sizes))}")
    return arrow_table({name: _cells(column) for name, column in columns.items()})


def _cells(column: NDArray[Any]) -> list[Any]:
    """As words, numbers, or nothing; days as words."""
    if column.dtype.kind == "M":
        return [None if text == "NaT" else text for text in column.astype("datetime64[D]").astype(str).tolist()]
    return [cell if cell is None or isinstance(cell, (str, int, float)) else str(cell) for cell in column.tolist()]


def _learned(estimator: Any, plan: LinearRegressionPlan) -> None:
    coefficients = estimator.release_.answer
    estimator._fit, estimator._rows = coefficients.fit, plan.rows
    estimator._back, estimator._base = plan.scaled_back()
    found = estimator._back @ coefficients.fit.coefficients + estimator._base
    estimator.intercept_, estimator.coef_ = float(found[0]), found[1:]
    estimator.coefficients_ = coefficients
    estimator.encoded_names_ = np.array(plan.rows.names, dtype=object)
    estimator.n_features_in_ = len(plan.rows.columns)
    estimator.feature_names_in_ = np.array(plan.rows.columns, dtype=object)
