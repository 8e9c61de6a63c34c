"""The same metric with the attributes in another order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.metrics.certificate import MetricCertificate, require
from dxgeom.metrics.metric import Metric, PairBlock


@final
@dataclass(frozen=True)
class ReorderedMetric(Metric):
    """``inner`` on records whose attributes are numbered otherwise; for parts that own attributes far from each other.

    ``shape``: the attributes' sizes here; attribute a of ``inner`` is attribute ``order[a]`` here. In both the last
    attribute runs fastest.
    """

    inner: Metric
    shape: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        return self.inner.distance(self._inwards(i), self._inwards(j))

    def generating_pairs(self) -> Iterator[PairBlock]:
        for pairs in self.inner.generating_pairs():
            yield PairBlock(self._outwards(pairs.first), self._outwards(pairs.second), pairs.bound)

    def certificate(self) -> MetricCertificate:
        require(sorted(self.order) == list(range(len(self.shape))), "an order lists every attribute once")
        require(self.inner.size == self.size, "attributes in another order make as many records")
        return MetricCertificate(
            "reordered", self.size, "attributes in another order", parts=(self.inner.certificate(),)
        )

    def rearranged(self, values: NDArray[Any]) -> NDArray[Any]:
        """Rows (K, N) over the records here as rows over the records of ``inner``."""
        grid = values.reshape(-1, *self.shape).transpose(0, *(axis + 1 for axis in self.order))
        return grid.reshape(len(values), self.size)

    @property
    def _inner_shape(self) -> tuple[int, ...]:
        return tuple(self.shape[axis] for axis in self.order)

    def _inwards(self, records: ArrayLike) -> NDArray[np.int64]:
        codes = np.unravel_index(np.asarray(records), self.shape)
        inside = np.ravel_multi_index([codes[axis] for axis in self.order], self._inner_shape)
        return np.asarray(inside, dtype=np.int64)

    def _outwards(self, records: NDArray[np.int64]) -> NDArray[np.int64]:
        codes = np.unravel_index(records, self._inner_shape)
        outside = [codes[self.order.index(axis)] for axis in range(len(self.shape))]
        return np.asarray(np.ravel_multi_index(outside, self.shape), dtype=np.int64)
