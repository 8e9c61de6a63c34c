"""Pages and cells of each example are drawn as they were recorded."""

from __future__ import annotations

import numpy as np
import pytest
from services.browser import Browser
from services.recorded_pictures import CELLS, EXAMPLES, PAGES, differing, pictures_of, recorded

pytestmark = pytest.mark.service("browser")
MOST = 0.01
"""Blocks of a picture that may differ: a number may be one digit longer on another processor."""


@pytest.fixture(scope="module")
def browser():
    one = Browser()
    yield one
    one.close()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_drawn_as_recorded(browser, tmp_path, name):
    found, kept = pictures_of(browser, tmp_path, name), recorded(name)
    assert set(found) == set(kept) == {*PAGES, *CELLS}
    for look, blocks in found.items():
        others = differing(blocks, kept[look])
        assert len(others) <= MOST * blocks.size, (look, blocks.shape, kept[look].shape, others[:20])


def test_what_differs_is_found():
    one = np.full((30, 10), 15)
    assert differing(one, one) == []
    other = one.copy()
    other[3, 4], other[5, 6] = 13, 14
    assert differing(one, other) == [(3, 4)]
    assert len(differing(one, one[:29])) == 10 and len(differing(one[:, :9], one)) == 30
