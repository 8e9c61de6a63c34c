"""Released answers explained by one model, at no cost: whole tables by a histogram, boxes along a line, which rise."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.optimize  # noqa: F401 (loaded before a test is timed)

import dxgeom as dx
from dxgeom.errors import TooLarge, UnsupportedCombination, WrongArgument
from dxgeom.planner.estimates.box_model import BoxSums, even_histogram, histogram_of_boxes, require_box_model
from dxgeom.planner.estimates.projection import order_of_boxes, rising

WORDS = {"a": ["1", "2", "3", "4"], "b": ["1", "2", "3"], "c": ["1", "2"]}


def policy_of(*rules, attributes=WORDS):
    said = {"policy": "p", "universe": {"attributes": attributes}, "budget": "10", "rules": [*rules]}
    return dx.Policy.from_dict(said)


def released(policy, records=40, spend="1/2"):
    pairs = [list(one) for one in itertools.combinations(WORDS, 2)]
    return dx.plan(policy.compile(), dx.universe.MarginalQueries.of(policy.universe, pairs)).rehearse(
        spend=spend, records=records
    )


@pytest.mark.long
@pytest.mark.parametrize("presence", [False, True])
def test_one_histogram_explains_all_tables(presence):
    rules = [{"change": one, "epsilon": "0.5"} for one in WORDS]
    rules += [{"presence": "true", "epsilon": "0.5"}] if presence else []
    release = released(policy_of(*rules))
    found = release.estimate("model")
    assert min(one.min() for one in found.tables) >= 0
    sums = [one.sum() for one in found.tables]
    assert sums == pytest.approx([sums[0] if presence else 40.0] * 3)
    assert found.total == (None if presence else 40.0)
    of_a = [found.table("a, b").sum(axis=1), found.table("a, c").sum(axis=1)]
    assert of_a[0] == pytest.approx(of_a[1])
    assert "no error is promised" in " ".join(found.done)
    written = json.loads(found.to_json())
    assert written["errors"] is None
    assert written["tables"][0]["cells"] == found.tables[0].ravel().tolist()
    assert release.estimate("model").tables[0].tolist() == found.tables[0].tolist()


@pytest.mark.long
def test_where_noise_is_little_the_model_is_what_was_released():
    policy = policy_of(*({"change": one, "epsilon": "1000"} for one in WORDS))
    release = released(policy, records=5000, spend="1")
    found = release.estimate("model")
    for name in found.names:
        assert found.table(name) == pytest.approx(found.released.table(name), abs=2)


@pytest.mark.long
def test_a_table_without_noise_is_met_nearly():
    said = {"policy": "p", "universe": {"attributes": WORDS}, "budget": "10", "unconnected": "allow"}
    policy = dx.Policy.from_dict({**said, "rules": [{"change": one, "epsilon": "0.5"} for one in ("a", "b")]})
    queries = dx.universe.MarginalQueries.of(policy.universe, [["a", "b"], ["c"], ["a", "c"]])
    release = dx.plan(policy.compile(), queries).rehearse(spend="1/2", records=40)
    found = release.estimate("model")
    assert found.table("c") == pytest.approx(found.released.table("c"), abs=0.5)


@pytest.mark.long
def test_boxes_along_a_line_rise_and_are_not_further_in_all():
    policy = policy_of({"change": "a", "epsilon": "0.1"}, attributes={"a": [str(one) for one in range(30)]})
    queries = dx.universe.BoxQueries.prefixes(policy.universe, "a")
    release = dx.plan(policy.compile(), queries).rehearse(spend="1/2", records=50)
    found = release.estimate("model")
    assert np.all(np.diff(found.values) >= 0)
    assert found.values.min() >= 0
    assert found.values.max() <= 50
    weights = 1 / np.maximum(found.released.rmse, found.released.rmse.max() / 1e6) ** 2
    for truth in (np.linspace(0, 50, 30), np.full(30, 50.0), np.append(np.zeros(29), 50.0)):
        before, after = (weights @ (one - truth) ** 2 for one in (found.released.values, found.values))
        assert after <= before


def test_rising_is_the_nearest_beside_all_that_rise():
    """Of three values between 0 and 4 in halves, by trying all that rise."""
    generator = np.random.default_rng(4)
    grid = [np.array(one) for one in itertools.combinations_with_replacement(np.arange(0, 4.5, 0.5), 3)]
    for _ in range(20):
        values, errors = generator.normal(2, 2, 3), generator.uniform(0.5, 2, 3)
        found = rising(values, errors, 4.0)
        least = min(np.sum(((one - values) / errors) ** 2) for one in grid)
        assert np.sum(((found - values) / errors) ** 2) <= least + 1e-9
        assert np.all(np.diff(found) >= 0)
        assert 0 <= found.min() <= found.max() <= 4


def test_what_has_no_error_stays_and_the_others_count_by_theirs():
    """Such as a last prefix, which is everybody's public number."""
    found = rising(np.array([5.0, 9.0, 8.0, 7.0]), np.array([1.0, 4.0, 1.0, 0.0]), math.inf)
    assert found == pytest.approx([5, 7, 7, 7], abs=1e-6)
    found = rising(np.array([9.0, 5.0, 20.0]), np.array([2.0, 1.0, 0.0]), math.inf)
    assert found == pytest.approx([5.8, 5.8, 20], abs=1e-6)
    assert rising(np.array([2.0, 1.0]), np.zeros(2), math.inf).tolist() == [1.5, 1.5]


