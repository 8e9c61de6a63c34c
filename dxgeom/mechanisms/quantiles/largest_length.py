"""Several places at once, likely where the largest of their lengths is small."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from dxgeom.noise.noisy_maximum import noisy_largest_worth
from dxgeom.numeric.randomness import Randomness, uniform_integer
from dxgeom.numeric.sealed import cached_property


@final
@dataclass(frozen=True, eq=False)
class LargestLength:
    """P(t_1, …, t_m) ∝ exp(−rate·max_k lengths[k, t_k]), lengths below 0 for what has no chance.

    e^(−rate·z) is ∫ rate·e^(−rate·ζ) dζ over ζ ≥ z. So ζ may be drawn first, with a density in proportion to
    e^(−rate·ζ)·Π_k n_k(ζ), n_k the number of places of length at most ζ, and then each t_k among its n_k, all alike.
    Between ``levels``, the lengths that occur, the n_k stay the same, so that only the piece matters that ζ lies in:
    piece j has the weight Π_k n_k·(e^(−rate·level_j) − e^(−rate·level_{j+1})), the last one without what is subtracted.

    ``orders`` (m, T): the places in the order of their length; ``numbers`` (m, J): n_k on piece j, at least 1.
    """

    levels: NDArray[np.int64] = field(repr=False)
    orders: NDArray[np.int64] = field(repr=False)
    numbers: NDArray[np.int64] = field(repr=False)
    rate: Fraction

    @classmethod
    def of(cls, lengths: NDArray[np.int64], rate: Fraction) -> LargestLength:
        """The law of these lengths (m, T); in each row one is 0."""
        orders = np.argsort(lengths, axis=1, kind="stable")
        levels = np.unique(lengths[lengths >= 0])
        numbers = np.array([np.searchsorted(np.sort(row[row >= 0]), levels, side="right") for row in lengths])
        skipped = (lengths < 0).sum(axis=1)
        turned = np.array([np.roll(order, -skip) for order, skip in zip(orders, skipped, strict=True)])
        return cls(levels, turned, numbers, rate)

    def draw(self, randomness: Randomness) -> list[int]:
        """One place of each row. Guarantee: *exactly* the law, given uniform random words."""
        piece = noisy_largest_worth(self.log_weights, self._slacks, self._exact_log_weight, "exponential", randomness)
        drawn = [uniform_integer(int(number), randomness) for number in self.numbers[:, piece]]
        return [int(order[at]) for order, at in zip(self.orders, drawn, strict=True)]

    @cached_property
    def log_weights(self) -> NDArray[np.float64]:
        """(J,): of the pieces, up to the rounding of float64."""
        steps = np.diff(self.levels).astype(np.float64) * float(self.rate)
        return np.asarray(self._log_numbers + np.append(np.log(-np.expm1(-steps)), 0.0) - self._falls)

    @cached_property
    def _slacks(self) -> NDArray[np.float64]:
        """(J,): bounds on the rounding of log_weights: m + 4 operations, none off by more than 2⁻⁵⁰ of what it adds."""
        return np.asarray((1000 + self._log_numbers + self._falls) * (len(self.orders) + 4) * 2.0**-50)

    @cached_property
    def _log_numbers(self) -> NDArray[np.float64]:
        return np.asarray(np.log(self.numbers.astype(np.float64)).sum(axis=0))

    @cached_property
    def _falls(self) -> NDArray[np.float64]:
        return np.asarray(self.levels.astype(np.float64) * float(self.rate))

    def chances(self) -> NDArray[np.float64]:
        """(m, T): of each place in each row, up to the rounding of float64, for predictions."""
        weights = np.exp(self.log_weights - self.log_weights.max())
        # A place has an equal part of every piece that it has a length for.
        parts = np.cumsum((weights / weights.sum() / self.numbers)[:, ::-1], axis=1)[:, ::-1]
        chances = np.zeros(self.orders.shape)
        for row, order, number, part in zip(chances, self.orders, self.numbers, parts, strict=True):
            first = np.searchsorted(number, np.arange(number[-1]), side="right")
            row[order[: number[-1]]] = part[first]
        return chances

    def _exact_log_weight(self, piece: int) -> arb:
        number = np.prod(self.numbers[:, piece].astype(object))
        weight = arb(int(number)).log() - _times(self.rate, int(self.levels[piece]))
        if piece + 1 < len(self.levels):
            step = _times(self.rate, int(self.levels[piece + 1] - self.levels[piece]))
            weight += (-((-step).expm1())).log()
        return weight


def _times(rate: Fraction, units: int) -> arb:
    product = rate * units
    return arb(fmpq(product.numerator, product.denominator))
