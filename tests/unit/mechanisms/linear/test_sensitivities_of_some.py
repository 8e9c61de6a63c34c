"""What some queries of a workload change is read off what all of them change."""

from __future__ import annotations

import numpy as np
import pytest
from reference.project import ROOT

import dxgeom as dx
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of

EXAMPLES = ("adult", "clinic", "payroll", "poll", "shelter", "us-cities")


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_is_that_of_these_queries_alone(example):
    policy = dx.load_policy(ROOT / "policies" / example / "policy.yaml")
    queries = dx.load_queries(ROOT / "policies" / example / "queries.yaml", policy)
    metric = policy.compile()
    whole = sensitivity_of(metric, queries)
    for places in ([0], [queries.count - 1], list(range(0, queries.count, 2))):
        some, alone = whole.only(places), sensitivity_of(metric, queries.only(places))
        assert some.queries.digest == alone.queries.digest
        assert some.queries.steps == alone.queries.steps
        assert np.array_equal(some.differences, alone.differences)
        assert np.array_equal(some.bounds, alone.bounds)
        assert (some.absent, some.universe) == (alone.absent, alone.universe)
