"""A metric's fingerprint names the records that its indices mean, so that a ledger takes no others for them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import LedgerError, UnsupportedCombination
from dxgeom.mechanisms.contract.composition import in_parallel, in_sequence
from dxgeom.mechanisms.linear.laplace import optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics.components import separate_blocks
from dxgeom.metrics.metric import UNNAMED, DataSet
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.numbers.numeric_attributes import RangeAttribute
from dxgeom.universe.universe import Universe

EPSILON = 0.1
NEAR_AND_FAR = np.array([[0, EPSILON, 3], [EPSILON, 0, 3], [3, 3, 0]])
"""The first two records are hard to tell apart, the last one is not."""


def universe(*labels: str) -> Universe:
    return Universe((CategoricalAttribute("kind", labels),))


def released(policy, ledger, *, known_to="metric", counts=(1, 0, 0)):
    """Counts of the first two records under a metric, whose records the metric or the queries know."""
    metric = dx.verify_metric(NEAR_AND_FAR, budget=9, **({"universe": policy} if known_to == "metric" else {}))
    queries = dx.LinearQueries.from_matrix(["a"], [[1, 0, 0]], policy if known_to == "queries" else None)
    return dx.plan(metric, queries).release(np.array(counts), ledger=ledger, spend=1)


@pytest.mark.parametrize("known_to", ["metric", "queries"])
def test_one_ledger_does_not_take_two_policies_whose_labels_are_in_reverse_order(tmp_path, known_to):
    """Else a pair promised odds of 1.1 is told apart with odds of 22: as the near one here, as a far one there."""
    ledger = tmp_path / "a.db"
    released(universe("a", "b", "c"), ledger, known_to=known_to)
    with pytest.raises(LedgerError, match="kept for policy 'matrix'"):
        released(universe("c", "b", "a"), ledger, known_to=known_to)
    assert released(universe("a", "b", "c"), ledger, known_to=known_to).remaining == 7


def test_one_ledger_does_not_take_two_ranges_that_end_elsewhere(tmp_path):
    """{range: [0, 10]} and {range: [0, 14]} have the same values: 12 counts as 10 in one, as nobody in the other."""
    text = "policy: p\nuniverse: {attributes: {a: {range: [0, %d], step: 5}}}\nrules: [{change: a, epsilon: 1}]"
    ten, fourteen = (dx.parse_policy(text % end) for end in (10, 14))
    assert ten.universe.attributes[0].labels == fourteen.universe.attributes[0].labels
    assert ten.fingerprint != fourteen.fingerprint
    ledger = tmp_path / "a.db"
    for policy in (ten, ten):
        plan = dx.plan(policy.compile(), dx.LinearQueries.marginals(policy.universe, ways=1))
        plan.release([1, 2, 3], ledger=ledger, spend="0.1")
    other = dx.plan(fourteen.compile(), dx.LinearQueries.marginals(fourteen.universe, ways=1))
    with pytest.raises(LedgerError, match="kept for policy 'p'"):
        other.release([1, 2, 3], ledger=ledger, spend="0.1")


def test_what_a_range_ends_with_is_told_by_its_last_value_where_a_step_reaches_it():
    """So policies that were never ambiguous keep the fingerprint by which older ledgers know them."""
    reached = RangeAttribute("r", Fraction(0), Fraction(10), Fraction(5))
    assert reached.digest == ["RangeAttribute", "r", ["0", "5", "10"]]
    assert RangeAttribute("r", Fraction(0), Fraction(14), Fraction(5)).digest == [*reached.digest, "14"]


def test_a_matrix_without_a_universe_keeps_its_fingerprint_and_takes_up_the_records_of_queries():
    bare, known = dx.verify_metric(NEAR_AND_FAR), dx.verify_metric(NEAR_AND_FAR, universe=universe("a", "b", "c"))
    assert bare.records is None
    assert len({bare.fingerprint, known.fingerprint, bare.on(universe("a", "c", "b")).fingerprint}) == 3
    assert bare.on(universe("a", "b", "c")).fingerprint == known.fingerprint
    assert known.on(universe("a", "b", "c")) is known
    with pytest.raises(UnsupportedCombination, match="another universe"):
        known.on(universe("a", "c", "b"))


def test_presence_and_the_order_of_a_list_are_part_of_the_records():
    words = CategoricalAttribute("kind", ("a", "b", "c"))
    forms = [
        Universe((words,), listed=np.array([0, 1, 2])),
        Universe((words,), listed=np.array([0, 2, 1])),
        Universe((words,)),
        Universe((CategoricalAttribute("kind", ("a", "b")),), presence=True),
        Universe((CategoricalAttribute("sort", ("a", "b", "c")),)),
    ]
    assert len({dx.verify_metric(NEAR_AND_FAR, universe=form).fingerprint for form in forms}) == len(forms)


def test_the_parts_of_a_sequence_are_about_the_same_records():
    metric = dx.verify_metric(NEAR_AND_FAR)
    rows = [[1, 0, 0]]

    def part(*labels):
        known = universe(*labels) if labels else None
        return dx.plan(metric, dx.LinearQueries.from_matrix(["a"], rows, known)).mechanism

    assert len(in_sequence([part("a", "b", "c"), part("a", "b", "c")]).parts) == 2
    with pytest.raises(UnsupportedCombination, match="count the same records"):
        in_sequence([part("a", "b", "c"), part("c", "b", "a")])
    with pytest.raises(UnsupportedCombination, match="one policy"):
        in_sequence([part("a", "b", "c"), part()])


def test_the_parts_of_two_blocks_make_no_sequence():
    """They have one account and one size, and yet an index means somebody else."""
    apart = np.full((4, 4), np.inf)
    apart[:2, :2], apart[2:, 2:] = [[0, 0.1], [0.1, 0]], [[0, 3], [3, 0]]
    metric = dx.verify_metric(apart)
    blocks = separate_blocks(metric, [0, 0, 1, 1]).metrics
    queries = dx.LinearQueries.from_matrix(["a"], [[1, 0]])
    first, second = (optimal_laplace(sensitivity_of(block, queries)) for block in blocks)
    assert first.account == second.account
    assert in_sequence([first, first]).parts
    with pytest.raises(UnsupportedCombination, match="count the same records"):
        in_sequence([first, second])
    both = in_parallel(metric, [0, 0, 1, 1], lambda block, _: optimal_laplace(sensitivity_of(block, queries)))
    assert both.account.policy_fingerprint == metric.fingerprint


def test_a_block_keeps_its_policys_account_whatever_its_queries_call_its_records():
    apart = np.full((4, 4), np.inf)
    apart[:2, :2] = apart[2:, 2:] = [[0, 1], [1, 0]]
    block = separate_blocks(dx.verify_metric(apart), [0, 0, 1, 1]).metrics[0]
    named = dx.LinearQueries.from_matrix(["a"], [[1, 0]], universe("x", "y"))
    made = optimal_laplace(sensitivity_of(block, named))
    assert made.account.policy_fingerprint == block.fingerprint
    assert made.universe is None
    with pytest.raises(UnsupportedCombination, match="some records of a larger one"):
        block.on(universe("x", "y"))


def test_a_metric_is_told_which_data_it_is_about_and_that_stays():
    visits = DataSet("visits", "1", budget=Fraction(2))
    metric = dx.verify_metric(NEAR_AND_FAR)
    assert metric.data_set == UNNAMED
    told = metric.about(DataSet("visits")).about(visits)
    assert told.data_set == visits
    assert told.fingerprint == metric.fingerprint
    assert told.about(DataSet("visits")).data_set == visits
    others = (DataSet("census"), DataSet("visits", "2"), DataSet("visits", "1", disjoint=True))
    for other in (*others, DataSet("visits", budget=Fraction(3))):
        with pytest.raises(LedgerError, match="not overridden"):
            told.about(other)
