from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from reference.multiplicative_weights import fitted, run, run_as_printed
from reference.released_law import interval_law
from reference.selection_law import permute_and_flip_chances

import dxgeom as dx
from dxgeom.errors import BudgetExceeded, DataError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.synthetic import multiplicative_weights as mwem_file
from dxgeom.mechanisms.synthetic.multiplicative_weights import MOST_QUERIES, measured_at_once, mwem
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.verification import verify, verify_metric
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.policy.policy import parse_policy
from dxgeom.universe.queries import LinearQueries

PLACES = np.array([0, 1, 3, 4, 8])
LINE = verify_metric(np.abs(PLACES[:, None] - PLACES), title="line", budget=2)
ROWS = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 1, 2, 3, 4], [1, 0, 0, -2, 0]])
WORKLOAD = LinearQueries.from_matrix(list("abcd"), ROWS)
COUNTS = np.array([70, 10, 5, 40, 25])


def stepped_through(rows, start, answer):
    """The models that the measurements of each round give, by the definition, from the first to the last."""
    models, blocks = [start], []
    for _, ones in itertools.groupby(answer.measurements, key=lambda one: one.round):
        blocks.append([(one.query, float(one.value), one.scale, float(one.step)) for one in ones])
        last = len(blocks) == 1 + answer.measurements[-1].round
        models.append(fitted(rows, models[-1], blocks, 300 if last else 10))
    return models


@pytest.mark.parametrize("spend", [Fraction(1, 100), Fraction(1, 2), Fraction(20)])
def test_after_each_round_the_model_is_fitted_to_all_that_was_measured(spend):
    answer = mwem(LINE, WORKLOAD, rounds=3).draw(COUNTS, spend, InsecureSeededRandomness(1))
    models = stepped_through(ROWS, np.full(5, 30.0), answer)
    assert len(models) == 4
    assert np.allclose(answer.histogram, models[-1], rtol=1e-10)
    assert np.allclose(answer.answers, ROWS @ answer.histogram, rtol=1e-12)
    for one, model in zip(answer.measurements, models, strict=False):
        assert one.modelled == pytest.approx(ROWS[one.query] @ model)
    assert np.allclose(answer.last_look.answers, ROWS @ models[-2], rtol=1e-10)


def test_no_query_is_measured_twice_and_in_the_end_all_are():
    for rounds in (1, 2, 3, 4):
        answer = mwem(LINE, WORKLOAD, rounds=rounds).draw(COUNTS, Fraction(1), InsecureSeededRandomness(rounds))
        assert len({one.query for one in answer.measurements}) == len(answer.measurements) == rounds
        assert (answer.last_look is None) == (rounds == 4)


MARGINALS_POLICY = parse_policy("""
policy: small
universe:
  attributes:
    one: [a, b]
    two: {range: [0, 3], step: 1}
    three: [x, y, z]
rules:
  - {change: one, epsilon: 0.5}
  - {change: two, epsilon: 1, per: 2}
  - {change: three, values: {x: 0.25}, otherwise: 2}
""")
TABLES = LinearQueries.marginals(MARGINALS_POLICY.universe, [["one", "two"], ["two", "three"], ["three"]])


def test_cells_measured_together_hide_every_pair_of_records():
    """Σ_k |Δ_k|/scale_k ≤ d(i, j) for the cells of each marginal on generating pairs: all that Laplace noise needs."""
    metric = MARGINALS_POLICY.compile()
    mechanism = mwem(metric, TABLES, rounds=1)
    places = np.stack(np.unravel_index(np.arange(24), (2, 4, 3)))
    blocks = list(metric.metric.generating_pairs())
    pairs = [pair for block in blocks for pair in zip(*(part.tolist() for part in block), strict=True)]
    closest = []
    for axes, first in (((0, 1), 0), ((1, 2), 8), ((2,), 20)):
        scale = Fraction(float(mechanism._block_steepness[first]))
        for i, j, bound in pairs:
            change = 2 if any(places[axis, i] != places[axis, j] for axis in axes) else 0
            assert change / scale <= Fraction(bound)
            closest.append(float(change / scale / Fraction(bound)))
    assert max(closest) > 0.999


