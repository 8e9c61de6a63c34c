"""Private logistic regression, as an estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import ArrayError
from dxgeom.learning.conventions import Estimator
from dxgeom.learning.plain_arrays import (
    Outside,
    charged_fit,
    checked_arrays,
    prepared_logistic,
    refuse_weights,
)
from dxgeom.learning.policy_fits import fit_under_policy
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.amounts import Amount
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
        if self.policy is not None:
            fit_under_policy(self, X, y)
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
