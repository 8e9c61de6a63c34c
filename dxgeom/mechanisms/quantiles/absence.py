"""Lengths where records may be absent: how many there are is then as private as their values are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.quantiles.reach import Reach

LONGEST = 2**61
"""Lengths beyond count as this, which changes no faster."""


def parts_of_a_record(at: Sequence[Fraction]) -> int:
    """Into how many parts records are cut so that every level lies between parts."""
    return math.lcm(*(level.denominator for level in at))


def lengths_with_absence(
    reach: Reach, tally: NDArray[np.int64], at: Sequence[Fraction], stay: int
) -> NDArray[np.int64]:
    """(m, T) in units of ``reach`` over :func:`parts_of_a_record`, a row for each level.

    Args: ``stay``: units that it costs to come or to go, for every record.

    Definition: the least cost, moves to and from absence included, from the table to a measure μ ≥ 0 on records of
    which t is a q-quantile: q·μ(≥ t) ≥ (1 − q)·μ(< t), or for t below, (1 − q)·μ(≤ t) ≥ q·μ(> t). These are convex
    sets of measures, so parts of records may move.

    Closed form: of n records A have values below t, and D = A − q·n is missing. Moving a record up to t or beyond, by
    its distance w, gives 1; adding one gives q and removing one 1 − q, for ``stay``. A unit of what is missing costs w,
    stay/q or stay/(1 − q) so, and removing all A would give more than is missing. So the cheapest is to move the
    nearest records as long as w is below stay/max(q, 1 − q), and to pay that price for the rest: the sum of the D
    smallest min(w, stay/max(q, 1 − q)). In b parts to a record, q = a/b, these are the parts of ranks above a·n.

    Guarantee: *exact* but for the price, which is rounded down, as if it cost a little less to come and go. Adding,
    removing or replacing a record changes each length by its distance at most, for it is a distance to a set. 0 at the
    true quantile, everywhere in an empty table.
    """
    parts = parts_of_a_record(at)
    prices = [math.floor(stay / max(level, 1 - level)) for level in at]
    records = int(tally.sum())
    # Nothing may be refused or overflow by a number that is private: Python's integers where 64 bits might not do.
    wide = records * parts * max(*prices, reach.largest, 1) >= LONGEST
    cut = (tally.astype(object) if wide else tally) * parts
    rows = []
    for level, price in zip(at, prices, strict=True):
        rank = int(level * parts) * records
        row = reach.row(cut, (rank, rank + 1), (0, records * parts + 1), price)
        rows.append(np.minimum(row, LONGEST).astype(np.int64))
    return np.array(rows)
