"""Kernel: histograms that explain released counts in boxes: positive and as smooth as they allow, by SciPy's L-BFGS; or
as even as they allow, by its least squares.

It is made of what was released, and of a public number, so nothing here rests on how well a search ended.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.synthetic.table_model import SOFTENING, require_laid_out
from dxgeom.numeric.sealed import cached_property

MOST_CORNERS: Final = 50_000_000
_STEPS: Final = 200
_LEAST_SQUARES: Final = 1e-12
"""Relative, where the search for these ends; for trees of boxes that is after as many steps as there are levels."""


@final
@dataclass(frozen=True, eq=False)
class BoxSums:
    """Sums over boxes of a table of ``shape``; ``lower``, ``upper`` (K, axes): codes low ≤ code < high of each axis."""

    shape: tuple[int, ...]
    lower: NDArray[np.int64] = field(repr=False)
    upper: NDArray[np.int64] = field(repr=False)

    @cached_property
    def _corners(self) -> list[tuple[NDArray[np.int64], int]]:
        """Places of each corner of all boxes in a table of one more value an axis, and whether boxes count it."""
        larger = tuple(size + 1 for size in self.shape)
        return [
            (
                np.ravel_multi_index(tuple(np.where(ends, self.upper, self.lower).T), larger),
                (-1) ** (len(ends) - sum(ends)),
            )
            for ends in itertools.product((False, True), repeat=len(self.shape))
        ]

    def of(self, table: NDArray[np.float64]) -> NDArray[np.float64]:
        """(K,): each box's sum, by prefix sums."""
        sums = np.pad(table, [(1, 0)] * table.ndim)
        for axis in range(table.ndim):
            np.cumsum(sums, axis=axis, out=sums)
        return np.asarray(sum(sign * sums.ravel()[places] for places, sign in self._corners))

    def spread(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """At each place of the table the sum of the parameters (K,) of the boxes that hold it."""
        larger = tuple(size + 1 for size in self.shape)
        flat, turned = np.zeros(math.prod(larger)), (-1) ** len(self.shape)
        for places, sign in self._corners:
            flat += turned * sign * np.bincount(places, weights=parameters, minlength=flat.size)
        table = flat.reshape(larger)
        for axis in range(table.ndim):
            np.cumsum(table, axis=axis, out=table)
        return np.asarray(table[tuple(slice(size) for size in self.shape)])


def require_box_model(shape: tuple[int, ...], boxes: int) -> None:
    """Raises: TooLarge for boxes that no model is made of."""
    require_laid_out(shape)
    if boxes << len(shape) > MOST_CORNERS:
        raise TooLarge(f"a model is made of boxes with at most {MOST_CORNERS:,} corners: ask for fewer boxes")


def histogram_of_boxes(
    sums: BoxSums, values: NDArray[np.float64], errors: NDArray[np.float64], total: float | None
) -> NDArray[np.float64]:
    """A table x = n·p that is near these counts (K,), whose root mean squared errors are ``errors``.

    Definition: ln p = Σ θ_k over the boxes that hold a cell, less ln Z; θ makes −n·ln Z + ⟨y, θ⟩ − (λ/2)·Σ σ_k·θ_k²
    largest. Without a ``total`` n·p is e^(Σ θ_k) times a start that is even, and Σ x takes the place of n·ln Z.
    Guarantee: *approximate*; no number is negative, and they add up to the total. No error is promised.
    Raises: TooLarge.
    """
    from scipy.optimize import minimize  # slow to load

    require_box_model(sums.shape, len(values))
    cells = math.prod(sums.shape)
    records = max(float(values.max()), 1.0) if total is None else total
    if records <= 0:
        return np.zeros(sums.shape)
    shares = np.prod((sums.upper - sums.lower) / np.array(sums.shape), axis=1)
    scales = 1 / np.sqrt(SOFTENING * errors + records * shares)

    def counted(parameters: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        nats = sums.spread(parameters)
        highest = 0.0 if total is None else float(nats.max())
        found = np.exp(np.minimum(nats - highest, 700.0))
        mass = float(found.sum())
        if total is None:
            return found * (records / cells), mass * records / cells
        return found * (records / mass), records * (math.log(mass) + highest)

    def objective(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        parameters = point * scales
        table, value = counted(parameters)
        drawn = SOFTENING * errors * parameters
        slopes = sums.of(table) - values + drawn
        return value + float(parameters @ (drawn / 2 - values)), slopes * scales

    found = minimize(objective, np.zeros(len(values)), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    return counted(np.asarray(found.x) * scales)[0]


def even_histogram(
    sums: BoxSums, values: NDArray[np.float64], errors: NDArray[np.float64], total: float | None
) -> NDArray[np.float64]:
    """Of all tables with these counts (K,), or as near them as any, each over its error, the nearest to an even one.

    Definition: x = e + z with the least Σ z² among those with the least Σ ((y_k − Σ_k x)/σ_k)². e is even and adds up
    to the ``total``, and z to 0; without one e is 0. An error of 0 counts as a millionth of the smallest other one.
    Guarantee: linear in the counts, up to how the search ended. So a sum of boxes has no bias.
    Raises: TooLarge.
    """
    from scipy.sparse.linalg import LinearOperator, lsqr  # slow to load

    require_box_model(sums.shape, len(values))
    cells = math.prod(sums.shape)
    even = 0.0 if total is None else total / cells
    weights = 1 / np.maximum(errors, 1e-6 * float(errors[errors > 0].min(initial=1.0)))

    def moved(flat: NDArray[np.float64]) -> NDArray[np.float64]:
        table = flat.reshape(sums.shape)
        return table if total is None else np.asarray(table - table.mean())

    def counted(flat: NDArray[np.float64]) -> NDArray[np.float64]:
        return sums.of(moved(flat)) * weights

    def back(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        return moved(sums.spread(parameters * weights)).ravel()

    wanted = (values - sums.of(np.full(sums.shape, even))) * weights
    program = LinearOperator((len(values), cells), matvec=counted, rmatvec=back, dtype=np.float64)
    found = lsqr(program, wanted, atol=_LEAST_SQUARES, btol=_LEAST_SQUARES)[0]
    return even + moved(found)
