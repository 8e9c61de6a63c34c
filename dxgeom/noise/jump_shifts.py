"""The shifts that noise jumps along: differences of few columns over distances, which are not laid out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall
from dxgeom.geometry.inverse import Enclosure, inverse_enclosure
from dxgeom.geometry.round_bodies import Ellipsoid, lengths_rounded_up
from dxgeom.numeric.qhull import far_apart
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.sealed import DefinedByNumbers, cached_property, freeze_arrays

_ENTRIES: Final = 1 << 18
_LARGEST: Final = 2**52
_LOST: Final = 2.0**-500
"""Of a length, where squares leave float64 at its lower end: no more, for any number of coordinates."""
_LONG: Final = 10**10
"""Of multiplications: moments that take more are added up column by column, if columns are no more than"""
_FEW_COLUMNS: Final = 4096
_FRAME: Final = 20
"""Shifts for each dimension among which a basis is looked for."""


@final
@dataclass(frozen=True, eq=False)
class JumpShifts(DefinedByNumbers):
    """x_e = (columns[first[e]] − columns[second[e]])/distances[e]: rationals, of exact numbers.

    ``columns`` (R, m): integers below 2⁵² in magnitude; ``first``, ``second`` (E,): places among them; ``distances``
    (E,): positive float64. Raises: NotANormBall for what is no such list.
    """

    columns: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    distances: NDArray[np.float64]

    def __post_init__(self) -> None:
        freeze_arrays(self, "distances")
        freeze_integers(self, "columns", "first", "second")
        places = (self.first, self.second)
        formed = (
            self.columns.ndim == 2
            and min(self.columns.shape) > 0
            and self.distances.ndim == 1
            and self.count > 0
            and all(each.shape == self.distances.shape for each in places)
            and all(each.min() >= 0 and each.max() < len(self.columns) for each in places)
            and self.columns.min() > -_LARGEST
            and self.columns.max() < _LARGEST
        )
        if not (formed and np.all((self.distances > 0) & np.isfinite(self.distances))):
            raise NotANormBall("jumps go along differences of whole columns, each at a positive, finite distance")

    @classmethod
    def listed(cls, steps: NDArray[np.int64], distances: NDArray[np.float64]) -> JumpShifts:
        """The same of differences (E, m) that are laid out."""
        nothing = np.zeros((1, steps.shape[1]), dtype=np.int64)
        own = np.arange(len(steps))
        return cls(np.vstack([steps, nothing]), own, np.full(len(steps), len(steps)), distances)

    @property
    def count(self) -> int:
        """The number E of shifts."""
        return len(self.distances)

    @property
    def width(self) -> int:
        """m, the number of coordinates."""
        return int(self.columns.shape[1])

    def steps(self, places: NDArray[np.int64] | slice) -> NDArray[np.int64]:
        """(n, m): the whole differences at these places."""
        return np.asarray(self.columns[self.first[places]] - self.columns[self.second[places]])

    def points(self, places: NDArray[np.int64] | slice) -> NDArray[np.float64]:
        """(n, m): x_e at these places, float64."""
        return np.asarray(self.steps(places) / self.distances[places, None])

    def blocks(self) -> Iterator[slice]:
        """Places of all shifts, some millions of entries at a time."""
        step = max(1, _ENTRIES // self.width)
        yield from (slice(start, min(start + step, self.count)) for start in range(0, self.count, step))

    def added_to(self, moment: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """(m, m): the ``moment`` and Σ_e weights[e]·x_e·x_eᵀ, for weights (E,) of 0 or more, in float64.

        Of many shifts among few columns it is CᵀLC, of the columns C and the Laplacian L of weights[e]/distances[e]²
        between them: taken from each, their mean changes nothing, and
        little cancels.
        """
        if len(self.columns) <= _FEW_COLUMNS and self.count * self.width**2 > _LONG:
            between = np.zeros((len(self.columns),) * 2)
            np.add.at(between, (self.first, self.second), weights / self.distances**2)
            between += between.T
            centred = (self.columns - np.rint(self.columns.mean(axis=0)).astype(np.int64)).astype(np.float64)
            return np.asarray(moment + centred.T @ (between.sum(axis=1)[:, None] * centred - between @ centred))
        for here in self.blocks():
            points = self.points(here)
            moment = moment + (points * weights[here, None]).T @ points
        return moment

    def lengths(self, ellipsoid: Ellipsoid) -> NDArray[np.float64]:
        """(E,): ‖x_e·distances[e]‖ in the ellipsoid's norm, *rounded up*.

        With w_r the preimages of the columns and e_r what bounds their errors' lengths, it is at most
        ‖w_first − w_second‖ + e_first + e_second. A subtraction is off by half a unit in the last place, a sum of m
        squares by m of them.
        """
        if self._measured and self._measured[0][0] is ellipsoid:
            return self._measured[0][1]
        values, errors = ellipsoid.preimages(self.columns.astype(np.float64))
        slack = lengths_rounded_up(errors, np.zeros_like(errors))
        upward = 1 + (self.width + 8) * UNIT_ROUNDOFF
        found = np.empty(self.count)
        for here in self.blocks():
            first, second = self.first[here], self.second[here]
            steps = values[first]
            steps -= values[second]
            lengths = np.sqrt(np.einsum("ek,ek->e", steps, steps)) * upward
            found[here] = (lengths + slack[first] + slack[second]) * (1 + 8 * UNIT_ROUNDOFF) + _LOST
        found.setflags(write=False)
        self._measured[:] = [(ellipsoid, found)]
        return found

    @cached_property
    def _measured(self) -> list[tuple[Ellipsoid, NDArray[np.float64]]]:
        """The last ellipsoid and what it measured: whoever makes a law asks twice."""
        return []

    def bounds(self, shifts: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,): the norm of shifts (n, m) in the hull of all ±x_e, *rounded up*, for all within ``errors`` of them.

        Of a shift that is one of the differences, its distance; of any other Σ|c_i| over a basis of them, which is not
        below the norm, and mostly far above it.
        """
        bounds = np.full(len(shifts), np.inf)
        whole = np.all((errors == 0) & (shifts == np.floor(shifts)) & (np.abs(shifts) < 2**53), axis=1)
        bounds[whole] = self._listed_distances(shifts[whole].astype(np.int64))
        others = np.flatnonzero(np.isinf(bounds))
        if others.size:
            frame, inverse = self._frame
            values, slack = inverse.images(shifts[others], errors[others])
            sizes = (np.abs(values) + slack) * self.distances[frame]
            bounds[others] = sizes.sum(axis=1) * (1 + (self.width + 4) * UNIT_ROUNDOFF)
        return bounds

    @cached_property
    def _frame(self) -> tuple[NDArray[np.int64], Enclosure]:
        """Places of m shifts that span the space, and the inverse of the differences there."""
        step = max(1, self.count // (_FRAME * self.width))
        for some in (np.arange(0, self.count, step), np.arange(self.count)):
            points = self.points(some)
            frame = np.unique(some[far_apart(points / np.maximum(np.abs(points).max(axis=0), 1e-300))])
            if len(frame) == self.width:
                try:
                    return frame, inverse_enclosure(self.steps(frame).T.astype(np.float64))
                except CertificateRefused:
                    continue
        raise CertificateRefused("the shifts that this noise jumps along do not span the space, as float64 sees them")

    @cached_property
    def _keys(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """What differences are looked up by: multipliers (m,), the keys in rising order (E,), and whose they are."""
        multipliers = np.random.default_rng(0).integers(-(2**62), 2**62, self.width) * 2 + 1
        turned = self.columns @ multipliers
        keys = turned[self.first] - turned[self.second]
        # Of equal differences the nearest comes first.
        order = np.lexsort((self.distances, keys))
        return multipliers, keys[order], order

    def _listed_distances(self, shifts: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n,): the distance of each whole shift that is one of the differences or opposite to one, else infinity."""
        multipliers, keys, order = self._keys
        found = np.full(len(shifts), np.inf)
        for signed in (shifts, -shifts):
            places = order[np.minimum(np.searchsorted(keys, signed @ multipliers), self.count - 1)]
            # Keys, which may overflow, only say where to look: where two collide the bound is wider.
            same = np.all(self.steps(places) == signed, axis=1)
            found = np.where(same, np.minimum(found, self.distances[places]), found)
        return np.where(np.any(shifts, axis=1), found, 0.0)


def freeze_integers(thing: object, *names: str) -> None:
    """Give a frozen thing these arrays in int64 for itself: read-only copies.

    Raises: NotANormBall for what is no array of whole numbers of 64 bits.
    """
    for name in names:
        numbers = np.array(getattr(thing, name))
        if numbers.dtype.kind != "i":
            raise NotANormBall(f"'{name}' of a {type(thing).__name__} is an array of whole numbers")
        numbers = numbers.astype(np.int64)
        numbers.setflags(write=False)
        object.__setattr__(thing, name, numbers)
