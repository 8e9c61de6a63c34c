"""Kernel: what pure noise for boxes cannot be below, by the volume of all changes' hull along random directions.

Noise that hides a body K of m dimensions at distance 1, and stretches, has a mean square of at least
m(m + 1)·(Vol K/ω_m)^(2/m). In an ellipsoid's coordinates Vol K is the ellipsoid's times the mean of ‖u‖_K^(−m) over
directions u, uniform on the sphere. A positive number is above c times its mean with a chance of at most 1/c. So what
some directions have says what the mean is not below, up to a chance as small as one likes: c goes into the bound to the
power 2/m, which is next to nothing where m is some hundreds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.boxes.changes import BoxChanges

CHANCE: Final = 1e-9
"""That the bound does not hold, over the directions drawn."""
_MOST_BOXES: Final = 1_600
MOST_ENTRIES: Final = 1 << 20
_LEAST_DIMENSION: Final = 16
_FITTED, _DRAWN = 4, 8
_BINS: Final = 14
_FARTHEST: Final = 4.0
_RANK: Final = 1e-9
_SHARPNESS: Final = ((4.0, 100), (14.0, 250))
"""In units of what tells the best of all changes from the others, and the most steps with it."""
_SHARP: Final = 1e4
"""So sharp that the smooth maximum is the maximum, next to nothing apart."""
_CAUTION: Final = 1 - 1e-6
Floats = NDArray[np.float64]


class BoundedGauge(NamedTuple):
    """``above``: the gauge is no larger; ``away``: for each axis what the direction's part there adds to it, over the
    average."""

    above: float
    away: Floats


def random_volume_bound(changes: BoxChanges) -> float:
    """Total squared error, each times its cost, that no pure noise which stretches to every spend is below; 0 where
    there is nothing to measure, or too much.

    Guarantee: up to a chance of 10⁻⁹ in drawing the directions, which come from a fixed seed; up to the rounding of
    float64, for which a millionth is taken off. Of each direction the gauge is bounded from above, by weights of
    changes whose sum is nearly the direction; what is left is bounded by the ellipsoid of the changes' mean square,
    which the hull contains.
    Source: Markov's inequality; ``docs/decisions/050-volumes-along-random-directions.md``.
    """
    if not changes.supports or len(changes.roots) > _MOST_BOXES or changes.entries > MOST_ENTRIES:
        return 0.0
    moment = changes.moment()
    if moment is None:
        return 0.0
    squares, axes = np.linalg.eigh(moment)
    kept = squares > _RANK * squares.max(initial=0.0)
    if np.count_nonzero(kept) < _LEAST_DIMENSION:
        return 0.0
    generator = np.random.default_rng(0)
    hull = _Hull(changes, axes[:, kept], squares[kept])
    lengths = _fitted(hull, generator)
    gauges = np.array([hull.gauge(lengths, _direction(hull.dimension, generator)).above for _ in range(_DRAWN)])
    return _bound(np.sort(gauges), float(np.log(lengths).sum()), hull.dimension)


def _bound(gauges: Floats, log_lengths: float, dimension: int) -> float:
    """From gauges in rising order: at least j of n of them have a power above c times the mean with a chance of at most
    C(n, j)·c^(−j), and one of the n such statements is taken."""
    best, drawn = 0.0, len(gauges)
    for place, gauge in enumerate(gauges.tolist(), start=1):
        if math.isfinite(gauge):
            caution = (math.log(math.comb(drawn, place)) + math.log(drawn / CHANCE)) / place
            best = max(best, math.exp(2 / dimension * (log_lengths - caution)) / gauge**2)
    return dimension * (dimension + 1) * best * _CAUTION


def _direction(dimension: int, generator: np.random.Generator) -> Floats:
    found = generator.standard_normal(dimension)
    return np.asarray(found / np.linalg.norm(found))


@final
@dataclass(frozen=True, eq=False)
class _Hull:
    """The changes in the space that they span: ``axes`` (K, m) and their mean ``squares`` (m,) along these, rising."""

    changes: BoxChanges
    axes: Floats
    squares: Floats

    @property
    def dimension(self) -> int:
        """m."""
        return len(self.squares)

    def gauge(self, lengths: Floats, direction: Floats) -> BoundedGauge:
        """Of a direction u (m,) of length 1 in the coordinates of an ellipsoid with these ``lengths`` along the axes.

        Definition: the least of the smooth maximum of ⟨z, v_e⟩ over z with ⟨z, u⟩ = 1. There its gradient, a mean of
        changes, is nearly a multiple g of u, and so ‖u‖ ≤ (1 + ‖rest‖)/g.
        """
        from scipy.optimize import minimize

        scaled = self.axes / lengths
        place = direction

        def smooth(sharpness: float) -> Callable[[Floats], tuple[float, Floats]]:
            def value(free: Floats) -> tuple[float, Floats]:
                along = float(free @ direction)
                value, mean = self.changes.smooth(scaled @ (free / along), sharpness)
                mean = scaled.T @ mean
                return value, (mean - direction * float(mean @ free) / along) / along

            return value

        sharpness = 1.0
        for times, steps in _SHARPNESS:
            largest, _ = self.changes.smooth(scaled @ place, _SHARP * sharpness)
            sharpness = times * math.log(self.changes.count) / (3 * largest)
            options = {"maxiter": steps, "maxcor": 20}
            free = minimize(smooth(sharpness), place, jac=True, method="L-BFGS-B", options=options).x
            place = free / float(free @ direction)
        mean = scaled.T @ self.changes.smooth(scaled @ place, sharpness)[1]
        reached = float(mean @ direction)
        if not reached > 0:
            return BoundedGauge(math.inf, np.ones(self.dimension))
        rest = float(np.linalg.norm((mean - reached * direction) * lengths / np.sqrt(self.squares)))
        return BoundedGauge((1 + rest) / reached, place * direction * self.dimension)


def _fitted(hull: _Hull, generator: np.random.Generator) -> Floats:
    """(m,): lengths of the axes for which every part of a direction adds its share to the gauge, on average: where
    they do, no other lengths have a larger mean of logarithms. Any lengths make a bound."""
    lengths = np.sqrt(hull.squares)
    parts = np.array([hull.gauge(lengths, _direction(hull.dimension, generator)).away for _ in range(_FITTED)])
    for own in np.array_split(np.arange(hull.dimension), max(1, min(_BINS, hull.dimension // 4))):
        share = float(np.clip(parts[:, own].mean(), 1 / _FARTHEST, _FARTHEST))
        lengths[own] /= math.sqrt(share)
    return lengths
