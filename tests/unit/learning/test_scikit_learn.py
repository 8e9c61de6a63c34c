"""Scikit-learn's own checks of its conventions, its clones, pipelines and searches; only where it is installed."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import BudgetExceeded

pytestmark = pytest.mark.needs("sklearn")

EXPECTED = {
    "check_classifier_data_not_an_array": "compares two fits, whose noise differs",
    "check_fit_idempotent": "compares two fits, whose noise differs",
    "check_classifiers_one_label_sample_weights": "sample weights are refused",
}
MODELS = {
    "logistic": lambda ledger: dx.learning.PrivateLogisticRegression(
        epsilon=100, bounds=(-50, 50), outside="clip", ledger=ledger, fits=10**6
    ),
    "linear": lambda ledger: dx.learning.PrivateLinearRegression(
        epsilon=1000,
        bounds=(-100, 100),
        response=(-1000, 1000),
        outside="clip",
        ledger=ledger,
        fits=10**6,
        insecure_test_seed=1,
    ),
}


@pytest.fixture
def ledger():
    with dx.learning.open_ledger(":memory:", budget=10**9) as opened:
        yield opened


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", MODELS)
def test_it_keeps_the_conventions(name, ledger):
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(MODELS[name](ledger), expected_failed_checks=EXPECTED, on_fail=None)
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert not failed
    assert len(results) > 40


def test_a_clone_shares_the_ledger_and_the_count_of_fits(ledger):
    from sklearn.base import clone

    model = MODELS["logistic"](ledger).set_params(fits=1)
    X, y = np.random.default_rng(0).uniform(-1, 1, (200, 2)), np.arange(200) % 2
    model.fit(X, y)
    twins = clone(model), copy.deepcopy(model)
    assert all(twin.ledger is ledger for twin in twins)
    for twin in twins:
        with pytest.raises(BudgetExceeded, match="cross-validation"):
            twin.fit(X, y)
    assert ledger.spent() == 100


def test_a_cross_validation_has_to_be_asked_for_and_is_charged_for_every_fold(ledger):
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    X = np.random.default_rng(0).uniform(-1, 1, (300, 2))
    y = (X[:, 0] > 0).astype(int)
    model = make_pipeline(FunctionTransformer(), MODELS["logistic"](ledger).set_params(fits=3))
    assert cross_val_score(model, X, y, cv=3).shape == (3,)
    assert ledger.spent() == 300
    with pytest.raises(BudgetExceeded):
        cross_val_score(model, X, y, cv=3, error_score="raise")
    assert ledger.spent() == 300
