"""Normal noise in products hides records and changes, by brute force; it is near the best covariance, and its bound is
below it; what it answers are the true weights, or it is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.distance_bounds import any_change
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts import contrast_search, contrasts
from dxgeom.mechanisms.parts.contrast_answers import in_contrasts
from dxgeom.mechanisms.parts.contrast_search import QUICK_WORK, ContrastSearch, alike_values
from dxgeom.mechanisms.parts.contrasts import ContrastNumbers, ContrastPart, hidden_of
from dxgeom.mechanisms.parts.products import product_queries
from dxgeom.metrics.combinations import CapMetric, PresenceMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric

SIZES = {"a": 5, "b": 2, "c": 3}
PRESENCE = {"presence": True, "epsilon": 0.5}
ANY = {"between": "everything", "epsilon": 1}
TOLD = dict(enumerate(SIZES.values()))


def policy_of(*rules, privacy="concentrated"):
    attributes = {name: {"range": [0, size - 1], "step": 1} for name, size in SIZES.items()}
    whole = {"policy": "small", "privacy": privacy, "budget": 100, "universe": {"attributes": attributes}}
    return dx.Policy.from_dict({**whole, "rules": list(rules)})


def queries_of(universe):
    """Of a the values beside few and many, by c; and b by c, whose rows weigh 3 and -2. The three values of c are alike
    but for the last table, and so are the values 0, 1, 2 of a."""
    told = {"a": np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]), "c": np.eye(3, dtype=int)}
    cells = {"a": np.eye(5, dtype=int), "b": np.eye(2, dtype=int)}
    weighed = {"b": np.array([[1, 1], [3, -2]]), "c": np.array([[1, 1, 1], [1, 1, 0]])}
    parts = [
        dx.LinearQueries.kronecker([f"{name}{number}" for number in range(count)], universe, factors)
        for name, count, factors in (("x", 9, told), ("y", 10, cells), ("z", 4, weighed))
    ]
    return dx.LinearQueries.stack(parts)


def asked(*rules):
    policy = policy_of(*rules)
    sensitivity = sensitivity_of(policy.compile(), queries_of(policy.universe))
    queries = product_queries(sensitivity)
    change = any_change(policy.compile().metric, policy.universe.shape, queries.classes)
    costs = (sensitivity.queries.float_steps * queries.units) ** 2
    return sensitivity, queries, ContrastSearch(queries, costs, change)


SENSITIVITY, QUERIES, SEARCH = asked(PRESENCE)
LOOK = SEARCH.found(QUICK_WORK)
PARTS = SEARCH.parts(LOOK)


def made(parts=None, sensitivity=SENSITIVITY):
    return in_contrasts(sensitivity, QUERIES, PARTS if parts is None else parts)


def vectors_of(parts):
    """What each record adds to all measured numbers, undone by a root of their covariance laid out: for every told
    combination, by brute force."""
    rows = []
    for part in parts:
        block, law = part.block(TOLD), part.law(1.0)
        columns = [
            np.prod([one.rows[row, value] for one, row, value in zip(block.sums, rows_, values, strict=True)])
            for values in itertools.product(*(range(TOLD[axis]) for axis in block.axes))
            for rows_ in itertools.product(*(range(len(one.rows)) for one in block.sums))
        ]
        shape = [TOLD[axis] for axis in block.axes]
        table = np.array(columns, dtype=float).reshape([*shape, part.numbers])
        order = np.argsort(block.axes)
        table = table.transpose([*order, len(order)])
        inside = [TOLD[axis] if axis in block.axes else 1 for axis in TOLD]
        whole = np.broadcast_to(table.reshape([*inside, part.numbers]), [*TOLD.values(), part.numbers])
        root = np.linalg.cholesky(law.second_moment)
        rows.append(np.linalg.solve(root, whole.reshape(-1, part.numbers).T))
    return np.concatenate(rows)


def test_values_are_alike_just_where_exchanging_them_reorders_the_queries():
    costs = (SENSITIVITY.queries.float_steps * QUERIES.units) ** 2
    found = alike_values(QUERIES, costs)
    assert {axis: own.tolist() for axis, own in found.items()} == {0: [0, 0, 0, 1, 1], 1: [0, 1], 2: [0, 0, 1]}
    costs[np.flatnonzero(QUERIES.weights[0][:, 1] & ~QUERIES.weights[0][:, 0])[0]] *= 2
    assert alike_values(QUERIES, costs)[0].tolist() == [0, 1, 0, 2, 2]


def test_what_records_and_changes_add_is_bounded_from_above_and_closely():
    found, vectors = hidden_of(PARTS, TOLD, alone=True, apart=True), vectors_of(PARTS)
    grams = vectors.T @ vectors
    lengths = np.diag(grams)
    apart = (lengths[:, None] + lengths - 2 * grams).max()
    assert lengths.max() * (1 - 1e-9) <= found.alone <= lengths.max() * (1 + 1e-6)
    assert apart * (1 - 1e-9) <= found.apart <= apart * (1 + 1e-6)
    assert found.alone <= 0.25


@pytest.mark.parametrize(("rules", "times", "part"), [((PRESENCE,), 1.01, 0.99), ((ANY,), 1.15, 0.7)])
def test_the_total_is_near_the_best_of_all_covariances_and_the_bound_below_it(rules, times, part):
    """Of records that come and go it is the best; of changes in a small universe records drawn alike tell less."""
    sensitivity, queries, search = asked(*rules)
    look = search.found(1e9)
    mechanism = in_contrasts(sensitivity, queries, search.parts(look))
    best = dx.plan(sensitivity.metric, queries_of(sensitivity.universe), mechanism="gaussian")
    total, least = float(mechanism.ideal_variances.sum()), float(best.mechanism.ideal_variances.sum())
    assert least * (1 - 1e-5) <= total <= least * times
    assert least * part <= search.bound(look) <= least


def test_answers_without_noise_are_those_of_the_queries():
    mechanism, generator = made(), np.random.default_rng(0)
    histogram = np.append(generator.integers(0, 9, size=30), 0)
    exact = mechanism.answered(histogram, [[0] * mechanism.law.dimension])[0]
    universe = SENSITIVITY.universe
    assert list(exact) == queries_of(universe).answers(histogram)


def test_smaller_noise_is_refused():
    with pytest.raises(CertificateRefused, match="does not hide what the metric protects"):
        made([one.times(0.999) for one in PARTS])
    sensitivity, queries, search = asked(ANY)
    parts = search.parts(search.found(1e8))
    in_contrasts(sensitivity, queries, parts)
    with pytest.raises(CertificateRefused, match="does not hide what the metric protects"):
        in_contrasts(sensitivity, queries, [one.times(0.999) for one in parts])


def test_a_metric_with_nearer_records_than_absence_asks_for_both():
    """Presence alone lets a change cost twice as much."""
    nearer = policy_of(PRESENCE, {"between": "everything", "epsilon": 0.5}).compile()
    with pytest.raises(CertificateRefused, match="does not hide what the metric protects"):
        ContrastNumbers(nearer, QUERIES.classes, tuple(PARTS))
    ContrastNumbers(nearer, QUERIES.classes, tuple(one.times(2.0) for one in PARTS))


def test_pure_privacy_is_refused():
    with pytest.raises(UnsupportedCombination):
        ContrastNumbers(policy_of(PRESENCE, privacy="pure").compile(), QUERIES.classes, tuple(PARTS))


def test_a_part_that_is_left_out_or_of_another_weight_is_refused():
    with pytest.raises(CertificateRefused, match="not made of the numbers"):
        made(PARTS[1:])
    weights = np.array(queries_of(SENSITIVITY.universe).tables.matrix())
    weights[3, 7] += 1
    names = queries_of(SENSITIVITY.universe).names
    changed = dx.LinearQueries.from_matrix(names, weights[:, :30], SENSITIVITY.universe)
    with pytest.raises(CertificateRefused, match="not made of the numbers"):
        made(sensitivity=sensitivity_of(SENSITIVITY.metric, changed))


def whole(*numbers):
    return np.array(numbers, dtype=np.int64)


@pytest.mark.parametrize(
    "wrong",
    [
        {"root": whole([1, 1], [0, 1])},
        {"root": whole([0, 0], [0, 1])},
        {"root": whole([2**30, 0], [0, 1])},
        {"root": whole([1])},
        {"summed": ((0, whole(0, 0, 0, 0, 0)),)},
        {"summed": ((0, whole(0, 2, 2, 2, 2)),)},
        {"contrasted": ((2, whole(1)),)},
        {"contrasted": ((2, whole(1, 0)),)},
        {"contrasted": ((0, whole(0, 1)),)},
        {"size": float("nan")},
        {"size": 1},
    ],
)
def test_what_is_no_part_is_refused(wrong):
    part = ContrastPart(((2, whole(0, 1)),), ((0, whole(0, 0, 0, 1, 1)),), whole([1, 0], [0, 1]), 1.0)
    with pytest.raises(CertificateRefused, match="a part has values or kinds"):
        replace(part, **wrong)


def test_what_only_looks_like_a_part_or_is_of_other_values_is_refused():
    looks = SimpleNamespace(**{name: getattr(PARTS[0], name) for name in ("contrasted", "summed", "root", "size")})
    further = ContrastPart(((0, whole(0, 5)),), (), whole([2**20]), 2.0**10)
    other = ContrastPart((), ((0, whole(0, 1)),), whole([2**20, 0], [0, 2**20]), 2.0**10)
    for wrong in (looks, further, other):
        with pytest.raises(CertificateRefused, match="not over the values"):
            ContrastNumbers(SENSITIVITY.metric, QUERIES.classes, (*PARTS, wrong))


def test_too_many_kinds_are_refused_with_their_number(monkeypatch):
    monkeypatch.setattr(contrasts, "MOST_PAIRED", 5)
    with pytest.raises(TooLarge, match="at most 5 kinds of records"):
        hidden_of(PARTS, TOLD, alone=False, apart=True)
    monkeypatch.setattr(contrast_search, "MOST_JOINED", 5)
    with pytest.raises(TooLarge, match="one covariance is sought for at most 5"):
        asked(PRESENCE)


def test_weights_whose_squares_do_not_fit_are_refused():
    """Where they were not, sums of squares came around, and no block was left for what they weigh."""
    attributes = {"a": {"range": [0, 11], "step": 1}, "b": {"range": [0, 1], "step": 1}}
    stated = {"policy": "p", "privacy": "concentrated", "budget": 9, "universe": {"attributes": attributes}}
    policy = dx.Policy.from_dict({**stated, "rules": [PRESENCE]})
    factors = {"a": np.eye(12, dtype=int) * 999_999_998 + 1, "b": np.eye(2, dtype=int)}
    queries = dx.LinearQueries.kronecker([f"q{k}" for k in range(24)], policy.universe, factors)
    sensitivity = sensitivity_of(policy.compile(), queries)
    asked = product_queries(sensitivity)
    change = any_change(policy.compile().metric, policy.universe.shape, asked.classes)
    with pytest.raises(TooLarge, match="few digits"):
        ContrastSearch(asked, np.ones(len(asked.units)), change)


@pytest.mark.parametrize(
    ("metric", "least", "most"),
    [
        (DiscreteMetric(6, Fraction(2)), 2, 2),
        (PresenceMetric(DiscreteMetric(6, Fraction(2)), Fraction(1)), None, 2),
        (PresenceMetric(DiscreteMetric(6, Fraction(3, 2)), Fraction(1)), Fraction(3, 2), Fraction(3, 2)),
        (SumMetric((DiscreteMetric(2, Fraction(3)), DiscreteMetric(3, Fraction(5)))), 3, None),
        (CapMetric(SumMetric((DiscreteMetric(2, Fraction(3)), DiscreteMetric(3, Fraction(5)))), Fraction(4)), 3, 4),
    ],
)
def test_any_change_costs_what_is_said_by_brute_force(metric, least, most):
    found = any_change(metric, (2, 3), {0: np.arange(2), 1: np.arange(3)})
    assert (found.least, found.most) == (least, most)
    apart = [float(metric.distance(np.int64(i), np.int64(j))) for i, j in itertools.combinations(range(6), 2)]
    assert least is None or min(apart) >= least
    assert most is None or max(apart) <= most


@pytest.mark.long
def test_a_plan_is_the_same_from_its_file_and_is_audited(tmp_path):
    for rules in ((PRESENCE,), (ANY,), (PRESENCE, {"change": "a", "epsilon": 0.25})):
        policy = policy_of(*rules)
        plan = dx.plan(policy.compile(), queries_of(policy.universe), mechanism="product-gaussian")
        dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
        again = dx.load_plan(tmp_path / "plan.json")
        assert again.fingerprint == plan.fingerprint
        assert "NormalsInProducts" in (tmp_path / "plan.json").read_text()
        audited = audit_plan(again)
        assert audited.holds and "all changes of a record, are hidden" in " ".join(audited.checked)
        (tmp_path / "plan.json").unlink()
