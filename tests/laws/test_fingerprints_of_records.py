"""What an index means, and what rules state, is digested field by field: each one of every class is changed once.

The classes are derived from the package; what carries no meaning is named with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dxgeom.policy.policy  # noqa: F401 (all kinds of attributes and bounds are loaded)
from dxgeom.policy.axes import LineAxis
from dxgeom.policy.bounds.bound import Bound, Constant
from dxgeom.policy.bounds.distance_bounds import Edges, Partition, PerDistance, Threshold
from dxgeom.policy.bounds.joint_bounds import JointBound, JointConstant, LargestChange
from dxgeom.policy.bounds.value_bounds import AmongPresent, ByIndividual, ByValue, MissingValue
from dxgeom.universe.attributes import Attribute, CategoricalAttribute, UnlistedAttribute
from dxgeom.universe.columns import TextColumn
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.numbers.number_cells import RawNumbers
from dxgeom.universe.numbers.numeric_attributes import BinnedAttribute, RangeAttribute
from dxgeom.universe.people.people import People
from dxgeom.universe.periods import PeriodAttribute, Periods
from dxgeom.universe.places import GraphAttribute, Located, PointsAttribute
from dxgeom.universe.polygons import areas_of
from dxgeom.universe.reading.expressions import (
    Arithmetic,
    Expression,
    LocalDay,
    MomentPart,
    Number,
    NumberCell,
    WordCell,
)
from dxgeom.universe.reading.nearest import Nearest
from dxgeom.universe.reading.reading import CellReading, FileForm, OptionalAttribute, Reading
from dxgeom.universe.reading.written import CellRules, Ignored, written_moment
from dxgeom.universe.universe import Universe

ONE, TWO, THREE = map(Fraction, (1, 2, 3))
WORDS = CategoricalAttribute("w", ("x", "y"))
FIRST, SECOND = np.array([0]), np.array([1])
SPOTS = np.array([[1.0, 2.0], [3.0, 4.0]])


def square(at: int) -> Any:
    return [[[[[at, 0.0], [at + 1.0, 0.0], [at + 1.0, 1.0], [at, 0.0]]]]]


NEAREST = Nearest("lo", "la", 5.0, "km", "plane", SPOTS)
PLAIN = CellReading(("w",), "words")
NUMBERS, STEPS = LineAxis("numbers", (ONE, TWO)), LineAxis("steps", (ONE, TWO))

CHANGED: list[tuple[Any, dict[str, Any]]] = [
    (WORDS, {"name": "v", "values": ("y", "x")}),
    (
        RangeAttribute("r", Fraction(0), Fraction(10), Fraction(5)),
        {"name": "s", "low": Fraction(-5), "high": Fraction(14), "step": Fraction(10), "raw": RawNumbers(whole=True)}
        | {"wraps": True},
    ),
    (
        BinnedAttribute("b", (ONE, TWO, THREE)),
        {"name": "c", "edges": (ONE, TWO, Fraction(4)), "raw": RawNumbers(whole=True), "wraps": True},
    ),
    (RawNumbers(clamped=True), {"whole": True, "clamped": False, "true_ends": (ONE, THREE)}),
    (
        DateAttribute("d", date(2024, 1, 1), date(2024, 1, 10), 3),
        {"name": "e", "first": date(2024, 1, 2), "last": date(2024, 1, 11), "step": 9},
    ),
    (
        PointsAttribute("p", ("x", "y"), "plane", SPOTS, "km"),
        {
            "name": "q",
            "keys": ("y", "x"),
            "geometry": "great circle",
            "coordinates": SPOTS + np.array([[0, 0], [0, 1e-12]]),
            "unit": "m",
            "located": NEAREST,
        },
    ),
    (
        GraphAttribute("g", ("x", "y", "z"), FIRST, SECOND, np.array([3]), ONE, "km"),
        {
            "name": "h",
            "nodes": ("y", "x", "z"),
            "first": SECOND,
            "second": np.array([2]),
            "lengths": None,
            "grain": TWO,
            "unit": "m",
        },
    ),
    (OptionalAttribute("w", WORDS), {"name": "v", "inner": CategoricalAttribute("w", ("x", "z"))}),
    (
        Located("lo", "la", areas_of(square(0))),
        {"longitude": "east", "latitude": "north", "areas": areas_of(square(1))},
    ),
    (NEAREST, {"longitude": "east", "latitude": "north", "at_most": 6.0, "unit": "m"}),
    (NumberCell("a"), {"column": "b"}),
    (Number(ONE), {"value": TWO}),
    (Arithmetic("+", NumberCell("a"), Number(ONE)), {"sign": "-", "left": NumberCell("b"), "right": Number(TWO)}),
    (MomentPart("month", "a"), {"part": "hour", "column": "b", "zone": "UTC"}),
    (LocalDay("a"), {"column": "b", "zone": "UTC"}),
    (WordCell("a"), {"column": "b", "length": 1}),
    (
        PLAIN,
        {
            "columns": ("v",),
            "read_as": "numbers",
            "unlisted": 1,
            "expression": WordCell("w", 1),
            "rules": CellRules(trim=True),
        },
    ),
    (
        CellRules(),
        {
            "trim": True,
            "fold": True,
            "missing": ("NA",),
            "words": (("w", "F"),),
            "units": (("kg", ONE),),
            "decimal": ",",
            "thousands": ".",
            "written": (written_moment("31.12.2025"),),
            "century": date(1930, 1, 1),
        },
    ),
    (Ignored("a", ("x",), CellRules()), {"column": "b", "words": ("y",), "rules": CellRules(fold=True)}),
    (
        Reading((PLAIN, PLAIN)),
        {
            "attributes": (PLAIN, CellReading(("v",), "words")),
            "people": People("who", "once"),
            "ignored": (Ignored("a", ("x",), CellRules()),),
            "trimmed": True,
        },
    ),
    (People("who", "once"), {"column": "whose", "count": "single"}),
    (People("who", "rows", 2, "when"), {"at_most": 3, "order": "day"}),
    (People("who", "once", within="day"), {"within": "month"}),
    (
        PeriodAttribute("t", Periods(date(2027, 1, 1), date(2027, 12, 31), "month")),
        {
            "name": "u",
            "periods": Periods(date(2027, 1, 1), date(2027, 12, 31), "quarter"),
            "before": False,
            "after": False,
            "border": Fraction(1, 2),
        },
    ),
    (
        Universe((WORDS, RangeAttribute("r", ONE, TWO, ONE)), listed=np.array([0, 3])),
        {
            "attributes": (WORDS, RangeAttribute("r", ONE, Fraction(5, 2), ONE)),
            "presence": True,
            "listed": np.array([3, 0]),
            "stated_reading": Reading((CellReading(("v",), "words"), CellReading(("r",), "numbers"))),
            "form": FileForm(header=0, names=("a", "b")),
        },
    ),
    (UnlistedAttribute("t"), {"name": "u"}),
    (Constant(ONE), {"epsilon": TWO}),
    (ByValue((ONE, None)), {"epsilons": (None, ONE)}),
    (ByIndividual((ONE, None)), {"epsilons": (None, ONE)}),
    (Threshold(NUMBERS, ONE, ONE), {"axis": STEPS, "epsilon": TWO, "reach": TWO}),
    (PerDistance(NUMBERS, ONE, ONE), {"axis": STEPS, "rate": TWO, "floor": TWO}),
    (Partition((0, 0, 1), ONE), {"blocks": (0, 1, 1), "epsilon": TWO}),
    (Edges(((0, 1), (1, 2)), (ONE, TWO)), {"pairs": ((0, 2), (1, 2)), "epsilons": (TWO, ONE)}),
    (MissingValue(2, ONE), {"epsilon": TWO}),
    (AmongPresent(Constant(ONE), 2), {"inner": Constant(TWO)}),
    (JointConstant(("a", "b"), ONE), {"names": ("a", "c"), "epsilon": TWO}),
    (
        LargestChange(("a", "b"), (PerDistance(NUMBERS, ONE, Fraction(0)),) * 2),
        {"names": ("a", "c"), "each": (PerDistance(NUMBERS, TWO, Fraction(0)),) * 2},
    ),
]
MEANINGLESS = {
    ("PointsAttribute", "further"): "columns for queries, whose weights say what they made of them; bounds by it, too",
    ("GraphAttribute", "further"): "columns for queries, whose weights say what they made of them; bounds by it, too",
    ("Nearest", "geometry"): "that of the attribute, which has it",
    ("Nearest", "places"): "those of the attribute, which has them",
    ("MissingValue", "missing"): "the last code of the attribute, which says that it has one",
    ("Universe", "one_row_each"): "what is assumed in any case; said, it silences a warning",
    ("AmongPresent", "missing"): "the last code of the attribute, which says that it has one",
}
DIGESTED = (Attribute, Expression, Bound, JointBound)
ALONE = (Located, Nearest, CellReading, CellRules, Ignored, People, RawNumbers, Reading, Universe)


def below(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


def shown(thing: Any) -> str:
    digest = thing.data if isinstance(thing, Bound | JointBound) else thing.digest
    return json.dumps(digest)


def test_no_class_and_no_field_is_forgotten():
    classes = {kind for root in DIGESTED for kind in below(root) if is_dataclass(kind) and "dxgeom" in kind.__module__}
    expected = {(kind.__name__, one.name) for kind in {*classes, *ALONE} for one in fields(kind)}
    told = {(type(thing).__name__, name) for thing, changes in CHANGED for name in changes}
    assert told | MEANINGLESS.keys() == expected
    assert not told & MEANINGLESS.keys()


@pytest.mark.parametrize(
    ("thing", "name", "value"),
    [
        pytest.param(thing, name, value, id=f"{type(thing).__name__}.{name}")
        for thing, changes in CHANGED
        for name, value in changes.items()
    ],
)
def test_each_field_changes_the_digest(thing, name, value):
    assert shown(replace(thing, **{name: value})) != shown(thing)


def test_classes_of_equal_fields_have_other_digests():
    for bounds in (True, False):
        digests = [shown(thing) for thing, _ in CHANGED if isinstance(thing, Bound | JointBound) == bounds]
        assert len(set(digests)) == len(digests)


def test_columns_for_queries_are_no_part_of_what_an_index_means():
    further = (TextColumn("area", ("n", "m")),)
    points = PointsAttribute("p", ("x", "y"), "plane", SPOTS, "km")
    assert points.digest == replace(points, further=further).digest
