"""Distances held for who knows counts of classes: rings beside all rings, closed forms, and the worst mechanisms."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from reference.informed_observers import all_rings, belief_of, tables_of, worst_odds

import dxgeom as dx
from dxgeom.errors import PolicyError, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.public_centres import projection
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.metrics.combinations import CapMetric, PresenceMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric, LineMetric
from dxgeom.metrics.held_rings import ring_differences
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.public_numbers import numbers_of
from dxgeom.policy.policy import parse_policy
from dxgeom.universe.public_shares import less_public
from dxgeom.universe.queries import LinearQueries


def distances(metric):
    codes = np.arange(metric.size)
    return np.asarray(metric.distance(codes[:, None], codes[None, :]))


def drawn(rng):
    line = LineMetric((Fraction(0), Fraction(1), Fraction("1.5")), Fraction(1))
    inner = SumMetric((DiscreteMetric(2, Fraction("0.7")), line))
    metric = rng.choice([inner, CapMetric(inner, Fraction("1.2")), PresenceMetric(inner, Fraction("0.9"))])
    labels = np.array([rng.randrange(3) for _ in range(metric.size)])
    return metric, np.unique(labels, return_inverse=True)[1].astype(np.int64)


def test_rings_are_those_that_people_form_one_by_one():
    rng = random.Random(4)
    for trial in range(6):
        metric, labels = drawn(rng)
        weights = np.array([[rng.randrange(-1, 2) for _ in labels] for _ in range(2 + trial % 2)])
        people = 2 + trial % 2
        expected: dict[tuple[int, ...], float] = {}
        for change, far in all_rings(distances(metric), labels.tolist(), people):
            moved = weights @ np.array(change)
            if moved.any():
                key = tuple((moved * np.sign(moved[np.flatnonzero(moved)[0]])).tolist())
                expected[key] = min(expected.get(key, np.inf), far)
        rows, bounds = ring_differences(metric, weights, labels, people)
        assert {tuple(row): bound for row, bound in zip(rows.tolist(), bounds.tolist(), strict=True)} == expected


def held(folder, classes, hold, privacy="", numbers=True, rules="  - {between: everything, epsilon: 1}\n"):
    """So many classes of two values, all records as far apart as each other, and their totals."""
    values = ", ".join(f"c{k}" for k in range(classes))
    (folder / "n.csv").write_text("kind,count\n" + "".join(f"c{k},3\n" for k in range(classes)))
    said = "" if hold is None else f"hold: {hold}\n"
    known = "  - {totals: kind, numbers: n.csv}\n" if numbers else "  - totals: kind\n"
    return parse_policy(
        f"policy: t\n{privacy}universe: {{attributes: {{kind: [{values}], ill: [no, yes]}}}}\nrules:\n{rules}"
        f"known:\n{known}{said}",
        folder=folder,
    )


def table_noise(policy):
    """The builder for all cells, less what is public by projection."""
    metric = policy.compile()
    queries, numbers = LinearQueries.marginals(policy.universe, [["kind", "ill"]]), numbers_of(metric)
    answered, part = less_public(numbers, queries, projection(metric, numbers, queries).shares)
    return CandidateBuilder(sensitivity_of(metric, answered, part))


@pytest.mark.parametrize("classes", [2, 3])
def test_all_rings_of_classes_of_two_values_have_the_errors_of_the_closed_form(tmp_path, classes):
    hull = table_noise(held(tmp_path, classes, "all")).hull
    assert hull.ideal_variances.sum() == pytest.approx(2 * classes * (classes + 1) * (classes + 2) / 3, rel=1e-6)
    concentrated = table_noise(held(tmp_path, classes, "all", "privacy: concentrated\n")).best_gaussian.mechanism
    assert concentrated.ideal_variances.sum() == pytest.approx(2 * classes**2, rel=1e-6)


@pytest.mark.parametrize("classes", [3, 4])
def test_two_people_double_the_squared_error_of_normal_noise(tmp_path, classes):
    for hold, expected in ((None, 2 * classes), ("2", 4 * classes)):
        made = table_noise(held(tmp_path, classes, hold, "privacy: concentrated\n")).best_gaussian.mechanism
        assert made.ideal_variances.sum() == pytest.approx(expected, rel=1e-6)


@pytest.mark.long
def test_no_ring_passes_what_is_stated_of_anybody_in_it_and_some_attain_it(tmp_path):
    rules = "  - {change: kind, epsilon: 0.5}\n  - {change: ill, epsilon: 1}\n"
    for hold, people in ((None, 3), ("2", 2), ("all", 3)):
        policy = held(tmp_path, 3, hold, rules=rules)
        metric = policy.compile()
        plan = dx.plan(metric, LinearQueries.marginals(policy.universe, [["kind", "ill"]]), mechanism="laplace")
        mechanism, apart = plan.mechanism, distances(metric.metric)
        queries = mechanism.sensitivity.queries
        scales = np.zeros(len(queries.names))
        scales[mechanism.mixing.coordinates] = 1 / mechanism.law.laplace_scales
        loads = [
            float(np.abs(queries.numerators @ np.array(change)) @ scales) / far
            for change, far in all_rings(apart, [0, 0, 1, 1, 2, 2], people)
        ]
        assert (max(loads) > 1 + 1e-9) == (hold is None)
        assert hold is None or max(loads) > 1 - 1e-6


def beliefs_in(classes):
    """Records of so many classes of two values, whose distances add."""
    metric = SumMetric(
        (DiscreteMetric(classes, Fraction("0.7")), LineMetric((Fraction(0), Fraction("0.4")), Fraction(1)))
    )
    labels = np.repeat(np.arange(classes), 2)
    counts = np.array([labels == own for own in range(classes)]).astype(float)
    apart = distances(metric)
    return apart, counts, [*all_rings(apart, labels.tolist(), classes)]


@pytest.mark.long
@pytest.mark.parametrize(("classes", "people"), [(2, 3), (3, 3), (2, 5)])
def test_whoever_judges_people_separately_learns_no_more_than_is_stated(classes, people):
    """The worst of all mechanisms that hide rings, for random beliefs about people of whom each is one of two."""
    rng = random.Random(people)
    apart, counts, rings = beliefs_in(classes)
    tables, asked = tables_of(2 * classes, people), 0
    for _ in range(20):
        i, j = rng.choice([(0, 2), (0, 3), (1, 2), (0, 1)])
        priors = np.zeros((people, 2 * classes))
        for own in priors[1:]:
            own[rng.sample(range(2 * classes), 2)] = 0.5
        true = [i, *(rng.choices(range(2 * classes), weights=own)[0] for own in priors[1:])]
        known = counts @ np.bincount(true, minlength=2 * classes)
        one, other = (belief_of(priors, record, counts, known) for record in (i, j))
        if one and other:
            assert worst_odds(apart, one, other, tables, rings) <= apart[i, j] + 1e-6
            asked += 1
    assert asked > 5


@pytest.mark.long
def test_what_is_stated_is_attained_and_passed_where_it_is_not_held():
    """Each class loses one record and gets its other one, or nobody moves."""
    apart, counts, rings = beliefs_in(3)
    priors = np.zeros((3, 6))
    for person in (1, 2):
        priors[person, [2 * person, 2 * ((person + 1) % 3) + 1]] = 0.5
    beliefs = [belief_of(priors, record, counts, (1, 1, 1)) for record in (0, 3)]
    tables = tables_of(6, 3)
    assert worst_odds(apart, *beliefs, tables, rings) == pytest.approx(apart[0, 3], abs=1e-6)
    assert worst_odds(apart, *beliefs, tables) > apart[0, 3] + 0.05


def test_hold_is_refused_without_counts_of_a_partition(tmp_path):
    policy = (
        "policy: t\nuniverse: {attributes: {a: [x, y], b: [x, y]}}\nrules:\n  - {between: everything, epsilon: 1}\n"
    )
    for more in ("hold: 2\n", "known:\n  - totals: a\n  - totals: b\nhold: all\n"):
        with pytest.raises(PolicyError) as caught:
            parse_policy(policy + more)
        assert [one.code for one in caught.value.diagnostics] == ["DX199"]
    with pytest.raises(PolicyError):
        parse_policy(policy + "known:\n  - totals: a\nhold: 3\n")


def test_hold_is_part_of_what_a_policy_means_and_is_said(tmp_path):
    plain, two, every = (held(tmp_path, 3, hold) for hold in (None, "2", "all"))
    assert len({one.fingerprint for one in (plain, two, every)}) == 3
    assert len({one.meaning for one in (plain, two, every)}) == 3
    assert "stated, not prevented" in plain.informed.lines()[0]
    assert "unsure of one person and one more, every two records" in two.informed.lines()[0]
    assert two.informed.as_dict()["held"] == "2"
    assert parse_policy(two.to_yaml(), folder=tmp_path).fingerprint == two.fingerprint


def test_noise_that_is_not_proved_for_rings_is_refused_by_name(tmp_path):
    policy = held(tmp_path, 3, "2", numbers=False)
    metric = policy.compile()
    queries = LinearQueries.marginals(policy.universe, [["kind", "ill"]])
    with pytest.raises(UnsupportedCombination, match="hold"):
        dx.plan(metric, queries, mechanism="mwem", records=9)
    narrowed = metric.narrowed(metric.metric)
    assert narrowed.held
    with pytest.raises(TooLarge, match="hold"):
        sensitivity_of(narrowed, LinearQueries.from_matrix(["q"], [[1, 0, 0, 0, 0, 0]]))


def test_too_many_rings_are_refused():
    metric = DiscreteMetric(80, Fraction(1))
    with pytest.raises(TooLarge, match="rings of people"):
        ring_differences(metric, np.eye(80, dtype=np.int64), np.repeat(np.arange(2), 40), 2)


@pytest.mark.long
def test_a_large_table_is_refused_by_its_records_and_not_by_noise_that_nobody_asked_for(tmp_path):
    """Each cell of more records than rings are gone through: before any noise in boxes is tried."""
    policy = held(tmp_path, 520, 2, numbers=False)
    cells = dx.queries_from_dict({"queries": [{"marginal": ["kind", "ill"]}]}, policy)
    with pytest.raises(TooLarge, match=r"at most 1,024 possible records, and these are 1,040: give attributes fewer"):
        dx.plan(policy.compile(), cells)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 2, 2), (1, 3, 2)])
def test_all_rings_of_a_whole_table_are_the_product_of_the_classes_hulls(sizes):
    """At one distance between all records: of z less public the largest ½‖z_c‖₁ of a class is what has to be hidden."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    members = [np.flatnonzero(labels == one) for one in range(len(sizes))]
    whole = int(np.lcm.reduce(sizes))
    means = sum(np.outer(labels == one, labels == one) * (whole // size) for one, size in enumerate(sizes))
    weights = np.asarray(whole * np.eye(len(labels), dtype=np.int64) - means)
    metric = DiscreteMetric(len(labels), Fraction(1))

    def largest(z):
        return max(np.abs(z[own]).sum() / 2 for own in members)

    for people in (2, len(sizes)):
        rings, bounds = ring_differences(metric, weights, labels, people)
        assert set(bounds.tolist()) == {1.0}
        assert max(map(largest, rings)) == whole
        assert all(np.abs(z).sum() / 2 <= people * whole for z in rings)
    one_record = [weights[:, i] - weights[:, j] for i, j in itertools.permutations(range(len(labels)), 2)]
    assert all(largest(z) <= whole for z in one_record)
    # The corners of the product are rings of everybody: in each class somebody leaves one record for another.
    pairs = [[*itertools.permutations(own, 2)] or [None] for own in members]
    found = {tuple(z) for z in rings.tolist()} | {tuple(-one for one in z) for z in rings.tolist()}
    for corner in itertools.product(*pairs):
        z = np.zeros(len(labels), dtype=np.int64)
        for pair in corner:
            if pair is not None:
                z[pair[0]], z[pair[1]] = whole, -whole
        if sum(pair is not None for pair in corner) > 1:
            assert tuple(z.tolist()) in found


def test_tables_of_up_to_five_people_differ_by_as_many_rings_as_their_largest_class():
    """So what hides rings hides every two tables with equal class counts at max_c ½‖z_c‖₁ times the distance."""
    members = [np.array([0, 1]), np.array([2, 3, 4])]
    for people in range(1, 6):
        tables = [np.bincount(own, minlength=5) for own in itertools.combinations_with_replacement(range(5), people)]
        for one, other in itertools.combinations(tables, 2):
            z = other - one
            if any(z[own].sum() for own in members):
                continue
            rings = int(max(np.abs(z[own]).sum() // 2 for own in members))
            for _ in range(rings):
                for own in members:
                    if z[own].any():
                        come, leave = own[z[own].argmax()], own[z[own].argmin()]
                        z[come], z[leave] = z[come] - 1, z[leave] + 1
            assert not z.any()
