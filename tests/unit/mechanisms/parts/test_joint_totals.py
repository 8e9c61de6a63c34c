"""Noise in running totals along several attributes at once: held against the dense solver, exactly and by drawing."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from reference.policy_of_ranges import policy_of_ranges

import dxgeom as dx
from dxgeom.audit.plan_audit import DrivenTables, audit_plan
from dxgeom.errors import CertificateRefused, DxgeomError, TooLarge
from dxgeom.mechanisms.parts.joint_totals import BITS, JointStrategy, TotalsRoot, joint_strategy
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ
from dxgeom.noise.triangular import KroneckerNormals
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.boxes.choosing import loss_of
from dxgeom.planner.choose import plan as planned_noise
from dxgeom.universe.workloads import constructors
from dxgeom.universe.workloads.box_queries import BoxQueries

SIZES = (5, 4)
ALONE = policy_of_ranges((*SIZES, 2), "concentrated", (), presence=True, alone=True)


def boxes(sizes, count, seed):
    """Random ones, along all attributes, and one along the first alone."""
    generator = np.random.default_rng(seed)
    ends = [[np.sort(generator.choice(size + 1, 2, replace=False)) for size in sizes] for _ in range(count)]
    found = [{f"a{axis}": (int(low), int(high)) for axis, (low, high) in enumerate(box)} for box in ends]
    return [*found, {"a0": (1, 3)}]


def planned(sizes=SIZES, count=12, seed=1, asked=None):
    policy = policy_of_ranges((*sizes, 2), "concentrated", (), presence=True, alone=True)
    queries = BoxQueries.of(policy.universe, boxes(sizes, count, seed) if asked is None else asked)
    return policy, planned_noise(policy.compile(), queries, mechanism=TOEPLITZ)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("joint") / "plan.json"
    policy, plan = planned()
    dx.save_plan(plan, path, policy=policy)
    return plan, dx.load_plan(path), json.loads(path.read_text("ascii"))


def exact_inverse(root):
    return fmpq_mat([[fmpq(int(entry), 2**BITS) for entry in row] for row in root.entries.tolist()]).inv()


@pytest.mark.parametrize("seed", range(3))
def test_every_record_is_hidden_by_the_very_numbers_in_rationals(seed):
    _, plan = planned(seed=seed)
    strategy, scale = plan.mechanism.strategy, Fraction(plan.mechanism.scale)
    lengths = []
    for root in strategy.roots:
        inverse = exact_inverse(root)
        totals = [[fmpq(int(row >= value)) for value in range(root.size)] for row in range(root.size)]
        moved = inverse * fmpq_mat(totals)
        lengths.append([sum(moved[row, value] ** 2 for row in range(root.size)) for value in range(root.size)])
        assert max(lengths[-1]) <= fmpq(root.longest.numerator, root.longest.denominator) ** 2
    most = max(math.prod(both, start=fmpq(1)) for both in product(*lengths))
    assert Fraction(int(most.p), int(most.q)) / scale**2 <= 4  # presence is at 2
    # And noise is no larger than that by more than is said.
    assert Fraction(int(most.p), int(most.q)) / scale**2 > 4 * (1 - 2.0**-18)


@pytest.mark.parametrize("seed", range(3))
def test_errors_are_those_of_the_large_matrix(seed):
    _, plan = planned(seed=seed)
    own, merged = plan.mechanism, plan.mechanism.merged
    whole = np.kron(*(one.matrix for one in own.strategy.roots)) * own.scale
    takes = []
    for lower, upper in zip(merged.lower, merged.upper, strict=True):
        each = [
            np.eye(size + 1)[high] - np.eye(size + 1)[low]
            for size, low, high in zip(merged.sizes, lower, upper, strict=True)
        ]
        takes.append(np.kron(*(one[1:] for one in each)))
    assert plan.loss == loss_of(own, worst=False)
    assert own.variances == pytest.approx(np.sum((np.array(takes) @ whole) ** 2, axis=1), rel=1e-9)


@pytest.mark.parametrize("sizes", [(6, 5), (3, 2)])
def test_for_products_of_ranges_nothing_errs_less(sizes):
    """Under presence alone the best of a Kronecker product is the product of the attributes' best (theory-3 §1)."""
    each = [[(low, high) for low in range(size) for high in range(low + 1, size + 1)] for size in sizes]
    asked = [{"a0": one, "a1": other} for one, other in product(*each)]
    _, plan = planned(sizes, asked=asked)
    bound = 4.0  # of a presence at 2, squared, twice
    for size in sizes:
        policy = policy_of_ranges((size,), "concentrated", (), presence=True, alone=True)
        ranges = dx.LinearQueries.ranges(policy.universe, "a0")
        bound *= planned_noise(policy.compile(), ranges, mechanism="gaussian").lower_bound
    assert bound * (1 - 1e-7) <= plan.loss <= bound * (1 + 1e-3)