def test_everything_measured_at_once_hides_every_pair_of_records():
    metric = MARGINALS_POLICY.compile()
    answer = mwem(metric, TABLES, rounds=0).draw(np.full(24, 5), Fraction(1), InsecureSeededRandomness(3))
    rates = np.array([1 / one.scale for one in answer.measurements])
    rows = as_rows()
    loads = []
    for block in metric.metric.generating_pairs():
        for i, j, bound in zip(*(part.tolist() for part in block), strict=True):
            loads.append(float(np.abs(rows[:, i] - rows[:, j]) @ rates) / bound)
    assert 0.999 < max(loads) <= 1 + 1e-12
    assert answer.last_look is None
    assert [one.query for one in answer.measurements] == list(range(23))


def test_marginals_are_measured_at_once_where_that_has_at_most_four_times_the_noise_of_the_rounds():
    ordinary = verify(DiscreteMetric(24, Fraction(1)), title="ordinary", fingerprint="ordinary", budget=Fraction(1))
    names = MARGINALS_POLICY.universe.names
    subsets = [subset for size in (1, 2, 3) for subset in itertools.combinations(names, size)]
    tables = LinearQueries.marginals(MARGINALS_POLICY.universe, subsets)
    mechanism, at_once = mwem(ordinary, tables), measured_at_once(ordinary, tables)
    assert np.sqrt(at_once.ideal_variances / 2) == pytest.approx(2 * 7)
    seen = set()
    for records, spend in itertools.product((1, 100, 10**4), (Fraction(1, 1000), Fraction(1, 10), Fraction(1))):
        cost = 10 * 2 * np.log(tables.count) / float(spend)
        best = min(max(round((records * np.sqrt(np.log(24)) / cost) ** (2 / 3)), 1), 7)
        rounds = mechanism.rounds_for(records, spend)
        assert rounds == (0 if 4 * (best * 2 * 3 / 2) >= 2 * 7 else best)
        seen.add(rounds)
    assert seen == {0, 1}


def test_everything_is_measured_at_once_where_that_has_at_most_twice_the_noise_of_the_rounds():
    ordinary = verify(DiscreteMetric(24, Fraction(1)), title="ordinary", fingerprint="ordinary", budget=Fraction(1))
    ranges = LinearQueries.boxes(
        MARGINALS_POLICY.universe, [{"two": ends} for ends in itertools.combinations(range(4), 2)]
    )
    mechanism, at_once = mwem(ordinary, ranges), measured_at_once(ordinary, ranges)
    assert not mechanism.workload.whole_marginals
    noise = np.sqrt(np.mean(at_once.ideal_variances / 2))
    seen = set()
    for records, spend in itertools.product((1, 100, 10**4), (Fraction(1, 1000), Fraction(1, 10), Fraction(1))):
        cost = 10 * np.log(ranges.count) / float(spend)
        best = min(max(round((records * np.sqrt(np.log(24)) / cost) ** (2 / 3)), 1), 6)
        rounds = mechanism.rounds_for(records, spend)
        assert rounds == (0 if 2 * (best * 3 / 2) >= noise else best)
        seen.add(rounds)
    assert seen > {0}


def test_queries_too_many_to_be_measured_at_once_are_selected():
    flat = verify(DiscreteMetric(MOST_QUERIES + 1, Fraction(1)), title="flat", fingerprint="flat", budget=Fraction(1))
    universe = parse_policy(
        f"{{policy: a, universe: {{attributes: {{a: {{range: [0, {MOST_QUERIES}], step: 1}}}}}}, "
        "rules: [{change: a, epsilon: 1}]}"
    ).universe
    workload = LinearQueries.marginals(universe, [["a"]])
    assert mwem(flat, workload).rounds_for(10**6, Fraction(1)) == 1
    with pytest.raises(TooLarge, match="give rounds"):
        mwem(flat, workload, rounds=0)


def test_rounds_that_measure_a_marginal_at_once_follow_the_definition():
    mechanism = mwem(MARGINALS_POLICY.compile(), TABLES, rounds=3)
    counts = np.random.default_rng(0).integers(0, 40, 24)
    answer = mechanism.draw(counts, Fraction(1), InsecureSeededRandomness(8))
    rows, n = as_rows(), int(counts.sum())
    models = stepped_through(rows, np.full(24, n / 24), answer)
    for number in range(3):
        ones = [one for one in answer.measurements if one.round == number]
        assert sum(one.selected for one in ones) == 1
        assert [one.query for one in ones] == list(range(*mechanism.workload.blocks[ones[0].query]))
        modelled = rows[[one.query for one in ones]] @ models[number]
        assert np.allclose([one.modelled for one in ones], modelled, rtol=1e-11)
    assert np.allclose(answer.histogram, models[-1], rtol=1e-10)


