"""Families of mechanisms for one workload: compared by bounds of one kind, named, released, refused with reasons."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from reference.json_schema import is_valid

import dxgeom as dx
from dxgeom.plan_files.codec import release_schema
from dxgeom.planner.tasks.families import guess_of

POLICY = dx.parse_policy("""
policy: p
universe: {attributes: {ward: [north, south], ill: [flu, HIV, none]}}
rules: [{change: [ward, ill], epsilon: 1}]
""")
METRIC = POLICY.compile()
COUNTS = np.array([10, 20, 3000, 40, 50, 60])
RECORDS = int(COUNTS.sum())


def asked(*queries, records=RECORDS):
    return dx.queries_from_dict({"queries": list(queries), **({"records": records} if records else {})}, POLICY)


WARDS = asked({"marginal": "ward"}, {"marginal": "ill"})


def test_families_are_compared_by_what_is_proved_at_the_spend():
    plan = dx.plan(METRIC, WARDS, mechanism="families", spend="1/2")
    found = {one.name: one for one in plan.candidates}
    noise = dx.plan(METRIC, WARDS)
    assert found["noise"].proved == noise.bars(Fraction(1, 2)).joint_half_widths(0.95).max()
    assert found["noise"].mean_square == noise.rmse("1/2").max()
    assert found["small-database"].mean_square is found["mwem"].mean_square is None
    assert found["mwem"].proved is None
    assert "told with the answers" in found["mwem"].reason
    assert plan.family == min(("noise", "small-database"), key=lambda name: found[name].proved)
    assert plan.fingerprint == plan.chosen.fingerprint
    assert "exact worst rmse, not compared" in "\n".join(plan.lines())


def test_a_bound_of_no_worth_is_warned_of():
    large, small = (dx.plan(METRIC, WARDS, mechanism="families", spend=spend) for spend in (1, "1/10000"))
    assert (large.family, large.warnings) == ("noise", ())
    assert "a guess without any data" in small.warnings[0]
    assert guess_of(small) == RECORDS / 2


def test_the_smaller_proved_bound_is_taken(policies):
    policy = dx.load_policy(policies / "clinic" / "policy.yaml")
    queries = dx.load_queries(policies / "clinic" / "queries.yaml", policy, 80)
    plan = dx.plan(policy.compile(), queries, mechanism="families", spend="1/2")
    noise, database, _ = plan.candidates
    assert database.proved < noise.proved
    assert (plan.family, plan.chosen.kind.called) == ("small-database", "a small database")


@pytest.mark.parametrize("family", ["mwem", "small-database"])
def test_a_family_that_is_named_is_released_in_one_call(family):
    released = dx.compile_and_release(POLICY, COUNTS, WARDS, ledger=":memory:", spend="1/2", mechanism=family)
    assert released.spent == Fraction(1, 2)
    assert len(released.to_pandas()) == WARDS.count
    assert np.all(released.answer.bounds() > 0)
    assert is_valid(json.loads(released.to_json()), release_schema())
    rehearsed = dx.plan(METRIC, WARDS, mechanism=family).rehearse(spend=1)
    assert rehearsed.rehearsal


def test_the_bound_of_a_small_database_is_the_best_over_its_sizes():
    plan = dx.plan(METRIC, WARDS, mechanism="small-database", spend="1/2")
    each = [
        dx.mechanisms.selection.small_database(METRIC, WARDS, rows=rows, records=RECORDS).error_bound(
            RECORDS, 0.95, Fraction(1, 2)
        )
        for rows in range(1, 9)
    ]
    assert plan.candidates[0].proved <= min(each)


def test_what_is_no_question_of_families_is_refused_and_what_cannot_be_built_is_told():
    two_units = dx.parse_policy(
        "policy: n\nuniverse: {attributes: {n: {range: [0, 9], step: 1}}}\nrules: [{change: n, epsilon: 1, per: 1}]\n"
    )
    sums = dx.queries_from_dict({"queries": [{"count": "n > 3"}, {"sum": "n"}]}, two_units)
    with pytest.raises(dx.UnsupportedCombination, match="measured in one unit"):
        dx.plan(two_units.compile(), sums, mechanism="families")
    with pytest.raises(dx.UnsupportedCombination, match="are about noise"):
        dx.plan(METRIC, asked({"count": "ward == 'north'", "importance": 2}), mechanism="families")
    with pytest.raises(dx.UnsupportedCombination, match="not 'published': leave it out"):
        dx.plan(METRIC, WARDS, mechanism="families", search=dx.Search(published=True))
    with pytest.raises(dx.UnsupportedCombination, match="public number of records"):
        dx.plan(METRIC, asked({"marginal": "ward"}, records=None), mechanism="small-database")
    with pytest.raises(dx.UnsupportedCombination, match="asks for 'synthesize'"):
        dx.plan(METRIC, dx.queries_from_dict({"tasks": [{"select": {"best": "ill"}}]}, POLICY), mechanism="mwem")
    plan = dx.plan(METRIC, asked({"marginal": "ward"}, records=None), mechanism="families")
    assert plan.family == "noise"
    assert "not built: the bound of a small database needs the public number" in plan.candidates[1].reason


def test_a_plan_file_holds_what_it_can(tmp_path):
    plan = dx.plan(METRIC, WARDS, mechanism="families")
    assert dx.save_plan(plan.kept, tmp_path / "p.json", policy=POLICY).fingerprint == plan.fingerprint
    with pytest.raises(dx.UnsupportedCombination, match="with the task 'synthesize'"):
        _ = dx.plan(METRIC, WARDS, mechanism="mwem").kept
