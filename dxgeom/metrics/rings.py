"""How far apart tables are that agree in the counts of classes: rings of people who change places.

Two tables of equal counts of classes differ by a change in which as many records leave each class as come. An
elementary one, no proper part of which keeps all counts, replaces at most one record in each class of a ring. Records i
and j of two classes are in a ring of m people that costs at most ecc(i) + ecc(j) + the m − 2 largest diameters of other
classes, each within its class; and at most d(i, j) + (m − 1)·(the largest distance of all).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.diameters import closed_form
from dxgeom.metrics.metric import Metric

_UP: Final = 1 + 1e-9
"""Compiled distances are each rounded down, by less than this in all."""
_LAID_OUT: Final = 2048
"""So many values are compared pair by pair."""
_Integers: TypeAlias = NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class Rings:
    """What a ring of people costs at most, by classes; everything *rounded up*.

    ``diameters``: (K,) of the classes; ``widest``: no two records are farther apart.
    """

    diameters: NDArray[np.float64] = field(repr=False)
    widest: float

    def others(self, first: int, second: int, people: int) -> float:
        """The people − 2 largest diameters of classes other than these two, added up."""
        rest = np.delete(self.diameters, [first, second])
        return float(np.sort(rest)[::-1][: max(0, people - 2)].sum()) * _UP

    def cost(self, ends: tuple[float, float], classes: tuple[int, int], apart: float, people: int) -> float:
        """At most so far are tables apart in which one person's record is the one or the other, of two classes, by a
        ring of at most so many people. Args: ``ends``: the eccentricities of both records in their classes."""
        around = ends[0] + ends[1] + self.others(*classes, people)
        return min(around, apart * _UP + (people - 1) * self.widest) * _UP

    def most(self, farthest: float, people: int) -> float:
        """The same for any two records of two classes. Args: ``farthest``: how far apart such records are at most."""
        largest = np.sort(self.diameters)[::-1][: max(2, people)]
        return min(float(largest.sum()), farthest * _UP + (people - 1) * self.widest) * _UP


def rings_of_elements(metric: Metric, labels: _Integers) -> tuple[Rings, NDArray[np.float64], float]:
    """The rings of few records, the eccentricity of each in its class, and how far records of two classes are apart at
    most. Args: ``labels``: (size,) the class of each, −1 where there is no such record."""
    codes = np.flatnonzero(labels >= 0)
    apart = np.asarray(metric.distance(codes[:, None], codes[None, :])) * _UP
    own = labels[codes]
    same = own[:, None] == own[None, :]
    inside = np.where(same, apart, 0.0).max(axis=1)
    diameters = np.zeros(int(own.max()) + 1)
    np.maximum.at(diameters, own, inside)
    eccentricities = np.zeros(len(labels))
    eccentricities[codes] = inside
    return Rings(diameters, float(apart.max())), eccentricities, float(np.where(same, 0.0, apart).max())


@final
@dataclass(frozen=True, eq=False)
class ClassesByParts:
    """Classes over some axes of a product of which each axis has a metric; others are free.

    A class lies in the product of the codes that it has on each axis, so that the diameters of these add up to no less
    than its own, which they are where it is that product and distances add.
    ``ceiling``: no two records are farther apart. ``absent``: the class of the absent record, None where there is none,
    which is ``away`` from all others.
    """

    parts: Sequence[Metric]
    axes: tuple[int, ...]
    labels: _Integers  # over these axes; −1 where there is no such record
    classes: int
    ceiling: float
    absent: int | None = None
    away: float = 0.0

    def rings(self) -> Rings:
        """The rings, *rounded up*."""
        free = sum(_diameter(part) for axis, part in enumerate(self.parts) if axis not in self.axes)
        total = np.full(self.classes, free, dtype=np.float64)
        flat, widest = self.labels.ravel(), free
        for place, axis in enumerate(self.axes):
            codes = self._codes(place)
            diameters = _of_groups(flat, codes, self.classes, self._diameter_of(self.parts[axis]))
            total += diameters
            widest += _diameter(self.parts[axis])
        found = np.minimum(total * _UP, self.ceiling)
        if self.absent is not None:
            alone = not np.any(flat == self.absent)
            found[self.absent] = 0.0 if alone else max(found[self.absent], self.away)
        return Rings(found, max(min(widest * _UP, self.ceiling), self.away))

    def eccentricity(self, codes: Sequence[int] | None, label: int) -> float:
        """How far a record is from others of its class at most, *rounded up*. Args: its code on each axis, None of the
        absent record."""
        total = 0.0
        if codes is None:
            return self.away if np.any(self.labels == label) else 0.0
        flat = self.labels.ravel()
        for axis, part in enumerate(self.parts):
            if axis in self.axes:
                others = np.unique(self._codes(self.axes.index(axis))[flat == label])
                total += float(np.max(part.distance(codes[axis], others), initial=0.0))
            else:
                total += _farthest(part, codes[axis])
        found = min(total * _UP, self.ceiling)
        return max(found, self.away) if label == self.absent else found

    def _codes(self, place: int) -> _Integers:
        shape = [size if at == place else 1 for at, size in enumerate(self.labels.shape)]
        own = np.arange(self.labels.shape[place], dtype=np.int64).reshape(shape)
        return np.broadcast_to(own, self.labels.shape).ravel()

    def _diameter_of(self, part: Metric) -> Callable[[_Integers], float]:
        def found(codes: _Integers) -> float:
            if len(codes) == part.size or len(codes) > _LAID_OUT:
                return _diameter(part)
            return float(np.max(part.distance(codes[:, None], codes[None, :])))

        return found


def _of_groups(
    labels: _Integers, codes: _Integers, classes: int, diameter: Callable[[_Integers], float]
) -> NDArray[np.float64]:
    """The diameter of the codes of each class; equal sets of codes are looked at once."""
    there = labels >= 0
    pairs = np.unique(np.stack([labels[there], codes[there]]), axis=1)
    starts = np.searchsorted(pairs[0], np.arange(classes + 1))
    found, known = np.zeros(classes), dict[bytes, float]()
    for one in np.flatnonzero(np.diff(starts) > 1).tolist():
        own = pairs[1, starts[one] : starts[one + 1]]
        key = own.tobytes()
        if key not in known:
            known[key] = diameter(own)
        found[one] = known[key]
    return found


def _diameter(part: Metric) -> float:
    if part.size <= _LAID_OUT:
        codes = np.arange(part.size)
        return float(np.max(part.distance(codes[:, None], codes[None, :])))
    known = closed_form(part)[0]
    return 2 * _farthest(part, 0) if known is None else known


def _farthest(part: Metric, code: int) -> float:
    return float(np.max(part.distance(code, np.arange(part.size))))
