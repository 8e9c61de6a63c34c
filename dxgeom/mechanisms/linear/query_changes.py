"""A bias that is public before any data is read: how far the queries answered are from those asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.lattice import LatticeQueries
from dxgeom.numeric.rounding import round_up
from dxgeom.numeric.sealed import cached_property, canonical_digest


@final
@dataclass(frozen=True, eq=False)
class QueryChange:
    """What was asked, where something else is answered.

    ``asked``: the queries as they were; ``records``: their public number n; ``shifts`` (K,): max_i |q_i − q'_i|, what
    the change of query k can do to its answer for each record, in the answer's unit. *Exact*, but for weights that were
    rounded already: those errors are added.
    """

    asked: LatticeQueries = field(repr=False)
    records: int
    shifts: tuple[Fraction, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of what was asked, for how many records, and how far from it the answers are."""
        return canonical_digest("changed queries", self.asked, self.records, self.shifts)

    @cached_property
    def biases(self) -> NDArray[np.float64]:
        """(K,): n·shift, *rounded up*: no answer's mean is further off. Of some n records, all alike, it is so far."""
        return np.array([round_up(self.records * shift) for shift in self.shifts])
