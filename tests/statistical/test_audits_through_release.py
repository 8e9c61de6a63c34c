"""Every family audited through ``release`` itself: charged, checked, drawn, stored, and only then looked at.

A release of a sequence of many equal parts is as many answers of one family, each for the same exact spend, under a
budget that allows for them. ``DXGEOM_ANSWERS`` says how many in all, half of them about each data set: a million in
``make soak``, which takes two hours of CPU; else 40,000, and of slow families as much fewer as is said beside them.
Fixed seeds; were they random, a correct family would fail with a chance of at most 1e-9 for its pair, and one of them
all with one below 1e-7.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from reference import mechanisms as families
from reference.mechanisms import CASES, COUNTS, LINE, RATE, itself, moved

import dxgeom as dx
from dxgeom.audit.observed_losses import observed_loss
from dxgeom.lab.laplace_tables import finite_laplace, truncated_geometric
from dxgeom.lab.line_noise import planar_laplace, staircase
from dxgeom.lab.optimal_tables import optimal_table
from dxgeom.lab.statistic_release import statistic_mechanism
from dxgeom.learning.polynomials import moments
from dxgeom.mechanisms.contract.composition import in_sequence
from dxgeom.mechanisms.linear.distinct import distinct_count
from dxgeom.mechanisms.linear.laplace import optimal_laplace
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.linear.time_series import series_mechanism
from dxgeom.mechanisms.selection.scores import declared_selection, tabled_selection
from dxgeom.mechanisms.selection.selections import selection, top_selection
from dxgeom.mechanisms.selection.small_databases import small_database
from dxgeom.mechanisms.synthetic.adaptive import adaptive_tables
from dxgeom.mechanisms.synthetic.on_histograms import AdaptiveOnHistogram
from dxgeom.metrics.verification import verify, verify_metric

ERROR = 1e-9
AT_ONCE = 500
IN_ALL = int(os.environ.get("DXGEOM_ANSWERS", "40_000"))
ENOUGH = Fraction(10**8)
ENDS = [[1, 0, 0, 0], [0, 1, 0, 0]]
"""What a record that moves from the first type to the second changes twice, as far as it may."""
BEFORE, AFTER = np.array([4, 2, 1, 1]), np.array([3, 3, 1, 1])
WALKS = np.cumsum([(0, first, *rest) for first, *rest in product((-1, 1), (-1, 0, 1), (-1, 0, 1))], axis=1)
"""Eighteen queries, each of which a move from the first type to the second changes as much as any move does."""
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
    """``make``: the mechanism, for a secret at ``factor`` times its spend. ``here``, ``there``: two data sets ``nats``
    apart at spend 1, each answered at ``spend``; ``view``: an answer as a number.

    ``told``: the part of the stated nats that an audit is to find at least, so that it can find something. ``planted``:
    an excess of so many times the stated loss is found. ``slower``: by so much fewer answers are drawn.
    """

    make: Callable[[int], Any]
    here: Any
    there: Any
    nats: Fraction
    view: Callable[[Any, list[Any], Any, Any], Any]
    told: float
    spend: Fraction = Fraction(1)
    planted: int = 2
    slower: int = 1

    @property
    def answers(self) -> int:
        """About each of both data sets."""
        return IN_ALL // self.slower // 2


def of_case(name, told, make=None, other=-1, **more):
    case = CASES[name]
    there, distance = case.others[other]
    return Audit(make or (lambda _: case.make()), case.data, there, Fraction(distance), case.view, told, **more)


def one_moved(make, view=itself, told=0.35, here=BEFORE, there=AFTER, **more):
    """A record of the first type is replaced by one of the second."""
    return Audit(lambda _: make(), here, there, RATE, view, told, **more)


def a_secret(make, view=itself, told=0.25, **more):
    """Made for a spend of ``factor``."""
    return Audit(lambda factor: make(Fraction(factor)), 0, 1, RATE, view, told, **more)


def first_types(counts):
    return [int(counts[0]), int(counts[1])]


def measured(mechanism, answers, here, there):
    near, far = WALKS @ here, WALKS @ there
    return [
        float(sum((abs(one.value - far[one.query]) - abs(one.value - near[one.query])) / one.scale for one in found))
        for found in (answer.measurements for answer in answers)
    ]


def tasks():
    return dx.plan(SURVEY.compile(), dx.queries_from_dict({"tasks": TASKS}, SURVEY)).mechanism


def counted(mechanism, answers, here, there):
    """By the table's noise, and by what was picked: the likelier under ``here``, the larger."""
    noise = mechanism.parts[0]
    scales = np.sqrt(noise.variances(Fraction(1, 2)) / 2)
    values = np.array([[float(one) for one in answer[0]] for answer in answers])
    told = (np.abs(values - there) - np.abs(values - here)) / scales
    few = [sum(kind == 0 for kind in answer[2].record_types) for answer in answers]
    return told.sum(axis=1) + [0.5 * (answer[1] == 0) for answer in answers] + 0.25 * np.array(few)


def following():
    """Tables that follow the data, of a policy with a budget for as many answers."""
    policy = dx.parse_policy(f"{families.TABLE_POLICY.text.content}\nbudget: {ENOUGH}\n")
    tables = dx.universe.MarginalQueries.of(policy.universe, [["a"]])
    return AdaptiveOnHistogram(adaptive_tables(policy.compile(), tables, rounds=1, bars=0))


def without_the_first(mechanism, answers, *_):
    return [float(0 not in answer) for answer in answers]


def line(make):
    return lambda spend: make(families.LINE, [Fraction(j) for j in range(families.SIZE)], spend)


