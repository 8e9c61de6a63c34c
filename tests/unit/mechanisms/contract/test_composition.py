from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxgeom.errors import DataError, DxgeomError, TooLarge, UnsupportedCombination, WrongArgument
from dxgeom.lab.laplace_tables import truncated_geometric
from dxgeom.lab.statistic_release import statistic_mechanism
from dxgeom.learning.polynomials import bounded_column, moments
from dxgeom.mechanisms.contract.composition import (
    Parallel,
    PostProcessed,
    Sequential,
    followed_by,
    histogram_readers,
    in_parallel,
    in_sequence,
    least_error_shares,
)
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.selection.selections import selection
from dxgeom.mechanisms.synthetic.multiplicative_weights import mwem
from dxgeom.metrics import components as blocks_module
from dxgeom.metrics.combinations import PresenceMetric, SumMetric
from dxgeom.metrics.components import SeparateBlocks, separate_blocks
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.matrices import DenseMetric
from dxgeom.metrics.verification import verify
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.choose import plan
from dxgeom.policy.policy import Policy
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe

LINE = LineMetric(tuple(map(Fraction, range(3))), Fraction(1, 3))
APART = GraphMetric(2, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
HALVES = PartitionMetric(np.array([0, 1, 0, 1, 1]), Fraction(1, 3))
FIRST, LAST = [1, 0, 0], [0, 0, 1]


def verified(metric, fingerprint="f"):
    return verify(metric, title="t", fingerprint=fingerprint, budget=Fraction(2))


def laplace(metric, *rows):
    queries = LinearQueries.from_matrix([f"q{k}" for k in range(len(rows))], np.array(rows))
    return plan(metric, queries, mechanism="laplace").mechanism


def test_the_shares_of_a_sequence_are_exact_and_each_part_gets_its_own():
    parts = [laplace(verified(LINE), FIRST), laplace(verified(LINE), LAST)]
    both = in_sequence(parts, [Fraction(1, 3), Fraction(2, 3)])
    counts, spend = np.array([3, 0, 2]), Fraction(1, 2)
    drawn = both.draw(counts, spend, InsecureSeededRandomness(4))
    source = InsecureSeededRandomness(4)
    assert drawn == (parts[0].draw(counts, spend / 3, source), parts[1].draw(counts, 2 * spend / 3, source))


def test_parts_that_were_made_for_a_spend_bring_their_shares():
    line = verified(LINE)
    tables = [truncated_geometric(line, Fraction(1, 4)), truncated_geometric(line, Fraction(3, 4))]
    both = in_sequence(tables)
    assert (both.shares, both.only_spend) == ((Fraction(1, 4), Fraction(3, 4)), 1)
    assert len(both.draw(1, Fraction(1), InsecureSeededRandomness(1))) == 2
    with pytest.raises(UnsupportedCombination, match="made for a spend"):
        both.check(1, Fraction(1, 2))
    with pytest.raises(UnsupportedCombination, match="do not fit"):
        in_sequence(tables, [Fraction(1, 2), Fraction(1, 2)])


def test_a_sequence_that_makes_no_sense_is_refused():
    one, other = laplace(verified(LINE), FIRST), laplace(verified(LINE, "another"), LAST)
    table = truncated_geometric(verified(LINE), Fraction(1, 4))
    for parts, shares, words in (
        ([], None, "at least one"),
        ([one, other], None, "one policy"),
        ([one, one], [Fraction(1, 2)], "for each part"),
        ([one, one], [Fraction(1, 2), Fraction(3, 4)], "sum to 1"),
        ([one, one], [0.5, 0.5], "Fraction"),
        ([one, one], [Fraction(2), Fraction(-1)], "positive"),
        ([one, table], None, "say the shares"),
    ):
        with pytest.raises(UnsupportedCombination, match=words):
            in_sequence(parts, shares)


def test_a_sequence_refuses_what_any_part_refuses():
    both = in_sequence([laplace(verified(LINE), FIRST), laplace(verified(LINE), LAST)])
    with pytest.raises(DataError):
        both.check(np.array([1, 2]), Fraction(1))


def test_every_block_is_answered_at_the_whole_spend():
    metric = verified(HALVES)
    both = in_parallel(metric, HALVES.blocks, lambda inner, members: laplace(inner, np.arange(len(members)) == 0))
    alone = laplace(metric, np.arange(5) == 0)
    assert both.parts[0].variances() == pytest.approx(alone.variances())
    counts = np.array([1, 2, 3, 4, 5])
    source = InsecureSeededRandomness(2)
    by_hand = tuple(
        part.draw(counts[list(members)], Fraction(1), source)
        for part, members in zip(both.parts, ([0, 2], [1, 3, 4]), strict=True)
    )
    assert both.draw(counts, Fraction(1), InsecureSeededRandomness(2)) == by_hand


METRICS = {
    "partition": (HALVES, HALVES.blocks),
    "coarser than the partition": (PartitionMetric(np.array([0, 1, 2, 1]), Fraction(1)), [0, 1, 0, 1]),
    "an axis nobody protects": (SumMetric((LINE, APART)), [0, 1] * 3),
    "a partition of an axis": (SumMetric((HALVES, LINE)), np.repeat(HALVES.blocks, 3)),
    "matrix": (DenseMetric(np.array([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])), ["a", "a", "b"]),
    "graph": (GraphMetric(4, np.array([0, 2]), np.array([3, 1]), np.array([0.5, 0.25])), [7, -1, -1, 7]),
    "blocks that are no box": (SumMetric((APART, APART)), [0, 1, 1, 0]),
}


@pytest.mark.parametrize("name", METRICS)
def test_a_blocks_metric_is_the_whole_metric_on_it(name):
    metric, labels = METRICS[name]
    cut = separate_blocks(verified(metric), labels)
    assert sorted(np.concatenate(cut.members)) == list(range(metric.size))
    for members, each in zip(cut.members, cut.metrics, strict=True):
        assert len({str(np.asarray(labels)[i]) for i in members}) == 1
        expected = metric.distance(members[:, None], members)
        assert np.allclose(
            each.distance(np.arange(len(members))[:, None], np.arange(len(members))), expected, rtol=1e-12
        )
        assert (each.fingerprint, each.budget) == ("f", 2)


def test_blocks_that_the_policy_does_not_keep_apart_are_refused():
    with pytest.raises(UnsupportedCombination, match="hides possible record 0 from 1"):
        separate_blocks(verified(LINE), [0, 1, 1])
    with pytest.raises(UnsupportedCombination, match="label for each"):
        separate_blocks(verified(LINE), [0, 1])
    metric = verified(PresenceMetric(HALVES, Fraction(1)))
    with pytest.raises(UnsupportedCombination, match="absent"):
        in_parallel(metric, [0, 1, 0, 1, 1, 2], lambda inner, _: laplace(inner, [1]))


def test_a_part_made_for_other_records_is_refused():
    stranger = laplace(verified(PartitionMetric(np.array([0, 0]), Fraction(1))), [1, 0])
    with pytest.raises(UnsupportedCombination, match="handed to make"):
        in_parallel(verified(PartitionMetric(np.array([0, 0, 1, 1]), Fraction(1))), [0, 0, 1, 1], lambda *_: stranger)


def test_too_many_pairs_to_list_are_refused(monkeypatch):
    monkeypatch.setattr(blocks_module, "MOST_PAIRS", 3)
    with pytest.raises(TooLarge, match="more than 3"):
        separate_blocks(verified(DiscreteMetric(5, Fraction(1))), [0] * 5)


def test_what_follows_changes_the_answer_and_not_the_price():
    picked = selection(verified(LINE), LinearQueries.from_matrix(list("ab"), np.array([FIRST, LAST])))
    named = followed_by(picked, "ab".__getitem__, "a name")
    assert named.draw(np.array([9, 0, 0]), Fraction(2), InsecureSeededRandomness(1)) in "ab"
    assert named.account == picked.account
    assert named.fingerprint != picked.fingerprint


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=5))
def test_shares_of_least_error_sum_to_one_and_beat_their_neighbours(errors):
    shares = least_error_shares(errors)
    assert sum(shares) == 1
    total = sum(error / float(share) ** 2 for error, share in zip(errors, shares, strict=True))
    for i, j in itertools.permutations(range(len(errors)), 2):
        moved = [float(share) for share in shares]
        moved[i], moved[j] = 0.99 * moved[i], moved[j] + 0.01 * moved[i]
        assert total <= sum(error / share**2 for error, share in zip(errors, moved, strict=True)) * (1 + 1e-3)


