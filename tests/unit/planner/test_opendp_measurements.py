"""Plans as OpenDP measurements: its accounts and the ledger hold at once."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import MissingExtra, WrongArgument
from dxgeom.ledger.history import read_ledger
from dxgeom.planner.releases.opendp_measurement import loss_at

POLICY = """policy: poll
universe: {attributes: {age: {range: [0, 40], step: 10}, city: [A, B]}}
rules:
  - {change: age, epsilon: 1, per: 1 steps}
  - {change: city, epsilon: 0.5}
"""
QUERIES = "queries:\n  - count: age < 20\n  - count: city == 'A'\n"
MEDIAN = "queries:\n  - {name: median, quantiles: age, at: [1/2]}\n"
COUNTS = [5, 4, 3, 2, 1, 1, 2, 3, 7, 8]


def planned(text: str = POLICY, queries: str = QUERIES) -> Any:
    policy = dx.parse_policy(text)
    return dx.plan(policy.compile(), dx.parse_queries(queries, policy))


@pytest.fixture
def opendp() -> Any:
    """OpenDP with the features that measurements from elsewhere need."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    return dp


def test_without_opendp_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    sentence = r"measurements are made by opendp, which is not installed; .* pip install 'dxgeom\[opendp\]'$"
    with pytest.raises(MissingExtra, match=sentence):
        planned().to_opendp(ledger=tmp_path / "p.db", spend=0.1)


@pytest.mark.parametrize("squared", [False, True])
def test_the_map_is_rounded_up_from_the_exact_product(squared: bool) -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        spend = Fraction(int(rng.integers(1, 1000)), int(rng.integers(1, 1000)))
        distance = float(rng.exponential()) * 10.0 ** int(rng.integers(-8, 8))
        exact = spend * Fraction(distance)
        exact = exact * exact / 2 if squared else exact
        found = loss_at(distance, spend, squared=squared)
        assert Fraction(found) >= exact > Fraction(math.nextafter(found, 0))
    assert loss_at(0, Fraction(1, 3), squared=squared) == 0
    assert loss_at(Fraction(1, 3), Fraction(1, 3), squared=squared) > 0
    assert loss_at(math.inf, Fraction(1, 3), squared=squared) == math.inf
    assert loss_at(10**400, Fraction(1, 3), squared=squared) == math.inf
    assert loss_at(Fraction(1, 10**400), Fraction(1, 3), squared=squared) == 5e-324


@pytest.mark.parametrize("wrong", [-1, math.nan, True, "1", None, [1]])
def test_what_is_no_distance_has_no_loss(wrong: Any) -> None:
    with pytest.raises((WrongArgument, TypeError)):
        loss_at(wrong, Fraction(1), squared=False)


@pytest.mark.needs("opendp")
def test_each_call_releases_and_charges_the_ledger(opendp: Any, tmp_path: Path) -> None:
    plan = planned()
    measurement = plan.to_opendp(ledger=tmp_path / "p.db", spend="0.3", purpose="through OpenDP")
    assert str(measurement.output_measure) == str(opendp.max_divergence())
    assert measurement.map(1) == pytest.approx(0.3) and Fraction(measurement.map(1)) >= Fraction(3, 10)
    assert measurement.check(2.0, 0.7) and not measurement.check(2.0, 0.5)
    released = [measurement(np.array(COUNTS)) for _ in range(3)]
    assert [one.spent for one in released] == [Fraction(3, 10)] * 3
    assert {one.plan_fingerprint for one in released} == {plan.fingerprint}
    entries = read_ledger(tmp_path / "p.db").entries
    assert [(entry.spend, entry.purpose) for entry in entries] == [(Fraction(3, 10), "through OpenDP")] * 3
    with pytest.raises(Exception, match=r"0\.1 remains"):
        measurement(np.array(COUNTS))
    assert len(read_ledger(tmp_path / "p.db").entries) == 3


@pytest.mark.needs("opendp")
def test_tables_are_read_and_nothing_is_told_of_one_that_is_refused(opendp: Any, tmp_path: Path) -> None:
    measurement = planned().to_opendp(ledger=tmp_path / "p.db", spend=0.1)
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("age,city\n3,A\n12,B\n")
    bad.write_text("age,city\n3,SECRET\n")
    assert measurement(str(good)).records == 2
    with pytest.raises(Exception, match="cannot be released from as it is") as refusal:
        measurement(str(bad))
    assert "SECRET" not in str(refusal.value)
    assert measurement.input_domain.member(str(good)) is True
    assert measurement.input_domain.member(str(bad)) is False
    assert len(read_ledger(tmp_path / "p.db").entries) == 1


@pytest.mark.needs("opendp")
def test_compositions_odometers_and_filters_hold_it(opendp: Any, tmp_path: Path) -> None:
    parts = [
        planned().to_opendp(ledger=tmp_path / "p.db", spend="1/8"),
        planned(queries=MEDIAN).to_opendp(ledger=tmp_path / "p.db", spend="1/4"),
    ]
    both = opendp.c.make_composition(parts)
    assert both.map(2) == 0.75
    counted, quantiles = both(np.array(COUNTS))
    assert len(counted.values) == 2 and quantiles.to_arrow().num_rows == 1
    space = parts[0].input_space
    adaptive = opendp.c.make_adaptive_composition(*space, opendp.max_divergence(), d_in=2, d_mids=[0.25, 0.5])
    asked = adaptive(np.array(COUNTS))
    assert [asked(part).spent for part in parts] == [Fraction(1, 8), Fraction(1, 4)]
    odometer = opendp.c.make_fully_adaptive_composition(*space, opendp.max_divergence())
    running = odometer(np.array(COUNTS))
    running(parts[0])
    assert running.privacy_loss(2) == 0.25
    spent = [entry.spend for entry in read_ledger(tmp_path / "p.db").entries]
    assert spent == [Fraction(1, 8), Fraction(1, 4)] * 2 + [Fraction(1, 8)]


