"""Gaussian noise with jumps as a mechanism: every generating difference is hidden, and its error is what is stated."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reference.forged import forged
from scipy.optimize import linprog

import dxgeom as dx
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.gaussian import jumps as building
from dxgeom.mechanisms.gaussian import jumps as search_module
from dxgeom.mechanisms.gaussian.jumps import _Search, best_jump_shape, gaussian_with_jumps, jump_law, jump_shifts
from dxgeom.mechanisms.gaussian.mechanism import best_gaussian, gaussian_space
from dxgeom.mechanisms.gaussian.program import best_covariance
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.bars import half_widths, joint_half_widths
from dxgeom.mechanisms.linear.containment import require_hiding
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics.paired_changes import paired_changes
from dxgeom.noise.jump_shifts import JumpShifts
from dxgeom.noise.jumps import GaussianWithJumps
from dxgeom.numeric.randomness import InsecureSeededRandomness

RECORDS = 14


def workload(seed, count=5, follow=False):
    """A random metric on places, and random counts; with ``follow`` the last is the sum of the first two."""
    generator = np.random.default_rng(seed)
    spots = generator.random((RECORDS, 2)) * 3
    apart = np.linalg.norm(spots[:, None] - spots[None, :], axis=2)
    metric = dx.verify_metric(apart + 0.25 * (1 - np.eye(RECORDS)))
    rows = generator.integers(0, 4, (count, RECORDS))
    if follow:
        rows = np.vstack([rows, rows[0] + rows[1]])
    return sensitivity_of(metric, dx.LinearQueries.from_matrix([f"q{k}" for k in range(len(rows))], rows.tolist()))


def built(sensitivity, worst=False):
    return gaussian_with_jumps(gaussian_space(sensitivity, None, worst))


@pytest.mark.parametrize("seed", range(5))
def test_every_generating_difference_lies_in_the_hull_of_what_it_jumps_along(seed):
    """By a linear programme that knows nothing of the law's own list: ‖Δ‖ ≤ d in the norm of the hull of all ±x_e."""
    sensitivity = workload(seed)
    law = built(sensitivity).law
    points = law.shifts.points(slice(None)).T
    both = np.hstack([points, -points])
    for difference, bound in zip(sensitivity.differences[::7], sensitivity.bounds[::7], strict=True):
        assert linprog(np.ones(both.shape[1]), A_eq=both, b_eq=difference).fun <= bound * (1 + 1e-9)


@pytest.mark.parametrize("follow", [False, True])
def test_the_proof_is_made_again_from_its_numbers_alone(follow):
    mechanism = built(workload(1, follow=follow))
    require_hiding(mechanism)
    law = mechanism.law
    for place in (0, law.shifts.count - 1):
        longer = law.shifts.distances * np.where(np.arange(law.shifts.count) == place, 1.0001, 1.0)
        other = GaussianWithJumps.around(law.gaussian, replace(law.shifts, distances=longer))
        with pytest.raises(CertificateRefused, match="too narrow"):
            require_hiding(AdditiveMechanism("gaussian-with-jumps", mechanism.sensitivity, other, mechanism.mixing))


def test_a_law_that_lacks_a_difference_hides_it_no_better_than_others_tell():
    mechanism = built(workload(2))
    shifts = mechanism.law.shifts
    kept = np.arange(shifts.count) != np.argmin(mechanism.law.reaches)
    fewer = JumpShifts(shifts.columns, shifts.first[kept], shifts.second[kept], shifts.distances[kept])
    law = GaussianWithJumps.around(mechanism.law.gaussian, fewer)
    with pytest.raises(CertificateRefused, match="too narrow"):
        require_hiding(AdditiveMechanism("gaussian-with-jumps", mechanism.sensitivity, law, mechanism.mixing))


def test_an_answer_that_follows_from_others_gets_their_noise():
    mechanism = built(workload(3, follow=True))
    counts = np.ones(RECORDS, dtype=np.int64)
    for answers in mechanism.drawn(counts, Fraction(1, 2), 20, InsecureSeededRandomness(1)):
        assert answers[-1] == answers[0] + answers[1]


