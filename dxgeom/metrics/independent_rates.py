"""How much noise each of very many counts needs where each gets its own: rates that add up to no more than a distance.

Keys are what the values of some attributes, together, put records into; a record that changes its key lowers one count
and raises another. Noise of rate r_k on the count of key k, on each its own, hides that where r_k + r_l ≤ d(i, j) for
all records i of k and j of l ≠ k. Laplace noise has the scale 1/r_k.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.combinations import (
    CapMetric,
    GroupedMetric,
    MaxMetric,
    PresenceMetric,
    ReorderedMetric,
    SumMetric,
)
from dxgeom.metrics.families import DiscreteMetric, StarMetric
from dxgeom.metrics.generating_pairs import axes_of_parts, refuse_cells
from dxgeom.metrics.lipschitz_maps import lipschitz
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.sealed import Sealed

Axes: TypeAlias = tuple[int, ...]
Classes: TypeAlias = dict[int, NDArray[np.int64]]


@final
@dataclass(frozen=True, eq=False)
class IndependentRates(Sealed):
    """Rates of keys, *rounded down*: that of a key is the least of ``limit`` and of its values' among ``rates``, one
    array for each attribute that keys are made of. ``presence``: how near a record is to none; None where it is no
    change that a record comes. ``uneven``: whether some distances are larger than what the rates make use of.

    Guarantee: r_k + r_l ≤ d(i, j) for all records i of key k and j of another key l, and r_k ≤ d(i, ⊥); ∞ where
    nothing limits them.
    """

    rates: tuple[NDArray[np.float64], ...] = field(repr=False)
    limit: float
    presence: float | None
    uneven: bool

    def of(self, codes: Sequence[int]) -> float:
        """The rate of one key, by the places of its values."""
        return min([self.limit, *(float(own[code]) for own, code in zip(self.rates, codes, strict=True))])


def independent_rates(metric: Metric, shape: Sequence[int], classes: Classes) -> IndependentRates:
    """Those of keys made of some attributes of a product of this ``shape``.

    Args: ``classes``: of each attribute that keys are made of, by its place, the class of every value; values of one
    class are not told apart. The rates are of these attributes by rising place.

    *Proof.* It is enough to look at pairs that generate the metric: moving from key to key costs r_k + r_l, which along
    a path is no less than from its first key to its last. A pair that changes one attribute from u to v has r_k + r_l ≤
    r(u) + r(v), since a key's rate is the least of its values'; and for each attribute r(u) + r(v) ≤ d(u, v) wherever
    these are told apart. A pair that may change several at once, at a bound ε, has r_k + r_l ≤ 2·(ε/2).
    Raises: TooLarge where an attribute has too many values to compare.
    """
    presence = metric.epsilon if isinstance(metric, PresenceMetric) else None
    found = _Limits({axis: np.full(int(own.max()) + 1, math.inf) for axis, own in classes.items()})
    axes = tuple(range(len(shape)))
    _narrow(metric.inner if isinstance(metric, PresenceMetric) else metric, tuple(shape), axes, classes, found)
    bound = math.inf if presence is None else round_down(presence)
    rates = tuple(np.minimum(found.rates[axis], bound) for axis in sorted(classes))
    least = {min(float(own.min()), found.limit) for own in rates if len(own) > 1}
    return IndependentRates(
        rates,
        min(found.limit, bound),
        None if presence is None else round_down(presence),
        found.uneven or len(least) > 1,
    )


@final
@dataclass
class _Limits:
    """What was found so far: by attribute, and for every key."""

    rates: dict[int, NDArray[np.float64]]
    limit: float = math.inf
    uneven: bool = False


def _narrow(metric: Metric, shape: Axes, axes: Axes, classes: Classes, found: _Limits) -> None:
    """Adds what a metric on these attributes asks for, of which the last one's code runs fastest."""
    if not any(axis in classes for axis in axes):
        return
    split = (
        axes_of_parts(metric.parts, shape, axes) if isinstance(metric, SumMetric | GroupedMetric | MaxMetric) else None
    )
    match metric:
        case SumMetric(parts=parts) | MaxMetric(parts=parts) if split is not None:
            # Of a largest change each is no less than that of any one attribute.
            for part, own in zip(parts, split, strict=True):
                _narrow(part, shape, own, classes, found)
        case GroupedMetric(parts=parts, groups=groups) if split is not None:
            for part, own in zip(parts, split, strict=True):
                _narrow(part, shape, own, classes, found)
            for group in groups:
                if any(axis in classes for place in group.places for axis in split[place]):
                    _at_once(group.epsilon, found)
        case ReorderedMetric(inner=inner, order=order) if len(order) == len(axes):
            _narrow(inner, shape, tuple(axes[place] for place in order), classes, found)
        case CapMetric(inner=inner, epsilon=epsilon):
            _narrow(inner, shape, axes, classes, found)
            _at_once(epsilon, found) if len(axes) > 1 else _alike(found, axes[0], _half(epsilon))
        case StarMetric() if len(axes) == 1:
            np.minimum.at(found.rates[axes[0]], classes[axes[0]], metric.rounded * (1 - 2.0**-50))
        case _:
            _by_least(metric, shape, axes, classes, found)