def test_along_one_attribute_ranges_have_next_to_the_least_error():
    policy = policy_of_ranges((16,), "concentrated", (), presence=True, alone=True)
    asked = [{"a0": (low, high)} for low in range(16) for high in range(low + 1, 17)]
    plan = planned_noise(policy.compile(), BoxQueries.of(policy.universe, asked))
    best = planned_noise(policy.compile(), dx.LinearQueries.ranges(policy.universe, "a0"), mechanism="gaussian")
    assert type(plan.mechanism.strategy) is JointStrategy
    assert best.lower_bound * (1 - 1e-7) <= plan.loss <= best.loss * (1 + 1e-3)


def test_importance_counts_where_it_is_said():
    policy = ALONE
    asked = boxes(SIZES, 6, 3)
    costs = [100, *[1] * (len(asked) - 1)]
    plans = [
        planned_noise(policy.compile(), BoxQueries.of(policy.universe, asked, importance=own), mechanism=TOEPLITZ)
        for own in (None, costs)
    ]
    first, second = (plan.mechanism.variances for plan in plans)
    assert second[0] < first[0] and second @ costs < first @ costs


def test_without_noise_answers_are_the_counts(kept):
    plan = kept[0]
    own, generator = plan.mechanism, np.random.default_rng(4)
    records = generator.integers(0, 9, (*SIZES, 2))
    cells = []
    for columns in own.queries.attribute_sets:
        axes = [own.queries.columns[place].axis for place in columns]
        table = records.sum(axis=tuple(axis for axis in range(3) if axis not in axes))
        for place, axis in enumerate(axes):
            codes = own.merged.columns[[one.axis for one in own.merged.columns].index(axis)].codes
            table = np.add.reduceat(table, np.flatnonzero(np.diff(codes, prepend=-1)), axis=place)
        cells.append(table.reshape(-1))
    size = math.prod(own.strategy.sizes)
    found = own.answered(DrivenTables(tuple(cells)), {0: np.zeros(size, dtype=np.int64)})
    true = [
        records[tuple(slice(*box.get(f"a{axis}", (0, None))) for axis in range(2))].sum() for box in boxes(SIZES, 12, 1)
    ]
    assert list(found) == true


def test_drawn_noise_varies_as_is_said(kept):
    """Of 4,000 draws each variance is within 6 standard errors: by chance outside in one of 10⁷ runs."""
    own, count = kept[0].mechanism, 4000
    law = own.law_of(0, float(own.step))[0]
    assert isinstance(law, KroneckerNormals)
    drawn = law.draw(count, InsecureSeededRandomness(7)).reshape(count, *own.strategy.sizes) * float(own.step)
    totals = np.pad(drawn, [(0, 0), (1, 0), (1, 0)])
    (low, other), (high, last) = own.merged.lower.T, own.merged.upper.T
    noise = totals[:, high, last] - totals[:, low, last] - totals[:, high, other] + totals[:, low, other]
    ratio = noise.var(axis=0) / own.mean_squares(Fraction(1))
    assert np.all(np.abs(ratio - 1) < 6 * math.sqrt(2 / count))


