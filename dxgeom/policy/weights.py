"""Exact weights of one query over the record types, built row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.universe.queries import LARGEST_NUMERATOR
from dxgeom.universe.universe import Universe

Row: TypeAlias = NDArray[np.int64]


class TooFine(Exception):
    """Weights over a common denominator do not fit 52 bits. Never leaves this room."""


@final
@dataclass(frozen=True)
class Workload:
    """Some queries, not yet laid out: ``names`` and ``units`` of each, and how to write row k into an (N,) array."""

    names: tuple[str, ...]
    units: tuple[Fraction, ...]
    row: Callable[[int], Row]


def integers_over_unit(numbers: Sequence[Fraction]) -> tuple[Row, Fraction]:
    """Integers and one positive unit whose products are the numbers, exactly.

    Raises: TooFine.
    """
    denominator = 1
    for number in set(numbers):
        denominator = math.lcm(denominator, number.denominator)
        if denominator >= LARGEST_NUMERATOR:
            raise TooFine(f"over a common denominator these numbers need more than {LARGEST_NUMERATOR:,}")
    scaled = [number.numerator * (denominator // number.denominator) for number in numbers]
    divisor = math.gcd(*scaled) or 1
    if max(map(abs, scaled)) // divisor >= LARGEST_NUMERATOR:
        raise TooFine(f"over a common denominator these numbers exceed {LARGEST_NUMERATOR:,}")
    return np.array([entry // divisor for entry in scaled], dtype=np.int64), Fraction(divisor, denominator)


def along(universe: Universe, axis: int, values: Row) -> Row:
    """Values by code of one attribute, shaped to broadcast over the universe."""
    return universe.spread(axis, values)


def laid_out(universe: Universe, values: NDArray[np.int64]) -> Row:
    """An array that broadcasts over the universe, as one flat row; 0 for the absent record."""
    return universe.laid_out(values.astype(np.int64, copy=False))
