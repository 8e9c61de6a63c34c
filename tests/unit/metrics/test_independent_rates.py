"""Rates of keys add up to no more than distances: every pair of records is looked at."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import TooLarge
from dxgeom.metrics.combinations import GroupedMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.lipschitz_maps import blocks_of_rates, independent_rates

ATTRIBUTES = {"a": {"range": [0, 3], "step": 1}, "b": ["x", "y", "z"], "c": ["u", "v"]}
BOTH = [{"change": "b", "epsilon": "0.5"}, {"change": "c", "epsilon": 2}]
PRESENCE = {"presence": True, "epsilon": "0.2"}
RULES = {
    "constants": [{"change": "a", "epsilon": 1}, *BOTH],
    "a line": [{"change": "a", "epsilon": "0.3", "per": 1}, *BOTH],
    "together": [{"change": ["a", "b"], "epsilon": 1}, {"change": "a", "epsilon": "0.8"}, BOTH[1]],
    "first and last": [{"change": ["a", "c"], "epsilon": 1}, *BOTH],
    "presence": [{"change": "a", "epsilon": 1}, *BOTH, PRESENCE],
    "presence far": [{"change": "a", "epsilon": "0.1"}, *BOTH, {"presence": True, "epsilon": 5}],
    "presence alone": [PRESENCE],
    "everything": [{"between": "everything", "epsilon": 1}, *BOTH],
    "values": [{"change": "b", "individuals": {"x": "0.1", "y": 1, "z": "0.4"}}, {"change": "a", "epsilon": 3}],
    "values and a ceiling": [
        {"change": "b", "individuals": {"x": "0.1", "y": 1, "z": "0.4"}},
        {"between": "everything", "epsilon": "0.7"},
        PRESENCE,
    ],
}
KEYS = ((0,), (1,), (0, 1), (1, 2), (0, 1, 2))


def metric_of(rules, **more):
    policy = {"policy": "keys", "universe": {"attributes": ATTRIBUTES}, "budget": 1, "rules": rules}
    return dx.Policy.from_dict({**policy, "unconnected": "allow", **more}).compile()


def rates_of_records(metric, found, keys, classes):
    codes = np.array(np.unravel_index(np.arange(math.prod(metric.universe.shape)), metric.universe.shape)).T
    own = [tuple(int(classes[axis][code[axis]]) for axis in keys) for code in codes]
    return own, np.array([found.of(key) for key in own])


@pytest.mark.parametrize("keys", KEYS)
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_no_two_records_are_nearer_than_the_rates_of_their_keys(rules, keys):
    metric = metric_of(rules)
    classes = {axis: np.arange(metric.universe.shape[axis]) for axis in keys}
    classes |= {0: np.array([0, 0, 1, 1])} if 0 in keys else {}
    found = independent_rates(metric.metric, metric.universe.shape, classes)
    own, rates = rates_of_records(metric, found, keys, classes)
    every = np.arange(len(own))
    apart = metric.distance(every[:, None], every)
    told = np.array([[one != other for other in own] for one in own])
    # Distances on a line are rounded down by some more than those of neighbours, which generate them.
    assert np.all((rates[:, None] + rates <= apart * (1 + 1e-14)) | ~told)
    if metric.absent is not None:
        assert np.all(rates <= metric.distance(every, metric.absent))
        assert found.presence == metric.distance(0, metric.absent)
    # Where all values are alike, some pair is as near as that, or presence is.
    finite = np.isfinite(apart) & told
    if not found.uneven and np.any(finite):
        assert np.any(np.isclose((rates[:, None] + rates)[finite], apart[finite], rtol=1e-12))


def test_values_of_their_own_have_rates_of_their_own():
    metric = metric_of(RULES["values"])
    found = independent_rates(metric.metric, metric.universe.shape, {1: np.arange(3)})
    assert found.rates[0] == pytest.approx([0.1, 1, 0.4])
    two = independent_rates(metric.metric, metric.universe.shape, {0: np.arange(4), 1: np.arange(3)})
    blocks = list(blocks_of_rates(two))
    assert [rate for _, rate in blocks] == pytest.approx([0.1, 0.4, 1])
    assert sorted(int(key) for members, _ in blocks for key in np.add.outer(3 * members[0], members[1]).ravel()) == [
        *range(12)
    ]


def test_very_many_values_take_no_room():
    metric = SumMetric((DiscreteMetric(10**6, 1), DiscreteMetric(10**6, 2)))
    every = {axis: np.zeros(10**6, dtype=np.int64) for axis in (0, 1)}
    every[0][1:] = 1
    found = independent_rates(metric, (10**6, 10**6), every)
    assert found.of((0, 0)) == 0.5


def test_what_is_no_sum_over_attributes_is_refused_where_it_is_large():
    odd = GroupedMetric((DiscreteMetric(10**4, 1), LineMetric((0, 1), 1)), ())
    with pytest.raises(TooLarge):
        independent_rates(odd, (10**5, 10**4), {0: np.zeros(10**5, dtype=np.int64), 1: np.arange(10**4)})
