"""All that a queries file can have released of people, from random tables on every engine, beside counting by hand.

A release from a table is that of the very same noise from what was counted by hand; and with hardly any noise each kind
of answer is what it is by hand. No kind of query or task is forgotten. ``DXGEOM_TABLES`` says how many tables (make
soak).
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from reference.people_by_hand import (
    BUDGET,
    COUNTING,
    DATES,
    IN_SHARES,
    NUMBERS,
    PEOPLE,
    SIZE,
    WORDS,
    ByHand,
    Row,
    as_table,
    codes_of,
    policy_of,
    random_rows,
    rows_of_so_many,
)

import dxgeom as dx
from dxgeom.errors import QueryError, UnsupportedCombination
from dxgeom.learning import PrivateLinearRegression, PrivateLogisticRegression
from dxgeom.learning.kind import MODELS
from dxgeom.learning.linear_plan import plan_linear
from dxgeom.learning.policy_model import policy_model
from dxgeom.policy.source.yaml_tree import folder_with
from dxgeom.queries.queries_file import Asked
from dxgeom.queries.syntax import KINDS as WORDS_OF_QUERIES
from dxgeom.queries.tasks.grammar import task_kinds
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.counts import Counts
from dxgeom.universe.workloads.whole_tables import MarginalQueries

TABLES = int(os.environ.get("DXGEOM_TABLES", "2"))
SPEND = "1/2"
NEAR = 1e-3
"""How far off answers may be that spend all of BUDGET."""
each_count = pytest.mark.parametrize("count", COUNTING)
each_presence = pytest.mark.parametrize("presence", [False, True], ids=["all are there", "some may be absent"])
MATRIX = folder_with({"m.csv": "\n".join(["day,odd", *(f"{k % 5 - 2},{k // 5 % 7 % 2}" for k in range(70))])})
LINEAR: dict[str, tuple[dict[str, Any], Callable[[ByHand], dict[str, float]]]] = {
    "count": (
        {"count": "n >= 1 and w == '1'"},
        lambda hand: {"n >= 1 and w == '1'": hand.of((hand.n >= 1) & (hand.w == "1"))},
    ),
    "sum": (
        {"sum": "n", "where": "w == 'é'"},
        lambda hand: {"sum of n where w == 'é'": hand.of(hand.added * (hand.w == "é"))},
    ),
    "mean": ({"mean": "n"}, lambda hand: {"mean n": hand.of(hand.added) / hand.of()}),
    "variance": (
        {"variance": "n"},
        lambda hand: {"variance of n": hand.of(hand.added**2) / hand.of() - (hand.of(hand.added) / hand.of()) ** 2},
    ),
    "share": (
        {"share": "n > 0.5", "where": "w == '1'"},
        lambda hand: {
            "share of n > 0.5 where w == '1'": hand.of((hand.n > 0.5) & (hand.w == "1")) / hand.of(hand.w == "1")
        },
    ),
    "marginal": (
        {"marginal": ["w", "d"]},
        lambda hand: {f"w={w}, d={d}": hand.of((hand.w == w) & (hand.d == d)) for w in WORDS for d in DATES},
    ),
    "marginals": (
        {"marginals": [["n"], ["n", "w"]]},
        lambda hand: (
            {f"n={n:g}": hand.of(hand.n == n) for n in NUMBERS}
            | {f"n={n:g}, w={w}": hand.of((hand.n == n) & (hand.w == w)) for n in NUMBERS for w in WORDS}
        ),
    ),
    "prefixes": ({"prefixes": "n"}, lambda hand: {f"n up to {n:g}": hand.of(hand.n <= n) for n in NUMBERS}),
    "ranges": (
        {"ranges": "n", "at": [1, 2], "where": "w == 'é'"},
        lambda hand: {
            "n below 2 where w == 'é'": hand.of((hand.n < 2) & (hand.w == "é")),
            "n from 1 to below 2 where w == 'é'": hand.of((hand.n >= 1) & (hand.n < 2) & (hand.w == "é")),
        },
    ),
    "matrix": ({"matrix": "m.csv"}, lambda hand: {"day": hand.of(hand.day), "odd": hand.of(hand.n * 2 % 2)}),
}
"""Linear queries by their word, with some of their answers."""
ALONG_TIME = {"every", "total", "window", "against"}
"""These need a policy's time: tests/unit/policy/test_people_in_periods.py counts people in its periods by hand."""
QUANTILES: dict[str, dict[str, Any]] = {
    "median": {"median": "n", "by": "d"},
    "quantiles": {"quantiles": "n", "at": ["1/4", "0.9"]},
}
WORKLOAD = [{"marginal": ["w"]}, {"count": "n >= 1.5"}]
TASKS: dict[str, dict[str, Any]] = {
    "queries": {"queries": [{"count": "true"}]},
    "select": {"select": {"best": "n", "by": "count"}},
    "select, the first two": {"select": {"best": "n", "top": 2, "law": "exponential"}},
    "distinct": {"distinct": "w"},
    "keys": {"keys": ["w", "n"], "at_least": 1},
    "synthesize": {"synthesize": {"workload": WORKLOAD, "rounds": 2}},
    "synthesize, at once": {"synthesize": {"workload": WORKLOAD, "rounds": 0}},
    "small_database": {"small_database": {"workload": WORKLOAD, "rows": 2}},
    "statistics": {"statistics": {"moments": ["n"]}},
    "fit, linear": {"fit": {"linear": "n", "by": ["w", "d"]}},
    "fit, logistic": {"fit": {"logistic": "w", "by": ["n", "d"], "ridge": 1}},
}
WIDE: dict[str, list[dict[str, Any]]] = {
    "whole tables": [{"count": "true"}, {"marginals": [["w", "n"], ["d"], ["u0"], ["u1"]]}],
    "boxes": [{"prefixes": "n"}, {"ranges": "d", "where": "w == '1'"}, {"count": "u1 < 10"}],
}
"""What is read without a histogram, of a universe too large for one."""


