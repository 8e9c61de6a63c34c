"""Private linear regression: its noise hides every change, its totals are exact, its intervals cover."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dxgeom.errors import ArrayError, DataError, DxgeomError
from dxgeom.learning import PrivateLinearRegression, open_ledger
from dxgeom.learning.least_squares import NoisyLeastSquares, arranged
from dxgeom.learning.plain_arrays import warn_of_synthetic
from dxgeom.learning.regression_totals import (
    FIGURES,
    GRID,
    RegressionTotals,
    cut_noise,
    cylinder_noise,
    integer_totals,
    joint_noise,
)
from dxgeom.ledger.entry import Account
from dxgeom.universe.reading.record_tables import SYNTHETIC

ACCOUNT = Account("test", "test", Fraction(1))
TRUTH = np.array([0.1, 0.5, -0.4, 0.3])


@pytest.fixture
def ledger():
    with open_ledger(":memory:", budget=10_000) as opened:
        yield opened


def table_of(count, seed):
    generator = np.random.default_rng(seed)
    X = generator.uniform(-1, 1, (count, 3))
    return X, np.clip(TRUTH[0] + X @ TRUTH[1:] + generator.normal(0, 0.2, count), -2, 2)


def model_of(ledger, **others):
    return PrivateLinearRegression(**{"epsilon": 1, "bounds": (-1, 1), "response": (-2, 2), "ledger": ledger, **others})


@pytest.mark.parametrize("numbers", [2, 3])
def test_the_body_holds_what_any_two_records_change(numbers):
    """Every pair of records with entries on a coarse grid of the box, its corners and what is between them."""
    law = cylinder_noise(numbers)
    values = np.array([-GRID, -GRID // 2, 0, 7, GRID // 3, GRID], dtype=np.int64)
    records = np.array(list(itertools.product(values, repeat=numbers)))
    totals = np.array([integer_totals(record[None, :]) for record in records], dtype=np.float64)
    generator = np.random.default_rng(0)
    i, j = generator.integers(len(records), size=(2, 3000))
    loads = law.loss_upper_bounds(totals[i] - totals[j], np.zeros((3000, totals.shape[1])))
    assert loads.max() <= 1 + 1e-12
    assert loads.max() > 0.99


def test_a_number_and_its_square_are_hidden_wherever_they_are():
    """Differences (z − z′, z² − z′²) of the grid's finest and coarsest parts, against the very body drawn from."""
    body = cylinder_noise(2).parts[0].known_body
    z = np.unique(np.concatenate([np.linspace(-GRID, GRID, 801).round(), [GRID - 1, 1 - GRID]]))
    first, second = (x.ravel() for x in np.meshgrid(z, z))
    shifts = np.column_stack([first - second, first**2 - second**2])
    assert body.gauge_upper_bounds(shifts, np.zeros_like(shifts)).max() <= 1 + 1e-12


@pytest.mark.long
def test_the_joint_hull_of_one_predictor_holds_every_change_with_less_noise(ledger):
    values = np.unique(np.concatenate([np.linspace(-GRID, GRID, 33).round(), [GRID - 1, 7]])).astype(np.int64)
    records = np.array(list(itertools.product(values, repeat=2)))
    totals = np.array([integer_totals(record[None, :]) for record in records], dtype=np.float64)
    i, j = np.random.default_rng(0).integers(len(records), size=(2, 20_000))
    loads = joint_noise().loss_upper_bounds(totals[i] - totals[j], np.zeros((20_000, 5)))
    assert 0.85 < loads.max() <= 1 + 1e-12
    hull, cylinders = (
        np.diag(RegressionTotals("test", ("a",), ACCOUNT, shape).covariance(Fraction(1)))
        for shape in ("hull", "cylinders")
    )
    assert hull.sum() < 0.92 * cylinders.sum()
    assert hull[-1] < 0.65 * cylinders[-1]
    X, y = table_of(4000, 2)
    plain = np.linalg.lstsq(np.column_stack([np.ones(4000), X[:, 0]]), y, rcond=None)[0]
    model = model_of(ledger, epsilon=2000, mechanism="hull").fit(X[:, :1], y)
    assert np.array([model.intercept_, *model.coef_]) == pytest.approx(plain, abs=4e-3)
    assert model.release_.mechanism.fingerprint != RegressionTotals("test", ("a",), ACCOUNT).fingerprint


