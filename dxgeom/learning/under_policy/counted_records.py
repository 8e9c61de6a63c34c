"""A model fitted to the records that a histogram counts: any table, as a policy reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.learning.perturbed.perturbation import ObjectivePerturbation
from dxgeom.learning.under_policy.models import PolicyModel
from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.canonical_digest import canonical_digest
from dxgeom.numeric.randomness import Randomness

_MOST_RECORDS = 20_000_000
"""Rows of features that are laid out at once."""


@final
@dataclass(frozen=True, eq=False)
class FitToCounts(HistogramMechanism[tuple[Fraction, ...]]):
    """The minimiser of a perturbed objective over the records of a histogram, one row of features for each.

    Guarantee: that of ``inner``, :class:`ObjectivePerturbation`: which records there are is all that it sees of a
    table, in no order.
    Raises: UnsupportedCombination where people count once.
    """

    name: str
    model: PolicyModel = field(repr=False)
    inner: ObjectivePerturbation = field(repr=False)

    def __post_init__(self) -> None:
        if self.shares > 1:
            raise UnsupportedCombination("a model is fitted to whole records, and people who count once are spread")

    @property
    def metric(self) -> VerifiedMetric:
        return self.model.metric

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("fit to counts", self.inner.fingerprint, self.model.universe.digest, self.model.label)

    def check_size(self, records: int, spend: Fraction) -> None:
        if records > _MOST_RECORDS:
            raise UnsupportedCombination(f"a model is fitted to at most {_MOST_RECORDS:,} records, these are more")
        if not records and not self.inner.absence:
            raise DataError("a model is fitted to a record at least")
        self.inner.check_size(records, spend)

    def drawn(
        self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[tuple[Fraction, ...]]:
        return self.inner.draws(self.model.of_counts(counts), spend, count, randomness)
