"""A private count of errors, and a private choice among models."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dxgeom.errors import DataError, DxgeomError, LedgerError
from dxgeom.learning import FewestErrors, open_ledger, private_error, select_model
from dxgeom.learning.accounts import plain_account
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