@pytest.mark.parametrize("seed", range(3))
def test_its_error_is_below_that_of_the_best_gaussian_made_wide_enough(seed):
    """Among multiples of the covariance of least trace, none has less: the covariance moves with the jumps."""
    sensitivity = workload(seed, 8)
    space = gaussian_space(sensitivity, None, False)
    pure = built(sensitivity).ideal_variances.sum()
    axes = best_gaussian_axes(sensitivity)
    others = []
    for wider in np.geomspace(2, 30, 40):
        try:
            law = jump_law(sensitivity, axes * np.sqrt(wider))
        except CertificateRefused:
            continue
        others.append(float(np.trace(space.answers @ law.second_moment @ space.answers.T)))
    assert pure <= min(others) * 1.001


def best_gaussian_axes(sensitivity):
    space = gaussian_space(sensitivity, None, False)
    return best_covariance(space.points(sensitivity.proved.bounds), space.answers).axes


def test_the_worst_answer_can_be_what_counts():
    sensitivity = workload(4, 8)
    total, worst = built(sensitivity).ideal_variances, built(sensitivity, worst=True).ideal_variances
    assert worst.max() < total.max()
    assert total.sum() < worst.sum()


@pytest.mark.parametrize("seed", range(4))
def test_the_worst_answer_is_as_small_as_its_search_has_it(seed, monkeypatch):
    """How wide the noise is in the end is chosen by what counts, not by the total of all answers."""
    values = []

    def watched(*args):
        found = best_jump_shape(*args)
        values.append(found.value)
        return found

    monkeypatch.setattr(building, "best_jump_shape", watched)
    sensitivity = workload(seed, 20)
    assert built(sensitivity, worst=True).ideal_variances.max() == pytest.approx(values[-1], rel=0.02)


