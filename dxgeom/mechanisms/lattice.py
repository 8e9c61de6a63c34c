"""Queries on a lattice: the answer becomes an exact integer before any noise is added.

Noise added to a floating-point answer leaks through the low bits (Mironov 2012). Here answer k is an integer multiple
of a step g_k, and so is its noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.universe.queries import LARGEST_NUMERATOR, LinearQueries, integer_totals

STEPS_PER_SENSITIVITY = 16
"""A step is at most this part of the query's own sensitivity, which costs below 0.02 % of its noise."""
FINEST = 2**30
"""Weights with more digits than this below the sensitivity are rounded, and the plan says by how much."""

KEPT_BITS = 30
"""Rounding leaves at least so many bits of the range of a query's weights, however small the distances."""
_LARGEST = 1e150


@final
@dataclass(frozen=True, eq=False)
class LatticeQueries:
    """Answer k is ``steps[k]·(numerators[k] @ x)``, within ``weight_errors[k]`` per record of what was asked.

    ``numerators`` (K, N): int64 below 2⁵²; ``steps``, ``weight_errors``: exact rationals.
    """

    names: tuple[str, ...]
    numerators: NDArray[np.int64] = field(repr=False)
    steps: tuple[Fraction, ...]
    weight_errors: tuple[Fraction, ...]

    @property
    def float_steps(self) -> NDArray[np.float64]:
        """The steps as float64."""
        return np.array([float(step) for step in self.steps])

    def integer_answers(self, counts: NDArray[np.int64]) -> list[int]:
        """The exact answers in steps. **Not private.**"""
        return integer_totals(self.numerators, counts)


def on_lattice(queries: LinearQueries, sensitivities: NDArray[np.float64]) -> LatticeQueries:
    """Choose each query's step from its sensitivity, keeping weights exact that need no step below 2⁻³⁰ of it.

    Args: ``sensitivities`` (K,): largest |difference|/distance of each row of ``queries.numerators``.
    """
    rows, steps, errors = [], [], []
    for row, unit, sensitivity in zip(queries.numerators, queries.units, sensitivities, strict=True):
        sane = sensitivity == 0 or 1 / _LARGEST < sensitivity < _LARGEST
        if not (sane and 1 / _LARGEST < unit < _LARGEST):
            raise TooLarge("weights over distances leave the range of float64; rescale the query or the policy")
        shift = _shift(row, float(sensitivity))
        rows.append(_shifted(row, shift))
        steps.append(unit * Fraction(2) ** -shift)
        errors.append(_largest_error(row, rows[-1], shift) * unit)
    return LatticeQueries(queries.names, np.array(rows), tuple(steps), tuple(errors))


def _shift(row: NDArray[np.int64], sensitivity: float) -> int:
    """The binary places the unit is refined by (negative: coarsened)."""
    if sensitivity == 0:
        return 0
    needed = math.ceil(math.log2(STEPS_PER_SENSITIVITY / sensitivity))
    if needed > 0:
        return needed
    spare = max(int(np.ptp(row)).bit_length() - KEPT_BITS, 0)
    return -min(max(math.ceil(math.log2(sensitivity / FINEST)), 0), spare)


def _shifted(row: NDArray[np.int64], shift: int) -> NDArray[np.int64]:
    if shift < 0:
        half = 1 << (-shift - 1)
        return np.asarray((row + half) >> -shift)
    if int(np.abs(row).max()) << shift >= LARGEST_NUMERATOR:
        raise TooLarge("a query's weights are too fine next to its noise for 52-bit integers; round its weights")
    return np.asarray(row << shift)


def _largest_error(row: NDArray[np.int64], shifted: NDArray[np.int64], shift: int) -> Fraction:
    if shift >= 0:
        return Fraction(0)
    return Fraction(int(np.abs(row - (shifted << -shift)).max()))
