"""A secret graph: its own ε for each pair that is listed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, final

import numpy as np

from dxgeom.metrics.graph import graph_of_amounts
from dxgeom.metrics.metric import Metric
from dxgeom.policy.axes.axis import Amount, Codes, Pairs, Row
from dxgeom.policy.bounds.bound import Bound, Stated, common_denominator, in_units

_APART: Final = 2**31
"""Codes are below this, so that two of them fit into one int64."""


@final
@dataclass(frozen=True)
class Edges(Bound):
    """Its own ε for each listed pair of codes; the pairs increase, each with its lower code first."""

    pairs: tuple[tuple[int, int], ...]
    epsilons: tuple[Fraction, ...]

    def between(self, start: int, end: int) -> Amount:
        return self._by_pair.get((min(start, end), max(start, end)), math.inf)

    def stated(self, unit: int | None) -> Stated:
        """The pairs increase, so they are found by halving."""
        one, other = self.few_pairs()
        known, amounts = one * _APART + other, in_units(self.epsilons, unit)

        def listed(first: Codes, second: Codes) -> Row:
            wanted = np.minimum(first, second) * _APART + np.maximum(first, second)
            at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
            return np.where(known[at] == wanted, amounts[at], math.inf)

        return listed

    def metric(self, size: int) -> Metric:
        first, second = self.few_pairs()
        return graph_of_amounts(size, (first, second), self.epsilons, np.arange(first.size))

    @property
    def denominator(self) -> int:
        return common_denominator(self.epsilons)

    @property
    def data(self) -> list[Any]:
        return ["edges", [[*pair, str(epsilon)] for pair, epsilon in zip(self.pairs, self.epsilons, strict=True)]]

    @property
    def extremes(self) -> tuple[Fraction, Fraction]:
        return min(self.epsilons), max(self.epsilons)

    def few_pairs(self) -> Pairs:
        first, second = np.array(self.pairs, dtype=np.int64).T.copy()
        return first, second

    def why(self, metric: Metric) -> str:
        return f"only the pairs of a file are bounded: shortest paths over those {len(self.pairs):,}"

    def example(self) -> tuple[int, int | None]:
        return self.pairs[0]

    @cached_property
    def _by_pair(self) -> dict[tuple[int, int], Fraction]:
        return dict(zip(self.pairs, self.epsilons, strict=True))