def linear_answers_fit(hand: ByHand, answers: Any) -> bool:
    truths = {name: value for _, truth in LINEAR.values() for name, value in truth(hand).items()}
    return np.allclose([answers.by_name[name].value for name in truths], [*truths.values()], atol=NEAR)


def ranks_fit(hand: ByHand, answers: Any) -> bool:
    """Whether below each quantile there are no more, and up to it no fewer, than its level of all who are asked of."""
    fits = []
    for one in answers.released:
        group = hand.d == dict(one.about.group)["d"] if one.about.group else np.True_
        level, value = float(one.at) * hand.of(group), float(one.label)
        fits.append(
            hand.of((hand.n < value) & group) <= level + NEAR and level <= hand.of((hand.n <= value) & group) + NEAR
        )
    return all(fits)


def picked_are_first(hand: ByHand, answers: Any) -> bool:
    picked = answers.picked if isinstance(answers.picked, tuple) else (answers.picked,)
    scores = hand.each(hand.n, NUMBERS)
    return hand.each(hand.n, [*map(float, picked)]) == sorted(scores, reverse=True)[: len(picked)]


def workload_of(hand: ByHand) -> list[float]:
    return [*hand.each(hand.w, WORDS), hand.of(hand.n >= 1.5)]


def best_of_all_pairs(hand: ByHand, answers: Any) -> bool:
    """Whether no other two records answer the workload better, but for a stated bias of queries that were changed."""
    truth, kinds = workload_of(hand), [(w == "é", w == "1", high) for w in WORDS for high in (False, True)]
    pairs = itertools.combinations_with_replacement(np.array(kinds), 2)
    least = min(np.abs((one * PEOPLE / 2 + other * PEOPLE / 2) - truth).max() for one, other in pairs)
    return bool(np.abs(answers.values - truth).max() <= least + 2 * PEOPLE * answers.mechanism.shift + NEAR)


def fitted(hand: ByHand, answers: Any, middle: float) -> tuple[Any, list[Any]]:
    """What a model adds up for each record, and the features: numbers and days from the middle of what they can be."""
    told = {"intercept": np.ones(len(hand.n)), "w=1": hand.w == "1", "n": hand.added - middle, "d": hand.day}
    features = [told[name] for name in answers.names]
    return sum(value * one for value, one in zip(answers.values, features, strict=True)), features


