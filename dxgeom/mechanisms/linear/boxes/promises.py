"""What a metric promises about each attribute's changes, as the factors tell them apart: from the verified metric."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.boxes.factors import Factor, Path
from dxgeom.mechanisms.linear.boxes.question import Promised
from dxgeom.mechanisms.linear.marginals.promise import parts_of, promise_of
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.universe.workloads.box_queries import BoxQueries


def line_gaps(metric: VerifiedMetric, boxes: BoxQueries) -> list[NDArray[np.float64] | None]:
    """For each column the distances of neighbouring values that are told apart, *rounded down*, where they are on a
    line; else None."""
    own = metric.metric.inner if isinstance(metric.metric, PresenceMetric) else metric.metric
    parts = parts_of(own, boxes.universe.shape)
    found = [parts[one.axis] for one in boxes.columns]
    cuts = [np.flatnonzero(np.diff(one.codes)) for one in boxes.columns]
    return [one.gaps[at] if isinstance(one, LineMetric) else None for one, at in zip(found, cuts, strict=True)]


def promised_of(metric: VerifiedMetric, boxes: BoxQueries, factors: Sequence[Factor]) -> Promised:
    """The distances of every factor's kinds of change. On a line neighbours are enough: all other changes are made of
    theirs.

    Raises: TooLarge where the metric is no sum over attributes, or a path is to measure what is no line.
    """
    if len(factors) != len(boxes.columns) or any(
        Factor not in type(one).__mro__ or one.size != size for one, size in zip(factors, boxes.sizes, strict=False)
    ):
        raise TooLarge("there is a factor for each column, of as many values")
    gaps = line_gaps(metric, boxes)
    kinds = []
    for own, one, factor in zip(gaps, boxes.columns, factors, strict=True):
        if own is not None:
            kinds.append(factor.kinds(own))
        elif isinstance(factor, Path):
            raise TooLarge("cuts along a line measure attributes whose values are on a line")
        else:
            kinds.append(factor.kinds(_least(metric, boxes, {one.axis: one.codes})))
    presence = metric.metric.epsilon if isinstance(metric.metric, PresenceMetric) else None
    return Promised(tuple(kinds), presence)


def _least(metric: VerifiedMetric, boxes: BoxQueries, classes: dict[int, NDArray[np.int64]]) -> Fraction | None:
    return promise_of(metric.metric, boxes.universe.shape, classes).least[0]
