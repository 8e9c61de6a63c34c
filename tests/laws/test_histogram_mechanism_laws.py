"""What every mechanism about a histogram promises; one that is missing here fails the last test."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dxgeom.errors import BudgetExceeded, DataError, UnsupportedCombination
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.histogram_mechanism import HistogramMechanism
from dxgeom.mechanisms.matrix_workload import matrix_workload
from dxgeom.mechanisms.mwem import mwem
from dxgeom.mechanisms.selection import selection
from dxgeom.mechanisms.small_database import SmallDatabase, small_database
from dxgeom.metrics.line import LineMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.histogram_release import release_from_histogram
from dxgeom.universe.queries import LinearQueries

SIZE = 4
COUNTS = np.array([3, 1, 4, 2])
METRIC = verify(
    LineMetric(tuple(map(Fraction, range(SIZE))), Fraction(3, 4)), title="line", fingerprint="line", budget=Fraction(1)
)
ROWS = [[1, 0, 0, 0], [0, 1, 2, 3], [0, 0, 1, 1]]


def queries(factor):
    return LinearQueries.from_matrix("abc", np.array(ROWS) * factor)


MECHANISMS = {
    "permute-and-flip": lambda factor=1: selection(METRIC, queries(factor)),
    "exponential": lambda factor=1: selection(METRIC, queries(factor), "exponential"),
    "small database": lambda factor=1: small_database(METRIC, queries(factor), 0.6),
    "mwem": lambda factor=1: mwem(METRIC, matrix_workload(queries(factor)), rounds=3),
}


def essence(answer):
    """What can be compared of an answer."""
    if isinstance(answer, SmallDatabase):
        return answer.record_types
    return answer if isinstance(answer, int) else answer.measurements


@pytest.mark.parametrize("name", MECHANISMS)
def test_it_knows_its_name_and_its_metric(name):
    mechanism = MECHANISMS[name]()
    assert (str(mechanism), mechanism.metric) == (name, METRIC)


@pytest.mark.parametrize("name", MECHANISMS)
def test_its_fingerprint_is_of_what_it_does(name):
    made = [MECHANISMS[name](factor).fingerprint for factor in (1, 1, 2)]
    assert made[0] == made[1] != made[2]
    assert len({make().fingerprint for make in MECHANISMS.values()}) == len(MECHANISMS)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_release_charges_the_spend_and_then_draws_by_the_law(name):
    with Ledger.open(":memory:", policy_fingerprint="line", policy_name="line", budget=Fraction(1)) as ledger:
        release = release_from_histogram(MECHANISMS[name](), COUNTS, ledger=ledger, spend=0.3, insecure_test_seed=5)
        assert (release.spent, release.remaining) == (Fraction(3, 10), Fraction(7, 10))
        assert (release.records, release.dropped, release.secure) == (10, 0, False)
        drawn = MECHANISMS[name]().draw(COUNTS, Fraction(3, 10), InsecureSeededRandomness(5))
        assert essence(release.answer) == essence(drawn)
        (entry,) = ledger.entries()
        assert entry.purpose == f"one answer by {name}"
        assert entry.plan_fingerprint == MECHANISMS[name]().fingerprint
        with pytest.raises(BudgetExceeded):
            release_from_histogram(MECHANISMS[name](), COUNTS, ledger=ledger, spend=0.8)


@pytest.mark.parametrize("name", MECHANISMS)
def test_wrong_data_costs_nothing(name):
    with Ledger.open(":memory:", policy_fingerprint="line", policy_name="line", budget=Fraction(1)) as ledger:
        for table in ([1, 2], [1, 2, 3, -4], np.array([0.5, 1, 1, 1])):
            with pytest.raises(DataError):
                release_from_histogram(MECHANISMS[name](), table, ledger=ledger, spend=1)
        with pytest.raises(UnsupportedCombination, match="histogram array"):
            release_from_histogram(MECHANISMS[name](), "table.csv", ledger=ledger, spend=1)
        with pytest.raises(UnsupportedCombination, match="spend"):
            release_from_histogram(MECHANISMS[name](), COUNTS, ledger=ledger, spend=0)
        assert ledger.spent() == 0


def test_no_mechanism_is_forgotten():
    assert {type(make()) for make in MECHANISMS.values()} == set(HistogramMechanism.__subclasses__())
