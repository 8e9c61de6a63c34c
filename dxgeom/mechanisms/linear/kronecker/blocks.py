"""The coordinates of the noise in each residual: one for each vector of the bases of its attributes.

An attribute whose values are all equally far apart has no basis: nothing tells its vectors from each other, and all of
them together are one coordinate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.marginals.set_family import SetFamily
from dxgeom.numeric.sealed import Sealed, cached_property

MOST_COORDINATES: Final = 2_000_000


@final
@dataclass(frozen=True, eq=False)
class Blocks(Sealed):
    """``lengths`` (d,): how many vectors the basis of each attribute has, 1 where it has none. A residual's coordinates
    are numbered one after the other, its last attribute's running fastest; those of all sets follow each other."""

    family: SetFamily
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, family: SetFamily, uneven: Sequence[bool]) -> Blocks:
        """Of these attributes with a basis of as many vectors as they have values, but one.

        Raises: TooLarge beyond two million coordinates.
        """
        found = cls(family, np.where(uneven, family.sizes - 1, 1))
        if family.products(found.lengths.astype(np.float64)).sum() > MOST_COORDINATES:
            raise TooLarge(f"noise along bases of all attributes has at most {MOST_COORDINATES:,} coordinates")
        return found

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(sets,): of each residual."""
        return self.family.products(self.lengths.astype(np.float64)).astype(np.int64)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """(sets + 1,): the first coordinate of each residual."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    @property
    def count(self) -> int:
        """Of all residuals together."""
        return int(self.starts[-1])

    @cached_property
    def owners(self) -> NDArray[np.int64]:
        """(count,): the set that each coordinate is of."""
        return np.repeat(np.arange(self.family.count), self.counts)

    def own(self, number: int) -> slice:
        """The coordinates of one residual."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def shape(self, number: int) -> tuple[int, ...]:
        """How many there are along each of its attributes."""
        return tuple(int(self.lengths[a]) for a in self.family.members_of(number))

    def table(self, number: int, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """What all ``coordinates`` have, of one residual, an axis for each attribute."""
        return coordinates[self.own(number)].reshape(self.shape(number))

    @cached_property
    def turned(self) -> NDArray[np.bool_]:
        """(sets,): whether some attribute of the set has a basis."""
        return np.concatenate([(self.lengths[level] > 1).any(axis=1) for level in self.family.levels])

    @cached_property
    def multiplicities(self) -> NDArray[np.float64]:
        """(sets,): how many vectors each coordinate stands for."""
        return self.family.products(np.where(self.lengths > 1, 1.0, self.family.sizes - 1.0))

    @cached_property
    def spots(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Of every coordinate and attribute of its set: the coordinate, the attribute, and which of its vectors."""
        rows, columns, vectors = [], [], []
        for number in range(self.family.count):
            members, shape = self.family.members_of(number), self.shape(number)
            for place, a in enumerate(members):
                along = np.arange(shape[place]).reshape([-1 if at == place else 1 for at in range(len(shape))])
                rows.append(np.arange(self.starts[number], self.starts[number + 1]))
                vectors.append(np.broadcast_to(along, shape).ravel())
                columns.append(np.full(math.prod(shape), a))
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(vectors)

    def apart(self, number: int) -> Iterator[tuple[int, int]]:
        """The attributes of a set that have a basis: their axis in its table, and which they are."""
        for axis, a in enumerate(self.family.members_of(number)):
            if self.lengths[a] > 1:
                yield axis, a
