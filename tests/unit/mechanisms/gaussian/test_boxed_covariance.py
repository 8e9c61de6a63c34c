"""Normal noise in thousands of counts in boxes hides every record, by brute force and in rationals; it is near the best
covariance, its bound is below it, and narrower noise, other answers and other promises are refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq, fmpq_mat

import dxgeom as dx
from dxgeom.audit import listed_shifts
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.bounds.root_trace import MatrixBall, root_trace_below
from dxgeom.mechanisms.gaussian.boxed_covariance import boxed_covariance
from dxgeom.mechanisms.linear import sensitivity as sensitivities
from dxgeom.mechanisms.linear.lengths_in_boxes import BoxPairs, counted_boxes, length_of_records, load_in_boxes
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.noise.triangular import TriangularNormals

WORK = 2e11


def policy_of(shape, *rules, privacy="concentrated"):
    attributes = {f"a{axis}": {"range": [0, size - 1], "step": 1} for axis, size in enumerate(shape)}
    said = [{"presence": True, "epsilon": 0.5}, *rules]
    return dx.Policy.from_dict(
        {"policy": "boxes", "privacy": privacy, "budget": 100, "universe": {"attributes": attributes}, "rules": said}
    )


def rectangles(shape, count, seed=0):
    generator, found = np.random.default_rng(seed), {}
    while len(found) < count:
        ends = [np.sort(generator.choice(size + 1, 2, replace=False)).tolist() for size in shape]
        found[str(ends)] = {f"a{axis}": tuple(each) for axis, each in enumerate(ends)}
    return [*found.values()]


def asked(shape, count, *rules, seed=0):
    policy = policy_of(shape, *rules)
    queries = dx.LinearQueries.boxes(policy.universe, rectangles(shape, count, seed))
    sensitivity = sensitivity_of(policy.compile(), queries)
    return policy, queries, sensitivity, counted_boxes(sensitivity)


def found(shape=(7, 6), count=12, factors=None, quick=True, seed=0):
    _, _, sensitivity, boxes = asked(shape, count, seed=seed)
    return boxed_covariance(sensitivity, boxes, factors, WORK, quick=quick)


def moved_by_records(boxes):
    """(cells, K): slowly, one cell after the other."""
    told = boxes.merged
    cells = np.array([*np.ndindex(*told.sizes)])[:, None]
    return np.all((told.lower <= cells) & (cells < told.upper), axis=2).astype(np.float64)


@pytest.mark.parametrize("shape", [(9,), (4, 5), (3, 2, 4)])
def test_pairs_of_boxes_are_those_that_hold_each_cell(shape):
    _, _, _, boxes = asked(shape, 8, seed=len(shape))
    pairs, moved, generator = BoxPairs.of(boxes), moved_by_records(boxes), np.random.default_rng(1)
    weights = generator.integers(0, 99, pairs.shape).astype(np.float64)
    assert np.array_equal(pairs.of_cells(weights), moved.T @ (moved * weights.reshape(-1, 1)))
    matrix = generator.integers(-(2**58), 2**58, (8, 8))
    slowly = [sum(matrix.astype(object)[np.ix_(own > 0, own > 0)].ravel().tolist()) for own in moved]
    assert pairs.at_cells(matrix).ravel().tolist() == slowly
    floats = pairs.at_cells(matrix.astype(np.float64)).ravel()
    assert np.allclose(floats, np.array(slowly, dtype=np.float64), atol=2.0**15)


@pytest.mark.parametrize("seed", range(3))
def test_lengths_are_rounded_up_and_hardly(seed):
    _, _, _, boxes = asked((4, 3), 5, seed=seed)
    generator = np.random.default_rng(seed)
    factor = np.tril(generator.integers(-3, 4, (5, 5))).astype(np.float64)
    factor[np.diag_indices(5)] = generator.integers(1, 5, 5)
    inverse = fmpq_mat(5, 5, [fmpq(int(entry)) for entry in factor.ravel()]).inv()
    exact = Fraction(0)
    for own in moved_by_records(boxes):
        turned = inverse * fmpq_mat(5, 1, [fmpq(int(entry)) for entry in own])
        square = sum((turned[row, 0] ** 2 for row in range(5)), fmpq(0))
        exact = max(exact, Fraction(int(square.p), int(square.q)))
    length = Fraction(length_of_records(BoxPairs.of(boxes), factor))
    assert exact <= length**2 <= exact * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("factors", [None, np.arange(1.0, 13.0)])
def test_the_noise_hides_every_record_and_none_of_them_by_far(factors):
    best = found(factors=factors)
    steps = np.array([float(step) for step in best.mechanism.sensitivity.queries.steps])
    moved = moved_by_records(counted_boxes(best.mechanism.sensitivity)) / steps
    lengths = np.linalg.norm(np.linalg.solve(best.mechanism.law.factor, moved.T), axis=0)
    assert 0.5 * (1 - 1e-5) < lengths.max() <= 0.5


@pytest.mark.long
@pytest.mark.parametrize("factors", [None, np.arange(1.0, 13.0)])
@pytest.mark.parametrize(("quick", "most"), [(True, 1.06), (False, 1.02)])
def test_it_is_near_the_best_covariance_and_its_bound_is_below(factors, quick, most):
    best = found(factors=factors, quick=quick)
    costs = np.ones(12) if factors is None else factors
    total = float(best.mechanism.variances() @ costs)
    bound = (root_trace_below(MatrixBall(*best.weighed)) / best.presence) ** 2
    policy, queries, *_ = asked((7, 6), 12)
    told = None if factors is None else [*map(int, factors)]
    plan = dx.plan(policy.compile(), queries, mechanism="gaussian", objective="mse", importance=told)
    least = float(plan.mechanism.variances() @ costs)
    assert bound <= least * (1 + 1e-6) and least <= total * (1 + 1e-6)
    assert total < most * least and least < (1 + (most - 1) / 2) * bound


def test_dependent_boxes_have_noise_too():
    policy = policy_of((4, 3))
    halves = [{"a0": (0, 2)}, {"a0": (2, 4)}, {"a1": (0, 1)}, {"a1": (1, 3)}, {"a0": (0, 2), "a1": (0, 1)}]
    sensitivity = sensitivity_of(policy.compile(), dx.LinearQueries.boxes(policy.universe, halves))
    best = boxed_covariance(sensitivity, counted_boxes(sensitivity), None, WORK, quick=False)
    assert np.all(best.mechanism.variances() > 0)


def test_narrower_noise_is_refused():
    best = found()
    narrower = TriangularNormals(best.mechanism.law.factor * (1 - 1e-4))
    with pytest.raises(CertificateRefused, match="too narrow"):
        replace(best.mechanism, law=narrower)


def test_other_boxes_than_those_that_noise_is_for_are_refused():
    best = found()
    _, _, others, _ = asked((7, 6), 12, seed=5)
    with pytest.raises(CertificateRefused, match="too narrow"):
        replace(best.mechanism, sensitivity=others, law=TriangularNormals(best.mechanism.law.factor))


def test_sums_and_nearer_changes_are_refused():
    law = found().mechanism.law
    _, _, nearer, boxes = asked((7, 6), 12, {"change": "a0", "epsilon": 0.25})
    with pytest.raises(TooLarge, match="no nearer changes"):
        load_in_boxes(law, nearer, np.ones(12, dtype=bool))
    with pytest.raises(TooLarge, match="no nearer changes"):
        boxed_covariance(nearer, boxes, None, WORK, quick=True)
    policy = policy_of((7,))
    sums = dx.LinearQueries.kronecker(["one", "two"], policy.universe, {"a0": np.array([[3] * 7, [*range(7)]])})
    with pytest.raises(TooLarge, match="no boxes"):
        load_in_boxes(TriangularNormals(np.eye(2)), sensitivity_of(policy.compile(), sums), np.ones(2, dtype=bool))


def test_what_it_costs_is_told_before():
    _, _, sensitivity, boxes = asked((7, 6), 12)
    with pytest.raises(TooLarge, match="a covariance of 12 boxes takes about"):
        boxed_covariance(sensitivity, boxes, None, 13 * 12**3 - 1, quick=True)


def test_a_badly_scaled_root_is_not_proved():
    _, _, _, boxes = asked((4, 3), 5)
    factor = np.diag([1.0, 1, 1, 1, 1e-300])
    factor[4, 0] = 1.0
    assert not length_of_records(BoxPairs.of(boxes), factor) < 1e100


@pytest.mark.long
def test_a_plan_is_the_same_from_its_file_and_is_audited(tmp_path, monkeypatch):
    monkeypatch.setattr(sensitivities, "_ways", lambda tables: ())  # as where there are too many changes to list
    policy, queries, *_ = asked((7, 6), 12)
    plan = dx.plan(policy.compile(), queries, mechanism="gaussian")
    assert isinstance(plan.mechanism.law, TriangularNormals) and 1 <= plan.gap < 1.08
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    assert "NormalsThroughTriangle" in (tmp_path / "plan.json").read_text()
    again = dx.load_plan(tmp_path / "plan.json")
    assert again.fingerprint == plan.fingerprint
    assert np.array_equal(again.mechanism.law.factor, plan.mechanism.law.factor)
    assert audit_plan(again).holds
    counts = np.random.default_rng(0).integers(0, 1000, 42)
    released = plan.release(counts, ledger=tmp_path / "l.db", spend=50, id="one")
    exact = moved_by_records(counted_boxes(plan.mechanism.sensitivity)).T @ counts
    assert np.all(np.abs(np.array(released.values, dtype=np.float64) - exact) < 1)  # one in 10¹⁵ is further off


@pytest.mark.parametrize("seed", range(3))
def test_the_audit_of_very_many_boxes_says_what_rationals_say(seed, monkeypatch):
    """By the inverse in float64, with what it leaves; narrower noise is refused, or is too near to tell."""
    _, _, sensitivity, boxes = asked((7, 6), 12, seed=seed)
    mechanism, metric = boxed_covariance(sensitivity, boxes, None, WORK, quick=True).mechanism, sensitivity.metric
    weights = listed_shifts.carried(mechanism)
    slowly = listed_shifts.require_hidden_shifts(mechanism.law, weights, metric.metric)
    monkeypatch.setattr(listed_shifts, "_MOST_IN_BALLS", 1)
    assert listed_shifts.require_hidden_shifts(mechanism.law, weights, metric.metric) == slowly
    inverse = rational_inverse(mechanism.law)
    longest = max(sum(part**2 for part in inverse_times(inverse, own)) for own in weights.T.tolist())
    tight = float((fmpq(1, 4) / longest).p) / float((fmpq(1, 4) / longest).q)
    for part, wrong in ((1 - 2.0**-40, TooLarge), (1 - 2.0**-12, CertificateRefused), (0.5, CertificateRefused)):
        narrower = TriangularNormals(mechanism.law.factor * (part / tight**0.5))
        with pytest.raises(wrong):
            listed_shifts.require_hidden_shifts(narrower, weights, metric.metric)
    monkeypatch.setattr(listed_shifts, "_MOST_THROUGH_A_TRIANGLE", 12)
    with pytest.raises(TooLarge, match="single records"):
        listed_shifts.carried(mechanism)


def rational_inverse(law):
    return fmpq_mat([[fmpq(*float(one).as_integer_ratio()) for one in row] for row in law.factor.tolist()]).inv()


def inverse_times(inverse, own):
    moved = inverse * fmpq_mat([[fmpq(int(one))] for one in own])
    return [moved[row, 0] for row in range(moved.nrows())]
