"""How many different values there are: by definition, and by brute force over all small tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.errors import CertificateRefused, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.linear.distinct import DistinctCount, distinct_count
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness

ONE = Fraction(1)
POLICY = """policy: p
{extra}universe: {{attributes: {{w: {{values: [a, b, c]{missing}}}, s: [x, "y"]}}}}
budget: 9
rules: [{{change: w, individuals: {{a: 0.1, b: 0.2, c: 0.7}}}}, {{change: s, epsilon: 0.5}}{rule}]
"""
FORMS = {
    "plain": ("", "", ""),
    "presence": ("", "", ", {presence: true, epsilon: 0.2}"),
    "missing": ("", ", missing: {epsilon: 0.25}", ""),
    "concentrated": ("privacy: concentrated\n", "", ""),
}


def made(form: str, task: dict):
    extra, missing, rule = FORMS[form]
    policy = dx.parse_policy(POLICY.format(extra=extra, missing=missing, rule=rule))
    return dx.plan(policy.compile(), dx.queries_from_dict({"tasks": [task]}, policy)).parts[0].mechanism


def tail(law, scale: float, number: float) -> float:
    """P(V ≥ number) of a symmetric V."""
    if number < 0:
        return 1 - tail(law, scale, -number)
    return (
        math.erfc(number / scale / math.sqrt(2)) / 2
        if isinstance(law, GaussianNoise)
        else math.exp(-number / scale) / 2
    )


def chances(mechanism, true: int, spend: Fraction = ONE) -> np.ndarray:
    """Of each answer from 0 to K, by the definition."""
    law, scale, most = mechanism.law, mechanism.scale / float(spend), mechanism.most
    ends = [1.0, *(tail(law, scale, place - 0.5 - true) for place in range(1, most + 1)), 0.0]
    return -np.diff(ends)


def tables(mechanism, records: int):
    size = mechanism.metric.size
    for types in itertools.combinations_with_replacement(range(size), records):
        yield np.bincount(types, minlength=size)


@pytest.mark.parametrize("task", ["w", {"of": ["w", "s"]}, {"of": "w", "where": "s == 'x'"}, "s"], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_no_replaced_record_changes_odds_by_more_than_its_distance_and_some_by_as_much(form, task):
    mechanism = made(form, {"distinct": task})
    metric, tight = mechanism.metric, 0.0
    law = [chances(mechanism, true) for true in range(mechanism.most + 1)]
    distances = np.array([[float(metric.distance(i, j)) for j in range(metric.size)] for i in range(metric.size)])
    for counts in tables(mechanism, 2):
        here = law[occupied(mechanism, counts)]
        for i, j in itertools.product(np.flatnonzero(counts), range(metric.size)):
            after = counts.copy()
            after[i] -= 1
            after[j] += 1
            there, distance = law[occupied(mechanism, after)], distances[i, j]
            if form == "concentrated":
                loss = max(math.log(float((here**a * there ** (1 - a)).sum())) / (a - 1) / a * 2 for a in (1.5, 2, 9))
                assert loss <= distance**2 + 1e-9
                continue
            loss = float(np.abs(np.log(here / there)).max())
            assert loss <= distance + 1e-9
            tight = max(tight, loss / distance if distance else 0.0)
    assert form == "concentrated" or tight == pytest.approx(1)


def occupied(mechanism, counts) -> int:
    """The number of groups with a record, by the groups' own weights."""
    return int((mechanism.groups.matrix @ counts > 0).sum())


def test_answers_have_the_law_that_the_definition_gives():
    for form in ("plain", "concentrated"):
        mechanism = made(form, {"distinct": "w"})
        counts = np.array([3, 0, 0, 1, 0, 0])
        drawn = mechanism.draws(counts, Fraction(4), 20_000, InsecureSeededRandomness(5))
        found, expected = np.bincount(drawn, minlength=4) / len(drawn), chances(mechanism, 2, Fraction(4))
        assert np.abs(found - expected).max() < 0.015
        error = math.sqrt(float(np.mean((np.array(drawn) - 2) ** 2)))
        assert error <= mechanism.root_mean_square(Fraction(4)) + 0.03