@pytest.mark.parametrize("errors", [[], [1, 0], [1, float("inf")], [[1, 2], [3, 4]]])
def test_errors_that_cannot_be_shared_by_are_refused(errors):
    with pytest.raises(UnsupportedCombination):
        least_error_shares(errors)


def test_other_blocks_under_the_same_metric_make_another_fingerprint():
    apart = verified(GraphMetric(4, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)))
    made = [
        in_parallel(apart, labels, lambda each, _: laplace(each, [1, 0])).fingerprint
        for labels in ([0, 0, 1, 1], [0, 1, 0, 1], [5, 5, 6, 6])
    ]
    assert made[0] != made[1]
    assert made[0] == made[2]


@pytest.mark.parametrize(
    "wrap", [lambda part: in_sequence([part, part]), lambda part: followed_by(part, len, "how many"), lambda _: None]
)
def test_the_part_of_a_block_is_no_sequence_and_no_function(wrap):
    with pytest.raises(UnsupportedCombination, match="a sequence of parallels"):
        in_parallel(verified(HALVES), [0, 1, 0, 1, 1], lambda each, inside: wrap(laplace(each, [1] * len(inside))))


def test_the_metric_of_what_reads_a_histogram_is_found_inside_sequences_and_functions():
    metric = verified(LINE)
    part = laplace(metric, FIRST)
    assert histogram_readers(followed_by(in_sequence([in_sequence([part]), part]), len, "how many")) == [part, part]
    assert histogram_readers(truncated_geometric(metric, Fraction(1))) == []


