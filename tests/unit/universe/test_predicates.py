from __future__ import annotations

import operator
import re
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.errors import PredicateError
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.columns import NumberColumn, TextColumn
from dxgeom.universe.conditions.masks import fits, letters_of
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.numbers.numeric_attributes import BinnedAttribute, RangeAttribute
from dxgeom.universe.places import PointsAttribute
from dxgeom.universe.predicates import Literal, parse_predicate
from dxgeom.universe.reading.reading import OptionalAttribute
from dxgeom.universe.selections import evaluate
from dxgeom.universe.universe import Universe


def places(name: str) -> PointsAttribute:
    height = NumberColumn("height", (Fraction(520), Fraction("408.5"), Fraction(0)))
    return PointsAttribute(
        name, ("a", "b", "c"), "plane", np.zeros((3, 2)), "m", (height, TextColumn("country", ("DE", "CH", "DE")))
    )


UNIVERSE = Universe(
    (
        CategoricalAttribute("native", ("Yes", "No")),
        RangeAttribute("age", Fraction(0), Fraction(10), Fraction(5)),
        BinnedAttribute("income", (Fraction(0), Fraction(10), Fraction(25), Fraction(100))),
        CategoricalAttribute("marital-status", ("never 'yet'", "once")),
        places("home"),
        places("work"),
    )
)


def selected(text: str, universe: Universe = UNIVERSE) -> np.ndarray:
    return evaluate(parse_predicate(text), universe).over_universe()


# The slow twin: each atom is a text and a plain function of one record.

COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
HEIGHT = {"a": Fraction(520), "b": Fraction("408.5"), "c": Fraction(0)}
COUNTRY = {"a": "DE", "b": "CH", "c": "DE"}
INCOME_LOW = {"[0, 10)": 0, "[10, 25)": 10, "[25, 100]": 25}


@st.composite
def atoms(draw):
    kind = draw(st.sampled_from(["native", "age", "chain", "income", "status", "in", "height", "country", "true"]))
    sign = draw(st.sampled_from(sorted(COMPARE)))
    match kind:
        case "native":
            sign, word = draw(st.sampled_from(["==", "!="])), draw(st.sampled_from(["Yes", "No"]))
            return f"native {sign} '{word}'", lambda r: COMPARE[sign](r["native"], word)
        case "age":
            number = draw(st.sampled_from([0, 5, 10]))
            return f"age {sign} {number}", lambda r: COMPARE[sign](int(r["age"]), number)
        case "chain":
            low, high = draw(st.sampled_from([-3, 0, 5])), draw(st.sampled_from([5, 10, 99]))
            return f"{low} <= age < {high}", lambda r: low <= int(r["age"]) < high
        case "income":
            sign, edge = draw(st.sampled_from(["<", ">="])), draw(st.sampled_from([0, 10, 25, 101]))
            return f"income {sign} {edge}.0", lambda r: COMPARE[sign](INCOME_LOW[r["income"]], edge)
        case "status":
            return "`marital-status` == \"never 'yet'\"", lambda r: r["marital-status"] == "never 'yet'"
        case "in":
            negated = draw(st.booleans())
            chosen = draw(st.lists(st.sampled_from([0, 5, 10]), min_size=1))
            word = "not in" if negated else "in"
            return f"age {word} {chosen}", lambda r: (int(r["age"]) in chosen) != negated
        case "height":
            limit = draw(st.sampled_from(["408.5", "4.085e2", "100", "-1", "1000"]))
            sign = draw(st.sampled_from(["<", "<=", ">", ">="]))
            return f"{limit} {sign} work.height", lambda r: COMPARE[sign](Fraction(limit), HEIGHT[r["work"]])
        case "country":
            return "home.country in ['CH']", lambda r: COUNTRY[r["home"]] == "CH"
        case _:
            return "true", lambda r: True


def joined(children):
    def both(pair):
        (one, f), (other, g) = pair
        return f"({one} and {other})", lambda r: f(r) and g(r)

    def either(pair):
        (one, f), (other, g) = pair
        return f"({one} or {other})", lambda r: f(r) or g(r)

    def negation(one):
        return f"not ({one[0]})", lambda r: not one[1](r)

    pairs = st.tuples(children, children)
    return pairs.map(both) | pairs.map(either) | children.map(negation)


@settings(max_examples=150, deadline=None)
@given(st.recursive(atoms(), joined, max_leaves=6))
@pytest.mark.long
def test_a_condition_is_true_of_exactly_the_records_it_is_true_of_one_by_one(pair):
    text, truth = pair
    expected = [truth(UNIVERSE.record(index)) for index in range(UNIVERSE.size)]
    assert selected(text).tolist() == expected