def least_squares_fit(hand: ByHand, answers: Any) -> bool:
    """Whether what a regression leaves over has nothing to do with any feature."""
    score, features = fitted(hand, answers, 0)
    return np.allclose([hand.of((hand.added - score) * one) for one in features], 0, atol=0.05)


def log_odds_fit(hand: ByHand, answers: Any) -> bool:
    """Whether the objective has no slope, with a ridge of 1 over features that are at most 1."""
    score, features = fitted(hand, answers, 1.625)
    miss, most = 1 / (1 + np.exp(-score)) - (hand.w == "1"), [1, 1.375, 2]
    slopes = [hand.of(miss * one / m) + value * m for one, m, value in zip(features, most, answers.values, strict=True)]
    return np.allclose(slopes, 0, atol=0.05)


def tables_fit(hand: ByHand, answers: Any) -> bool:
    truths = {
        "all records": [hand.of()],
        "w, n": [number for w in WORDS for number in hand.each(hand.n, NUMBERS, hand.w == w)],
        "d": hand.each(hand.d, DATES),
        **{f"u{k}": hand.each(hand.more[k], range(SIZE)) for k in range(2)},
    }
    return all(np.allclose(answers.by_name[name].ravel(), cells, atol=NEAR) for name, cells in truths.items())


def boxes_fit(hand: ByHand, answers: Any) -> bool:
    ends = itertools.combinations_with_replacement(DATES, 2)
    truths = [*(hand.of(hand.n <= n) for n in NUMBERS), hand.of(hand.more[1] < 10)]
    truths += [hand.of((first <= hand.d) & (hand.d <= last) & (hand.w == "1")) for first, last in ends]
    return np.allclose(sorted(answers.values), sorted(truths), atol=NEAR)


def keys_fit(hand: ByHand, answers: Any) -> bool:
    """Whether keys of one person or more are reported, and no others, but for those of one, where noise decides."""
    numbers = zip(answers.groups["w"], map(float, answers.groups["n"]), strict=True)
    told = dict(zip(numbers, answers.values.tolist(), strict=True))
    fits = []
    for word, number in itertools.product(WORDS, map(float, NUMBERS)):
        count = hand.of((hand.w == word) & (hand.n == number))
        expected = count if count >= 1 and (abs(count - 1) > NEAR or (word, number) in told) else None
        near = expected is not None and abs(told.get((word, number), 0) - expected) < NEAR
        fits.append(near or (expected is None and (word, number) not in told))
    return all(fits)


FITS: dict[str, Callable[[ByHand, Any], bool]] = {
    "linear": linear_answers_fit,
    **dict.fromkeys(QUANTILES, ranks_fit),
    "queries": lambda hand, answers: np.allclose(answers.values, hand.of(), atol=NEAR),
    **dict.fromkeys(("select", "select, the first two"), picked_are_first),
    **dict.fromkeys(
        ("synthesize", "synthesize, at once"),
        lambda hand, answers: np.allclose(answers.values, workload_of(hand), atol=0.05),
    ),
    "distinct": lambda hand, answers: answers.number == sum(hand.of(hand.w == word) > 0 for word in WORDS),
    "keys": keys_fit,
    "small_database": best_of_all_pairs,
    "statistics": lambda hand, answers: np.allclose(
        answers.values[-2:], [hand.of(hand.added), hand.of(hand.added**2)], atol=NEAR
    ),
    "fit, linear": least_squares_fit,
    "fit, logistic": log_odds_fit,
    "whole tables": tables_fit,
    "boxes": boxes_fit,
}
"""Whether answers with hardly any noise are what they are by hand, by their kind."""


def refusal(count: str, presence: bool, kind: str) -> str | None:
    """What a refusal says of a kind that cannot be released of such people; None where it can."""
    if kind == "fit, logistic" and count in IN_SHARES:
        return "people count once here" if count == "once" else "rows of people count in shares here"
    if kind == "distinct" and count in IN_SHARES:
        return "people are spread over their rows"
    if presence and kind == "median":
        return "blocks are not apart"
    private = presence and kind.split(",")[0] in ("select", "synthesize", "small_database")
    return "a rule about presence keeps private" if private else None


