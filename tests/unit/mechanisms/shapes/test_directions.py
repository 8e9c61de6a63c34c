"""The quasi-Newton search, held against its two loops over moves."""

from __future__ import annotations

import numpy as np
import pytest

from dxgeom.mechanisms.shapes.strategy_program import _MEMORY, _Moves


def by_two_loops(gradient, moves):
    """Nocedal 1980, the textbook's form."""
    way, parts = -gradient, []
    for moved, turned in reversed(moves):
        part = float(moved @ way) / float(moved @ turned)
        way = way - part * turned
        parts.append(part)
    moved, turned = moves[-1]
    way = way * float(moved @ turned) / float(turned @ turned)
    for (moved, turned), part in zip(moves, reversed(parts), strict=True):
        way = way + (part - float(turned @ way) / float(moved @ turned)) * moved
    return way


@pytest.mark.parametrize("count", [1, 2, _MEMORY - 1, _MEMORY, _MEMORY + 1, 3 * _MEMORY + 7])
def test_directions_are_those_of_two_loops_over_the_last_moves(count):
    rng = np.random.default_rng(count)
    bend = rng.normal(size=(60, 60))
    bend = np.eye(60) + bend @ bend.T / 60
    known = _Moves(60)
    moves = []
    for _ in range(count):
        moved = rng.normal(size=60)
        moves = [*moves, (moved, bend @ moved)][-_MEMORY:]
        known.append(*moves[-1])
    gradient = rng.normal(size=60)
    assert len(known) == len(moves)
    assert np.allclose(known.direction(gradient), by_two_loops(gradient, moves), rtol=1e-7, atol=1e-9)


def test_what_was_learnt_is_forgotten():
    known = _Moves(3)
    known.append(np.array([1.0, 0, 0]), np.array([2.0, 0, 0]))
    known.clear()
    assert np.array_equal(known.direction(np.array([0.0, 3, 4])), [0, -0.6, -0.8])
