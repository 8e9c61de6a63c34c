"""K-norm noise shaped by coarsened hulls: of the whole space, or of blocks of a few of its dimensions each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.geometry.hulls import coarse_polytope
from dxgeom.geometry.polytope import SymmetricPolytope
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.reciprocal_program import minimise_reciprocal_squares
from dxgeom.mechanisms.linear.shapes.round_spaces import RoundSpace
from dxgeom.mechanisms.linear.shapes.strategy_program import loads_of
from dxgeom.metrics.changes import largest_first
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.facet_cones import FacetConeNoise

FACETS = 8_000
"""Set up in two or three seconds; ``benchmarks/coarse_hulls.py`` shows what more of them save."""
BLOCK = 4
"""Dimensions of a block: larger hulls hold more of what is gained, and take much longer."""
FACETS_OF_BLOCK = 2_000
"""Of a block; where its hull has more, it is coarsened."""
_MOST_POINTS = 4_000
"""Of the heaviest differences, that blocks are fitted to."""
_GRID = 2.0**40
_SHARE = 1e-12
"""A difference that asks a smaller share of its bound from a block does not shape that block."""


def coarse_hull(
    space: RoundSpace,
    strategy: NDArray[np.float64],
    facets: int = FACETS,
    progress: Callable[[int], None] | None = None,
) -> AdditiveMechanism:
    """d-private K-norm noise, K the hull of the differences that stick out of a shrunk cross-polytope, and of that.

    Definition: C the body of rotated Laplace noise, which holds all differences over their bounds; K the hull of t·C
    and the differences outside t·C, for the smallest t at which K has at most ``facets`` facets. t = 1 is rotated
    Laplace noise, t = 0 the sensitivity hull.

    Args: ``strategy`` B in round coordinates, from ``best_strategy``; the corners of C are the columns of B⁻¹.
    Guarantee: every generating difference is hidden: K is inflated by the largest gauge of any of them, with all
    rounding errors counted against it. The error is exact.
    Raises: TooLarge beyond ten dimensions, or where a cross-polytope has more facets; CertificateRefused when float64
    cannot show the guarantee.
    """
    body = coarse_polytope(space.points, np.asarray(np.linalg.inv(strategy).T), facets, progress)
    return space.mechanism("coarse-hull", FacetConeNoise(body), np.eye(space.dimension))


class _Block(NamedTuple):
    """``columns``: coordinates of the basis; ``body`` around their part of the differences, over their shares."""

    columns: list[int]
    body: SymmetricPolytope


def block_hulls(space: RoundSpace, strategy: NDArray[np.float64]) -> AdditiveMechanism:
    """K-norm noise of a sum of blocks: density ∝ exp(−Σ_b ‖(Bv)_b‖_b), each ‖·‖_b the norm of a small hull.

    The bound of every difference is shared out among the blocks in proportion to what independent Laplace noise in the
    same basis would use. Each block's body is the hull, coarsened if need be, of its part of the differences over their
    shares, and the blocks' sizes are then balanced by the programme of optimal Laplace scales.

    Args: ``strategy`` B in round coordinates, from ``best_strategy``.
    Guarantee: every generating difference is hidden, with all rounding errors counted against it.
    Raises: TooLarge, NotANormBall or CertificateRefused when some block has no provable hull.
    """
    # Whatever the basis loads little is well within every block's hull; what is not is found by the proof.
    heaviest = np.sort(largest_first(loads_of(space.points, strategy), _MOST_POINTS))
    places, back = space.points[heaviest] @ strategy.T, np.asarray(np.linalg.inv(strategy))
    groups = _grouped(np.abs(places))
    used = np.stack([np.abs(places[:, group]).sum(axis=1) for group in groups], axis=1)
    shares = used / used.sum(axis=1, keepdims=True)
    blocks = [_block(places, group, shares[:, b]) for b, group in enumerate(groups)]
    gauges = np.stack([block.body.gauge(places[:, block.columns]) for block in blocks], axis=1)
    errors = np.array([_error(block, back) for block in blocks])
    rates = minimise_reciprocal_squares(gauges, errors / errors.max()).rates
    order = [column for group in groups for column in group]
    widths = np.repeat(1 / rates, [len(group) for group in groups])
    inner = ProductNoise(tuple(FacetConeNoise(block.body) for block in blocks))
    return space.mechanism("block-hulls", inner, back[:, order] * widths)


def _grouped(sizes: NDArray[np.float64]) -> list[list[int]]:
    """Coordinates that change together are put together, greedily."""
    together = sizes.T @ sizes
    left = list(range(len(together)))
    groups = []
    while left:
        group = [left.pop(0)]
        while len(group) < BLOCK and left:
            nearest = max(left, key=lambda other: float(together[group, other].sum()))
            left.remove(nearest)
            group.append(nearest)
        groups.append(group)
    return groups


def _block(places: NDArray[np.float64], group: list[int], shares: NDArray[np.float64]) -> _Block:
    asked = shares > _SHARE
    points = places[asked][:, group] / shares[asked, None]
    fineness = float(_GRID / np.abs(points).max())
    distinct = np.unique(np.rint(points * fineness), axis=0) / fineness
    # A difference over its share is as long in all blocks as in the whole basis: within the unit cross-polytope.
    return _Block(group, coarse_polytope(distinct, np.eye(len(group)), FACETS_OF_BLOCK))


def _error(block: _Block, back: NDArray[np.float64]) -> float:
    map_back = back[:, block.columns]
    return float(np.einsum("ki,ij,kj->", map_back, block.body.noise_second_moment, map_back))
