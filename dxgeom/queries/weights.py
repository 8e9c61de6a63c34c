"""Exact weights of the queries of one entry of a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.universe.queries import RECORDS
from dxgeom.universe.weight_table import LARGEST_NUMERATOR, WeightTable
from dxgeom.universe.workloads.groups import AnswerOrigin

Row: TypeAlias = NDArray[np.int64]


@final
class TooFine(Exception):
    """Weights over a common denominator do not fit 52 bits. Never leaves this room."""


@final
@dataclass(frozen=True)
class AskedQueries:
    """The queries of one entry: ``names`` and ``units`` of each, and their weights in tables of that order.

    ``measure``: what all of them are measured in. ``error``: the one that each may have, where that was asked for.
    ``counted``: of a query with one answer, the records that it is about, 1 for each and 0 elsewhere. ``origins``: what
    each answer is about, where that is more than the query's name.
    """

    names: tuple[str, ...]
    units: tuple[Fraction, ...]
    tables: tuple[WeightTable, ...]
    importance: Fraction = Fraction(1)
    measure: str = RECORDS
    error: Fraction | None = None
    counted: WeightTable | None = None
    origins: tuple[AnswerOrigin, ...] = ()


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
