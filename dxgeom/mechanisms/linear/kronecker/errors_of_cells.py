"""How exact the cells of each table are, where noise along bases makes some more exact than others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.kronecker.blocks import Blocks
from dxgeom.mechanisms.linear.marginals.counts_with_noise import CellErrors


def cell_errors(
    blocks: Blocks, bases: Sequence[NDArray[np.float64] | None], spreads: NDArray[np.float64]
) -> CellErrors:
    """Of noise with these ``spreads`` (coordinates,), up to the rounding of float64."""
    family = blocks.family
    squares = [None if one is None else _centred(one) ** 2 for one in bases]
    free = family.products(np.where(blocks.lengths > 1, 1.0, 1 - 1 / family.sizes))
    parts = {number: _part(blocks, squares, number, spreads) * free[number] for number in range(family.count)}
    mean, most = [], []
    for number in family.asked.tolist():
        whole = _whole(blocks, number, parts)
        mean.append(float(whole.mean()))
        most.append(float(whole.max()))
    return CellErrors(np.array(mean), np.array(most))


def _whole(blocks: Blocks, number: int, parts: dict[int, NDArray[np.float64]]) -> NDArray[np.float64]:
    """The variance of every cell with one of its own, an axis for each attribute, of length 1 where all are alike."""
    family, own = blocks.family, blocks.family.members_of(number)
    level = int(np.searchsorted(family.starts, number, side="right")) - 1
    whole = np.zeros([int(family.sizes[a]) if blocks.lengths[a] > 1 else 1 for a in own])
    for inside in family.below[level][number - family.starts[level]].tolist():
        kept = family.members_of(inside)
        apart = float(family.cells[number] / family.cells[inside]) ** 2
        lengths = iter(parts[inside].shape)
        whole += parts[inside].reshape([next(lengths) if a in kept else 1 for a in own]) / apart
    return whole


def _part(
    blocks: Blocks, squares: Sequence[NDArray[np.float64] | None], number: int, spreads: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What a residual adds to the cells of its own table."""
    table = blocks.table(number, spreads**2)
    for axis, a in blocks.apart(number):
        table = np.moveaxis(np.tensordot(table, squares[a], axes=([axis], [1])), -1, axis)  # type: ignore[arg-type]
    return table


def _centred(basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, m): each vector at every value, of sum 0, from what it has above the first."""
    whole = np.vstack([np.zeros(basis.shape[1]), basis])
    return np.asarray(whole - whole.mean(axis=0))
