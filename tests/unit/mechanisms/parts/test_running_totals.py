"""Noise in running totals: it honours the metric by brute force, is drawn exactly, and is proved again from files."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from reference.policy_of_ranges import policy_of_ranges

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused, DxgeomError, TooLarge, UnsupportedCombination
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.linear.lengths_in_boxes import counted_boxes
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ, ToeplitzMechanism, line_bounds, totals_in_answers
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds, ToeplitzStrategy, best_theta
from dxgeom.mechanisms.parts.weighed_totals import WeighedStrategy
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.toeplitz import ONE, ToeplitzNormals
from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness

SIZE = 9
NO_STEPS = LineBounds(Fraction(1), None, False)


def policy(line, presence, size=SIZE):
    """Values on a line or all at one distance, beside another attribute, and perhaps records that come and go."""
    return policy_of_ranges((size, 2), "concentrated", (0,) if line else (), presence)


def queries(own, size=SIZE):
    prefixes = [{"a0": (0, end)} for end in range(1, size + 1)]
    return dx.LinearQueries.boxes(own.universe, [*prefixes, {"a0": (2, 5)}, {"a0": (size - 1, size)}])


def made(own, strategy=None, size=SIZE):
    sensitivity = sensitivity_of(own.compile(), queries(own, size))
    boxes = counted_boxes(sensitivity)
    strategy = strategy or ToeplitzStrategy(size, scaled=True)
    scale = strategy.least_scale(line_bounds(sensitivity.metric, boxes.merged))
    return ToeplitzMechanism(TOEPLITZ, sensitivity.metric, boxes, strategy, np.array([scale])), sensitivity


STRATEGIES = [
    ToeplitzStrategy(SIZE),
    ToeplitzStrategy(SIZE, scaled=True),
    ToeplitzStrategy(SIZE, theta=0.6),
    ToeplitzStrategy(SIZE, theta=1.0),
    ToeplitzStrategy(SIZE, window=3, scaled=True),
    ToeplitzStrategy(SIZE, window=4),
    WeighedStrategy(SIZE, (0.125,) * SIZE, (0.75,) * (SIZE - 1) + (0.0,), (1.0,) * SIZE, (-10, 16)),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize(("line", "presence"), [(True, True), (False, True), (True, False), (False, False)])
def test_no_two_records_are_further_apart_than_their_distance(strategy, line, presence):
    """Of all pairs, through the map of the law laid out; and some are nearly as far."""
    own = policy(line, presence)
    mechanism, _ = made(own, strategy)
    metric, absent = own.compile().metric, SIZE * 2
    law, _ = mechanism.law_of(0, 1.0)
    added = np.tril(np.ones((SIZE, SIZE)))[:, np.repeat(np.arange(SIZE), 2)]
    if presence:
        added = np.hstack([added, np.zeros((SIZE, 1))])
    vectors = np.linalg.solve(law.map, added)
    one, other = np.triu_indices(absent + presence, 1)
    apart = np.linalg.norm(vectors[:, one] - vectors[:, other], axis=0)
    used = apart / metric.distance(one, other)
    assert used.max() < 1 + 1e-9
    assert used.max() > (1 - 1e-6 if line else 0.5)


@pytest.mark.parametrize("size", [1, 2, 7, 300])
@pytest.mark.parametrize("scaled", [False, True])
def test_what_float64_draws_is_within_its_bound_of_what_balls_do(size, scaled):
    law = ToeplitzStrategy(size, theta=0.25, scaled=scaled).law(1.0, 1 / 64)
    drawn = law.ideal(1, InsecureSeededRandomness(size))
    with ctx.workprec(128):
        exact = law._evaluate([one.ball() for one in drawn.uniforms(0)])
    off = np.array(
        [float(abs(own - float(value)).abs_upper()) for own, value in zip(exact, drawn.values[0], strict=True)]
    )
    assert np.all(off <= drawn.errors[0])
    assert drawn.errors.max() < 1e-6


@pytest.mark.parametrize("size", [1, 2, 7, 300])
def test_products_of_integers_tell_what_division_of_balls_does(size):
    law = ToeplitzStrategy(size, theta=0.25, scaled=True).law(1.0, 1 / 64)
    uniforms = law.ideal(1, InsecureSeededRandomness(size)).uniforms(0)
    with ctx.workprec(320):
        divided = law._evaluate([arb(fmpq(2 * one.prefix + 1, 2 << one.bits)) for one in uniforms])
    for precision in (128, 192):
        with ctx.workprec(precision):
            found = law._evaluate([one.ball() for one in uniforms])
        assert all(own.contains(other) for own, other in zip(found, divided, strict=True))
        assert max(float(one.rad()) for one in found) < 1e-10


@pytest.mark.parametrize("scaled", [False, True])
def test_what_balls_alone_decide_is_drawn_all_the_same(scaled, monkeypatch):
    law = ToeplitzStrategy(20, scaled=scaled).law(1.0, 1 / 64)
    fast = law.draw(30, InsecureSeededRandomness(3))
    monkeypatch.setattr("dxgeom.noise.rounding.settled", lambda values, errors: np.zeros(len(values), bool))
    assert np.array_equal(law.draw(30, InsecureSeededRandomness(3)), fast)


class SmallWords(Randomness):
    """Down to the smallest that float64 takes, and below."""

    def words(self, count):
        generator = np.random.default_rng(count)
        words = generator.integers(0, 2**64, count, dtype=np.uint64)
        return words >> generator.integers(0, 36, count, dtype=np.uint64)


@pytest.mark.parametrize("law", [ToeplitzStrategy(3).law(1.0, 1 / 64), GaussianNoise(Ellipsoid(np.array([[50.0]])))])
def test_uniforms_far_below_what_their_first_bits_tell_well_are_within_their_bounds(law):
    """At both ends of what the words leave open, and every row but those with a word below 2³⁰."""
    draws, pairs = law.ideal(200, SmallWords()), (law.dimension + 1) // 2
    assert np.array_equal(draws.legible, np.all(draws.words[:, :pairs] >= 2**30, axis=1))
    assert np.any(np.any(draws.words[:, :pairs] < 2**40, axis=1) & draws.legible) and not np.all(draws.legible)
    for row in np.flatnonzero(draws.legible).tolist():
        for end in (0, 1):
            with ctx.workprec(200):
                exact = draws.evaluation(row)([arb(fmpq(int(word) + end, 2**64)) for word in draws.words[row]])
            for value, error, truth in zip(draws.values[row], draws.errors[row], exact, strict=True):
                assert bool(abs(arb(float(value)) - truth) <= arb(float(error)))


def test_coefficients_that_are_masked_are_those_below_the_mask():
    masked = np.ma.array([ONE, ONE // 2], mask=[False, True])
    law = ToeplitzNormals(masked, np.ones(2))
    assert type(law.series) is np.ndarray and law.series.tolist() == [ONE, ONE // 2]


def test_the_law_is_its_matrix():
    law, generator = ToeplitzStrategy(12, theta=0.5, scaled=True).law(2.0, 0.25), np.random.default_rng(3)
    series = [law.series[k] / ONE for k in range(12)]
    whole = np.array([[series[i - j] if i >= j else 0.0 for j in range(12)] for i in range(12)])
    expected = np.tril(np.ones((12, 12))) @ np.diag(law.lengths) @ np.linalg.inv(whole)
    assert law.map == pytest.approx(expected, abs=1e-12)
    rows = generator.integers(-2, 3, (5, 12)).astype(float)
    assert law.variances_along(rows) == pytest.approx(((rows @ expected) ** 2).sum(axis=1))
    shifts = np.round(generator.normal(size=(4, 12)) * 9)
    found = law.loss_upper_bounds(shifts, np.zeros_like(shifts))
    true = np.linalg.norm(np.linalg.solve(expected, shifts.T), axis=0)
    assert np.all(found >= true)
    assert found == pytest.approx(true, rel=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_errors_are_those_of_the_matrix(strategy):
    lower, upper = np.array([0, 0, 0, 3, 8]), np.array([1, 5, SIZE, 6, SIZE])
    rows = (np.arange(1, SIZE + 1) == upper[:, None]).astype(float) - (np.arange(1, SIZE + 1) == lower[:, None])
    expected = ((rows @ strategy.law(1.5, 1.0).map) ** 2).sum(axis=1)
    assert strategy.variances(1.5, lower, upper) == pytest.approx(expected)
    assert strategy.variances(1.5, lower[:3], upper[:3]) == pytest.approx(expected[:3])


def test_runs_of_columns_with_one_length_have_the_errors_of_the_matrix(monkeypatch):
    monkeypatch.setattr("dxgeom.mechanisms.parts.toeplitz_strategies._ENTRIES", 60 * 7)
    strategy, upper = ToeplitzStrategy(60, scaled=True), np.arange(1, 61)
    assert 3 < len(strategy._starts) < 60
    expected = (strategy.law(1.0, 1.0).map ** 2).sum(axis=1)
    assert strategy.variances(1.0, np.zeros_like(upper), upper) == pytest.approx(expected)
    assert strategy.hides(strategy.least_scale(NO_STEPS), NO_STEPS)


def prefixes(strategy, bounds):
    upper = np.arange(1, strategy.size + 1)
    return math.sqrt(strategy.variances(strategy.least_scale(bounds), np.zeros_like(upper), upper).mean())


@pytest.mark.parametrize(("size", "most"), [(128, 2.342), (365, 2.67), (1024, 3.0)])
def test_prefixes_under_presence_have_the_errors_that_were_asked_for(size, most):
    assert prefixes(ToeplitzStrategy(size, scaled=True), NO_STEPS) < most


@pytest.mark.parametrize(("size", "steps", "most"), [(128, 2, 2.63), (128, 3, 3.31), (128, 7, 7.036), (365, 7, 7.09)])
def test_prefixes_under_presence_and_steps_have_the_errors_that_were_asked_for(size, steps, most):
    bounds, upper = LineBounds(Fraction(1), Fraction(1, steps), True), np.arange(1, size + 1)
    theta = best_theta(size, bounds, np.zeros_like(upper), upper, np.ones(size))
    assert prefixes(ToeplitzStrategy(size, theta=theta), bounds) < most


def test_the_same_noise_in_listed_answers_is_the_same_and_other_weights_are_refused():
    own = policy(True, True)
    mechanism, sensitivity = made(own)
    listed = totals_in_answers(mechanism, sensitivity)
    assert listed.ideal_variances == pytest.approx(mechanism.variances)
    other = dx.LinearQueries.boxes(
        own.universe, [{"a0": (0, end)} for end in range(1, SIZE + 1)] + [{"a0": (2, 6)}, {"a0": (8, 9)}]
    )
    with pytest.raises(CertificateRefused):
        totals_in_answers(mechanism, sensitivity_of(own.compile(), other))
    with pytest.raises(CertificateRefused):
        replace(listed, law=mechanism.strategy.law(mechanism.scale, 1.0))


def test_a_smaller_scale_another_size_and_pure_privacy_are_refused():
    mechanism, _ = made(policy(True, True))
    with pytest.raises(CertificateRefused):
        replace(mechanism, scales=mechanism.scales * (1 - 1e-9))
    with pytest.raises(CertificateRefused):
        replace(mechanism, strategy=ToeplitzStrategy(SIZE + 1, scaled=True))
    with pytest.raises(CertificateRefused):
        replace(mechanism, scales=np.array([np.inf]))
    for wrong in ({"theta": 1.5}, {"window": 1}, {"window": SIZE + 1}, {"size": 0}, {"scaled": 1}):
        with pytest.raises(CertificateRefused):
            replace(mechanism.strategy, **wrong)
    own = policy_of_ranges((SIZE, 2), "pure", (), True)
    with pytest.raises(UnsupportedCombination):
        dx.plan(own.compile(), dx.universe.BoxQueries.prefixes(own.universe, "a0"), mechanism=TOEPLITZ)


def test_boxes_along_two_attributes_have_none():
    own = policy(False, True)
    both = dx.universe.BoxQueries.of(own.universe, [{"a0": (0, 3), "a1": (0, 1)}])
    with pytest.raises(TooLarge):
        dx.plan(own.compile(), both, mechanism=TOEPLITZ)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    own = policy(True, True)
    asked = dx.universe.BoxQueries.of(own.universe, [{"a0": (0, 3)}, {"a0": (2, 6)}, {"a0": (5, SIZE)}])
    plan = dx.plan(own.compile(), asked, mechanism=TOEPLITZ)
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    return plan, dx.save_plan(plan, path, policy=own), json.loads(path.read_text())


def test_a_file_makes_the_same_plan_and_one_that_was_written_to_is_refused(kept, tmp_path):
    plan, loaded, document = kept
    assert loaded.plan.fingerprint == plan.fingerprint
    said = document["box_noise"]
    for place, change in (
        ("scales", {"kind": "ScalesInTables", "scales": {"shape": [1], "floats": [(0.1).hex()]}}),
        ("measured", [said["measured"][0] | {"theta": (0.125).hex()}]),
        ("measured", [said["measured"][0] | {"theta": "0.5"}]),
        ("measured", [said["measured"][0] | {"window": 1}]),
        ("measured", ["line"]),
        ("name", "boxes-gaussian"),
    ):
        forged = json.loads(json.dumps(document))
        forged["box_noise"][place] = change
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        with pytest.raises(DxgeomError):
            dx.load_plan(tmp_path / "forged.json")


def test_an_audit_confirms_it_by_another_route_and_sees_too_little_noise(kept):
    plan, loaded, _ = kept
    audit = audit_plan(loaded)
    assert audit.holds
    assert "every move along the attribute of the totals is hidden" in " ".join(audit.checked)
    for factor in (0.99, 1e-312):  # of which the reciprocals are no numbers
        forged = replace(plan.mechanism)
        forged.__dict__["_law"] = ToeplitzNormals(plan.mechanism._law.series, plan.mechanism._law.lengths * factor)
        with pytest.raises(CertificateRefused, match="move too far"):
            audit_plan(replace(plan, mechanism=forged))
