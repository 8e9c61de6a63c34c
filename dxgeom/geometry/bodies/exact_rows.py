"""Lists of exact corners and facet normals: along the axes, with every sign, combined over blocks of coordinates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.numeric.blocks import block_slices
from dxgeom.numeric.exact_numbers import ExactNumber, largest, power, rational, total

Rows: TypeAlias = list[list[fmpq]]
MOST_ROWS = 1 << 17
"""More corners or facets than this are not listed."""


def rationals(lengths: NDArray[np.float64]) -> list[fmpq]:
    """Each float64 (m,) as the rational that it is."""
    return [rational(length) for length in lengths.tolist()]


def reciprocals(lengths: NDArray[np.float64]) -> fmpq_mat:
    """The diagonal matrix (m, m) of 1/length."""
    return fmpq_mat(diagonal([1 / length for length in rationals(lengths)]))


def diagonal(entries: list[fmpq]) -> Rows:
    """The entries along the diagonal, zeros elsewhere."""
    return [[x if k == j else fmpq(0) for j in range(len(entries))] for k, x in enumerate(entries)]


def dot(row: Sequence[fmpq], point: Sequence[fmpq]) -> fmpq:
    """``row·point``."""
    return sum((a * x for a, x in zip(row, point, strict=True)), fmpq(0))


def image_of(matrix: NDArray[np.float64], point: Sequence[fmpq]) -> list[fmpq]:
    """``matrix @ point``."""
    return [dot(rationals(row), point) for row in matrix]


def highest(direction: Sequence[fmpq], points: Iterable[Sequence[fmpq]]) -> ExactNumber:
    """The largest of direction·point."""
    return largest(dot(direction, point) for point in points)


def on_the_axes(lengths: list[fmpq]) -> Rows:
    """±lengths[k] on axis k and zeros elsewhere."""
    return [[sign * x for x in row] for row in diagonal(lengths) for sign in (1, -1)]


def every_sign(lengths: list[fmpq]) -> Rows:
    """The lengths with every choice of signs. Raises: TooLarge."""
    return combined([[[length], [-length]] for length in lengths]) or []


def combined(parts: Sequence[Rows | None]) -> Rows | None:
    """Every choice of one row from each part, side by side; None where one is None. Raises: TooLarge."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if math.prod(len(part) for part in known) > MOST_ROWS:
        raise TooLarge(f"a body with more than {MOST_ROWS:,} corners or facets is not compared corner by corner")
    return [list(itertools.chain(*rows)) for rows in itertools.product(*known)]


def side_by_side(rows: Sequence[Rows | None], sizes: Sequence[int]) -> Rows | None:
    """The rows of every part, with zeros in the other parts' coordinates; None where one is None."""
    known = [part for part in rows if part is not None]
    if len(known) < len(rows):
        return None
    blocks = block_slices(sizes)
    size = blocks[-1].stop
    return [
        [fmpq(0)] * block.start + row + [fmpq(0)] * (size - block.stop)
        for part, block in zip(known, blocks, strict=True)
        for row in part
    ]


def dual_power_norm(sizes: list[fmpq], exponent: float) -> ExactNumber:
    """max of Σ sizes·u over ‖u‖_p ≤ 1, for sizes of at least 0."""
    if exponent == 1:
        return largest(sizes)
    dual = Fraction(1) if math.isinf(exponent) else Fraction(exponent) / (Fraction(exponent) - 1)
    return power(total(power(size, dual) for size in sizes), 1 / dual)