def test_and_binds_tighter_than_or_and_not_tighter_than_and():
    loose = selected("native == 'Yes' or native == 'No' and age == 0")
    assert np.array_equal(loose, selected("native == 'Yes' or (native == 'No' and age == 0)"))
    assert np.array_equal(selected("not native == 'Yes' and age == 0"), selected("native == 'No' and age == 0"))


def test_a_condition_is_computed_on_the_attributes_it_mentions_only():
    found = evaluate(parse_predicate("age >= 5 and native == 'No'"), UNIVERSE)
    assert found.axes == (0, 1)
    assert found.mask.shape == (2, 3)


# Patterns and parts of days, against the calendar of the standard library and a regular expression.

STAFF = Universe(
    (
        CategoricalAttribute("post", ("clerk", "Clerk", "chief clerk", "100%", "a_b", "a\\b", "axb", "")),
        DateAttribute("day", date(2023, 11, 28), date(2024, 3, 5), 1),
        OptionalAttribute("team", CategoricalAttribute("team", ("red", "read", "blue"))),
    )
)
NUMBER_OF = {
    "year": lambda day: day.year,
    "quarter": lambda day: (day.month + 2) // 3,
    "month": lambda day: day.month,
    "weekday": lambda day: day.isoweekday(),
}


def fits_slowly(word: str, pattern: str) -> bool:
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    written = "".join({"%": ".*", "_": "."}.get(part, re.escape(part[-1])) for part in parts)
    return re.fullmatch(written, word, re.DOTALL) is not None


@settings(max_examples=400, deadline=None)
@given(st.text("ab%_\\", max_size=9), st.text("ab%_\\", max_size=7))
def test_patterns_fit_what_the_regular_expression_fits(word, pattern):
    if re.fullmatch(r"([^\\]|\\[%_\\])*", pattern, re.DOTALL) is None:
        with pytest.raises(PredicateError, match="a backslash stands before"):
            letters_of(Literal(pattern, 0))
    else:
        assert fits(word, letters_of(Literal(pattern, 0))) == fits_slowly(word, pattern)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("clerk", {"clerk"}),
        ("%clerk", {"clerk", "chief clerk"}),
        ("_lerk", {"clerk", "Clerk"}),
        (r"a\_b", {"a_b"}),
        ("a_b", {"a_b", "a\\b", "axb"}),
        (r"%\%", {"100%"}),
        (r"a\\b", {"a\\b"}),
        ("%", {"clerk", "Clerk", "chief clerk", "100%", "a_b", "a\\b", "axb", ""}),
    ],
)
def test_like_is_letter_for_letter(pattern, found):
    for negated in ("", "not "):
        chosen = selected(f"post {negated}like '{pattern}'", STAFF)
        words = {STAFF.record(int(index))["post"] for index in np.flatnonzero(chosen)}
        assert words == (found if not negated else {*STAFF.attributes[0].labels} - found)


def test_what_is_missing_is_neither_like_a_pattern_nor_unlike_it():
    like, unlike = selected("team like 're%d'", STAFF), selected("team not like 're%d'", STAFF)
    each = [STAFF.record(index)["team"] for index in range(STAFF.size)]
    assert [word in ("red", "read") for word in each] == like.tolist()
    assert [word == "blue" for word in each] == unlike.tolist()


def test_a_long_pattern_against_a_long_word_is_quick():
    assert not fits("a" * 5000, letters_of(Literal("%a" * 2000 + "%b", 0)))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(NUMBER_OF)), st.sampled_from(sorted(COMPARE)), st.integers(0, 400))
def test_parts_of_days_are_those_of_the_calendar(part, sign, which):
    days = [date.fromisoformat(label) for label in STAFF.attributes[1].labels]
    number = NUMBER_OF[part](days[which % len(days)])
    expected = [COMPARE[sign](NUMBER_OF[part](day), number) for day in days]
    found = evaluate(parse_predicate(f"{part}(day) {sign} {number}"), STAFF)
    assert (found.axes, found.mask.tolist()) == ((1,), expected)
    assert evaluate(parse_predicate(f"{number} {sign} {part}(day)"), STAFF).mask.tolist() == [
        COMPARE[sign](number, NUMBER_OF[part](day)) for day in days
    ]


