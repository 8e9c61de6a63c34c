"""The compiled loops and those in NumPy agree to the last bit."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.claimed_distances import KINDS, SIZE, euclidean, symmetric

import dxgeom as dx
from dxgeom.metrics import detours
from dxgeom.metrics.detours import half_precision_copy, suspects, worst_detour

rows = st.integers(1, 70)
starts = st.integers(0, SIZE - 1)
seeds = st.integers(0, 2**32 - 1)


@pytest.fixture(scope="module")
def compiled():
    from dxgeom.metrics import detours_compiled

    return detours_compiled


def with_gaps(matrix, seed):
    """Some pairs infinitely far apart."""
    gaps = np.random.default_rng(seed).random(matrix.shape) < 0.3
    return np.where(gaps | gaps.T, np.where(np.eye(len(matrix)) > 0, 0.0, np.inf), matrix)


@pytest.mark.needs("numba")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("connected", [True, False])
@settings(max_examples=10)
@given(seed=seeds, start=starts, height=rows)
def test_both_find_the_same_worst_detour_and_the_same_shortest_ones(compiled, kind, connected, seed, start, height):
    matrix = symmetric(KINDS[kind](seed))
    matrix = matrix if connected else with_gaps(matrix, seed)
    stop = min(start + height, SIZE)
    here = (matrix, start, stop)
    assert np.array_equal(compiled.shortest_detours(*here), detours.InNumPy().shortest_detours(*here))
    assert worst_detour(*here, None, compiled) == worst_detour(*here, None, detours.InNumPy())


@pytest.mark.needs("numba")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "beyond any exponent"])
@settings(max_examples=10)
@given(seed=seeds, start=starts, height=rows, slack=st.sampled_from([0, 1]))
def test_both_suspect_the_same_pairs_and_find_the_same_worst_of_them(compiled, kind, seed, start, height, slack):
    matrix = symmetric(KINDS[kind](seed))
    stop = min(start + height, SIZE)
    coarse = half_precision_copy(matrix)
    assert coarse is not None
    here = (coarse.entries, start, stop)
    assert np.array_equal(compiled.shortest_coarse(*here), detours.InNumPy().shortest_coarse(*here))
    coarse = replace(coarse, slack=slack)
    suspected, count = suspects(coarse, start, stop, detours.InNumPy())
    again, as_many = suspects(coarse, start, stop, compiled)
    assert (np.array_equal(suspected, again), as_many) == (True, count)
    here = (matrix, start, stop, coarse)
    assert worst_detour(*here, compiled) == worst_detour(*here, detours.InNumPy())


@pytest.mark.needs("numba")
def test_large_matrices_are_compiled_where_numba_is_installed(compiled):
    detours._compiled.cache_clear()
    assert detours.fastest(detours.COMPILED_FROM) is compiled
    assert isinstance(detours.fastest(detours.COMPILED_FROM - 1), detours.InNumPy)
    assert not detours.slow_for_want_of_numba(detours.COMPILED_FROM)


def test_without_numba_all_is_done_in_numpy_and_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "dxgeom.metrics.detours_compiled", raising=False)
    detours._compiled.cache_clear()
    try:
        assert isinstance(detours.fastest(detours.COMPILED_FROM), detours.InNumPy)
        assert detours.slow_for_want_of_numba(detours.COMPILED_FROM)
        assert not detours.slow_for_want_of_numba(detours.COMPILED_FROM - 1)
        monkeypatch.setattr(detours, "COMPILED_FROM", 100)
        assert dx.verify_metric(euclidean(5, 100)).size == 100
    finally:
        detours._compiled.cache_clear()
