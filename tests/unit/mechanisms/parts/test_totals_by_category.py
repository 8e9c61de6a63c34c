"""Noise in running totals of every category: it errs as little as can be, and is proved of what is drawn with."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat
from reference.policy_of_ranges import policy_of_ranges

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused, DxgeomError, NotANormBall, TooLarge
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ, totals_in_answers
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds
from dxgeom.mechanisms.parts.totals_by_category import (
    CategoryCosts,
    CategoryStrategy,
    category_bound,
    category_strategy,
)
from dxgeom.mechanisms.parts.weighed_totals import WeighedStrategy
from dxgeom.noise.in_categories import CategoryNormals
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.numeric.sealed import canonical_digest

PRESENCE = {"presence": True, "epsilon": 1}
REGION = {"change": "region", "epsilon": 1}
MOVES = {"change": "day", "per": "7 days", "epsilon": 1}
BY_REGION: dict[str, Any] = {"total": "so far", "by": ["region"]}

MEAN = WeighedStrategy(4, (0.5, 0.25, 0.25, 0.125), (1.0, 0.5, 2.0, 0.0), (1.0,) * 4, (-9, 16))
ACROSS = WeighedStrategy(4, (1.5, 0.75, 0.25, 0.5), (1.0, 0.5, 2.0, 0.0), (0.8,) * 4, (-9, 16))
HAND_MADE = CategoryStrategy(3, MEAN, ACROSS)


def bounds_of(steps, between):
    return LineBounds(Fraction(1), None if steps is None else Fraction(1, steps), True, between=between)


def policy_of(*rules, days=8, **regions):
    last = date(2027, 1, 1) + timedelta(days - 1)
    time = {"column": "day", "from": "2027-01-01", "to": str(last), "every": "day", "before": False, "after": False}
    attributes = regions or {"region": ["a", "b", "c"]}
    stated = {"policy": "p", "privacy": "concentrated", "universe": {"attributes": attributes}, "time": time}
    return dx.Policy.from_dict({**stated, "rules": [*rules]})


def asked(policy, *queries):
    return dx.queries_from_dict({"queries": [*queries]}, policy)


@pytest.mark.parametrize(
    ("size", "steps", "rmse"),
    [
        (12, None, 2.0751),
        (12, 7, 6.7194),
        pytest.param(52, None, 2.6300, marks=pytest.mark.long),
        pytest.param(52, 7, 6.978, marks=pytest.mark.long),
        pytest.param(365, None, 3.4008, marks=pytest.mark.long),
        pytest.param(365, 7, 7.175, marks=pytest.mark.long),
        pytest.param(4096, 7, 7.51, marks=pytest.mark.long),
    ],
)
def test_errors_in_five_categories_are_those_of_the_best_noise(size, steps, rmse):
    """Figures of the best covariance, found by another method, to a thousandth."""
    bounds, costs = bounds_of(steps, Fraction(1)), CategoryCosts(5, np.ones(size), np.ones(size))
    strategy = category_strategy(bounds, costs)
    scale = strategy.least_scale(bounds)
    assert strategy.hides(scale, bounds) and not strategy.hides(scale * (1 - 1e-5), bounds)
    errors = strategy.variances(scale, np.arange(1, size + 1), np.ones(size, dtype=np.int64))
    assert math.sqrt(errors.mean()) == pytest.approx(rmse, rel=1e-3)
    gaps = None if steps is None else np.full(size - 1, 1 / steps)
    bound = category_bound(1.0, gaps, 1.0, bounds, costs)
    assert bound <= 5 * errors.sum() <= bound * 1.001


@pytest.mark.parametrize(
    ("count", "size", "steps", "between", "after"),
    [(2, 5, None, None, False), (3, 6, 2, Fraction(1), False), (4, 4, 3, Fraction(1, 2), True), (3, 7, None, 1, False)],
)
def test_no_normal_noise_has_a_total_that_is_smaller_by_a_thousandth(count, size, steps, between, after):
    """By duality, with eigenvalues of the matrix that its own weights make of all categories, laid out."""
    costs = 1 + np.arange(size) % 3 / 2.0
    own = np.append(costs, [0.0] * after)
    bounds = bounds_of(steps, between)
    strategy = category_strategy(bounds, CategoryCosts(count, own, own))
    scale = strategy.least_scale(bounds)
    errors = strategy.variances(scale, np.arange(1, size + 1), np.ones(size, dtype=np.int64))
    total = count * float(errors @ costs)
    ones, each, mean = np.tri(size), np.eye(count), np.full((count, count), 1 / count)
    moved = np.diag(strategy.mean.steps)
    parts = [ones * np.array(one.records) @ ones.T + moved for one in (strategy.mean, strategy.across)]
    matrix = np.kron(mean, parts[0]) + np.kron(each - mean, parts[1])
    roots = np.sqrt(np.tile(costs, count))
    matrix *= roots[:, None] * roots
    along, across = np.array(strategy.mean.records), np.array(strategy.across.records)
    changed = (across - along).sum() * (count - 1) / 2 * (0.0 if between is None else float(between) ** 2)
    whole = count * (along.sum() + sum(strategy.mean.steps) / (steps or 1) ** 2) + changed
    bound = np.sqrt(np.maximum(np.linalg.eigvalsh(matrix), 0)).sum() ** 2 / whole
    assert bound * (1 - 1e-9) <= total <= bound * 1.001
    gaps = None if steps is None else np.full(size + after - 1, 1 / steps)
    farthest = 2.0 if between is None else float(between)
    told = category_bound(1.0, gaps, farthest, bounds, CategoryCosts(count, own, own))
    assert bound * 0.9999 <= told <= bound


@pytest.mark.parametrize(("count", "size"), [(2, 3), (3, 4)])
@pytest.mark.parametrize("presence", [Fraction(place, 8) for place in range(8, 16, 2)])
def test_the_least_scale_hides_also_where_a_total_is_asked_by_nobody(count, size, presence):
    """Its noise is a power of two, so at some scales it is nearer to the others' than at scale 1."""
    own = np.append(np.ones(size), 0.0)
    bounds = LineBounds(presence, None, False, between=presence)
    strategy = category_strategy(bounds, CategoryCosts(count, own, own))
    scale = strategy.least_scale(bounds)
    assert strategy.hides(scale, bounds) and not strategy.hides(scale * (1 - 1e-4), bounds)