@pytest.mark.parametrize("form", ["plain", "concentrated"])
@pytest.mark.parametrize("spend", [Fraction(1, 2), ONE, Fraction(7), Fraction(40)])
def test_bars_hold_as_often_as_they_say_and_no_narrower_ones_do(form, spend):
    mechanism = made(form, {"distinct": ["w", "s"]})
    for level in (0.5, 0.9, 0.95):
        width, scale = mechanism.half_width(level, spend), mechanism.scale / float(spend)
        missed = 2 * tail(mechanism.law, scale, width + 0.5)
        assert width == mechanism.most or missed <= 1 - level + 1e-12
        assert width == 0 or 2 * tail(mechanism.law, scale, width - 0.5) > 1 - level - 1e-12
    square = sum(
        2 * z * z * (tail(mechanism.law, scale, z - 0.5) - tail(mechanism.law, scale, z + 0.5)) for z in range(1, 800)
    )
    assert mechanism.root_mean_square(spend) == pytest.approx(min(math.sqrt(square), mechanism.most), rel=1e-9)


def test_the_scale_is_of_the_closest_two_records_of_different_groups():
    assert made("plain", {"distinct": "w"}).scale == pytest.approx(1 / 0.3)
    assert made("plain", {"distinct": "s"}).scale == pytest.approx(1 / 0.5)
    assert made("plain", {"distinct": ["w", "s"]}).scale == pytest.approx(1 / 0.3)
    assert made("plain", {"distinct": {"of": "w", "where": "s == 'x'"}}).scale == pytest.approx(1 / 0.3)
    assert made("presence", {"distinct": "w"}).scale == pytest.approx(1 / 0.2)
    assert made("missing", {"distinct": "w"}).scale == pytest.approx(1 / 0.25)
    assert made("missing", {"distinct": "w"}).most == 3, "a missing value is none"


def test_values_that_nobody_hides_are_counted_exactly():
    policy = dx.parse_policy(
        'policy: p\nuniverse: {attributes: {w: [a, b], s: [x, "y"]}}\nunconnected: allow\n'
        "rules: [{change: s, epsilon: 1}]"
    )
    asked = dx.queries_from_dict({"tasks": [{"distinct": "w"}]}, policy)
    mechanism = dx.plan(policy.compile(), asked).parts[0].mechanism
    assert mechanism.law is None
    assert mechanism.draws(np.array([0, 2, 0, 0]), ONE, 3, InsecureSeededRandomness(1)) == [1, 1, 1]
    assert (mechanism.half_width(), mechanism.root_mean_square()) == (0, 0.0)


def test_groups_that_overlap_or_cannot_be_hidden_are_refused():
    metric = dx.verify_metric([[0, 1, 1], [1, 0, 1], [1, 1, 0]], title="three")
    names = ["a", "b"]
    with pytest.raises(UnsupportedCombination, match="none is in two"):
        distinct_count(metric, dx.LinearQueries.from_matrix(names, [[1, 1, 0], [0, 1, 1]]))
    with pytest.raises(UnsupportedCombination, match="none is in two"):
        distinct_count(metric, dx.LinearQueries.from_matrix(names, [[2, 0, 0], [0, 1, 1]]))
    same = dx.verify_metric([[0, 0], [0, 0]], title="alike")
    with pytest.raises(UnboundedLoss, match="distance 0"):
        distinct_count(same, dx.LinearQueries.from_matrix(names, [[1, 0], [0, 1]]))


@pytest.mark.parametrize(
    ("people", "fine"),
    [
        ("{column: id, count: once}", False),
        ("{column: id, count: rows, at_most: 3}", False),
        ("{column: id, count: rows, at_most: 3, order: day}", True),
        ("{column: id, count: single}", True),
        ("one row each", True),
    ],
)
def test_people_spread_over_their_rows_may_have_any_number_of_values(people, fine):
    policy = dx.parse_policy(
        f"policy: p\npeople: {people}\nuniverse: {{attributes: {{w: [a, b]}}}}\nrules: [{{change: w, epsilon: 1}}]"
    )
    asked = dx.queries_from_dict({"tasks": [{"distinct": "w"}]}, policy)
    if fine:
        assert dx.plan(policy.compile(), asked).statements()
        return
    with pytest.raises(UnsupportedCombination, match="may hold any number of values"):
        dx.plan(policy.compile(), asked)


