"""Very many boxes: what blocks take and hide held against every pair, exact answers without noise, bounds, refusals."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from reference.policy_of_ranges import policy_of_ranges

import dxgeom as dx
from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.kinds import tables
from dxgeom.mechanisms.parts.box_mechanism import LAPLACE, NORMAL, BoxMechanism, centred_sums
from dxgeom.mechanisms.parts.box_scales import BoxQuestion, best_scales, promised_of
from dxgeom.mechanisms.parts.factors import Path, Tree, trees
from dxgeom.planner.objectives.aims import TriedNoise
from dxgeom.planner.plan import Plan

BoxQueries = dx.universe.BoxQueries
SIZES = (7, 3)
BOXES = [
    *({"a0": (low, high)} for low in range(7) for high in range(low + 1, 8) if high - low < 7),
    {"a0": (2, 5), "a1": (1, 3)},
    {"a0": (6, 7), "a1": (0, 1)},
    {"a1": (0, 2)},
    {},
]


def rows(number=200):
    generator = np.random.default_rng(0)
    return pd.DataFrame({f"a{k}": generator.integers(0, size, number) for k, size in enumerate(SIZES)})


def truth(data):
    inside = lambda row, box: all(low <= row[name] < high for name, (low, high) in box.items())  # noqa: E731
    return np.array([sum(inside(row, box) for row in data.to_dict("records")) for box in BOXES])


FACTORS = [
    (Tree(7, (7,)), Tree(3, (3,))),
    (Tree(7, (2, 2, 2)), Tree(3, (2, 2))),
    (Tree(7, (4, 2)), Tree(3, (3,))),
    (Path(7), Tree(3, (3,))),
    (Path(7), Path(3)),
]


def lines_of(factors):
    return [place for place, one in enumerate(factors) if isinstance(one, Path)]


def mechanism(factors, name, presence=False, lines=None):
    own = policy_of_ranges(
        privacy="concentrated" if name == NORMAL else "pure",
        lines=lines_of(factors) if lines is None else lines,
        presence=presence,
    )
    metric, queries = own.compile(), BoxQueries.of(own.universe, BOXES)
    question = BoxQuestion(queries, factors, promised_of(metric, queries, factors), name == NORMAL)
    return BoxMechanism(name, metric, queries, factors, best_scales(question))


def measured(made, record):
    """What the mechanism draws noise around, block by block, for one record, or none."""
    counts = np.zeros(SIZES, dtype=np.int64)
    if record is not None:
        counts[record] = 1
    asked = made.queries.attribute_sets
    cells = tuple(
        counts.sum(axis=tuple(k for k in range(2) if k not in one)).ravel() if len(one) < 2 else counts.ravel()
        for one in asked
    )
    data = type("Counted", (), {"cells": cells, "total": 1})()
    own = {n: made.measured(n, data) / made.step.denominator for n in range(len(made.question.blocks))}
    return {n: made.in_columns(n, table) for n, table in own.items()}


def loss_between(made, one, other):
    """Σ ‖·‖²/σ², or Σ ‖·‖₁/b, of the difference in what noise is drawn around: normal noise around what is centred."""
    here, there, total = measured(made, one), measured(made, other), 0.0
    for number, block in enumerate(made.question.blocks):
        scale, change = made.scales[number], here[number] - there[number]
        if made.normal:
            change = centred_sums(change, block, made.factors, differenced=True)
        if scale > 0:
            total += float((change**2).sum() / scale**2 if made.normal else np.abs(change).sum() / scale)
    return np.sqrt(total) if made.normal else total


@pytest.mark.parametrize("name", [NORMAL, LAPLACE])
@pytest.mark.parametrize("factors", FACTORS)
@pytest.mark.parametrize("presence", [False, True])
def test_no_pair_of_records_is_told_apart_by_more_than_its_distance(factors, name, presence):
    made = mechanism(factors, name, presence)
    records = [*itertools.product(*map(range, SIZES))]
    metric, closest = made.metric.metric, np.inf
    for (i, one), (j, other) in itertools.combinations(enumerate(records), 2):
        found, distance = loss_between(made, one, other), float(metric.distance(i, j))
        assert found <= distance * (1 + 1e-9)
        closest = min(closest, distance / found)
    if presence:
        assert max(loss_between(made, one, None) for one in records) <= 2 * (1 + 1e-9)
    else:
        assert closest < 1.5  # some pair is hidden by little more than it needs


@pytest.mark.parametrize("name", [NORMAL, LAPLACE])
@pytest.mark.parametrize("factors", [FACTORS[0], *(pytest.param(one, marks=pytest.mark.long) for one in FACTORS[1:])])
def test_answers_are_exact_without_noise_and_err_as_stated_with_it(factors, name):
    made, data = mechanism(factors, name), rows()
    decided = TriedNoise("mse", {name: 1.0}, lambda: 0.0)
    plan = Plan(tables.BOXES, made.metric, made.boxes, made, decided=decided)
    errors = np.array(
        [plan.release(data, ledger=":memory:", spend=1, insecure_test_seed=s).answer.values for s in range(120)]
    ) - truth(data)
    assert np.all(np.abs(errors.mean(axis=0)) <= 4.5 * np.sqrt(made.variances / 120) + 1e-9)
    assert (errors**2).mean(axis=0).sum() == pytest.approx(made.variances.sum(), rel=0.25)
    assert np.mean(np.abs(errors) <= plan.half_widths(0.9) + 1e-9) >= 0.88
    assert errors[:, -1] == pytest.approx(0, abs=1e-6)  # the number of records is public


def test_coefficients_are_those_of_projections():
    generator = np.random.default_rng(3)
    for factor in (*trees(9), Tree(10, (2, 3, 2)), Path(6), Path(7)):
        ends = np.sort([generator.choice(factor.size + 1, 2, replace=False) for _ in range(20)], axis=1)
        found = factor.coefficients(ends[:, 0], ends[:, 1])
        assert np.all(found >= 0)
        if isinstance(factor, Tree):
            padded = np.zeros((20, factor.padded))
            for row, (low, high) in zip(padded, ends, strict=True):
                row[low : factor.padded if high == factor.size else high] = 1
            means = [padded.reshape(20, factor.cells(level), -1).mean(axis=2) for level in range(factor.levels)]
            for level in range(1, factor.levels):
                new = means[level] - np.repeat(means[level - 1], factor.radices[level - 1], axis=1)
                assert found[:, level] == pytest.approx((new**2).sum(axis=1), abs=1e-12)


def test_the_bound_is_below_the_best_gaussian_noise_and_that_below_the_plan():
    for lines in ((), (0,), (0, 1)):
        own = policy_of_ranges(lines=lines)
        metric = own.compile()
        plan = dx.plan(metric, BoxQueries.of(own.universe, BOXES))
        listed = dx.LinearQueries.boxes(own.universe, [box for box in BOXES if box])
        best = dx.plan(metric, listed, mechanism="gaussian").loss
        assert plan.lower_bound <= best * (1 + 1e-9)
        assert best <= plan.loss * (1 + 1e-9)
        assert plan.loss < 2.5 * best


def test_a_pure_bound_is_below_exact_noise_of_every_kind_and_tight_where_boxes_have_nothing_in_common():
    for lines in ((), (0,), (0, 1)):
        own = policy_of_ranges((5, 3), privacy="pure", lines=lines)
        asked = [*({"a0": (low, low + 1)} for low in range(4)), {"a0": (0, 2), "a1": (1, 2)}]
        plan = dx.plan(own.compile(), BoxQueries.of(own.universe, asked))
        exact = dx.plan(own.compile(), dx.LinearQueries.boxes(own.universe, asked))
        assert plan.lower_bound <= exact.loss * (1 + 1e-9)
        assert plan.lower_bound <= plan.loss
    own = policy_of_ranges((9,), privacy="pure", lines=(0,))
    assert dx.plan(own.compile(), BoxQueries.prefixes(own.universe, "a0")).gap < 1 + 1e-5


def test_values_at_no_distance_at_all_are_no_pairs_of_a_bound():
    words = [f"v{k}" for k in range(8)]
    edges = [[one, other] for half in (words[:4], words[4:]) for one, other in itertools.combinations(half, 2)]
    rules = [{"change": "a", "secrets": {"edges": edges}, "epsilon": 1}]
    halves = {"universe": {"attributes": {"a": {"values": words}}}, "rules": rules, "unconnected": "allow"}
    own = dx.Policy.from_dict({"policy": "halves", **halves})
    asked = [{"a": (k, k + 1)} for k in range(8)]
    exact = dx.plan(own.compile(), dx.LinearQueries.boxes(own.universe, asked)).loss
    assert dx.plan(own.compile(), BoxQueries.of(own.universe, asked)).lower_bound <= exact
    table = dx.universe.MarginalQueries.of(own.universe, [["a"]])
    assert dx.plan(own.compile(), table).lower_bound <= exact


def test_values_that_no_box_separates_are_one():
    own = policy_of_ranges((100, 3), lines=(0,))
    asked = [{"a0": (0, 18)}, {"a0": (0, 65)}, {"a0": (18, 65), "a1": (1, 2)}]
    queries = BoxQueries.of(own.universe, asked)
    assert (queries.sizes, queries.merged.sizes) == ((100, 3), (3, 3))
    assert queries.merged.columns[0].codes.tolist() == [0] * 18 + [1] * 47 + [2] * 35
    plan = dx.plan(own.compile(), queries)
    data = pd.DataFrame({"a0": np.arange(300) % 100, "a1": np.arange(300) % 3})
    errors = np.array(
        [plan.release(data, ledger=":memory:", spend=1, insecure_test_seed=s).answer.values for s in range(60)]
    )
    inside = [(data.a0 < 18).sum(), (data.a0 < 65).sum(), ((data.a0 >= 18) & (data.a0 < 65) & (data.a1 == 1)).sum()]
    assert np.all(np.abs(errors.mean(axis=0) - inside) <= 6 * plan.rmse() / np.sqrt(60))


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_the_worst_error_is_made_small_and_wanted_errors_are_met(privacy):
    own = policy_of_ranges(privacy=privacy)
    total, worst = (dx.plan(own.compile(), BoxQueries.of(own.universe, BOXES), objective=o) for o in ("mse", "max"))
    assert worst.loss < total.rmse().max() ** 2 * (1 + 1e-9)
    assert worst.lower_bound <= worst.loss
    errors = [None] * (len(BOXES) - 4) + [3, None, 2, None]
    wanted = BoxQueries.of(own.universe, BOXES, errors=errors)
    plan = dx.plan(own.compile(), wanted)
    reached = plan.rmse(plan.least_spend)
    assert all(have <= want for have, want in zip(reached, errors, strict=True) if want)
    assert any(have > want * 0.99 for have, want in zip(reached, errors, strict=True) if want)
    assert plan.fingerprint != dx.plan(own.compile(), BoxQueries.of(own.universe, BOXES)).fingerprint
    again = dx.plan(own.compile(), BoxQueries.of(own.universe, BOXES), errors={wanted.name(len(BOXES) - 4): 3})
    assert again.queries.errors[-4] == 3
    assert plan.question_in_words == f"{len(BOXES)} boxes"
    assert plan.each_table(Fraction(1))[0].half_width > 0


def test_prefixes_of_a_hundred_thousand_values():
    line = policy_of_ranges((100_000,), lines=(0,))
    plan = dx.plan(line.compile(), BoxQueries.prefixes(line.universe, "a0"))
    assert plan.loss == pytest.approx(99_999, rel=1e-9)
    alike = policy_of_ranges((100_000,))
    plan = dx.plan(alike.compile(), BoxQueries.prefixes(alike.universe, "a0"))
    assert plan.gap < 1.75


def test_prefixes_of_more_values_than_are_compared_pair_by_pair_are_planned_under_presence():
    """There is no cliff: one value more costs no more, and is answered no worse."""
    rmse = {}
    for size in (4096, 4097):
        attributes = {"a": {"range": [0, size - 1], "step": 1, "whole": True}}
        rules = [{"presence": True, "epsilon": 1}]
        policy = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})
        metric = policy.compile()
        plan = dx.plan(metric, BoxQueries.prefixes(policy.universe, "a"))
        rmse[size] = float(np.sqrt(np.mean(plan.rmse() ** 2)))
        assert plan.gap < 14
    assert rmse[4097] == pytest.approx(rmse[4096], rel=0.02)


def test_scales_that_are_too_small_and_factors_that_do_not_fit_are_refused():
    made = mechanism(FACTORS[1], LAPLACE)
    for forged in (made.scales * (1 - 1e-6), np.zeros_like(made.scales), made.scales[:-1], made.scales * np.nan):
        with pytest.raises(CertificateRefused):
            replace(made, scales=forged)
    with pytest.raises(TooLarge, match="on a line"):
        mechanism(FACTORS[3], LAPLACE, lines=())
    with pytest.raises(TooLarge, match="as many values"):
        replace(made, factors=(Tree(8, (2, 2, 2)), Tree(3, (3,))))
    own = policy_of_ranges(privacy="pure")
    queries = BoxQueries.of(own.universe, BOXES)
    with pytest.raises(TooLarge, match="span more than 7 dimensions"):
        dx.plan(own.compile(), queries, mechanism="hull")
    for words in ({"mechanism": NORMAL}, {"objective": "least"}, {"records": 3}):
        with pytest.raises(UnsupportedCombination):
            dx.plan(own.compile(), queries, **words)
    for wrong in ({"a0": (3, 3)}, {"a0": (0, 9)}, {"a0": 3}, {"b": (0, 1)}):
        with pytest.raises(UnsupportedCombination):
            BoxQueries.of(own.universe, [wrong])


def test_how_many_records_there_may_be_is_public_and_enough_whatever_the_columns():
    """With thirty columns a hundred records were too many once, and where presence is private that told of them."""
    names = [f"a{k}" for k in range(30)]
    own = dx.Policy.from_dict(
        {
            "policy": "many columns",
            "privacy": "concentrated",
            "universe": {"attributes": {name: {"range": [0, 3], "step": 1} for name in names}},
            "rules": [*({"change": name, "epsilon": 1} for name in names), {"presence": True, "epsilon": 1000}],
        }
    )
    queries = BoxQueries.of(own.universe, [{name: (0, cut)} for name in names for cut in (1, 2)])
    made = dx.plan(own.compile(), queries).mechanism
    sized = lambda total: type("Counted", (), {"cells": empty, "total": total})()  # noqa: E731
    empty = tuple(np.zeros(int(np.prod(shape)), dtype=np.int64) for shape in made.queries.shapes)
    for total in (2**31, 2**60, 2**63 - 1):
        made.check(sized(total), Fraction(1, 10))
    for total in (0, 2**31):
        with pytest.raises(TooLarge, match="spend more"):
            made.check(sized(total), Fraction(1, 10**12))


def test_normal_noise_is_refused_where_odds_are_promised_by_the_mechanism_itself():
    made = mechanism(FACTORS[1], NORMAL)
    with pytest.raises(UnsupportedCombination, match="bounds no odds"):
        replace(made, metric=policy_of_ranges(privacy="pure").compile())


@pytest.mark.parametrize("number", [10**400, Fraction(1, 10**400), 0, -1], ids=["huge", "tiny", "none", "negative"])
def test_importances_and_errors_that_no_float_holds_are_refused(number):
    own = policy_of_ranges()
    with pytest.raises(UnsupportedCombination, match="positive number"):
        BoxQueries.of(own.universe, [{"a0": (0, 2)}], importance=[number])
    for words in ({"importance": [number]}, {"errors": [number]}):
        with pytest.raises(UnsupportedCombination, match="positive number"):
            dx.universe.MarginalQueries.of(own.universe, [["a0"]], **words)


@pytest.mark.parametrize("presence", [False, True])
def test_a_block_that_no_box_takes_from_is_not_measured_and_stops_no_release(presence):
    """All records below each cut of a line, of which only the difference is asked."""
    policy = policy_of_ranges((9, 4), "pure", (0, 1), presence)
    queries = dx.universe.BoxQueries.of(policy.universe, [{"a0": (2, 3), "a1": (0, 2)}])
    plan = dx.plan(policy.compile(), queries)
    assert plan.mechanism.scales.max() < 100
    rows = pd.DataFrame({"a0": [2, 3] * 20, "a1": [0, 1] * 20})
    assert plan.release(rows, ledger=":memory:", spend=1, insecure_test_seed=1).spent == 1
