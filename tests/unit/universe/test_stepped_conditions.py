"""Which conditions ask more of a number than the value that stands for it can tell, and who is told so."""

from __future__ import annotations

import datetime
import json
import operator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.universe.conditions.stepped import stepped_columns
from dxgeom.universe.predicates import parse_predicate
from dxgeom.universe.selections import evaluate

SIGNS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
POLICY = dx.parse_policy("""
policy: ages
universe:
  attributes:
    sex: [F, M]
    age: {range: [0, 21], step: 5}
    years: {range: [0, 12], step: 3, whole: true}
    rooms: {range: [1, 4], step: 1, whole: true}
    pay: {bins: [0, 10, 25]}
    day: {dates: [2024-01-01, 2024-01-18], step: 7}
rules: [{change: [sex, age, years, rooms, pay, day], epsilon: 1}]
""")
UNIVERSE = POLICY.universe
RAW = {"age": [Fraction(k, 2) for k in range(43)], "years": range(13), "rooms": range(1, 5)}


def value_of(name, raw):
    attribute = UNIVERSE.attribute(name)
    return attribute.numbers[int(attribute.encode([float(raw)])[0])]


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("name", RAW)
def test_a_comparison_is_told_where_some_raw_number_disagrees_with_its_value(name, sign):
    for written in UNIVERSE.attribute(name).numbers:
        compare = SIGNS[sign]
        differs = any(compare(raw, written) != compare(value_of(name, raw), written) for raw in RAW[name])
        for text in (
            f"{name} {sign} {written}",
            f"not ({name} {sign} {written})",
            f"sex == 'F' and {name} {sign} {written}",
        ):
            assert stepped_columns(parse_predicate(text), UNIVERSE) == ((name,) if differs else ())


@pytest.mark.parametrize("sign", SIGNS)
def test_so_is_a_comparison_of_days(sign):
    days = [datetime.date(2024, 1, 1) + datetime.timedelta(k) for k in range(18)]
    for code, label in enumerate(UNIVERSE.attribute("day").labels):
        compare, written = SIGNS[sign], datetime.date.fromisoformat(label)
        values = [days[place // 7 * 7] for place in range(18)]
        differs = any(compare(day, written) != compare(value, written) for day, value in zip(days, values, strict=True))
        assert code < 3
        assert stepped_columns(parse_predicate(f"day {sign} '{label}'"), UNIVERSE) == (("day",) if differs else ())


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("true", ()),
        ("sex == 'F'", ()),
        ("sex in ['F', 'M']", ()),
        ("10 > age", ()),
        ("10 <= age", ()),
        ("10 < age", ("age",)),
        ("5 <= age < 15", ()),
        ("5 <= age <= 15", ("age",)),
        ("age > 15 or age == 5 or years == 3", ("age", "years")),
        ("age in [5, 10]", ("age",)),
        ("years not in [12]", ()),
        ("age < 400", ()),
        ("age <= 400", ()),
        ("pay < 10", ()),
        ("month(day) == 1", ()),
    ],
)
def test_conditions_of_every_kind(text, columns):
    condition = parse_predicate(text)
    assert evaluate(condition, UNIVERSE).mask.any()
    assert stepped_columns(condition, UNIVERSE) == columns


def asked(*entries):
    return dx.queries_from_dict({"queries": list(entries)}, POLICY, UNIVERSE.size)


SAID = "a value of 'age' stands for all up to the next one: 'young' asks which value a record has, not which number"


@pytest.mark.parametrize("source", ["a file's", "Python's"])
def test_plan_and_release_say_so_beside_the_answers(tmp_path, source):
    queries = asked({"name": "young", "count": "age <= 10"}, {"name": "old", "count": "age >= 15"})
    if source == "Python's":
        queries = replace(queries, source=None)
    plan = dx.plan(POLICY.compile(), queries)
    assert [SAID in said for said in plan.biases_in_words] == [True]
    assert "with < and >= there is none" in plan.biases_in_words[0]
    release = plan.release(np.ones(UNIVERSE.size, dtype=np.int64), ledger=str(tmp_path / "l.db"), spend=1)
    assert SAID in release.answer.bars.in_words()[0]
    young, old = json.loads(release.to_json())["answers"]
    assert (young["bias"]["stepped"], "stepped" in old["bias"]) == (["age"], False)
    again = dx.save_plan(plan, tmp_path / "plan.json", policy=POLICY)
    assert again.plan.biases_in_words == plan.biases_in_words


def test_what_is_said_is_no_part_of_what_is_asked():
    asking, other = asked({"name": "a", "count": "age <= 10"}), asked({"name": "a", "count": "age < 15"})
    assert asking.each_rounding == other.each_rounding
    assert asking.fingerprint == other.fingerprint
    assert [one.stepped for one in (*asking.each_rounding, *other.each_rounding)] == [("age",), ()]


@pytest.mark.parametrize(
    "entry",
    [
        {"sum": "rooms", "where": "age == 10"},
        {"mean": "rooms", "where": "age == 10"},
        {"share": "age == 10"},
        {"share": "sex == 'F'", "where": "age == 10"},
        {"count": "age == 10", "by": "sex"},
        {"marginal": "sex", "where": "age == 10"},
    ],
)
def test_every_query_with_a_condition_says_so(entry):
    try:
        queries = asked(entry)
    except dx.QueryError:
        assert "marginal" in entry
        return
    assert any(one.stepped == ("age",) for one in queries.each_rounding)
    assert not any(one.stepped for one in asked({"count": "sex == 'F'"}).each_rounding)
