"""Many linear queries as multiplicative weights need them: exact on data, fast on a model that changes step by step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.metrics.metric import Metric


class Model(ABC):
    """A distribution over record types that is reweighed in steps; it knows public numbers only.

    Laws: ``answers`` are the queries' on the present distribution. All up to the rounding of float64.
    """

    @abstractmethod
    def answers(self) -> NDArray[np.float64]:
        """(K,): each query's answer per record, in its workload's unit."""

    @abstractmethod
    def reweigh(self, queries: range, exponents: NDArray[np.float64], counted: bool = True) -> None:
        """One step: multiply each record type i by e^(Σ exponent·weight of i in its query), then scale the sum to 1.

        Args: ``queries``: one, or several that share no record type; ``exponents``: one for each. ``counted``: whether
        the distribution before this step counts in the mean.
        """

    @abstractmethod
    def distributions(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The present distribution (N,), and the mean of those counted, the present one if none was."""


class Workload(ABC):
    """K linear queries on N record types, with integer weights over a common unit.

    ``reaches`` (K,): the largest magnitude of each query's weights. ``blocks`` (K, 2): the first query and the one
    beyond the last of those that can be measured together with each: no record type has a weight in two of them.
    ``fingerprint``: SHA-256 of names and weights.
    """

    names: tuple[str, ...]
    size: int
    unit: Fraction
    reaches: NDArray[np.int64]
    blocks: NDArray[np.int64]
    fingerprint: str

    @property
    def count(self) -> int:
        """The number K of queries."""
        return len(self.names)

    def exponents(
        self, queries: range, measured: NDArray[np.float64], modelled: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The step of multiplicative weights along each of these queries, per unit of weight.

        Definition: (measured − modelled)/(2w²), w the query's reach. No true answer lies beyond ±w, so a noisy one that
        does is moved there: it would only throw the model off.
        Args: ``measured``: answers per record to these queries, ``modelled`` (K,): to all, in units.
        """
        reaches = self.reaches[queries.start : queries.stop].astype(np.float64)
        errors = np.clip(measured, -reaches, reaches) - modelled[queries.start : queries.stop]
        return np.asarray(errors / (2 * np.maximum(reaches, 1) ** 2))

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
