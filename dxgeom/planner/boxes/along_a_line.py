"""Which triangular matrix for counts of intervals of one attribute: the one with the smallest exact error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.parts.toeplitz_mechanism import (
    TOEPLITZ,
    ToeplitzMechanism,
    TotalsStrategy,
    bounds_over_periods,
    line_bounds,
)
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds, ToeplitzStrategy, best_damped, best_theta
from dxgeom.mechanisms.parts.totals_by_category import asked_by_category, category_bounds, category_strategies
from dxgeom.mechanisms.parts.weighed_totals import weighed_strategies
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.triangular import LAID_OUT
from dxgeom.universe.workloads.box_queries import BoxQueries


def sought_along_a_line(metric: VerifiedMetric, queries: BoxQueries, worst: bool) -> ToeplitzMechanism:
    """The best of the square root of running totals and of windows, with columns of their own lengths and of one, of
    the family that suits steps along a line, and for prefixes of noise by weights of changes.

    Raises: TooLarge where boxes are not along one attribute, under steps alone, or where errors of so many are not
    found; CertificateRefused.
    """
    merged = queries.merged
    if len(merged.columns) > 1:
        return _by_category(metric, queries)
    bounds = line_bounds(metric, merged)
    if bounds.line and bounds.presence is None:
        raise TooLarge("where steps along a line are all that is protected, independent noise at each cut is the best")
    lower, upper, costs = merged.lower[:, 0], merged.upper[:, 0], merged.costs
    least, found = math.inf, None
    over = bounds_over_periods(metric, merged)
    for strategy, held in _held(merged.sizes[0], bounds, over, lower, upper, costs):
        with suppress(TooLarge, CertificateRefused):
            scale = strategy.least_scale(held)
            errors = strategy.variances(scale, lower, upper) * costs
            loss = float(errors.max() if worst else errors.sum())
            if loss < least:
                least, found = loss, (strategy, scale)
    if found is None:
        raise TooLarge("errors of so many ranges by noise in running totals are not found")
    return ToeplitzMechanism(TOEPLITZ, metric, queries, found[0], np.array([found[1]]))


def _by_category(metric: VerifiedMetric, queries: BoxQueries) -> ToeplitzMechanism:
    """Of prefixes in every combination of others' values. Raises: TooLarge, CertificateRefused."""
    asked = asked_by_category(queries.merged, queries.merged.costs)
    bounds = category_bounds(metric, queries.merged, asked.line)
    for strategy in category_strategies(bounds, asked.costs):
        scale = strategy.least_scale(bounds)
        return ToeplitzMechanism(TOEPLITZ, metric, queries, strategy, np.array([scale]))
    raise TooLarge(
        f"noise in running totals of {asked.costs.categories:,} categories is for up to {LAID_OUT:,} prefixes, each "
        "asked for, where nothing but steps along the line is nearer than records that come and go"
    )


def _held(
    size: int,
    bounds: LineBounds,
    over: LineBounds | None,
    lower: NDArray[np.int64],
    upper: NDArray[np.int64],
    costs: NDArray[np.float64],
) -> Iterator[tuple[TotalsStrategy, LineBounds]]:
    """Strategies, each with what it is held to: distances of records, or what is promised of several periods."""
    for strategy in _strategies(size, bounds, lower, upper, costs):
        yield strategy, bounds
    if over is not None:
        for strategy in _strategies(size, over, lower, upper, costs):
            yield strategy, over
        with suppress(TooLarge):
            theta, alpha = best_damped(size, over, lower, upper, costs)
            yield ToeplitzStrategy(size, theta=theta, alpha=alpha), over


def _strategies(
    size: int, bounds: LineBounds, lower: NDArray[np.int64], upper: NDArray[np.int64], costs: NDArray[np.float64]
) -> Iterator[TotalsStrategy]:
    for scaled in (True, False):
        yield ToeplitzStrategy(size, scaled=scaled)
    inside = lower > 0
    if not np.any(inside):
        yield from weighed_strategies(size, bounds, np.bincount(upper - 1, costs, size).astype(np.float64))
    if np.any(inside):
        # The width that counts most.
        window = int(np.bincount((upper - lower)[inside], costs[inside]).argmax())
        for scaled in (True, False) if window > 1 else ():
            yield ToeplitzStrategy(size, window=window, scaled=scaled)
    if bounds.line and bounds.apart is not None:
        with suppress(TooLarge):
            yield ToeplitzStrategy(size, theta=best_theta(size, bounds, lower, upper, costs))
