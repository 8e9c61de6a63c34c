"""Kernel: what a change of one attribute does to boxes, and the change that a direction sees most of, smoothly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from dxgeom.numeric.sealed import cached_property

Floats = NDArray[np.float64]


class Pairs(NamedTuple):
    """Two values each, ``first`` and ``second`` (P,), every pair in both orders; ``inverse`` (P,): one over a distance
    that is not below theirs."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    inverse: Floats


def every_pair(size: int, distance: float) -> Pairs:
    """All of so many values, at one distance."""
    first, second = np.nonzero(~np.eye(size, dtype=np.bool_))
    return Pairs(first, second, np.full(len(first), 1 / distance))


def neighbours(gaps: Floats) -> Pairs:
    """On a line."""
    below = np.flatnonzero(np.isfinite(gaps))
    first, second = np.concatenate([below, below + 1]), np.concatenate([below + 1, below])
    return Pairs(first, second, np.tile(1 / gaps[below], 2))


@final
@dataclass(frozen=True, eq=False)
class BoxChanges:
    """Changes v_e = √c·Δ_e/d_e of weighted boxes that restrict one attribute or two.

    ``inside``: of each attribute (K, n): 1 where a box counts the value. ``supports``: the attributes that boxes
    restrict, and which boxes. ``pairs``: of each attribute, None where no change of it is looked at. ``roots`` (K,).
    """

    inside: tuple[Floats, ...]
    supports: tuple[tuple[tuple[int, ...], NDArray[np.int64]], ...]
    pairs: tuple[Pairs | None, ...]
    roots: Floats

    @cached_property
    def count(self) -> int:
        """How many changes there are."""
        sizes = [one.shape[1] for one in self.inside]
        each = ((one, size) for one, size in zip(self.pairs, sizes, strict=True) if one is not None)
        return sum(len(one.first) * math.prod(sizes) // size for one, size in each)

    @cached_property
    def entries(self) -> int:
        """How many numbers one look at all of them takes."""
        total = 0
        for place, own in enumerate(self.pairs):
            beside = [self.inside[_other(columns, place)].shape[1] for columns, _ in self._of(place)]
            total += 0 if own is None else len(own.first) * sum(beside)
        return total

    def _of(self, place: int) -> list[tuple[tuple[int, ...], int]]:
        return [(columns, number) for number, (columns, _) in enumerate(self.supports) if place in columns]

    def moment(self) -> Floats | None:
        """(K, K): the average of v·vᵀ over the attributes, the pairs of each, and the others' values, all alike; None
        where there is no change."""
        alike = [one @ one.T / one.shape[1] for one in self.inside]
        found = []
        for place, own in enumerate(self.pairs):
            if own is not None and len(own.first):
                moved = (self.inside[place][:, own.first] - self.inside[place][:, own.second]) * own.inverse
                others = [one for number, one in enumerate(alike) if number != place]
                found.append(math.prod(others, start=moved @ moved.T / len(own.first)))
        return self.roots[:, None] * sum(found[1:], found[0]) / len(found) * self.roots if found else None

    def smooth(self, direction: Floats, sharpness: float) -> tuple[float, Floats]:
        """(log Σ_e exp(t·⟨y, v_e⟩))/t at t = ``sharpness`` for a direction y (K,), which is above every ⟨y, v_e⟩; and
        its gradient (K,), a mean of changes.

        Values of the other attributes are free, and each table has at most one of them: so sums are taken table by
        table.
        """
        tables = self._scores(direction * self.roots)
        chances, inside = [], []
        for place, own in enumerate(self.pairs):
            found, beside = self._of_attribute(place, own, tables, sharpness) if own is not None else (np.zeros(0), {})
            chances.append(found)
            inside.append(beside)
        whole = float(logsumexp(np.concatenate(chances)))
        means = [np.zeros_like(one) for one in tables]
        for place, own in enumerate(self.pairs):
            if own is not None:
                weights = np.exp(chances[place] - whole) * own.inverse
                self._add_means(means, place, own, weights, inside[place])
        return whole / sharpness, self.roots * self._counted(means)

    def _of_attribute(
        self, place: int, own: Pairs, tables: Sequence[Floats], sharpness: float
    ) -> tuple[Floats, dict[int, Floats]]:
        """Of each pair the logarithm of its sum, and of each table the chances (P, n) of the other attribute."""
        logs, beside = np.zeros(len(own.first)), {}
        for columns, number in self._of(place):
            table = tables[number] if columns[0] == place else tables[number].T
            steps = (table[own.first] - table[own.second]) * (sharpness * own.inverse)[:, None]
            most = steps.max(axis=1, keepdims=True)
            powers = np.exp(steps - most)
            sums = powers.sum(axis=1, keepdims=True)
            # A table of this attribute alone says nothing of the others.
            logs += (most + np.log(sums))[:, 0]
            beside[number] = powers / sums
        return logs, beside

    def _add_means(
        self, means: list[Floats], place: int, own: Pairs, weights: Floats, beside: dict[int, Floats]
    ) -> None:
        for columns, number in self._of(place):
            table = means[number] if columns[0] == place else means[number].T
            each = weights[:, None] * beside[number]
            np.add.at(table, own.first, each)
            np.subtract.at(table, own.second, each)

    def _scores(self, weights: Floats) -> list[Floats]:
        """Of every support (n, n′), or (n, 1): the weights of the boxes that count a cell."""
        found = []
        for columns, boxes in self.supports:
            one = self.inside[columns[0]][boxes]
            other = self.inside[columns[1]][boxes] if len(columns) == 2 else np.ones((len(boxes), 1))
            found.append((one * weights[boxes, None]).T @ other)
        return found

    def _counted(self, tables: Sequence[Floats]) -> Floats:
        """(K,): what boxes count in these tables."""
        found = np.zeros(len(self.roots))
        for (columns, boxes), table in zip(self.supports, tables, strict=True):
            sums = self.inside[columns[0]][boxes] @ table
            found[boxes] = (sums * self.inside[columns[1]][boxes]).sum(axis=1) if len(columns) == 2 else sums[:, 0]
        return found


def _other(columns: tuple[int, ...], place: int) -> int:
    return next((one for one in columns if one != place), place)