def test_lengths_are_not_below_those_in_rationals():
    law = HAND_MADE.law(1.5, 1.0, (3, 4, 1))
    exact = fmpq_mat([[fmpq(*float(one).as_integer_ratio()) for one in row] for row in law.map.tolist()])
    columns = []
    for category in range(3):
        for value in range(4):
            moved = [fmpq(own == category and place >= value) for own in range(3) for place in range(4)]
            columns.append([row[0] for row in exact.solve(fmpq_mat([[one] for one in moved])).tolist()])

    def square(one, other=None):
        beside = columns[other] if other is not None else [fmpq(0)] * 12
        return sum((own - its) ** 2 for own, its in zip(columns[one], beside, strict=True))

    longest = max(map(square, range(12)))
    step = max(square(one, one + 1) for one in range(12) if one % 4 < 3)
    change = max(square(one, one % 4 + 4 * other) for one in range(4) for other in (1, 2))
    found = HAND_MADE._lengths(law)
    for own, true in zip((found.record, float(found.steps.max()), found.change), (longest, step, change), strict=True):
        told = fmpq(*own.as_integer_ratio()) ** 2
        assert true <= told <= true * fmpq(1 + 10**9, 10**9)


@pytest.mark.parametrize("shape", [(3, 4, 1), (1, 4, 3), (3, 4, 2)])
def test_the_law_is_that_of_its_matrix_and_bounds_shifts_from_above(shape):
    law, generator = CategoryNormals(*(one * 4 for one in HAND_MADE.matrices(2.0)), shape), np.random.default_rng(3)
    matrix = law.map
    # Category by category: its own numbers through D, and all through E.
    table = generator.normal(size=shape)
    by_hand = np.einsum("ts,isj->itj", law.own, table)
    by_hand += np.einsum("ts,s->t", law.shared, table.sum(axis=(0, 2)))[None, :, None]
    assert matrix @ table.ravel() == pytest.approx(by_hand.ravel())
    shifts = np.round(generator.normal(size=(6, law.dimension)) * 9)
    true = np.linalg.norm(np.linalg.solve(matrix, shifts.T), axis=0)
    told = law.loss_upper_bounds(shifts, np.zeros_like(shifts))
    assert np.all(told >= true * (1 - 1e-13)) and told == pytest.approx(true, rel=1e-9)
    loose = law.loss_upper_bounds(shifts, np.full_like(shifts, 0.5))
    for _ in range(20):
        near = shifts + generator.uniform(-0.5, 0.5, shifts.shape)
        assert np.all(np.linalg.norm(np.linalg.solve(matrix, near.T), axis=0) <= loose)
    assert law.variances_along(shifts) == pytest.approx(((shifts @ matrix) ** 2).sum(axis=1))


def test_what_float64_draws_is_within_its_bound_of_what_balls_do(monkeypatch):
    law = HAND_MADE.law(1.0, 1 / 64, (1, 4, 3))
    drawn = law.ideal(6, InsecureSeededRandomness(3))
    for row in range(6):
        with ctx.workprec(128):
            exact = law._evaluate([one.ball() for one in drawn.uniforms(row)])
        for value, error, truth in zip(drawn.values[row], drawn.errors[row], exact, strict=True):
            assert bool(abs(arb(float(value)) - truth) <= arb(float(error)))
    assert drawn.errors.max() < 1e-5
    fast = law.draw(6, InsecureSeededRandomness(3))
    monkeypatch.setattr("dxgeom.noise.rounding.settled", lambda values, errors: np.zeros(len(values), bool))
    assert np.array_equal(law.draw(6, InsecureSeededRandomness(3)), fast)


