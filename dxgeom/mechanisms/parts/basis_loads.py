"""The proof that noise along bases honours the metric: what every change of a record moves, bounded above.

A record that moves from value x to y of attribute a moves the residual of every S ∋ a; with c what it has of the
others it is hidden there as Σ_l (F_a⁻¹Δ)²_l·Π_b (F_b⁻¹e_{c_b})²_l / s²_{S,l}. The worst c is taken for each S on
its own, so the sum is no less than that of any record: for tables of one or two attributes, just that of the worst.

All of it is sums of products of numbers that are not negative, each rounded up; a sum of m products in float64 is off
by less than (m + 1)·2⁻⁵³ of itself in whatever order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds
from dxgeom.mechanisms.parts.bases import Blocks, TurnedShifts
from dxgeom.numeric.rounding import round_down

_LARGEST: Final = 2.0**100
_SPARED: Final = 2.0**-30
"""Pairs are hidden so much better than they have to be, for those that ways along them are almost as long as."""
_VANISHED: Final = 1e-250
"""What products that leave float64 at its lower end add up to at most."""
_AT_ONCE: Final = 1 << 22


@final
@dataclass(frozen=True, eq=False)
class Loads:
    """What is protected: ``distance_bounds`` of attributes whose values are all equally far apart, and of presence;
    ``shifts`` of those with a basis."""

    blocks: Blocks
    distance_bounds: DistanceBounds
    shifts: tuple[TurnedShifts | None, ...]

    def largest(self, spreads: NDArray[np.float64]) -> float:
        """By how much the largest load is above what is allowed, at these ``spreads`` (coordinates,), *rounded up*; ∞
        where something that a record can move has no noise, no number where float64 cannot tell. At most 1: the metric
        is honoured.

        Spreads are positive in every residual that a record can move, else 0.
        """
        proper = spreads.shape == (self.blocks.count,) and bool(np.all((spreads >= 0) & (spreads <= _LARGEST)))
        if not proper or np.any((spreads < 1 / _LARGEST) & self.protected[self.blocks.owners]):
            return math.inf
        noisy = spreads > 0
        rates = np.where(noisy, 1 / np.where(noisy, spreads, 1.0) ** 2 * (1 + 2.0**-50), 0.0)
        # What overflows is not a number, which this keeps and no comparison accepts.
        return float(np.max([0.0, *self._parts(rates)]))

    @property
    def protected(self) -> NDArray[np.bool_]:
        """(sets,): whether a record can move the residual at a finite distance."""
        finite = np.array([self._moves(a) for a in range(len(self.shifts))], dtype=bool)
        return self.blocks.family.touched(finite, self.distance_bounds.presence is not None)

    def _moves(self, a: int) -> bool:
        return self.shifts[a] is not None or self.distance_bounds.least[a] is not None

    def _parts(self, rates: NDArray[np.float64]) -> Iterator[float]:
        family = self.blocks.family
        members = [family.members_of(number) for number in range(family.count)]
        cushion = self._cushion
        if self.distance_bounds.presence is not None:
            whole = sum(self._of_set(number, members[number], None, rates) for number in range(family.count))
            yield float(np.max(whole)) * cushion / _allowed(self.distance_bounds.presence)
        for a, shifts in enumerate(self.shifts):
            if not self._moves(a):
                continue
            own = [number for number, inside in enumerate(members) if a in inside]
            whole = sum(self._of_set(number, members[number], a, rates) for number in own)
            if shifts is not None:
                squares = shifts.distances.distances**2 * (1 - 2 * _SPARED)
                yield float(np.max((whole * cushion + _VANISHED) / squares)) * (1 + 2.0**-50)
            else:
                constant = self.distance_bounds.least[a]
                if constant is not None:
                    yield float(np.max(2 * whole)) * cushion / _allowed(constant)

    @property
    def _cushion(self) -> float:
        """Every sum of products on the way, in all roundings at once."""
        terms = int(self.blocks.lengths.sum()) + self.blocks.family.count + 16 * len(self.shifts) + 64
        return 1 + terms * 2.0**-51

    def _of_set(
        self, number: int, members: Sequence[int], moved: int | None, rates: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """(E,) or (1,): the largest over what else a record has, of each pair of the attribute that is ``moved``."""
        table = self.blocks.table(number, rates)
        free = math.prod((self._free(b) for b in members if b != moved and self.shifts[b] is None), start=1.0)
        turned = [(axis, b) for axis, b in self.blocks.apart(number) if b != moved]
        table = table.reshape([length for length, b in zip(table.shape, members, strict=True) if self._apart(b)])
        order = [b for b in members if self._apart(b)]
        if moved is not None and self._apart(moved):
            place = order.index(moved)
            table = np.moveaxis(table, place, 0)
            steps = self.shifts[moved].pairs  # type: ignore[union-attr]
        else:
            table, steps = table[None], np.ones((1, 1))
        others = [self.shifts[b].cells for _, b in turned]  # type: ignore[union-attr]
        return _worst(steps, table, others) * free

    def _apart(self, a: int) -> bool:
        return self.shifts[a] is not None

    def _free(self, a: int) -> float:
        size = int(self.blocks.family.sizes[a])
        return (size - 1) / size * (1 + 2.0**-51)


def _worst(
    steps: NDArray[np.float64], table: NDArray[np.float64], others: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """(E,): of each row of ``steps`` (E, m) through a table (m, …), the largest over the rows of ``others``."""
    found = np.empty(len(steps))
    widest = math.prod(max(one.shape) for one in others)
    at_once = max(1, _AT_ONCE // max(1, widest))
    for start in range(0, len(steps), at_once):
        part = np.tensordot(steps[start : start + at_once], table, axes=1)
        for one in others:
            part = np.tensordot(part, one, axes=([1], [1]))
        found[start : start + at_once] = part.reshape(len(part), -1).max(axis=1)
    return found


def _allowed(constant: Fraction) -> float:
    return round_down(constant * constant)
