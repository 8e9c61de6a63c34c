"""Normal noise in products of sums of values and of differences of values: what is measured, and what it hides.

A part measures, along some attributes, what each of a few values has above the first of them, and along others how many
records have each kind of value; all in combination. Its noise is independent along differences: as if every value had
its own, and only what is left without the mean were shown. Over all combinations of kinds it has one covariance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.inverse import inverse_enclosure
from dxgeom.mechanisms.linear.distance_bounds import any_change
from dxgeom.mechanisms.linear.mixing import Block, MeasuredNumbers, Weighing, lattice_step
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.triangular import KroneckerNormals
from dxgeom.numeric.arrays import kinds_of_rows
from dxgeom.numeric.sealed import Sealed, cached_property, frozen_integers, seal
from dxgeom.privacy.measures import require_for_normal_noise
from dxgeom.universe.weight_table import are_classes

MOST_JOINED: Final = 1 << 10
"""Combinations of kinds that share one covariance."""
MOST_RECORDS: Final = 1 << 20
"""Kinds of records that are looked at one by one, where they come and go;"""
MOST_PAIRED: Final = 1 << 11
"""and two by two, where one may become another."""
LARGEST_ENTRY: Final = 2**30
_LEAST: Final = 2.0**-200
_MOST: Final = 2.0**200
_SHARP: Final = 2.0**-10

Floats = NDArray[np.float64]
Along = tuple[tuple[int, NDArray[np.int64]], ...]
"""An attribute's place in the universe, and some of its values, or the kind of each; places rise."""


@final
@dataclass(frozen=True, eq=False)
class ContrastPart(Sealed):
    """``contrasted``: the values, two or more, whose differences are measured; ``summed``: of each value its kind,
    of two or more; all other attributes are added up. ``root`` (d, d): whole numbers, lower triangular, for the d
    combinations of kinds; times ``size`` it is a root of the noise's covariance, in counts.

    Raises: CertificateRefused for other numbers; TooLarge.
    """

    contrasted: Along = field(repr=False)
    summed: Along = field(repr=False)
    root: NDArray[np.int64] = field(repr=False)
    size: float

    def __post_init__(self) -> None:
        for name in ("contrasted", "summed"):
            own = tuple((axis, frozen_integers(values)) for axis, values in getattr(self, name))
            object.__setattr__(self, name, own)
        object.__setattr__(self, "root", frozen_integers(self.root))
        axes = [axis for axis, _ in (*self.contrasted, *self.summed)]
        formed = {*map(type, axes)} <= {int} and len({*axes}) == len(axes)
        formed = formed and all(
            own.ndim == 1 and len(own) > 1 and own[0] >= 0 and bool(np.all(np.diff(own) > 0))
            for _, own in self.contrasted
        )
        formed = formed and all(len(own) > 1 and are_classes(own, len(own)) and own.max() > 0 for _, own in self.summed)
        joined = math.prod(int(own.max()) + 1 for _, own in self.summed) if formed else 0
        if joined > MOST_JOINED:
            raise TooLarge(f"noise of one covariance for {joined:,} combinations of kinds; at most {MOST_JOINED:,}")
        formed = formed and self.root.shape == (joined, joined) and type(self.size) is float
        formed = formed and _LEAST < self.size < _MOST and not np.any(np.triu(self.root, 1))
        if not (formed and np.all(np.diag(self.root) > 0) and int(np.abs(self.root).max()) < LARGEST_ENTRY):
            raise CertificateRefused("a part has values or kinds of different attributes, and a root in whole numbers")

    def times(self, factor: float) -> ContrastPart:
        """The same with larger noise."""
        wider = ContrastPart(self.contrasted, self.summed, self.root, self.size * factor)
        vars(wider)["products"] = self.products  # which do not depend on the size
        return wider

    @property
    def numbers(self) -> int:
        """How many are measured."""
        return math.prod(len(own) - 1 for _, own in self.contrasted) * len(self.root)

    def block(self, told: Mapping[int, int]) -> Block:
        """What is measured, where so many values of each attribute are told apart."""
        sums = [_differences(own, told[axis]) for axis, own in self.contrasted]
        sums += [np.eye(int(own.max()) + 1, dtype=np.int64)[:, own] for _, own in self.summed]
        axes = tuple(axis for axis, _ in (*self.contrasted, *self.summed))
        return Block(axes, tuple(map(Weighing, sums)))

    def law(self, steps: float) -> KroneckerNormals:
        """Of the noise, where a count is so many lattice steps, a power of two."""
        maps = [_differences(np.arange(len(own)), len(own)) for _, own in self.contrasted]
        spreads = np.full((*(1 for _ in maps), len(self.root)), self.size * steps)
        return KroneckerNormals(spreads, tuple(one.astype(np.float64) for one in (*maps, self.root)))

    @property
    def narrowest(self) -> float:
        """About the least standard deviation of the noise along any direction of kinds; the same on every machine: a
        quarter of what is left of some kind's noise where that of those before it is known."""
        return self.size * float(np.diag(self.root).min()) / 4

    @cached_property
    def products(self) -> tuple[Floats, float]:
        """(d, d): inner products of the columns of the root's inverse, and what each is off by at most, over the root
        of the product of their squared lengths."""
        values, errors = inverse_enclosure(self.root.astype(np.float64)).products(np.eye(len(self.root)))
        lengths, off = np.sqrt(np.sum(values**2, axis=1)), np.sqrt(np.sum(errors**2, axis=1))
        loose = float(np.max(off / lengths)) * (1 + 2.0**-30)
        if not loose < _SHARP:
            raise CertificateRefused("the root of a covariance is too badly conditioned to prove what the noise hides")
        return values @ values.T, 3 * loose + (len(self.root) + 8) * 2.0**-51


