"""Kernel: a histogram that explains noisy tables of counts: positive, of one total, found by SciPy's L-BFGS; laid out,
or beyond that in cliques of attributes. And how far off its tables are, by fresh noisy ones, with SciPy's
distributions.

Whatever is made here is made of noisy tables alone, so nothing here rests on how well a search ended. A cell's bar is
its own noise and more. All cells of a table together show much less: what of their mean square is noise is known well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.selection.selections import nats_of
from dxgeom.mechanisms.synthetic.clique_forest import CliqueForest
from dxgeom.mechanisms.synthetic.clique_tables import CliqueLayout, CliqueTables, summed
from dxgeom.mechanisms.synthetic.synthetic import MOST_WHOLE
from dxgeom.numeric.sealed import Closed, cached_property

MOST_CELLS: Final = 10_000_000
"""Of a histogram that is laid out."""
SOFTENING: Final = 0.3
"""λ, by which parameters are drawn to 0, for each unit of a table's deviation. Set on public shapes, never on data."""
_RATES: Final = np.geomspace(1e-4, 10, 50)
"""t·b² of the bounds that are tried, of Laplace noise."""
_SUMMED: Final = 1e9
"""Noncentralities up to this are summed up in milliseconds."""
_NEARLY: Final = 1 + 1e-6
_DOUBLINGS: Final = 200
Axes: TypeAlias = tuple[int, ...]


class MeasuredTable(NamedTuple):
    """A table over rising ``axes``; ``values`` (cells,), flat, the last axis fastest; ``deviation`` of each."""

    axes: Axes
    values: NDArray[np.float64]
    deviation: float


@final
@dataclass(frozen=True, eq=False)
class TableModel(Closed):
    """A histogram p·``total`` on a product of ``shape``, ln p = Σ_r θ_r − ln Z, θ_r a table of ``parameters``.

    Of at most :data:`MOST_CELLS` cells it is laid out. Of more it is worked out in cliques, that are grown table by
    table in the order of ``parameters``; ``layout`` is that of these cliques, where it is known already.
    """

    shape: tuple[int, ...]
    parameters: Mapping[Axes, NDArray[np.float64]] = field(repr=False)
    total: float
    layout: CliqueLayout | None = field(default=None, repr=False)

    @property
    def laid_out(self) -> bool:
        """Whether it is one histogram."""
        return is_laid_out(self.shape)

    @cached_property
    def distribution(self) -> NDArray[np.float64]:
        """p, of this shape: positive, its sum is 1. Raises: TooLarge where it is not laid out."""
        require_laid_out(self.shape)
        return _distribution(self.shape, self.parameters)[0]

    @cached_property
    def cliques(self) -> CliqueTables:
        """p by the tables of its cliques."""
        layout = self.layout or CliqueLayout(CliqueForest.around(self.shape, self.parameters))
        return layout.fitted_to(self.parameters)

    def table(self, axes: Axes) -> NDArray[np.float64]:
        """(cells,): what the histogram counts in this table, flat."""
        return self.tables([axes])[0]

    def tables(self, wanted: Sequence[Axes]) -> list[NDArray[np.float64]]:
        """The same of several tables."""
        if self.laid_out:
            every = tuple(range(len(self.shape)))
            return [self.total * summed(self.distribution, every, axes).ravel() for axes in wanted]
        found = self.cliques.tables(wanted)
        return [self.total * found[axes] for axes in wanted]

    def records(self, rows: int, at_once: int) -> Iterator[Sequence[NDArray[np.int64]]]:
        """The codes of each axis of so many records, a part at a time; tables of them are about the model's.

        Definition: laid out, the running totals over all cells, rounded; else as
        :meth:`dxgeom.mechanisms.synthetic.clique_tables.CliqueTables.records`.
        """
        if not self.laid_out:
            yield from self.cliques.records(rows, at_once)
            return
        counts = spread_evenly(self.distribution.ravel(), rows)
        there = np.flatnonzero(counts)
        ends = np.cumsum(counts[there])
        for begin in range(0, max(rows, 1), at_once):
            numbers = np.arange(begin, min(begin + at_once, rows))
            yield np.unravel_index(there[np.searchsorted(ends, numbers, side="right")], self.shape)


def spread_evenly(distribution: NDArray[np.float64], records: int) -> NDArray[np.int64]:
    """(cells,): so many records, such that each running total is the distribution's, rounded: no cell, and no sum of
    neighbouring ones, is off by 1 or more.

    Where cells hold far less than a record each, largest remainders would leave out all but the fullest ones.
    """
    if records > MOST_WHOLE:
        raise TooLarge(f"a histogram of more than {MOST_WHOLE:,} records is not rounded to whole numbers")
    totals = np.floor(np.cumsum(distribution) * records + 0.5)
    totals[-1] = records
    return np.diff(np.minimum(totals, records), prepend=0).astype(np.int64)


def is_laid_out(shape: Sequence[int]) -> bool:
    """Whether a model of this shape is one histogram."""
    return math.prod(shape) <= MOST_CELLS


