"""How exact answers will be: ± of each beside ordinary noise, or what a plan states of its errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import epsilon_dp_laplace
from dxgeom.planner.answers.linear_answers import ErrorBars
from dxgeom.planner.plan import Plan
from dxgeom.privacy.measures import PURE
from dxgeom.report.facts import Facts

LEVEL: Final = 0.95
"""Nineteen times in twenty."""
_USELESS, _COARSE = 0.5, 0.1


@final
@dataclass(frozen=True)
class Expected:
    """A question with the error its answer will have.

    ``half_width``: ± at 19 times in 20; ``closest``, ``farthest``: the same if every pair were as hidden as the closest
    two, or as the farthest, None where that cannot be had; ``bias``: inside ±; ``possible``: the ends of what the
    answer can be whatever the records are, None where their number is not public.
    """

    name: str
    half_width: float
    closest: float | None
    farthest: float | None
    bias: float
    possible: tuple[float, float] | None

    @property
    def useless(self) -> bool:
        """Whether ± covers half or more of what is possible."""
        return covers(self.half_width, self.possible, _USELESS)

    @property
    def coarse(self) -> bool:
        """Whether ± covers more than a tenth of what is possible."""
        return covers(self.half_width, self.possible, _COARSE)


def covers(half_width: float | None, possible: tuple[float, float] | None, share: float = _USELESS) -> bool:
    """Whether a bar of that half-width covers this share of what is possible."""
    if half_width is None or possible is None or half_width == 0:
        return False
    return 2 * half_width >= share * (possible[1] - possible[0])


def possible_ranges(plan: Plan, records: int | None) -> list[tuple[float, float] | None]:
    """For each query the ends of what its answer can be, with a public number of records."""
    queries = plan.queries
    people = None if queries.universe is None else queries.universe.reading.people
    if records is None or (people is not None and people.most_rows > 1):
        return [None] * queries.count
    low, high = queries.tables.extremes
    each = zip(low.tolist(), high.tolist(), queries.units, strict=True)
    return [(float(one * unit * records), float(other * unit * records)) for one, other, unit in each]


def expected(facts: Facts, plan: Plan, spend: Fraction) -> tuple[Expected, ...]:
    """What to expect of each answer."""
    widths = plan.half_widths(LEVEL, spend, facts.records)
    near, far = _ordinary(facts, plan, spend) if facts.policy.privacy == PURE else (None, None)
    biases = plan.bars(spend, facts.records).biases
    ranges = possible_ranges(plan, facts.records)
    return tuple(
        Expected(
            name,
            float(widths[k]),
            None if near is None else float(near[k]),
            None if far is None else float(far[k]),
            float(biases[k]),
            ranges[k],
        )
        for k, name in enumerate(plan.queries.names)
    )


def ordinary_noise(plan: Plan) -> AdditiveMechanism | None:
    """Laplace noise that hides every pair as the closest two; None where it cannot be had."""
    try:
        return epsilon_dp_laplace(plan.mechanism.sensitivity)
    except (TooLarge, CertificateRefused):
        return None


def _ordinary(
    facts: Facts, plan: Plan, spend: Fraction
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Half-widths under ordinary noise, if every pair were as hidden as the closest two, and as the farthest."""
    mechanism = ordinary_noise(plan)
    if mechanism is None:
        return None, None
    near, far = facts.extremes.closest.distance, facts.extremes.farthest.distance
    closest = ErrorBars(plan.queries, mechanism, spend, facts.records).half_widths(LEVEL)
    if not (math.isfinite(near) and near > 0):
        return closest, None
    if math.isinf(far):
        return closest, np.zeros_like(closest)
    wider = spend * Fraction(far) / Fraction(near)
    return closest, ErrorBars(plan.queries, mechanism, wider, facts.records).half_widths(LEVEL)