def asked_of(count: str, presence: bool, kind: str) -> Any:
    """What a queries file asks for; ``everything``: all kinds that read a histogram, as tasks."""
    linear = {"queries": [entry for entry, _ in LINEAR.values()]}
    tasks = {"linear": linear, **{name: {"queries": [entry]} for name, entry in QUANTILES.items()}, **TASKS}
    if kind in WIDE:
        told: dict[str, Any] = {"queries": WIDE[kind]}
    elif kind == "everything":
        # Keys stand alone in their file.
        kept = [name for name in tasks if name != "keys" and not refusal(count, presence, name)]
        told = {"tasks": [{"name": name, **tasks[name]} for name in kept]}
    else:
        told = {"tasks": [{"name": kind, **TASKS[kind]}]} if kind in TASKS else tasks[kind]
    records = None if presence or kind in WIDE else PEOPLE
    return dx.queries_from_dict(told, policy_of(count, presence, kind in WIDE), records, folder=MATRIX)


@cache
def plan_of(count: str, presence: bool, kind: str) -> Any:
    """With the noise of counts and sums named where there is some, so that none is searched for."""
    named = {"mechanism": "laplace"} if kind in ("linear", "queries", "statistics", "fit, linear", "everything") else {}
    asked: Any = asked_of(count, presence, kind)
    return dx.plan(policy_of(count, presence, kind in WIDE).compile(), asked, **named)


def random_people(seed: int, count: str, presence: bool) -> list[Row]:
    random = np.random.default_rng([seed, len(count), presence])
    return random_rows(random, count) if presence else rows_of_so_many(random, count)


def released(plan: Any, data: Any, spend: Any = SPEND) -> Any:
    return plan.release(data, ledger=":memory:", spend=spend, outside="drop", insecure_test_seed=7)


def same_release(plan: Any, table: Any, hand: ByHand) -> bool:
    """Whether a table is answered as what was counted by hand is, to the last digit, and as many are told of."""
    one, other = released(plan, table), released(plan, hand.data_for(plan.mechanism))
    unlike = ("time", "ledger", "dropped_rows", "dropped_people")
    told = [{**each.as_dict(), **dict.fromkeys(unlike)} for each in (one, other)]
    numbers = (None, None) if hand.presence else (hand.total, hand.dropped)
    return (one.records, one.dropped) == numbers and json.dumps(told[0]) == json.dumps(told[1])


def test_no_kind_of_release_is_forgotten() -> None:
    assert {*LINEAR, *QUANTILES} == {*WORDS_OF_QUERIES} - ALONG_TIME
    # Tables that follow the data are refused to people who are spread over rows, and series have a test of their own.
    assert {kind.split(",")[0] for kind in TASKS} | {"series", "adaptive"} == {kind.word for kind in task_kinds()}
    assert {kind.split(", ")[1] for kind in TASKS if kind.startswith("fit")} == {*MODELS}
    assert {*FITS} == {"linear", *QUANTILES, *TASKS, *WIDE}
    forms = {LinearQueries, MarginalQueries, BoxQueries}
    assert {type(asked_of("single", False, kind)) for kind in FITS} == {*get_args(Asked)} - {Counts} | forms