def _differences(values: NDArray[np.int64], told: int) -> NDArray[np.int64]:
    """(n - 1, told): each of these values but the first, less the first."""
    rows = np.zeros((len(values) - 1, told), dtype=np.int64)
    rows[np.arange(len(rows)), values[1:]] = 1
    rows[:, values[0]] = -1
    return rows


class Hidden(NamedTuple):
    """Squares, *rounded up*: of the longest record, and of the two that are furthest apart; 0 if not asked for."""

    alone: float
    apart: float


def hidden_of(parts: Sequence[ContrastPart], told: Mapping[int, int], *, alone: bool, apart: bool) -> Hidden:
    """How far noise in these parts has to be trusted: the largest squared norm of what one record adds, and of what a
    change of one record into another does.

    Lemma. Two records add vectors to a part. Their inner product is that of the columns of the root's inverse for
    their kinds, over size², times a number for each contrasted attribute with n values. It is 1 - 1/n where both have
    the same of these, -1/n where they have two of them, and 0 otherwise. Records are looked at by kinds of values that
    all parts treat alike.
    Raises: TooLarge for too many kinds of records; CertificateRefused as :attr:`ContrastPart.products`.
    """
    records = _Records(parts, told)
    most = MOST_PAIRED if apart else MOST_RECORDS
    if records.count > most:
        raise TooLarge(f"noise in products is for at most {most:,} kinds of records, and here are {records.count:,}")
    lengths, loose = np.zeros(records.count), (len(parts) + 16) * 2.0**-51
    for part, (here, kinds) in zip(parts, records.of_parts, strict=True):
        grams, off = part.products
        whole = math.prod(1 - 1 / len(own) for _, own in part.contrasted) / part.size**2
        lengths[here] += whole * np.diag(grams)[kinds]
        loose = max(loose, off + (len(parts) + 16) * 2.0**-51)
    longest = float(lengths.max())
    furthest = max(map(float, records.apart(parts, lengths))) if apart else 0.0
    # An inner product is off by no more than the squared lengths of both, times this.
    slack = 3 * loose * longest
    return Hidden(longest + slack if alone else 0.0, furthest + 2 * slack if apart else 0.0)


