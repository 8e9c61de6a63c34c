"""Workloads one below the other: their weights, and what is known of each answer."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from dxgeom.universe.weight_tables import WeightTables, below, over_layout

if TYPE_CHECKING:
    from dxgeom.universe.queries import LinearQueries


def stacked_weights(parts: Sequence[LinearQueries]) -> WeightTables | NDArray[np.int64]:
    """The weights of workloads about the same records, below each other.

    Raises: TooLarge where a table lists the records, and there are too many weights.
    """
    universe = parts[0].universe
    if universe is None or universe.listed is None:
        return below([part.tables if universe is None else over_layout(part.tables, universe) for part in parts])
    return np.concatenate([part.numerators for part in parts])


def joined(parts: Sequence[LinearQueries], name: str, default: Any) -> tuple[Any, ...]:
    """What is known of each answer under this name, ``default`` for the answers of parts that know nothing of it."""
    return tuple(one for part in parts for one in getattr(part, name) or (default,) * part.count)


def stacked_derived(parts: Sequence[LinearQueries], name: Literal["ratios", "variances"]) -> tuple[Any, ...]:
    """The ratios or variances that the parts ask for, each of the same queries as before."""
    starts = accumulate((part.count for part in parts), initial=0)
    return tuple(one.after(before) for part, before in zip(parts, starts, strict=False) for one in getattr(part, name))
