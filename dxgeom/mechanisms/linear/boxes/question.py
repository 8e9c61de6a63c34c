"""Kernel: what is asked and promised, as costs and budgets of the noise in each block of measured numbers.

A block has a level of each attribute. With noise of variance σ_l² that is new in block l, boxes have the error
Σ_l w_l·σ_l², w_l = Σ_q c_q·Π_a h_a(q, l_a), where c_q is what a squared error in box q counts and h_a the coefficients
of the attribute's factor. A change of attribute a moves block l by what its factor says, times what a record is of the
other attributes' levels; one that comes or goes by what it is of all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.boxes.factors import Factor, Kinds
from dxgeom.mechanisms.linear.marginals.program import Budgets
from dxgeom.numeric.sealed import Closed, cached_property
from dxgeom.universe.workloads.box_queries import BoxQueries

_MOST_BLOCKS: Final = 20_000
Levels = tuple[int, ...]


class Promised(NamedTuple):
    """``kinds``: of each attribute the distances of its factor's kinds of change; ``presence``: a record and none."""

    kinds: tuple[Kinds, ...]
    presence: Fraction | None


@final
@dataclass(frozen=True, eq=False)
class BoxQuestion(Closed):
    """Boxes, measured along ``factors``, one for each of the queries' columns, under what is promised. ``pressed``
    (K,): what squared errors count besides, where some are to be smaller than the total asks for."""

    queries: BoxQueries
    factors: tuple[Factor, ...]
    promised: Promised
    normal: bool
    pressed: NDArray[np.float64] | None = None

    @cached_property
    def blocks(self) -> tuple[Levels, ...]:
        """Every level of every set of attributes that boxes restrict.

        Raises: TooLarge.
        """
        found: dict[Levels, None] = {}
        for columns, _ in self.queries.supports:
            ranges = [range(one.levels if place in columns else 1) for place, one in enumerate(self.factors)]
            if np.prod([len(one) for one in ranges], dtype=np.float64) + len(found) > _MOST_BLOCKS:
                raise TooLarge(f"these boxes are measured in more than {_MOST_BLOCKS:,} blocks: ask for fewer at once")
            found.update(dict.fromkeys(itertools.product(*ranges)))
        return tuple(found)

    @cached_property
    def places(self) -> Mapping[Levels, int]:
        """The number of each block."""
        return MappingProxyType({block: number for number, block in enumerate(self.blocks)})

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """(K,): c."""
        stated = costs_of(self.queries)
        return stated if self.pressed is None else stated * self.pressed

    @cached_property
    def coefficients(self) -> tuple[NDArray[np.float64], ...]:
        """Of each attribute (K, levels): h."""
        each = zip(self.factors, self.queries.lower.T, self.queries.upper.T, strict=True)
        return tuple(factor.coefficients(lower, upper) for factor, lower, upper in each)

    def _among(self, columns: Sequence[int]) -> Iterator[tuple[Levels, list[int]]]:
        for levels in itertools.product(*(range(self.factors[place].levels) for place in columns)):
            whole = [0] * len(self.factors)
            for place, level in zip(columns, levels, strict=True):
                whole[place] = level
            yield tuple(whole), list(levels)

    def _taken(self, columns: Sequence[int], boxes: NDArray[np.int64], levels: Sequence[int]) -> NDArray[np.float64]:
        taken = np.ones(len(boxes))
        for place, level in zip(columns, levels, strict=True):
            taken = taken * self.coefficients[place][boxes, level]
        return taken

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """(blocks,): w."""
        found = np.zeros(len(self.blocks))
        for columns, boxes in self.queries.supports:
            for block, levels in self._among(columns):
                found[self.places[block]] += self.costs[boxes] @ self._taken(columns, boxes, levels)
        return found

    def variances(self, each: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,): of every box, from what is new in each block (blocks,)."""
        found = np.zeros(self.queries.count)
        for columns, boxes in self.queries.supports:
            for block, levels in self._among(columns):
                if each[self.places[block]]:
                    found[boxes] += each[self.places[block]] * self._taken(columns, boxes, levels)
        return found

    @cached_property
    def shares(self) -> tuple[tuple[tuple[int, Fraction], ...], ...]:
        """For each limit, the blocks that use some of it, and how much their noise's rate is multiplied with."""
        alone = [[one.alone(level, self.normal) for level in range(one.levels)] for one in self.factors]
        found: list[list[tuple[int, Fraction]]] = [[] for _ in self._limited]
        for number, block in enumerate(self.blocks):
            for own, (place, kind) in zip(found, self._limited, strict=True):
                share = Fraction(1) if place is None else self.factors[place].changed(block[place], kind, self.normal)
                if not share:
                    continue
                for other, level in enumerate(block):
                    if other != place and level:
                        share *= alone[other][level]
                own.append((number, share))
        return tuple(map(tuple, found))

    @cached_property
    def _limited(self) -> tuple[tuple[int | None, int], ...]:
        kinds = [
            (place, kind)
            for place, own in enumerate(self.promised.kinds)
            for kind, distance in enumerate(own, start=1)
            if distance is not None
        ]
        return (*kinds, *(() if self.promised.presence is None else ((None, 0),)))

    @cached_property
    def limits(self) -> tuple[Fraction, ...]:
        """The distance of each limit."""
        found = []
        for place, kind in self._limited:
            distance = self.promised.presence if place is None else self.promised.kinds[place][kind - 1]
            if distance is not None:
                found.append(distance)
        return tuple(found)

    @cached_property
    def protected(self) -> NDArray[np.bool_]:
        """(blocks,): whether some record can move the block at a finite distance."""
        found = np.zeros(len(self.blocks), dtype=bool)
        found[[number for own in self.shares for number, _ in own]] = True
        return found

    def budgets(self, among: NDArray[np.int64]) -> Budgets:
        """Of the rates of these blocks: of 1/σ² for normal noise, else of 1/b."""
        from scipy import sparse

        place = np.full(len(self.blocks), -1)
        place[among] = np.arange(len(among))
        entries = [
            (place[number], column, float(share))
            for column, own in enumerate(self.shares)
            for number, share in own
            if place[number] >= 0
        ]
        rows, columns, values = zip(*entries, strict=True)
        shape = (len(among), len(self.limits))
        matrix = sparse.csr_matrix((values, (rows, columns)), shape)
        limits = np.array([float(one) for one in self.limits])
        used = np.flatnonzero(np.asarray(matrix.sum(axis=0)).ravel() > 0)
        return Budgets(matrix[:, used].tocsr(), (limits**2 if self.normal else limits)[used])


def costs_of(queries: BoxQueries) -> NDArray[np.float64]:
    """(K,): what squared errors count: 1, the importance, or the inverse of the squared error that was asked for."""
    if any(queries.errors):
        sharpest = min(one for one in queries.errors if one is not None)
        return np.array([float(1 / (100 * sharpest) ** 2 if one is None else 1 / one**2) for one in queries.errors])
    if queries.importance is not None:
        return np.array([float(one) for one in queries.importance])
    return np.ones(queries.count)
