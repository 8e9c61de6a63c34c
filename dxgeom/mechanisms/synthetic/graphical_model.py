"""A synthetic histogram's measurements, estimated by a graphical model of mbi. No other file knows that library.

mbi is an optional extra. It is loaded when it is first needed, which takes seconds.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.synthetic.models import ENOUGH
from dxgeom.mechanisms.synthetic.synthetic import IntegerQueries, Measurement, SyntheticHistogram
from dxgeom.numeric.optional_library import optional_library
from dxgeom.universe.weight_table import WeightTable

CELL_LIMIT = 5_000_000
"""Models of more cells than this are refused. The model's largest table can be that of all cells."""
MOST_STEPS = 3000
_STEPS_AT_ONCE = 50
"""After so many steps mbi shows where it is."""


class NoisyTable(NamedTuple):
    """A marginal table that was measured: ``axes``, increasing; ``values``, ``deviations`` (cells,), the latter > 0."""

    axes: tuple[int, ...]
    values: NDArray[np.float64]
    deviations: NDArray[np.float64]


@final
class _Fits(Exception):
    """The estimate is near enough to the tables."""


@final
class _Watch:
    """Counts the steps that mbi takes, and stops it when the model fits."""

    def __init__(self, tables: Sequence[NoisyTable], names: tuple[str, ...], enough: float) -> None:
        self.steps, self._tables, self._names, self._enough = 0, tables, names, enough

    def __call__(self, marginals: Any) -> None:
        self.steps += _STEPS_AT_ONCE
        squares = []
        for table in self._tables:
            modelled = np.asarray(marginals.project(_clique(table, self._names)).values).ravel()
            squares.append(((modelled - table.values) / table.deviations) ** 2)
        if float(np.mean(np.concatenate(squares))) <= self._enough:
            raise _Fits


def estimate(shape: tuple[int, ...], tables: Sequence[NoisyTable], total: float, enough: float) -> NDArray[np.float64]:
    """A distribution (N,) of large entropy whose tables are close to these.

    Definition: mirror descent on Σ ((value − answer)/deviation)²/2 from the uniform distribution, stopped when the mean
    of the squares is at most ``enough``, or after 3,000 steps; it stays a product of one factor for each table.
    ``total``: the public number of records.
    Guarantee: none; *approximate*.
    Source: McKenna, Sheldon & Miklau 2019, Algorithm 1.
    Raises: MissingExtra where mbi is not installed; TooLarge beyond five million cells.
    """
    _require_few_cells(shape)
    jax, mbi = _libraries()
    names = tuple(f"axis {axis}" for axis in range(len(shape)))
    with jax.enable_x64(True):
        domain = mbi.Domain(names, shape)
        measured = [_measurement(mbi, table, names) for table in tables]

        watch = _Watch(tables, names, enough)
        descend = partial(mbi.estimation.MirrorDescent().estimate, domain, measured, known_total=total)
        try:
            model = descend(iters=MOST_STEPS, callback_fn=watch)
        except _Fits:
            model = descend(iters=watch.steps)
        cells = np.asarray(model.project(names).values, dtype=np.float64).ravel()
    return np.asarray(np.maximum(cells, 0.0) / np.maximum(cells, 0.0).sum())


def _measurement(mbi: Any, table: NoisyTable, names: tuple[str, ...]) -> Any:
    clique, first = _clique(table, names), float(table.deviations[0])
    if np.all(table.deviations == first):
        return mbi.LinearMeasurement(table.values, clique, stddev=first)
    weights = 1 / table.deviations
    return mbi.LinearMeasurement(table.values * weights, clique, stddev=1.0, query=mbi.WeightedQuery(weights))


def _clique(table: NoisyTable, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(names[axis] for axis in table.axes)


def _libraries() -> tuple[Any, Any]:
    """jax and mbi. mbi warns of settings of jax; the one that matters is made where it is used, for that use only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mbi, jax = (optional_library(name, "mbi", "graphical models are estimated") for name in ("mbi", "jax"))
    return jax, mbi


def by_graphical_model(synthetic: SyntheticHistogram) -> SyntheticHistogram:
    """The same measurements, with the distribution that mbi estimates from them; costs no budget.

    Its answers, error bounds and records are those of any synthetic histogram. The estimate begins at the uniform
    distribution, whatever the start was, and needs the optional extra ``dxgeom[mbi]``.
    Guarantee: :meth:`SyntheticHistogram.error_bounds` hold for it as for any other.
    Source: McKenna, Sheldon & Miklau 2019.
    Raises: UnsupportedCombination where mbi is not installed, or something else than whole marginals was measured;
    TooLarge beyond five million possible records.
    """
    tables = synthetic.workload.queries.tables
    require_whole_marginals(synthetic.workload)
    of_query = {one.query: one for one in synthetic.measurements}
    noisy = [_noisy(table, of_query) for table in tables.tables if table.axes and int(table.queries[0]) in of_query]
    return replace(synthetic, distribution=estimate(tables.shape, noisy, float(synthetic.records), ENOUGH))


def require_whole_marginals(workload: IntegerQueries) -> None:
    """Raises: UnsupportedCombination where a graphical model cannot be estimated for these queries, for they are no
    whole marginals; TooLarge for too many possible records; MissingExtra where mbi is not installed."""
    tables = workload.queries.tables
    if not all(_is_whole_marginal(table, tables.shape) for table in tables.tables):
        raise UnsupportedCombination(
            "a graphical model is estimated from whole marginals of attributes: ask for LinearQueries.marginals"
        )
    _require_few_cells(tables.shape)
    _libraries()


def _require_few_cells(shape: tuple[int, ...]) -> None:
    if math.prod(shape) > CELL_LIMIT:
        raise TooLarge(
            f"a graphical model is estimated on at most {CELL_LIMIT:,} possible records, found {math.prod(shape):,}: "
            "take coarser attributes, or take the histogram as it is"
        )


def _is_whole_marginal(table: WeightTable, shape: tuple[int, ...]) -> bool:
    codes = (np.arange(shape[axis]) for axis in table.axes)
    return table.every_cell_once and all(map(np.array_equal, table.classes, codes))


def _noisy(table: WeightTable, of_query: Mapping[int, Measurement]) -> NoisyTable:
    """The marginal with its cells in their order."""
    places = np.arange(table.cells) if table.cell_of is None else table.cell_of
    cells = [of_query[query] for query in table.queries[np.argsort(places)].tolist()]
    values = np.array([float(one.value) for one in cells])
    squares = np.array([2 * one.scale**2 + float(one.step) ** 2 / 12 for one in cells])
    return NoisyTable(table.axes, values, np.sqrt(squares))