def test_boxes_that_do_not_lie_in_each_other_have_no_order():
    assert order_of_boxes(np.array([[0, 0], [1, 0], [1, 1]]), np.array([[5, 5], [5, 5], [4, 5]])).tolist() == [2, 1, 0]
    assert order_of_boxes(np.array([[0], [2]]), np.array([[2], [4]])) is None


@pytest.mark.parametrize("shape", [(7,), (4, 5), (2, 3, 4)])
def test_sums_over_boxes_and_their_spread_are_those_of_every_cell(shape):
    generator = np.random.default_rng(len(shape))
    lower = generator.integers(0, shape, (9, len(shape)))
    upper = lower + 1 + generator.integers(0, np.array(shape) - lower)
    sums, table = BoxSums(shape, lower, upper), generator.normal(size=shape)
    masks = np.zeros((9, *shape))
    for mask, low, high in zip(masks, lower, upper, strict=True):
        mask[tuple(map(slice, low, high))] = 1
    flat = masks.reshape(9, -1)
    parameters = generator.normal(size=9)
    assert sums.of(table) == pytest.approx(flat @ table.ravel())
    assert sums.spread(parameters).ravel() == pytest.approx(parameters @ flat)


@pytest.mark.parametrize("total", [None, 60.0])
def test_a_model_of_boxes_is_where_its_objective_is_least(total):
    """Every parameter's slope vanishes there: model less count, and what draws the parameter to 0. By a way around."""
    lower, upper = np.array([[0], [3], [0], [5], [2]]), np.array([[3], [8], [5], [8], [6]])
    sums, values = BoxSums((8,), lower, upper), np.array([50.0, 12, 55, 6, 9])
    errors = np.array([1.0, 2, 3, 1, 4])
    found = histogram_of_boxes(sums, values, errors, total)
    assert found.min() > 0
    assert total is None or found.sum() == pytest.approx(60)
    off = (values - sums.of(found)) / (0.3 * errors)
    nats = np.log(found) - sums.spread(off)
    assert np.ptp(nats) < 1e-2


@pytest.mark.parametrize("total", [None, 60.0])
@pytest.mark.parametrize("shape", [(9,), (4, 5)])
def test_the_evenest_table_is_that_of_the_pseudoinverse(shape, total):
    """Least squares with a row that holds the total, solved all at once, box by box."""
    generator = np.random.default_rng(3)
    lower = generator.integers(0, shape, (6, len(shape)))
    upper = lower + 1 + generator.integers(0, np.array(shape) - lower)
    values, errors, cells = generator.normal(10, 5, 6), generator.uniform(0.5, 2, 6), math.prod(shape)
    masks = np.zeros((6, *shape))
    for mask, low, high in zip(masks, lower, upper, strict=True):
        mask[tuple(map(slice, low, high))] = 1
    rows, even = masks.reshape(6, -1) / errors[:, None], 0.0 if total is None else total / cells
    if total is not None:
        rows = rows - rows.mean(axis=1, keepdims=True)
    by_hand = even + np.linalg.pinv(rows) @ (values / errors - masks.reshape(6, -1) @ np.full(cells, even) / errors)
    found = even_histogram(BoxSums(shape, lower, upper), values, errors, total)
    assert found.ravel() == pytest.approx(by_hand, abs=1e-6)
    assert total is None or found.sum() == pytest.approx(60)


