"""Many linear queries as multiplicative weights need them: exact on data, fast on a model that changes step by step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.metric import Metric
from dxgeom.universe.universe import Universe


class Model(ABC):
    """A distribution over record types that is reweighed in steps; it knows public numbers only.

    Laws: ``answers`` are the queries' on the distribution. All up to the rounding of float64.
    """

    @abstractmethod
    def answers(self, queries: range | None = None) -> NDArray[np.float64]:
        """(K,): each query's answer per record, in its workload's unit; or only those of one block, or of one query."""

    @abstractmethod
    def reweigh(self, queries: range, exponents: NDArray[np.float64]) -> None:
        """One step: multiply each record type i by e^(Σ exponent·weight of i in its query), then scale the sum to 1.

        Args: ``queries``: one, or several that share no record type; ``exponents``: one for each.
        """

    @abstractmethod
    def distribution(self) -> NDArray[np.float64]:
        """(N,): the present distribution."""


class Workload(ABC):
    """K linear queries on N record types, with integer weights over a common unit.

    ``lowest``, ``highest`` (K,): each query's smallest and largest weight. ``blocks`` (K, 2): the first query and the
    one beyond the last of those that are measured together with each: no record type has a weight in two of them.
    ``fingerprint``: SHA-256 of names and weights.
    """

    names: tuple[str, ...]
    size: int
    unit: Fraction
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    blocks: NDArray[np.int64]
    fingerprint: str

    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def universe(self) -> Universe | None:
            """What the record types mean, where that is known."""

    @property
    def records(self) -> int | None:
        """The public number of records that queries were divided by, None where none was."""
        return None

    @property
    def count(self) -> int:
        """The number K of queries."""
        return len(self.names)

    @property
    def reaches(self) -> NDArray[np.int64]:
        """(K,): the largest magnitude of each query's weights."""
        return np.maximum(np.abs(self.lowest), np.abs(self.highest))

    def block_of(self, query: int) -> range:
        """The queries that are measured together with this one."""
        return range(*self.blocks[query].tolist())

    @abstractmethod
    def totals(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """(K,): the exact answers on a histogram, in units. **Not private.** Callers see to it that they fit int64."""

    @abstractmethod
    def steepness(self, metric: Metric) -> NDArray[np.float64]:
        """(K,): the Lipschitz constant of each query's weights, in units, *rounded up*.

        Raises: UnboundedLoss when a query separates records at distance 0.
        """

    @abstractmethod
    def model(self, start: NDArray[np.float64]) -> Model:
        """The model that begins with this distribution (N,)."""
