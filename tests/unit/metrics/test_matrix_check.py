from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.errors import DxgeomError, NotAMetric, UnsupportedCombination
from dxgeom.metrics.combinations import SumMetric
from dxgeom.metrics.detours import worst_detour
from dxgeom.metrics.matrices import DenseMetric
from dxgeom.metrics.metric import MetricCertificate
from dxgeom.metrics.verification import VerifiedMetric, verify


def euclidean(count, seed=0):
    points = np.random.default_rng(seed).random((count, 3))
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))


def test_a_euclidean_matrix_is_verified_and_answers_distances():
    matrix = euclidean(40)
    metric = dx.verify_metric(matrix)
    assert metric.certificate.verdict == "holds"
    assert metric.certificate.pairs == 780
    assert metric.distance([0, 3], [5, 5]).tolist() == [matrix[0, 5], matrix[3, 5]]


@pytest.mark.parametrize("excess", [1e-9, 1e-3, 10.0])
def test_a_planted_violation_is_found_with_its_witness(excess):
    matrix = euclidean(200)
    between = matrix[10] + matrix[150]
    between[[10, 150]] = np.inf
    k = int(between.argmin())
    matrix[10, 150] = matrix[150, 10] = between[k] * (1 + excess)
    with pytest.raises(NotAMetric) as caught:
        dx.verify_metric(matrix)
    i, middle, j = caught.value.witness
    assert {i, j} == {10, 150}
    assert middle == k
    assert caught.value.excess == pytest.approx(between[k] * excess, rel=1e-3)
    assert f"d({i}, {j})" in str(caught.value)


@given(st.integers(2, 7).flatmap(lambda n: st.lists(st.integers(0, 12), min_size=n * n, max_size=n * n)))
def test_integer_matrices_are_decided_exactly(entries):
    size = int(len(entries) ** 0.5)
    matrix = np.triu(np.array(entries).reshape(size, size), 1)
    matrix = matrix + matrix.T
    fails = any(
        matrix[i, j] > matrix[i, k] + matrix[k, j] for i in range(size) for j in range(size) for k in range(size)
    )
    if fails:
        with pytest.raises(NotAMetric) as caught:
            dx.verify_metric(matrix)
        i, k, j = caught.value.witness
        assert matrix[i, j] > matrix[i, k] + matrix[k, j]
    else:
        assert dx.verify_metric(matrix).certificate.verdict == "holds"


def test_rationals_are_decided_exactly_where_floats_cannot():
    third = Fraction(1, 3)
    tight = np.array([[0, third, 2 * third], [third, 0, third], [2 * third, third, 0]], dtype=object)
    metric = dx.verify_metric(tight)
    assert metric.certificate.verdict == "holds"
    assert Fraction(float(metric.distance(0, 1))) <= third
    broken = tight.copy()
    broken[0, 2] = broken[2, 0] = 2 * third + Fraction(1, 10**12)
    with pytest.raises(NotAMetric):
        dx.verify_metric(broken)


def test_a_float_matrix_within_its_own_rounding_is_accepted_and_said_so():
    line = np.exp(3 * np.random.default_rng(0).random(30))
    matrix = np.abs(line[:, None] - line[None])
    certificate = dx.verify_metric(matrix).certificate
    assert certificate.verdict == "within rounding"
    assert 0 < certificate.excess < 2**-48
    assert "within rounding" in "\n".join(certificate.lines())


def test_infinite_distances_are_allowed_but_not_with_a_finite_detour():
    inf = np.inf
    assert dx.verify_metric([[0, 1, inf], [1, 0, inf], [inf, inf, 0]]).distance(0, 2) == inf
    with pytest.raises(NotAMetric):
        dx.verify_metric([[0, 1, inf], [1, 0, 1], [inf, 1, 0]])


