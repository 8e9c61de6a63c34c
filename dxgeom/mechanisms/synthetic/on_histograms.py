"""Tables that follow the data, beside other mechanisms that read one histogram of all records."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.mechanisms.contract.readers import CountedTables, HistogramMechanism
from dxgeom.mechanisms.linear.sensitivity import require_written_for
from dxgeom.mechanisms.synthetic.adaptive import AdaptiveMechanism
from dxgeom.mechanisms.synthetic.adaptive_answer import AdaptiveTables
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.arrays import exact_sum
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal
from dxgeom.universe.workloads.whole_tables import MarginalQueries


class _Tables(NamedTuple):
    """Exact counts in tables, and how many records there are. **Not private.**"""

    cells: tuple[NDArray[np.int64], ...]
    total: int


@final
@dataclass(frozen=True, eq=False)
class AdaptiveOnHistogram(HistogramMechanism[AdaptiveTables]):
    """What :class:`AdaptiveMechanism` makes of the tables that a histogram has.

    Where there are too many possible records to count each, the tables are read in place of a histogram.
    Guarantee: that of ``inner``. A record that is another one in the histogram is that other one in its tables.
    """

    inner: AdaptiveMechanism
    name: str = field(default="adaptive tables on a histogram", init=False)

    def __post_init__(self) -> None:
        seal(self)
        require(self.inner, AdaptiveMechanism, "inner", "give tables that follow the data, adaptive_tables(...)")

    @property
    def metric(self) -> VerifiedMetric:
        """The metric that it honours."""
        return self.inner.metric

    @property
    def reads(self) -> MarginalQueries | None:
        return None if self.inner.queries.universe.indexable else self.inner.queries

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("of the tables of a histogram", self.inner.fingerprint)

    def check(self, data: Any, spend: Fraction) -> None:
        if self.reads is None:
            super().check(data, spend)
        tables = self._tables(data)
        require_written_for(self.inner.queries.records, tables.total)
        self.inner.check(tables, spend)

    def check_size(self, records: int, spend: Fraction) -> None:
        """Nothing of its own: the tables are looked at."""

    def drawn(self, counts: Any, spend: Fraction, count: int, randomness: Randomness) -> list[AdaptiveTables]:
        tables = self._tables(counts)
        return [self.inner.drawn(tables, spend, randomness) for _ in range(count)]

    def _tables(self, data: Any) -> CountedTables:
        return tables_of(self.inner.queries, data) if self.reads is None else data

    def encode_answer(self, answer: Any) -> Any:
        return self.inner.encode_answer(answer)

    def decode_answer(self, stored: Any) -> AdaptiveTables:
        return self.inner.decode_answer(stored)

    def answer_bytes(self, spend: Fraction) -> int:
        return self.inner.answer_bytes(spend)


def tables_of(queries: MarginalQueries, counts: NDArray[np.int64]) -> _Tables:
    """The tables of a histogram: *exact*. Absent records are in none."""
    present = counts[: queries.universe.record_types]
    there = np.flatnonzero(present)
    codes = np.unravel_index(there, queries.universe.shape)
    own = [one.codes[codes[one.axis]] for one in queries.columns]
    cells = []
    for axes, shape in zip(queries.attribute_sets, queries.shapes, strict=True):
        table = np.zeros(math.prod(shape), dtype=np.int64)
        np.add.at(table, np.ravel_multi_index([own[axis] for axis in axes], shape), present[there])
        cells.append(table)
    return _Tables(tuple(cells), exact_sum(present))
