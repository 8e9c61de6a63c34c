"""Whole tables of people who count once: what a person's rows shift, against the earth mover's distance, one by one."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from reference.families import members
from reference.people import earth_mover, fractions_of
from scipy import stats

import dxgeom as dx
from dxgeom.mechanisms.contract.readers import TableReader
from dxgeom.mechanisms.parts.table_mechanism import TableMechanism, packed, unpacked
from dxgeom.metrics.components import components_of
from dxgeom.universe.people.people import SHARES, ShareCounter

SIZES = (2, 2)
TYPES = 4
PEOPLE = [rows for n in (1, 2, 3) for rows in itertools.combinations_with_replacement(range(TYPES), n)]


def policy(privacy: str, second: str | None = "1", presence: str | None = None, people: bool = True) -> dx.Policy:
    """Constants 1/2 for the first attribute, ``second`` for the other, None for none."""
    rules = [{"change": "a", "epsilon": "0.5"}, *([{"change": "b", "epsilon": second}] if second else [])]
    return dx.Policy.from_dict(
        {
            "policy": "three people",
            "universe": {"attributes": {name: {"values": ["x", "y"]} for name in "ab"}},
            "rules": [*rules, *([{"presence": True, "epsilon": presence}] if presence else [])],
            "privacy": privacy,
            "budget": 10**6,
            **({} if second else {"unconnected": "allow"}),
            **({"people": {"column": "who", "count": "once"}} if people else {}),
        }
    )


def mechanism_of(own: dx.Policy, name: str = "auto") -> TableMechanism:
    queries = dx.universe.MarginalQueries.of(own.universe, [["a", "b"], ["a"], []])
    return dx.plan(own.compile(), queries, mechanism=name).mechanism


def spread(own: dx.Policy) -> np.ndarray:
    """(34, 2, 2): the shares of each person."""
    found = []
    for rows in PEOPLE:
        counter = ShareCounter(TYPES, components_of(own.compile().metric).of)
        counter.add(np.zeros(len(rows), dtype=np.int64), np.array(rows), np.ones(len(rows), dtype=np.int64))
        found.append(counter.histogram(None).reshape(SIZES))
    return np.array(found)


def loss(mechanism: TableMechanism, shift: np.ndarray) -> float:
    """By how much a shift of all records' counts (2, 2) changes the odds at spend 1; what gets no noise shows it."""
    family, total, told = mechanism.question.family, 0.0, set[int]()
    for place, scale in enumerate(mechanism.scales.tolist()):
        if scale <= 0:
            continue
        own = family.members_of(place % family.count)
        margin = shift.sum(axis=tuple(axis for axis in range(2) if axis not in own))
        if mechanism.normal:
            for axis in range(len(own)):
                margin = margin - margin.mean(axis=axis, keepdims=True)
            total += float((margin**2).sum()) / scale**2
            told.add(place)
            continue
        if place >= family.count:
            for axis in range(len(own)):
                margin = margin.take([1], axis) - margin.take([0], axis)
            told.add(place - family.count)
        else:
            told |= {inside for inside in range(family.count) if set(family.members_of(inside)) <= set(own)}
        total += float(np.abs(margin).sum()) / scale
    for place in set(range(family.count)) - told:
        margin = shift.sum(axis=tuple(axis for axis in range(2) if axis not in family.members_of(place)))
        for axis in range(margin.ndim):
            margin = margin - margin.mean(axis=axis, keepdims=True)
        if np.abs(margin).max() > 1e-12:
            return math.inf
    return math.sqrt(total) if mechanism.normal else total


@pytest.mark.parametrize(
    ("privacy", "second", "presence"),
    [
        ("pure", None, None),
        ("concentrated", None, None),
        *(
            pytest.param(privacy, "1", presence, marks=pytest.mark.long)
            for privacy in ("pure", "concentrated")
            for presence in (None, "0.7")
        ),
    ],
)
def test_what_a_person_shifts_stays_within_the_earth_movers_distance(privacy, second, presence):
    own = policy(privacy, second, presence)
    metric, mechanism = own.compile(), mechanism_of(own, "marginal-gaussian" if privacy != "pure" else "auto")
    parts, shares = [fractions_of(rows, TYPES) for rows in PEOPLE], spread(own) / SHARES
    worst = 0.0
    for i, j in itertools.combinations(range(len(PEOPLE)), 2):
        moved = earth_mover(parts[i], parts[j], lambda one, other: float(metric.distance(one, other)))
        if math.isfinite(moved):
            shown = loss(mechanism, shares[i] - shares[j])
            assert shown <= moved * (1 + 1e-9) + 1e-9
            worst = max(worst, shown / max(moved, 1e-3))
    assert worst > 0.5  # the bound is near, not void


def test_a_person_whose_rows_come_or_go_stays_within_the_distance_to_nobody():
    own = policy("pure", presence="0.7")
    mechanism = mechanism_of(own)
    for shares in spread(own) / SHARES:
        assert loss(mechanism, shares) <= 0.7 * (1 + 1e-9)


