"""Counts and sums are one to whoever plans them: what is said of each, who has a name, what errors count."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import dxgeom as dx
from dxgeom.kinds import registry
from dxgeom.planner.objectives.aims import each_error, each_importance
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.counts import Counts
from dxgeom.universe.workloads.groups import Groups
from dxgeom.universe.workloads.spans import boxes_of
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


SAME = {name for name in dir(Counts) if not name.startswith("_")} - {"form", "one", "several", "said"}
"""What everybody may ask of counts, however they are kept."""


def ends(chosen: np.random.Generator, sizes: dict[str, int]) -> dict[str, tuple[int, int]]:
    """A random box along some attributes."""
    cuts = {name: sorted(chosen.choice(size + 1, 2, replace=False).tolist()) for name, size in sizes.items()}
    return {name: tuple(cut) for name, cut in cuts.items() if chosen.random() < 0.7}


def drawn(seed: int) -> BoxQueries:
    chosen = np.random.default_rng(seed)
    return BoxQueries.of(UNIVERSE, [ends(chosen, {"sex": 2, "age": 5}) for _ in range(6)])


@each_form
def test_every_form_answers_whatever_is_asked_of_counts(counts):
    assert {*dir(counts)} >= SAME
    number, histogram = counts.count, np.arange(1, UNIVERSE.size + 1)
    for name in ("units", "owners", "answer_names", "each_origin", "each_rounding"):
        assert len(getattr(counts, name)) == number
    assert counts.numerators.shape == counts.matrix.shape == (number, counts.size) == (number, UNIVERSE.size)
    assert counts.answers(histogram) == (counts.numerators @ histogram).tolist()
    assert counts.by_measure == {"records": [*range(number)]}
    assert (counts.derived, counts.ratios, counts.variances) == ((), (), ())


@each_form
def test_listed_they_are_the_same_queries(counts):
    said = replace(counts, importance=tuple(map(Fraction, range(1, counts.each + 1))))
    listed = said.listed
    assert type(listed) is dx.LinearQueries
    assert listed.names == counts.answer_names
    assert np.array_equal(listed.matrix, counts.matrix)
    assert np.array_equal(listed.costs, said.costs[said.owners])
    assert listed.listed is listed


def test_whole_tables_listed_are_those_of_the_constructor_of_lists():
    groups = [["sex", "age"], ["sex"], ["age"]]
    listed, known = MarginalQueries.of(UNIVERSE, groups).listed, dx.LinearQueries.marginals(UNIVERSE, groups)
    assert listed.fingerprint == known.fingerprint
    assert listed.each_origin == known.each_origin


@pytest.mark.parametrize("seed", range(20))
def test_boxes_count_what_is_between_their_ends(seed):
    boxes, histogram = drawn(seed), np.random.default_rng(seed).integers(0, 2**40, UNIVERSE.size)
    sides = {one.axis: place for place, one in enumerate(boxes.columns)}
    for row, found in enumerate(boxes.answers(histogram)):
        within = tuple(
            slice(boxes.lower[row, sides[axis]], boxes.upper[row, sides[axis]]) if axis in sides else slice(None)
            for axis in range(len(UNIVERSE.shape))
        )
        assert found == histogram.reshape(UNIVERSE.shape)[within].sum()
    matrix = boxes.numerators
    for side, told in zip(boxes.tables.extremes, (matrix.min(axis=1), matrix.max(axis=1)), strict=True):
        assert side.tolist() == told.tolist()
    for table in boxes.tables.tables:
        if table.between is not None:
            volumes = np.prod(table.between[1] - table.between[0], axis=1)
            assert table.totals(np.full(table.cells, 2**61)) == [2**61 * int(volume) for volume in volumes]


@pytest.mark.parametrize("seed", range(20))
def test_boxes_that_were_listed_are_found_again(seed):
    boxes = drawn(seed)
    if len({*boxes.names}) < boxes.count:
        with pytest.raises(dx.UnsupportedCombination, match="query names are distinct"):
            boxes.listed  # noqa: B018
        return
    assert boxes_of(boxes.listed).fingerprint == boxes.fingerprint
    assert all(table.fits(UNIVERSE.shape) for table in boxes.tables.tables)
    for table in boxes.tables.tables:
        told_apart = len(np.unique(table.flat, axis=1).T)
        assert table.between is None or told_apart <= table.kinds


def test_whatever_the_form_it_is_stacked_with_others():
    stacked = dx.LinearQueries.stack([FORMS["tables"], FORMS["listed"]])
    assert stacked.names == (*FORMS["tables"].answer_names, *FORMS["listed"].names)
    assert np.array_equal(stacked.matrix, np.concatenate([FORMS["tables"].matrix, FORMS["listed"].matrix]))


@pytest.mark.parametrize("form", ["tables", "boxes"])
def test_a_mechanism_by_its_name_answers_every_form_alike(form):
    metric, counts = POLICY.compile(), FORMS[form]
    wished = {"errors": {counts.names[1]: 3}}
    plan = dx.plan(metric, counts, mechanism="laplace", **wished)
    listed = replace(counts, errors=each_error(counts, wished["errors"])).listed
    assert plan.fingerprint == dx.plan(metric, listed, mechanism="laplace").fingerprint
    assert np.all(plan.rmse(plan.least_spend)[counts.owners == 1] <= 3 * (1 + 1e-9))


def test_each_kind_knows_the_names_of_its_own_noise():
    metric = POLICY.compile()
    for counts in FORMS.values():
        for name in registry.kind_of(counts).own_noise - {"auto"}:
            if "gaussian" in name:
                with pytest.raises(dx.UnsupportedCombination, match="concentrated"):
                    dx.plan(metric, counts, mechanism=name)
            else:
                assert dx.plan(metric, counts, mechanism=name).mechanism.name == name


def test_boxes_of_the_same_words_over_other_values_are_other_questions(tmp_path):
    """Else an answer to the one would be given again, by its name, as an answer to the other."""
    rows = {"sex": ["F"] * 40, "age": [0] * 20 + [4] * 20}
    asked = [np.array([0, 0, 0, 0, 1]), np.array([0, 1, 1, 1, 1])]
    columns = [Groups(UNIVERSE, "age", 1, ("low", "high"), codes) for codes in asked]
    boxes = [BoxQueries(UNIVERSE, (one,), np.array([[0]]), np.array([[1]])) for one in columns]
    assert boxes[0].fingerprint != boxes[1].fingerprint
    how = {"ledger": str(tmp_path / "l.db"), "id": "the low ones", "spend": "0.1"}
    first, second = (dx.plan(POLICY.compile(), one) for one in boxes)
    assert first.mechanism.fingerprint != second.mechanism.fingerprint
    first.release(pa.table(rows), **how)
    with pytest.raises(dx.errors.LedgerError, match="had another plan"):
        second.release(pa.table(rows), **how)


def test_boxes_over_values_as_they_are_keep_the_fingerprint_that_ledgers_know():
    assert FORMS["boxes"].fingerprint == "4e5721bdfbf974eba280dc85f71d107e1f3ed169076ec265dcf321a3c0936eeb"
