"""Whole tables less what public numbers tell of them: residuals without noise, at any size, and nothing else moved."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest

import dxgeom as dx
from dxgeom.audit.plan_audit import DrivenTables, audit_plan
from dxgeom.errors import CertificateRefused, PlanError, UnsupportedCombination
from dxgeom.mechanisms.parts.table_mechanism import NoisyTables, TableMechanism
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.plan_files.laws import scales_data
from dxgeom.plan_files.text.json_text import digest_of
from dxgeom.planner.marginals.marginal_plan import plan_tables
from dxgeom.planner.wish import Wish
from dxgeom.policy.policy import parse_policy
from dxgeom.universe.workloads.whole_tables import MarginalQueries

CONCENTRATED = "privacy: concentrated\n"
KNOWN = [(("a",), (2, 3, 1)), (("b",), (1, 3, 2))]


def policy(folder, known, *, sizes=(3, 3), epsilon=("1", "1"), more="", presence=""):
    """Attributes a, b, … of so many values; ``known``: the attributes of totals, and their numbers."""
    letters = "abc"[: len(sizes)]
    values = [[f"{x}{i}" for i in range(size)] for x, size in zip(letters, sizes, strict=True)]
    listed = "".join(f"    {x}: [{', '.join(own)}]\n" for x, own in zip(letters, values, strict=True))
    rules = "".join(f"  - {{change: {x}, epsilon: {e}}}\n" for x, e in zip(letters, epsilon, strict=True))
    entries = ""
    for own, numbers in known:
        cells = itertools.product(*(values[letters.index(x)] for x in own))
        rows = "".join(f"{','.join(cell)},{number}\n" for cell, number in zip(cells, numbers, strict=True))
        (folder / f"{'_'.join(own)}.csv").write_text(f"{','.join(own)},count\n{rows}")
        entries += f"  - {{totals: [{', '.join(own)}], numbers: {'_'.join(own)}.csv}}\n"
    text = f"policy: t\n{more}universe:\n  attributes:\n{listed}rules:\n{rules}{presence}"
    return parse_policy(f"{text}known:\n{entries}" if known else text, folder=folder)


def tables(folder, known, sets, **said):
    read = policy(folder, known, **said)
    return read, plan_tables(read.compile(), MarginalQueries.of(read.universe, sets), Wish())


@pytest.mark.parametrize(
    ("sizes", "epsilon", "known", "pure", "normal"),
    [
        ((3, 3), ("1", "1"), KNOWN, 32, 16 / 3),
        ((2, 2), ("1", "1"), [(("a",), (3, 3)), (("b",), (3, 3))], 2, 1),
        ((10, 10), ("1", "1"), [(("a",), (3,) * 10), (("b",), (3,) * 10)], 648, 145.8),
        ((2, 3), ("0.2", "1"), [(("a",), (3, 3))], None, 68.7),
    ],
)
def test_errors_are_those_of_what_is_left(tmp_path, sizes, epsilon, known, pure, normal):
    """Normal noise has the closed form (k−1)²·2(1−1/k)/ε² where both margins of k × k cells are known."""
    for more, least in (("", pure), (CONCENTRATED, normal)):
        _, plan = tables(tmp_path, known, [["a", "b"]], sizes=sizes, epsilon=epsilon, more=more)
        if least is not None:
            assert plan.loss == pytest.approx(least, rel=1e-3)
        assert plan.mechanism.public and plan.lower_bound <= plan.loss * (1 + 1e-9)


def _dense_residual(table, kept):
    """The part of a table that varies along these axes alone, by matrices."""
    for axis, size in enumerate(table.shape):
        mean = np.full((size, size), 1 / size)
        table = np.moveaxis(np.tensordot(np.eye(size) - mean if axis in kept else mean, table, (1, axis)), 0, axis)
    return table


@pytest.mark.parametrize("more", ["", CONCENTRATED, "presence"])
def test_what_is_public_comes_from_the_policy_and_all_else_from_the_data(tmp_path, more):
    """Without noise the answer is the data's residuals beside the policy's, whatever the data have in public counts."""
    presence = "  - {presence: true, epsilon: 1}\n" if more == "presence" else ""
    sizes, sets = (3, 4, 2), [["a", "b", "c"], ["b"], ["a", "c"], []]
    joint = tuple(range(1, 13))
    known = [(("a", "b"), joint), (("c",), (70, 8))]
    said = {"sizes": sizes, "epsilon": ("1", "1", "1"), "more": CONCENTRATED if more == CONCENTRATED else ""}
    _, plan = tables(tmp_path, known, sets, presence=presence, **said)
    mechanism, random = plan.mechanism, np.random.default_rng(5)
    told = {mechanism.family.members_of(number) for number in mechanism.told}
    assert told == {(), (0,), (1,), (0, 1), (2,)}
    assert mechanism.all_told == (False, True, False, True)
    cube = random.integers(0, 9, sizes)
    read = [cube.sum(axis=tuple({0, 1, 2} - {*own})).ravel() for own in plan.queries.attribute_sets]
    silent = {n: np.zeros(law.dimension * draws, dtype=np.int64) for n, law, draws in mechanism.noisy_parts()}
    found = mechanism.answered(DrivenTables(tuple(read)), silent)
    public = {(0, 1): np.array(joint).reshape(3, 4), (2,): np.array((70, 8))}
    for place, own in enumerate(plan.queries.attribute_sets):
        expected = np.zeros([sizes[a] for a in own])
        for kept in itertools.chain.from_iterable(itertools.combinations(own, r) for r in range(len(own) + 1)):
            if kept in told:
                whole = next(k for k in public if {*kept} <= {*k})
                summed = public[whole].sum(axis=tuple(i for i, a in enumerate(whole) if a not in kept))
                spread = np.prod([sizes[a] for a in own if a not in kept])
                shape = [sizes[a] if a in kept else 1 for a in own]
                part = _dense_residual(
                    np.broadcast_to(summed.reshape(shape) / spread, expected.shape),
                    [i for i, a in enumerate(own) if a in kept],
                )
            else:
                part = _dense_residual(
                    read[place].reshape(expected.shape).astype(float), [i for i, a in enumerate(own) if a in kept]
                )
            expected = expected + part
        assert found.counts(place) == pytest.approx(expected.ravel(), abs=1e-9)


def test_large_public_numbers_do_not_go_around(tmp_path):
    most = 10**15
    _, plan = tables(tmp_path, [(("a",), (most, 1, 2))], [["a", "b"]])
    drawn = plan.mechanism.drawn(DrivenTables((np.zeros(9, dtype=np.int64),)), 1, InsecureSeededRandomness(1))
    sums = np.array([int(one) for one in drawn.numerators[0]], dtype=object).reshape(3, 3).sum(axis=1)
    assert (sums / drawn.divisors[0]).tolist() == [most, 1, 2]


@pytest.mark.long
def test_a_large_table_is_planned_released_audited_and_kept(tmp_path):
    size = 40
    read = policy(tmp_path, [(("a",), (size,) * size), (("b",), (size,) * size)], sizes=(size, size), more=CONCENTRATED)
    plan = dx.plan(read.compile(), MarginalQueries.of(read.universe, [["a", "b"]]))
    rows = pa.table(
        {"a": [f"a{i}" for i in range(size)] * size, "b": [f"b{i}" for i in range(size) for _ in range(size)]}
    )
    made = plan.release(rows, ledger=":memory:", spend=1)
    counts = made["a, b"]
    assert np.allclose(counts.sum(axis=0), size) and np.allclose(counts.sum(axis=1), size)
    assert np.sqrt(np.mean((counts - 1) ** 2)) == pytest.approx(made.rmse[0], rel=0.1)
    assert made.as_dict()["tables"][0]["public"] == "in part"
    assert "public numbers, exactly: only the rest of tables has noise" in " ".join(str(made).split())
    assert "never compared with the data" in " ".join(str(made).split())
    assert "never compared with the data" in " ".join(str(plan).split())
    checked = audit_plan(plan)
    assert checked.holds and not checked.bounds
    dx.save_plan(plan, tmp_path / "plan.json", policy=read)
    again = dx.load_plan(tmp_path / "plan.json")
    assert again.fingerprint == plan.fingerprint and again.mechanism.public
    with pytest.raises(UnsupportedCombination, match="made-up records have other counts"):
        plan.estimate_worth(1, records=size**2).tried_on_shapes()


@pytest.mark.parametrize("change", ["more noise where it is public", "no noise where it is not", "not said"])
def test_forged_plans_are_refused(tmp_path, change):
    read, plan = tables(tmp_path, KNOWN, [["a", "b"]], more=CONCENTRATED)
    dx.save_plan(plan, tmp_path / "plan.json", policy=read)
    document = json.loads((tmp_path / "plan.json").read_text())
    part, scales = document["table_noise"], plan.mechanism.scales.copy()
    if change == "not said":
        del part["public"]
    else:
        scales[1 if change.startswith("more") else scales.argmax()] = 1.0 if change.startswith("more") else 0.0
        part["scales"] = scales_data(scales)
    document["digest"] = digest_of({k: v for k, v in document.items() if k != "digest"})
    (tmp_path / "forged.json").write_text(json.dumps(document))
    with pytest.raises(PlanError, match="DX306"):
        dx.load_plan(tmp_path / "forged.json")


def test_the_audit_refuses_tables_that_show_public_counts_of_the_data(tmp_path, monkeypatch):
    """A cell that the data have is added to what is said to be public."""
    _, plan = tables(tmp_path, KNOWN, [["a", "b"]], more=CONCENTRATED)
    honest = TableMechanism.answered

    def answered(self, data, noise):
        found = honest(self, data, noise)
        return NoisyTables(tuple(one + data.cells[0][0] for one in found.numerators), found.divisors)

    assert audit_plan(plan).holds
    monkeypatch.setattr(TableMechanism, "answered", lambda self, data, noise: answered(self, data, noise))
    with pytest.raises(CertificateRefused, match="shows more of the records"):
        audit_plan(plan)


def test_tables_that_are_all_public_are_refused_and_named(tmp_path):
    read = policy(tmp_path, KNOWN)
    queries = MarginalQueries.of(read.universe, [["a"], ["b"]])
    plan = plan_tables(read.compile(), queries, Wish())
    assert plan.loss == 0 and plan.mechanism.all_told == (True, True)
    assert plan.mechanism.public_answers[:2] == (("a0", 2), ("a1", 3))
    with pytest.raises(UnsupportedCombination, match=r"'a0' is 2, 'a1' is 3.* nothing is charged"):
        plan.release(pa.table({"a": ["a0"], "b": ["b0"]}), ledger=tmp_path / "l.db", spend=1)
    assert not (tmp_path / "l.db").exists()


def test_counts_that_leave_records_out_or_cross_cells_tell_no_table(tmp_path):
    coarse = "universe: {attributes: {a: [a0, a1, a2], b: [b0, b1]}}\nrules:\n"
    rules = "  - {change: a, epsilon: 1}\n  - {change: b, epsilon: 1}\n"
    for known in ("{where: a == 'a0', count: 3}", "{where: b == 'b0', count: 3}"):
        read = parse_policy(f"policy: t\n{coarse}{rules}known: [{known}]\n")
        plan = plan_tables(read.compile(), MarginalQueries.of(read.universe, [["a", "b"]]), Wish())
        assert not plan.mechanism.public


def test_plans_of_tables_without_public_numbers_are_what_they_were(tmp_path):
    read, plan = tables(tmp_path, [], [["a", "b"]])
    assert not plan.mechanism.public
    dx.save_plan(plan, tmp_path / "plan.json", policy=read)
    assert "public" not in json.loads((tmp_path / "plan.json").read_text())["table_noise"]
