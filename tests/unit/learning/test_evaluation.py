"""A private count of errors, and a private choice among models."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dxgeom.errors import DataError, DxgeomError, LedgerError
from dxgeom.learning import FewestErrors, PrivateLogisticRegression, open_ledger, private_error, select_model
from dxgeom.learning.plain_arrays import plain_account
from dxgeom.numeric.randomness import InsecureSeededRandomness

X, Y = np.arange(1000)[:, None], np.arange(1000) % 2


class Wrong:
    """A model that errs on so many of the records above."""

    def __init__(self, errors):
        self.errors = errors

    def predict(self, table):
        return np.where(np.arange(len(table)) < self.errors, 1 - Y[: len(table)], Y[: len(table)])


@pytest.fixture
def ledger():
    with open_ledger(":memory:", budget=1000) as opened:
        yield opened


def test_a_count_of_errors_is_charged_and_near(ledger):
    rate = private_error(Wrong(200), X, Y, epsilon=1, ledger=ledger)
    assert ledger.spent() == 1
    assert abs(rate.errors - 200) < 60
    assert 0 <= rate.low <= rate.rate <= rate.high <= 1


def test_its_interval_covers(ledger):
    """400 counts at 95 %: fewer than 90 % has a chance below 1e-4."""
    rates = [private_error(Wrong(200), X, Y, epsilon=2, ledger=ledger) for _ in range(400)]
    assert np.mean([rate.low <= 0.2 <= rate.high for rate in rates]) > 0.9


def test_the_model_of_fewest_errors_is_chosen_nearly_always(ledger):
    models = [Wrong(300), Wrong(100), Wrong(500)]
    assert select_model(models, X, Y, epsilon=1, ledger=ledger) == 1
    assert ledger.spent() == 1


def test_a_choice_has_the_chances_of_permute_and_flip():
    mechanism = FewestErrors("test", 2, plain_account(Fraction(1)))
    marks = [[1, 0], [1, 0], [0, 0]]
    drawn = [mechanism.draw(marks, Fraction(1), InsecureSeededRandomness(seed)) for seed in range(2000)]
    assert np.mean(np.array(drawn) == 0) == pytest.approx(math.exp(-1) / 2, abs=0.05)


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (lambda ledger: private_error(Wrong(1), X, Y[:-1], epsilon=1, ledger=ledger), "same records"),
        (lambda ledger: private_error(Wrong(1), X, Y, epsilon=0, ledger=ledger), "positive number"),
        (lambda ledger: private_error(Wrong(1), X, Y, epsilon=1, ledger=None), "a fit is a release"),
        (lambda ledger: select_model([], X, Y, epsilon=1, ledger=ledger), "nothing to choose"),
    ],
)
def test_nothing_is_spent_on_a_refusal(call, refusal, ledger):
    with pytest.raises((DxgeomError, DataError, LedgerError), match=refusal):
        call(ledger)
    assert ledger.spent() == 0


def fitted(epsilon: str, ledger) -> PrivateLogisticRegression:
    generator = np.random.default_rng(0)
    table = generator.uniform(-1, 1, (200, 1))
    return PrivateLogisticRegression(epsilon=epsilon, bounds=(-1, 1), ledger=ledger).fit(table, table[:, 0] > 0)


def test_an_id_never_shows_the_error_of_another_model(ledger):
    def ask(errors: int, named: str = "", records: int = 1000):
        return private_error(
            Wrong(errors), X[:records], Y[:records], epsilon=1, ledger=ledger, id="monday", named=named
        )

    with pytest.raises(DxgeomError, match="nothing says which model"):
        ask(200)
    first = ask(200, "forest 1")
    assert ask(200, "forest 1") == first
    for others in ({"named": "forest 2"}, {"named": "forest 1", "records": 900}):
        with pytest.raises(LedgerError, match="another plan"):
            ask(800, **others)
    assert ledger.spent() == 1


def test_released_models_are_known_by_what_was_released(ledger):
    one, other = fitted("2", ledger), fitted("3", ledger)
    errors = [private_error(one, X, Y > 0, epsilon=1, ledger=ledger, id="error") for _ in range(2)]
    assert errors[0] == errors[1]
    assert ledger.spent() == 6
    with pytest.raises(LedgerError, match="another plan"):
        private_error(other, X, Y > 0, epsilon=1, ledger=ledger, id="error")
    chosen = [select_model([one, other], X, Y > 0, epsilon=1, ledger=ledger, id="best") for _ in range(2)]
    assert chosen[0] == chosen[1]
    with pytest.raises(LedgerError, match="another plan"):
        select_model([other, one], X, Y > 0, epsilon=1, ledger=ledger, id="best")
    assert ledger.spent() == 7


def test_models_that_are_chosen_among_have_a_name_each(ledger):
    models = [Wrong(300), Wrong(100)]
    with pytest.raises(DxgeomError, match="name each"):
        select_model(models, X, Y, epsilon=1, ledger=ledger, id="best", names=["a"])
    with pytest.raises(DxgeomError, match="nothing says which model"):
        select_model(models, X, Y, epsilon=1, ledger=ledger, id="best", names=["a", ""])
    assert ledger.spent() == 0
    place = select_model(models, X, Y, epsilon=1, ledger=ledger, id="best", names=["a", "b"])
    with pytest.raises(LedgerError, match="another plan"):
        select_model(models, X, Y, epsilon=1, ledger=ledger, id="best", names=["b", "a"])
    assert select_model(models, X, Y, epsilon=1, ledger=ledger, id="best", names=["a", "b"]) == place
