"""How much all queries together can change: that of the furthest two columns, however it is found."""

from __future__ import annotations

import numpy as np
import pytest

from dxgeom.metrics import diameters
from dxgeom.metrics.diameters import l1_diameter


@pytest.mark.parametrize("seed", range(20))
def test_the_reach_is_that_of_the_furthest_pair(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(-2, 3, (rng.integers(1, 16), rng.integers(2, 9)))
    cells = np.hstack([np.diag(rng.integers(1, 4, 14)), np.zeros((14, 1), dtype=np.int64)])
    own = values if seed % 2 else cells
    weights = rng.random(len(own)) if seed % 3 else np.ones(len(own))
    apart = (np.abs(own[:, :, None] - own[:, None]) * weights[:, None, None]).sum(axis=0).max()
    assert apart <= l1_diameter(own, weights) == pytest.approx(apart, rel=1e-12)


def test_the_reach_of_cells_is_found_without_looking_at_their_pairs(monkeypatch):
    monkeypatch.setattr(diameters, "all_pairs", None)
    assert l1_diameter(np.eye(256, 257, dtype=np.int64), np.ones(256)) == pytest.approx(2)
