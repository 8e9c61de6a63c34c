"""What candidates cost is told in one table, from public sizes; one allowance decides, and no number of queries."""

from __future__ import annotations

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import TooLarge
from dxgeom.mechanisms.gaussian.mechanism import covariance_work
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.shapes.strategy_program import outgrows_a_search
from dxgeom.metrics.changes import FactoredChanges
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.numeric.work import ALLOWED, require_affordable
from dxgeom.planner.candidate_builder import WORK_OF, Sizes
from dxgeom.planner.candidates import names


def policy(*sizes):
    attributes = {f"a{place}": {"range": [0, size - 1], "step": 1} for place, size in enumerate(sizes)}
    rules = [{"change": name, "epsilon": 1, "per": 4} for name in attributes]
    return dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules, "budget": 9})


def sums(own, number):
    """So many queries that weigh values of one attribute each: no boxes, and no tables."""
    rows = np.random.default_rng(1).integers(-3, 4, (number, own.universe.shape[0]))
    asked = list(range(number))
    return dx.LinearQueries.stack(
        [
            dx.LinearQueries.kronecker([f"q{k}" for k in asked[place::4]], own.universe, {f"a{place}": rows[place::4]})
            for place in range(4)
        ]
    )


def test_every_candidate_states_its_work():
    assert WORK_OF.keys() == set(names())


@pytest.mark.parametrize("name", names())
def test_work_is_a_number_that_never_falls_as_a_workload_grows(name):
    sizes = [Sizes(answers, answers * 5, answers) for answers in (1, 2, 6, 7, 11, 30, 512, 513, 4_000)]
    found = [WORK_OF[name](one) for one in sizes]
    few = [work for work, one in zip(found, sizes, strict=True) if work > 0 or one.dimensions < 8]
    assert found[0] >= 0 and few == sorted(few)


def test_what_was_sought_at_the_old_limits_still_is():
    assert WORK_OF["rotated-laplace"](Sizes(512, 20_000_000 // 512, 512)) <= ALLOWED
    assert WORK_OF["strategy"](Sizes(512, 20_000_000 // 512, 512)) <= ALLOWED
    assert covariance_work(1000) <= ALLOWED
    assert outgrows_a_search(401)


def test_beyond_the_allowance_a_search_is_refused_with_what_it_takes():
    require_affordable("a search", 1e9, 1e9)
    with pytest.raises(TooLarge, match=r"a search takes about 1.1e\+09 multiplications.*dx.Search\(work"):
        require_affordable("a search", 1.1e9, 1e9)


def test_the_number_of_queries_does_not_decide_how_changes_are_kept():
    own = policy(12, 12, 12, 12)
    metric = own.compile()
    for number in (512, 513):
        changes = sensitivity_of(metric, sums(own, number)).changes
        assert not isinstance(changes, FactoredChanges)
        assert isinstance(changes, PairedChanges) == (number * changes.count > 2_000_000)


def test_whoever_allows_little_has_the_reason_for_each_shape_that_is_not_sought():
    own = policy(6, 6, 6, 6)
    plan = dx.plan(own.compile(), sums(own, 20), search=dx.Search(work=1e5))
    reasons = {one.name: one.reason for one in plan.candidates if one.loss is None}
    assert {"box", "ellipsoid", "rotated-laplace", "strategy"} <= reasons.keys()
    assert "20 answers in up to 20 dimensions takes about" in reasons["rotated-laplace"]


def test_an_attribute_of_many_values_beside_others_is_measured_like_one_of_few():
    """Over more record types than can be counted; 4,096 values were a limit once."""
    plans = []
    for size in (4_096, 4_097):
        attributes = {"age": {"range": [0, size - 1], "step": 1}, **{f"b{k}": ["x", "y"] for k in range(20)}}
        rules = [{"change": name, "epsilon": 1} for name in attributes]
        own = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules, "budget": 9})
        asked = dx.queries_from_dict({"queries": [{"marginals": [["age", "b0"], ["b0", "b1"]]}]}, own)
        plans.append(dx.plan(own.compile(), asked))
    few, more = plans
    assert few.mechanism.name == more.mechanism.name
    assert more.loss == pytest.approx(few.loss, rel=1e-3)
