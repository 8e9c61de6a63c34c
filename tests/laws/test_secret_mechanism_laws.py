"""What every mechanism about one secret promises; one that is missing here fails the last test."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dxgeom.mechanisms.finite_laplace import finite_laplace, halved_exponential, truncated_geometric
from dxgeom.mechanisms.optimal_table import optimal_table
from dxgeom.mechanisms.planar import planar_laplace
from dxgeom.mechanisms.secret_mechanism import SecretMechanism
from dxgeom.metrics.line import LineMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.secret_release import release_secret

SIZE = 4
LOSSES = [[Fraction(abs(x - w)) for w in range(SIZE)] for x in range(SIZE)]
METRIC = verify(
    LineMetric(tuple(map(Fraction, range(SIZE))), Fraction(3, 4)), title="line", fingerprint="line", budget=Fraction(1)
)
PLACES = np.array([[9 * x, 0] for x in range(SIZE)])
MECHANISMS = {
    "truncated geometric": lambda spend: truncated_geometric(METRIC, spend),
    "finite Laplace": lambda spend: finite_laplace(METRIC, spend),
    "halved exponential": lambda spend: halved_exponential(METRIC, spend),
    "optimal table": lambda spend: optimal_table(METRIC, [Fraction(1, SIZE)] * SIZE, LOSSES, spend),
    "planar Laplace": lambda spend: planar_laplace(METRIC, PLACES, Fraction(1, 9), spend),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_it_knows_its_name_its_metric_and_its_spend(name):
    mechanism = MECHANISMS[name](Fraction(2, 3))
    assert (str(mechanism), mechanism.metric, mechanism.spend) == (name, METRIC, Fraction(2, 3))


@pytest.mark.parametrize("name", MECHANISMS)
def test_its_fingerprint_tells_spends_apart_and_nothing_else(name):
    made = [MECHANISMS[name](spend).fingerprint for spend in (Fraction(1), Fraction(1), Fraction(1, 2))]
    assert made[0] == made[1] != made[2]


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_secret_that_does_not_exist_has_no_answer(name):
    mechanism = MECHANISMS[name](Fraction(1))
    for secret in (-1, SIZE):
        with pytest.raises(IndexError):
            mechanism.draw(secret, InsecureSeededRandomness(1))


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_release_spends_exactly_what_the_mechanism_was_made_for(name):
    release = release_secret(MECHANISMS[name](Fraction(1, 3)), 1, ledger=":memory:", insecure_test_seed=5)
    assert (release.spent, release.remaining) == (Fraction(1, 3), Fraction(2, 3))
    assert release.answer == MECHANISMS[name](Fraction(1, 3)).draw(1, InsecureSeededRandomness(5))


def test_no_mechanism_is_forgotten():
    assert {type(make(Fraction(1))) for make in MECHANISMS.values()} == set(SecretMechanism.__subclasses__())