def test_exact_measurements_are_fitted_to_a_part_of_a_record():
    """Nobody is protected here, so that nothing is noisy; marginals of one histogram agree with each other."""
    apart = verify(DiscreteMetric(24, Fraction(10**12)), title="apart", fingerprint="apart", budget=Fraction(1))
    counts = np.random.default_rng(5).integers(1, 1000, 24)
    answer = mwem(apart, TABLES, rounds=0).draw(counts, Fraction(1), InsecureSeededRandomness(3))
    assert np.abs(answer.answers - as_rows() @ counts).max() < 0.5


def as_rows():
    """(23, 24): each cell's indicator over the universe."""
    cube = np.arange(24).reshape(2, 4, 3)
    rows = []
    for one, two, three in (
        *((one, two, slice(None)) for one in range(2) for two in range(4)),
        *((slice(None), two, three) for two in range(4) for three in range(3)),
        *((slice(None), slice(None), three) for three in range(3)),
    ):
        rows.append(np.isin(np.arange(24), cube[one, two, three]))
    return np.array(rows).astype(np.int64)


def test_a_public_start_is_where_the_model_begins():
    start = np.array([1, 2, 3, 4, 10])
    for rounds in (0, 1):
        answer = mwem(LINE, WORKLOAD, rounds=rounds, start=start).draw(COUNTS, Fraction(1), InsecureSeededRandomness(1))
        for one in answer.measurements:
            assert one.modelled == pytest.approx(ROWS[one.query] @ start * 150 / 20)


def test_every_round_costs_its_exact_share_and_all_shares_the_spend(monkeypatch):
    shares, factors = [], []
    select, draw = mwem_file.choose, LaplaceNoise.draw_whole

    def noted_select(scores, lead, share, law, randomness):
        assert lead == 2 * mechanism.fineness * mechanism.query_sensitivities.max()
        shares.append(share)
        return select(scores, lead, share, law, randomness)

    def noted_draw(self, count, randomness, factor):
        factors.append((self.scales.tolist(), 1 / factor))
        return draw(self, count, randomness, factor)

    mechanism = mwem(LINE, WORKLOAD, rounds=3)
    monkeypatch.setattr(mwem_file, "choose", noted_select)
    monkeypatch.setattr(LaplaceNoise, "draw_whole", noted_draw)
    answer = mechanism.draw(COUNTS, Fraction(3, 10), InsecureSeededRandomness(2))
    assert shares == [Fraction(3, 10) / 9] * 3
    assert sum(shares) + sum(share for _, share in factors) == Fraction(3, 10)
    for one, (scales, _) in zip(answer.measurements, factors, strict=True):
        assert scales == [mechanism.fineness * mechanism.query_sensitivities[one.query]]


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_where_squares_add_up_those_of_all_rounds_are_that_of_the_spend(monkeypatch, rounds):
    parts = []
    select, draw = mwem_file.choose, LaplaceNoise.draw_whole

    def noted_select(scores, lead, share, law, randomness):
        parts.append(share)
        return select(scores, lead, share, law, randomness)

    def noted_draw(self, count, randomness, factor):
        parts.append(1 / factor)
        return draw(self, count, randomness, factor)

    line = verify_metric(np.abs(PLACES[:, None] - PLACES), title="line", budget=2, privacy="concentrated")
    mechanism, pure = mwem(line, WORKLOAD, rounds=rounds), mwem(LINE, WORKLOAD, rounds=rounds)
    assert mechanism.fingerprint != pure.fingerprint
    monkeypatch.setattr(mwem_file, "choose", noted_select)
    monkeypatch.setattr(LaplaceNoise, "draw_whole", noted_draw)
    answer = mechanism.draw(COUNTS, Fraction(3, 10), InsecureSeededRandomness(2))
    squares = sum(part**2 for part in parts)
    assert Fraction(3, 10) ** 2 * (1 - Fraction(1, 10**7)) <= squares <= Fraction(3, 10) ** 2
    assert len(parts) == 2 * rounds and min(parts) > Fraction(3, 10) / 3 / rounds
    assert len(answer.measurements) == rounds