@final
class _Records:
    """Kinds of records: combinations of kinds of values that all parts treat alike."""

    def __init__(self, parts: Sequence[ContrastPart], told: Mapping[int, int]) -> None:
        self.axes, self._kinds = sorted(told), {}
        self.contrasted = sorted({axis for part in parts for axis, _ in part.contrasted})
        for axis in self.axes:
            seen: list[NDArray[Any]] = [np.zeros(told[axis], dtype=np.int64)]
            for part in parts:
                seen += [np.isin(np.arange(told[axis]), own) for other, own in part.contrasted if other == axis]
                seen += [own for other, own in part.summed if other == axis]
            self._kinds[axis] = kinds_of_rows(np.stack(seen, axis=1).astype(np.int64))[1]
        self.shape = tuple(int(self._kinds[axis].max()) + 1 for axis in self.axes)
        self.count = math.prod(self.shape)
        self._firsts = {axis: np.unique(own, return_index=True)[1] for axis, own in self._kinds.items()}
        self.of_parts = [self._of(part) for part in parts] if self.count <= MOST_RECORDS else []

    def _of(self, part: ContrastPart) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Kinds of records that add to a part, and to which of its combinations."""
        here, joined = np.ones(self.shape, dtype=bool), np.zeros(self.shape, dtype=np.int64)
        for axis, own in part.contrasted:
            here &= self._spread(axis, np.isin(self._firsts[axis], own))
        for axis, own in part.summed:
            joined = joined * (int(own.max()) + 1) + self._spread(axis, own[self._firsts[axis]])
        places = np.flatnonzero(here.ravel())
        return places, joined.ravel()[places]

    def _spread(self, axis: int, own: NDArray[Any]) -> NDArray[Any]:
        return own.reshape([-1 if one == axis else 1 for one in self.axes])

    def apart(self, parts: Sequence[ContrastPart], lengths: Floats) -> Iterator[np.float64]:
        """The squared distance of the two kinds that are furthest apart, for each choice of attributes along which two
        records have the same value, among those where it matters."""
        places = np.indices(self.shape).reshape(len(self.axes), -1)
        for same in product((False, True), repeat=len(self.contrasted)):
            chosen = dict(zip(self.contrasted, same, strict=True))
            possible = np.ones((self.count, self.count), dtype=bool)
            for axis, alike in chosen.items():
                kinds = places[self.axes.index(axis)]
                equal = kinds[:, None] == kinds
                several = np.bincount(self._kinds[axis])[kinds] > 1
                possible &= equal if alike else ~equal | several[:, None]
            inner = np.zeros((self.count, self.count))
            for part, (here, kinds) in zip(parts, self.of_parts, strict=True):
                times = math.prod(
                    (1 - 1 / len(own)) if chosen[axis] else -1 / len(own) for axis, own in part.contrasted
                )
                inner[np.ix_(here, here)] += times / part.size**2 * part.products[0][np.ix_(kinds, kinds)]
            squares = lengths[:, None] + lengths - 2 * inner
            yield np.max(squares, where=possible, initial=0.0)


@final
@dataclass(frozen=True, eq=False)
class ContrastNumbers(MeasuredNumbers):
    """Numbers in parts with normal noise, which hides that a record comes or goes, and that it becomes any other.

    Guarantee: squared norms of all kinds of records, and of their differences, are rounded up, of the very roots that
    are drawn with, and are no larger than squared distances; those of two records where the metric has nearer ones than
    both are from none.
    Raises: CertificateRefused where they are; UnsupportedCombination where the metric counts pure privacy; TooLarge.
    """

    metric: VerifiedMetric = field(repr=False)
    classes: Mapping[int, NDArray[np.int64]] = field(repr=False)
    parts: tuple[ContrastPart, ...]

    def __post_init__(self) -> None:
        seal(self)
        require_verified(self.metric)
        require_for_normal_noise(self.metric.privacy)
        universe = self.metric.universe
        shape = () if universe is None or universe.listed is not None else universe.shape
        formed = len(shape) > 0 and all(
            type(axis) is int and 0 <= axis < len(shape) and are_classes(own, shape[axis])
            for axis, own in self.classes.items()
        )
        told = told_values(self.classes) if formed else {}
        for one in self.parts:
            formed = formed and type(one) is ContrastPart
            formed = formed and all(own[-1] < told.get(axis, 0) for axis, own in one.contrasted)
            formed = formed and all(len(own) == told.get(axis) for axis, own in one.summed)
        if not (formed and self.parts):
            raise CertificateRefused("these parts are not over the values of the records' attributes")
        change = any_change(self.metric.metric, shape, self.classes)
        if change.presence is None and change.least is None:
            raise CertificateRefused("no record moves these numbers at a finite distance, so they need no noise")
        found = hidden_of(self.parts, told, alone=change.presence is not None, apart=change.least is not None)
        for square, distance in ((found.alone, change.presence), (found.apart, change.least)):
            if distance is not None and not (math.isfinite(square) and Fraction(square) <= distance**2):
                raise CertificateRefused("noise in products of this size does not hide what the metric protects")

    @property
    def codes(self) -> Mapping[int, NDArray[np.int64]]:
        return self.classes

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        told = told_values(self.classes)
        return tuple(one.block(told) for one in self.parts)

    @cached_property
    def scales(self) -> NDArray[np.float64]:
        """(parts,): the narrowest noise of each, in counts."""
        return np.array([one.narrowest for one in self.parts])

    @cached_property
    def law(self) -> NoiseLaw:
        steps = float(1 / lattice_step(self.scales))
        laws = tuple(one.law(steps) for one in self.parts)
        return laws[0] if len(laws) == 1 else ProductNoise(laws)


def told_values(classes: Mapping[int, NDArray[np.int64]]) -> dict[int, int]:
    """How many values of each attribute are told apart."""
    return {axis: int(own.max()) + 1 for axis, own in classes.items()}
