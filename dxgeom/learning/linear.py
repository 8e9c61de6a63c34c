"""Private linear regression, as an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import ArrayError, UnsupportedCombination, WrongArgument
from dxgeom.learning.conventions import Estimator
from dxgeom.learning.least_squares import Coefficients, NoisyLeastSquares
from dxgeom.learning.linear_plan import LeastSquares, plan_linear
from dxgeom.learning.plain_arrays import (
    ColumnBounds,
    Outside,
    Prepared,
    account_for,
    charged,
    charged_fit,
    checked_arrays,
    column_bounds,
    epsilon_of,
    refuse_weights,
    usable_ledger,
    warn_of_little,
    warn_of_synthetic,
)
from dxgeom.learning.policy_rows import is_here, joined_table, refuse_what_is_the_policys
from dxgeom.learning.regression_totals import RegressionTotals, Shape
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.policy.policy import Policy


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLinearRegression(Estimator):
    """Least squares from noisy sums, whose fit is a private release, charged to a ledger.

    Under a policy: ``policy``, ``label``, the attribute that is predicted, by ``features``, all others where they are
    left out, and ``spend``, the multiple of the policy's distances that this fit uses. Columns are read and bounded as
    the policy says; ``mechanism``: see :func:`dxgeom.learning.plan_linear`. On plain arrays:

    Args: ``epsilon``: the spend: what replacing one record by any other changes log-odds by at most. ``bounds``: of
    columns, (low, high), and ``response`` those of y; public. ``ledger``: a file, or an open ledger. ``outside``:
    "refuse" rows beyond the bounds, or "clip" them. ``fit_intercept``. ``ridge``: ρ of ρ‖β‖², in numbers scaled to
    [−1, 1]; left out, as large as the noise, which is public. ``mechanism``: "auto" or "cylinders", or, of one
    to three predictors, "hull", with less noise and some seconds to build: see :class:`RegressionTotals`. ``fits``,
    ``budget``, ``purpose``, ``id``: as of :class:`PrivateLogisticRegression`.

    Guarantee: fit with these arguments, replacing one record by any other changes the odds of any set of outcomes by at
    most e^epsilon: see :class:`RegressionTotals`. The number of records is public, and so are columns' names. Under a
    policy it is what the policy says, of people, presence and concentrated privacy, too.
    Learned: ``coef_`` (p,), ``intercept_``, ``release_``; :meth:`intervals`; under a policy ``encoded_names_``, the
    features that coefficients are of, and ``coefficients_``, a table of them in raw units.
    """

    policy: Policy | VerifiedMetric | None = None
    label: str | None = None
    features: Sequence[str] | None = None
    spend: Amount | None = None
    mechanism: str = "auto"
    epsilon: Amount | None = None
    bounds: Any = None
    response: Any = None
    ledger: str | Path | Ledger | None = None
    outside: Outside = "refuse"
    fit_intercept: bool = True
    ridge: Amount | None = None
    fits: int = 1
    budget: Amount | None = None
    purpose: str = ""
    id: str | None = None
    insecure_test_seed: int | None = None

    def fit(self, X: Any, y: Any = None, **weights: Any) -> PrivateLinearRegression:
        """Charges the ledger, then fits.

        Raises: whatever :func:`dxgeom.release` raises; ArrayError for what is no table or has rows beyond the bounds;
        BudgetExceeded for more fits than were asked for. Nothing is spent on a refusal.
        """
        refuse_weights(weights)
        warn_of_synthetic(X)
        if self.policy is not None:
            _fit_under_policy(self, X, y)
            return self
        self.__dict__.pop("_rows", None)
        ledger, table, stated = checked_arrays(self, X, y)
        responses = _numbers_of(stated)
        spend = epsilon_of(self)
        box, line = self._bounds(table.shape[1])
        data = np.column_stack([box.scaled(table, self.outside), line.scaled(responses[:, None], self.outside, "y")])
        names = tuple(f"x{k}" for k in range(table.shape[1]))
        mechanism = RegressionTotals("linear regression", names, account_for(self), _shape_of(self.mechanism))
        ridge = None if self.ridge is None else exact_amount(self.ridge, "ridge")
        self.release_ = charged_fit(self, Prepared(mechanism, data, spend), ledger)
        self._remember_columns(X, table.shape[1])
        self._fit = NoisyLeastSquares(
            mechanism, self.release_.answer, len(table), spend, ridge, bool(self.fit_intercept)
        )
        self._back, self._base = _back(box, line, bool(self.fit_intercept))
        found = self._back @ self._fit.coefficients + self._base
        self.intercept_, self.coef_ = float(found[0]), found[1:]
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """(n,): the predicted responses."""
        self._require_fitted()
        rows = self._rows.rows(X)[:, 1:] if hasattr(self, "_rows") else self._numbers_to_predict(X)
        return np.asarray(rows @ self.coef_ + self.intercept_)

    def score(self, X: Any, y: Any) -> float:
        """R². **Not private**: for data that are anyone's to see."""
        truth = np.asarray(y, dtype=np.float64).ravel()
        total = float(np.sum((truth - truth.mean()) ** 2))
        left = float(np.sum((truth - self.predict(X)) ** 2))
        return 1 - left / total if total > 0 else float(left == 0)

    def intervals(self, level: float = 0.95) -> NDArray[np.float64]:
        """(p + 1, 2): intervals of the intercept and the coefficients, for the population that records are drawn from.

        *Approximate*: noise is simulated by its law and sampling as normal, at the released coefficients; what the
        ridge pulls is added in full. Nothing is spent. Without an intercept the first row is that of 0.
        """
        self._require_fitted()
        if not 0 < level < 1:
            raise WrongArgument(f"'level' lies between 0 and 1, such as 0.95; found {level!r}")
        if hasattr(self, "_rows"):
            told: Coefficients = self.release_.answer
            return np.asarray(told.intervals(level)) / told.worth[:, None]
        return self._fit.intervals(level, self._back) + self._base[:, None]

    def _bounds(self, columns: int) -> tuple[ColumnBounds, ColumnBounds]:
        """Those of the columns and of the response; around 0 without an intercept, so that 0 stays 0."""
        box, line = column_bounds(self.bounds, columns), column_bounds(self.response, 1, "response")
        return (box, line) if self.fit_intercept else (box.around_zero, line.around_zero)

    def _kind_of_tags(self, tags: Any) -> Any:
        from sklearn.utils import RegressorTags

        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags(poor_score=True)
        return tags


