"""Boxes in words: the same counts as the queries language asks for with weights, mistakes at their place."""

from __future__ import annotations

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.weight_tables import WeightTables

SMALL = {
    "age": {"range": [0, 11], "step": 1},
    "sex": {"values": ["f", "m"]},
    "ward": {"values": ["north", "east", "south", "west"]},
}
WIDE = {**SMALL, **{f"q{k}": {"values": ["x", "y"]} for k in range(40)}}


def policy(attributes):
    rules = [{"change": name, "epsilon": 1} for name in attributes]
    return dx.Policy.from_dict({"policy": "p", "universe": {"attributes": attributes}, "rules": rules})


def asked(*entries, **more):
    return dx.queries_from_dict({**more, "queries": [*entries]}, policy(WIDE))


def rows_of(boxes):
    """0 and 1 for each box and possible record of the small universe."""
    place = {one.axis: number for number, one in enumerate(boxes.columns)}
    inside = np.ones((boxes.count, 12, 2, 4), dtype=bool)
    for axis, size in enumerate((12, 2, 4)):
        if axis in place:
            codes = np.arange(size)
            own = (codes >= boxes.lower[:, [place[axis]]]) & (codes < boxes.upper[:, [place[axis]]])
            inside &= own.reshape([-1, *(size if other == axis else 1 for other in range(3))])
    return inside.reshape(boxes.count, -1).astype(int)


ASKED = [
    {"prefixes": "age"},
    {"prefixes": "age", "at": [3, 7]},
    {"ranges": "age", "at": [2, 5, 9], "where": "sex == 'm'"},
    {"ranges": "age"},
    {"count": "age >= 4 and age < 9 and ward in ['east', 'south']"},
    {"count": True},
    {"marginal": ["ward", "age"]},
    {"marginals": {"ways": 2, "of": ["age", "sex", "ward"]}},
    {"count": "not sex == 'f'"},
]


@pytest.mark.parametrize("entry", ASKED)
def test_boxes_are_the_counts_that_weights_ask_for(entry):
    boxes = asked(entry, {"prefixes": "age", "at": [1]})  # the second makes boxes of whole tables, too
    weighed = dx.queries_from_dict({"queries": [entry]}, policy(SMALL))
    assert np.array_equal(rows_of(boxes)[:-1], np.asarray(weighed.numerators))


def test_cells_that_no_record_of_a_condition_is_in_are_left_out():
    boxes = asked({"marginal": ["age", "sex"], "where": "age >= 10", "importance": 2}, {"count": "sex == 'f'"})
    assert [boxes.name(place) for place in range(boxes.count)][:2] == ["age 10, sex f", "age 10, sex m"]
    assert boxes.count == 5
    assert boxes.importance == (2, 2, 2, 2, 1)
    wanted = asked({"count": "age < 3", "error": "1.5"}, {"count": True}, records=50)
    assert ([*map(str, wanted.errors)], wanted.records) == (["3/2", "None"], 50)


def test_linear_queries_that_are_boxes_are_answered_so_where_that_is_named():
    small = policy(SMALL)
    text = [{"ranges": "age"}, {"count": "sex == 'm' and age < 3", "importance": 3}, {"marginal": ["ward", "age"]}]
    linear = dx.queries_from_dict({"queries": text}, small)
    plan = dx.plan(small.compile(), linear, mechanism="boxes-laplace")
    assert np.array_equal(rows_of(plan.queries), np.asarray(linear.numerators))
    assert plan.queries.importance == linear.importance
    for other in ({"sum": "age"}, {"count": "age == 3 or sex == 'f'"}, {"share": "age < 3", "where": "sex == 'f'"}):
        queries = dx.queries_from_dict({"queries": [other]}, small)
        with pytest.raises(UnsupportedCombination, match="boxes"):
            dx.plan(small.compile(), queries, mechanism="boxes-laplace")


OTHERS = [
    {"count": "age in [1, 3]"},
    {"count": "age < 3 or sex == 'f'"},
    {"prefixes": "age", "where": "ward in ['north', 'south']"},
    {"prefixes": "age", "name": "young"},
    {"count": "age < 3", "by": "sex"},
    {"count": "age < 3", "unit": "people"},
    {"sum": "age", "where": "age < 3"},
]


@pytest.mark.parametrize("entry", OTHERS)
def test_what_is_no_box_is_asked_of_tables_as_of_a_small_universe(entry):
    both = [dx.queries_from_dict({"queries": [entry, {"prefixes": "age"}]}, policy(one)) for one in (SMALL, WIDE)]
    small, wide = both
    assert (small.names, small.units, small.measures) == (wide.names, wide.units, wide.measures)
    assert WeightTables(small.tables.shape, wide.tables.tables).digest == small.tables.digest


MISTAKES = [
    ({"prefixes": "sex"}, "DX201"),
    ({"prefixes": "age", "at": [3], "where": "age == 11"}, "DX202"),
    ({"marginals": {"ways": 9}, "where": "age < 3"}, "DX207"),
    ({"count": " and ".join(f"q{k} == 'x'" for k in range(40))}, "DX202"),
]


@pytest.mark.parametrize(("entry", "code"), MISTAKES)
def test_what_is_no_box_is_refused_at_its_place(entry, code):
    with pytest.raises(dx.QueryError) as caught:
        asked(entry)
    assert code in {one.code for one in caught.value.diagnostics}
    assert all(one.path.startswith("queries[0]") for one in caught.value.diagnostics)