def test_the_matrices_are_the_same_on_every_machine_and_add_up_without_rounding():
    own, shared = HAND_MADE.matrices(3.0)
    for one in (own, shared):
        assert np.array_equal(one * 2.0**40, np.rint(one * 2.0**40))
    whole = [
        [Fraction(a) + 3 * Fraction(b) for a, b in zip(*rows, strict=True)] for rows in zip(own, shared, strict=True)
    ]
    law = HAND_MADE.law(3.0, 1.0, (3, 4, 1))
    assert [[Fraction(one) for one in row] for row in law.of_mean.factor.tolist()] == whole
    assert canonical_digest("matrices", own, shared)[:16] == "95b38cf8e3e7de56"


def test_what_is_no_law_and_no_strategy_is_refused():
    eye = np.eye(2)
    for own, shared, shape in (
        (eye, eye[:1], (1, 2, 1)),
        (eye, np.array([[0.0, 1.0], [0.0, 0.0]]), (1, 2, 1)),
        (eye, eye * 2.0**-60, (1, 2, 2)),
        (eye, -eye / 2, (1, 2, 2)),
        (eye, eye, (1, 3, 1)),
        (eye, np.array([[np.inf, 0.0], [0.0, 1.0]]), (1, 2, 1)),
        (eye * 0, eye, (1, 2, 1)),
    ):
        with pytest.raises(NotANormBall):
            CategoryNormals(own, shared, shape)
    with pytest.raises(TooLarge):
        CategoryNormals(eye, eye, (2**20, 2, 1))
    for wrong in ({"categories": 1}, {"categories": 2**19}, {"categories": 2.0}, {"mean": replace(MEAN, size=5)}):
        with pytest.raises(CertificateRefused):
            replace(HAND_MADE, **wrong)
    for scale in (0.0, -1.0, math.nan, math.inf, 2.0**101):
        assert not HAND_MADE.hides(scale, bounds_of(None, None))
    # What it is not proved for: no presence, or any change within several values.
    assert not HAND_MADE.hides(9.0, LineBounds(None, None, True))
    assert not HAND_MADE.hides(9.0, replace(bounds_of(None, None), spans=((2, Fraction(9)),)))


@pytest.mark.long
@pytest.mark.parametrize("rules", [(), (REGION,), (MOVES,), (REGION, MOVES)])
def test_every_change_of_a_record_is_hidden_and_answers_count_what_they_say(rules):
    """All pairs of records, and none, through the inverse of the very matrix; and answers without noise."""
    policy = policy_of(PRESENCE, *rules, days=4, region=["a", "b", "c"], sex=["f", "m"])
    queries = asked(policy, {"total": "so far", "by": ["region", "sex"]}, {"total": "so far"})
    metric = policy.compile()
    mechanism = dx.plan(metric, queries, mechanism=TOEPLITZ).mechanism
    assert type(mechanism.strategy) is CategoryStrategy
    shape, law = metric.universe.shape, mechanism.law_of(0, 1.0)[0]
    records = []
    for codes in np.ndindex(*shape):
        each = [np.eye(size)[code] for size, code in zip(shape, codes, strict=True)]
        each[mechanism.lines[0]] = np.cumsum(each[mechanism.lines[0]])
        records.append(np.einsum("i,j,k->ijk", *each).ravel())
    undone = np.linalg.solve(law.map, np.array([*records, np.zeros(law.dimension)]).T)
    tightest = 0.0
    for one in range(metric.size):
        apart = metric.metric.distance(np.full(metric.size, one), np.arange(metric.size))
        told = np.linalg.norm(undone - undone[:, [one]], axis=0)
        assert np.all(told <= apart * (1 + 1e-9))
        tightest = max(tightest, float(np.max(told / np.where(apart > 0, apart, np.inf))))
    assert tightest == pytest.approx(1.0, rel=1e-4)
    counts = np.random.default_rng(1).integers(0, 9, shape)
    totals = np.cumsum(counts, axis=mechanism.lines[0])
    others = tuple(place for place in range(3) if place != mechanism.lines[0])
    wanted = [*np.moveaxis(totals, mechanism.lines[0], -1).ravel(), *totals.sum(axis=others)]
    sets = mechanism.queries.attribute_sets
    margins = (counts.sum(axis=tuple(place for place in range(3) if place not in one)).ravel() for one in sets)
    silent = {0: np.zeros(law.dimension, dtype=np.int64)}
    assert sorted(mechanism.answered(SimpleNamespace(cells=tuple(margins)), silent)) == sorted(wanted)
    listed = totals_in_answers(mechanism, sensitivity_of(metric, queries))
    histogram = np.append(counts.ravel(), 0)
    assert [float(one) for one in listed.answered(histogram, [silent[0].tolist()])[0]] == wanted
    assert listed.variances() == pytest.approx(mechanism.variances, rel=1e-3)  # with rounding to the lattice


