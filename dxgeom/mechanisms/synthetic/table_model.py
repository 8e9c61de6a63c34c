"""Kernel: a histogram that explains noisy tables of counts: positive, of one total, found by SciPy's L-BFGS.

Whatever is made here is made of noisy tables alone, so nothing here rests on how well a search ended.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.numeric.sealed import Closed, cached_property

MOST_CELLS: Final = 10_000_000
"""Of a histogram that is laid out."""
SOFTENING: Final = 0.3
"""λ, by which parameters are drawn to 0, for each unit of a table's deviation. Set on public shapes, never on data."""
Axes: TypeAlias = tuple[int, ...]


class MeasuredTable(NamedTuple):
    """A table over rising ``axes``; ``values`` (cells,), flat, the last axis fastest; ``deviation`` of each."""

    axes: Axes
    values: NDArray[np.float64]
    deviation: float


@final
@dataclass(frozen=True, eq=False)
class TableModel(Closed):
    """A histogram p·``total`` on a product of ``shape``, ln p = Σ_r θ_r − ln Z, θ_r a table of ``parameters``."""

    shape: tuple[int, ...]
    parameters: Mapping[Axes, NDArray[np.float64]] = field(repr=False)
    total: float

    @cached_property
    def distribution(self) -> NDArray[np.float64]:
        """p, of this shape: positive, its sum is 1."""
        return _distribution(self.shape, self.parameters)[0]

    def table(self, axes: Axes) -> NDArray[np.float64]:
        """(cells,): what the histogram counts in this table, flat."""
        return self.total * _summed(self.distribution, tuple(range(len(self.shape))), axes).ravel()


def require_laid_out(shape: Sequence[int]) -> None:
    """Raises: TooLarge for a histogram of too many cells."""
    if math.prod(shape) > MOST_CELLS:
        raise TooLarge(
            f"a model of these tables has {math.prod(shape):,} cells, and at most {MOST_CELLS:,} are laid out: ask for "
            "tables of fewer attributes, or of coarser values"
        )


def fitted(
    shape: tuple[int, ...], tables: Sequence[MeasuredTable], total: float, steps: int, start: TableModel | None = None
) -> TableModel:
    """The model that is near these tables: where −n·ln Z + Σ_r ⟨y_r, θ_r⟩ − (λ/2)·Σ_r σ_r·‖θ_r‖² is largest.

    Args: ``total``: n, above 0; ``steps``: of the search, at most; ``start``: where it begins, else all alike. Tables
    over the same attributes are averaged first, the more precise ones with more weight.
    Definition: L-BFGS in θ_r·√(λσ_r + n/cells_r), in which the objective is about round. σ_r and not its square draws
    parameters to 0, so that large cells keep their size.
    Guarantee: *approximate*. p is positive wherever float64 has room for it, and its sum is 1.
    Raises: TooLarge beyond ten million cells.
    """
    from scipy.optimize import minimize  # slow to load

    require_laid_out(shape)
    averaged = _averaged(tables)
    scales = [1 / math.sqrt(SOFTENING * one.deviation + total / one.values.size) for one in averaged]
    sizes = [one.values.size for one in averaged]
    ends = np.cumsum(sizes)[:-1]
    known = {} if start is None else start.parameters
    first = [
        known.get(one.axes, np.zeros(one.values.size)).ravel() / scale
        for one, scale in zip(averaged, scales, strict=True)
    ]

    def named(point: NDArray[np.float64]) -> dict[Axes, NDArray[np.float64]]:
        each = zip(averaged, np.split(point, ends), scales, strict=True)
        return {one.axes: own * scale for one, own, scale in each}

    def objective(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        parameters = named(point)
        model, log_sum = _distribution(shape, parameters)
        margins = _margins(model, [one.axes for one in averaged])
        value, slopes = total * log_sum, []
        for one, scale in zip(averaged, scales, strict=True):
            own = parameters[one.axes]
            value += float(own @ (SOFTENING * one.deviation / 2 * own - one.values))
            slopes.append((total * margins[one.axes] - one.values + SOFTENING * one.deviation * own) * scale)
        return value, np.concatenate(slopes)

    found = minimize(
        objective, np.concatenate(first), jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 12}
    )
    return TableModel(shape, MappingProxyType(named(np.asarray(found.x))), total)


def _averaged(tables: Sequence[MeasuredTable]) -> list[MeasuredTable]:
    weights: dict[Axes, float] = {}
    sums: dict[Axes, NDArray[np.float64]] = {}
    for one in tables:
        weight = 1 / one.deviation**2
        weights[one.axes] = weights.get(one.axes, 0.0) + weight
        sums[one.axes] = sums.get(one.axes, np.zeros(one.values.size)) + weight * one.values
    return [MeasuredTable(axes, sums[axes] / weights[axes], weights[axes] ** -0.5) for axes in sums]


def _distribution(
    shape: tuple[int, ...], parameters: Mapping[Axes, NDArray[np.float64]]
) -> tuple[NDArray[np.float64], float]:
    """p, and ln Z. Tables inside others are added to these first, so that few are spread over the whole."""
    sums: dict[Axes, NDArray[np.float64]] = {}
    for axes in sorted(parameters, key=len, reverse=True):
        own = parameters[axes].reshape([shape[axis] for axis in axes])
        outer = next((wide for wide in sums if set(axes) <= set(wide)), None)
        if outer is None:
            sums[axes] = own.copy()
        else:
            sums[outer] += own.reshape([shape[axis] if axis in axes else 1 for axis in outer])
    logs = np.zeros(shape)
    for axes, own in sums.items():
        logs += own.reshape([size if axis in axes else 1 for axis, size in enumerate(shape)])
    highest = float(logs.max())
    logs -= highest
    np.exp(logs, out=logs)
    whole = float(logs.sum())
    logs /= whole
    return logs, highest + math.log(whole)


def _margins(model: NDArray[np.float64], wanted: Sequence[Axes]) -> dict[Axes, NDArray[np.float64]]:
    """Of each set of axes its sums, flat; those inside others are summed from these."""
    found: dict[Axes, NDArray[np.float64]] = {}
    for axes in sorted(wanted, key=len, reverse=True):
        outer = next((wide for wide in found if set(axes) <= set(wide)), None)
        if outer is None:
            found[axes] = _summed(model, tuple(range(model.ndim)), axes)
        else:
            found[axes] = _summed(found[outer], outer, axes)
    return {axes: table.ravel() for axes, table in found.items()}


def _summed(table: NDArray[np.float64], own: Axes, axes: Axes) -> NDArray[np.float64]:
    return np.asarray(table.sum(axis=tuple(place for place, axis in enumerate(own) if axis not in axes)))
