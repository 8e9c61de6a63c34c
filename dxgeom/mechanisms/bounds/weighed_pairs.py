"""The matrices A = Σ_e p_e·v_e·v_eᵀ/d_e² of weights of pairs that are products over attributes, as balls; and better
weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.bounds.factored_weights import WeightBlock
from dxgeom.mechanisms.bounds.pair_kinds import PairKind
from dxgeom.mechanisms.bounds.root_trace import MatrixBall, products_off_by
from dxgeom.numeric.sealed import cached_property

Floats = NDArray[np.float64]
_DOWNWARD: Final = 1 - 2.0**-40
_LEAST: Final = 1e-12
"""Of the largest weight: less is given to nobody."""
_STRIDE: Final = 1.5
"""The power by which weights are raised in proportion to what they are worth; beyond 2 they may swing."""
_FLAT: Final = 1e-12


def shared_out(worth: Floats) -> Floats:
    """Weights in proportion, that add up to one at the most, *exactly*."""
    weights = np.maximum(worth, worth.max() * _LEAST)
    weights = weights / math.fsum(weights) * _DOWNWARD
    return weights if math.fsum(weights) < 1 else np.zeros_like(weights)


@final
@dataclass(frozen=True, eq=False)
class PairWeights:
    """``shares`` of the kinds of pairs; ``records``: of each attribute those of its values; ``listed``: of each kind
    those of its listed changes. Each adds up to one at the most."""

    shares: Floats
    records: tuple[Floats, ...]
    listed: tuple[Floats, ...]


def even_weights(kinds: Sequence[PairKind], sizes: Sequence[int]) -> PairWeights:
    """All alike; of listed changes as one over their distances."""
    return PairWeights(
        shared_out(np.ones(len(kinds))),
        tuple(shared_out(np.ones(size)) for size in sizes),
        tuple(shared_out(np.sqrt(np.atleast_1d(kind.inverse))) for kind in kinds),
    )


@final
@dataclass(frozen=True, eq=False)
class WeighedBlock:
    """The matrix of one block under some weights. A symmetric attribute's values have the same weight each."""

    block: WeightBlock
    kinds: Sequence[PairKind]
    weights: PairWeights

    @property
    def ball(self) -> MatrixBall:
        """A, and by how much it can be off."""
        size, radius = len(self.block.roots), 0.0
        whole = np.zeros((size, size))
        for number, share in enumerate(self.weights.shares.tolist()):
            matrix = self.of_kind(number)
            if matrix is not None:
                whole += share * matrix
                radius += share * self._off(number)
        outer = self.block.roots[:, None]
        whole = whole * outer * self.block.roots
        # As many roundings as there are kinds, of numbers that are at most the diagonal.
        radius += products_off_by(4 * len(self.kinds) + 16) * 2 * float(np.trace(whole))
        return MatrixBall((whole + whole.T) / 2, radius * (1 + 2.0**-30))

    def of_kind(self, number: int) -> Floats | None:
        """Σ v·vᵀ/d² of one kind, without roots; None where nothing of the block changes."""
        kind = self.kinds[number]
        if kind.moved is not None and self.block.factors[kind.moved] is None and kind.moved not in self.block.contrasts:
            return None
        found = self.product_without(number, None)
        if kind.centred and kind.moved is None and not self.block.contrasts:
            mean = self._mean()
            whole = math.prod(math.fsum(self.weights.records[place]) for place in self._places)
            found -= np.outer(mean, mean) * (2 * float(kind.inverse) / whole)
        return found

    def product_without(self, number: int, left_out: int | None) -> Floats:
        """The product over attributes, but for one, of what a kind has of each; no mean of whole records taken off."""
        kind, size = self.kinds[number], len(self.block.roots)
        scale = 1.0 if kind.listed else self._scale(kind)
        found = np.full((size, size), scale)
        for place in self._places:
            if place == left_out:
                continue
            found *= self._moved(number) if place == kind.moved else self._moments[place]
        return found

    def _moved(self, number: int) -> Floats:
        kind = self.kinds[number]
        factor = self._factor(kind.moved or 0)
        if kind.listed:
            change = factor[:, kind.first] - factor[:, kind.second]
            return np.asarray((change * (self.weights.listed[number] * kind.inverse)) @ change.T)
        weights = self.weights.records[kind.moved or 0]
        mean = factor @ weights
        # They add up to less than one, and of what is constant nothing may be left.
        return np.asarray(self._moments[kind.moved or 0] - np.outer(mean, mean) / math.fsum(weights))

    def _scale(self, kind: PairKind) -> float:
        if kind.moved is not None:
            return self._twice(kind)
        return float(kind.inverse) * (2 if kind.centred else 1)

    def _twice(self, kind: PairKind) -> float:
        """Two values drawn alike are the same with a chance that is taken off."""
        weights = self.weights.records[kind.moved or 0]
        return 2 * float(kind.inverse) / (1 - float(weights @ weights) * _DOWNWARD) * _DOWNWARD

    def _off(self, number: int) -> float:
        """What the matrix of one kind, with roots, is off by, of all squares together: as a part of what it would be
        without the means that are taken off."""
        kind, places = self.kinds[number], self._places
        diagonal = self.block.roots**2
        for place in places:
            if not (kind.listed and place == kind.moved):
                diagonal = diagonal * (self._factor(place) ** 2 @ self.weights.records[place])
        scale = 2 * float(np.max(kind.inverse))
        if kind.listed:
            factor = self._factor(kind.moved or 0)
            change = factor[:, kind.first] - factor[:, kind.second]
            diagonal, scale = diagonal * (change**2 @ (self.weights.listed[number] * kind.inverse)), 1.0
        elif kind.moved is not None:
            scale = self._twice(kind)
        lengths = sum(len(one) + 8 for one in (*self.weights.records, self.weights.listed[number]))
        return 4 * products_off_by(lengths) * scale * float(diagonal.sum())

    @property
    def _places(self) -> list[int]:
        return [place for place, one in enumerate(self.block.factors) if one is not None]

    @cached_property
    def _moments(self) -> dict[int, Floats]:
        found = {}
        for place in self._places:
            factor = self._factor(place)
            found[place] = np.asarray((factor * self.weights.records[place]) @ factor.T)
        return found

    def _factor(self, place: int) -> Floats:
        factor = self.block.factors[place]
        return np.ones((len(self.block.roots), 1)) if factor is None else factor

    def _mean(self) -> Floats:
        means = (self._factor(place) @ self.weights.records[place] for place in self._places)
        return np.asarray(math.prod(means, start=np.ones(len(self.block.roots))))