def test_the_part_of_a_block_does_not_hide_how_many_records_there_are():
    universe = Policy.from_dict(
        {
            "policy": "p",
            "universe": {"attributes": {"x": ["a"]}},
            "rules": [{"presence": True, "epsilon": 1}],
        }
    ).universe
    halves = verified(PartitionMetric(np.array([0, 0, 1, 1]), Fraction(1, 3)))
    present = LinearQueries.from_matrix(list("a"), [[1, 0]], universe=universe)
    with pytest.raises(UnsupportedCombination, match="hides its own"):
        in_parallel(halves, [0, 0, 1, 1], lambda each, _: plan(each, present, mechanism="laplace").mechanism)


def test_the_part_of_a_block_keeps_its_promise_always(monkeypatch):
    halves = verified(PartitionMetric(np.array([0, 0, 1, 1]), Fraction(1, 3)))
    monkeypatch.setattr(AdditiveMechanism, "delta", Fraction(1, 10**9))
    with pytest.raises(UnsupportedCombination, match="except with a chance 'delta'"):
        in_parallel(halves, [0, 0, 1, 1], lambda each, _: laplace(each, [1, 0]))


def test_what_is_composed_by_hand_is_checked_as_well():
    one, other = laplace(verified(LINE), FIRST), laplace(verified(LINE, "another"), LAST)
    table = truncated_geometric(verified(LINE), Fraction(1, 4))
    half = Fraction(1, 2)
    for parts, shares, words in (
        ((), (), "at least one"),
        ((one, 3), (half, half), "all are mechanisms"),
        ([one, one], (half, half), "at least one part"),
        ((one, other), (half, half), "one policy"),
        ((one, one), (half,), "for each part"),
        ((one, one), [half, half], "for each part"),
        ((one, one), (Fraction(1), Fraction(1)), "sum to 1"),
        ((table, table), (Fraction(1, 4), Fraction(3, 4)), "do not fit"),
    ):
        with pytest.raises(UnsupportedCombination, match=words):
            Sequential("by hand", parts, shares)
    both = in_sequence([one, one])
    with pytest.raises(UnsupportedCombination, match="sum to 1"):
        replace(both, shares=(Fraction(1), Fraction(1)))
    with pytest.raises(WrongArgument, match="'inner'"):
        PostProcessed("by hand", None, len)
    with pytest.raises(WrongArgument, match="'function'"):
        PostProcessed("by hand", one, "a function")