def changed_pick():
    return dx.selection(
        verify_metric([[0, 0.02, 1], [0.02, 0, 1], [1, 1, 0]], budget=ENOUGH),
        families.queries([[4, 3, 0], [0, 0, 4]]),
        records=60,
    )


AUDITS = {
    "laplace": one_moved(
        lambda: optimal_laplace(sensitivity_of(families.LINE, families.queries(ENDS))), families.additive_view
    ),
    "hull": of_case("hull", 0.5),
    "permute-and-flip": one_moved(lambda: selection(families.LINE, families.queries(ENDS))),
    "exponential": one_moved(
        lambda: selection(families.LINE, families.queries(ENDS), "exponential"),
        told=0.1,
        here=np.array([6, 2, 1, 1]),
        there=np.array([5, 3, 1, 1]),
    ),
    "changed scores": Audit(
        lambda _: changed_pick(), np.array([16, 16, 28]), np.array([15, 16, 29]), Fraction(1), itself, 0.3
    ),
    "top by permute-and-flip": one_moved(
        lambda: top_selection(families.LINE, families.queries([*ENDS, ENDS[1]]), 2), without_the_first, 0.2
    ),
    "tabled score": one_moved(
        lambda: tabled_selection(families.LINE, ["low", "high"], first_types, records=8), told=0.3
    ),
    "declared score": one_moved(
        lambda: declared_selection(
            families.LINE, ["low", "high"], first_types, sensitivity=Fraction(4, 3), version="first types"
        ),
        lambda mechanism, answers, *_: [float(answer.place) for answer in answers],
    ),
    "small database": one_moved(
        lambda: small_database(families.LINE, families.queries(ENDS[:1]), rows=1),
        lambda mechanism, answers, *_: [float(0 in one.record_types) for one in answers],
        here=np.array([3, 0, 1, 0]),
        there=np.array([2, 1, 1, 0]),
    ),
    "mwem, ten rounds": one_moved(
        lambda: dx.mechanisms.synthetic.mwem(families.LINE, families.queries(WALKS), rounds=10),
        measured,
        0.0,
        COUNTS,
        moved(COUNTS, 0, 1),
        spend=Fraction(4, 3),
        planted=30,
        slower=80,
    ),
    "distinct count": one_moved(
        lambda: distinct_count(families.LINE, families.queries(np.eye(4, dtype=np.int64))),
        told=0.35,
        here=families.ONE_ALONE,
        there=moved(families.ONE_ALONE, 0, 1),
    ),
    "laplace quantiles": of_case("laplace quantiles", 0.5, other=0),
    "transport quantiles": of_case("transport quantiles", 0.2, other=0),
    "series": of_case(
        "series", 0.5, lambda _: series_mechanism("meter", 3, RATE, Fraction(1, 8), budget=ENOUGH), other=0
    ),
    "statistics": of_case(
        "statistic, hull",
        0.4,
        lambda _: statistic_mechanism(moments([families.COLUMN]), "hull", title="ages", budget=ENOUGH),
    ),
    "truncated geometric": a_secret(lambda spend: truncated_geometric(families.LINE, spend)),
    "finite laplace": a_secret(lambda spend: finite_laplace(families.LINE, spend)),
    "optimal table": a_secret(lambda spend: optimal_table(families.LINE, [Fraction(1, 4)] * 4, families.LOSSES, spend)),
    "staircase": a_secret(line(staircase), families.line_view),
    "planar laplace": a_secret(
        lambda spend: planar_laplace(families.LINE, families.PLACES, Fraction(1, 9), spend), families.planar_view
    ),
    "tasks": Audit(lambda _: tasks(), np.array([4, 2, 0]), np.array([3, 3, 0]), Fraction(1), counted, 0.15, planted=4),
}

if IN_ALL >= 10**6:  # an answer takes a fifth of a second
    AUDITS["adaptive tables"] = of_case(
        "adaptive tables on a histogram", 0.0, lambda _: following(), other=0, planted=30, slower=200
    )


@pytest.fixture(autouse=True)
def enough_budget(monkeypatch):
    """The line of all families, with a budget for as many answers."""
    metric = verify(LINE.metric, title="line", fingerprint="line", budget=ENOUGH)
    monkeypatch.setattr(families, "LINE", metric)


def observed(name, factor=1):
    """What an audit finds in answers about both data sets at ``factor`` times the spend, and what is stated of one."""
    audit = AUDITS[name]
    mechanism = audit.make(factor)
    many = in_sequence([mechanism] * min(AT_ONCE, audit.answers))
    spend = None if mechanism.only_spend else len(many.parts) * factor * audit.spend
    samples = []
    for place, data in enumerate((audit.here, audit.there)):
        views: list[float] = []
        for block in range(audit.answers // len(many.parts)):
            seed = 1_000_000 * (2 * factor + place) + block
            released = dx.release(many, data, ledger=":memory:", spend=spend, insecure_test_seed=seed)
            views += list(audit.view(mechanism, list(released.answer), audit.here, audit.there))
        samples.append(views)
    found, stated = observed_loss(*samples, ERROR).nats, float(audit.nats * audit.spend)
    print(f"| {name} | {factor} | {sum(map(len, samples)):,} | {found:.4f} | {stated:.4g} | {found / stated:.3f} |")
    return found, stated


@pytest.mark.long
@pytest.mark.parametrize("name", AUDITS)
def test_releases_give_away_no_more_than_they_were_charged_for_and_the_audit_sees_much_of_it(name):
    found, stated = observed(name)
    assert AUDITS[name].told * stated <= found <= stated


@pytest.mark.long
@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_finds_that_more_was_spent_than_is_stated(name):
    found, stated = observed(name, AUDITS[name].planted)
    assert found > stated