def test_groups_that_count_who_is_not_there_are_refused():
    """Else a histogram, in which nobody absent is counted, would tell without noise whether anybody is there."""
    policy = dx.parse_policy(
        "policy: p\nuniverse: {attributes: {w: [a, b]}}\n"
        "rules: [{presence: true, epsilon: 0.1}, {change: w, epsilon: 9}]"
    )
    groups = dx.LinearQueries.from_matrix(["k", "l"], [[1, 1, 1], [0, 0, 0]])
    with pytest.raises(UnsupportedCombination, match="gives the absent record, the last one, the weight 0"):
        distinct_count(policy.compile(), groups)
    honest = dx.LinearQueries.from_matrix(["k", "l"], [[1, 0, 0], [0, 1, 0]])
    assert distinct_count(policy.compile(), honest).places.tolist() == [1, 2, 0]


def test_a_mechanism_made_by_hand_is_of_one_universe():
    of_wards = made("plain", {"distinct": "w"})
    others = dx.parse_policy("policy: o\nuniverse: {attributes: {z: [k, l, m]}}\nrules: [{change: z, epsilon: 1}]")
    with pytest.raises(UnsupportedCombination, match="must be the same"):
        DistinctCount(others.compile(), of_wards.groups)


def test_a_bar_of_no_width_is_not_called_exact():
    policy = dx.parse_policy(
        "policy: p\nuniverse: {attributes: {w: [a, b]}}\nrules: [{change: w, epsilon: 9}]\nbudget: 9"
    )
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"tasks": [{"distinct": "w"}]}, policy))
    shown = str(plan.release({"w": ["a", "b"]}, ledger=":memory:", spend=1))
    assert "2  ± 0" in shown


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("of", ["w", ["w", "s"]])
def test_an_audit_drives_it_and_holds_its_noise_against_the_policy(form, of):
    extra, missing, rule = FORMS[form]
    policy = dx.parse_policy(POLICY.format(extra=extra, missing=missing, rule=rule))
    asked = dx.queries_from_dict({"tasks": [{"name": "n", "distinct": of}]}, policy)
    audit = audit_plan(dx.plan(policy.compile(), asked))
    assert audit.holds and "driven" in audit.checked[0] and "are hidden, exactly" in audit.checked[1]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda one: one.__dict__.update(law=LaplaceNoise(np.array([one.scale * 0.999]))),
        lambda one: one.__dict__.update(law=None, scale=0.0),
        lambda one: one.__dict__.update(places=np.ones_like(one.places)),
    ],
    ids=["too little noise", "no noise", "other groups"],
)
def test_an_audit_refuses_what_it_does_not_hide(spoil):
    policy = dx.parse_policy(POLICY.format(extra="", missing="", rule=""))
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"tasks": [{"name": "n", "distinct": "w"}]}, policy))
    mechanism = plan.parts[0].mechanism
    _ = mechanism.places, mechanism.scale, mechanism.law
    spoil(mechanism)
    with pytest.raises(CertificateRefused):
        audit_plan(plan)


def test_two_plans_differ_in_what_a_number_of_values_is_off_by(tmp_path):
    files = []
    for epsilon in (2, 3):
        rules = [{"change": "w", "epsilon": epsilon}]
        policy = dx.Policy.from_dict({"policy": "p", "universe": {"attributes": {"w": [*"abcdef"]}}, "rules": rules})
        asked = dx.queries_from_dict({"tasks": [{"name": "n", "distinct": "w"}]}, policy)
        files.append(tmp_path / f"{epsilon}.json")
        dx.save_plan(dx.plan(policy.compile(), asked), files[-1], policy=policy, spend=1)
    (change,) = dx.plan_files.differences(*map(dx.load_plan, files)).errors
    assert change.name == "n: different w" and change.before > change.after > 0
