"""Which triangular matrices for counts of intervals, or of boxes: those with the smallest exact error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.parts.joint_totals import joint_strategy
from dxgeom.mechanisms.parts.toeplitz_mechanism import (
    TOEPLITZ,
    LineStrategy,
    ToeplitzMechanism,
    bounds_over_periods,
    joint_presence,
    line_bounds,
)
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds, ToeplitzStrategy, best_damped, best_theta
from dxgeom.mechanisms.parts.totals_by_category import (
    AskedByCategory,
    asked_by_category,
    category_bounds,
    category_strategy,
)
from dxgeom.mechanisms.parts.totals_in_a_row import totals_in_a_row
from dxgeom.mechanisms.parts.weighed_totals import weighed_strategies
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.triangular import LAID_OUT
from dxgeom.universe.workloads.box_queries import BoxQueries


def sought_totals(metric: VerifiedMetric, queries: BoxQueries, worst: bool) -> ToeplitzMechanism:
    """Along one attribute the best of the square root of running totals and of windows, with columns of their own
    lengths and of one, of the family that suits steps along a line, for prefixes of noise by weights of changes, and
    for others, or where something is promised of several periods, of a matrix that is sought for them; along several
    attributes of such a matrix for each.

    Raises: TooLarge where boxes are along several attributes and not only presence is protected, under steps alone, or
    where errors of so many are not found; CertificateRefused.
    """
    merged = queries.merged
    if len(merged.columns) > 1:
        return _of_several(metric, queries, worst)
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
    made = None if found is None else ToeplitzMechanism(TOEPLITZ, metric, queries, found[0], np.array([found[1]]))
    if over is not None:
        with suppress(TooLarge, CertificateRefused):
            in_a_row, scale = totals_in_a_row(lower, upper, costs, over)
            sought = ToeplitzMechanism(TOEPLITZ, metric, queries, in_a_row, np.array([scale]))
            if (loss := _loss(sought, worst)) < least:
                least, made = loss, sought
    if np.any(lower > 0):
        with suppress(TooLarge, CertificateRefused):
            joint = _jointly(metric, queries)
            if _loss(joint, worst) < least:
                return joint
    if made is None:
        raise TooLarge("errors of so many ranges by noise in running totals are not found")
    return made


def _loss(made: ToeplitzMechanism, worst: bool) -> float:
    errors = made.variances * made.merged.costs
    return float(errors.max() if worst else errors.sum())


def _of_several(metric: VerifiedMetric, queries: BoxQueries, worst: bool) -> ToeplitzMechanism:
    """Raises: TooLarge, CertificateRefused."""
    try:
        asked = asked_by_category(queries.merged, queries.merged.costs)
        found = _by_category(metric, queries, asked)
    except (TooLarge, CertificateRefused) as refused:
        try:
            return _jointly(metric, queries)
        except TooLarge as too_large:
            raise TooLarge(f"{refused}; {too_large}") from too_large
    if not asked.alike:
        with suppress(TooLarge, CertificateRefused):
            return min(found, _jointly(metric, queries), key=lambda one: _loss(one, worst))
    return found


def _jointly(metric: VerifiedMetric, queries: BoxQueries) -> ToeplitzMechanism:
    """Noise through a matrix for each attribute, sought for the total error. Raises: TooLarge, CertificateRefused."""
    merged = queries.merged
    presence = joint_presence(metric, merged)
    strategy, scale = joint_strategy(merged.sizes, merged.lower, merged.upper, merged.costs, presence)
    return ToeplitzMechanism(TOEPLITZ, metric, queries, strategy, np.array([scale]))


def _by_category(metric: VerifiedMetric, queries: BoxQueries, asked: AskedByCategory) -> ToeplitzMechanism:
    """Of prefixes in every combination of others' values. Raises: TooLarge, CertificateRefused."""
    bounds = category_bounds(metric, queries.merged, asked.line)
    strategy = category_strategy(bounds, asked.costs)
    if strategy is None:
        raise TooLarge(
            f"noise in running totals of {asked.costs.categories:,} categories is for up to {LAID_OUT:,} prefixes, "
            "each asked for, where nothing but steps along the line is nearer than records that come and go"
        )
    return ToeplitzMechanism(TOEPLITZ, metric, queries, strategy, np.array([strategy.least_scale(bounds)]))


def _held(
    size: int,
    bounds: LineBounds,
    over: LineBounds | None,
    lower: NDArray[np.int64],
    upper: NDArray[np.int64],
    costs: NDArray[np.float64],
) -> Iterator[tuple[LineStrategy, LineBounds]]:
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
) -> Iterator[LineStrategy]:
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