@pytest.mark.long
def test_plans_by_a_general_search_err_as_much():
    policy = policy_of(PRESENCE, REGION, MOVES, days=6)
    for queries in ((BY_REGION,), (BY_REGION, {"total": "so far"})):
        both = [dx.plan(policy.compile(), asked(policy, *queries), mechanism=name) for name in (TOEPLITZ, "gaussian")]
        assert both[0].loss == pytest.approx(both[1].loss, rel=1e-3)


@pytest.mark.long
def test_other_counts_by_category_are_answered_as_before():
    """Windows, and counts of single days, are no prefixes; of a stated number of records none comes or goes."""
    policy = policy_of(PRESENCE, REGION)
    for query in ({"window": "3 days", "by": ["region"]}, {"every": "day", "by": ["region"]}):
        with pytest.raises(TooLarge, match="prefixes along one"):
            dx.plan(policy.compile(), asked(policy, query), mechanism=TOEPLITZ)
    fixed = policy_of_ranges((4, 3), lines=(0,))
    prefixes = [{"a0": (0, end), "a1": (own, own + 1)} for own in range(3) for end in (1, 2, 3, 4)]
    with pytest.raises(TooLarge, match="come and go"):
        dx.plan(fixed.compile(), dx.universe.BoxQueries.of(fixed.universe, prefixes), mechanism=TOEPLITZ)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    policy = policy_of(PRESENCE, REGION, MOVES, days=5)
    boxes = dx.universe.BoxQueries.of(
        policy.universe, [{"region": (own, own + 1), "day": (0, end)} for own in range(3) for end in range(1, 6)]
    )
    plan = dx.plan(policy.compile(), boxes, mechanism=TOEPLITZ)
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    return plan, dx.save_plan(plan, path, policy=policy), json.loads(path.read_text())


@pytest.mark.long
def test_plans_of_boxes_have_it_and_a_smaller_scale_is_refused(kept):
    plan, _, _ = kept
    assert type(plan.mechanism.strategy) is CategoryStrategy
    assert "along their mean and across it" in str(plan.in_full())
    for change in ({"scales": plan.mechanism.scales * (1 - 1e-5)}, {"strategy": HAND_MADE}):
        with pytest.raises(CertificateRefused):
            replace(plan.mechanism, **change)


@pytest.mark.long
def test_a_file_makes_the_same_plan_and_one_that_was_written_to_is_refused(kept, tmp_path):
    plan, loaded, document = kept
    assert loaded.plan.fingerprint == plan.fingerprint
    (said,) = document["box_noise"]["measured"]
    for change in (
        {"categories": 2},
        {"categories": 1},
        {"mean": said["across"]},
        {"across": said["mean"]},
        {"mean": said["mean"] | {"nodes": [1]}},
        {"across": said["across"] | {"records": said["across"]["records"][:-1]}},
        {"more": 1},
    ):
        forged = json.loads(json.dumps(document))
        forged["box_noise"]["measured"] = [said | change]
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        with pytest.raises(DxgeomError):
            dx.load_plan(tmp_path / "forged.json")


@pytest.mark.long
def test_a_list_of_queries_is_kept_in_a_file_too(tmp_path):
    policy = policy_of(PRESENCE, REGION, days=3)
    plan = dx.plan(policy.compile(), asked(policy, BY_REGION), mechanism=TOEPLITZ)
    loaded = dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    assert loaded.plan.fingerprint == plan.fingerprint and audit_plan(loaded).holds


@pytest.mark.long
def test_an_audit_confirms_it_by_another_route_and_sees_too_little_noise(kept):
    plan, loaded, _ = kept
    audit = audit_plan(loaded)
    assert audit.holds and "every change of category" in " ".join(audit.checked)
    law = plan.mechanism._law
    for own, shared in ((1 - 2.0**-9, 1 - 2.0**-9), (1.0, 1.125)):
        forged, coarse = (
            replace(plan.mechanism),
            (np.rint(law.own * own * 2.0**20), np.rint(law.shared * shared * 2.0**20)),
        )
        forged.__dict__["_law"] = CategoryNormals(*(one / 2.0**20 for one in coarse), law.shape)
        with pytest.raises(CertificateRefused, match="move too far"):
            audit_plan(replace(plan, mechanism=forged))
