"""What no noise has a smaller error than: against all laws on a lattice, by linear programming, and by algebra."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

import dxgeom as dx
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.shapes.hulls import second_moment_bound
from dxgeom.mechanisms.shapes.round_spaces import least_trace_ellipsoid, round_space, trace_bound
from dxgeom.privacy.measures import CONCENTRATED, PURE, privacy_measure_of


def least_on_lattice(shifts, bounds, reach):
    """The least E‖V‖² of all laws of whole vectors V with |V_k| ≤ reach_k and P[V = z + Δ_e] ≤ e^{b_e}·P[V = z]."""
    axes = [np.arange(-one, one + 1) for one in reach]
    places = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(reach))
    number = {tuple(place): row for row, place in enumerate(places.tolist())}
    blocks = []
    for shift, bound in zip(shifts.tolist(), bounds, strict=True):
        for signed in (shift, [-step for step in shift]):
            there = [number.get(tuple(np.add(place, signed))) for place in places.tolist()]
            rows = [row for row, other in enumerate(there) if other is not None]
            others = [other for other in there if other is not None]
            entries = np.concatenate([np.ones(len(rows)), np.full(len(rows), -np.exp(bound))])
            where = (np.tile(np.arange(len(rows)), 2), np.concatenate([others, rows]))
            blocks.append(coo_array((entries, where), shape=(len(rows), len(places))))
    squares = (places**2).sum(axis=1)
    total = np.ones((1, len(places)))
    found = linprog(
        squares, A_ub=vstack(blocks), b_ub=np.zeros(sum(one.shape[0] for one in blocks)), A_eq=total, b_eq=1
    )
    assert found.status == 0
    return found.fun


def of_lattice(shifts, bounds):
    """Twice the least trace, as much smaller as the bound of one number on a lattice is than that of a real number:
    2·sinh(b/2) for b."""
    return 2 * trace_bound(shifts / (2 * np.sinh(bounds / 2))[:, None])


def test_one_number_has_at_least_the_error_of_laplace_or_gaussian_noise():
    assert privacy_measure_of(PURE).least_mean_square == 2
    assert privacy_measure_of(CONCENTRATED).least_mean_square == 1
    for bound in (0.2, 0.5, 1.0):
        least = least_on_lattice(np.array([[1]]), np.array([bound]), [round(30 / bound)])
        # The solver lets rows be off by 1e-7, of probabilities that are as small.
        assert least == pytest.approx(1 / (2 * np.sinh(bound / 2) ** 2), rel=1e-3)


@pytest.mark.parametrize(
    "shifts", [[[1, 0], [0, 1]], [[1, 0], [0, 1], [1, 1]], [[1, 0], [0, 1], [1, 1], [1, -1]], [[2, 1], [1, 2], [1, -1]]]
)
def test_no_law_on_a_lattice_of_two_dimensions_has_less(shifts):
    """All laws, not those that are known here. A window keeps tails out, which only makes errors smaller."""
    shifts, bounds = np.array(shifts), np.full(len(shifts), 0.8)
    least = least_on_lattice(shifts, bounds, [14, 14])
    assert least >= of_lattice(shifts, bounds) * (1 - 1e-2)
    assert least <= of_lattice(shifts, bounds) * 2


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_no_law_on_a_lattice_has_less_under_any_distances(seed):
    generator = np.random.default_rng(seed)
    size = 2 + seed % 2
    shifts = np.array([z for z in itertools.product((-1, 0, 1), repeat=size) if z > (0,) * size])
    bounds = generator.uniform(1.0, 2.5, len(shifts)) * (size - 1)
    least = least_on_lattice(shifts, bounds, [12 if size == 2 else 5] * size)
    assert least >= of_lattice(shifts, bounds) * (1 - 1e-2)


def test_the_bound_is_attained_where_differences_are_orthogonal():
    near = np.array([0.5, 1.0, 2.0, 0.25])
    distances = np.zeros((5, 5))
    distances[0, 1:] = distances[1:, 0] = near
    distances[1:, 1:] = (near[:, None] + near) * (1 - np.eye(4))
    counts = dx.LinearQueries.from_matrix(list("abcd"), np.eye(5, dtype=int)[1:])
    plan = dx.plan(dx.verify_metric(distances), counts, objective="mse")
    assert plan.lower_bound == pytest.approx(2 * np.sum(1 / near**2), rel=1e-4)
    assert plan.loss == pytest.approx(plan.lower_bound, rel=2e-3)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(1, 40), st.sampled_from([1.0, 1e-3, 1e-6]))
def test_the_least_trace_is_bracketed(seed, size, more, flat):
    generator = np.random.default_rng(seed)
    points = generator.integers(-3, 4, (size + more, size)) + np.eye(size + more, size) * 10
    points = points * np.append(np.ones(size - 1), flat)
    assert 0.97 <= trace_bound(points) / np.trace(least_trace_ellipsoid(points)) <= 1 + 1e-9


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(3, 6), st.integers(2, 5))
def test_no_sum_of_laplace_errors_over_orthogonal_lines_is_larger(seed, records, queries):
    generator = np.random.default_rng(seed)
    places = generator.random((records, 2))
    metric = dx.verify_metric(np.linalg.norm(places[:, None] - places, axis=2) + 0.5 * (1 - np.eye(records)))
    asked = dx.LinearQueries.from_matrix(
        [f"q{k}" for k in range(queries)], generator.integers(0, 9, (queries, records))
    )
    space = round_space(sensitivity_of(metric, asked))
    if space is None:
        return
    basis = np.linalg.qr(generator.standard_normal((space.dimension,) * 2))[0]
    apart = 2 * float(np.sum(np.abs(space.points @ basis).max(axis=0) ** 2)) * space.unit**2
    assert apart <= second_moment_bound(space) * 1.02


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_plans_of_tables_and_of_boxes_know_it_too(privacy):
    own = dx.Policy.from_dict(
        {
            "policy": "two columns",
            "privacy": privacy,
            "universe": {"attributes": {"a": {"values": list("xyz")}, "b": {"values": list("pqrs")}}},
            "rules": [{"change": ["a", "b"], "epsilon": 1}],
        }
    )
    least = privacy_measure_of(privacy).least_mean_square
    tables = dx.plan(own.compile(), dx.LinearQueries.marginals(own.universe, ways=2))
    assert tables.lower_bound == pytest.approx(least * tables.bounds["gaussian"], rel=1e-6)
    wide = dx.plan(own.compile(), dx.universe.MarginalQueries.of(own.universe, ways=2))
    assert wide.lower_bound == pytest.approx(tables.lower_bound, rel=1e-6) and wide.gap >= 1 - 1e-9
    boxes = dx.plan(own.compile(), dx.universe.BoxQueries.prefixes(own.universe, "b"))
    assert 1 - 1e-9 <= boxes.gap < 2.5
