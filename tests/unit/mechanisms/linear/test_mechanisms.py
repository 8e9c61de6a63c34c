"""Every mechanism honours its metric, exactly, and predicts its error."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference.bodies import exact_gauge, exact_load
from scipy.optimize import minimize

from dxgeom.errors import NotANormBall, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.geometry.hulls import span_of
from dxgeom.mechanisms.linear.bars import half_widths
from dxgeom.mechanisms.linear.laplace import epsilon_dp_laplace, optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.shapes.hulls import coordinate_bounds, hull_mechanism, sensitivity_hull, volume_bound
from dxgeom.metrics.combinations import SumMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.points import PointsMetric
from dxgeom.metrics.verification import verify
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.universe.queries import LinearQueries


def verified(metric):
    return verify(metric, title="test", fingerprint="test", budget=Fraction(1))


def plane(count, seed):
    return verified(PointsMetric(np.random.default_rng(seed).random((count, 2)) * 100, "plane", Fraction(1)))


def attributes():
    return verified(
        SumMetric(
            (
                DiscreteMetric(2, Fraction("0.1")),
                ValueSensitivityMetric((Fraction(1), Fraction("0.3"), Fraction("0.7"))),
                LineMetric(tuple(Fraction(x) for x in range(5)), Fraction("0.25")),
            )
        )
    )


def queries(matrix):
    return LinearQueries.from_matrix([f"q{k}" for k in range(len(matrix))], matrix)


def random_queries(metric, count, seed, binary=False):
    generator = np.random.default_rng(seed)
    shape = (count, metric.size)
    return queries(generator.integers(0, 2, shape) if binary else generator.random(shape))


CASES = [
    (metric, count, binary, seed)
    for metric in ("plane", "attributes")
    for count in (1, 2, 4)
    for binary in (False, True)
    for seed in range(3)
]


def sensitivity_case(kind, count, binary, seed):
    metric = plane(20, seed) if kind == "plane" else attributes()
    return sensitivity_of(metric, random_queries(metric, count, seed, binary))


@pytest.mark.parametrize(("kind", "count", "binary", "seed"), CASES)
def test_laplace_scales_honour_every_pair_in_exact_arithmetic(kind, count, binary, seed):
    sensitivity = sensitivity_case(kind, count, binary, seed)
    for build in (optimal_laplace, epsilon_dp_laplace):
        mechanism = build(sensitivity)
        noisy = np.flatnonzero([any(row) for row in mechanism.mixing_matrix])
        load = exact_load(sensitivity.differences[:, noisy], sensitivity.bounds, mechanism.law.scales)
        assert load <= 1
        silent = np.setdiff1d(np.arange(count), noisy)
        assert not sensitivity.differences[:, silent].any()


@pytest.mark.parametrize(("kind", "count", "binary", "seed"), CASES)
def test_the_hull_honours_every_pair_in_exact_arithmetic(kind, count, binary, seed):
    sensitivity = sensitivity_case(kind, count, binary, seed)
    hull = sensitivity_hull(sensitivity)
    for difference, bound in zip(sensitivity.differences, sensitivity.bounds, strict=True):
        pivots = difference[hull.span.pivots]
        assert exact_gauge(hull.body, [Fraction(int(x)) / Fraction(float(bound)) for x in pivots]) <= 1
        follows = [sum(s * int(x) for s, x in zip(row, pivots, strict=True)) for row in hull.span.combinations]
        assert follows == difference.tolist()


@pytest.mark.parametrize(("kind", "count", "binary", "seed"), CASES)
def test_optimal_scales_agree_with_another_solver(kind, count, binary, seed):
    sensitivity = sensitivity_case(kind, count, binary, seed)
    mechanism = optimal_laplace(sensitivity)
    rows = np.abs(sensitivity.differences) * sensitivity.queries.float_steps / sensitivity.bounds[:, None]
    rows = np.unique(rows, axis=0)
    largest = rows.max(axis=0)
    start = np.full(count, 0.5 / count)
    height = np.sum((largest / start) ** 2)
    answer = minimize(
        lambda w: np.sum((largest / w) ** 2) / height,
        start,
        jac=lambda w: -2 * largest**2 / w**3 / height,
        constraints={"type": "ineq", "fun": lambda w: 1 - rows / largest @ w, "jac": lambda w: -rows / largest},
        bounds=[(1e-6, 1)] * count,
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert np.max(rows / largest @ answer.x) <= 1 + 1e-9
    ideal = float(np.sum(2 * (largest / answer.x) ** 2))
    scales = mechanism.law.scales * sensitivity.queries.float_steps
    assert float(np.sum(2 * scales**2)) == pytest.approx(ideal, rel=1e-6)


@pytest.mark.parametrize("build", ["laplace", "hull", "epsilon-dp"])
@pytest.mark.parametrize(("kind", "count", "binary"), [("plane", 3, False), ("attributes", 4, True)])
def test_predicted_errors_agree_with_released_answers(build, kind, count, binary):
    """20,000 releases; every mean square within six of its standard errors (fixed seed)."""
    sensitivity = sensitivity_case(kind, count, binary, 1)
    mechanism = {
        "laplace": optimal_laplace,
        "epsilon-dp": epsilon_dp_laplace,
        "hull": lambda s: hull_mechanism(s, sensitivity_hull(s)),
    }[build](sensitivity)
    spend = Fraction(1, 3)
    draws = mechanism.law.draw(20_000, InsecureSeededRandomness(5), 1 / spend)
    squares = (draws @ mechanism.float_mixing.T) ** 2
    standard_error = squares.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(squares.mean(axis=0) - mechanism.variances(spend)) < 6 * standard_error)


def test_an_answer_is_the_exact_answer_plus_noise_on_the_lattice():
    metric = plane(10, 3)
    asked = random_queries(metric, 3, 3)
    sensitivity = sensitivity_of(metric, asked)
    counts = np.arange(10)
    exact = sensitivity.queries.integer_answers(counts)
    mechanism = hull_mechanism(sensitivity, sensitivity_hull(sensitivity))
    answers = mechanism.draw(counts, Fraction(1, 2), InsecureSeededRandomness(1))
    noise = mechanism.law.draw(1, InsecureSeededRandomness(1), Fraction(2))[0]
    for answer, step, integer, z in zip(answers, sensitivity.queries.steps, exact, noise, strict=True):
        assert answer == step * (integer + int(z))


def test_answers_that_follow_from_others_follow_after_the_release_too():
    """Counts of three disjoint groups: they add up to the public number of records, noise or not."""
    metric = verified(DiscreteMetric(6, Fraction(1)))
    groups = np.repeat(np.eye(3, dtype=int), 2, axis=1)
    sensitivity = sensitivity_of(metric, queries(np.vstack([groups, groups[0] + groups[1], np.ones(6, dtype=int)])))
    hull = sensitivity_hull(sensitivity)
    assert hull.body.dimension == 2
    mechanism = hull_mechanism(sensitivity, hull)
    counts = np.array([5, 0, 3, 1, 9, 2])
    for seed in range(20):
        a, b, c, both, total = mechanism.draw(counts, Fraction(1), InsecureSeededRandomness(seed))
        assert a + b == both
        assert a + b + c == total == 20


def test_a_query_nobody_can_influence_is_answered_exactly():
    metric = verified(GraphMetric(4, np.array([0, 2]), np.array([1, 3]), np.array([1.0, 1.0])))
    sensitivity = sensitivity_of(metric, queries([[1, 1, 0, 0], [1, 0, 0, 0]]))
    counts = np.array([4, 5, 6, 7])
    for mechanism in (optimal_laplace(sensitivity), hull_mechanism(sensitivity, sensitivity_hull(sensitivity))):
        assert mechanism.draw(counts, Fraction(1), InsecureSeededRandomness(2))[0] == 9
        assert mechanism.variances()[0] == 0 < mechanism.variances()[1]


def test_records_that_must_be_one_and_the_same_cannot_be_separated():
    metric = verified(PointsMetric(np.array([[1.0, 1.0], [1.0, 1.0], [2.0, 2.0]]), "plane", Fraction(1)))
    with pytest.raises(UnboundedLoss, match="distance 0"):
        sensitivity_of(metric, queries([[1, 0, 0]]))
    assert sensitivity_of(metric, queries([[1, 1, 0]])).of_each_query[0] > 0


def test_mechanisms_accept_verified_metrics_of_the_same_size_only():
    with pytest.raises(UnsupportedCombination, match="verified"):
        sensitivity_of(DiscreteMetric(3, Fraction(1)), queries([[1, 0, 0]]))
    with pytest.raises(UnsupportedCombination, match="same"):
        sensitivity_of(plane(4, 0), queries([[1, 0, 0]]))


def test_nearly_dependent_queries_are_not_taken_for_dependent():
    differences = np.array([[10**14, 10**14 + 1], [1, 1], [10**13, 10**13]])
    with pytest.raises(NotANormBall, match="dependent"):
        span_of(differences, np.ones(len(differences)), 7)


def test_more_dimensions_than_allowed_are_told():
    with pytest.raises(TooLarge, match="3 dimensions"):
        span_of(np.eye(4, dtype=np.int64), np.ones(4), 3)


@pytest.mark.parametrize("seed", range(5))
def test_a_span_is_exact_for_any_rank(seed):
    generator = np.random.default_rng(seed)
    rank = 1 + seed
    differences = generator.integers(-9, 10, (40, rank)) @ generator.integers(-9, 10, (rank, 6))
    span = span_of(differences, np.ones(len(differences)), 7)
    assert len(span.pivots) == np.linalg.matrix_rank(differences)
    assert np.all(differences[:, span.pivots].astype(object) @ span.combinations.T == differences)


@pytest.mark.parametrize("seed", range(4))
def test_lower_bounds_stay_below_every_mechanism(seed):
    for kind in ("plane", "attributes"):
        sensitivity = sensitivity_case(kind, 3, False, seed)
        hull = sensitivity_hull(sensitivity)
        bound = max(coordinate_bounds(sensitivity).sum(), volume_bound(hull))
        for mechanism in (optimal_laplace(sensitivity), hull_mechanism(sensitivity, hull)):
            assert bound < mechanism.variances().sum()


def test_the_volume_bound_is_attained_in_one_dimension():
    sensitivity = sensitivity_case("plane", 1, False, 0)
    laplace = optimal_laplace(sensitivity)
    assert volume_bound(sensitivity_hull(sensitivity)) == pytest.approx(laplace.variances().sum(), rel=1e-6)


@pytest.mark.parametrize("build", ["laplace", "hull"])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_cover_at_least_as_often_as_they_say(build, level):
    sensitivity = sensitivity_case("plane", 3, False, 2)
    laplace = optimal_laplace(sensitivity)
    mechanism = laplace if build == "laplace" else hull_mechanism(sensitivity, sensitivity_hull(sensitivity))
    widths = half_widths(mechanism, level, Fraction(1), None)
    errors = np.abs(mechanism.law.draw(400_000, InsecureSeededRandomness(6)) @ mechanism.float_mixing.T)
    covered = (errors <= widths).mean(axis=0)
    slack = 6 * np.sqrt(level * (1 - level) / 400_000)
    assert np.all(covered >= level - slack)
    assert np.all(covered <= level + 0.01)


@pytest.mark.parametrize("level", [0, 1, -1, 2, np.nan])
def test_impossible_levels_are_refused(level):
    mechanism = optimal_laplace(sensitivity_case("plane", 1, False, 0))
    with pytest.raises(UnsupportedCombination, match="level"):
        half_widths(mechanism, level, Fraction(1), None)


def test_the_baseline_is_the_textbook_laplace_mechanism():
    """Two counts over three values, epsilon 0.5: the l1 sensitivity is 2, so both scales are 4."""
    metric = verified(DiscreteMetric(3, Fraction(1, 2)))
    sensitivity = sensitivity_of(metric, queries([[1, 0, 0], [0, 1, 0]]))
    mechanism = epsilon_dp_laplace(sensitivity)
    assert isinstance(mechanism.law, LaplaceNoise)
    assert mechanism.law.scales * sensitivity.queries.float_steps == pytest.approx([4, 4], rel=1e-12)


@pytest.mark.parametrize("weights", [[0, 10**12, 5 * 10**11], [0, 2**45, 2**44], [-(10**12), 10**12, 0]])
def test_weights_that_a_coarser_lattice_holds_exactly_are_hidden_like_others(weights):
    """Many weights end in zeros: on a coarser lattice nothing is rounded away, and every difference still counts."""
    metric = verify(DiscreteMetric(3, Fraction(1, 2)), title="m", fingerprint="m", budget=Fraction(1))
    sensitivity = sensitivity_of(metric, LinearQueries.from_matrix(["q"], [weights]))
    assert sensitivity.queries.steps[0] > 1
    assert sensitivity.queries.weight_errors == (0,)
    scale = optimal_laplace(sensitivity).law.scales[0] * float(sensitivity.queries.steps[0])
    assert scale == pytest.approx(2 * (max(weights) - min(weights)), rel=1e-9)
