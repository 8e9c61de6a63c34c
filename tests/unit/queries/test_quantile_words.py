from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.universe.quantile_queries import QuantileQueries

WARDS = """policy: wards
unconnected: allow
universe:
  attributes:
    ward: [A, B, C]
    sex: [F, M]
    age: {range: [0, 4], step: 1, whole: true}
    pay: {range: [0, 4], step: 1, whole: true, missing: {epsilon: 1}}
    day: {dates: [2026-01-01, 2026-01-05], step: 1}
rules:
  - {change: [sex, age, pay, day], epsilon: 1}
"""


@pytest.fixture(scope="module")
def wards() -> dx.Policy:
    return dx.parse_policy(WARDS)


def asked(text: str, policy: dx.Policy) -> QuantileQueries:
    found = dx.parse_queries(f"queries:\n  - {text}\n", policy)
    assert isinstance(found, QuantileQueries)
    return found


def test_a_median_is_the_level_of_one_half(wards):
    (one,) = asked("median: age", wards).questions
    assert (one.name, one.attribute, one.at, one.where, one.by) == ("median age", "age", (Fraction(1, 2),), None, ())
    assert one.called(Fraction(1, 2), ()) == "median age"


def test_levels_are_exact_however_they_are_written(wards):
    (one,) = asked("{name: ages, quantiles: age, at: [0, 1/4, 0.1, 1/3, 75e-2, 1]}", wards).questions
    assert one.at == (0, Fraction(1, 4), Fraction(1, 10), Fraction(1, 3), Fraction(3, 4), 1)
    assert one.called(Fraction(1, 3), (("ward", "A"),)) == "ages at 1/3, ward=A"


def test_a_condition_and_groups_are_read(wards):
    (one,) = asked("{median: day, where: \"ward in ['A',  'B']\", by: [ward, sex]}", wards).questions
    assert one.name == "median day where ward in ['A', 'B']"
    chosen, labels = one.chosen(wards.universe), one.labels(wards.universe)
    wards_of = wards.universe.laid_out(wards.universe.spread(0, np.arange(3)))
    assert np.array_equal(chosen, wards_of < 2)
    assert [one.group(label) for label in np.unique(labels)][3] == (("ward", "B"), ("sex", "M"))
    assert len(np.unique(labels)) == 6


def test_queries_from_python_say_the_same(wards):
    data = {"queries": [{"median": "age", "by": "ward"}, {"quantiles": "day", "at": [0.25, "3/4"]}]}
    text = "queries:\n  - {median: age, by: ward}\n  - {quantiles: day, at: [1/4, 0.75]}\n"
    assert dx.queries_from_dict(data, wards).fingerprint == dx.parse_queries(text, wards).fingerprint


def test_every_word_changes_the_fingerprint(wards):
    base = "{name: q, quantiles: age, at: [1/4], where: ward == 'A', by: sex}"
    others = [
        base.replace("name: q", "name: p"),
        base.replace("age", "day"),
        base.replace("1/4", "3/4"),
        base.replace("1/4", "1/4, 3/4"),
        base.replace("'A'", "'B'"),
        base.replace("by: sex", "by: ward"),
        base.replace(", by: sex", ""),
        base.replace("where: ward == 'A', ", ""),
        "{name: q, median: age, where: ward == 'A', by: sex}",
    ]
    prints = {asked(text, wards).fingerprint for text in (base, *others)}
    assert len(prints) == 1 + len(others)


WRONG = [
    ("median: aeg", "3:13: DX201: there is no column 'aeg'"),
    ("median: sex", "3:13: DX201: 'sex' holds words, which have no order"),
    ("median: pay", "3:13: DX201: 'pay' may be missing"),
    ("{quantiles: age}", "3:5: DX107: the key 'at' is missing"),
    ("{quantiles: age, at: }", "3:22: DX107: 'at' has no value"),
    ("{quantiles: age, at: []}", "3:26: DX108: 'at' is a list of levels, such as [1/4, 1/2, 3/4]"),
    ("{quantiles: age, at: 1/2}", "3:26: DX108: 'at' is a list of levels"),
    ("{quantiles: age, at: [1/4, 3/2]}", "3:32: DX219: a level lies between 0 and 1"),
    ("{quantiles: age, at: [half]}", "3:27: DX219: a level lies between 0 and 1"),
    ("{quantiles: age, at: [1/0]}", "3:27: DX219: a level lies between 0 and 1"),
    ("{quantiles: age, at: [-0.1]}", "3:27: DX219: a level lies between 0 and 1"),
    ("{quantiles: age, at: [0.5, 1/2]}", "3:32: DX219: a level is listed twice"),
    ("{median: age, by: wrad}", "3:23: DX201: there is no column 'wrad'"),
    ("{median: age, where: ward == 'D'}", "DX202: 'ward' has no value 'D'"),
    ("{median: age, importance: 2}", "3:19: DX200: 'importance' goes with"),
    ("{median: age, at: [1/4]}", "3:19: DX200: 'at' goes with prefixes, ranges and quantiles, not with median"),
]


@pytest.mark.parametrize(("query", "message"), WRONG, ids=[wrong[0] for wrong in WRONG])
def test_wrong_quantiles_are_errors_at_their_place(wards, query, message):
    with pytest.raises(dx.QueryError) as caught:
        dx.parse_queries(f"records: 5\nqueries:\n  - {query}\n", wards)
    assert message in str(caught.value)
    assert len(caught.value.diagnostics) == 1


def test_quantiles_and_counts_are_not_asked_in_one_file(wards):
    with pytest.raises(dx.QueryError, match="3:5: DX220: quantiles are drawn among values") as caught:
        dx.parse_queries("queries:\n  - count: true\n  - median: age\n", wards)
    assert "a file of their own" in str(caught.value)


def test_names_are_distinct(wards):
    with pytest.raises(dx.QueryError, match="DX203: there are two queries called 'median age'"):
        dx.parse_queries("queries:\n  - median: age\n  - {median: age, by: ward}\n", wards)
    with pytest.raises(dx.QueryError, match="DX203: there are two queries called 'q at 1/4'"):
        text = "queries:\n  - {name: q, quantiles: age, at: [1/4]}\n  - {name: q at 1/4, median: age}\n"
        dx.parse_queries(text, wards)
