"""Noise in running totals by weights of changes: it errs as little as can be, and is proved of what is drawn with."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from flint import arb, ctx, fmpq, fmpq_mat
from reference.policy_of_ranges import policy_of_ranges

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused, DxgeomError, NotANormBall, TooLarge
from dxgeom.mechanisms.parts import weighed_totals
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds, ToeplitzStrategy, best_theta
from dxgeom.mechanisms.parts.weighed_totals import WeighedStrategy, prefixes_bound_by_weights, weighed_strategies
from dxgeom.noise.triangular import TriangularNormals
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.numeric.sealed import canonical_digest

HAND_MADE = WeighedStrategy(5, (0.5, 0.25, 0.25, 0.125, 0.5), (1.0, 0.5, 2.0, 1.0, 0.0), (1.0,) * 5, (-9, 16))


def bounds_of(steps):
    return LineBounds(Fraction(1), None if steps is None else Fraction(1, steps), True)


def found(size, steps, after=False, costs=None):
    """Of ``size`` prefixes, and perhaps a value that none counts: the strategy, and its mean squared error."""
    costs = np.ones(size) if costs is None else costs
    strategy = next(weighed_strategies(size + after, bounds_of(steps), np.append(costs, [0.0] * after)))
    scale, upper = strategy.least_scale(bounds_of(steps)), np.arange(1, size + 1)
    assert strategy.hides(scale, bounds_of(steps))
    return strategy, float(strategy.variances(scale, np.zeros_like(upper), upper) @ costs)


@pytest.mark.parametrize(
    ("size", "steps", "after", "rmse"),
    [
        (12, None, False, 1.6074),
        (12, 7, False, 6.7099),
        (12, 7, True, 7.0000),
        (52, None, False, 2.0372),
        pytest.param(52, 7, False, 6.9415, marks=pytest.mark.long),
        (52, 7, True, 7.0003),
        pytest.param(365, None, False, 2.6343, marks=pytest.mark.long),
        pytest.param(365, 7, False, 7.0653, marks=pytest.mark.long),
        pytest.param(365, 7, True, 7.0733, marks=pytest.mark.long),
    ],
)
def test_errors_of_running_totals_are_those_of_the_best_noise(size, steps, after, rmse):
    """Figures of the best covariance, found by another method, to a thousandth."""
    _, total = found(size, steps, after)
    assert math.sqrt(total / size) == pytest.approx(rmse, rel=1e-3)


@pytest.mark.parametrize(
    ("size", "steps", "after", "uneven"),
    [(2, None, False, False), (9, None, False, True), (20, 2, False, False), (20, 3, True, True), (31, 7, False, True)],
)
def test_no_normal_noise_has_a_total_that_is_smaller_by_a_thousandth(size, steps, after, uneven):
    """By duality, with eigenvalues of the matrix that its own weights make, laid out."""
    costs = 1 + np.arange(size) % 3 / 2.0 if uneven else np.ones(size)
    strategy, total = found(size, steps, after, costs)
    ones, roots = np.tri(size), np.sqrt(np.array(strategy.costs))[:, None]
    matrix = roots * (ones * strategy.records @ ones.T + np.diag(strategy.steps)) * roots.T
    # Distances are 1 and 1/steps: weights add up to this.
    whole = sum(strategy.records) + sum(strategy.steps) / (steps or 1) ** 2
    bound = np.sqrt(np.maximum(np.linalg.eigvalsh(matrix), 0)).sum() ** 2 / whole * costs.max()
    assert bound * (1 - 1e-9) <= total <= bound * 1.001
    gaps = None if steps is None else np.full(size + after - 1, 1 / steps)
    told = prefixes_bound_by_weights(size + after, 1.0, gaps, np.append(costs, [0.0] * after))
    assert bound * 0.9999 <= told <= bound


def test_the_bound_counts_every_step_by_its_own_distance():
    """It is not above the best of noise that is sought by another program, for steps of unlike distances."""
    policy = dx.Policy.from_dict(
        {
            "policy": "unlike steps",
            "privacy": "concentrated",
            "universe": {"attributes": {"a": {"range": [0, 5], "step": 1}}},
            "rules": [{"presence": True, "epsilon": 1}, {"change": "a", "per": 3, "epsilon": 1}],
        }
    )
    prefixes = dx.LinearQueries.boxes(policy.universe, [{"a": (0, end)} for end in (1, 3, 4, 6)])
    plan = dx.plan(policy.compile(), prefixes, mechanism="gaussian")
    bound = prefixes_bound_by_weights(4, 1.0, np.full(3, 1 / 3), np.ones(4))
    assert 0.99 * plan.loss < bound <= plan.loss * (1 + 1e-6)
    # Further steps ask for no more noise.
    assert prefixes_bound_by_weights(4, 1.0, np.array([1 / 3, 2.0, 1 / 3]), np.ones(4)) <= bound


def test_each_step_is_held_to_its_own_distance():
    """The last step is told at less: only its own total has the more noise, and no step is hidden by less than its
    distance."""
    size, gaps = 20, np.append(np.full(19, 1 / 7), 0.7 / 7)
    uneven = LineBounds(Fraction(1), Fraction(float(gaps.min())), True, gaps=tuple(gaps.tolist()))
    costs, upper = np.append(np.ones(size), 0.0), np.arange(1, size + 1)
    strategy = next(weighed_strategies(size + 1, uneven, costs))
    scale = strategy.least_scale(uneven)
    _, steps = weighed_totals.lengths_along(strategy.law(scale, 1.0))
    assert strategy.hides(scale, uneven)
    assert np.all(steps <= gaps)
    assert not strategy.hides(scale * (1 - 1e-5), uneven)
    assert not strategy.hides(scale, replace(uneven, gaps=()))
    total = float(strategy.variances(scale, np.zeros_like(upper), upper).sum())
    bound = prefixes_bound_by_weights(size + 1, 1.0, gaps, costs)
    assert bound <= total <= 1.001 * bound
    even = bounds_of(Fraction(1) / uneven.apart)
    other = next(weighed_strategies(size + 1, even, costs))
    assert total < 0.6 * float(other.variances(other.least_scale(even), np.zeros_like(upper), upper).sum())


@pytest.mark.parametrize(("steps", "near"), [(None, 0.999), (2, 0.996), (7, 0.999)])
def test_the_bound_on_long_lines_is_near_the_best_and_not_above_it(steps, near, monkeypatch):
    """As if of hundreds of values noise by weights were not made: a few rounds, held against the eigenvalues of all."""
    size, gaps = 300, None if steps is None else np.full(299, 1 / steps)
    best = prefixes_bound_by_weights(size, 1.0, gaps, np.ones(size))
    optimum = math.sqrt(found(size, steps)[1] / size)
    monkeypatch.setattr(weighed_totals, "LAID_OUT", 200)
    told = prefixes_bound_by_weights(size, 1.0, gaps, np.ones(size))
    assert near * best < told < 1.0005 * best
    assert math.sqrt(told / size) < optimum
    monkeypatch.setattr(weighed_totals, "_LONGEST_BOUND", 250)
    assert prefixes_bound_by_weights(size, 1.0, gaps, np.ones(size)) == 0


@pytest.mark.long
def test_plans_of_ten_thousand_days_are_near_the_bound():
    """In mean squares, without what is planned for thousands of days: 1.05 and 1.10 are asked for."""
    for steps, most in ((None, 1.03), (7, 1.02), (2, 1.09)):
        size, upper = 10_000, np.arange(1, 10_001)
        lower, bounds = np.zeros(size, dtype=np.int64), bounds_of(steps)
        gaps = None if steps is None else np.full(size - 1, 1 / steps)
        theta = best_theta(size, bounds, lower, upper, np.ones(size))
        tried = ToeplitzStrategy(size, scaled=True), ToeplitzStrategy(size, theta=theta)
        error = min(float(one.variances(one.least_scale(bounds), lower, upper).sum()) for one in tried)
        bound = prefixes_bound_by_weights(size, 1.0, gaps, np.ones(size))
        assert bound < error < most * bound


def test_lengths_are_not_below_those_in_rationals():
    law = HAND_MADE.law(1.5, 1.0)
    exact = fmpq_mat([[fmpq(*float(one).as_integer_ratio()) for one in row] for row in law.factor.tolist()])
    vectors = exact.solve(fmpq_mat([[fmpq(i >= j) for j in range(5)] for i in range(5)])).transpose().tolist()
    longest = max(sum(one * one for one in row) for row in vectors)
    moved = max(sum((one - two) ** 2 for one, two in zip(a, b, strict=True)) for a, b in pairwise(vectors))
    record, steps = weighed_totals.lengths_along(law)
    for own, square in zip((record, float(steps.max())), (longest, moved), strict=True):
        told = fmpq(*own.as_integer_ratio()) ** 2
        assert square <= told <= square * fmpq(1 + 10**9, 10**9)


def test_the_law_bounds_shifts_from_above_and_has_the_moments_of_its_matrix():
    law, generator = HAND_MADE.law(2.0, 0.25), np.random.default_rng(3)
    assert np.array_equal(law.factor, HAND_MADE.matrix(2.0) * 4)
    shifts = np.round(generator.normal(size=(6, 5)) * 9)
    true = np.linalg.norm(np.linalg.solve(law.factor, shifts.T), axis=0)
    told = law.loss_upper_bounds(shifts, np.zeros_like(shifts))
    assert np.all(told >= true * (1 - 1e-14)) and told == pytest.approx(true, rel=1e-9)
    loose = law.loss_upper_bounds(shifts, np.full_like(shifts, 0.5))
    for _ in range(50):
        near = shifts + generator.uniform(-0.5, 0.5, shifts.shape)
        assert np.all(np.linalg.norm(np.linalg.solve(law.factor, near.T), axis=0) <= loose)
    assert law.variances_along(shifts) == pytest.approx(((shifts @ law.factor) ** 2).sum(axis=1))


def test_what_float64_draws_is_within_its_bound_of_what_balls_do():
    law = HAND_MADE.law(1.0, 1 / 64)
    drawn = law.ideal(20, InsecureSeededRandomness(3))
    for row in range(20):
        with ctx.workprec(128):
            exact = law._evaluate([one.ball() for one in drawn.uniforms(row)])
        for value, error, truth in zip(drawn.values[row], drawn.errors[row], exact, strict=True):
            assert bool(abs(arb(float(value)) - truth) <= arb(float(error)))
    assert drawn.errors.max() < 1e-6


def test_what_balls_alone_decide_is_drawn_all_the_same(monkeypatch):
    law = HAND_MADE.law(1.0, 1 / 64)
    fast = law.draw(20, InsecureSeededRandomness(3))
    monkeypatch.setattr("dxgeom.noise.rounding.settled", lambda values, errors: np.zeros(len(values), bool))
    assert np.array_equal(law.draw(20, InsecureSeededRandomness(3)), fast)


def test_the_matrix_is_the_same_on_every_machine_and_of_whole_multiples():
    matrix = HAND_MADE.matrix(3.0)
    assert np.array_equal(matrix * 2.0**38, np.rint(matrix * 2.0**38))
    assert canonical_digest("matrix", matrix)[:16] == "180af86c5e85f119"


def test_what_is_no_law_and_no_strategy_is_refused():
    for wrong in (
        np.array([[1.0, 0.5], [0.0, 1.0]]),
        np.array([[1.0, 0.0], [0.0, 0.0]]),
        np.array([[np.inf]]),
        np.eye(2)[:1],
    ):
        with pytest.raises(NotANormBall):
            TriangularNormals(wrong)
    with pytest.raises(TooLarge):
        TriangularNormals(np.zeros((4097, 4097)))
    for change in (
        {"size": 4},
        {"size": 1},
        {"records": (0.5,) * 4},
        {"records": (0.5, 0.0, 0.5, 0.5, 0.5)},
        {"steps": (-1.0,) * 5},
        {"costs": (math.nan,) * 5},
        {"nodes": (0, 0)},
        {"nodes": (0.0, 4)},
    ):
        with pytest.raises(CertificateRefused):
            replace(HAND_MADE, **change)
    for scale in (0.0, -1.0, math.nan, math.inf, 2.0**101):
        assert not HAND_MADE.hides(scale, bounds_of(None))


def test_weights_are_sought_where_they_are_known_to_help():
    costs = np.ones(6)
    assert not list(weighed_strategies(6, LineBounds(None, Fraction(1), True), costs))
    assert not list(weighed_strategies(6, LineBounds(Fraction(1), Fraction(1), False), costs))
    assert not list(weighed_strategies(6, bounds_of(None), np.array([1.0, 1, 0, 1, 1, 1])))
    assert not list(weighed_strategies(1, bounds_of(None), np.ones(1)))
    # Any two values are twice as far apart as one and none.
    assert list(weighed_strategies(6, LineBounds(Fraction(1), Fraction(2), False), costs))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    own = policy_of_ranges((9, 2), "concentrated", (0,), True)
    plan = dx.plan(own.compile(), dx.universe.BoxQueries.prefixes(own.universe, "a0"), mechanism=TOEPLITZ)
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    return plan, dx.save_plan(plan, path, policy=own), json.loads(path.read_text())


def test_plans_of_prefixes_have_it_and_a_smaller_scale_is_refused(kept):
    plan, _, _ = kept
    assert type(plan.mechanism.strategy) is WeighedStrategy
    assert "by weights of changes" in str(plan.in_full())
    with pytest.raises(CertificateRefused):
        replace(plan.mechanism, scales=plan.mechanism.scales * (1 - 1e-5))
    with pytest.raises(CertificateRefused):
        replace(plan.mechanism, strategy=replace(plan.mechanism.strategy, size=10))


def test_a_file_makes_the_same_plan_and_one_that_was_written_to_is_refused(kept, tmp_path):
    plan, loaded, document = kept
    assert loaded.plan.fingerprint == plan.fingerprint
    (said,) = document["box_noise"]["measured"]
    for change in (
        {"nodes": [1]},
        {"nodes": [-9, 99]},
        {"records": said["records"][:-2]},
        {"steps": ["0.5"]},
        {"costs": []},
    ):
        forged = json.loads(json.dumps(document))
        forged["box_noise"]["measured"] = [said | change]
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        with pytest.raises(DxgeomError):
            dx.load_plan(tmp_path / "forged.json")


def test_an_audit_confirms_it_by_another_route_and_sees_too_little_noise(kept):
    plan, loaded, _ = kept
    audit = audit_plan(loaded)
    assert audit.holds
    assert "every move along the attribute of the totals is hidden" in " ".join(audit.checked)
    for factor in (1 - 1e-5, 1e-312):
        forged = replace(plan.mechanism)
        forged.__dict__["_law"] = TriangularNormals(plan.mechanism._law.factor * factor)
        with pytest.raises(CertificateRefused, match="move too far"):
            audit_plan(replace(plan, mechanism=forged))
