"""The pairs of listed records that differ in some attributes only, found by grouping the rows on all the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.policy.axes.axis import runs
from dxgeom.universe.universe import Universe

MAX_PAIRS: Final = 5_000_000

Indices: TypeAlias = NDArray[np.int64]


@final
@dataclass(frozen=True)
class ListedAxisPairs:
    """The listed records, grouped by all attributes but those at ``places``."""

    universe: Universe
    places: tuple[int, ...]

    def pairs(self) -> tuple[Indices, Indices]:
        """All pairs of records that differ in these attributes only, each once.

        Raises: TooLarge.
        """
        if self.count > MAX_PAIRS:
            raise too_many(self.count, [self.universe.names[place] for place in self.places])
        order, ends = self.groups
        behind = np.arange(1, order.size + 1)
        first, second = runs(behind, ends - behind)
        return order[first], order[second]

    @property
    def count(self) -> int:
        """How many such pairs there are."""
        order, ends = self.groups
        return int((ends - np.arange(order.size) - 1).sum())

    @cached_property
    def groups(self) -> tuple[Indices, Indices]:
        """Records in the order of their group and then of their codes; for each place there, the end of its group."""
        listed = self.universe.listed
        rest = np.arange(self.universe.record_types) if listed is None else listed
        codes = [self.universe.listed_codes[place] for place in self.places]
        for place, code in zip(self.places, codes, strict=True):
            rest = rest - code * math.prod(self.universe.shape[place + 1 :])
        order = np.lexsort((*reversed(codes), rest))
        ordered = rest[order]
        last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
        return order, last[np.searchsorted(last, np.arange(order.size))] + 1


def too_many(count: int, names: Sequence[str]) -> TooLarge:
    """The refusal of so many pairs of records that differ only in these attributes."""
    quoted = ", ".join(f"'{name}'" for name in names)
    return TooLarge(
        f"{count:,} pairs of listed records differ only in {quoted}; at most "
        f"{MAX_PAIRS:,} are handled: use a table of fewer records, 'per' on numbers, or attributes instead of a table"
    )
