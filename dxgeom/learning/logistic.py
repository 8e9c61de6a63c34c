"""Private logistic regression, as an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.engines.histogram import histogram_of_table
from dxgeom.errors import ArrayError
from dxgeom.learning.conventions import Estimator
from dxgeom.learning.gradient_noise import LabelTotals, fitted_to_totals
from dxgeom.learning.plain_arrays import (
    Outside,
    Prepared,
    charged_fit,
    checked_arrays,
    prepared_logistic,
    refuse_weights,
    usable_ledger,
    warn_of_synthetic,
)
from dxgeom.learning.policy_model import PolicyModel, policy_model
from dxgeom.learning.policy_rows import is_here, joined_table, refuse_what_is_the_policys, require_single_rows
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.policy.policy import Policy


def two_classes(y: NDArray[Any], classes: Any) -> NDArray[Any]:
    """The classes (2,) in order: those stated, or the two that there are, which then are public.

    Raises: ArrayError for labels that are no classes, and unless there are two.
    """
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ArrayError("Input y contains NaN or infinity: a label names a class")
    if y.dtype.kind == "f" and np.any(y != np.floor(y)):
        raise ArrayError("Unknown label type: continuous. A classifier's labels name classes; these are numbers")
    try:
        found = np.unique(y)
    except TypeError as error:
        raise ArrayError("Unknown label type: unknown. Labels are numbers or words") from error
    if classes is not None:
        stated = np.unique(np.asarray(classes))
        if len(stated) != 2:
            raise ArrayError(f"'classes' names the two classes, found {classes!r}")
        if not np.all(np.isin(found, stated)):
            raise ArrayError(f"a label is none of the classes {stated.tolist()}; correct it, or drop its row")
        return stated
    if len(found) > 2:
        raise ArrayError(
            f"Only binary classification is supported. The type of the target is multiclass: {len(found)} classes."
        )
    if len(found) < 2:
        raise ArrayError(
            "these labels are of 1 class, and a classifier tells two apart: state both, classes=(0, 1), which keeps it "
            "private that only one occurs"
        )
    return found


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PrivateLogisticRegression(Estimator):
    """Logistic regression for two classes whose fit is a private release, charged to a ledger.

    >>> import dxgeom as dx, numpy as np
    >>> X, y = np.linspace(-1, 1, 200)[:, None], np.arange(200) >= 100
    >>> ledger = dx.learning.open_ledger(":memory:", budget=1)
    >>> model = dx.learning.PrivateLogisticRegression(epsilon=1, bounds=(-1, 1), ledger=ledger).fit(X, y)
    >>> model.coef_.shape, str(ledger.remaining())
    ((1, 1), '0')

    Under a policy: ``policy``, ``label``, the attribute that is predicted, by ``features``, all others where they are
    left out, and ``spend``, the multiple of the policy's distances that this fit uses. Columns
    are read and bounded as the policy says. On plain arrays:

    Args: ``epsilon``: the spend: what replacing one record by any other changes log-odds by at most. ``bounds``: of
    columns, (low, high), public; or ``radius``: no row is longer. ``ledger``: a file, or an open ledger.
    ``outside``: "refuse" rows beyond the bounds, or "clip" them. ``classes``: the two labels; left out, the two that
    occur are public. ``fit_intercept``. ``ridge``: the least γ of γ‖θ‖²/2, in scaled features; privacy may ask for
    more. ``share``: q, the noise's share of epsilon; left out, chosen from public figures. ``fits``: how many fits this
    estimator and all its clones may be charged for. ``budget``: of a ledger that is begun by its path. ``id``: a name
    of this fit; asked for again it is shown at no cost.

    Guarantee: fit with these arguments, replacing one record by any other changes the odds of any set of outcomes by at
    most e^epsilon, under a policy record i by j by at most e^(spend·d(i, j)), whatever the solver did: see
    :class:`ObjectivePerturbation`; where labels alone are protected, :class:`LabelTotals`. The number of
    records is public, and so are columns' names. Everything after is post-processing.
    Learned: ``coef_`` (1, p), ``intercept_`` (1,), ``classes_``, ``release_`` with what was released and what it cost.
    """

    policy: Policy | VerifiedMetric | None = None
    label: str | None = None
    features: Sequence[str] | None = None
    spend: Amount | None = None
    epsilon: Amount | None = None
    bounds: Any = None
    radius: float | None = None
    ledger: str | Path | Ledger | None = None
    outside: Outside = "refuse"
    classes: Any = None
    fit_intercept: bool = True
    ridge: Amount | None = None
    share: Amount | None = None
    fits: int = 1
    budget: Amount | None = None
    purpose: str = ""
    id: str | None = None
    insecure_test_seed: int | None = None

    def fit(self, X: Any, y: Any = None, **weights: Any) -> PrivateLogisticRegression:
        """Charges the ledger, then fits.

        Raises: whatever :func:`dxgeom.release` raises; ArrayError for what is no table or has rows beyond the bounds;
        BudgetExceeded for more fits than were asked for. Nothing is spent on a refusal.
        """
        refuse_weights(weights)
        warn_of_synthetic(X)
        if self.policy is not None:
            _fit_under_policy(self, X, y)
            return self
        ledger, table, labels = checked_arrays(self, X, y)
        classes = two_classes(labels, self.classes)
        prepared, unscaled = prepared_logistic(self, table, labels == classes[1])
        self.release_ = charged_fit(self, prepared, ledger)
        self.classes_ = classes
        self.__dict__.pop("_model", None)
        self._remember_columns(X, table.shape[1])
        self.coef_, self.intercept_ = unscaled(np.array([[float(x) for x in self.release_.answer]]))
        self.n_iter_ = 1
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """(n,): the log-odds of the second class."""
        self._require_fitted()
        rows = self._model.rows(X)[:, 1:] if hasattr(self, "_model") else self._numbers_to_predict(X)
        return np.asarray((rows @ self.coef_.T + self.intercept_)[:, 0])

    def predict(self, X: Any) -> NDArray[Any]:
        """(n,): the likelier class of each row."""
        second = self.decision_function(X) > 0
        return np.asarray(self.classes_[second.astype(np.int64)])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """(n, 2): the probabilities of the classes."""
        scores = self.decision_function(X)
        small = np.exp(-np.abs(scores))
        second = np.where(scores >= 0, 1.0, small) / (1 + small)
        first = np.where(scores >= 0, small, 1.0) / (1 + small)
        return np.column_stack([first, second])

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """(n, 2): their logarithms."""
        scores = self.decision_function(X)
        return np.column_stack([-np.logaddexp(0, scores), -np.logaddexp(0, -scores)])

    def score(self, X: Any, y: Any) -> float:
        """The share of rows that are classified rightly. **Not private**: for data that are anyone's to see."""
        return float(np.mean(self.predict(X) == np.asarray(y).ravel()))

    def _kind_of_tags(self, tags: Any) -> Any:
        from sklearn.utils import ClassifierTags

        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False, poor_score=True)
        return tags


def _fit_under_policy(estimator: Any, X: Any, y: Any) -> None:
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
    counted = not is_here(X) or (people is not None and people.count != "single")
    data = _by_engine(model, X, y) if counted else _by_rows(model, X, y)
    estimator.release_ = charged_fit(estimator, Prepared(mechanism, data, spend), ledger)
    answer = estimator.release_.answer
    if isinstance(mechanism, LabelTotals):
        found = fitted_to_totals(mechanism, data[:, :-1], answer, spend, ridge)
    else:
        found = np.array([float(x) for x in answer])
    _learned(estimator, model, found)


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
