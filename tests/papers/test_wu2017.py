"""Figures of "The policies of designing differentially private mechanisms: utility first vs. privacy first"."""

from __future__ import annotations

import pytest
from reference.paper_figures import figures_of, require_as_in_the_table


@pytest.mark.long
def test_every_figure_is_what_was_computed_elsewhere_and_what_the_page_shows():
    rows, shown = figures_of("wu2017")
    for row in rows:
        assert row.computed == pytest.approx(row.reference, abs=row.within), row.figure
    assert [row.line() for row in rows] == shown
    assert require_as_in_the_table((row.figure, row.computed, row.within) for row in rows) == 1
