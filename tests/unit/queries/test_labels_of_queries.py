"""What readers see answers called tells them apart."""

from __future__ import annotations

import pytest

from dxgeom.errors import QueryError
from dxgeom.policy.policy import parse_policy
from dxgeom.queries.queries_file import parse_queries

PEOPLE = parse_policy(
    "policy: people\nuniverse: {attributes: {sex: [F, M], age: {range: [0, 90], step: 30}}}\n"
    "rules: [{change: [sex, age], epsilon: 1}]\n"
)
WOMEN = "{name: w, count: sex == 'F', label: Women}"


@pytest.mark.parametrize("empty", ["''", "'  '"])
def test_an_empty_label_is_a_mistake_at_its_place(empty):
    with pytest.raises(QueryError, match=r"2:41: DX107: 'label' has no value\n(?s:.*)write one or remove the key"):
        parse_queries(f"queries:\n  - {{name: w, count: sex == 'F', label: {empty}}}\n", PEOPLE)


@pytest.mark.parametrize(
    "other",
    [
        "{name: m, count: sex == 'M', label: Women}",
        "{name: Women, count: sex == 'M'}",
        "{name: shares, share: sex == 'M', label: Women}",
        "{marginal: age, label: Women}",
        "{mean: age, by: sex, label: Women}",
    ],
)
def test_two_queries_that_readers_see_called_alike_are_a_mistake(other):
    for first, second in ((WOMEN, other), (other, WOMEN)):
        with pytest.raises(QueryError, match="3:5: DX203: readers would see two queries called 'Women'"):
            parse_queries(f"queries:\n  - {first}\n  - {second}\n", PEOPLE)


def test_two_medians_of_one_label_are_a_mistake():
    text = "queries:\n  - {name: a, median: age, label: Age}\n  - {name: b, quantiles: age, at: [0.2], label: Age}\n"
    with pytest.raises(QueryError, match="3:5: DX203: readers would see two queries called 'Age'"):
        parse_queries(text, PEOPLE)


def test_a_label_may_be_what_its_own_query_is_called():
    text = f"queries:\n  - {WOMEN}\n  - {{name: Men, count: sex == 'M', label: Men}}\n  - {{name: m, marginal: age}}\n"
    assert [one.label for one in parse_queries(text, PEOPLE).origins[:3]] == ["Women", "Men", ""]
