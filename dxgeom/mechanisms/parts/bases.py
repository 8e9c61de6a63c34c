"""A basis of what an attribute's values tell beyond their total, in which noise of different size hides its distances.

The coordinates of the noise in each residual: one for each vector of the bases of its attributes. How far the values
are from each other: pairs of which all others are made. How exact the cells of each table then are: some more than
others.

An attribute whose values are all equally far apart has no basis: nothing tells its vectors from each other, and all of
them together are one coordinate.

The general solver finds the best covariance for the counts of the attribute alone, and weights of its pairs that prove
it. The basis is that of the eigenvectors of L = Σ_e q_e Δ_eΔ_eᵀ/d_e², q these weights: in it the covariance is
diagonal, and so is every sum of such over several attributes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.geometry.inverse import inverse_enclosure
from dxgeom.mechanisms.linear.distance_bounds import parts_of
from dxgeom.mechanisms.parts.tables import CellErrors, SetFamily
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import round_up
from dxgeom.numeric.sealed import Sealed, cached_property

MOST_VALUES: Final = 256
"""Of attributes that tell more apart no basis is sought: their least distance stands for all."""
_LISTED: Final = 4096
_ALIKE: Final = 2.0**-48


@final
@dataclass(frozen=True, eq=False)
class ValueDistances(Sealed):
    """Pairs of values ``first``, ``second`` (E,) of an attribute of so many, with their ``distances`` (E,), *rounded
    down*: no other two values are further apart than a way along these, but for a part in 2⁴⁸ for each pair that is
    left out, and what is at no finite distance."""

    size: int
    first: NDArray[np.int64] = field(repr=False)
    second: NDArray[np.int64] = field(repr=False)
    distances: NDArray[np.float64] = field(repr=False)


def uneven_distances(
    metric: Metric, shape: Sequence[int], classes: dict[int, NDArray[np.int64]]
) -> tuple[ValueDistances | None, ...]:
    """Of each attribute whose values are not all equally far apart, as :func:`promise_of` has them; None of others.

    Values of one class are not told apart; classes are as far apart as their nearest values. Two records are never
    further apart than both are from none, so pairs at that distance are left out.
    Raises: TooLarge where the metric is no sum over attributes.
    """
    records = metric.inner if isinstance(metric, PresenceMetric) else metric
    farthest = 2 * round_up(metric.epsilon) if isinstance(metric, PresenceMetric) else np.inf
    parts = parts_of(records, shape)
    return tuple(_uneven(parts[axis], own, farthest) for axis, own in sorted(classes.items()))


def _uneven(metric: Metric, classes: NDArray[np.int64], farthest: float) -> ValueDistances | None:
    size = int(classes.max()) + 1
    if isinstance(metric, DiscreteMetric) or metric.size > _LISTED or not 2 < size <= MOST_VALUES:
        return None
    values = np.arange(metric.size)
    apart = metric.distance(values[:, None], values)
    nearest = np.full((size, size), np.inf)
    np.minimum.at(nearest, (classes[:, None], classes), apart)
    nearest = np.minimum(nearest, nearest.T)
    np.fill_diagonal(nearest, 0.0)
    first, second = np.triu_indices(size, 1)
    own = nearest[first, second]
    if np.all(own == own[0]):
        return None
    kept = np.isfinite(own) & (own < farthest) & ~_between(nearest)[first, second]
    if not np.any(kept) or own.min() <= 0:
        return None
    return ValueDistances(size, first[kept], second[kept], own[kept])


def _between(apart: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(n, n): whether two values are as far apart as by a third, to which both are nearer."""
    found = np.zeros(apart.shape, dtype=bool)
    for own in apart:
        nearer = (own[:, None] < apart) & (own < apart) & (own[:, None] > 0) & (own > 0)
        with np.errstate(invalid="ignore"):
            found |= nearer & (own[:, None] + own <= apart * (1 + _ALIKE))
    return found & np.isfinite(apart)


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

    def slice_of(self, number: int) -> slice:
        """The coordinates of one residual."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def shape(self, number: int) -> tuple[int, ...]:
        """How many there are along each of its attributes."""
        return tuple(int(self.lengths[a]) for a in self.family.members_of(number))

    def table(self, number: int, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """What all ``coordinates`` have, of one residual, an axis for each attribute."""
        return coordinates[self.slice_of(number)].reshape(self.shape(number))

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


_FAR: Final = 1e3
"""What is at no finite distance is sought as so many times the longest."""
_LEAST: Final = 1e-9


@final
@dataclass(frozen=True, eq=False)
class WeighedPairs:
    """Weights q (E,) of an attribute's pairs, of sum 1: ``values`` (n−1,) and ``vectors`` (n, n−1), orthonormal and of
    sum 0, of L."""

    distances: ValueDistances
    weights: NDArray[np.float64] = field(repr=False)

    @cached_property
    def _found(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        own, onto = self.distances, _centred_basis(self.distances.size)
        points = (onto[own.first] - onto[own.second]) / own.distances[:, None]
        values, turned = np.linalg.eigh((points.T * self.weights) @ points)
        # What no pair at a finite distance tells apart gets hardly any noise, and not none.
        return np.maximum(values, values[-1] * _LEAST), onto @ turned

    @property
    def values(self) -> NDArray[np.float64]:
        """(n−1,): λ."""
        return self._found[0]

    @property
    def vectors(self) -> NDArray[np.float64]:
        """(n, n−1)."""
        return self._found[1]

    @property
    def steps(self) -> NDArray[np.float64]:
        """(E, n−1): (u_lᵀΔ_e)²/d_e²."""
        own = self.distances
        return np.asarray(((self.vectors[own.first] - self.vectors[own.second]) / own.distances[:, None]) ** 2)

    @property
    def basis(self) -> NDArray[np.float64]:
        """(n−1, n−1): what each vector has at the second, third, … value above the first."""
        return np.ascontiguousarray(self.vectors[1:] - self.vectors[0])


def _centred_basis(size: int) -> NDArray[np.float64]:
    """(n, n−1): orthonormal columns of sum 0 (Helmert)."""
    steps = np.arange(1, size)
    below = np.where(np.arange(size)[:, None] < steps, 1.0, 0.0)
    below[steps, steps - 1] = -steps
    return below / np.sqrt(steps * (steps + 1.0))


def weighed_pairs(distances: ValueDistances) -> WeighedPairs:
    """Of the weights that prove the best covariance of the attribute's counts, by the general solver.

    Raises: CertificateRefused.
    """
    from dxgeom.mechanisms.gaussian.program import best_covariance  # not before it is needed: most plans have no basis

    onto, own = _centred_basis(distances.size), distances
    points = (onto[own.first] - onto[own.second]) / own.distances[:, None]
    found = best_covariance(np.vstack([points, onto / (own.distances.max() * _FAR)]), onto)
    weights = np.bincount(found.places, found.weights, len(points) + distances.size)[: len(points)]
    weights = np.maximum(weights, weights.max() * 1e-12)
    return WeighedPairs(distances, weights / weights.sum())


@final
@dataclass(frozen=True, eq=False)
class TurnedShifts(Sealed):
    """What changes are in the coordinates of a ``basis`` (m, m), squared and *rounded up*.

    ``pairs`` (E, m): of a record that moves from one value to the other; ``cells`` (n, m): of one that has a value.
    """

    basis: NDArray[np.float64] = field(repr=False)
    distances: ValueDistances

    @cached_property
    def _shifts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        inverse, size = inverse_enclosure(self.basis), self.distances.size
        cells = np.vstack([-np.ones(size - 1), np.eye(size - 1)])
        values, errors = inverse.products(cells)
        first, second = self.distances.first, self.distances.second
        apart = np.abs(values[first] - values[second]) * (1 + 2.0**-52) + (errors[first] + errors[second])
        return apart, np.abs(values) + errors

    @cached_property
    def pairs(self) -> NDArray[np.float64]:
        """(E, m)."""
        return np.asarray(self._shifts[0] ** 2 * (1 + 2.0**-48))

    @cached_property
    def cells(self) -> NDArray[np.float64]:
        """(n, m)."""
        return np.asarray(self._shifts[1] ** 2 * (1 + 2.0**-48))


def cell_errors(
    blocks: Blocks, bases: Sequence[NDArray[np.float64] | None], spreads: NDArray[np.float64]
) -> CellErrors:
    """Of noise with these ``spreads`` (coordinates,), up to the rounding of float64."""
    family = blocks.family
    squares = [None if one is None else _centred(one) ** 2 for one in bases]
    free = family.products(np.where(blocks.lengths > 1, 1.0, 1 - 1 / family.sizes))
    parts = {number: _part(blocks, squares, number, spreads) * free[number] for number in range(family.count)}
    mean, most = [], []
    for number in family.workload_sets.tolist():
        whole = _whole(blocks, number, parts)
        mean.append(float(whole.mean()))
        most.append(float(whole.max()))
    return CellErrors(np.array(mean), np.array(most))


def _whole(blocks: Blocks, number: int, parts: dict[int, NDArray[np.float64]]) -> NDArray[np.float64]:
    """The variance of every cell with one of its own, an axis for each attribute, of length 1 where all are alike."""
    family, own = blocks.family, blocks.family.members_of(number)
    level = int(np.searchsorted(family.starts, number, side="right")) - 1
    whole = np.zeros([int(family.sizes[a]) if blocks.lengths[a] > 1 else 1 for a in own])
    for inside in family.below[level][number - family.starts[level]].tolist():
        kept = family.members_of(inside)
        apart = float(family.cells[number] / family.cells[inside]) ** 2
        lengths = iter(parts[inside].shape)
        whole += parts[inside].reshape([next(lengths) if a in kept else 1 for a in own]) / apart
    return whole


def _part(
    blocks: Blocks, squares: Sequence[NDArray[np.float64] | None], number: int, spreads: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What a residual adds to the cells of its own table."""
    table = blocks.table(number, spreads**2)
    for axis, a in blocks.apart(number):
        table = np.moveaxis(np.tensordot(table, squares[a], axes=([axis], [1])), -1, axis)  # type: ignore[arg-type]
    return table


def _centred(basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, m): each vector at every value, of sum 0, from what it has above the first."""
    whole = np.vstack([np.zeros(basis.shape[1]), basis])
    return np.asarray(whole - whole.mean(axis=0))
