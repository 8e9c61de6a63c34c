"""Pictures of what one record can change of a statistic."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from dxgeom.errors import UnsupportedCombination
from dxgeom.lab.statistic_pictures import adjacent_outputs_picture
from dxgeom.learning.adjacent_outputs import ListedOutputs, PolynomialOutputs
from dxgeom.learning.polynomials import bounded_column, moments

pytestmark = pytest.mark.long

COLUMN = bounded_column("x", 0, 1, "1/16")


@pytest.mark.parametrize(
    "outputs",
    [
        PolynomialOutputs(moments([COLUMN])),
        PolynomialOutputs(moments([COLUMN, bounded_column("y", -5, 5, 1)], 1)),
        ListedOutputs(np.array([[0, 0], [1, 0], [0, 1], [3, 3]])),
    ],
    ids=["curve", "box", "listed"],
)
def test_what_one_record_can_change_is_drawn(outputs, tmp_path):
    picture = adjacent_outputs_picture(outputs, ("first $", "second"), tmp_path / "moves.png").read_bytes()
    assert 10_000 < len(picture) < 1_000_000
    assert struct.unpack(">II", picture[16:24]) == (1440, 840)


def test_a_statistic_of_three_entries_is_not_drawn(tmp_path):
    with pytest.raises(UnsupportedCombination, match="two entries"):
        adjacent_outputs_picture(PolynomialOutputs(moments([COLUMN], 3)), ("a", "b"), tmp_path / "e.png")
    assert not (tmp_path / "e.png").exists()