def _half(epsilon: Fraction) -> float:
    return round_down(epsilon) / 2


def _at_once(epsilon: Fraction, found: _Limits) -> None:
    found.limit = min(found.limit, _half(epsilon))


def _alike(found: _Limits, axis: int, rate: float) -> None:
    found.rates[axis] = np.minimum(found.rates[axis], rate)


def _by_least(metric: Metric, shape: Axes, axes: Axes, classes: Classes, found: _Limits) -> None:
    """Half of the least distance of values that are told apart, for all of them."""
    told = [axis for axis in axes if axis in classes and int(classes[axis].max()) > 0]
    if not told:
        return
    if isinstance(metric, DiscreteMetric):
        least = round_down(metric.epsilon)
    else:
        least = _least_distance(metric, _numbered(shape, axes, classes))
        found.uneven |= math.isfinite(least)
    for axis in told:
        _alike(found, axis, least / 2)


def _numbered(shape: Axes, axes: Axes, classes: Classes) -> NDArray[np.int64]:
    """(records of these attributes,): the key of each, as far as these attributes tell it."""
    sizes = [shape[axis] for axis in axes]
    refuse_cells(math.prod(sizes))
    number = np.zeros((1,) * len(sizes), dtype=np.int64)
    for place, axis in enumerate(axes):
        if axis in classes:
            along = [1] * len(sizes)
            along[place] = sizes[place]
            number = number * (int(classes[axis].max()) + 1) + classes[axis].reshape(along)
    return np.ascontiguousarray(np.broadcast_to(number, sizes)).ravel()


def _least_distance(metric: Metric, number: NDArray[np.int64]) -> float:
    """The least distance of two that are numbered otherwise, *rounded down*; ∞ where none is finite.

    Numbers differ if and only if some binary digit of them does, and each digit is a map of 0 and 1, whose constant is
    the largest 1/d of two that it tells apart.
    """
    digits = range(int(number.max()).bit_length())
    constant = max((lipschitz(metric, number >> digit & 1) for digit in digits), default=0.0)
    if constant == 0:
        return math.inf
    return math.nextafter(1 / constant, 0.0) if math.isfinite(constant) else 0.0


def blocks_of_rates(rates: IndependentRates) -> Iterator[tuple[tuple[NDArray[np.int64], ...], float]]:
    """The keys by rate: products of values, rising for each attribute, with the rate that all keys of it have."""
    groups = [[(float(rate), np.flatnonzero(own == rate)) for rate in np.unique(own)] for own in rates.rates]
    for chosen in itertools.product(*groups):
        yield tuple(members for _, members in chosen), min([rates.limit, *(rate for rate, _ in chosen)])
