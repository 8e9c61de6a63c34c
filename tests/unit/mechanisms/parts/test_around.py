"""Normal noise in counts of values that go round: Theorem 3, by the dense solver, by driving, and as files."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from reference.forged import forged
from reference.least_shift import TOLERANCE, worst_excess
from scipy.optimize import minimize_scalar

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.gaussian.program import best_covariance
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts import joint_totals
from dxgeom.mechanisms.parts.box_scales import round_steps
from dxgeom.mechanisms.parts.joint_totals import JointStrategy, RoundSteps, TotalsRoot
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ, WeightsAround
from dxgeom.planner.boxes.as_candidates import BoxCandidates
from dxgeom.planner.choose import plan as planned_noise
from dxgeom.universe.workloads.box_queries import BoxQueries


def policy(size, presence=None, step=0.25, more=()):
    rules = [{"change": "hour", "per": 1, "epsilon": step}, *more]
    rules += [] if presence is None else [{"presence": True, "epsilon": presence}]
    hour = {"range": [0, size - 1], "step": 1, "wraps": True}
    attributes = {"hour": hour, "kind": ["a", "b"]} if more else {"hour": hour}
    said = {"policy": "round", "privacy": "concentrated", "universe": {"attributes": attributes}, "rules": rules}
    return dx.Policy.from_dict(said)


def windows(universe, size, width):
    """From each value on so many, over the end of the round."""
    inside = [[int((value - first) % size < width) for value in range(size)] for first in range(size)]
    return dx.LinearQueries.from_matrix([f"from {first}" for first in range(size)], inside, universe)


def of_theorem(size, width, presence, step):
    """(Σ √(w·(m/ε₀² + (1 − m)·(2 − 2cos ω)/d²)))²/n at the best m."""
    spectrum = np.abs(np.fft.fft((np.arange(size) < width).astype(float))) ** 2
    moved = (2 - 2 * np.cos(2 * np.pi * np.arange(size) / size)) / step**2

    def value(part):
        return float(np.sqrt(spectrum * (part / (presence or math.inf) ** 2 + (1 - part) * moved)).sum()) ** 2 / size

    if presence is None:
        return value(0.0)
    best = minimize_scalar(lambda part: -value(part), bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    return max(-best.fun, value(0.0), value(1.0))


def around(own, asked):
    found = BoxCandidates(sensitivity_of(own.compile(), asked), None, worst=False)
    return found, found.built(TOEPLITZ)


@pytest.mark.parametrize("presence", [None, 1.0])
@pytest.mark.parametrize(("size", "width"), [(7, 3), (12, 5)])
def test_windows_over_the_end_of_a_round_have_the_least_error_of_the_theorem(size, width, presence):
    """And the bound is that number, from below."""
    own = policy(size, presence)
    found, mechanism = around(own, windows(own.universe, size, width))
    least = of_theorem(size, width, presence, 0.25)
    assert float(mechanism.ideal_variances.sum()) == pytest.approx(least, rel=1e-5)
    assert least * (1 - 1e-5) < found.bound <= least
    # By driving it: no change of a record shifts noise by more than its distance, and some by nearly so much.
    assert 1 - 1e-4 < worst_excess(mechanism) <= 1 + TOLERANCE


@pytest.mark.parametrize("presence", [None, 0.5])
def test_ranges_of_values_that_go_round_are_near_the_dense_solver(presence):
    """These are not the same all around, so weights are sought for each value and step."""
    size, own = 8, policy(8, presence)
    ends = [(low, high) for low in range(size) for high in range(low + 1, size + 1) if high - low < size]
    queries = BoxQueries.of(own.universe, [{"hour": one} for one in ends])
    plan = planned_noise(own.compile(), queries, mechanism=TOEPLITZ)
    inside = np.array([[low <= value < high for value in range(size)] for low, high in ends], dtype=float)
    moved = [(np.eye(size) - np.roll(np.eye(size), 1, axis=0)) / 0.25]
    moved = np.hstack([*moved, *([] if presence is None else [np.eye(size) / presence])])
    if presence is None:  # how many there are is public
        across = np.linalg.svd(np.ones((1, size)))[2][1:]
        inside, moved = inside @ across.T, across @ moved
    best = best_covariance(np.ascontiguousarray(moved.T), inside)
    assert isinstance(plan.mechanism.strategy, JointStrategy)
    assert best.bound * (1 - 1e-3) <= plan.lower_bound <= best.bound * (1 + 1e-7)
    assert best.bound * (1 - 1e-7) <= plan.loss <= best.value * 1.005


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_more_values_around_than_noise_is_sought_for_have_no_bound_of_it(privacy, monkeypatch):
    """Of windows over the end, too, which other noise answers."""
    monkeypatch.setattr(joint_totals, "MOST_VALUES", 6)
    hour = {"range": [0, 6], "step": 1, "wraps": True}
    said = {"policy": "round", "privacy": privacy, "universe": {"attributes": {"hour": hour}}}
    own = dx.Policy.from_dict({**said, "rules": [{"change": "hour", "per": 1, "epsilon": 0.25}]})
    found = BoxCandidates(sensitivity_of(own.compile(), windows(own.universe, 7, 3)), None, worst=False)
    assert found.boxes and found.bound == 0.0
    with pytest.raises(TooLarge, match="at most 6"):
        found.built(TOEPLITZ)


def test_weights_that_differ_are_answered_and_other_attributes_are_left_alone():
    own = policy(6, 1.0, more=[{"change": "kind", "epsilon": 0.5}])
    kinds = [[0, 1, 2, -1, 0, 3], [1, 0, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1]]
    rows = [[weight for weight in row for _ in range(2)] for row in kinds]
    _, mechanism = around(own, dx.LinearQueries.from_matrix(["a", "b", "c"], rows, own.universe))
    assert worst_excess(mechanism) <= 1 + TOLERANCE
    other = [*range(12)]
    with pytest.raises(TooLarge, match="whose values go round"):
        WeightsAround.of(sensitivity_of(own.compile(), dx.LinearQueries.from_matrix(["a"], [other], own.universe)))


@pytest.mark.parametrize("presence", [None, 1.0])
def test_noise_that_is_narrower_and_another_weight_are_refused(presence):
    own = policy(7, presence)
    asked = windows(own.universe, 7, 3)
    sensitivity = sensitivity_of(own.compile(), asked)
    _, mechanism = around(own, asked)
    made = mechanism.mixing.measured
    found = WeightsAround.of(sensitivity)
    assert worst_excess(found.through(sensitivity, made.strategy, made.scales)) <= 1 + TOLERANCE
    (root,) = made.strategy.roots
    narrower = JointStrategy((TotalsRoot(np.tril(np.rint(root.entries * 0.999).astype(np.int64))),))
    for strategy, scales in ((made.strategy, made.scales / 2), (narrower, made.scales)):
        with pytest.raises(CertificateRefused):
            found.through(sensitivity, strategy, scales)
    totals = found.totals.copy()
    totals[2, 3] += 1
    with pytest.raises(CertificateRefused, match="not made of the numbers"):
        replace(found, totals=totals).through(sensitivity, made.strategy, made.scales)


def test_each_step_around_is_held_against_its_own_distance():
    """The last one, to the first value, too."""
    root = TotalsRoot(np.rint(np.linalg.cholesky(np.eye(5) + 1.0) * 2**24).astype(np.int64))
    strategy, totals = JointStrategy((root,)), np.tri(5)
    lengths = np.linalg.norm(np.linalg.solve(root.matrix, totals - np.roll(totals, -1, axis=1)), axis=0)
    assert np.all((lengths <= root.around) & (root.around <= lengths * (1 + 1e-9)))
    assert strategy.hides_around(1.0, RoundSteps(5, None, lengths * (1 + 1e-8)))
    for place in range(5):
        nearer = lengths * (1 + 1e-8)
        nearer[place] *= 1 - 1e-7
        assert not strategy.hides_around(1.0, RoundSteps(5, None, nearer))


@pytest.mark.parametrize("presence", [None, 1.0])
def test_plans_are_audited_and_kept(presence, tmp_path):
    own = policy(7, presence)
    queries = BoxQueries.of(own.universe, [{"hour": (low, low + 3)} for low in range(5)])
    plan = dx.plan(own.compile(), queries, mechanism=TOEPLITZ)
    assert isinstance(plan.mechanism.strategy, JointStrategy)
    path = tmp_path / "plan.json"
    dx.save_plan(plan, path, policy=own)
    again = dx.load_plan(path).plan
    assert again.mechanism.fingerprint == plan.mechanism.fingerprint
    audit_plan(again)
    asked = windows(own.universe, 7, 3)
    _, mechanism = around(own, asked)
    listed = replace(dx.plan(own.compile(), asked), mechanism=mechanism)
    path = tmp_path / "listed.json"
    dx.save_plan(listed, path, policy=own)
    again = dx.load_plan(path).plan
    assert again.mechanism.fingerprint == mechanism.fingerprint
    audit_plan(again)
    with pytest.raises(CertificateRefused):
        made = mechanism.mixing.measured
        audit_plan(
            replace(again, mechanism=forged(mechanism, law=made.strategy.law(made.scale * 0.99, float(made.step))))
        )


def test_a_line_and_a_tree_do_not_go_round():
    said = {"policy": "line", "privacy": "concentrated"}
    line = {"hour": {"range": [0, 5], "step": 1}}
    tree = {"hour": {"graph": [["a", "b"], ["b", "c"], ["b", "d"]]}}
    star = {"hour": {"graph": [["a", "b"], ["b", "c"], ["c", "d"], ["d", "b"]]}}
    for attributes in (line, tree, star):
        rules = [{"change": "hour", "per": "1 step", "epsilon": 1}]
        own = dx.Policy.from_dict({**said, "universe": {"attributes": attributes}, "rules": rules})
        boxes = BoxQueries.of(own.universe, [{"hour": (0, end)} for end in range(1, own.universe.size + 1)])
        assert round_steps(own.compile(), boxes.merged) is None


def test_long_lists_around_a_round_take_its_noise_and_seek_no_covariance(monkeypatch):
    """What is found has nearly the bound that is known at once; alike values are not sought along one attribute."""

    def sought(*_arguments):
        raise AssertionError("alike values were sought for one attribute")

    monkeypatch.setattr("dxgeom.mechanisms.parts.contrast_search.alike_values", sought)
    size = 365
    own = policy(size, presence=1)
    plan = dx.plan(own.compile(), windows(own.universe, size, 30))
    assert plan.mechanism.name == TOEPLITZ
    told = {one.name: one for one in plan.candidates}
    assert told["gaussian"].loss is None
    assert "times the least that any normal noise has" in told["gaussian"].reason
    assert plan.lower_bound <= plan.loss <= plan.lower_bound * 1.001
