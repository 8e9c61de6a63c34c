"""Every family audited through ``release`` itself: charged, checked, drawn, stored, and only then looked at.

A release of a sequence of many equal parts is as many answers of one family, each for the same exact spend, under a
budget that allows for them. How many fit is said beside each: 4 minutes of CPU in all. Fixed seeds; were they random, a
correct family would fail with a chance of at most 1e-9 for its pair, all together below 1.3e-8.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reference import mechanisms as families
from reference.mechanisms import CASES, COUNTS, LINE, RATE, SIZE, itself, moved

import dxgeom as dx
from dxgeom.audit.observed_losses import observed_loss
from dxgeom.mechanisms.contract.composition import in_sequence
from dxgeom.mechanisms.finite.laplace_tables import truncated_geometric
from dxgeom.mechanisms.metric_space.time_series import series_mechanism
from dxgeom.mechanisms.statistics.polynomial_statistics import moments
from dxgeom.mechanisms.statistics.statistic_release import statistic_mechanism
from dxgeom.metrics.checking.verification import verify, verify_metric

ERROR = 1e-9
AT_ONCE = 500
SPEND = Fraction(1)
ENOUGH = Fraction(10**7)
ROWS = np.array([[code >> bit & 1 for bit in range(SIZE)] for code in range(1, 2**SIZE - 1)])
"""Fourteen different counts, of which ten rounds measure ten."""
SURVEY = dx.parse_policy(f"""
policy: survey
budget: {ENOUGH}
universe: {{attributes: {{ill: [flu, HIV, none]}}}}
rules: [{{change: ill, epsilon: 1}}]
""")
TASKS = [
    {"name": "table", "share": "1/2", "queries": [{"marginal": "ill"}]},
    {"name": "most", "share": "1/4", "select": {"best": "ill"}},
    {"name": "few", "share": "1/4", "small_database": {"workload": [{"count": "ill == 'flu'"}], "rows": 2}},
]


@dataclass(frozen=True)
class Audit:
    """``answers``: from each of two data sets ``nats`` apart at spend 1, each for ``spend``, as numbers by ``view``.

    ``told``: the part of the stated nats that an audit of so many is to find at least, so that it can find something.
    """

    make: Callable[[], Any]
    here: Any
    there: Any
    nats: Fraction
    view: Callable[[Any, list[Any], Any, Any], Any]
    answers: int
    told: float
    spend: Fraction = Fraction(1)


def of_case(name, answers, told, make=None):
    case = CASES[name]
    other, distance = case.others[-1]
    return Audit(make or case.make, case.data, other, Fraction(distance), case.view, answers, told)


def ten_rounds():
    return dx.mwem(families.LINE, families.queries(ROWS), rounds=10)


def measured(mechanism, answers, here, there):
    near, far = ROWS @ here, ROWS @ there
    return [
        float(sum((abs(one.value - far[one.query]) - abs(one.value - near[one.query])) / one.scale for one in found))
        for found in (answer.measurements for answer in answers)
    ]


def changed_pick():
    return dx.selection(
        verify_metric([[0, 0.02, 1], [0.02, 0, 1], [1, 1, 0]], budget=ENOUGH),
        families.queries([[4, 3, 0], [0, 0, 4]]),
        records=60,
    )


def tasks():
    return dx.plan(SURVEY.compile(), dx.queries_from_dict({"tasks": TASKS}, SURVEY)).mechanism


def counted(mechanism, answers, here, there):
    """By the table's noise, and by what was picked: the likelier under ``here``, the larger."""
    noise = mechanism.parts[0]
    scales = np.sqrt(noise.variances(SPEND / 2) / 2)
    values = np.array([[float(one) for one in answer[0]] for answer in answers])
    told = (np.abs(values - there) - np.abs(values - here)) / scales
    return told.sum(axis=1) + [0.1 * (answer[1] == 0) for answer in answers]


AUDITS = {
    "permute-and-flip": of_case("permute-and-flip", 60_000, 0.3),
    "exponential": of_case("exponential", 60_000, 0.12),
    "changed scores": Audit(
        changed_pick, np.array([16, 16, 28]), np.array([15, 16, 29]), Fraction(1), itself, 60_000, 0.3
    ),
    "top by permute-and-flip": of_case("top by permute-and-flip", 40_000, 0.1),
    "tabled score": of_case("tabled score", 60_000, 0.3),
    "small database": of_case("small database", 25_000, 0.15),
    "mwem, ten rounds": Audit(ten_rounds, COUNTS, moved(COUNTS, 0, 1), RATE, measured, 1_200, 0.03, Fraction(20)),
    "laplace quantiles": of_case("laplace quantiles", 40_000, 0.15),
    "series": of_case("series", 50_000, 0.5, lambda: series_mechanism("meter", 3, RATE, Fraction(1, 8), budget=ENOUGH)),
    "statistics": of_case(
        "statistic, hull",
        25_000,
        0.4,
        lambda: statistic_mechanism(moments([families.COLUMN]), "hull", title="ages", budget=ENOUGH),
    ),
    "truncated geometric": Audit(lambda: truncated_geometric(families.LINE, SPEND), 0, 1, RATE, itself, 150_000, 0.6),
    "staircase": of_case("staircase", 20_000, 0.5),
    "tasks": Audit(tasks, np.array([30, 20, 10]), np.array([29, 20, 11]), Fraction(1), counted, 12_000, 0.1),
}


@pytest.fixture(autouse=True)
def enough_budget(monkeypatch):
    """The line of all families, with a budget for as many answers."""
    metric = verify(LINE.metric, title="line", fingerprint="line", budget=ENOUGH)
    monkeypatch.setattr(families, "LINE", metric)


def observed(audit, answers, factor=1):
    """What an audit finds in so many answers about each of the data sets, at ``factor`` times the spend."""
    mechanism = audit.make()
    many = in_sequence([mechanism] * min(answers, AT_ONCE))
    spend = None if mechanism.only_spend else len(many.parts) * factor * audit.spend
    samples = []
    for place, data in enumerate((audit.here, audit.there)):
        views: list[float] = []
        for block in range(-(-answers // AT_ONCE)):
            seed = 1_000_000 * place + block
            released = dx.release(many, data, ledger=":memory:", spend=spend, insecure_test_seed=seed)
            views += list(audit.view(mechanism, list(released.answer), audit.here, audit.there))
        samples.append(views)
    return observed_loss(*samples, ERROR).nats, float(audit.nats * (mechanism.only_spend or audit.spend))


@pytest.mark.long
@pytest.mark.parametrize("name", AUDITS)
def test_releases_give_away_no_more_than_they_were_charged_for_and_the_audit_sees_much_of_it(name):
    audit = AUDITS[name]
    found, stated = observed(audit, audit.answers)
    assert audit.told * stated <= found <= stated


@pytest.mark.long
@pytest.mark.parametrize("name", ["series", "statistics"])
def test_an_audit_finds_that_more_was_spent_than_is_stated(name):
    found, stated = observed(AUDITS[name], AUDITS[name].answers // 2, factor=2)
    assert found > stated