@pytest.mark.parametrize(
    ("matrix", "rule"),
    [
        ([[0, np.nan], [np.nan, 0]], "NaN"),
        ([[0, -1], [-1, 0]], "negative"),
        ([[1, 1], [1, 0]], "itself"),
        ([[0, 1], [2, 0]], "symmetric"),
        ([[0, 1, 2], [1, 0, 1]], "square"),
        ([], "square"),
        ([["a", "b"], ["c", "d"]], "numbers"),
        ([[0, None], [None, 0]], "number"),
        ([[0, 2**60], [2**60, 0]], "2\\*\\*52"),
        ([[0, 1j], [1j, 0]], "numbers"),
    ],
)
def test_each_broken_axiom_is_named(matrix, rule):
    with pytest.raises(NotAMetric, match=rule):
        dx.verify_metric(matrix)


def test_the_kernel_agrees_with_the_definition():
    matrix = np.random.default_rng(1).random((70, 70)) * 10
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    worst, witness, count = worst_detour(matrix, 0, 70)
    shortest = (matrix[:, :, None] + matrix[None, :, :]).min(axis=1)
    np.fill_diagonal(shortest, 0)
    excess = np.where(matrix > 0, 1 - shortest / np.where(matrix > 0, matrix, 1), 0)
    assert worst == pytest.approx(excess.max())
    assert count == np.count_nonzero(np.triu(matrix > shortest))
    i, k, j = witness
    assert 1 - (matrix[i, k] + matrix[k, j]) / matrix[i, j] == pytest.approx(worst)


def test_a_verified_metric_cannot_be_made_by_hand():
    certificate = dx.verify_metric([[0, 1], [1, 0]]).certificate
    with pytest.raises(DxgeomError, match="never directly"):
        VerifiedMetric(DenseMetric(np.zeros((2, 2))), certificate, "t", "f", Fraction(1))
    with pytest.raises((DxgeomError, ValueError)):
        dataclasses.replace(dx.verify_metric([[0, 1], [1, 0]]), budget=Fraction(100))


def test_indices_outside_the_universe_are_refused():
    metric = dx.verify_metric([[0, 1], [1, 0]])
    for index in (-1, 2):
        with pytest.raises(IndexError):
            metric.distance(index, 0)


def test_structured_metrics_with_broken_data_are_refused():
    from dxgeom.metrics.families import DiscreteMetric, LineMetric
    from dxgeom.metrics.graph import GraphMetric
    from dxgeom.metrics.points import PointsMetric

    one = Fraction(1)
    broken = [
        DiscreteMetric(3, Fraction(0)),
        LineMetric((one, one), one),
        LineMetric((Fraction(0), one), Fraction(-1)),
        PointsMetric(np.array([[0.0, np.nan]]), "plane", one),
        PointsMetric(np.array([[91.0, 0.0]]), "great circle", one),
        PointsMetric(np.array([[0.0, 1e15]]), "great circle", one),
        PointsMetric(np.array([[1e200, 0.0]]), "plane", one),
        PointsMetric(np.array([[1e-160, 0.0]]), "plane", one),
        GraphMetric(2, np.array([0]), np.array([5]), np.array([1.0])),
        GraphMetric(2, np.array([0]), np.array([1]), np.array([-1.0])),
        GraphMetric(2, np.array([0]), np.array([1]), np.array([np.nan])),
    ]
    for metric in broken:
        with pytest.raises(NotAMetric):
            verify(metric, title="t", fingerprint="f", budget=one)


class _Unproved(DenseMetric):  # type: ignore[misc]
    """Stands in for a metric from elsewhere that vouches for itself."""


@pytest.mark.parametrize("kind", [tuple, list])
def test_parts_that_vouch_for_themselves_are_refused_in_any_sequence(kind, monkeypatch):
    """A list was looked past: the metrics in it were believed."""
    monkeypatch.setattr(_Unproved, "certificate", lambda self: MetricCertificate("none", 3, "because"))
    monkeypatch.setattr("dxgeom.metrics.verification.FAMILIES", (SumMetric,))
    part = _Unproved(np.array([[0.0, 9, 1], [9, 0, 1], [1, 1, 0]]))
    with pytest.raises(UnsupportedCombination, match="no proof is known"):
        verify(SumMetric(kind([part])), title="t", fingerprint="f", budget=Fraction(1))


def test_zero_has_one_sign_in_fingerprints():
    one, other = (dx.verify_metric([[0.0, zero], [zero, 0.0]]) for zero in (0.0, -0.0))
    assert one.fingerprint == other.fingerprint
