"""``privacy: concentrated`` in a policy: what it changes, and what everybody is told of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.errors import LedgerError, PolicyError, UnsupportedCombination

POLICY = """
policy: sick leave
universe:
  attributes:
    days: {range: [0, 8], step: 1}
    site: [north, south]
rules:
  - {change: days, epsilon: 0.1, per: 1}
  - {change: site, epsilon: 0.5}
"""
CONCENTRATED = f"{POLICY}privacy: concentrated\n"


def both() -> tuple[dx.Policy, dx.Policy]:
    return dx.parse_policy(POLICY), dx.parse_policy(CONCENTRATED)


def test_a_policy_is_pure_unless_it_says_otherwise() -> None:
    pure, concentrated = both()
    assert (pure.privacy, concentrated.privacy) == ("pure", "concentrated")
    assert dx.parse_policy(f"{POLICY}privacy: pure\n").fingerprint == pure.fingerprint
    assert concentrated.fingerprint != pure.fingerprint
    assert dx.parse_policy(concentrated.to_yaml()).fingerprint == concentrated.fingerprint
    assert dx.Policy.from_stated(concentrated.stated()).privacy == "concentrated"
    metric = concentrated.compile()
    assert (metric.privacy, pure.compile().privacy) == ("concentrated", "pure")
    assert np.array_equal(metric.distance(0, np.arange(18)), pure.compile().distance(0, np.arange(18)))


def test_another_word_is_a_mistake_with_its_place() -> None:
    with pytest.raises(PolicyError, match=r"DX108.*'pure' or 'concentrated' is expected here") as error:
        dx.parse_policy(f"{POLICY}privacy: approximate\n")
    assert error.value.diagnostics[0].line == 10


def test_metrics_from_elsewhere_know_their_currency_and_so_do_their_fingerprints() -> None:
    matrix = [[0, 1], [1, 0]]
    pure, concentrated = dx.verify_metric(matrix), dx.verify_metric(matrix, privacy="concentrated")
    assert (pure.privacy, concentrated.privacy) == ("pure", "concentrated")
    assert pure.fingerprint != concentrated.fingerprint
    assert concentrated.about(dx.ledger.DataSet("x")).privacy == "concentrated"
    with pytest.raises(UnsupportedCombination, match="'pure' or 'concentrated'"):
        dx.verify_metric(matrix, privacy="both")  # type: ignore[arg-type]


def test_blocks_keep_the_currency() -> None:
    matrix = np.full((4, 4), np.inf)
    matrix[:2, :2] = matrix[2:, 2:] = 1 - np.eye(2)
    metric = dx.verify_metric(matrix, privacy="concentrated")
    blocks = dx.metrics.separate_blocks(metric, [0, 0, 1, 1])
    assert [one.privacy for one in blocks.metrics] == ["concentrated"] * 2


def test_a_review_speaks_in_a_curve_over_distance_and_never_in_odds_that_are_not_promised() -> None:
    pure, concentrated = both()
    lines = "\n".join(concentrated.review().lines())
    assert "at distance 0.1 odds at most 1.73 to 1" in lines
    assert "at distance 0.4 odds at most" in lines and "one time in a million" in lines
    assert "odds at most 1.11 to 1" in "\n".join(pure.review().lines()) and "odds at most 1.11 to 1" not in lines
    curve = concentrated.review().as_dict()["curve"]
    assert [point["distance"] for point in curve] == ["1/10", "1/5", "2/5"]
    steps = np.diff([0, *(point["epsilon"] for point in curve)])
    assert np.all(np.diff(steps) > 0)  # it grows faster than distance
    assert "curve" not in pure.review().as_dict()
    explained = "\n".join(concentrated.explain({"days": "0", "site": "north"}, {"days": "1", "site": "north"}).lines())
    assert "odds at most 1.73 to 1 (but one time in a million)" in explained


def test_pure_noise_may_be_released_in_a_concentrated_account_and_squares_add_up(tmp_path: Path) -> None:
    _, policy = both()
    queries = dx.parse_queries("queries:\n  - {count: site == 'north', name: north}\n", policy)
    plan = dx.plan(policy.compile(), queries, mechanism="laplace")
    rows = np.zeros(18, dtype=np.int64) + 5
    ledger = tmp_path / "a.db"
    first = plan.release(rows, ledger=ledger, spend="0.6")
    assert first.remaining == Fraction("0.8")
    assert first.as_dict()["privacy"] == "concentrated"
    assert plan.release(rows, ledger=ledger, spend="0.8").remaining == 0
    pure = dx.plan(both()[0].compile(), queries, mechanism="laplace")
    with pytest.raises(LedgerError):
        pure.release(rows, ledger=ledger, spend="0.1")


def test_what_was_told_adds_up_in_squares_too(tmp_path: Path) -> None:
    text = f"{CONCENTRATED}dataset: {{name: leave}}\n"
    policy = dx.parse_policy(text)
    queries = dx.parse_queries("queries:\n  - {count: site == 'north', name: north}\n", policy)
    plan = dx.plan(policy.compile(), queries, mechanism="laplace")
    ledger = tmp_path / "a.db"
    for spend in ("0.3", "0.4"):
        plan.release(np.zeros(18, dtype=np.int64) + 5, ledger=ledger, spend=spend)
    told = dx.disclosure.disclosed_loss(dx.ledger.read_ledger(ledger), policy)
    assert told.privacy == "concentrated"
    assert {one.name: one.disclosed_loss for one in told.attributes} == {"days": 0.4, "site": 0.25}
    assert told.of_any == 0.65
    words = "\n".join(told.lines())
    assert "0.5 under policy 'sick leave'" in words
    assert "one time in a million" in words and "half as far apart 0.325" in words
    # Of another policy in the same ledger not all metrics are one: roots are bounded attribute by attribute.
    other = dx.parse_policy(text.replace("epsilon: 0.5", "epsilon: 0.7"))
    more = dx.plan(
        other.compile(),
        dx.parse_queries("queries:\n  - {count: site == 'north', name: north}\n", other),
        mechanism="laplace",
    )
    more.release(np.zeros(18, dtype=np.int64) + 5, ledger=ledger, spend="0.5")
    both_told = dx.disclosure.disclosed_loss(dx.ledger.read_ledger(ledger), policy)
    site = next(one for one in both_told.attributes if one.name == "site")
    assert site.disclosed_loss == pytest.approx((0.25**2 + 0.35**2) ** 0.5, rel=1e-3)
    assert site.disclosed_loss >= (0.25**2 + 0.35**2) ** 0.5 and not both_told.exact