def test_a_file_makes_the_same_plan_and_one_that_was_written_to_is_refused(kept, tmp_path):
    plan, loaded, document = kept
    assert loaded.plan.fingerprint == plan.fingerprint
    one, other = document["box_noise"]["measured"]
    halved = {"root": one["root"] | {"whole": [entry // 2 for entry in one["root"]["whole"]]}}
    shorter = {"root": {"shape": [3], "whole": [1, 0, 1]}}
    for said in (
        [one],
        [one, other, other],
        [other, one],
        [halved, other],
        [shorter, other],
        [one, "line"],
        [one, [2, 2]],
    ):
        forged = json.loads(json.dumps(document))
        forged["box_noise"]["measured"] = said
        (tmp_path / "forged.json").write_text(json.dumps(forged))
        with pytest.raises(DxgeomError):
            dx.load_plan(tmp_path / "forged.json")


def test_too_little_noise_is_refused_and_an_audit_sees_it_by_another_route(kept):
    plan, loaded, _ = kept
    own = plan.mechanism
    for scale in (own.scale / 2, own.scale * 0.75, 0.0, math.inf, math.nan):
        with pytest.raises(CertificateRefused):
            replace(own, scales=np.array([scale]))
    audit = audit_plan(loaded)
    assert audit.holds and "every record is hidden in the joint totals" in " ".join(audit.checked)
    for factor in (1 - 1e-5, 1e-312):
        forged = replace(own)
        forged.__dict__["_law"] = KroneckerNormals(own._law.spreads * factor, own._law.maps)
        with pytest.raises((CertificateRefused, DxgeomError)):
            audit_plan(replace(plan, mechanism=forged))


@pytest.mark.parametrize("wrong", ["upper", "diagonal", "large", "floats", "wide"])
def test_what_is_no_root_is_refused(wrong):
    entries = np.array([[2, 0], [1, 3]], dtype=np.int64)
    if wrong == "upper":
        entries[0, 1] = 1
    if wrong == "diagonal":
        entries[1, 1] = 0
    if wrong == "large":
        entries[1, 0] = 2**44
    with pytest.raises(CertificateRefused):
        TotalsRoot({"floats": entries / 2, "wide": entries[:1]}.get(wrong, entries))


def test_what_it_is_not_for_is_refused():
    near = policy_of_ranges(SIZES, "concentrated", (0,), presence=True)
    asked = [{"a0": (1, 3), "a1": (0, 2)}]
    with pytest.raises(TooLarge, match="no nearer changes"):
        planned_noise(near.compile(), BoxQueries.of(near.universe, asked), mechanism=TOEPLITZ)
    alone = policy_of_ranges(SIZES, "concentrated", (), presence=True, alone=True)
    apart = BoxQueries.of(alone.universe, [{"a0": (1, 3)}, {"a1": (0, 2)}])
    with pytest.raises(TooLarge, match="restricts all attributes"):
        planned_noise(alone.compile(), apart, mechanism=TOEPLITZ)
    for sizes in ((2000, 2), (1024, 1024, 2), (1000, 1000)):
        with pytest.raises(TooLarge):
            joint_strategy(sizes, np.zeros((1, len(sizes)), int), np.array([sizes]), np.ones(1), Fraction(1))


def test_a_list_of_so_many_boxes_is_planned_without_its_weights(monkeypatch):
    policy = ALONE
    asked = boxes(SIZES, 9, 5)[:-1]
    listed = dx.LinearQueries.boxes(policy.universe, asked)
    monkeypatch.setattr(constructors, "MOST_WEIGHTS", 50)
    by_ends = dx.LinearQueries.boxes(policy.universe, asked)
    (table,) = by_ends.tables.tables
    assert table.dense is None and table.between is not None
    assert by_ends.names == listed.names and by_ends.tables.digest == listed.tables.digest
    assert np.array_equal(by_ends.tables.matrix(), listed.tables.matrix())


def test_boxes_of_which_no_weights_are_laid_out_have_a_digest_of_their_ends():
    policy = policy_of_ranges((600, 600), "concentrated", (), presence=True, alone=True)
    asked = [{"a0": (k, k + 1), "a1": (k, 600)} for k in range(600)]
    found = {dx.LinearQueries.boxes(policy.universe, own).fingerprint for own in (asked, asked[::-1], asked)}
    assert len(found) == 2
