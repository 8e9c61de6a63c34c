"""Reweighing a model until it agrees with noisy measurements as well as the truth would."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.synthetic.clique_model import CliqueModel
from dxgeom.mechanisms.synthetic.histogram_model import HistogramModel

PASSES_BETWEEN = 10
"""Between two rounds, when the next one measures anew."""
FEWEST_PASSES, MOST_PASSES = 40, 300
CELLS_TOUCHED = 20_000_000
"""At the end, beyond the fewest passes, as many as touch no more cells than this: a tenth of a second."""
ENOUGH = 0.8
"""The part of the noise's mean square at which a misfit is left alone. The truth has 1, and a model that follows the
noise goes below; on census data errors are least between 0.7 and 0.9, whatever the noise."""
SOFTENING = 64.0
"""A step takes counts by their ratio where they are far above so many noise scales, by their difference where below."""


class Known(NamedTuple):
    """What is known of one block: per record, in the queries' common unit, each (len(queries),).

    ``lowest``, ``widths``: the smallest and the largest answer possible are lowest and lowest + width; ``values``: what
    was measured; ``deviations``: root mean square of the noise, positive; ``softening``: positive.
    """

    queries: range
    lowest: NDArray[np.float64]
    widths: NDArray[np.float64]
    values: NDArray[np.float64]
    deviations: NDArray[np.float64]
    softening: NDArray[np.float64]


def fit(model: HistogramModel | CliqueModel, known: Sequence[Known], passes: int) -> None:
    """Pass over the blocks, stepping along each that does not fit, until all do or so often; it reads nothing private.

    Definition: a block fits when the mean of ((value − answer)/deviation)² over its queries is at most 0.8. A step
    along the cells of a marginal has the exponents ln((m + τ)/(q + τ)), m the measured value, moved into the range of
    what is possible, q the model's answer, τ the softening. Along one query of weights from l to l + w it has the
    exponent (ln((m − l + τ)/(q − l + τ)) − ln((l + w − m + τ)/(l + w − q + τ)))/w.
    With τ = 0 the first is iterative proportional fitting, and the second never goes too far: with the exponent θ the
    answer moves by its variance under the model, at most (q − l)(l + w − q). τ keeps small counts from following noise.
    Source: Darroch & Ratcliff 1972, generalised iterative scaling.
    """
    queries = np.concatenate([np.asarray(one.queries) for one in known])
    values, deviations = (np.concatenate([one[field] for one in known]) for field in (3, 4))
    sizes = np.array([len(one.queries) for one in known])
    firsts = np.cumsum(sizes) - sizes
    for _ in range(passes):
        squares = ((values - model.answers()[queries]) / deviations) ** 2
        misfits = np.flatnonzero(np.add.reduceat(squares, firsts) > ENOUGH * sizes)
        if misfits.size == 0:
            return
        for place in misfits.tolist():
            _step(model, known[place])


def last_passes(blocks: int, cells: int) -> int:
    """How often the last model goes over so many blocks at most, on so many record types."""
    return min(max(CELLS_TOUCHED // (blocks * cells), FEWEST_PASSES), MOST_PASSES)


def _step(model: HistogramModel | CliqueModel, known: Known) -> None:
    """No true answer lies beyond what is possible, so a noisy one that does is moved there."""
    wanted = np.clip(known.values - known.lowest, 0.0, known.widths)
    found = np.clip(model.answers(known.queries) - known.lowest, 0.0, known.widths)
    exponents = np.log((wanted + known.softening) / (found + known.softening))
    if len(known.queries) == 1:
        left, there = known.widths - wanted, known.widths - found
        exponents -= np.log((left + known.softening) / (there + known.softening))
    model.reweigh(known.queries, exponents / known.widths)