def test_parts_of_days_are_asked_for_in_lists_chains_and_words():
    days = [date.fromisoformat(label) for label in STAFF.attributes[1].labels]
    assert evaluate(parse_predicate("weekday(day) in ['Saturday', 7]"), STAFF).mask.tolist() == [
        day.isoweekday() > 5 for day in days
    ]
    assert evaluate(parse_predicate("weekday(day) >= 'Saturday'"), STAFF).mask.sum() == sum(
        day.isoweekday() > 5 for day in days
    )
    assert evaluate(parse_predicate("1 <= month(`day`) < 3 and year(day.day) == 2024"), STAFF).mask.tolist() == [
        day.month < 3 for day in days
    ]
    assert evaluate(parse_predicate("month(day) not in [11, 12]"), STAFF).mask.tolist() == [
        day.year == 2024 for day in days
    ]


@settings(max_examples=100, deadline=None)
@given(
    st.dates(date(2023, 1, 1), date(2023, 12, 31)),
    st.integers(1, 40),
    st.integers(0, 400),
    st.sampled_from(sorted(NUMBER_OF)),
    st.sampled_from(sorted(COMPARE)),
    st.integers(1, 12),
)
def test_days_that_are_one_value_are_all_in_or_all_out_or_refused(first, step, beyond, part, sign, number):
    attribute = DateAttribute("day", first, first + timedelta(beyond), step)
    days = [first + timedelta(k) for k in range(beyond + 1)]
    true = [COMPARE[sign](NUMBER_OF[part](day), number) for day in days]
    cells = [set(true[at : at + step]) for at in range(0, len(days), step)]
    values = {NUMBER_OF[part](day) for day in days}
    known = number in values or (sign not in ("==", "!=") and not min(values) < number < max(values))
    try:
        found = evaluate(parse_predicate(f"{part}(day) {sign} {number}"), Universe((attribute,)))
    except PredicateError as error:
        assert not known or any(len(cell) == 2 for cell in cells)
        assert "is no value of" in error.message or "cuts through" in error.message
    else:
        assert known
        assert [{one} for one in found.mask.tolist()] == cells


WRONG_OF_STAFF = [
    ("post like 'boss%'", 10, "no value of 'post' is like 'boss%'", "capitals count"),
    ("post like clerk", 10, "a pattern is expected", "quotes"),
    ("post like 5", 10, "a pattern is expected", "quotes"),
    (r"post like 'a\b'", 10, "a backslash stands before", "backslash itself"),
    ("'a' like 'a'", 0, "a column stands before 'like'", ""),
    ("day like '2024%'", 9, "'day' holds dates", "month(day)"),
    ("post is like 'a'", 8, "expected 'missing'", ""),
    ("post not == 'clerk'", 9, "expected 'in'", ""),
    ("month(post) == 3", 6, "'post' holds no dates, and has no month", ""),
    ("month(5) == 3", 6, "is of a column of dates", "month(day)"),
    ("month(day) == 7", 14, "7 is no value of 'month(day)'", "use 3 or 11"),
    ("month(day) == 2.5", 14, "2.5 is no value", "use 2 or 3"),
    ("month(day) == 'March'", 14, "is a number, found a text", "remove the quotes"),
    ("weekday(day) == 'Satuday'", 16, "is a number, found a text", "did you mean 'Saturday'?"),
    ("day == 'Monday'", 7, "is not a date", "write weekday(day) == 'Monday'"),
    ("hour(day) == 3", 4, "expected a comparison", "month(…)"),
    ("month(day == 3", 10, "expected ')'", ""),
    ("month(day) is missing", 6, "a column stands before 'is missing'", ""),
    ("month(day) like '1'", 6, "a column stands before 'like'", ""),
    ("month(dya) == 3", 6, "no column 'dya'", "did you mean 'day'?"),
    ("month == 3", 0, "no column 'month'", ""),
    ("day >= 2024", 7, "'day' holds dates, found a number", "year(day)"),
    ("day >= 2024-03-01", 11, "found '-03'", "put a day in quotes"),
]


@pytest.mark.parametrize(
    ("text", "offset", "message", "advice"), WRONG_OF_STAFF, ids=[one[0] for one in WRONG_OF_STAFF]
)
def test_a_wrong_pattern_or_part_of_a_day_is_an_error_at_its_place(text, offset, message, advice):
    with pytest.raises(PredicateError) as caught:
        selected(text, STAFF)
    assert message in caught.value.message
    assert advice in caught.value.advice
    assert offset == caught.value.offset


def test_sums_of_columns_are_told_to_be_attributes_of_the_policy():
    for text in ("age + 3 > 5", "age +3 > 5", "age - income > 5", "age * 2 > 5", "age / 2 > 5", "age -3 > 5"):
        with pytest.raises(PredicateError) as caught:
            selected(text)
        assert "is an attribute of the policy, such as 'total: {bins: [0, 10, 20], from: a + b}'" in caught.value.advice


