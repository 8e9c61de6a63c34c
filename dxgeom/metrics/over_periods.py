"""What a policy promises of records in several periods, where distances of single records say less of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dxgeom.metrics.metric import Metric


@final
@dataclass(frozen=True, eq=False)
class OverPeriods:
    """The promise about streams of one record a period: a path of changes reveals no more than its parts add up to.

    A part is a change of one record, at its distance in ``metric``; or any change within so many values in a row of the
    attribute at the place ``axis``, one record of each, at the number beside: ``spans``.

    Noise keeps it that keeps the smaller distances of the verified metric that has it; or these and the spans.
    """

    metric: Metric
    axis: int
    spans: tuple[tuple[int, Fraction], ...]