@pytest.mark.parametrize("privacy", ["pure", pytest.param("concentrated", marks=pytest.mark.long)])
def test_the_law_is_that_of_one_row_each_on_a_finer_lattice(privacy):
    """Noise at spend s on shares, over their number, against noise at spend s on people: Kolmogorov-Smirnov of 400
    draws each, refusing at 1e-9."""
    name = "marginal-gaussian" if privacy != "pure" else "marginal-laplace"
    shared = mechanism_of(policy(privacy), name)
    plain = mechanism_of(policy(privacy, people=False), name)
    assert np.array_equal(shared.scales, plain.scales)
    counts = tuple(np.array(cells) for cells in ([5, 7, 11, 13], [12, 24], [36]))

    def drawn(mechanism, times, first):
        data = type("Counts", (), {"cells": tuple(one * times for one in counts), "total": 36})()
        return [
            mechanism.draw(data, Fraction(1, 2), dx_randomness(first + seed)).counts(0)[1] - 7 for seed in range(400)
        ]

    one, other = drawn(shared, SHARES, 0), drawn(plain, 1, 10_000)
    assert stats.ks_2samp(one, other).pvalue > 1e-9
    variance = float(shared.mean_squares(Fraction(1, 2))[0])
    assert np.mean(np.square(one)) == pytest.approx(variance, rel=0.6)
    assert shared.mean_squares(Fraction(1, 2))[0] == pytest.approx(plain.mean_squares(Fraction(1, 2))[0], rel=1e-3)


def dx_randomness(seed):
    from dxgeom.numeric.randomness import InsecureSeededRandomness

    return InsecureSeededRandomness(seed)


def test_answers_agree_exactly_and_every_share_gets_noise():
    own = policy("pure")
    mechanism = mechanism_of(own)
    cells = spread(own)[[5, 9, 33]].sum(axis=0)
    data = type("Counts", (), {"cells": (cells.ravel(), cells.sum(axis=1), cells.sum().reshape(1)), "total": 3})()
    mechanism.check(data, Fraction(1))
    answers = [mechanism.draw(data, Fraction(1), dx_randomness(seed)) for seed in range(20)]
    for answer in answers:
        first, second, total = answer.numerators
        over = answer.divisors
        assert list(first.reshape(2, 2).sum(axis=1) * over[1]) == list(second * over[0])
        assert Fraction(int(total[0]), over[2]) == 3
        assert all(np.array_equal(unpacked(packed(one)), one) for one in answer.numerators)
    # Whatever is below a share of the truth, noise is on whole shares: what is left of them is spread over all.
    left = {int(answer.numerators[0][0] // mechanism._inner_divisors[0]) % SHARES for answer in answers}
    assert len(left) == len(answers)


def test_parts_of_people_and_too_little_spend_are_refused_before_a_draw():
    own = policy("pure")
    mechanism = mechanism_of(own)
    half = tuple(np.full(size, SHARES // 8, dtype=np.int64) for size in (4, 2, 1))
    with pytest.raises(dx.DxgeomError, match="no counts of whole people"):
        mechanism.check(type("Counts", (), {"cells": half, "total": 1})(), Fraction(1))
    whole = tuple(np.full(size, SHARES // size, dtype=np.int64) for size in (4, 2, 1))
    with pytest.raises(dx.DxgeomError, match="64-bit"):
        mechanism.check(type("Counts", (), {"cells": whole, "total": 1})(), Fraction(1, 10**12))


@pytest.mark.parametrize(
    ("count", "more"),
    [
        ("once", {}),
        pytest.param("rows", {"at_most": 2, "order": "at"}, marks=pytest.mark.long),
        pytest.param("single", {}, marks=pytest.mark.long),
    ],
)
def test_people_are_released_from_universes_that_no_histogram_counts(count, more):
    names = [f"a{place}" for place in range(40)]
    own = dx.Policy.from_dict(
        {
            "policy": "wide people",
            "universe": {"attributes": {name: {"values": ["x", "y", "z"]} for name in names}},
            "rules": [{"change": name, "epsilon": 1} for name in names],
            "people": {"column": "who", "count": count, **more},
        }
    )
    generator, rows = np.random.default_rng(4), 600
    who = generator.permutation(rows) if count == "single" else generator.integers(0, 90, rows)
    columns = {name: np.array(["x", "y", "z"])[generator.integers(0, 3, rows)] for name in names}
    table = pa.table({**columns, "who": who, "at": np.arange(rows)})
    plan = dx.plan(own.compile(), dx.universe.MarginalQueries.of(own.universe, [["a0", "a1"], ["a39"]]))
    assert plan.metric.people.sentence in "\n".join(plan.lines())
    released = plan.release(table, ledger=":memory:", spend=1, insecure_test_seed=2)
    each = {"once": 90, "rows": 180, "single": rows}[count]
    assert released.records == each
    assert released.answer.table("a39").sum() == pytest.approx(each)
    assert released.as_dict()["people"] == plan.metric.people.sentence
    boxes = dx.universe.BoxQueries.of(own.universe, [{"a0": (0, 2)}, {"a0": (1, 3)}])
    answered = dx.plan(own.compile(), boxes).release(table, ledger=":memory:", spend=1, insecure_test_seed=3)
    assert np.all(np.abs(answered.answer.values - each * 2 / 3) < 60 * answered.answer.rmse)
    assert plan.rehearse(spend=1).records == 1000


def test_no_reader_of_tables_draws_past_the_place_where_the_spend_is_divided():
    readers = members(TableReader)
    assert len(readers) >= 2
    assert [kind.__name__ for kind in readers if {"draw", "shares"} & set(vars(kind))] == []
