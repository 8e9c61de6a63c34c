"""Every database of three individuals and three values, against the closed forms."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import pytest

from dxgeom.errors import DxgeomError, UnsupportedCombination
from dxgeom.lab.dataset_space import (
    DatabasePolicy,
    average,
    database_distance,
    percentile,
    total,
)
from dxgeom.lab.finite_mechanism import FiniteMechanism, privacy_level
from dxgeom.lab.laplace_tables import truncated_geometric, truncated_geometric_law

UNDER = ("hamming", "normalised manhattan", "manhattan", "maximum")
QUERIES = {
    "sum": (total,),
    "average": (average,),
    "percentile": tuple(lambda x, p=p: percentile(x, p) for p in (0, 50, 99)),
}


def databases(individuals, largest):
    values = [None, *range(largest + 1)]
    return [x for x in product(values, repeat=individuals) if any(value is not None for value in x)]


@pytest.mark.parametrize("under", UNDER)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(("individuals", "largest"), [(3, 2), (2, 3), (1, 3)])
def test_the_sensitivity_is_the_largest_quotient_over_all_pairs(under, query, individuals, largest):
    for function in QUERIES[query]:
        found = max(
            abs(function(x) - function(y)) / database_distance(x, y, under, largest)
            for x, y in combinations(databases(individuals, largest), 2)
        )
        step = Fraction(1, 2) if "manhattan" != under != "maximum" else Fraction(1)
        policy = DatabasePolicy(individuals, step, largest, under, Fraction(1))
        assert policy.sensitivity(query) == found * step


@pytest.mark.parametrize("under", UNDER)
@pytest.mark.parametrize("query", QUERIES)
def test_the_composed_mechanism_honours_the_metric_on_databases(under, query):
    policy = DatabasePolicy(2, Fraction(1), 2, under, Fraction(3, 4))
    table = truncated_geometric(policy.metric(query))
    everyone = databases(2, 2)
    distances = [[policy.epsilon * database_distance(x, y, under, 2) for y in everyone] for x in everyone]
    for function in QUERIES[query]:
        law = FiniteMechanism(tuple(table.law.rows[function(x)] for x in everyone))
        level = privacy_level(law, distances)
        assert 1 - 1e-12 < level.lower <= level.upper <= 1


def test_halves_rounded_to_even_double_the_sensitivity():
    one, other = (0, 1), (1, 2)
    assert database_distance(one, other, "maximum", 2) == 1
    assert round(sum(other) / 2) - round(sum(one) / 2) == 2
    assert average(other) - average(one) == 1


def test_one_query_after_another_shares_a_ledger():
    policy = DatabasePolicy(3, Fraction(1), 4, "manhattan", Fraction(1))
    assert policy.metric("sum").fingerprint == policy.metric("average").fingerprint
    other = DatabasePolicy(4, Fraction(1), 4, "manhattan", Fraction(1))
    assert policy.metric("sum").fingerprint != other.metric("sum").fingerprint
    assert (policy.answers("sum"), policy.answers("percentile")) == (13, 5)


def test_which_answers_are_optimal_is_what_the_theorems_say():
    def optimal(under, individuals=3, largest=2):
        policy = DatabasePolicy(individuals, Fraction(1), largest, under, Fraction(1))
        return [query for query in QUERIES if policy.is_optimal(query)]

    assert optimal("hamming") == []
    assert optimal("hamming", largest=1) == list(QUERIES)
    assert optimal("normalised manhattan") == optimal("manhattan") == list(QUERIES)
    assert optimal("maximum") == ["average", "percentile"]
    assert optimal("maximum", individuals=1) == list(QUERIES)


def test_noise_of_its_own_for_each_reading_reveals_as_many_times_more():
    """Two readings, each by the mechanism for ε: under the maximum metric the pair is 2ε-private and no better."""
    law = truncated_geometric_law(3, Fraction(2))
    readings = list(product(range(4), repeat=2))
    rows = tuple(tuple(law.rows[a][c] * law.rows[b][d] for c, d in product(range(4), repeat=2)) for a, b in readings)
    distances = [[Fraction(max(abs(a - c), abs(b - d))) for c, d in readings] for a, b in readings]
    assert privacy_level(FiniteMechanism(rows), distances).odds == Fraction(2) ** 2
    halved = truncated_geometric_law(3, Fraction(7, 5))
    rows = tuple(
        tuple(halved.rows[a][c] * halved.rows[b][d] for c, d in product(range(4), repeat=2)) for a, b in readings
    )
    assert privacy_level(FiniteMechanism(rows), distances).odds == Fraction(49, 25) < 2


def test_what_makes_no_sense_is_refused():
    with pytest.raises(DxgeomError, match="somebody is present"):
        total([None, None])
    with pytest.raises(DxgeomError, match=r"0\.\.99"):
        percentile([1], 100)
    with pytest.raises(DxgeomError):
        DatabasePolicy(0, Fraction(1), 1, "hamming", Fraction(1))
    with pytest.raises(UnsupportedCombination, match="no metric"):
        DatabasePolicy(1, Fraction(1), 1, "euclid", Fraction(1))
    with pytest.raises(UnsupportedCombination, match="no query"):
        DatabasePolicy(1, Fraction(1), 1, "hamming", Fraction(1)).sensitivity("mode")