def test_a_box_without_an_error_is_met():
    sums = BoxSums((4,), np.array([[0], [0], [2]]), np.array([[4], [2], [4]]))
    found = even_histogram(sums, np.array([10.0, 9.0, 5.0]), np.array([0.0, 1.0, 1.0]), None)
    assert found == pytest.approx([3.5, 3.5, 1.5, 1.5], abs=1e-5)


def test_a_grid_is_spread_evenly_and_its_boxes_keep_their_counts():
    policy = policy_of(
        {"change": "a", "epsilon": "0.5"}, {"change": "b", "epsilon": "0.5"}, attributes={k: WORDS[k] for k in "ab"}
    )
    boxes = [{"a": (low, low + 2), "b": (one, one + 1)} for low in (0, 2) for one in range(3)]
    boxes += [{"a": (low, low + 2), "b": (0, 3)} for low in (0, 2)]
    answer = dx.plan(policy.compile(), dx.universe.BoxQueries.of(policy.universe, boxes)).rehearse(spend=1).answer
    found = answer.histogram(1000)
    assert found[0] == pytest.approx(found[1])
    assert found.sum() == pytest.approx(1000)
    assert found[0:2].sum() - found[2:4].sum() == pytest.approx(answer.values[6] - answer.values[7], abs=1e-3)
    free = answer.histogram()
    assert [free[0:2, one].sum() for one in range(3)] == pytest.approx(answer.values[:3].tolist(), abs=1e-3)
    with pytest.raises(WrongArgument):
        answer.histogram(-1)


@pytest.mark.long
@pytest.mark.parametrize("records", [None, 40])
def test_boxes_that_do_not_lie_in_each_other_are_those_of_one_histogram(records):
    rules = [{"change": "a", "epsilon": "0.5"}, {"change": "b", "epsilon": "0.5"}]
    rules += [{"presence": "true", "epsilon": "0.5"}] if records is None else []
    policy = policy_of(*rules, attributes={one: WORDS[one] for one in ("a", "b")})
    boxes = [{"a": (low, low + 2), "b": (one, one + 1)} for low in range(3) for one in range(3)]
    plan = dx.plan(policy.compile(), dx.universe.BoxQueries.of(policy.universe, boxes))
    found = plan.rehearse(spend="1/2", records=40).estimate("model")
    assert found.histogram.shape == (4, 3)
    assert found.histogram.min() >= 0
    assert records is None or found.histogram.sum() == pytest.approx(40)
    assert found.values[0] == pytest.approx(found.histogram[0:2, 0].sum())
    assert "no error is promised" in " ".join(found.done)


@pytest.mark.long
def test_other_lists_are_refused_before_a_charge():
    policy = policy_of({"change": "a", "epsilon": "0.5"}, attributes={"a": WORDS["a"]})
    listed = dx.plan(policy.compile(), dx.LinearQueries.marginals(policy.universe, [["a"]]))
    with pytest.raises(UnsupportedCombination):
        listed.require_estimate("model")


def test_boxes_of_too_many_corners_are_refused_before_a_charge():
    with pytest.raises(TooLarge, match="corners"):
        require_box_model((2,) * 20, 100)
    with pytest.raises(TooLarge, match="cells"):
        require_box_model((10**4,) * 2, 1)


