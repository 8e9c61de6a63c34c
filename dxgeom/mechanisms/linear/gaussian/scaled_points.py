"""Very many differences over what is promised for each, laid out in float64 only a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_ENTRIES: Final = 1 << 18
Places: TypeAlias = NDArray[np.int64] | slice


@final
@dataclass(frozen=True, eq=False)
class PairedShifts:
    """Differences ``columns[first[e]] − columns[second[e]]``, of few ``columns`` (R, m), which are not laid out."""

    columns: NDArray[Any]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    def __getitem__(self, places: Places) -> NDArray[Any]:
        """These, laid out."""
        return np.asarray(self.columns[self.first[places]] - self.columns[self.second[places]])

    def among(self, places: Places) -> PairedShifts:
        """These alone."""
        return PairedShifts(self.columns, self.first[places], self.second[places])


@final
@dataclass(frozen=True, eq=False)
class ScaledPoints:
    """Points v_e = ``shifts[e]``/``promise[e]``, in ``units`` (m,) of each coordinate. ``shifts``: (E, m), or as pairs;
    ``promise`` (E,)."""

    shifts: NDArray[Any] | PairedShifts
    promise: NDArray[np.float64]
    units: NDArray[np.float64]

    @classmethod
    def of(cls, points: NDArray[np.float64]) -> ScaledPoints:
        """Points (E, m) as they are."""
        return cls(points, np.ones(len(points)), np.ones(points.shape[1]))

    def __len__(self) -> int:
        return len(self.promise)

    @property
    def width(self) -> int:
        """m, the number of coordinates."""
        return len(self.units)

    def among(self, places: Places) -> ScaledPoints:
        """The points at these places alone."""
        paired = isinstance(self.shifts, PairedShifts)
        shifts = self.shifts.among(places) if paired else self.shifts[places]  # type: ignore[union-attr]
        return ScaledPoints(shifts, self.promise[places], self.units)

    def rows(self, places: Places) -> NDArray[np.float64]:
        """The points at these places, float64."""
        return np.asarray(self.shifts[places] / self.promise[places, None] / self.units)

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """All of them, some millions of entries at a time."""
        yield from ((here, self.rows(here)) for here in self._places())

    def _places(self) -> Iterator[slice]:
        step = max(1, _ENTRIES // self.width)
        for start in range(0, len(self), step):
            yield slice(start, min(start + step, len(self)))

    def largest(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(m,) twice: the largest magnitude of each coordinate, and a point that has it."""
        sizes, places = np.zeros(self.width), np.zeros(self.width, dtype=np.int64)
        for here, points in self.blocks():
            magnitudes = np.abs(points)
            tops = magnitudes.argmax(axis=0)
            found = magnitudes[tops, np.arange(self.width)]
            # What is not a number stays, and is refused where it is looked at.
            places = np.where(found > sizes, here.start + tops, places)
            sizes = np.maximum(sizes, found)
        return sizes, places

    def lengths(self, onto: NDArray[Any]) -> NDArray[np.float64]:
        """(E,): ‖v_e·onto‖², in the precision of ``onto`` (m, n)."""
        found = np.empty(len(self))
        if isinstance(self.shifts, PairedShifts):
            # A product for each column, and a subtraction for each point.
            turned = (self.shifts.columns / self.units).astype(onto.dtype) @ onto
            for here in self._places():
                steps = turned[self.shifts.first[here]] - turned[self.shifts.second[here]]
                found[here] = np.einsum("ek,ek->e", steps, steps) / self.promise[here] ** 2
            return found
        for here, points in self.blocks():
            turned = points.astype(onto.dtype, copy=False) @ onto
            found[here] = np.einsum("ek,ek->e", turned, turned)
        return found
