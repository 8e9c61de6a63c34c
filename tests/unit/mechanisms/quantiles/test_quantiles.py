"""Quantiles as they are asked for, refused, released and bounded."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from reference.mechanisms import HALVES, LINE

import dxgeom as dx
from dxgeom.mechanisms.quantiles.choice import (
    evenly_spread,
    expected_errors,
    quantile_choice,
    quantile_mechanism,
    quantiles_by,
)
from dxgeom.mechanisms.quantiles.question import quantile_question
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness

SPEND = Fraction(1, 2)


def verified(metric, universe=None):
    return verify(metric, title="test", fingerprint="test", budget=Fraction(1), universe=universe)


def on_a_line(size, rate=Fraction(1, 10)):
    return verified(LineMetric(tuple(map(Fraction, range(size))), rate))


def all_alike(size, epsilon=Fraction(1)):
    return verified(DiscreteMetric(size, epsilon))


def clinic(rules=None, presence=False):
    change = [{"change": "age", "epsilon": 1, "per": 10}] if rules is None else rules
    return dx.Policy.from_dict(
        {
            "policy": "clinic",
            "unconnected": "allow",
            "universe": {
                "attributes": {
                    "age": {"range": [0, 100], "step": 5},
                    "ward": ["North", "South"],
                    "admitted": {"dates": ["2024-01-01", "2024-01-10"], "step": 1},
                    "height": {"bins": [100, 150, 170, 180, 230]},
                },
            },
            "rules": [*change, *([{"presence": True, "epsilon": 1}] if presence else [])],
        }
    )


WARDS = clinic()
METRIC = WARDS.compile()
ROWS = [
    {"age": age, "ward": ward, "admitted": "2024-01-03", "height": height}
    for age, ward, height in [(21, "North", 165), (33, "North", 175), (64, "South", 172), (47, "South", 190)]
]


def table():
    import pyarrow as pa

    return pa.Table.from_pylist(ROWS)


def sharp(mechanism, data, **more):
    """The answer at a spend so large that noise is next to nothing."""
    return dx.release(mechanism, data, ledger=":memory:", spend=1, **more).answer


def histogram(metric, rows=ROWS):
    universe = metric.universe
    found = universe.index({name: [row[name] for row in rows] for name in universe.names})
    return np.bincount(found, minlength=metric.size).astype(np.int64)


@pytest.mark.parametrize(
    ("level", "records", "rank"),
    [("0", 10, 1), (0, 3, 1), ("1/2", 4, 2), (0.5, 5, 3), ("1", 7, 7), (1, 1, 1), (0.1, 10, 1), (0.3, 10, 3)],
)
def test_level_q_of_n_is_the_ceiling_of_q_n(level, records, rank):
    """0.1 of 10 is 1 and 0.3 of 10 is 3: a float means its shortest decimal."""
    assert quantile_question(LINE, range(4), level).ranks(records) == (rank,)


@pytest.mark.parametrize("form", ["transport", "laplace"])
def test_with_hardly_any_noise_the_quantiles_are_the_true_ones(form):
    """Also in the order asked for, with equal ranks answered alike."""
    metric, ages = on_a_line(50, Fraction(1000)), np.sort(np.random.default_rng(1).integers(0, 50, 41))
    mechanism = quantile_mechanism(metric, range(50), [0.9, "1/2", 0.1, 0, "0.5", 1], form=form)
    answer = mechanism.draw(np.bincount(ages, minlength=50), Fraction(1), InsecureSeededRandomness(0))
    assert answer.ranks == (37, 21, 5, 1, 21, 41)
    assert answer.numbers == tuple(Fraction(int(ages[rank - 1])) for rank in answer.ranks)


def test_a_table_is_released_by_the_names_of_its_attributes():
    release = dx.release(
        quantile_mechanism(METRIC, "age", [0.25, 0.75]),
        table(),
        ledger=":memory:",
        spend=1,
        insecure_test_seed=4,
    )
    assert release.spent == 1
    assert all(label in WARDS.universe.attribute("age").labels for label in release.answer.labels)
    written = json.loads(release.to_json())["answer"]
    assert (written["of"], [one["at"] for one in written["quantiles"]]) == ("age", ["1/4", "3/4"])
    assert [one["rank"] for one in written["quantiles"]] == [1, 3]


def test_what_nobody_may_hide_is_told_exactly():
    """No rule speaks of wards, heights and days, so their quantiles need no noise."""
    assert sharp(quantile_mechanism(METRIC, "height"), table()).labels == ("[170, 180)",)
    assert sharp(quantile_mechanism(METRIC, "height", form="laplace"), table()).labels == ("[170, 180)",)
    assert sharp(quantile_mechanism(METRIC, "admitted", 1), table()).labels == ("2024-01-03",)


def test_a_condition_on_what_the_policy_keeps_apart_is_public():
    mechanism = quantile_mechanism(METRIC, "age", 1, where="ward == 'North'")
    counts = histogram(METRIC)
    assert mechanism.keys(2) == (2,)
    assert mechanism.lengths(counts)[0].argmin() == 33 // 5
    marked = WARDS.universe.laid_out(WARDS.universe.spread(1, np.array([True, False])))
    assert quantile_mechanism(METRIC, "age", 1, where=marked).fingerprint == mechanism.fingerprint
    assert sharp(quantile_mechanism(METRIC, "height", 1, where="ward == 'South'"), table()).labels == ("[180, 230]",)


def test_a_condition_that_a_record_can_leave_is_refused_with_the_reason():
    for condition in ("age < 50", "ward == 'North' or age < 50"):
        with pytest.raises(dx.UnsupportedCombination, match="changes the rank r itself"):
            quantile_mechanism(METRIC, "height", where=condition)


def test_where_records_may_be_absent_neither_their_number_nor_a_rank_is_told():
    metric = clinic(presence=True).compile()
    mechanism = quantile_mechanism(metric, "age", [0.5, 0.9])
    release = dx.release(mechanism, table(), ledger=":memory:", spend=1, insecure_test_seed=1)
    written = json.loads(release.to_json())
    assert (release.records, release.dropped, release.answer.ranks) == (None, None, None)
    assert all(set(one) == {"at", "value", "number", "exact"} for one in written["answer"]["quantiles"])
    empty = dx.release(mechanism, table().slice(0, 0), ledger=":memory:", spend=1, insecure_test_seed=1)
    assert len(empty.answer.places) == 2
    assert "rank of each answer is off by at most" in mechanism.statement(10_000)
    bare = verified(PresenceMetric(LINE.metric, Fraction(1)))
    counts = np.array([0, 0, 900, 20, 0], dtype=np.int64)
    assert quantile_mechanism(bare, range(4)).draw(counts, Fraction(1), InsecureSeededRandomness(2)).places == (2,)


def test_where_records_may_be_absent_noise_is_refused_and_never_chosen():
    metric = verified(PresenceMetric(LINE.metric, Fraction(1)))
    with pytest.raises(dx.UnsupportedCombination, match="comes or goes"):
        quantile_mechanism(metric, range(4), form="laplace")
    choice = quantile_choice(metric, range(4), [0.5, 0.6], records=20)
    assert choice.mechanism.name == "transport quantiles"
    assert "comes or goes" in choice.candidates[1].reason
    with pytest.raises(dx.UnsupportedCombination, match="blocks are not apart"):
        quantiles_by(metric, range(4), 0.5, [0, 0, 1, 1, 1])


def test_where_records_may_be_absent_a_public_condition_is_taken_and_others_refused():
    metric = clinic(presence=True).compile()
    rows = histogram(metric)
    mechanism = quantile_mechanism(metric, "age", 1, where="ward == 'North'")
    assert mechanism.lengths(rows)[0].argmin() == 33 // 5
    with pytest.raises(dx.UnsupportedCombination, match="changes the rank r itself"):
        quantile_mechanism(metric, "height", 1, where="age < 50")


def test_words_and_unknown_names_are_refused():
    with pytest.raises(dx.UnsupportedCombination, match="the values of 'ward' are words"):
        quantile_mechanism(METRIC, "ward")
    with pytest.raises(dx.UnsupportedCombination, match="did you mean 'age'"):
        quantile_mechanism(METRIC, "agee")
    with pytest.raises(dx.UnsupportedCombination, match="does not know its records"):
        quantile_mechanism(LINE, "age")


def test_no_record_has_no_quantile():
    with pytest.raises(dx.DataError, match="at least one record"):
        dx.release(quantile_mechanism(LINE, range(4)), [0, 0, 0, 0], ledger=":memory:", spend=1)
    with pytest.raises(dx.DataError, match="at least one record"):
        dx.release(
            quantile_mechanism(METRIC, "age", where="ward == 'North'"),
            histogram(METRIC, ROWS[2:]),
            ledger=":memory:",
            spend=1,
        )


@pytest.mark.parametrize("form", ["transport", "laplace"])
def test_groups_that_the_policy_keeps_apart_cost_one_spend_and_may_be_empty(form):
    mechanism = quantiles_by(METRIC, "height", [0, 1], "ward", form=form)
    north, south = sharp(mechanism, table())
    assert (north.labels, south.labels) == (("[150, 170)", "[170, 180)"), ("[170, 180)", "[180, 230]"))
    north, south = sharp(mechanism, histogram(METRIC, ROWS[:2]))
    assert (north.labels, south.labels) == (("[150, 170)", "[170, 180)"), ())
    assert south.as_dict()["quantiles"] == []
    left, right = sharp(quantiles_by(HALVES, [0, 1, 0, 1], 1, [0, 0, 1, 1], form=form), [3, 0, 0, 2])
    assert (len(left.places), len(right.places)) == (1, 1)


def test_groups_that_a_record_can_leave_are_refused():
    with pytest.raises(dx.UnsupportedCombination, match="the policy hides possible record"):
        quantiles_by(METRIC, "height", 1, "age")


def test_every_meaning_has_a_fingerprint_of_its_own():
    made = [
        quantile_mechanism(LINE, range(4)),
        quantile_mechanism(LINE, range(4), form="laplace"),
        quantile_mechanism(LINE, range(4), "1/3"),
        quantile_mechanism(LINE, range(4), ["1/2", "1/3"]),
        quantile_mechanism(LINE, [0, 1, 2, 4]),
        quantile_mechanism(LINE, [0, 1, 3, 2]),
        quantile_mechanism(HALVES, range(4)),
        quantile_mechanism(HALVES, range(4), where=np.array([True, True, False, False])),
        quantile_mechanism(HALVES, range(4), where=np.array([True, True, True, True])),
        quantile_mechanism(METRIC, "age"),
        quantile_mechanism(METRIC, "height"),
    ]
    assert len({one.fingerprint for one in made}) == len(made)
    assert quantile_mechanism(LINE, range(4), 0.5).fingerprint == quantile_mechanism(LINE, range(4)).fingerprint


def test_the_scale_of_laplace_noise_is_the_steepest_difference():
    metric = verified(LineMetric((Fraction(0), Fraction(1), Fraction(10)), Fraction(1, 10)))
    mechanism = quantile_mechanism(metric, [0, 5, 6], form="laplace")
    assert math.isclose(mechanism.scale(), 5 / 0.1, rel_tol=1e-12)
    assert mechanism.scale() >= 50 and mechanism.scale(SPEND) == 2 * mechanism.scale()


def test_replacing_a_record_shifts_sorted_values_by_their_difference_in_all():
    """Why one noise for each of several ranks hides them all at the price of one."""
    for table_ in itertools.combinations_with_replacement((0, 1, 4, 9), 3):
        for at, new in itertools.product(range(3), (0, 1, 4, 9)):
            changed = sorted((*table_[:at], new, *table_[at + 1 :]))
            assert sum(abs(a - b) for a, b in zip(sorted(table_), changed, strict=True)) == abs(table_[at] - new)


def test_laplace_noise_cannot_hide_different_values_at_distance_0():
    metric = dx.verify_metric([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    with pytest.raises(dx.errors.UnboundedLoss, match="at distance 0"):
        quantile_mechanism(metric, range(3), form="laplace")
    choice = quantile_choice(metric, range(3), 0.5, records=20)
    assert choice.mechanism.name == "transport quantiles"
    assert "at distance 0" in choice.candidates[1].reason


def test_the_choice_falls_on_what_errs_less_on_evenly_spread_records():
    """√(T/(ε·n·f)) against T/ε: noise is better for few records, lengths for many; and always without a line."""
    metric = on_a_line(100)
    few, many = (quantile_choice(metric, range(100), "1/2", records=n, spend=1) for n in (1, 100_000))
    assert (few.mechanism.name, many.mechanism.name) == ("laplace quantiles", "transport quantiles")
    ordinary = quantile_choice(all_alike(100), range(100), "1/2", records=100, spend=1)
    assert ordinary.mechanism.name == "transport quantiles"
    written = many.as_dict()
    assert set(written["statements"]) == {"transport", "laplace"}
    assert written["expected_errors_if_evenly_spread"]["laplace"] == pytest.approx(10)
    assert "of 100,000 records no more would have to change their value" in written["statements"]["transport"]


@pytest.mark.parametrize("metric", [on_a_line(30), all_alike(30)], ids=["line", "alike"])
@pytest.mark.parametrize("form", ["transport", "laplace"])
def test_expected_errors_are_those_of_drawn_answers(metric, form):
    """Six standard errors; sorting and the nearest value may only help."""
    mechanism = quantile_mechanism(metric, range(30), [0.2, 0.5, 0.9], form=form)
    counts = evenly_spread(np.arange(30), 200)
    truth = np.searchsorted(np.cumsum(counts), [40, 100, 180])
    drawn = np.array([one.places for one in mechanism.draws(counts, SPEND, 2000, InsecureSeededRandomness(2))])
    errors = np.abs(drawn - truth)
    slack = 6 * errors.mean(axis=1).std() / math.sqrt(len(errors))
    expected = expected_errors(mechanism, 200, SPEND).mean()
    assert errors.mean() <= expected + slack
    if form == "transport":
        assert errors.mean() >= expected - slack - 0.05 * expected


@pytest.mark.parametrize("metric", [on_a_line(30), all_alike(30)], ids=["line", "alike"])
@pytest.mark.parametrize("at", [[0.5], [0.2, 0.5, 0.9]], ids=str)
def test_ranks_and_values_are_off_by_no_more_than_stated(metric, at):
    """At 60 %, of 1,000 releases: were they independent of the bound's slack, fewer than 540 would come by 1e-4."""
    generator, level, spend = np.random.default_rng(7), 0.6, Fraction(1, 4)
    transport, laplace = (quantile_mechanism(metric, range(30), at, form=form) for form in ("transport", "laplace"))
    within = {"ranks": 0, "lengths": 0, "drawn values": 0, "values": 0}
    for round_ in range(1000):
        values = np.sort(generator.integers(0, 30, 60))
        counts = np.bincount(values, minlength=30).astype(np.int64)
        randomness = InsecureSeededRandomness(round_)
        answer = transport.draw(counts, spend, randomness)
        off = [
            max(np.count_nonzero(values < place) - rank + 1, rank - np.count_nonzero(values <= place), 0)
            for place, rank in zip(answer.places, answer.ranks, strict=True)
        ]
        within["ranks"] += max(off) <= transport.rank_bound(60, level, spend)
        lengths = transport.lengths(counts)
        cost = max(int(row[place]) for row, place in zip(lengths, answer.places, strict=True)) * transport.reach.unit
        within["lengths"] += cost <= transport.transport_bound(level, spend)
        drawn = values[np.array(answer.ranks) - 1]
        within["drawn values"] += np.abs(np.array(answer.places) - drawn).max() <= transport.value_bound(level, spend)
        noisy = laplace.draw(counts, spend, randomness)
        truth = values[np.array(noisy.ranks) - 1]
        within["values"] += np.abs(np.array(noisy.places) - truth).max() <= laplace.value_bound(level, spend)
    assert min(within.values()) >= 540