WRONG = [
    ("natve == 'Yes'", 0, "no column 'natve'", "did you mean 'native'?"),
    ("native == 'Yse'", 10, "no value 'Yse'", "did you mean 'Yes'?"),
    ("native == 1", 10, "holds words", "quotes"),
    ("native < 'Yes'", 9, "words have no order", "=="),
    ("native == Yes", 10, "found two columns", "quotes"),
    ("age == 'x'", 7, "holds numbers", "quotes"),
    ("age >= 7", 7, "7 is no value of 'age'", "use 5 or 10"),
    ("age == 99", 7, "99 is no value", "use 10"),
    ("age in [5, 6]", 11, "6 is no value", "use 5 or 10"),
    ("income >= 20", 10, "cuts through the bin [10, 25)", "10 or 25"),
    ("income <= 10", 10, "cuts through the bin [10, 25)", "10 or 25"),
    ("income == 10", 10, "cuts through the bin", ""),
    ("income == 999", 10, "no value of 'income'", ""),
    ("income < 100", 9, "cuts through the bin [25, 100]", ""),
    ("height > 5", 0, "column of several attributes", "home.height or work.height"),
    ("house.height > 5", 0, "no attribute 'house'", "did you mean 'home'?"),
    ("home.heigt > 5", 0, "no column 'home.heigt'", "did you mean 'height'?"),
    ("work.height == 5", 15, "5 is no value", "use 0 or 408.5"),
    ("1 < 2", 4, "found two values", ""),
    ("age = 5", 4, "'=' has no meaning here", "=="),
    ("age == 5 &", 9, "'&' has no meaning here", "'and'"),
    ("age == 5 and", 12, "found the end", ""),
    ("age", 3, "expected a comparison", "'count: true' counts all records"),
    ("(age == 5", 9, "expected ')'", "close the parenthesis"),
    ("age == 5)", 8, "found ')'", ""),
    ("age in (5, 10)", 7, "expected '['", "square brackets"),
    ("age in []", 8, "expected a column, a number or a quoted text", ""),
    ("age in [native]", 8, "a value is expected in this list", "quotes"),
    ("5 in [5]", 0, "a column stands before 'in'", ""),
    ("native == 'Yes", 10, "has no meaning here", "close the quote"),
    ("marital-status == 'once'", 7, "has no meaning here", "backticks"),
    ("age >= 1e999", 7, "1e-30 and 1e30", ""),
    ("", 0, "found the end", ""),
    ("__import__('os').system('true')", 10, "expected a comparison", ""),
    ("age == 5 if true else 0", 9, "found 'if'", ""),
]


@pytest.mark.parametrize(("text", "offset", "message", "advice"), WRONG, ids=[wrong[0] for wrong in WRONG])
def test_a_wrong_condition_is_an_error_at_its_place(text, offset, message, advice):
    with pytest.raises(PredicateError) as caught:
        selected(text)
    assert message in caught.value.message
    assert advice in caught.value.advice
    assert text[:offset] == text[: caught.value.offset]


def test_hostile_conditions_are_refused_quickly():
    for text in ("(" * 5000, "not " * 5000 + "true", "x" * 30_000, "age == " + "9" * 10_000):
        with pytest.raises(PredicateError):
            selected(text)


TOKENS = ["age", "native", "not", "like", "in", "month", "is", "missing", "(", ")", "[", "]", "'%'", "'Y_s'", "==", "3"]


@settings(max_examples=300, deadline=None)
@given(
    st.text(alphabet="age native'Yes\"`.,()[]<>=!0159-+e \n&|", max_size=30)
    | st.lists(st.sampled_from(TOKENS)).map(" ".join)
)
def test_any_text_is_a_condition_or_a_predicate_error_inside_it(text):
    try:
        selected(text)
    except PredicateError as error:
        assert 0 <= error.offset <= len(text)


def test_thresholds_beyond_the_values_select_all_or_nothing():
    assert selected("age < 100").all()
    assert not selected("income < -5").any()
    assert selected("income <= 100").all()
    assert not selected("income > 100").any()


def test_exact_decimals_decide_a_comparison():
    assert selected("home.height >= 408.5").sum() == 2 * UNIVERSE.size // 3
    assert selected("home.height > 408.5").sum() == UNIVERSE.size // 3
    assert selected("home.height > 408.49999999999999999999").sum() == 2 * UNIVERSE.size // 3
