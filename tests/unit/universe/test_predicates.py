from __future__ import annotations

import operator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.errors import PredicateError
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.columns import NumberColumn, TextColumn
from dxgeom.universe.numbers.numeric_attributes import BinnedAttribute, RangeAttribute
from dxgeom.universe.places import PointsAttribute
from dxgeom.universe.predicates import parse_predicate
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
    ("age", 3, "expected a comparison", ""),
    ("(age == 5", 9, "expected ')'", ""),
    ("age == 5)", 8, "found ')'", ""),
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


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="age native'Yes\"`.,()[]<>=!0159-+e \n&|", max_size=30))
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