def changes_of(numbers, count):
    """Of random pairs of records from the box's corners, its middle lines, odd places, and anywhere."""
    generator = np.random.default_rng(numbers)
    marked = generator.choice([-GRID, -GRID // 2, 0, 7, GRID // 3, GRID], (count, 2, numbers))
    anywhere = generator.integers(-GRID, GRID + 1, (count, 2, numbers))
    records = np.concatenate([marked, anywhere]).reshape(-1, numbers)
    totals = np.array([integer_totals(record[None, :]) for record in records], dtype=np.float64)
    return totals[::2] - totals[1::2]


@pytest.mark.long
@pytest.mark.parametrize("numbers", [3, 4])
def test_the_cut_body_of_two_and_three_predictors_holds_every_change(numbers):
    law, changes = cut_noise(numbers), changes_of(numbers, 15_000)
    assert 0.99 < law.loss_upper_bounds(changes, np.zeros_like(changes)).max() <= 1 + 1e-12


@pytest.mark.long
def test_every_halfspace_touches_the_changes_or_nearly_and_none_cuts_into_them():
    """For each halfspace the far records are sought on a grid of the box, beside the exact maximum of the quadratic."""
    law = cut_noise(3)
    values = np.linspace(-GRID, GRID, 25).round().astype(np.int64)
    records = np.array(list(itertools.product(values, repeat=3)))
    totals = np.array([integer_totals(record[None, :]) for record in records], dtype=np.float64)
    heights = totals @ law.normals.T
    reached = (heights.max(axis=0) - heights.min(axis=0)) / law.heights
    assert reached.min() > 0.99 and reached.max() <= 1
    assert len({tuple(normal) for normal in [*law.normals, *-law.normals]}) == 2 * len(law.normals) == 396


@pytest.mark.long
@pytest.mark.parametrize(("numbers", "saved"), [(3, 0.308), (4, 0.414)])
def test_figures_of_the_cut_noise_are_those_of_its_law_and_it_saves_what_the_hull_does(numbers, saved):
    """Within 2 %, where 40,000 draws have a standard error below .5 %."""
    law, figures = cut_noise(numbers), FIGURES[numbers]
    names = tuple("abc"[: numbers - 1])
    hull, cylinders = (
        np.diag(RegressionTotals("test", names, ACCOUNT, shape).covariance(Fraction(1)))
        for shape in ("hull", "cylinders")
    )
    assert hull.sum() < (1 - saved) * cylinders.sum()
    scales = np.array([GRID, GRID**2] * numbers + [GRID**2] * (len(hull) - 2 * numbers))
    draws = law.simulate(40_000, np.random.default_rng(1)) / scales
    found = (draws**2).mean(axis=0)
    assert found[0 : 2 * numbers : 2].mean() == pytest.approx(figures.number, rel=0.02)
    assert found[1 : 2 * numbers : 2].mean() == pytest.approx(figures.square, rel=0.02)
    assert found[2 * numbers :].mean() == pytest.approx(figures.product, rel=0.02)
    tries = law.envelope.simulate(40_000, np.random.default_rng(2))
    spare = np.random.default_rng(3).standard_exponential(40_000)
    norms = law.loss_upper_bounds(tries, np.zeros_like(tries))
    kept = spare >= norms - law.envelope.body.gauge(tries)
    assert kept.mean() == pytest.approx(figures.share, rel=0.05)


@pytest.mark.long
def test_two_and_three_predictors_are_fitted_under_the_hull_and_four_are_refused(ledger):
    X, y = table_of(4000, 2)
    for count in (2, 3):
        plain = np.linalg.lstsq(np.column_stack([np.ones(4000), X[:, :count]]), y, rcond=None)[0]
        model = model_of(ledger, epsilon=2000, mechanism="hull").fit(X[:, :count], y)
        assert np.array([model.intercept_, *model.coef_]) == pytest.approx(plain, abs=4e-3)
        again = RegressionTotals("linear regression", tuple(f"x{k}" for k in range(count)), ACCOUNT)
        assert model.release_.mechanism.fingerprint != again.fingerprint
    with pytest.raises(DxgeomError, match="one to three predictors; found 4"):
        model_of(ledger, mechanism="hull").fit(np.column_stack([X, X[:, 0]]), y)


def test_totals_are_exact_and_arranged_as_matrices():
    X, y = table_of(50, 1)
    places = np.rint(np.column_stack([X, y / 2]) * GRID).astype(np.int64)
    mechanism = RegressionTotals("test", ("a", "b", "c"), ACCOUNT)
    totals = np.array(
        [total * float(step) for total, step in zip(integer_totals(places), mechanism.steps, strict=True)]
    )
    z = places / GRID
    whole = np.column_stack([np.ones(50), z])
    found = arranged(mechanism.layout, totals, 50)
    assert found.gram == pytest.approx(whole[:, :-1].T @ whole[:, :-1])
    assert found.cross == pytest.approx(whole[:, :-1].T @ z[:, -1])
    assert found.square == pytest.approx(z[:, -1] @ z[:, -1])


def test_with_little_noise_it_is_least_squares(ledger):
    X, y = table_of(4000, 2)
    model = model_of(ledger, epsilon=5000).fit(X, y)
    plain = np.linalg.lstsq(np.column_stack([np.ones(4000), X]), y, rcond=None)[0]
    assert np.array([model.intercept_, *model.coef_]) == pytest.approx(plain, abs=2e-3)
    assert model.score(X, y) > 0.8


def test_raw_units_change_nothing_but_the_coefficients(ledger):
    X, y = table_of(4000, 2)
    first = model_of(ledger, insecure_test_seed=1).fit(X, y)
    other = model_of(ledger, insecure_test_seed=1, bounds=([8, 0, -3], [12, 200, 3]), response=(0, 40)).fit(
        X * [2, 100, 3] + [10, 100, 0], 10 * y + 20
    )
    assert other.coef_ == pytest.approx(10 * first.coef_ / [2, 100, 3])
    assert other.predict(X[:9] * [2, 100, 3] + [10, 100, 0]) == pytest.approx(10 * first.predict(X[:9]) + 20)
    assert other.intervals()[1:] == pytest.approx(first.intervals()[1:] * 10 / np.array([[2], [100], [3]]))


@pytest.mark.long
@pytest.mark.parametrize(("records", "epsilon"), [(2000, 1), (2000, 20)])
def test_intervals_cover_the_population_s_coefficients(records, epsilon, ledger):
    """Of 60 fits with 4 coefficients each at 90 %: fewer than 80 % has a chance below 1e-4."""
    covered = []
    for seed in range(60):
        X, y = table_of(records, 100 + seed)
        bars = model_of(ledger, epsilon=epsilon).fit(X, y).intervals(0.9)
        covered.append((bars[:, 0] <= TRUTH) & (bars[:, 1] >= TRUTH))
    assert np.mean(covered) >= 0.8


def test_without_an_intercept_nought_is_nought(ledger):
    X, y = table_of(3000, 3)
    model = model_of(ledger, fit_intercept=False).fit(X, y)
    assert model.predict(np.zeros((1, 3))) == pytest.approx([0])
    assert np.array_equal(model.intervals()[0], [0, 0])


@pytest.mark.filterwarnings("ignore:.*tell next to nothing")
@pytest.mark.parametrize(
    ("table", "responses"),
    [
        (np.ones((50, 2)), np.linspace(-1, 1, 50)),
        (np.zeros((1, 1)), np.zeros(1)),
        (np.full((3, 12), 0.5), np.ones(3)),
    ],
    ids=["constant columns", "one record", "more columns than rows"],
)
def test_awkward_data_have_a_finite_answer(table, responses, ledger):
    model = model_of(ledger, epsilon="1/100").fit(table, responses)
    assert np.all(np.isfinite(model.coef_))
    assert np.all(np.isfinite(model.intervals()))


def test_the_matrix_is_positive_definite_whatever_the_noise():
    mechanism = RegressionTotals("test", ("a", "b"), ACCOUNT)
    for seed in range(20):
        noise = mechanism.law.simulate(1, np.random.default_rng(seed))[0] * [float(step) for step in mechanism.steps]
        fit = NoisyLeastSquares(mechanism, tuple(map(Fraction, noise * 50)), 10, Fraction(1, 50))
        assert np.linalg.eigvalsh(fit.matrix).min() > 0


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"response": None}, "'response' is a pair"),
        ({"response": (-1, 0)}, "y has rows beyond its bounds"),
        ({"bounds": (-0.5, 0.5)}, "X has rows beyond its bounds"),
        ({"ridge": -1}, "ridge"),
        ({"mechanism": "box"}, "'mechanism' is auto, cylinders"),
        ({"epsilon": "little"}, "epsilon"),
    ],
)
def test_nothing_is_spent_on_a_refusal(changed, refusal, ledger):
    with pytest.raises(DxgeomError, match=refusal):
        model_of(ledger, **changed).fit(*table_of(100, 0))
    assert ledger.spent() == 0


def test_responses_that_are_no_numbers_are_refused(ledger):
    X, y = table_of(100, 0)
    for wrong in (np.where(y > 0, np.nan, y), np.full(100, "a")):
        with pytest.raises(ArrayError):
            model_of(ledger).fit(X, wrong)


def test_data_frames_and_clipping(ledger):
    X, y = table_of(3000, 4)
    frame = pd.DataFrame(X, columns=list("abc"))
    model = model_of(ledger, bounds=(-0.5, 0.5), outside="clip").fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(DataError):
        RegressionTotals("test", ("a",), ACCOUNT).check([[1.5, 0]], Fraction(1))


def test_a_fit_to_synthetic_records_says_that_its_intervals_leave_their_noise_out():
    X, table = np.zeros((2, 1)), pd.DataFrame({"a": [0.1, 0.2]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for real in (X, table, [[0.1]]):
            warn_of_synthetic(real)
    table.attrs["dxgeom"] = SYNTHETIC
    with pytest.warns(UserWarning, match="leave out the noise"):
        warn_of_synthetic(table)
    with pytest.warns(UserWarning, match="leave out the noise"), pytest.raises(DxgeomError):
        PrivateLinearRegression().fit(table, None)