@final
class Worth(NamedTuple):
    """The slopes of tr A^{1/2}, doubled, over ``shares``, ``records`` and ``listed`` weights."""

    shares: Floats
    records: list[Floats]
    listed: list[Floats]


def raised(
    blocks: Sequence[WeightBlock], kinds: Sequence[PairKind], weights: PairWeights, directions: Sequence[Floats | None]
) -> PairWeights:
    """Other weights, for which the bound is mostly larger.

    Args: ``directions``: of each block orthonormal ones (K, r), in which alone it is looked at; None for all.
    """
    worth = Worth(
        np.zeros(len(kinds)),
        [np.zeros_like(one) for one in weights.records],
        [np.zeros_like(one) for one in weights.listed],
    )
    for block, own in zip(blocks, directions, strict=True):
        _add_worth(worth, WeighedBlock(block, kinds, weights), own)
    return PairWeights(
        _raised(weights.shares, worth.shares),
        tuple(_raised(*one) for one in zip(weights.records, worth.records, strict=True)),
        tuple(_raised(*one) for one in zip(weights.listed, worth.listed, strict=True)),
    )


def _raised(weights: Floats, worth: Floats) -> Floats:
    """Nothing is said of what has no worth at all."""
    worth = np.maximum(worth, 0.0)
    largest = float(worth.max(initial=0.0))
    return shared_out(weights * (worth / largest) ** _STRIDE) if largest > 0 else weights


def _add_worth(worth: Worth, weighed: WeighedBlock, directions: Floats | None) -> None:
    block, weights = weighed.block, weighed.weights
    matrix = weighed.ball.middle
    if directions is not None:
        matrix = directions.T @ (matrix @ directions)
    values, turned = np.linalg.eigh(matrix)
    kept = values > _FLAT * values[-1]
    turned = turned[:, kept] / values[kept] ** 0.25
    half = (turned if directions is None else directions @ turned) * block.roots[:, None]
    inverse = (half @ half.T) * block.times
    for number, kind in enumerate(weighed.kinds):
        own = weighed.of_kind(number)
        if own is not None:
            worth.shares[number] += float(np.sum(inverse * own))
            _add_of_kind(worth, weighed, number, inverse * weights.shares[number], kind)


def _add_of_kind(worth: Worth, weighed: WeighedBlock, number: int, inverse: Floats, kind: PairKind) -> None:
    factors = weighed.block.factors
    for place, factor in enumerate(factors):
        if factor is None:
            continue
        others = inverse * weighed.product_without(number, place)
        if place != kind.moved:
            worth.records[place] += _along(factor, others)
        elif kind.listed:
            worth.listed[number] += _along(factor[:, kind.first] - factor[:, kind.second], others) * kind.inverse
        else:
            mean = factor @ weighed.weights.records[place]
            worth.records[place] += _along(factor - mean[:, None], others)
    if kind.centred and kind.moved is None and not weighed.block.contrasts:
        _take_means_off(worth, weighed, inverse * (2 * float(kind.inverse)))


def _take_means_off(worth: Worth, weighed: WeighedBlock, inverse: Floats) -> None:
    """Of whole records drawn alike: (v − m)ᵀ·Y·(v − m) in place of vᵀ·Y·v."""
    means = [
        None if factor is None else factor @ own
        for factor, own in zip(weighed.block.factors, weighed.weights.records, strict=True)
    ]
    ones = np.ones(len(inverse))
    whole = np.prod([ones, *(one for one in means if one is not None)], axis=0)
    pulled = inverse @ whole
    for place, factor in enumerate(weighed.block.factors):
        if factor is not None:
            rest = [one for other, one in enumerate(means) if one is not None and other != place]
            share = factor.T @ (pulled * np.prod([ones, *rest], axis=0))
            worth.records[place] += float(whole @ pulled) - 2 * share


def _along(factor: Floats, matrix: Floats) -> Floats:
    """diag(Fᵀ·M·F)."""
    return np.asarray(np.sum(factor * (matrix @ factor), axis=0))