def require_laid_out(shape: Sequence[int]) -> None:
    """Raises: TooLarge for a histogram of too many cells."""
    if not is_laid_out(shape):
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
    Beyond ten million cells p is worked out in cliques, which the caller has seen to be few enough.
    Guarantee: *approximate*. p is positive wherever float64 has room for it, and its sum is 1.
    """
    from scipy.optimize import minimize  # slow to load

    averaged = _averaged(tables)
    wanted = [one.axes for one in averaged]
    layout = None if is_laid_out(shape) else _layout(shape, wanted, start)
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
        if layout is None:
            model, log_sum = _distribution(shape, parameters)
            margins = _margins(model, wanted)
        else:
            cliques = layout.fitted_to(parameters)
            log_sum, margins = cliques.log_sum, cliques.tables(wanted)
        value, slopes = total * log_sum, []
        for one, scale in zip(averaged, scales, strict=True):
            own = parameters[one.axes]
            value += float(own @ (SOFTENING * one.deviation / 2 * own - one.values))
            slopes.append((total * margins[one.axes] - one.values + SOFTENING * one.deviation * own) * scale)
        return value, np.concatenate(slopes)

    found = minimize(
        objective, np.concatenate(first), jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 12}
    )
    return TableModel(shape, MappingProxyType(named(np.asarray(found.x))), total, layout)


def _layout(shape: tuple[int, ...], wanted: Sequence[Axes], start: TableModel | None) -> CliqueLayout:
    """Of cliques around these tables; where the first ones are those of ``start``, its own go on to grow."""
    known = [] if start is None or start.layout is None else [*start.parameters]
    if start is None or start.layout is None or known != wanted[: len(known)]:
        return CliqueLayout(CliqueForest.around(shape, wanted))
    forest = start.layout.forest
    for axes in wanted[len(known) :]:
        forest = forest.joined(axes)
    return start.layout if forest is start.layout.forest else CliqueLayout(forest)


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
            found[axes] = summed(model, tuple(range(model.ndim)), axes)
        else:
            found[axes] = summed(found[outer], outer, axes)
    return {axes: table.ravel() for axes, table in found.items()}


def most_root_mean_square(
    off: NDArray[np.float64], spread: float, rounding: float, level: float, *, normal: bool
) -> float:
    """With probability *at least* ``level`` the model's error in this table is at most this, in root mean square.

    Args: ``off`` (cells,): fresh noisy counts less the model's, which has not seen their noise; ``spread``: of that
    noise, independent in each cell, a deviation where it is normal, else a Laplace scale b; ``rounding``: the most that
    a noisy count was rounded by.
    Definition: S = (‖off‖ + √cells·rounding)² is at least the square without rounding, and at least what noise alone
    has in the mean. The bound is the least δ at which so small an S has at most the chance 1 − level. Normal: S/σ² is
    noncentral χ², its noncentrality δ²/σ². Laplace: min_t e^(tS)·φ_t(0)^(cells−1)·φ_t(δ) is no less than that chance,
    φ_t(e) = E e^(−t(e+V)²). For V is a normal number whose variance is random, φ_t(√s) is a mixture of e^(−cs), and so
    its logarithm convex in s: of errors of one sum of squares, a single one makes the product largest.
    Guarantee: of this table by itself; up to 10⁻⁶ of the bound for float64.
    Raises: UnsupportedCombination unless 0 < level < 1.
    """
    nats, cells = nats_of(level), off.size
    square = (float(np.linalg.norm(off)) + math.sqrt(cells) * rounding) ** 2
    square = max(square, cells * spread**2 * (1 if normal else 2)) / spread**2
    seldom = _normal_is_seldom if normal else _laplace_is_seldom
    low, high = 0.0, 1.0
    for _ in range(_DOUBLINGS):
        if seldom(square, cells, high, nats):
            break
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if seldom(square, cells, middle, nats) else (middle, high)
    return high * spread / math.sqrt(cells) * _NEARLY


def _normal_is_seldom(square: float, cells: int, off: float, nats: float) -> bool:
    """Whether a square as small as this has at most the chance e^(−nats), the errors being ``off`` deviations."""
    from scipy.special import chndtr  # slow to load

    apart = off * off
    if apart <= _SUMMED:
        return float(chndtr(square, cells, apart)) <= math.exp(-nats)
    # P(S ≤ m + λ − 2√((m + 2λ)x)) ≤ e^(−x): Birgé 2001, Lemma 8.1.
    return square <= cells + apart - 2 * math.sqrt((cells + 2 * apart) * nats)


def _laplace_is_seldom(square: float, cells: int, off: float, nats: float) -> bool:
    """The same, ``off`` of scales."""
    log_chance = _RATES * square + (cells - 1) * _log_moment(0.0) + _log_moment(off)
    return float(log_chance.min()) <= -nats


def _log_moment(error: float) -> NDArray[np.float64]:
    """log E e^(−t(e+V)²) at each rate t, V of Laplace at scale 1."""
    from scipy.special import log_ndtr  # slow to load

    root = 2 * np.sqrt(_RATES)
    each = [sign * error + log_ndtr(-math.sqrt(2) * (1 + sign * 2 * _RATES * error) / root) for sign in (1.0, -1.0)]
    return np.asarray(0.5 * np.log(math.pi / _RATES) - math.log(2) + 1 / (4 * _RATES) + np.logaddexp(*each))