@pytest.mark.parametrize("worst", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_search_that_moves_too_far_goes_back(seed, worst):
    """Of random weights on places of which some are very near to each other, whole steps come out many times as large
    as where they began."""
    generator = np.random.default_rng(seed)
    spots, columns = generator.random((30, 2)), generator.random((30, 60))
    first, second = np.triu_indices(30, 1)
    apart = np.linalg.norm(spots[first] - spots[second], axis=1)
    points = (columns[first] - columns[second]) / apart[:, None]
    basis = np.linalg.svd(points, full_matrices=False)[2][:29]
    points = points @ basis.T
    points = (points / np.abs(points).max()).astype(np.float32)
    search = _Search(points, np.ones(len(points)), basis.T, worst)
    search.step()
    begun, gains = search.best.value, []
    for _ in range(11):
        before = search.best.value
        gains.append(search.step())
        assert search.best.value == pytest.approx(before * (1 - max(gains[-1], 0)))
    assert min(gains) < -5
    assert search.best.value < 0.9 * begun


def test_a_search_of_very_much_work_ends_early_with_what_it_has(monkeypatch):
    sensitivity = workload(1, 8)
    every = built(sensitivity)
    monkeypatch.setattr(search_module, "_WORK", 1.0)
    rounds = []
    fewer = gaussian_with_jumps(gaussian_space(sensitivity, None, False), rounds.append)
    assert len(rounds) == search_module._FEWEST_ROUNDS
    require_hiding(fewer)
    assert fewer.ideal_variances.sum() < 1.01 * every.ideal_variances.sum()


def test_a_covariance_that_is_fitted_to_some_differences_is_proved_for_all(monkeypatch):
    sensitivity = workload(0, 4)
    every = built(sensitivity)
    monkeypatch.setattr(building, "_FITTED", (30, 3))
    some = built(sensitivity)
    assert some.law.shifts.count == every.law.shifts.count
    require_hiding(some)
    assert every.ideal_variances.sum() <= some.ideal_variances.sum() < 2 * every.ideal_variances.sum()


def test_a_query_that_hardly_any_difference_changes_is_fitted_to(monkeypatch):
    generator = np.random.default_rng(5)
    rows = generator.integers(0, 2, (8, 60))
    rows[0] = 0
    rows[0, 37] = 3
    sensitivity = sensitivity_of(
        dx.verify_metric(1 - np.eye(60)), dx.LinearQueries.from_matrix([f"q{k}" for k in range(8)], rows.tolist())
    )
    every = built(sensitivity)
    monkeypatch.setattr(building, "_FITTED", (30, 3))
    some = built(sensitivity)
    require_hiding(some)
    assert some.ideal_variances.sum() < 1.3 * every.ideal_variances.sum()


def test_pairs_of_kinds_of_records_are_jumped_along_without_being_laid_out():
    policy = dx.parse_policy(
        "policy: many\nuniverse: {attributes: {a: [x, y, z], b: {range: [0, 5], step: 1}}}\n"
        "rules: [{change: a, epsilon: 1}, {change: b, epsilon: 0.5, per: 1}]\n"
    )
    rows = np.random.default_rng(3).integers(0, 2, (12, policy.universe.size))
    queries = dx.LinearQueries.from_matrix([f"q{k}" for k in range(12)], rows.tolist())
    listed = sensitivity_of(policy.compile(), queries)
    finer = np.array([int(1 / step) for step in listed.queries.steps], dtype=np.int64)
    paired = forged(listed, changes=paired_changes(policy.compile().metric, queries.tables).scaled(finer))
    assert jump_shifts(gaussian_space(paired, None, False)).columns.shape[0] < listed.changes.count
    laws = [built(one).law for one in (listed, paired)]
    assert np.allclose(laws[0].second_moment, laws[1].second_moment, rtol=1e-3)
    require_hiding(AdditiveMechanism("gaussian-with-jumps", paired, laws[1], built(paired).mixing))


def test_one_dimension_and_no_noise_are_refused():
    metric = dx.verify_metric(1 - np.eye(3))
    for rows, why in ([[[1, 0, 0]], "one dimension"], [[[1, 1, 1]], "no answer needs noise"]):
        sensitivity = sensitivity_of(metric, dx.LinearQueries.from_matrix(["a"], rows))
        with pytest.raises(TooLarge, match=why):
            built(sensitivity)


@pytest.mark.parametrize("level", [0.9, 0.999, 1 - 1e-9])
def test_error_bars_hold_as_often_as_they_say(level):
    """200,000 simulated draws; six standard deviations are allowed, and one miss at the last level: a bar
    that is true fails with a chance below 2e-7."""
    mechanism = built(workload(5))
    errors = np.abs(mechanism.law.simulate(200_000, np.random.default_rng(9)) @ mechanism.float_mixing.T)
    allowed = 1 - level + 6 * np.sqrt((1 - level) / 200_000) + 5e-6 * (level > 0.9999)
    single = half_widths(mechanism, level, Fraction(1), None)
    assert np.all(np.mean(errors > single, axis=0) <= allowed)
    together = joint_half_widths(mechanism, level, Fraction(1), None)
    assert np.mean(np.any(errors > together, axis=1)) <= allowed
    assert np.all(together >= single * 0.999)


def test_under_concentrated_privacy_it_is_there_by_name_and_the_gaussian_has_less():
    metric = dx.verify_metric(1 - np.eye(6), privacy="concentrated")
    queries = dx.LinearQueries.from_matrix(["a", "b", "c"], np.random.default_rng(1).integers(0, 3, (3, 6)).tolist())
    plan = dx.plan(metric, queries)
    assert "gaussian-with-jumps" not in [one.name for one in plan.candidates]
    named = dx.plan(metric, queries, mechanism="gaussian-with-jumps")
    assert not named.mechanism.law.concentrated
    sensitivity = sensitivity_of(metric, queries)
    gaussian = best_gaussian(gaussian_space(sensitivity, None, False), sensitivity, None).mechanism
    assert gaussian.ideal_variances.sum() < named.mechanism.ideal_variances.sum() / 2