def test_blocks_that_are_not_apart_cannot_be_written_down():
    metric = verified(HALVES)
    both = in_parallel(metric, HALVES.blocks, lambda inner, members: laplace(inner, np.arange(len(members)) == 0))
    with pytest.raises(DxgeomError, match="never directly"):
        SeparateBlocks(verified(LINE), both.blocks.members, both.blocks.metrics)
    with pytest.raises(DxgeomError, match="never directly"):
        replace(both.blocks, whole=verified(LINE))
    for parts, words in (
        (both.parts[:1], "2 blocks have a part each"),
        (both.parts[::-1], "handed to make"),
        ((both, both), "handed to make"),
        ((in_sequence([both]),), "a sequence of parallels"),
    ):
        with pytest.raises(UnsupportedCombination, match=words):
            Parallel("by hand", both.blocks, parts)


def test_parts_of_one_account_may_call_it_by_other_names():
    people = moments([bounded_column("x", 0, 4, 1)])
    both = in_sequence([statistic_mechanism(people, title=title) for title in ("staff", "visitors")])
    assert both.account.policy_name == "staff"


def test_parts_that_read_rows_by_their_places_have_their_columns_in_one_order():
    """Their account is one, because the people are; a row read the other way round would be another person's."""
    columns = [bounded_column("x", 0, 4, 1), bounded_column("y", 0, 9, 1)]
    one, other = (statistic_mechanism(moments(order, 1)) for order in (columns, columns[::-1]))
    assert one.account == other.account
    for parts in ([one, other], [one, followed_by(other, list, "as a list")]):
        with pytest.raises(UnsupportedCombination, match="same columns in the same order"):
            in_sequence(parts)


def _counts(*labels, presence=False):
    universe = Universe((CategoricalAttribute("kind", labels),), presence)
    queries = LinearQueries.from_matrix(["the first"], [[1, 0]], universe)
    return plan(verified(DenseMetric(np.array([[0.0, 1.0], [1.0, 0.0]]))), queries, mechanism="laplace").mechanism


def test_the_parts_of_a_sequence_count_the_same_records():
    """One histogram is read for all: by another universe of the same size, an index would mean somebody else."""
    with pytest.raises(UnsupportedCombination, match="count the same records"):
        in_sequence([_counts("x", "y"), _counts("y", "x")])
    assert len(in_sequence([_counts("x", "y"), _counts("x", "y")]).parts) == 2


def test_no_part_of_a_sequence_tells_how_many_records_there_are_where_another_hides_it():
    metric = verified(DenseMetric(np.array([[0.0, 1.0], [1.0, 0.0]])))
    telling = mwem(metric, LinearQueries.from_matrix(["the first"], [[1, 0]]))
    with pytest.raises(UnsupportedCombination, match="number is public"):
        in_sequence([_counts("x", presence=True), followed_by(telling, len, "length")])


def test_a_share_too_small_for_any_noise_is_refused_before_anything_is_released():
    least = Fraction(1, 10**400)
    with pytest.raises(UnsupportedCombination, match="1e-30"):
        in_sequence([_counts("x", "y")] * 2, [least, 1 - least])