@pytest.mark.long
def test_what_else_to_ask_for_is_said_where_noise_is_most_of_an_answer():
    policy = policy_of({"change": "a", "epsilon": "1"}, attributes={"a": WORDS["a"]})
    queries = dx.universe.MarginalQueries.of(policy.universe, [["a"]], records=10)
    plan = dx.plan(policy.compile(), queries)
    worth = plan.estimate_worth(spend=1, records=10)
    by_hand = 4 * float(plan.mechanism.mean_squares(Fraction(1))[0]) ** 0.5 / 10
    assert worth.noise_over_records == pytest.approx(by_hand)
    many, some, few = (plan.estimate_worth(spend=1, records=round(10 * by_hand / one)) for one in (0.2, 0.7, 3))
    assert many.advice == ()
    assert len(some.advice) == 1
    assert "beside" in some.advice[0]
    assert "'adaptive'" in few.advice[0]
    assert [one.shows_model for one in (many, some, few)] == [False, True, True]
    assert [one.is_mostly_noise for one in (many, some, few)] == [False, False, True]
    slow = replace(some, whole=10**7)
    assert not slow.shows_model
    assert "--estimate model" in slow.advice[0]
    assert few.as_dict()["advice"] == [*few.advice]
    told = "\n".join(plan.kind.lines(plan))
    assert all(one in told for one in plan.estimate_worth().advice)
    certain = dx.universe.MarginalQueries.of(policy.universe, [["a"]], records=10, errors=[5])
    told = dx.plan(policy.compile(), certain).estimate_worth(spend="1/100")
    assert told.advice == ()
    assert not told.shows_model
    assert not told.is_mostly_noise


@pytest.mark.long
def test_ways_are_tried_on_made_up_records_before_any_data():
    policy = policy_of(*({"change": one, "epsilon": "1"} for one in WORDS))
    pairs = [list(one) for one in itertools.combinations(WORDS, 2)]
    plan = dx.plan(policy.compile(), dx.universe.MarginalQueries.of(policy.universe, pairs, records=30))
    worth = plan.estimate_worth(spend="1/2")
    found, again = worth.tried_on_shapes(2), worth.tried_on_shapes(2)
    assert found.errors.shape == (4, 4)
    assert found.errors[:, :3].tolist() == again.errors[:, :3].tolist()
    # Of Laplace noise E|z| is .71 of √E z², of sums of it up to .8.
    assert 0.6 < found.errors[:, 0].mean() / worth.noise_over_records < 0.95
    assert (found.errors[:, 1:] < found.errors[:, :1]).all()
    assert found.least in found.lines[-1]
    assert len(found.lines) == 6
    assert json.loads(json.dumps(found.as_dict()))["errors"]["chain"]["one model"] == found.errors[1, 2]
    few = plan.estimate_worth(spend=1000).tried_on_shapes()
    assert few.errors[:, 0].max() < 0.01
    with pytest.raises(WrongArgument):
        worth.tried_on_shapes(0)
    with pytest.raises(UnsupportedCombination, match="public number"):
        replace(worth, records=None).tried_on_shapes()


@pytest.mark.long
def test_a_release_shows_the_model_that_its_plan_took_beside_the_same_answers():
    """By public numbers alone: the same noise, charge and bars; another estimate, or none, where that is asked for."""
    policy = policy_of({"change": "a", "epsilon": "1"}, attributes={"a": WORDS["a"]})
    queries = dx.universe.MarginalQueries.of(policy.universe, [["a"]], records=20)
    plan = dx.plan(policy.compile(), queries)
    table = pd.DataFrame({"a": ["1"] * 8 + ["3"] * 5 + ["4"] * 7})

    def shown(**how):
        return plan.release(table, ledger=":memory:", insecure_test_seed=1, **how)

    few, many, none = shown(spend=1), shown(spend=10), shown(spend=1, estimate="none")
    assert plan.estimate_worth(spend=1).shows_model
    assert not plan.estimate_worth(spend=10).shows_model
    assert few.as_dict()["estimate"]["errors"] is None
    assert "one histogram explains" in few.as_dict()["estimate"]["done"][1]
    assert few.estimate().errors is not None
    assert "estimate" not in many.as_dict()
    assert few.answer.table("a").tolist() == none.answer.table("a").tolist()
    assert few.plan_fingerprint == none.plan_fingerprint
    beside = few.as_dict()
    del beside["estimate"], beside["time"]
    assert beside == {name: one for name, one in none.as_dict().items() if name != "time"}
    named = shown(spend=1, estimate="auto")
    assert named.as_dict()["estimate"]["errors"] is not None
    with pytest.raises(WrongArgument):
        few.estimate("none")