def test_ranks_are_off_by_no_more_than_stated_where_records_may_be_absent():
    """At 60 %, of 500 releases: fewer than 260 would come by 1e-4."""
    mechanism = quantile_mechanism(verified(PresenceMetric(on_a_line(30).metric, Fraction(1))), range(30), [0.2, 0.9])
    generator, level, within = np.random.default_rng(8), 0.6, 0
    bound = mechanism.rank_bound(60, level, SPEND)
    assert mechanism.value_bound(level, SPEND) is None
    for round_ in range(500):
        values = np.sort(generator.integers(0, 30, 60))
        counts = np.bincount(values, minlength=31).astype(np.int64)
        places = mechanism.draw(counts, SPEND, InsecureSeededRandomness(round_)).places
        off = [
            max(np.count_nonzero(values < place) - rank + 1, rank - np.count_nonzero(values <= place), 0)
            for place, rank in zip(places, (12, 54), strict=True)
        ]
        within += max(off) <= bound
    assert within >= 260


def test_a_bound_on_ranks_that_passes_the_next_rank_says_nothing():
    mechanism = quantile_mechanism(on_a_line(30, Fraction(1, 1000)), range(30), [0.4, 0.6])
    assert mechanism.rank_bound(100) == 100


def test_lengths_of_very_many_records_are_refused_before_anything_is_charged():
    mechanism = quantile_mechanism(LINE, range(4))
    with pytest.raises(dx.errors.TooLarge, match="62-bit"):
        mechanism.check(np.array([2**40, 0, 0, 0]), SPEND)
    mechanism.check(np.array([2**28, 0, 0, 2**28]), SPEND)


def test_many_records_under_a_ceiling_do_not_overflow():
    metric = verified(DiscreteMetric(1000, Fraction(1)))
    counts = np.zeros(1000, dtype=np.int64)
    counts[[3, 500, 999]] = 10**8
    answer = quantile_mechanism(metric, range(1000), [0.1, 0.5, 0.9]).draw(counts, SPEND, InsecureSeededRandomness(1))
    assert answer.places == (3, 500, 999)
