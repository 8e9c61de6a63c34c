"""What holds and what fails of the metrics that the literature writes down for a privacy requirement."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.errors import NotAMetric
from dxgeom.mechanisms.linear.laplace import optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.shapes.hulls import hull_mechanism, sensitivity_hull
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.universe.queries import LinearQueries

tenths = st.integers(1, 40).map(lambda number: Fraction(number, 10))


def of_values(epsilons: list[Fraction], combine: Callable[[list[Fraction]], Fraction]) -> np.ndarray:
    """The matrix that gives two different values what ``combine`` makes of their two numbers."""
    codes = range(len(epsilons))
    matrix = np.full((len(epsilons), len(epsilons)), Fraction(0), dtype=object)
    for i, j in itertools.permutations(codes, 2):
        matrix[i, j] = combine([epsilons[i], epsilons[j]])
    return matrix


def values_policy(epsilons: list[Fraction]) -> Policy:
    names = [f"v{k}" for k in range(len(epsilons))]
    numbers = ", ".join(f"{name}: {float(epsilon)}" for name, epsilon in zip(names, epsilons, strict=True))
    rule = f"{{change: a, values: {{{numbers}}}}}"
    return parse_policy(f"policy: p\nuniverse: {{attributes: {{a: [{', '.join(names)}]}}}}\nrules: [{rule}]\n")


def table(policy: Policy) -> np.ndarray:
    every = np.arange(policy.universe.size)
    return policy.compile().distance(every[:, None], every[None, :])


def test_the_smaller_of_two_numbers_is_no_metric_for_three_values():
    with pytest.raises(NotAMetric) as caught:
        dx.verify_metric(of_values([Fraction(1), Fraction(1), Fraction(1, 10)], min))
    one, detour, other = caught.value.witness
    assert (detour, {one, other}) == (2, {0, 1})
    assert caught.value.excess == pytest.approx(0.8)


@given(st.lists(tenths, min_size=2, max_size=2))
def test_the_smaller_of_two_numbers_is_a_metric_for_two_values(epsilons):
    assert dx.verify_metric(of_values(epsilons, min)).certificate.verdict == "holds"


@given(st.lists(tenths, min_size=3, max_size=6))
def test_its_closure_is_the_smaller_one_or_twice_any_third(epsilons):
    closed = dx.repair_metric(of_values(epsilons, min)).entries
    for i, j in itertools.combinations(range(len(epsilons)), 2):
        third = min(epsilon for place, epsilon in enumerate(epsilons) if place not in (i, j))
        assert closed[i, j] == min(epsilons[i], epsilons[j], 2 * third)
    found = table(values_policy(epsilons))
    assert np.all(found <= closed)
    assert np.allclose(found, closed.astype(float), rtol=1e-15, atol=0)


def scale_of_count(metric: dx.VerifiedMetric, value: int) -> float:
    """The scale of Laplace noise that hides how many records have a value."""
    return dx.metrics.lipschitz(metric, [int(code == value) for code in range(metric.size)])


YES, NO = 0, 1
TWO = [Fraction(1, 10), Fraction(1)]


def test_the_sum_of_two_numbers_is_a_metric_that_gives_too_little_noise():
    """The requirement ε(Yes) = 0.1 asks for a scale of 10 to count the other value; the sum gets by with 0.91."""
    summed = dx.verify_metric(of_values(TWO, sum))
    assert scale_of_count(summed, NO) == pytest.approx(1 / 1.1)
    assert scale_of_count(values_policy(TWO).compile(), NO) == pytest.approx(10)


def test_the_larger_of_two_numbers_is_a_metric_that_gives_too_little_noise():
    largest = dx.verify_metric(of_values(TWO, max))
    assert scale_of_count(largest, YES) == scale_of_count(largest, NO) == pytest.approx(1)
    assert scale_of_count(values_policy(TWO).compile(), YES) == pytest.approx(10)


@given(st.lists(tenths, min_size=2, max_size=6), st.sampled_from([sum, max]))
def test_sum_and_largest_are_metrics_whatever_the_numbers(epsilons, combine):
    matrix = of_values(epsilons, combine)
    assert dx.verify_metric(matrix).certificate.verdict == "holds"
    assert np.all(matrix >= of_values(epsilons, min))


SITES = [0, 1, 3, 6, 8, 12]
NEAR = 4


@pytest.fixture
def threshold(tmp_path):
    """Sites on a line: 1/2 for those at most 4 km apart, nothing said of the others."""
    (tmp_path / "sites.csv").write_text("id,x,y\n" + "".join(f"s{k},{x},0\n" for k, x in enumerate(SITES)))
    return parse_policy(
        "policy: p\nuniverse: {attributes: {site: {points: sites.csv, key: id, x: x, y: y, unit: km}}}\n"
        f"rules: [{{change: site, epsilon: 0.5, within: {NEAR} km}}]\n",
        folder=tmp_path,
    )


def blowfish() -> np.ndarray:
    far = np.abs(np.subtract.outer(SITES, SITES))
    return np.where(far == 0, 0.0, np.where(far <= NEAR, 0.5, np.inf))


def test_epsilon_within_a_threshold_and_infinity_beyond_is_no_metric(threshold):
    with pytest.raises(NotAMetric) as caught:
        dx.verify_metric(blowfish())
    one, detour, other = caught.value.witness
    assert blowfish()[one, other] == np.inf
    assert blowfish()[one, detour] + blowfish()[detour, other] == 1.0
    closed = dx.repair_metric(blowfish()).entries
    assert np.all(table(threshold) <= closed)
    assert np.allclose(table(threshold), closed, rtol=1e-14, atol=0)
    assert closed[0].tolist() == [0, 0.5, 0.5, 1, 1.5, 2]


@settings(max_examples=15)
@given(weights=st.lists(st.lists(st.integers(0, 5), min_size=6, max_size=6), min_size=2, max_size=2))
def test_near_pairs_alone_and_all_pairs_of_the_closure_get_identical_noise(weights):
    names, changes = ["q0", "q1"], np.array(weights)
    assume(np.linalg.matrix_rank(np.diff(changes)) == 2)
    pairs = [(i, j) for i, j in itertools.combinations(range(6), 2) if blowfish()[i, j] < np.inf]
    closed = dx.verify_metric(dx.repair_metric(blowfish()).entries)
    sensitivity = sensitivity_of(closed, LinearQueries.from_matrix(names, changes))
    stated = [np.max([abs(row[i] - row[j]) / 0.5 for i, j in pairs]) for row in changes]
    steps = sensitivity.queries.float_steps
    assert np.allclose(sensitivity.of_each_query * steps, stated, rtol=1e-12)
    near = sensitivity_of(
        dx.verify_edges([(i, j, 0.5) for i, j in pairs]).metric, LinearQueries.from_matrix(names, changes)
    )
    assert len(near.differences) <= len(pairs)
    scales = [optimal_laplace(found).law.scales for found in (sensitivity, near)]
    variances = [hull_mechanism(found, sensitivity_hull(found)).variances() for found in (sensitivity, near)]
    assert np.allclose(*scales, rtol=1e-6) and np.allclose(*variances, rtol=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=7, unique=True),
    st.integers(1, 20),
    tenths,
)
def test_a_smooth_threshold_is_a_metric_whatever_the_places(places, threshold, epsilon):
    """In the city-block distance, which integers hold exactly."""
    matrix = np.full((len(places), len(places)), Fraction(0), dtype=object)
    for (i, one), (j, other) in itertools.permutations(enumerate(places), 2):
        far = abs(one[0] - other[0]) + abs(one[1] - other[1])
        matrix[i, j] = epsilon * max(Fraction(1), Fraction(far, threshold))
    assert dx.verify_metric(matrix).certificate.verdict == "holds"
