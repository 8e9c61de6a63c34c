"""Lists of any length: what public numbers imply is exact and free, and others keep the noise of their form."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.mechanisms.linear.lengths_in_boxes import boxes_left
from dxgeom.mechanisms.linear.mixing import IntegerMixing
from dxgeom.mechanisms.linear.public_centres import implied_alone, projection
from dxgeom.mechanisms.linear.sensitivity import on_records_of
from dxgeom.planner import public_numbers
from dxgeom.planner.boxes.as_candidates import BoxCandidates
from dxgeom.planner.public_numbers import fits_of, numbers_of, sensitivity_less_public
from dxgeom.policy.policy import parse_policy
from dxgeom.universe import public_shares
from dxgeom.universe.public_shares import less_public
from dxgeom.universe.queries import LinearQueries


def policy(folder, sizes, known, more="", presence="", epsilon=1):
    """Attributes a and b; ``known``: lines of entries, or 'a' for the totals of a."""
    values = [[f"{x}{i:03d}" for i in range(size)] for x, size in zip("ab", sizes, strict=True)]
    entries = "".join(f"  - {one}\n" for one in known if one != "a")
    if "a" in known:
        (folder / "a.csv").write_text("a,count\n" + "".join(f"{one},{3 + k}\n" for k, one in enumerate(values[0])))
        entries += "  - {totals: a, numbers: a.csv}\n"
    listed = "".join(f"    {x}: [{', '.join(own)}]\n" for x, own in zip("ab", values, strict=True))
    rules = "".join(f"  - {{change: {x}, epsilon: {epsilon}}}\n" for x in "ab")
    text = f"policy: t\n{more}universe:\n  attributes:\n{listed}rules:\n{rules}{presence}"
    return parse_policy(f"{text}known:\n{entries}" if known else text, folder=folder)


def prefixes_by_group(universe, rows=None):
    """For each value of a, how many have each value of b or an earlier one; or these rows of them."""
    first, second = universe.shape
    weights = np.zeros((first, second, first, second), dtype=np.int64)
    for one, end in itertools.product(range(first), range(second)):
        weights[one, end, one, : end + 1] = 1
    weights = weights.reshape(first * second, first * second)
    kept = weights if rows is None else weights[rows]
    return LinearQueries.from_matrix([f"q{k}" for k in range(len(kept))], kept, universe)


@pytest.mark.parametrize("presence", ["", "  - {presence: true, epsilon: 1}\n"])
@pytest.mark.parametrize(
    "known", [["a"], ["a", "{where: b == 'b000', count: 6}"], ["a", "{where: b == 'b000', count: 0}"]]
)
def test_what_is_implied_alone_is_what_the_projection_says_and_what_all_tables_say(
    tmp_path, monkeypatch, known, presence
):
    """Beside the slow way, and whatever number of queries is laid out at once."""
    metric = policy(tmp_path, (2, 3), known, presence=presence).compile()
    generator, universe = random.Random(3), metric.universe
    rows = [[generator.randrange(2) for _ in range(6)] for _ in range(20)]
    rows += [[1, 1, 1, 0, 0, 0], [0, 2, 2, 0, 3, 3], [0, 0, 0, 0, 0, 0], [1, 0, 0, 1, 0, 0], [1] * 6]
    queries = LinearQueries.from_matrix([f"q{k}" for k in range(len(rows))], rows, universe)
    numbers = numbers_of(metric)
    slow = projection(on_records_of(metric, queries), numbers, queries)
    for at_once in (1 << 24, 13):
        monkeypatch.setattr(public_shares, "MOST_ENTRIES", at_once)
        found = implied_alone(on_records_of(metric, queries), numbers, queries)
        assert [one is not None for one in found] == [
            whole and own is not None for own, whole in zip(slow.shares, slow.implied, strict=True)
        ]
        public = sensitivity_less_public(metric, queries, found)[0].queries.public
        assert [one is not None for one in found] == public.implied.tolist()
        zero = "count: 0" in known[-1]
        for table in itertools.product(range(5), repeat=6):
            cells = np.array(table).reshape(2, 3)
            if cells.sum(axis=1).tolist() != [3, 4] or (len(known) > 1 and cells[:, 0].sum() != (0 if zero else 6)):
                continue
            for query, row in enumerate(rows):
                if found[query] is not None:
                    assert public.offsets[query] == int(np.dot(row, table))


def test_boxes_beside_public_answers_have_the_noise_of_boxes_and_public_answers_none(tmp_path):
    """The witness holds each answer against the weights that are released, in integers."""
    for more, names in (("", ["boxes-laplace"]), ("privacy: concentrated\n", ["boxes-gaussian", "toeplitz-gaussian"])):
        presence = "  - {presence: true, epsilon: 1}\n" if more else ""
        metric = policy(tmp_path, (3, 5), ["a"], more, presence, 4).compile()
        queries = prefixes_by_group(metric.universe)
        shares = implied_alone(on_records_of(metric, queries), numbers_of(metric), queries)
        sensitivity, _ = sensitivity_less_public(metric, queries, shares)
        boxes, left = boxes_left(sensitivity)
        assert left.tolist() == [k for k in range(15) if k % 5 != 4] and boxes.count == 12
        for name in names:
            made = BoxCandidates(sensitivity, None, False).built(name)
            assert isinstance(made.mixing, IntegerMixing)
            noisy = np.any(made.mixing.numerators != 0, axis=1)
            assert np.flatnonzero(noisy).tolist() == left.tolist()


@pytest.mark.long
@pytest.mark.parametrize("more", ["", "privacy: concentrated\n"])
def test_a_thousand_answers_of_which_some_are_public(tmp_path, more):
    """Where the limit of 320 was: before, nothing of it was exact."""
    both = [policy(tmp_path, (10, 100), known, more).compile() for known in (["a"], [])]
    queries = prefixes_by_group(both[0].universe)
    plan, without = (dx.plan(one, queries, mechanism="laplace") for one in both)
    assert plan.mechanism.sensitivity.queries.public.implied.tolist() == [k % 100 == 99 for k in range(1000)]
    errors = np.asarray(plan.rmse(1))
    assert np.all(errors[99::100] == 0) and np.all(np.delete(errors, np.s_[99::100]) > 0)
    assert plan.loss < without.loss


def test_twenty_thousand_answers_of_which_some_are_public(tmp_path):
    """Of all ranges three follow from counts below a cut and of everybody; the others are asked as they are."""
    presence = "  - {presence: true, epsilon: 1}\n"
    first = ", ".join(f"'b{k:03d}'" for k in range(100))
    known = [f'{{where: "b in [{first}]", count: 7}}', "{where: true, count: 9}"]
    metric = policy(tmp_path, (2, 200), known, "", presence).compile()
    ranges = [(low, high) for low in range(200) for high in range(low + 1, 201)]
    queries = LinearQueries.boxes(metric.universe, [{"b": one} for one in ranges])
    assert queries.count == 20_100
    (shares,) = fits_of(metric, queries)
    found = [ranges[k] for k, one in enumerate(shares) if one is not None]
    assert found == [(0, 100), (0, 200), (100, 200)]
    answered = less_public(numbers_of(metric), queries, shares)
    assert [one for one in answered[1].offsets if one] == [7, 9, 2]
    kept = {query for one in answered[0].tables.tables if np.any(one.weights) for query in one.queries.tolist()}
    assert len(kept) == 20_097 and not kept & set(np.flatnonzero(answered[1].implied).tolist())


@pytest.mark.long
def test_plan_files_and_the_audit_know_boxes_beside_public_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(public_numbers, "_MOST_LEFT", 0)
    read = policy(tmp_path, (20, 17), ["a"])
    plan = dx.plan(read.compile(), prefixes_by_group(read.universe))
    assert plan.mechanism.name == "boxes-laplace" and plan.loss < 22_879
    again = dx.save_plan(plan, tmp_path / "p.json", policy=read)
    assert again.fingerprint == plan.fingerprint == dx.load_plan(tmp_path / "p.json").fingerprint
    assert np.flatnonzero(np.asarray(again.rmse(1)) == 0).tolist() == [*range(16, 340, 17)]
    assert audit_plan(again).holds
