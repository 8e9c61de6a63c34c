"""Exact cell probabilities of rounded polytope noise in any dimension, as balls that contain them.

On the cone over a boundary simplex the gauge is linear. A unit cell is cut into simplices, these are cut along the
cone's walls in exact rationals, and exp of a linear function over a simplex is |det| times the divided difference of
exp at the heights of its corners (Hermite and Genocchi), which is the top right entry of the exponential of the matrix
with the heights on the diagonal and ones beside it (Opitz). Equal heights are no special case.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

PRECISION = 160


def cell_law(body, window: int) -> dict[tuple[int, ...], arb]:
    """P(round(V) = z) for the K-norm noise of a body, |z_k| <= window."""
    law: dict[tuple[int, ...], arb] = {}
    with ctx.workprec(PRECISION):
        cones = [_Cone(corners) for corners in _corners(body)]
        total = sum((cone.volume for cone in cones), fmpq(0))
        for cell in product(range(-window, window + 1), repeat=body.dimension):
            opposite = tuple(-z for z in cell)
            law[cell] = law[opposite] if opposite in law else sum((c.mass(cell) for c in cones), arb(0)) / total
    return law


def _corners(body) -> list[fmpq_mat]:
    """The vertices of each simplex, as columns."""
    units = [_exact(float(unit)) * _exact(body.inflation) for unit in body.units]
    return [
        fmpq_mat([[int(v[k]) * unit for v in body.fan.vertices[simplex].tolist()] for k, unit in enumerate(units)])
        for simplex in body.fan.simplices
    ]


class _Cone:
    def __init__(self, corners: fmpq_mat) -> None:
        self.volume = abs(corners.det())
        self._walls = corners.inv().tolist()
        self._normal = [sum(column, fmpq(0)) for column in zip(*self._walls, strict=True)]

    def mass(self, cell: tuple[int, ...]) -> arb:
        """The integral of exp(-gauge) over the part of the unit cell around ``cell`` that lies in the cone."""
        around = [[2 * z + s for z, s in zip(cell, signs, strict=True)] for signs in product((-1, 1), repeat=len(cell))]
        heights = [[_dot(wall, corner) for corner in around] for wall in self._walls]
        if any(all(h <= 0 for h in wall) for wall in heights):
            return arb(0)
        if all(h >= 0 for wall in heights for h in wall):
            return self._whole(cell)
        pieces = _cut_cube(cell)
        for wall in self._walls:
            pieces = [part for piece in pieces for part in _above(piece, wall)]
        return sum((self._over(piece) for piece in pieces), arb(0))

    def _whole(self, cell: tuple[int, ...]) -> arb:
        result = (-arb(_dot(self._normal, cell))).exp()
        for slope in self._normal:
            if slope != 0:
                result *= 2 * arb(slope / 2).sinh() / arb(slope)
        return result

    def _over(self, simplex: list[list[fmpq]]) -> arb:
        first, *others = simplex
        edges = fmpq_mat([[x - y for x, y in zip(corner, first, strict=True)] for corner in others])
        size = len(simplex)
        ladder = [[arb(0)] * size for _ in range(size)]
        for place, corner in enumerate(simplex):
            ladder[place][place] = -arb(_dot(self._normal, corner))
            if place + 1 < size:
                ladder[place][place + 1] = arb(1)
        return arb(abs(edges.det())) * arb_mat(ladder).exp()[0, size - 1]


def _cut_cube(cell: tuple[int, ...]) -> list[list[list[fmpq]]]:
    """The unit cell as the simplices along the paths from its lowest to its highest corner."""
    pieces = []
    for order in permutations(range(len(cell))):
        here = [fmpq(2 * z - 1, 2) for z in cell]
        path = [here]
        for axis in order:
            here = [x + (k == axis) for k, x in enumerate(here)]
            path.append(here)
        pieces.append(path)
    return pieces


def _above(simplex: list[list[fmpq]], wall: list[fmpq]) -> list[list[list[fmpq]]]:
    """The part of a simplex where the wall's form is not negative, as simplices, found by halving edges that cross."""
    heights = [_dot(wall, corner) for corner in simplex]
    high = next((k for k, h in enumerate(heights) if h > 0), None)
    low = next((k for k, h in enumerate(heights) if h < 0), None)
    if high is None:
        return []
    if low is None:
        return [simplex]
    share = heights[high] / (heights[high] - heights[low])
    between = [x + share * (y - x) for x, y in zip(simplex[high], simplex[low], strict=True)]
    halves = ([between if k == replaced else corner for k, corner in enumerate(simplex)] for replaced in (high, low))
    return [part for half in halves for part in _above(half, wall)]


def window_counts(draws: np.ndarray, window: int) -> np.ndarray:
    """How many draws fell on each point of the window, in the order of ``cell_law``."""
    inside = draws[np.all(np.abs(draws) <= window, axis=1)]
    sides = (2 * window + 1,) * draws.shape[1]
    return np.bincount(np.ravel_multi_index(tuple((inside + window).T), sides), minlength=int(np.prod(sides)))


def _dot(form, point) -> fmpq:
    return sum((a * x for a, x in zip(form, point, strict=True)), fmpq(0))


def _exact(number: float) -> fmpq:
    return fmpq(*number.as_integer_ratio())
