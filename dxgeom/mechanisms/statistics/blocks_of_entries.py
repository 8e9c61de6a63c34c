"""The entries of a statistic in blocks of a few, and the noise of the product of the blocks' hulls."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.geometry.composed_bodies import CartesianProduct
from dxgeom.geometry.enclosing import EnclosureLimits, enclosing_polytope
from dxgeom.mechanisms.statistics.adjacent_outputs import PolynomialOutputs
from dxgeom.mechanisms.statistics.polynomial_statistics import PolynomialStatistic
from dxgeom.noise.composed import LinearImageNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rejection import RejectionNoise, box_around

BLOCK: Final = 4
"""Entries of a block: hulls of more take long, and their noise is rarely accepted from a box."""
MOST_ENTRIES_IN_BLOCKS: Final = 12
"""Of three blocks' boxes together one point in a hundred or a thousand is in all hulls."""
_OF_A_BLOCK: Final = EnclosureLimits(tolerance=0.02, facets=600, seconds=5.0)


def cylinder_noise(statistic: PolynomialStatistic, limits: EnclosureLimits | None = None) -> NoiseLaw:
    """K-norm noise of the intersection of cylinders over the hulls of blocks of entries, drawn from their box.

    Definition: every entry is in one block b, and ‖u‖ is the largest of the blocks' ‖u_b‖; the cylinders intersect in
    the product of their bodies.
    Guarantee: S_T is inside: its part in each block is inside the block's hull, by proved support functions.
    Raises: TooLarge beyond 12 entries, or where hardly any draw from the box would be kept.
    Source: Awan & Slavković 2020, §6; corrected: an intersection, not a union.
    """
    size = statistic.dimension
    if size > MOST_ENTRIES_IN_BLOCKS:
        raise TooLarge(f"cylinders of statistics have at most {MOST_ENTRIES_IN_BLOCKS} entries, found {size}")
    blocks = entry_blocks(statistic)
    hulls = [enclosing_polytope(PolynomialOutputs(statistic.part(block)), limits or _OF_A_BLOCK) for block in blocks]
    body = CartesianProduct(tuple(hull.body for hull in hulls))
    places = [place for block in blocks for place in block]
    return LinearImageNoise(RejectionNoise(body, box_around(body)), np.eye(size)[:, places])


def entry_blocks(statistic: PolynomialStatistic) -> list[list[int]]:
    """The entries in blocks of at most four, as even as can be, those of the same columns together, greedily."""
    columns = [{place for powers in entry for place, power in enumerate(powers) if power} for entry in statistic.terms]
    left = list(range(statistic.dimension))
    blocks = []
    for blocks_left in range(math.ceil(len(left) / BLOCK), 0, -1):
        size = math.ceil(len(left) / blocks_left)
        block = [left.pop(0)]
        while len(block) < size:
            together = {
                other: sum(len(columns[other] & columns[one]) / len(columns[other] | columns[one]) for one in block)
                for other in left
            }
            block.append(max(left, key=lambda other: together[other]))
            left.remove(block[-1])
        blocks.append(block)
    return blocks
