import itertools
from fractions import Fraction

import numpy as np
import pytest
from reference.bodies import generating_pairs_of

import dxgeom as dx
from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.metrics.combinations import CapMetric, Group, GroupedMetric, MaxMetric, ReorderedMetric, SumMetric
from dxgeom.metrics.differences import generating_differences
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.restriction import without_idle_attributes

LINE = LineMetric(tuple(Fraction(x) for x in ("0", "0.1", "5", "5.5")), Fraction("0.3"))
VALUES = ValueSensitivityMetric(tuple(Fraction(x) for x in ("1", "0.1", "0.1", "0.7")))
PLACES = PointsMetric(np.array([[0.0, 0.1], [3.0, 0.7], [1.5, 2.2]]), "plane", Fraction("0.02"))
PATH = GraphMetric(4, np.array([0, 1, 1]), np.array([1, 2, 3]), np.array([0.5, 0.0, 0.25]))
DISCRETE = DiscreteMetric(3, Fraction("0.1"))
EVEN = LineMetric(tuple(Fraction(x) for x in ("1", "1.5", "2", "2.5")), Fraction("0.3"))
BLOCKS = PartitionMetric(np.array([1, 0, 1, 0, 2]), Fraction("0.3"))
CROSSING = (Group((0, 2), Fraction("0.11")), Group((1, 2, 3), Fraction("0.12")), Group((0, 1), Fraction("0.13")))
METRICS = {
    "sum": SumMetric((DISCRETE, LINE, VALUES, PLACES)),
    "graph in the middle": SumMetric((LINE, PATH, DISCRETE)),
    "nested sum": SumMetric((SumMetric((LINE, DISCRETE)), VALUES)),
    "cap of a sum": CapMetric(SumMetric((PLACES, LINE)), Fraction("0.5")),
    "crossing groups": GroupedMetric((DISCRETE, LINE, VALUES, PLACES), CROSSING),
    "a partition in a sum": SumMetric((DISCRETE, BLOCKS, LINE)),
    "an even time series in a sum": SumMetric((DISCRETE, MaxMetric((EVEN, EVEN, EVEN)), PLACES)),
    "an uneven time series": MaxMetric((EVEN, LINE, LineMetric((Fraction(3),), Fraction(1)))),
    "reordered": ReorderedMetric(SumMetric((MaxMetric((EVEN, EVEN)), PATH, DISCRETE)), (4, 4, 3, 4), (0, 3, 1, 2)),
    "cap inside a sum": SumMetric((CapMetric(LINE, Fraction("0.4")), DISCRETE)),
}


def exact_constant(pairs, values):
    """The definition, pair by pair, in rationals; None for infinity."""
    largest = Fraction(0)
    for (i, j), bound in pairs.items():
        change = abs(Fraction(values[i]) - Fraction(values[j]))
        if change and bound == 0:
            return None
        largest = max(largest, change / bound if bound else largest)
    return largest


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("seed", range(4))
def test_the_constant_is_the_largest_quotient_rounded_up(name, seed):
    metric = METRICS[name]
    pairs = generating_pairs_of(metric)
    for kind in ("integers", "floats", "floats of all sizes"):
        generator = np.random.default_rng(seed)
        values = generator.integers(-(10**6), 10**6, metric.size)
        if kind != "integers":
            values = generator.normal(size=metric.size)
        if kind == "floats of all sizes":
            values = values * 10.0 ** generator.integers(-12, 12, metric.size)
        exact, found = exact_constant(pairs, values.tolist()), lipschitz(metric, values)
        if exact is None:
            assert found == np.inf
        else:
            assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("kept", list(itertools.product([False, True], repeat=3)))
def test_attributes_that_a_map_ignores_change_nothing(kept):
    metric = SumMetric((DISCRETE, LINE, PLACES))
    shape = tuple(size if keep else 1 for size, keep in zip(metric.shape, kept, strict=True))
    values = np.broadcast_to(np.random.default_rng(1).integers(0, 50, shape), metric.shape).ravel()
    fewer, rows = without_idle_attributes(metric, values[None, :])
    assert fewer.size == rows.shape[1] == max(np.prod(shape), 3)
    assert Fraction(lipschitz(metric, values)) >= exact_constant(generating_pairs_of(metric), values.tolist())
    assert lipschitz(metric, values) == lipschitz(fewer, rows[0])


@pytest.mark.parametrize("name", ["crossing groups", "reordered", "an uneven time series"])
@pytest.mark.parametrize("place", range(4))
def test_a_map_of_one_attribute_has_the_constant_of_all_its_pairs(name, place):
    metric = METRICS[name]
    shape = metric.shape
    place = min(place, len(shape) - 1)
    along = np.random.default_rng(place).integers(0, 50, shape[place])
    values = np.broadcast_to(along.reshape([-1 if k == place else 1 for k in range(len(shape))]), shape).ravel()
    exact = exact_constant(generating_pairs_of(metric), values.tolist())
    found = lipschitz(metric, values)
    assert found == np.inf if exact is None else exact <= Fraction(found) <= exact * (1 + Fraction(1, 2**50))
    rows, bounds = (None, None) if exact is None else generating_differences(metric, values[None, :])
    if rows is not None and len(rows):
        assert max(abs(int(row[0])) / Fraction(bound) for row, bound in zip(rows, bounds, strict=True)) == exact


@pytest.mark.parametrize("capped", [False, True])
def test_differences_of_counts_on_few_attributes_are_those_of_every_pair(capped):
    metric = SumMetric((DISCRETE, LINE, VALUES, PLACES))
    metric = CapMetric(metric, Fraction("0.15")) if capped else metric
    codes = np.unravel_index(np.arange(metric.size), (3, 4, 4, 3))
    values = np.array([codes[1] >= 2, (codes[1] == 0) & (codes[2] == 1), codes[2] == 3]).astype(np.int64)
    expected = {}
    for (i, j), bound in generating_pairs_of(metric).items():
        change = tuple((values[:, i] - values[:, j]).tolist())
        change = max(change, tuple(-entry for entry in change))
        if any(change):
            expected[change] = min(expected.get(change, bound), bound)
    rows, bounds = generating_differences(metric, values)
    assert {tuple(row): Fraction(bound) for row, bound in zip(rows.tolist(), bounds.tolist(), strict=True)} == expected


def test_what_is_no_map_on_the_records_is_refused():
    for values in (np.zeros(2), np.array([0.0, np.nan, 1.0]), np.array([0.0, np.inf, 1.0]), np.array(["a", "b", "c"])):
        with pytest.raises(UnsupportedCombination):
            lipschitz(DISCRETE, values)
    with pytest.raises(TooLarge, match="2\\*\\*52"):
        lipschitz(DISCRETE, np.array([0, 1, 2**52]))


def test_a_verified_metric_and_plain_numbers_will_do():
    metric = dx.verify_metric([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    assert dx.metrics.lipschitz(metric, [10, 12, 10]) == lipschitz(metric.metric, np.array([10, 12, 10]))
    with pytest.raises(UnsupportedCombination, match="integers or float64"):
        dx.metrics.lipschitz(metric, ["1", "2", "3"])
