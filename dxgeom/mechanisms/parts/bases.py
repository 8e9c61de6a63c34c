"""A basis of what an attribute's values tell beyond their total, in which noise of different size hides its distances.

The coordinates of the noise in each residual: one for each vector of the bases of its attributes. How far the values
are from each other: pairs of which all others are made. How exact the cells of each table then are: some more than
others.

An attribute whose values are all equally far apart has no basis: nothing tells its vectors from each other, and all of
them together are one coordinate.

The general solver finds the best covariance for the counts of the attribute alone, and weights of its pairs that prove
it. The basis is that of the eigenvectors of L = Σ_e q_e Δ_eΔ_eᵀ/d_e², q these weights: in it the covariance is
diagonal, and so is every sum of such over several attributes.

The proof that noise along bases honours the metric: what every change of a record moves, bounded above.

A record that moves from value x to y of attribute a moves the residual of every S ∋ a; with c what it has of the
others it is hidden there as Σ_l (F_a⁻¹Δ)²_l·Π_b (F_b⁻¹e_{c_b})²_l / s²_{S,l}. The worst c is taken for each S on
its own, so the sum is no less than that of any record: for tables of one or two attributes, just that of the worst.

All of it is sums of products of numbers that are not negative, each rounded up; a sum of m products in float64 is off
by less than (m + 1)·2⁻⁵³ of itself in whatever order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.geometry.inverse import inverse_enclosure
from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds, parts_of
from dxgeom.mechanisms.parts.tables import CellErrors, SetFamily
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import round_down, round_up
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
