"""Noise in boxes is for counts in boxes; whatever has one other weight is refused, by name and from files.

A query (1, 1/2, 0) was once taken for the count (1, 0, 0): that count's noise was added to the other's answers, whose
difference then was an exact private number.
"""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from reference.policy_of_ranges import policy_of_ranges

import dxgeom as dx
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.lengths_in_boxes import counted_boxes
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.planner.boxes.as_candidates import BoxCandidates
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.choose import listed_plan
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.objectives.objective import Objective
from dxgeom.universe.workloads import spans
from dxgeom.universe.workloads.box_queries import BoxQueries

HALF = Fraction(1, 2)
DOSES = """
policy: doses
universe:
  attributes:
    dose: {bins: [-0.25, 0.25, 0.75, 1.25]}
    day: {range: [0, 699], step: 1, whole: true}
rules:
  - {change: dose, epsilon: 1}
  - {change: day, epsilon: 1}
"""
ASKED = "queries: [{prefixes: day}, {count: dose >= 0.75}, {sum: dose}]"
PEOPLE = """
policy: one who matters and two who do not
universe:
  attributes:
    who: {values: [A, B, C]}
    day: {range: [0, 29], step: 1, whole: true}
rules:
  - {change: who, individuals: {A: 5, B: 0.005, C: 0.005}}
  - {change: day, epsilon: 1}
"""


def letters(rows):
    policy = dx.parse_policy(
        "policy: letters\nuniverse: {attributes: {letter: {values: [A, B, C]}}}\nrules: [{change: letter, epsilon: 1}]"
    )
    queries = dx.LinearQueries.from_matrix([f"q{place}" for place in range(len(rows))], rows, policy.universe)
    return policy, queries


def refused(policy, queries):
    """Nobody finds boxes, and the candidate of that name is refused."""
    sensitivity = sensitivity_of(policy.compile(), queries)
    with pytest.raises(TooLarge, match="no boxes"):
        counted_boxes(sensitivity)
    assert not BoxCandidates(sensitivity, None, worst=False).boxes
    with pytest.raises(TooLarge, match="not all counts in boxes"):
        BoxCandidates(sensitivity, None, worst=False).built("boxes-laplace")
    return True


def test_a_sum_is_not_taken_for_the_count_of_its_largest_values():
    policy = dx.parse_policy(DOSES)
    assert refused(policy, dx.parse_queries(ASKED, policy))


@pytest.mark.long
def test_a_plan_that_nobody_told_how_does_not_tell_how_many_people_are_in_the_middle():
    policy = dx.parse_policy(DOSES)
    plan = dx.plan(policy.compile(), dx.parse_queries(ASKED, policy))
    assert not plan.mechanism.name.startswith("boxes")
    for middle in (0, 1, 7, 23):
        people = pd.DataFrame({"dose": [0.5] * middle + [0.0] * (50 - middle), "day": [*range(50)]})
        release = plan.release(people, ledger=":memory:", spend=1, insecure_test_seed=middle)
        count, total = release.answer.values[-2:]
        assert 2 * (total - count) != middle


def test_half_a_weight_is_not_none():
    assert refused(*letters([[1, 0, 0], [1, HALF, 0]]))


def test_one_who_matters_is_not_told_by_others_noise():
    policy = dx.parse_policy(PEOPLE)
    days = [[low <= day < high for day in range(30)] * 3 for low in range(30) for high in range(low + 1, 31)]
    rows = [[1] * 30 + [0] * 60, [1] * 30 + [HALF] * 30 + [0] * 30, *([*map(int, day)] for day in days)]
    names = [f"q{place}" for place in range(len(rows))]
    assert refused(policy, dx.LinearQueries.from_matrix(names, rows, policy.universe))


@pytest.mark.parametrize(
    "row", [[2, 0, 0], [1, -1, 0], [0, 0, 0], [-1, 0, 0], [1, Fraction(1, 2**20), 0], [1 + Fraction(1, 2**20), 1, 0]]
)
def test_whatever_is_no_count_is_no_box(row):
    assert refused(*letters([[1, 0, 0], row]))


def test_counts_in_boxes_are_found_whatever_steps_they_are_in():
    policy, queries = letters([[1, 0, 0], [0, 1, 1], [1, 1, 0]])
    found = counted_boxes(sensitivity_of(policy.compile(), queries))
    assert [*zip(found.lower.ravel().tolist(), found.upper.ravel().tolist(), strict=True)] == [(0, 1), (1, 3), (0, 2)]


@pytest.mark.parametrize("change", [(1, 0), (0, 1), (-1, 0), (0, -1)])
@pytest.mark.parametrize("as_matrix", [False, True])
def test_boxes_that_were_found_wrongly_are_held_against_the_weights(monkeypatch, change, as_matrix):
    policy = policy_of_ranges((6, 4), "pure")
    queries = dx.LinearQueries.boxes(policy.universe, [{"a0": (2, 4), "a1": (1, 3)}, {"a0": (1, 3)}])
    if as_matrix:
        queries = dx.LinearQueries.from_matrix(queries.names, queries.tables.matrix(), policy.universe)
    right = spans.spans_of

    def wrong(table):
        found = right(table)
        return spans.Spans(
            found.axes, found.lower + [change[0], 0][: len(found.axes)], found.upper + [change[1], 0][: len(found.axes)]
        )

    sensitivity = sensitivity_of(policy.compile(), queries)
    assert counted_boxes(sensitivity).count == 2
    monkeypatch.setattr(spans, "spans_of", wrong)
    with pytest.raises(TooLarge, match="other weights"):
        counted_boxes(sensitivity)


def test_a_plan_file_with_noise_of_other_queries_is_refused_in_a_sentence(monkeypatch, tmp_path):
    """Such files were written by version 0.2.0, whose way to find boxes is put back for a moment, and nobody checks."""
    policy, queries = letters([[1, 0, 0], [1, HALF, 0]])
    metric = policy.compile()

    def rounded_down(sensitivity):
        return BoxQueries.of(policy.universe, [{"letter": (0, 1)}] * 2), np.arange(2)

    with monkeypatch.context() as old:
        old.setattr("dxgeom.planner.boxes.as_candidates.boxes_left", rounded_down)
        with pytest.raises(CertificateRefused, match="not made of the numbers"):
            BoxCandidates(sensitivity_of(metric, queries), None, worst=False).built("boxes-laplace")
        old.setattr("dxgeom.mechanisms.linear.containment.require_measured", lambda sensitivity, mixing: None)
        shared = CandidateBuilder(sensitivity_of(metric, queries))
        compared = CandidateComparison(shared, ("boxes-laplace",))
        plan = listed_plan(metric, queries, Objective("mse"), compared.mechanism("boxes-laplace"), compared, None)
        old.setattr("dxgeom.plan_files.answering.boxes_left", rounded_down)
        dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    assert json.loads((tmp_path / "plan.json").read_text())["mechanism"]["law"]["kind"] == "ScalesInBoxes"
    with pytest.raises(dx.errors.PlanError) as caught:
        dx.load_plan(tmp_path / "plan.json")
    (mistake,) = caught.value.diagnostics
    assert (mistake.code, mistake.path) == ("DX306", "mechanism.law")
    assert "not every weight of 'q1' is 0 or 1" in mistake.message and "What was wrong" in mistake.advice
