from __future__ import annotations

import sys

import numpy as np
import pytest

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.synthetic.graphical_model import NoisyTable, estimate

SHAPE = (2, 4, 3)


def table(joint, axes, deviations):
    others = tuple(axis for axis in range(joint.ndim) if axis not in axes)
    values = joint.sum(axis=others).ravel()
    return NoisyTable(axes, values, np.broadcast_to(np.asarray(deviations, dtype=np.float64), values.shape))


@pytest.mark.needs("mbi")
def test_two_tables_that_share_an_attribute_give_the_product_that_is_independent_given_it():
    joint = np.random.default_rng(0).uniform(1, 10, SHAPE) * 100
    uneven = np.linspace(0.5, 1.5, 12)
    found = estimate(SHAPE, [table(joint, (0, 1), 1.0), table(joint, (1, 2), uneven)], float(joint.sum()), 0.05)
    first, second, shared = joint.sum(axis=2), joint.sum(axis=0), joint.sum(axis=(0, 2))
    expected = first[:, :, None] * second[None] / shared[None, :, None] / joint.sum()
    assert found.sum() == pytest.approx(1)
    assert np.abs(found - expected.ravel()).max() * joint.sum() < 0.5
    assert np.abs(joint - expected * joint.sum()).max() > 100


@pytest.mark.needs("mbi")
def test_it_stops_as_soon_as_the_misfit_is_small_enough():
    joint = np.random.default_rng(0).uniform(1, 10, SHAPE) ** 3
    tables = [table(joint, (0, 1), 0.01), table(joint, (1, 2), 0.01), table(joint, (0, 2), 0.01)]
    misfits = []
    for enough in (1e4, 10.0):
        found = estimate(SHAPE, tables, float(joint.sum()), enough).reshape(SHAPE) * joint.sum()
        off = [table(found, one.axes, 0.01).values - one.values for one in tables]
        misfits.append(np.mean(np.concatenate(off) ** 2) / 0.01**2)
    assert misfits[1] <= 10 < misfits[0] <= 1e4


@pytest.mark.needs("mbi")
def test_the_settings_of_jax_stay_as_they_were():
    joint = np.ones(SHAPE)
    estimate(SHAPE, [table(joint, (0,), 1.0)], 24.0, 1.0)
    import jax

    assert not jax.config.jax_enable_x64


def test_without_mbi_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mbi", None)
    with pytest.raises(UnsupportedCombination, match=r"dxgeom\[mbi\]"):
        estimate(SHAPE, [table(np.ones(SHAPE), (0,), 1.0)], 24.0, 1.0)


def test_universes_too_large_to_be_laid_out_are_refused_before_mbi_is_loaded(monkeypatch):
    monkeypatch.setitem(sys.modules, "mbi", None)
    with pytest.raises(TooLarge, match="possible records"):
        estimate((3000, 3000), [], 1.0, 1.0)
