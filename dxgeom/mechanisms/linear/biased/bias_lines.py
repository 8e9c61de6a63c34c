"""The scale at which bias and noise together cost least, from the pairs that cause the bias.

A pair whose answers differ by ``rise`` and whose distance is ``run`` costs a bias of (rise − c·run)/2 at scale c. The
bias is the largest of these lines, so what is sought is the lowest point of a function of one variable whose shape
changes at finitely many breakpoints: all of them are looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray


@final
@dataclass
class BiasLines:
    """The lines found so far."""

    rises: list[float] = field(default_factory=list)
    runs: list[float] = field(default_factory=list)

    def add(self, rise: float, run: float) -> None:
        self.rises.append(rise)
        self.runs.append(run)

    def bias(self, scales: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest of the lines, at least 0, at each scale."""
        heights = np.array(self.rises) - scales[:, None] * np.array(self.runs)
        return np.asarray(np.maximum(heights.max(axis=1), 0.0) / 2)

    def breakpoints(self) -> NDArray[np.float64]:
        """The positive scales at which two lines meet, or one meets 0."""
        rises, runs = np.array([*self.rises, 0.0]), np.array([*self.runs, 0.0])
        first, second = np.triu_indices(len(rises), 1)
        steeper = runs[first] != runs[second]
        first, second = first[steeper], second[steeper]
        meetings = (rises[first] - rises[second]) / (runs[first] - runs[second])
        return np.asarray(meetings[meetings > 0])


class ScaleCost(ABC):
    """What a scale costs together with the bias that it leaves."""

    @abstractmethod
    def total(self, scales: NDArray[np.float64], biases: NDArray[np.float64]) -> NDArray[np.float64]:
        """The cost of each scale with its bias."""

    @abstractmethod
    def lowest(self, rise: float, run: float) -> float:
        """The scale of least cost along one line while that is above 0, its end there apart."""


@final
@dataclass(frozen=True)
class SquaredError(ScaleCost):
    """(n·bias)² + 2·price·c²: the mean squared error of n records, with Laplace noise of scale c when price is 1."""

    records: int
    price: float = 1.0

    def total(self, scales: NDArray[np.float64], biases: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((self.records * biases) ** 2 + 2 * self.price * scales**2)

    def lowest(self, rise: float, run: float) -> float:
        slope = float(self.records) ** 2 * run
        return slope * rise / (slope * run + 8 * self.price)


@final
@dataclass(frozen=True)
class UniformBound(ScaleCost):
    """n·bias + per_scale·c, a bound on all answers' errors at once; c is at least ``least``, which is positive."""

    records: int
    per_scale: float
    least: float

    def total(self, scales: NDArray[np.float64], biases: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.records * biases + self.per_scale * np.maximum(scales, self.least))

    def lowest(self, rise: float, run: float) -> float:
        return self.least


def cheapest_scale(lines: BiasLines, cost: ScaleCost) -> float:
    """The positive scale of least cost when there are no other lines; float64. 0 when no scale changes the bias."""
    own = np.array([cost.lowest(rise, run) for rise, run in zip(lines.rises, lines.runs, strict=True)])
    scales = np.concatenate([lines.breakpoints(), own[own > 0]])
    if not scales.size:
        return 0.0
    return float(scales[np.argmin(cost.total(scales, lines.bias(scales)))])