def _shape_of(mechanism: Any) -> Shape:
    """Of the noise on plain arrays. Raises: UnsupportedCombination."""
    if not isinstance(mechanism, str) or mechanism not in ("auto", "cylinders", "hull"):
        raise UnsupportedCombination(
            f"on plain arrays 'mechanism' is auto, cylinders, or, of up to three predictors, hull; found {mechanism!r}"
        )
    return "hull" if mechanism == "hull" else "cylinders"


def _numbers_of(y: NDArray[Any]) -> NDArray[np.float64]:
    """Responses (n,). Raises: ArrayError."""
    try:
        found = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ArrayError("the responses y are numbers: Unknown label type") from error
    if not np.all(np.isfinite(found)):
        raise ArrayError("Input y contains NaN or infinity: responses are finite numbers; drop such rows first")
    return found


def _back(box: ColumnBounds, line: ColumnBounds, intercept: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A (p + 1, …) and b (p + 1,): intercept and coefficients in raw units are A·β + b."""
    slopes = line.half / box.half
    size = len(slopes)
    matrix = np.zeros((size + 1, size + intercept))
    matrix[1:, intercept:] = np.diag(slopes)
    if intercept:
        matrix[0, 0] = line.half[0]
        matrix[0, 1:] = -slopes * box.middle
    base = np.zeros(size + 1)
    base[0] = line.middle[0] if intercept else 0.0
    return matrix, base


def _fit_under_policy(estimator: Any, X: Any, y: Any) -> None:
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
    records = len(table) if is_here(table) else None
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