def test_one_round_keeps_the_odds_of_every_selection_and_measurement():
    """The joint law of (query, value) on all histograms of two records, against all their neighbours."""
    metric = verify_metric([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    rows = np.array([[1, 0, 0], [0, 1, 2]])
    mechanism = mwem(metric, LinearQueries.from_matrix(list("ab"), rows), rounds=1)
    spend, fine = Fraction(3, 2), mechanism.fineness
    start = np.rint(rows @ (np.ones(3) / 3) * 2 * fine).astype(int)
    laws = {}
    noise = [interval_law(Fraction(float(c)) * fine * 3 / 2 / spend, 600) for c in mechanism.query_sensitivities]
    rate = spend / 3 / Fraction(2 * fine * float(mechanism.query_sensitivities.max()))
    for pair in itertools.combinations_with_replacement(range(3), 2):
        exact = rows @ np.bincount(pair, minlength=3) * fine
        chances = permute_and_flip_chances([abs(int(a) - int(b)) for a, b in zip(exact, start, strict=True)], rate)
        laws[pair] = (exact, [mpmath.log(chance) for chance in chances])
    worst = 0.0
    for (one, (a, p)), (other, (b, q)) in itertools.permutations(laws.items(), 2):
        if len(set(one) & set(other)) == 0:
            continue
        (i,), (j,) = ([left] for left in _changed(one, other))
        for k, value in itertools.product(range(2), range(-100, 160, 3)):
            gap = p[k] - q[k] + mpmath.log(noise[k][value - int(a[k])]) - mpmath.log(noise[k][value - int(b[k])])
            worst = max(worst, float(abs(gap)) / float(spend * int(metric.distance(i, j))))
    assert 0.5 < worst <= 1 + 1e-12


def _changed(one, other):
    first, second = list(one), list(other)
    for shared in one:
        if shared in second:
            first.remove(shared)
            second.remove(shared)
    return first[0], second[0]


@pytest.mark.parametrize("rounds", [0, 2])
def test_the_bounds_on_all_errors_hold_as_often_as_they_say(rounds):
    mechanism, truth = mwem(LINE, WORKLOAD, rounds=rounds), ROWS @ (COUNTS * 100)
    missed, below = 0, 0
    for seed in range(60):
        answer = mechanism.draw(COUNTS * 100, Fraction(1, 20), InsecureSeededRandomness(seed))
        errors, bounds = np.abs(answer.answers - truth), answer.error_bounds(0.5)
        missed += np.any(errors > bounds)
        assert answer.largest_error(0.5) == bounds.max()
        first = answer.measurements[0]
        below += abs(float(first.value) - truth[first.query]) <= first.half_width(0.5)
    # At level 1/2, 30 of 60 may be missed; 55 or more would have a chance below 1e-11. The union bound is looser.
    assert missed <= 30
    assert 5 < below < 55


def test_bounds_hold_for_any_histogram_made_of_the_measurements():
    """No query but the last selected is as far off as it was before, whatever the answer is now."""
    answer = mwem(LINE, WORKLOAD, rounds=2).draw(COUNTS * 100, Fraction(2), InsecureSeededRandomness(3))
    truth = ROWS @ (COUNTS * 100)
    for distribution in (np.eye(5)[0], np.full(5, 0.2), COUNTS / COUNTS.sum()):
        other = dataclasses.replace(answer, distribution=distribution)
        assert np.all(np.abs(other.answers - truth) <= other.error_bounds(1 - 1e-9))
    assert answer.largest_error() > answer.largest_error(0.5) > 0
    for level in (0, 1, -1, 2):
        with pytest.raises(UnsupportedCombination):
            answer.largest_error(level)


def test_more_budget_brings_all_answers_closer():
    truth = ROWS @ (COUNTS * 1000)
    errors = []
    for spend in (Fraction(1, 10000), Fraction(2)):
        answer = mwem(LINE, WORKLOAD, rounds=0).draw(COUNTS * 1000, spend, InsecureSeededRandomness(4))
        errors.append(np.abs(answer.answers - truth).max())
    assert 10 * errors[1] < errors[0]


def test_the_printed_update_with_its_mixed_scales_leaves_the_data():
    """No noise, c = 5, 200 rounds: corrected, even the average is near; as printed, the end is beyond the start."""
    records = int(COUNTS.sum())
    start_error = np.abs(ROWS @ (np.full(5, records / 5) - COUNTS)).max()
    printed = run_as_printed(ROWS, 5, np.ones(5), lambda rows: rows @ COUNTS, records, 200)
    states = [np.full(5, records / 5)]
    for _ in range(200):
        query = int(np.argmax(np.abs(ROWS @ (COUNTS - states[-1]))))
        states.append(run(ROWS, states[-1], [(query, ROWS[query] @ COUNTS)], records)[-1])
    assert np.abs(ROWS @ (states[-1] - COUNTS)).max() < 0.05 * start_error
    assert np.abs(ROWS @ (np.mean(states, axis=0) - COUNTS)).max() < 0.5 * start_error
    assert np.abs(ROWS @ (printed - COUNTS)).max() > start_error


def test_given_rounds_are_kept():
    for rounds in range(5):
        assert mwem(LINE, WORKLOAD, rounds=rounds).rounds_for(10, Fraction(1, 10)) == rounds


def test_whole_counts_keep_the_sum_and_every_cell():
    answer = mwem(LINE, WORKLOAD, rounds=3).draw(COUNTS, Fraction(1), InsecureSeededRandomness(6))
    counts = answer.counts()
    assert counts.sum() == 150 == len(answer.record_types())
    assert np.all(np.abs(counts - answer.histogram) < 1)
    assert np.array_equal(np.bincount(answer.record_types(), minlength=5), counts)


def test_queries_nobody_protected_can_change_are_answered_exactly():
    apart = verify_metric([[0, np.inf, np.inf], [np.inf, 0, np.inf], [np.inf, np.inf, 0]])
    workload = LinearQueries.from_matrix(list("ab"), [[1, 0, 0], [0, 1, 0]])
    for rounds in (0, 2):
        mechanism = mwem(apart, workload, rounds=rounds)
        answer = mechanism.draw(np.array([5, 2, 3]), Fraction(1, 100), InsecureSeededRandomness(0))
        assert {(one.name, one.value, one.scale) for one in answer.measurements} == {("a", 5, 0.0), ("b", 2, 0.0)}
        assert answer.largest_error() < 0.5
    assert mwem(apart, workload).rounds_for(10, Fraction(1)) == 0


def test_the_ledger_is_charged_once_with_the_whole_spend_before_the_first_round(tmp_path, monkeypatch):
    place = str(tmp_path / "a.db")
    mechanism = mwem(LINE, WORKLOAD, rounds=3)

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(mwem_file, "choose", stopped)
    with pytest.raises(KeyboardInterrupt):
        dx.release(mechanism, COUNTS, ledger=place, spend="3/2")
    with Ledger.open(place, policy_fingerprint=LINE.fingerprint, policy_name="line", budget=Fraction(2)) as ledger:
        assert [entry.spend for entry in ledger.entries()] == [Fraction(3, 2)]
    with pytest.raises(BudgetExceeded):
        dx.release(mechanism, COUNTS, ledger=place, spend=1)


def test_what_cannot_be_drawn_is_refused_before_anything_is_charged():
    with pytest.raises(UnboundedLoss):
        mwem(verify_metric([[0, 0], [0, 0]]), LinearQueries.from_matrix(list("a"), [[1, 0]]))
    with pytest.raises(UnsupportedCombination, match="VerifiedMetric"):
        mwem(LINE.metric, WORKLOAD)
    with pytest.raises(UnsupportedCombination, match="must be the same"):
        mwem(verify_metric([[0, 1], [1, 0]]), WORKLOAD)
    for rounds in (-1, 5, 10**6):
        with pytest.raises(UnsupportedCombination, match="rounds"):
            mwem(LINE, WORKLOAD, rounds=rounds)
    for start in ([1, 1], [0, 1, 1, 1, 1], [np.nan, 1, 1, 1, 1], [np.inf, 1, 1, 1, 1]):
        with pytest.raises(UnsupportedCombination, match="start"):
            mwem(LINE, WORKLOAD, start=start)
    for rounds in (0, 3):
        mechanism = mwem(LINE, WORKLOAD, rounds=rounds)
        with pytest.raises(UnsupportedCombination, match="at least one record"):
            mechanism.check_size(0, Fraction(1))
        with pytest.raises(TooLarge):
            mechanism.check_size(2**58, Fraction(1))
        with pytest.raises(TooLarge):
            mechanism.check_size(10, Fraction(1, 10**30))


def test_what_a_later_round_measures_leaves_the_bound_of_an_earlier_one_alone():
    """How much is measured later may follow from the noise, so it must not decide how much noise is allowed for."""
    answer = mwem(LINE, WORKLOAD, rounds=4).draw(COUNTS, Fraction(1), InsecureSeededRandomness(1))
    first, *later = answer.measurements
    more = [dataclasses.replace(one, round=min(one.round, 3)) for one in [*later, *later[-1:] * 50]]
    other = dataclasses.replace(answer, measurements=(first, *more))
    assert len({one.round for one in other.measurements}) == 4
    assert answer.error_bounds()[first.query] == other.error_bounds()[first.query]
    assert answer.error_bounds()[later[-1].query] < other.error_bounds()[later[-1].query]


@pytest.mark.parametrize("shift", [10**3, 10**9])
def test_weights_far_from_zero_are_fitted_as_well_as_others(shift):
    """e^(exponent·weight) once overflowed, after the ledger was charged."""
    rows = ROWS[:2]
    answers = [
        mwem(LINE, LinearQueries.from_matrix(list("ab"), rows + far), rounds=2).draw(
            COUNTS, Fraction(50), InsecureSeededRandomness(1)
        )
        for far in (0, shift)
    ]
    near, far = (np.array(rows @ answer.histogram) for answer in answers)
    assert np.allclose(near, rows @ COUNTS, atol=2)
    assert np.allclose(far, rows @ COUNTS, atol=2)


def test_a_mean_is_learnt_for_the_records_it_was_divided_by_only():
    means = dataclasses.replace(WORKLOAD, records=int(COUNTS.sum()))
    for rounds in (0, 1):
        mechanism = mwem(LINE, means, rounds=rounds)
        mechanism.check(COUNTS, Fraction(1))
        with pytest.raises(DataError, match="written for 150 records, the table has 300"):
            mechanism.check(2 * COUNTS, Fraction(1))


def test_a_workload_of_another_universe_is_refused():
    policies = [
        parse_policy(
            f"policy: p\nuniverse: {{attributes: {{one: [{one}], two: [c, d]}}}}\n"
            "rules: [{change: [one, two], epsilon: 1}]",
        ).compile()
        for one in ("a, b", "b, a")
    ]
    workload = LinearQueries.marginals(policies[0].universe, [["one"]])
    assert mwem(policies[0], workload).workload.queries is workload
    with pytest.raises(UnsupportedCombination, match="different universes"):
        mwem(policies[1], workload)


def test_more_records_than_float64_counts_are_not_rounded_to_whole_ones():
    answer = mwem(LINE, WORKLOAD, rounds=0).draw(COUNTS, Fraction(1), InsecureSeededRandomness(1))
    assert dataclasses.replace(answer, records=2**50).counts().sum() == 2**50
    with pytest.raises(TooLarge):
        dataclasses.replace(answer, records=2**50 + 1).counts()


def test_rounds_are_whole():
    with pytest.raises(UnsupportedCombination, match="whole number"):
        mwem(LINE, WORKLOAD, rounds=2.0)
    assert mwem(LINE, WORKLOAD, rounds=np.int64(2)).fingerprint == mwem(LINE, WORKLOAD, rounds=2).fingerprint


def test_the_weights_that_are_drawn_with_are_those_that_were_measured():
    """An array that is used again changes neither the answers of a mechanism that was made, nor what they hide."""
    weights = np.array([[1, 0, 0], [0, 1, 1]])
    queries = LinearQueries(("a", "b"), weights, (Fraction(1), Fraction(1)))
    mechanism = mwem(verify_metric(1.0 - np.eye(3)), queries)
    weights *= 1000
    assert mechanism.workload.totals(np.array([1, 2, 3])).tolist() == [1, 5]