@each_presence
@each_count
def test_what_is_released_of_people_is_that_of_counting_by_hand(
    keep: Callable[[pa.Table], Any], count: str, presence: bool
) -> None:
    for seed in range(TABLES):
        # The kinds of WIDE read alike: of few tables one is for either.
        kind = [*WIDE][(seed // 2 + presence) % 2] if seed % 2 else "everything"
        rows = random_people(seed, count, presence)
        hand = ByHand(rows, count, presence, kind in WIDE)
        assert same_release(plan_of(count, presence, kind), keep(as_table(rows)), hand), (seed, kind)


@each_presence
@each_count
@pytest.mark.parametrize("kind", FITS)
def test_each_kind_alone_answers_with_what_it_is_by_hand(kind: str, count: str, presence: bool) -> None:
    refused = refusal(count, presence, kind)
    if refused is not None:
        with pytest.raises((QueryError, UnsupportedCombination), match=refused):
            plan_of(count, presence, kind)
        return
    plan, rows = plan_of(count, presence, kind), random_people(1, count, presence)
    hand = ByHand(rows, count, presence, kind in WIDE)
    answers = released(plan, hand.data_for(plan.mechanism), BUDGET).answer
    assert FITS[kind](hand, answers[kind] if kind in TASKS else answers)
    if kind == "keys" or kind not in (*TASKS, *WIDE):  # which are released alone, or with all others, on every engine
        assert same_release(plan, as_table(rows), hand)


def as_csv(table: pa.Table, folder: Path) -> Any:
    table.to_pandas().to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def as_polars(table: pa.Table, _: Path) -> Any:
    import polars

    return polars.DataFrame(table).lazy()


HANDED: dict[str, Callable[[pa.Table, Path], Any]] = {
    "Arrow": lambda table, _: table,
    "Arrow, flowing": lambda table, _: table.to_reader(max_chunksize=7),
    "pandas": lambda table, _: table.to_pandas(),
    "text": as_csv,
    "polars": as_polars,
}


@each_count
@pytest.mark.parametrize("way", [pytest.param(w, marks=pytest.mark.needs(w) if w == "polars" else ()) for w in HANDED])
def test_so_it_is_however_a_table_is_handed_over(way: str, count: str, tmp_path: Path) -> None:
    presence = way in ("pandas", "text")
    rows = random_people(2, count, presence)
    table = HANDED[way](as_table(rows), tmp_path)
    assert same_release(plan_of(count, presence, "everything"), table, ByHand(rows, count, presence))


@each_count
def test_a_series_is_of_the_only_row_of_a_person(keep: Callable[[pa.Table], Any], count: str) -> None:
    readings = {name: {"range": [0, 10], "step": 0.5} for name in ("early", "late")}
    rule = {"change": [*readings], "epsilon": 1, "per": 1, "measure": "max", "together": True}
    told = {"policy": "p", "budget": BUDGET, "universe": {"attributes": readings}, "rules": [rule]}
    policy = dx.Policy.from_dict({**told, "people": COUNTING[count]})
    asked: Any = dx.queries_from_dict({"tasks": [{"name": "one", "series": [*readings]}]}, policy)
    if count != "single":
        with pytest.raises(UnsupportedCombination, match="let people be 'single'"):
            dx.plan(policy.compile(), asked)
        return
    plan: Any = dx.plan(policy.compile(), asked)
    kept = keep(pa.table({"who": ["a"], "early": [2.5], "late": [9.0]}))
    step = plan.parts[0].mechanism.step
    told_twice = [
        [plan.release(data, ledger=":memory:", spend=spend, insecure_test_seed=7).answer["one"].exact_values]
        for spend in (SPEND, BUDGET)
        for data in (kept, [int(Fraction("2.5") / step), int(9 / step)])
    ]
    assert told_twice[0] == told_twice[1] and told_twice[2] == told_twice[3]
    assert np.allclose([*map(float, told_twice[2][0])], [2.5, 9.0], atol=0.01)


@each_presence
@each_count
def test_estimators_fit_people_as_counted_by_hand(
    keep: Callable[[pa.Table], Any], count: str, presence: bool, tmp_path: Path
) -> None:
    policy, rows = policy_of(count, presence), [row for row in random_people(1, count, presence) if codes_of(row)]
    hand, same = ByHand(rows, count, presence), {"spend": 20, "insecure_test_seed": 7}
    said: dict[str, Any] = {"policy": policy, "ledger": tmp_path / "ledger.db", **same}
    linear = PrivateLinearRegression(label="n", features=["w", "d"], mechanism="laplace", **said).fit(
        keep(as_table(rows))
    )
    plan: Any = plan_linear(policy, "n", ["w", "d"], mechanism="laplace")
    data: Any = hand.data_for(plan.totals.mechanism)
    assert np.array_equal(linear.release_.answer.values, plan.release(data, ledger=":memory:", **same).answer.values)
    logistic = PrivateLogisticRegression(label="w", features=["n", "d"], **said)
    if count in IN_SHARES:
        with pytest.raises(UnsupportedCombination, match="is spread over many, each of which bends"):
            logistic.fit(keep(as_table(rows)))
        return
    model = policy_model(policy, "w", ["n", "d"])
    fit = dx.release(model.mechanism(Fraction(0), None), model.of_counts(data.counts), ledger=":memory:", **same)
    assert logistic.fit(keep(as_table(rows))).release_.answer == fit.answer
