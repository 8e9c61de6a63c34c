"""The engine's own codes of numbers are the ones that attributes give, float64 by float64."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.opening import opened
from dxgeom.engines.reading import plan_reading
from dxgeom.universe.numbers.number_cells import RawNumbers
from dxgeom.universe.numbers.numeric_attributes import BinnedAttribute, NumericAttribute, RangeAttribute
from dxgeom.universe.reading.reading import OptionalAttribute
from dxgeom.universe.universe import Universe

exact = st.fractions(-1000, 1000, max_denominator=1000)
raw = st.builds(RawNumbers, st.booleans(), st.booleans())
ranges = st.builds(
    lambda low, step, count, part, raw: RangeAttribute("x", low, low + step * count + step * part, step, raw),
    *(exact, st.fractions("1/1000", 50, max_denominator=1000), st.integers(0, 300)),
    *(st.sampled_from([Fraction(0), Fraction(1, 3)]), raw),
)
bins = st.builds(
    lambda edges, raw: BinnedAttribute("x", tuple(sorted(edges)), raw), st.sets(exact, min_size=2, max_size=40), raw
)


def around(attribute: NumericAttribute, more: list[float]) -> list[float | None]:
    """The edges of all codes, their neighbours among float64, and what is no number."""
    edges = [*attribute.lower, *map(float, attribute.ends)]
    near = [float(np.nextafter(edge, to)) for edge in edges for to in (-math.inf, math.inf)]
    strange = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1.7e308, -1.7e308]
    return [*edges, *near, *map(math.floor, edges), *more, *strange, None]


@settings(max_examples=120, deadline=None)
@given(ranges | bins, st.lists(st.floats(-2000, 2000), max_size=20), st.booleans())
@pytest.mark.long
def test_an_engine_codes_each_number_as_its_attribute_does(
    attribute: NumericAttribute, more: list[float], optional: bool
) -> None:
    one = OptionalAttribute("x", attribute) if optional else attribute
    cells = pa.array(around(attribute, more), pa.float64())
    with opened(pa.table({"x": cells}), ("x",)) as source:
        reader = plan_reading(source, Universe((one,)), None)
        grouping = reader.grouping
        assert grouping is not None and grouping.coded == {0}
        coded = source.query(source.rows.select(x=source.rows.k0, code=grouping.keys["c0"])).fetchall()
    numbers = np.array([math.nan if cell is None else cell for cell, _ in coded])
    wanted = one.encode_cells([numbers])
    missing = -1 if one.missing is None else one.missing
    assert [missing if code is None else code for _, code in coded] == wanted.tolist()


@pytest.mark.parametrize("ends", [(Fraction(-5), Fraction(50)), None])
def test_clamped_numbers_are_coded_in_the_end_cells_up_to_the_true_ends(ends: tuple[Fraction, Fraction] | None) -> None:
    attribute = RangeAttribute("x", Fraction(0), Fraction(3), Fraction(1, 2), RawNumbers(False, True, ends))
    table = pa.table({"x": [-6.0, -5.0, -0.1, 0.5, 3.0, 49.0, 51.0]})
    found = histogram_of_table(table, Universe((attribute,)), outside="drop")
    assert found.counts.tolist() == ([2, 1, 0, 0, 0, 0, 2] if ends else [3, 1, 0, 0, 0, 0, 3])


def test_edges_too_many_or_too_far_from_0_to_be_sure_of_are_left_to_the_attribute() -> None:
    many = BinnedAttribute("x", tuple(Fraction(k * k) for k in range(1000)))
    far = RangeAttribute("x", Fraction(10**13), Fraction(10**13 + 100), Fraction(1))
    for attribute in (many, far):
        table = pa.table({"x": [float(attribute.lower[0]), float(attribute.lower[-1])]})
        with opened(table, ("x",)) as source:
            assert (plan_reading(source, Universe((attribute,)), None).grouping is None) == (attribute is many)
        counts = histogram_of_table(table, Universe((attribute,))).counts
        assert (counts[0], counts[-1], counts.sum()) == (1, 1, 2)
