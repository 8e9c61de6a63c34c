"""How noise in residuals, or in tables, makes up the noise of each marginal: in whole numbers over a common divisor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.marginals.laplace_scales import MeasuredTables
from dxgeom.mechanisms.linear.marginals.set_family import SetFamily

SHARES: Final = 1 << 12
"""Measurements of one residual are averaged in whole parts of this."""


def measurement_shares(question: MeasuredTables, scales: NDArray[np.float64]) -> dict[int, dict[int, int]]:
    """For each protected S, by number, the part of :data:`SHARES` that each measured table has in its average.

    Next to the best, in proportion to their exactness; they add up exactly. Every step is one of float64's four
    operations in a fixed order, the same on every machine.
    """
    inner, outer, spread = question.measurements
    used = scales[outer] > 0
    inner, outer, each = inner[used], outer[used], 1 / (2 * spread[used] * scales[outer[used]] * scales[outer[used]])
    whole = np.bincount(inner, each, question.count)
    parts = np.floor(each / whole[inner] * SHARES).astype(np.int64)
    shares: dict[int, dict[int, int]] = {place: {} for place in np.unique(inner).tolist()}
    for small, large, part in zip(inner.tolist(), outer.tolist(), parts.tolist(), strict=True):
        shares[small][large] = part
    for own in shares.values():
        heaviest = max(own, key=lambda large: (own[large], -large))
        own[heaviest] += SHARES - sum(own.values())
    return {small: {large: part for large, part in own.items() if part} for small, own in shares.items()}


def spread_of_residual(residual: Sequence[int], table: Sequence[int], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """(cells, Π(n−1)): Π_{a∈A} n_a times what each difference in the residual of S, as ``DifferencedNormals`` has them,
    adds to each cell of the marginal A ⊇ S."""
    factors = [_from_differences(int(sizes[a])) if a in residual else np.ones((int(sizes[a]), 1), int) for a in table]
    return reduce(np.kron, factors, np.ones((1, 1), dtype=np.int64))


def measured_shape(family: SetFamily, number: int) -> tuple[int, ...]:
    """How many numbers a measured table has along each of its attributes: one where it is of differences."""
    sizes = [int(family.sizes[a]) for a in family.members_of(number % family.count)]
    return tuple(1 if number >= family.count and size == 2 else size for size in sizes)


def spread_of_table(
    residual: Sequence[int], measured: Sequence[int], table: Sequence[int], sizes: NDArray[np.int64], differing: bool
) -> NDArray[np.int64]:
    """(cells of A, numbers of B): Π_{a∈A} n_a times what each number of the measured table B adds to each cell of the
    marginal A through the residual of S, S inside both. ``differing``: whether B is of differences."""
    factors = []
    for a in sorted({*measured, *table}):
        size = int(sizes[a])
        if a in residual and differing and size == 2:
            factors.append(np.array([[1], [-1]], dtype=np.int64))
        elif a in residual:
            factors.append(size * np.eye(size, dtype=np.int64) - 1)
        else:
            factors.append(np.ones((size if a in table else 1, size if a in measured else 1), dtype=np.int64))
    return reduce(np.kron, factors, np.ones((1, 1), dtype=np.int64))


def _from_differences(size: int) -> NDArray[np.int64]:
    return size * np.eye(size, size - 1, k=-1, dtype=np.int64) - 1


def residual_table(differences: NDArray[Any]) -> NDArray[Any]:
    """Π n_a times the table with margins zero that has these differences along every axis, (n_a − 1, …) to (n_a, …)."""
    for axis in range(differences.ndim):
        total = differences.sum(axis=axis, keepdims=True)
        rest = (differences.shape[axis] + 1) * differences - total
        differences = np.concatenate([-total, rest], axis=axis)
    return differences


def centred(table: NDArray[Any]) -> NDArray[Any]:
    """Π n_a times the table less its margins; an axis of one number is of differences of two."""
    for axis in range(table.ndim):
        if table.shape[axis] == 1:
            table = np.concatenate([table, -table], axis=axis)
        else:
            table = table.shape[axis] * table - table.sum(axis=axis, keepdims=True)
    return table


def summed_to(table: NDArray[Any], own: Sequence[int], kept: Sequence[int]) -> NDArray[Any]:
    """The margin of a table over the attributes ``own`` that is over those ``kept``."""
    return np.asarray(table.sum(axis=tuple(place for place, a in enumerate(own) if a not in kept)))


def put_together(
    family: SetFamily, number: int, residuals: Mapping[int, NDArray[Any]], kind: type[Any]
) -> NDArray[Any]:
    """The noise of one marginal times its divisor: its residuals' tables, each over the cells it is spread over."""
    own = family.members_of(number)
    table = np.zeros([int(family.sizes[a]) for a in own], dtype=kind)
    for inside in subsets(family, number):
        if inside in residuals:
            kept = family.members_of(inside)
            shape = [int(family.sizes[a]) if a in kept else 1 for a in own]
            table += residuals[inside].reshape(shape)
    return table


def subsets(family: SetFamily, number: int) -> Iterator[int]:
    """The numbers of all sets inside one."""
    level = int(np.searchsorted(family.starts, number, side="right")) - 1
    yield from family.below[level][number - family.starts[level]].tolist()
