"""Every form that drafts propose is one that policies read, and reads the same cells."""

from __future__ import annotations

from datetime import datetime

import pytest

from dxgeom.starting.form import _CLOCKS, _DAYS, Convention, best_days, day_forms, is_like_data, reads
from dxgeom.universe.reading.written import written_moment


@pytest.mark.parametrize("day", _DAYS)
def test_a_policy_reads_what_a_form_writes(day):
    for form in (day + clock for clock in _CLOCKS):
        way = written_moment(form)
        for month in range(1, 13):
            text = way.write(datetime(2013, month, 27, 13, 7, 9))
            assert form in [found.written for found in day_forms([text])], text
            assert way.read(text) is not None


@pytest.mark.parametrize(
    ("cells", "forms"),
    [
        (["03/04/2025", "05/06/2025"], {"31/12/2025", "12/31/2025"}),
        (["03/04/2025", "13/06/2025"], {"31/12/2025"}),
        (["03/04/2025", "13/06/2025", "06/13/2025"], {"31/12/2025", "12/31/2025"}),
        (["31.12.75"], {"31.12.25"}),
        (["2025-03-04", "2025-03-05"], {"2025-12-31"}),
        (["word"], set()),
    ],
)
def test_the_ways_to_read_days_are_as_many_as_nobody_can_tell_apart(cells, forms):
    assert {form.written for form in best_days(dict.fromkeys(cells, 1))[0]} == forms


@pytest.mark.parametrize("cell", ["", "7", "1,5", "007", "2025-01-02", "12:30", "a@b.org", "x" * 99, "3 Mar 2025"])
def test_what_is_no_name_of_a_column(cell):
    assert is_like_data(cell)
    assert not is_like_data("Alter")


@pytest.mark.parametrize(
    ("sign", "cell", "number"),
    [
        (Convention(",", "."), "1.234,5", "1234.5"),
        (Convention(",", "."), "12.34", None),
        (Convention(".", ","), "0,123", None),
        (Convention(".", " "), "1 234.5", "1234.5"),
        (Convention(".", ""), "1e5", "1e5"),
        (Convention(".", ""), "0x10", None),
        (Convention(".", ""), "nan", None),
    ],
)
def test_numbers_by_convention(sign, cell, number):
    assert reads(sign, cell) == number
