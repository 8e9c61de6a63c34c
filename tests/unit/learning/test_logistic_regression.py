"""Private logistic regression as an estimator: its conventions, its budget, its refusals."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import dxgeom as dx
from dxgeom.errors import ArrayError, BudgetExceeded, DxgeomError, LedgerError, UnsupportedCombination
from dxgeom.learning import PrivateLogisticRegression, open_ledger


def people(count=3000, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.uniform([18, 0], [90, 60], (count, 2))
    odds = np.exp(-6 + 0.06 * X[:, 0] + 0.08 * X[:, 1])
    return X, np.where(generator.random(count) < odds / (1 + odds), "high", "low")


X, Y = people()
BOUNDS = ([18, 0], [90, 60])


@pytest.fixture
def ledger():
    with open_ledger(":memory:", budget=100) as opened:
        yield opened


def model_of(ledger, **others):
    return PrivateLogisticRegression(**{"epsilon": 1, "bounds": BOUNDS, "ledger": ledger, **others})


def test_a_fit_is_charged_and_predicts_about_as_well_as_without_noise(ledger):
    model = model_of(ledger, insecure_test_seed=1).fit(X, Y)
    assert ledger.spent() == 1
    assert model.release_.spent == 1
    assert list(model.classes_) == ["high", "low"]
    assert model.score(*people(seed=9)) > 0.75
    chances = model.predict_proba(X)
    assert chances.shape == (3000, 2)
    assert chances.sum(axis=1) == pytest.approx(np.ones(3000))
    assert np.log(chances) == pytest.approx(model.predict_log_proba(X))
    assert np.array_equal(model.predict(X), np.where(chances[:, 1] > 0.5, "low", "high"))
    assert model.coef_.shape == (1, 2)
    assert np.all(model.coef_ < 0)


def test_raw_units_change_nothing_but_the_coefficients(ledger):
    first = model_of(ledger, insecure_test_seed=3).fit(X, Y)
    thousands = model_of(ledger, insecure_test_seed=3, bounds=([18_000, 0], [90_000, 60_000])).fit(1000 * X, Y)
    assert thousands.coef_ == pytest.approx(first.coef_ / 1000)
    assert thousands.intercept_ == pytest.approx(first.intercept_)


def test_without_an_intercept_nought_is_nought(ledger):
    model = model_of(ledger, fit_intercept=False, insecure_test_seed=1).fit(X, Y)
    assert model.decision_function([[0, 0]]) == pytest.approx([0])


def test_rows_of_a_ball_are_taken(ledger):
    rows = X / np.linalg.norm(X, axis=1, keepdims=True)
    model = model_of(ledger, bounds=None, radius=1).fit(rows, Y)
    assert model.coef_.shape == (1, 2)
    with pytest.raises(ArrayError, match="longer than the radius"):
        model_of(ledger, bounds=None, radius=0.5).fit(rows, Y)
    assert model_of(ledger, bounds=None, radius=0.5, outside="clip").fit(rows, Y).coef_.shape == (1, 2)


def test_data_frames_keep_their_columns_names(ledger):
    frame = pd.DataFrame(X, columns=["age", "hours"])
    model = model_of(ledger, insecure_test_seed=2).fit(frame, pd.Series(Y))
    assert list(model.feature_names_in_) == ["age", "hours"]
    assert np.array_equal(model.predict(frame[:50]), model_of(ledger, insecure_test_seed=2).fit(X, Y).predict(X[:50]))
    with pytest.raises(ArrayError, match="feature names should match"):
        model.predict(frame[["hours", "age"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


@pytest.mark.parametrize(
    ("changed", "data", "refusal"),
    [
        ({"ledger": None}, (X, Y), "a fit is a release"),
        ({"ledger": ":memory:"}, (X, Y), "open it once"),
        ({"epsilon": None}, (X, Y), "epsilon="),
        ({"epsilon": -1}, (X, Y), "positive number"),
        ({"bounds": None}, (X, Y), "either bounds"),
        ({"radius": 3}, (X, Y), "either bounds"),
        ({"bounds": (0, 0)}, (X, Y), "low < high"),
        ({"bounds": 3}, (X, Y), "is a pair"),
        ({"bounds": ([1, 2, 3], [4, 5, 6])}, (X, Y), "is a pair"),
        ({"share": 1}, (X, Y), "between 0 and 1"),
        ({"fits": 0}, (X, Y), "whole number"),
        ({"outside": "drop"}, (X, Y), "'refuse' or 'clip'"),
        ({"bounds": (0, 50)}, (X, Y), "rows beyond its bounds: "),
        ({}, (X[:, 0], Y), "Expected 2D array"),
        ({}, (X, Y[:-1]), "inconsistent numbers"),
        ({}, (np.where(X > 50, np.nan, X), Y), "NaN"),
        ({}, (X, np.arange(len(X)) % 3), "multiclass"),
        ({}, (X, np.zeros(len(X))), "1 class"),
        ({"classes": ("high", "none")}, (X, Y), "none of the classes"),
        ({}, (X.astype(str) + "y", Y), "numbers"),
    ],
)
def test_nothing_is_spent_on_a_refusal(changed, data, refusal, ledger):
    with pytest.raises(DxgeomError, match=refusal):
        PrivateLogisticRegression(**{"epsilon": 1, "bounds": BOUNDS, "ledger": ledger, **changed}).fit(*data)
    assert ledger.spent() == 0


def test_sample_weights_are_refused_with_the_reason(ledger):
    with pytest.raises(UnsupportedCombination, match="tells w times as much"):
        model_of(ledger).fit(X, Y, sample_weight=np.ones(len(X)))
    assert ledger.spent() == 0


@pytest.mark.parametrize(
    ("table", "labels"),
    [
        (np.ones((50, 2)) * 30, np.arange(50) % 2),
        (np.linspace(20, 50, 50)[:, None] * np.ones(2), np.arange(50) >= 25),
        (np.full((3, 60), 30.0), np.array([0, 1, 1])),
    ],
    ids=["constant columns", "separable", "more columns than rows"],
)
def test_awkward_data_have_a_finite_answer(table, labels, ledger):
    model = model_of(ledger, bounds=(0, 60)).fit(table, labels)
    assert np.all(np.isfinite(model.coef_))
    assert ledger.spent() == 1


def test_one_class_is_kept_private_where_both_are_stated(ledger):
    model = model_of(ledger, classes=("high", "low")).fit(X, np.full(len(X), "high"))
    assert set(model.predict(X)) <= {"high", "low"}


def test_clones_and_copies_share_the_ledger_and_the_count_of_fits(ledger):
    model = model_of(ledger, fits=2).fit(X, Y)
    twin = copy.deepcopy(model)
    assert twin.ledger is ledger
    assert model.__sklearn_clone__().ledger is ledger
    twin.fit(X, Y)
    for other in (model, twin, model.__sklearn_clone__(), copy.copy(model)):
        with pytest.raises(BudgetExceeded, match="fits=3 or more"):
            other.fit(X, Y)
    assert ledger.spent() == 2


def test_a_refused_fit_does_not_count_as_one(ledger):
    model = model_of(ledger, epsilon=1000)
    with pytest.raises(BudgetExceeded):
        model.fit(X, Y)
    model.set_params(epsilon=1).fit(X, Y)
    assert ledger.spent() == 1


def test_the_same_fit_is_shown_again_at_no_cost(tmp_path):
    file = tmp_path / "privacy.db"
    first = model_of(str(file), id="ages").fit(X, Y)
    again = model_of(str(file), id="ages").fit(X, Y)
    assert np.array_equal(first.coef_, again.coef_)
    assert again.release_.repeated
    with pytest.raises(LedgerError):
        model_of(str(file), id="ages", ridge=5).fit(X, Y)


def test_a_fitted_model_travels_without_its_ledger_in_memory(ledger):
    model = model_of(ledger).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = pickle.loads(pickle.dumps(model))
    assert other.ledger is None
    assert np.array_equal(other.predict(X), model.predict(X))


def test_parameters_are_told_and_set():
    model = PrivateLogisticRegression(epsilon=2)
    assert model.get_params()["epsilon"] == 2
    assert repr(model) == "PrivateLogisticRegression(epsilon=2)"
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(alpha=1)
    with pytest.raises((DxgeomError, ValueError), match="not fitted"):
        model.predict(X)


def test_the_release_can_be_written_as_json(ledger):
    model = model_of(ledger).fit(X, Y)
    assert '"logistic regression"' in model.release_.to_json()
    assert isinstance(model.release_, dx.Release)
