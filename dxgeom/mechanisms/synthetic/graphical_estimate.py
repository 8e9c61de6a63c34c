"""A synthetic histogram's measurements, estimated by a graphical model instead of multiplicative weights."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.synthetic.box_workload import BoxWorkload
from dxgeom.mechanisms.synthetic.fitting import ENOUGH
from dxgeom.mechanisms.synthetic.graphical_model import NoisyTable, estimate
from dxgeom.mechanisms.synthetic.synthetic import Measurement, SyntheticHistogram


def by_graphical_model(synthetic: SyntheticHistogram) -> SyntheticHistogram:
    """The same measurements, with the distribution that mbi estimates from them; costs no budget.

    Its answers, error bounds and records are those of any synthetic histogram. The estimate begins at the uniform
    distribution, whatever the start was, and needs the optional extra ``dxgeom[mbi]``.
    Guarantee: :meth:`SyntheticHistogram.error_bounds` hold for it as for any other.
    Source: McKenna, Sheldon & Miklau 2019.
    Raises: UnsupportedCombination where mbi is not installed, or something else than whole marginals was measured;
    TooLarge beyond five million record types.
    """
    workload = synthetic.workload
    if not isinstance(workload, BoxWorkload) or not all(group.every_cell for group in workload.groups):
        raise UnsupportedCombination(
            "a graphical model is estimated from whole marginals: make the workload by marginal_workload"
        )
    of_query = {one.query: one for one in synthetic.measurements}
    tables, first = [], 0
    for group in workload.groups:
        if first in of_query:
            tables.append(_table(group.axes, [of_query[first + cell] for cell in range(len(group.low))]))
        first += len(group.low)
    return replace(synthetic, distribution=estimate(workload.shape, tables, float(synthetic.records), ENOUGH))


def _table(axes: tuple[int, ...], cells: list[Measurement]) -> NoisyTable:
    values = np.array([float(one.value) for one in cells])
    squares = np.array([2 * one.scale**2 + float(one.step) ** 2 / 12 for one in cells])
    return NoisyTable(axes, values, np.sqrt(squares))
