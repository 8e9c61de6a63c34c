"""Data sets with several answers at once, or with a matrix or a function each: products of spaces of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import lcm, prod
from typing import Any, Literal, TypeAlias, final, get_args

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.errors import DxgeomError, TooLarge
from dxgeom.lab.dataset_space import DatasetSpace, ValuedDatasets
from dxgeom.numeric.sealed import cached_property

Norm: TypeAlias = Literal["max", "sum"]
Point: TypeAlias = tuple[Fraction, ...]
MOST_MISSES = 4_000_000
"""Distances of values from answers that are laid out."""


@final
@dataclass(frozen=True, eq=False)
class ProductSpace(ValuedDatasets):
    """Datasets with n numbers each: answers of n queries, entries of a matrix, a function's values at n points.

    d(r, f(x)) is the largest ("max") or the sum ("sum") of weights[k]·|r_k − f_k(x)|: a norm of the numbers' own
    distances, and so a metric. With points of a line and the gaps between them as weights, "sum" is the area between
    two functions; "max" is how far apart they are anywhere.

    ``every``: whether every combination of what the single numbers may be is an answer; else what some dataset has.
    Raises: DxgeomError for points of unequal length, weights that are not positive, an unknown norm; TooLarge.
    Source: Wu, Xia & He 2017, Definitions 6 and 7, Examples 4 and 6, with the norms whose values are rational.
    """

    values: tuple[Point, ...] = field(repr=False)
    weights: Point = field(default=(), kw_only=True)
    norm: Norm = field(default="max", kw_only=True)
    every: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        if self.norm not in get_args(Norm):
            raise DxgeomError(f"there is no norm '{self.norm}' of products; known are {', '.join(get_args(Norm))}")
        if not self.weights or min(self.weights) <= 0 or any(len(one) != len(self.weights) for one in self.values):
            raise DxgeomError("every dataset has as many numbers as there are weights, one at least, all positive")
        ValuedDatasets.__post_init__(self)
        answers = prod(len({*column}) for column in zip(*self.values, strict=True)) if self.every else self.size
        if self.size * answers > MOST_MISSES:
            raise TooLarge(
                f"{self.size:,} datasets and {answers:,} answers: at most {MOST_MISSES:,} pairs of them are laid out; "
                "take fewer numbers or values, or answer only what some dataset has"
            )

    @cached_property
    def unit(self) -> Fraction:
        scaled = (value * weight for one in self.values for value, weight in zip(one, self.weights, strict=True))
        return Fraction(1, lcm(*(number.denominator for number in scaled)))

    @cached_property
    def _integers(self) -> tuple[tuple[int, ...], ...]:
        """The numbers times their weights, in ``unit``."""
        return tuple(
            tuple(int(value * weight / self.unit) for value, weight in zip(one, self.weights, strict=True))
            for one in self.values
        )

    @property
    def largest(self) -> int:
        columns = zip(*self._integers, strict=True)
        return sum(max(map(abs, column)) for column in columns)

    @cached_property
    def _answers(self) -> tuple[tuple[int, ...], ...]:
        """What may be answered, as ``_integers``, in increasing order."""
        if not self.every:
            return tuple(sorted({*self._integers}))
        return tuple(product(*(sorted({*column}) for column in zip(*self._integers, strict=True))))

    @property
    def range(self) -> tuple[Point, ...]:
        return tuple(
            tuple(number * self.unit / weight for number, weight in zip(answer, self.weights, strict=True))
            for answer in self._answers
        )

    @cached_property
    def places(self) -> NDArray[np.int64]:
        place = {answer: number for number, answer in enumerate(self._answers)}
        return np.array([place[one] for one in self._integers], dtype=np.int64)

    @cached_property
    def misses(self) -> NDArray[np.int64]:
        answers, values = np.array(self._answers, dtype=np.int64), np.array(self._integers, dtype=np.int64)
        join = np.maximum if self.norm == "max" else np.add
        found = np.zeros((self.size, len(answers)), dtype=np.int64)
        for answered, valued in zip(answers.T, values.T, strict=True):
            join(found, np.abs(answered[None, :] - valued[:, None]), out=found)
        return found


def neighbouring_points(
    values: Sequence[Sequence[Fraction | int]],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    *,
    norm: Norm = "max",
    weights: Sequence[Fraction | int] | None = None,
    every: bool = False,
) -> ProductSpace:
    """The space of datasets with several exact numbers each, in which every edge has length 1; else as
    :class:`ProductSpace`. Args: ``weights``: of the numbers, all 1 if left out. Raises: as there."""
    require(values, Sequence, "values", "list for each dataset its numbers")
    points = tuple(tuple(_exact(number, "values") for number in one) for one in values)
    if not points:
        raise DxgeomError("a space has at least one dataset")
    each = _weights(weights, len(points[0]))
    lengths = np.ones(len(first), dtype=np.int64)
    return ProductSpace(points, first, second, lengths, weights=each, norm=norm, every=every)


def joined_values(
    spaces: Sequence[DatasetSpace],
    *,
    norm: Norm = "max",
    weights: Sequence[Fraction | int] | None = None,
    every: bool = False,
) -> ProductSpace:
    """Several queries on the same datasets as one, whose answers are made at once and under one charge.

    Raises: DxgeomError for no spaces, or datasets that are not joined by the same edges; as :class:`ProductSpace`.
    """
    require(spaces, Sequence, "spaces", "list spaces of the same datasets, one for each query")
    if not spaces:
        raise DxgeomError("at least one space to join")
    begun = spaces[0]
    for space in spaces:
        require(space, DatasetSpace, "spaces", "list spaces of the same datasets, one for each query")
        alike = (
            space.size == begun.size
            and space.named == begun.named
            and np.array_equal(space.first, begun.first)
            and np.array_equal(space.second, begun.second)
            and np.array_equal(space.lengths, begun.lengths)
        )
        if not alike:
            raise DxgeomError("queries are joined on the same datasets, with the same edges in the same order")
    points = tuple(zip(*(space.values for space in spaces), strict=True))
    each, edges = _weights(weights, len(spaces)), (begun.first, begun.second, begun.lengths)
    return ProductSpace(points, *edges, begun.named, weights=each, norm=norm, every=every)


def _weights(weights: Sequence[Any] | None, count: int) -> Point:
    return (Fraction(1),) * count if weights is None else tuple(_exact(weight, "weights") for weight in weights)


def _exact(number: Any, name: str) -> Fraction:
    require(number, (Fraction, int), name, "write each number exactly, such as Fraction('0.1')")
    return Fraction(number)
