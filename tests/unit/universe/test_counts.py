"""Counts and sums are one to whoever plans them: what is said of each, who has a name, what errors count."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.kinds import registry
from dxgeom.planner.objectives.aims import each_error, each_importance
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.counts import Counts
from dxgeom.universe.workloads.whole_tables import MarginalQueries

POLICY = dx.Policy.from_dict(
    {
        "policy": "two columns",
        "universe": {"attributes": {"sex": ["F", "M"], "age": {"range": [0, 4], "step": 1}}},
        "rules": [{"change": "sex", "epsilon": 1}, {"change": "age", "epsilon": "0.5"}],
    }
)
UNIVERSE = POLICY.universe
FORMS = {
    "listed": dx.LinearQueries.prefixes(UNIVERSE, "age"),
    "tables": MarginalQueries.of(UNIVERSE, [["sex", "age"], ["sex"], []]),
    "boxes": BoxQueries.prefixes(UNIVERSE, "age"),
}
each_form = pytest.mark.parametrize("counts", FORMS.values(), ids=FORMS)


def test_every_form_of_counts_is_here_and_has_a_kind():
    assert {type(one) for one in FORMS.values()} == {*Counts.__subclasses__()}
    assert {one.form: type(one) for one in FORMS.values()} == {one.form: one for one in Counts.__subclasses__()}
    assert all(registry.kind_of(one).counts for one in FORMS.values())


@each_form
def test_names_are_of_each_and_lead_back_to_its_place(counts):
    assert len(counts.names) == counts.each
    assert [*map(counts.place, counts.names)] == [*range(counts.each)]
    assert [*map(counts.name, range(counts.each))] == [*counts.names]


def test_of_two_boxes_of_one_name_the_first_is_found():
    twice = BoxQueries.of(UNIVERSE, [{"sex": (0, 1)}, {"age": (0, 2)}, {"age": (0, 2)}])
    assert [*map(twice.place, twice.names)] == [0, 1, 1]


@each_form
def test_a_name_that_none_has_is_refused(counts):
    with pytest.raises(dx.UnsupportedCombination, match=f"no {counts.one} is"):
        counts.place("agge up to 3")


@each_form
def test_squared_errors_count_as_is_said(counts):
    assert counts.costs.tolist() == [1.0] * counts.each
    given = each_importance(counts, range(1, counts.each + 1))
    assert replace(counts, importance=given).costs.tolist() == [*range(1, counts.each + 1)]
    wanted = each_error(counts, {counts.names[1]: "0.5"})
    assert wanted == (None, Fraction(1, 2), *[None] * (counts.each - 2))
    costs = replace(counts, errors=wanted).costs
    assert costs[1] == 4
    assert np.all(np.delete(costs, 1) == 1 / 2500)


@each_form
@pytest.mark.parametrize("wrong", [{"importance": (Fraction(1),)}, {"errors": (None,)}])
def test_what_is_said_is_said_of_each(counts, wrong):
    with pytest.raises(dx.UnsupportedCombination, match=f"for each {counts.one}"):
        replace(counts, **wrong)


@each_form
@pytest.mark.parametrize("number", [Fraction(0), Fraction(-1), Fraction(1, 10**31)])
def test_what_is_said_is_positive_and_within_what_is_accepted(counts, number):
    for wrong in ({"importance": (number,) * counts.each}, {"errors": (number,) * counts.each}):
        with pytest.raises(dx.UnsupportedCombination, match="from 1e-30 to 1e30"):
            replace(counts, **wrong)


@each_form
def test_lists_of_another_length_are_told_how_many_there_are(counts):
    with pytest.raises(dx.UnsupportedCombination, match=f"each of {counts.each} {counts.several}, found 1"):
        each_error(counts, [1])
