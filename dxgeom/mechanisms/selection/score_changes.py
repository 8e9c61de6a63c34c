"""Picking by other scores than were asked for, where a known bias costs less than the noise that it saves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnboundedLoss
from dxgeom.mechanisms.linear.biased.bias_search import changed_alike
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.universe.queries import LinearQueries

MOST_UNITS = 2**24
"""Larger weights stay as they are: changed ones have up to 25 bits more, and stay below 2⁵⁰."""


@final
@dataclass(frozen=True, eq=False)
class ScoreChange:
    """What was asked, where a selection goes by other scores.

    ``asked``: the scores as they were; ``records``: their public number n; ``shift``: max_i (max_r e_r,i − min_r e_r,i)
    with e = q − q', what the change can do to a lead for each record. *Exact*. A shift that all scores of a record type
    share changes no lead and costs nothing.
    """

    asked: LinearQueries = field(repr=False)
    records: int
    shift: Fraction

    @property
    def digest(self) -> str:
        """SHA-256 of what was asked, for how many records, and how far from it the leads are."""
        return canonical_digest("changed scores", self.asked.fingerprint, self.records, self.shift)

    @property
    def bias(self) -> Fraction:
        """n·shift: no lead by the changed scores is further from the same lead by those asked for."""
        return self.records * self.shift


@final
@dataclass(frozen=True, eq=False)
class ChangedRows:
    """Rows (R, N) of integers in units over 2^``finer``; ``shift``, in such units, as of :class:`ScoreChange`."""

    rows: NDArray[np.int64]
    finer: int
    shift: int


def changed_rows(metric: Metric, rows: NDArray[np.int64], records: int, nats: float) -> Iterator[ChangedRows]:
    """Scores (R, N) changed so that n·shift + nats·(range sensitivity) is small, in two ways.

    All rows get one steepness c, at which n·2·bias + nats·2c is least (:func:`changed_alike`): the rows as they are,
    and the rows around the middle of each record type's, which leads do not see.
    Guarantee: each shift is *exact*. For two candidates the second way is the best there is, up to a unit: their lead
    is one number, and its nearest slower map is half-way between its extensions. For more it is a good change, no more.
    Nothing is yielded for weights of 2²⁴ units and more, for metrics too large to be searched, or where a row moves at
    distance 0; a promise rests on the sensitivity of what is yielded, computed anew.
    """
    if int(np.abs(rows).max()) >= MOST_UNITS:
        return
    for around in (np.zeros(rows.shape[1], dtype=np.int64), rows.max(axis=0) + rows.min(axis=0)):
        with suppress(TooLarge, UnboundedLoss):
            change = changed_alike(metric, 2 * rows - around, records, nats)
            changed = change.rows + (around << change.finer)
            off = (rows << change.finer + 1) - changed
            yield ChangedRows(changed, change.finer + 1, int(np.ptp(off, axis=0).max()))