@pytest.mark.needs("opendp")
def test_what_a_filter_withholds_is_charged_because_it_is_drawn_before(opendp: Any, tmp_path: Path) -> None:
    part = planned().to_opendp(ledger=tmp_path / "p.db", spend="1/8")
    odometer = opendp.c.make_fully_adaptive_composition(*part.input_space, opendp.max_divergence())
    limited = opendp.c.make_privacy_filter(odometer, d_in=2, d_out=0.25)(np.array(COUNTS))
    assert limited(part).spent == Fraction(1, 8)
    with pytest.raises(Exception, match="exhausted"):
        limited(part)
    assert len(read_ledger(tmp_path / "p.db").entries) == 2


@pytest.mark.needs("opendp")
def test_measurements_about_other_policies_or_readings_are_not_composed(opendp: Any, tmp_path: Path) -> None:
    mine = planned().to_opendp(ledger=tmp_path / "p.db", spend="1/8")
    other = planned(POLICY.replace("0.5", "0.6")).to_opendp(ledger=tmp_path / "q.db", spend="1/8")
    dropped = planned().to_opendp(ledger=tmp_path / "p.db", spend="1/8", outside="drop")
    for stranger in (other, dropped):
        with pytest.raises(Exception, match=r"(?i)domain|metric"):
            opendp.c.make_composition([mine, stranger])


@pytest.mark.needs("opendp")
def test_a_concentrated_policy_is_zero_concentrated(opendp: Any, tmp_path: Path) -> None:
    plan = planned("privacy: concentrated\n" + POLICY)
    measurement = plan.to_opendp(ledger=tmp_path / "p.db", spend="1/2")
    assert str(measurement.output_measure) == str(opendp.zero_concentrated_divergence())
    assert measurement.map(1.5) == (0.5 * 1.5) ** 2 / 2
    assert opendp.c.make_composition([measurement, measurement]).map(1.0) == 0.25
    assert measurement(np.array(COUNTS)).spent == Fraction(1, 2)
    with pytest.raises(Exception, match=r"Mismatch"):
        opendp.c.make_composition([measurement, planned().to_opendp(ledger=tmp_path / "q.db", spend=0.1)])


@pytest.mark.needs("opendp")
def test_the_loss_that_is_mapped_is_the_loss_there_is(opendp: Any, tmp_path: Path) -> None:
    """The odds of a released count between two tables at distance 1, from its law, never exceed e^map."""
    plan = planned(queries="queries:\n  - count: age < 20\n")
    measurement = plan.to_opendp(ledger=tmp_path / "p.db", spend="1/2")
    metric = plan.metric
    near = max(metric.distance(2, 4), metric.distance(3, 5))  # ages 10 and 20, which the count tells apart
    scale = float(plan.mechanism.variances()[0] / 2) ** 0.5
    assert 1 / scale * 0.5 <= measurement.map(near) * 1.001


@pytest.mark.needs("opendp")
def test_plans_from_files_are_measurements_too(opendp: Any, tmp_path: Path) -> None:
    policy = dx.parse_policy(POLICY)
    for number, queries in enumerate((QUERIES, MEDIAN)):
        plan = dx.plan(policy.compile(), dx.parse_queries(queries, policy))
        dx.save_plan(plan, tmp_path / f"{number}.json", policy=policy, spend="1/4")
        loaded = dx.load_plan(tmp_path / f"{number}.json")
        measurement = loaded.to_opendp(ledger=tmp_path / "p.db")
        assert measurement.map(1) == 0.25
        assert measurement(np.array(COUNTS)).plan_fingerprint == plan.fingerprint
        with pytest.raises(dx.UnsupportedCombination):
            loaded.to_opendp(ledger=tmp_path / "p.db", spend="1/8")


@pytest.mark.needs("opendp")
def test_what_a_measurement_cannot_be_made_of_is_refused_at_once(opendp: Any, tmp_path: Path) -> None:
    plan = planned()
    with pytest.raises(dx.UnsupportedCombination, match="begin ':memory:' anew"):
        plan.to_opendp(ledger=":memory:", spend=0.1)
    with pytest.raises(dx.UnsupportedCombination, match="spend"):
        plan.to_opendp(ledger=tmp_path / "p.db", spend=0)
    with pytest.raises(WrongArgument):
        plan.to_opendp(ledger=3, spend=0.1)
    with pytest.raises(dx.UnsupportedCombination, match="outside is"):
        plan.to_opendp(ledger=tmp_path / "p.db", spend=0.1, outside="keep")
    with pytest.raises(TypeError, match="id"):
        plan.to_opendp(ledger=tmp_path / "p.db", spend=0.1, id="monday")
    opendp.disable_features("honest-but-curious")
    with pytest.raises(dx.UnsupportedCombination, match=r'enable_features\("contrib", "honest-but-curious"\)'):
        plan.to_opendp(ledger=tmp_path / "p.db", spend=0.1)
