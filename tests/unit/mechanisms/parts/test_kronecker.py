"""Noise along bases of attributes whose values are unlike: proved on every record, bounded by duality, and drawn."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import reduce

import numpy as np
import pandas as pd
import pytest
from scipy.sparse.csgraph import shortest_path

import dxgeom as dx
from dxgeom.audit.covariance_audit import audit_covariance
from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.gaussian.program import best_covariance
from dxgeom.mechanisms.parts.bases import uneven_distances, weighed_pairs
from dxgeom.mechanisms.parts.table_mechanism import KRONECKER, TableMechanism, maps_of
from dxgeom.numeric.randomness import InsecureSeededRandomness

MarginalQueries = dx.universe.MarginalQueries


def policy(presence=False, privacy="concentrated", edges="lopsided"):
    """A line, a graph with one short edge, and two words."""
    graph = {"lopsided": [["p", "q", 0.1], ["q", "r", 2], ["r", "s", 1]], "apart": [["p", "q", 0.5], ["r", "s", 1]]}
    graph["alike"] = [[*pair, 1] for pair in itertools.combinations("pqrs", 2)]
    return dx.Policy.from_dict(
        {
            "policy": "unlike values",
            "privacy": privacy,
            "unconnected": "allow",
            "budget": 100,
            "universe": {
                "attributes": {
                    "age": {"range": [0, 4], "step": 1},
                    "place": {"values": ["p", "q", "r", "s"]},
                    "sex": {"values": ["f", "m"]},
                }
            },
            "rules": [
                {"change": "age", "epsilon": "0.2", "per": 1},
                {"change": "place", "secrets": {"edges": graph[edges]}},
                {"change": "sex", "epsilon": 1},
                *([{"presence": True, "epsilon": "1.5"}] if presence else []),
            ],
        }
    )


def planned(groups=None, mechanism="auto", objective="mse", **stated):
    own = policy(**stated)
    queries = MarginalQueries.of(own.universe, groups, ways=None if groups else 2)
    return dx.plan(own.compile(), queries, mechanism=mechanism, objective=objective)


def loads(mechanism):
    """Of every two records, what noise shows of them over their distance, squared: all of it laid out, in float64."""
    queries, metric = mechanism.queries, mechanism.metric.metric
    records = list(itertools.product(*map(range, queries.universe.shape)))
    precisions = []
    for number in range(mechanism.family.count):
        members, spreads = mechanism.family.members_of(number), mechanism.coordinates.table(number, mechanism.scales)
        maps = maps_of(mechanism.family, mechanism.bases, number)
        wide = reduce(np.kron, maps, np.ones((1, 1)))
        whole = wide * np.broadcast_to(spreads, [one.shape[1] for one in maps]).ravel()
        differenced = [np.hstack([-np.ones((size - 1, 1)), np.eye(size - 1)]) for size in mechanism.family.sizes]
        cells = [reduce(np.kron, (differenced[a][:, record[a]] for a in members), np.ones(1)) for record in records]
        if np.any(spreads > 0):
            precisions.append((np.linalg.pinv(whole @ whole.T), np.array(cells)))
    for i, j in itertools.combinations(range(len(records)), 2):
        distance = float(metric.distance(i, j))
        if np.isfinite(distance):
            shown = sum(float((one[i] - one[j]) @ inverse @ (one[i] - one[j])) for inverse, one in precisions)
            yield shown / distance**2
    if mechanism.absent is not None:
        for i in range(len(records)):
            shown = sum(float(one[i] @ inverse @ one[i]) for inverse, one in precisions)
            yield shown / float(metric.epsilon) ** 2


@pytest.mark.parametrize("groups", [None, [["age"], ["place", "sex"]], [["age", "place", "sex"], []]])
@pytest.mark.parametrize(("presence", "edges"), [(False, "lopsided"), (True, "lopsided"), (False, "apart")])
def test_every_pair_of_records_is_hidden_and_the_worst_just_so(groups, presence, edges):
    """By another route: covariances laid out, all pairs of records, and not those that generate the metric."""
    mechanism = planned(groups, KRONECKER, presence=presence, edges=edges).mechanism
    largest = max(loads(mechanism))
    assert largest <= 1 + 1e-9
    if groups is None:
        assert largest > 1 - 1e-6
    assert mechanism.loads.largest(mechanism.scales) <= 1


def dense(own, groups):
    """The workload over all records, and the differences of all pairs over their distances."""
    shape, metric = own.universe.shape, own.compile().metric
    rows = []
    for group in groups:
        axes = [own.universe.names.index(name) for name in group]
        factors = [np.eye(size) if axis in axes else np.ones((1, size)) for axis, size in enumerate(shape)]
        rows.append(reduce(np.kron, factors))
    matrix = np.vstack(rows)
    first, second = np.triu_indices(int(np.prod(shape)), 1)
    distances = np.array([float(metric.distance(i, j)) for i, j in zip(first, second, strict=True)])
    return matrix, (matrix[:, first] - matrix[:, second]).T / distances[:, None]


def spanned(matrix, points):
    """The same in coordinates of which points fill all."""
    onto = np.linalg.svd(points, full_matrices=False)
    rank = int(np.sum(onto[1] > 1e-9 * onto[1][0]))
    return points @ onto[2][:rank].T, onto[2][:rank].T


PAIRS = [["age", "place"], ["age", "sex"], ["place", "sex"]]


@pytest.mark.parametrize("worst", [False, True])
def test_the_general_solver_s_best_covariance_lies_between_bound_and_noise(worst):
    plan = planned(PAIRS, KRONECKER, objective="max" if worst else "mse")
    points, answers = spanned(*dense(policy(), PAIRS))
    best = best_covariance(points, answers, worst)
    assert plan.lower_bound <= best.value * (1 + 1e-8)
    assert plan.loss >= best.bound * (1 - 1e-8)
    assert plan.gap < (1.3 if not worst else 4)
    if not worst:
        assert plan.loss < 0.75 * plan.decided.losses.get("marginal-gaussian", planned(PAIRS, "marginal-gaussian").loss)


@pytest.mark.needs("cvxpy")
@pytest.mark.long
def test_clarabel_finds_the_same_for_one_attribute_and_no_less_than_the_bound_for_two():
    import cvxpy

    for groups in ([["place"]], [["age", "sex"]]):
        points, answers = spanned(*dense(policy(), groups))
        covariance = cvxpy.Variable((points.shape[1],) * 2, PSD=True)
        cost = cvxpy.trace(answers.T @ answers @ covariance)
        problem = cvxpy.Problem(cvxpy.Minimize(cost), [cvxpy.matrix_frac(point, covariance) <= 1 for point in points])
        judged = problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        plan = planned(groups, KRONECKER)
        assert plan.lower_bound <= judged * (1 + 1e-7) and judged <= plan.loss * (1 + 1e-7)
        if len(groups[0]) == 1:
            assert plan.loss == pytest.approx(judged, rel=2e-6)


def test_values_that_are_alike_have_no_bases():
    own = dx.Policy.from_dict(
        {
            "policy": "alike",
            "privacy": "concentrated",
            "universe": {"attributes": {"a": {"values": ["x", "y", "z"]}, "b": {"values": ["x", "y"]}}},
            "rules": [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": 1}],
        }
    )
    queries = MarginalQueries.of(own.universe, ways=2)
    assert dx.plan(own.compile(), queries).mechanism.name == "marginal-gaussian"
    with pytest.raises(TooLarge, match="equally far"):
        dx.plan(own.compile(), queries, mechanism=KRONECKER)


def test_only_concentrated_privacy_is_served():
    with pytest.raises(UnsupportedCombination, match="Gaussian noise"):
        planned(mechanism=KRONECKER, privacy="pure")
    assert planned(privacy="pure").mechanism.name == "marginal-laplace"


def test_noise_that_is_too_small_missing_or_along_other_bases_is_refused():
    mechanism = planned(PAIRS, KRONECKER).mechanism
    scales, bases = mechanism.scales, mechanism.bases

    def made(own=scales, along=bases):
        return TableMechanism(KRONECKER, mechanism.metric, mechanism.queries, along, own)

    assert made().fingerprint == mechanism.fingerprint
    assert made(scales * 2).fingerprint != mechanism.fingerprint
    silent = np.where(np.arange(len(scales)) == len(scales) - 1, 0.0, scales)
    for wrong in (scales * (1 - 1e-5), silent, scales[:-1], -scales, scales * np.nan, np.full(len(scales), np.inf)):
        with pytest.raises(CertificateRefused):
            made(wrong)
    singular = np.ones_like(bases[0])
    for wrong in ((), bases[:2], (bases[1], bases[0], None), (bases[0], None, None), (singular, bases[1], None)):
        with pytest.raises(CertificateRefused):
            made(along=wrong)
    with pytest.raises(CertificateRefused):  # vectors of other lengths are other noise
        made(along=(bases[0] / 2, bases[1], None))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_vectors_so_short_that_what_they_hide_overflows_are_refused():
    """The inverse of 129 vectors is taken in slices, of which numbers as large as these leave nothing but NaN."""
    own = dx.Policy.from_dict(
        {
            "policy": "a long line",
            "privacy": "concentrated",
            "budget": 100,
            "universe": {"attributes": {"sex": {"values": ["f", "m"]}, "age": {"range": [0, 129], "step": 1}}},
            "rules": [{"change": "sex", "epsilon": 1}, {"change": "age", "epsilon": "0.2", "per": 1}],
        }
    )
    queries, bases = MarginalQueries.of(own.universe, [["sex"], ["age"]]), (None, np.eye(129) * 2.0**-1022)
    with pytest.raises(CertificateRefused, match="does not hide"):
        TableMechanism(KRONECKER, own.compile(), queries, bases, np.full(131, 100.0))


@pytest.mark.parametrize("seed", range(6))
def test_pairs_that_are_left_out_are_no_nearer_than_ways_along_the_others(seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 5, (9, 2)) + rng.random((9, 1)) * (seed % 2)
    closed = shortest_path(np.round(np.linalg.norm(points[:, None] - points, axis=2) + 0.1, 1) * (1 - np.eye(9)))
    verdict = dx.verify_edges(
        [(f"v{i}", f"v{j}", float(closed[i, j])) for i, j in itertools.combinations(range(9), 2)],
        privacy="concentrated",
    )
    (own,) = uneven_distances(verdict.metric.metric, (9,), {0: np.arange(9)})
    kept = np.full((9, 9), np.inf)
    kept[own.first, own.second] = kept[own.second, own.first] = own.distances
    values = np.arange(9)
    exact = verdict.metric.metric.distance(values[:, None], values)
    assert np.all(shortest_path(np.where(np.isfinite(kept), kept, 0)) <= exact * (1 + 1e-13))
    assert float(weighed_pairs(own).weights.sum()) == pytest.approx(1)


@pytest.mark.long
def test_tables_are_released_as_exactly_as_planned_and_agree():
    """False alarms: 6 standard errors of the variance of each of 34 cells, about 1e-7 in all."""
    plan = planned([*PAIRS, []], KRONECKER, presence=True)
    mechanism, data = plan.mechanism, np.zeros
    counted = type("Counts", (), {})()
    counted.cells = tuple(data(int(np.prod(shape)), dtype=np.int64) for shape in mechanism.queries.shapes)
    counted.total = 0
    drawn = [mechanism.draw(counted, Fraction(1, 2), InsecureSeededRandomness(seed)) for seed in range(4000)]
    for table, (mean, most) in enumerate(zip(*mechanism.cell_errors, strict=True)):
        cells = np.array([one.numerators[table] / one.divisors[table] for one in drawn])
        seen, error = (cells**2).mean(axis=0), (cells**2).std(axis=0) / np.sqrt(len(cells))
        assert abs(float(seen.mean()) - 4 * mean) <= 6 * float(np.sqrt((cells**2).mean(axis=1).var() / len(cells)))
        assert np.all(seen <= 4 * most * 1.001 + 6 * error)
        assert abs(float(seen.max()) - 4 * most) <= 7 * float(error.max())
    ages = []
    for table in (0, 1):
        cells = [Fraction(int(one), drawn[0].divisors[table]) for one in drawn[0].numerators[table]]
        ages.append(np.array(cells).reshape(5, -1).sum(axis=1))
    assert np.array_equal(*ages)


def test_a_table_is_released_with_honest_widths(tmp_path):
    plan = planned(PAIRS, KRONECKER)
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {"age": rng.integers(0, 5, 500), "place": rng.choice(list("pqrs"), 500), "sex": rng.choice(["f", "m"], 500)}
    )
    released = plan.release(data, ledger=":memory:", spend=1, insecure_test_seed=3)
    truth = data.groupby(["age", "place"]).size().unstack(fill_value=0).to_numpy()
    off = np.abs(released.answer.table("age, place") - truth)
    assert off.max() > 0 and np.all(off <= plan.half_widths(1 - 1e-9)[0])
    assert np.all(plan.rmse() ** 2 >= plan.mechanism.cell_errors.mean)


def test_linear_queries_that_are_tables_get_the_same_noise_and_an_audit_agrees():
    own = policy()
    queries = dx.LinearQueries.marginals(own.universe, PAIRS)
    plan = dx.plan(own.compile(), queries, mechanism=KRONECKER)
    assert float(plan.mechanism.ideal_variances.sum()) == pytest.approx(planned(PAIRS, KRONECKER).loss, rel=1e-9)
    assert audit_covariance(plan).differences > 0
    by_name = {one.name: one.loss for one in dx.plan(own.compile(), queries).candidates}
    assert by_name["gaussian"] < by_name[KRONECKER] < by_name["marginal-gaussian"]
    alike = policy(edges="alike")
    plan = dx.plan(alike.compile(), dx.LinearQueries.marginals(alike.universe, [["place", "sex"]]))
    assert KRONECKER not in [one.name for one in plan.candidates]
