"""Several workloads from one account: what each has to spend so that all stated errors are met at the least cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import NoneType
from typing import Any, Final, final

import numpy as np

from dxgeom.arguments import described, require, require_function
from dxgeom.errors import UnsupportedCombination, WrongArgument
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.choose import plan
from dxgeom.planner.kind import kind_of
from dxgeom.planner.objectives.aims import Errors
from dxgeom.planner.plan import Plan
from dxgeom.planner.wish import Progress
from dxgeom.privacy.measures import PrivacyMeasure, privacy_measure_of
from dxgeom.universe.columns import plain
from dxgeom.universe.workloads.counts import Counts

_DIGITS: Final = 6


@final
@dataclass(frozen=True, eq=False)
class PlannedSpend:
    """One workload's plan, and the ``spend`` that its release is to use. ``wanted``: whether that is the least for the
    errors that were asked for, or a share of what the others left."""

    plan: Plan
    spend: Fraction
    wanted: bool


@final
@dataclass(frozen=True, eq=False)
class PlansTogether:
    """Plans of several workloads, in their order, each with its spend; to be released one by one, at any time.

    ``limit``: of all spends together, None where none was stated.
    """

    parts: tuple[PlannedSpend, ...]
    privacy_measure: PrivacyMeasure
    limit: Fraction | None

    def __iter__(self) -> Iterator[PlannedSpend]:
        return iter(self.parts)

    @property
    def total(self) -> Fraction:
        """What the account has spent once all are released: the sum, or the root of the sum of squares *rounded up*."""
        return self.privacy_measure.spend_above(_counted(self.privacy_measure, (part.spend for part in self.parts)))

    @property
    def left(self) -> Fraction | None:
        """What remains of the limit, *rounded down*; None without one."""
        if self.limit is None:
            return None
        spent = _counted(self.privacy_measure, (part.spend for part in self.parts))
        return self.privacy_measure.spend_below(self.privacy_measure.counted(self.limit) - spent)

    def lines(self) -> list[str]:
        """The spends for a reader."""
        adding = "squares add up" if self.privacy_measure.squares else "they add up"
        said = [f"spends of {len(self.parts)} workloads ({adding})"]
        for part in self.parts:
            errors = part.plan.rmse(part.spend)
            why = "the least for the errors asked for" if part.wanted else "a share of what is left"
            said.append(
                f"  {plain(part.spend)} for {part.plan.queries.count} queries by {part.plan.mechanism.name}, errors "
                f"from {errors.min():.4g} to {errors.max():.4g}: {why}"
            )
        total = plain(_short(self.total, math.ceil))
        if self.limit is None or self.left is None:
            return [*said, f"together {total}"]
        return [*said, f"together {total} of {plain(_short(self.limit))}, {plain(_short(self.left))} left"]

    def as_dict(self) -> dict[str, Any]:
        """The spends ready for JSON."""
        return {
            "privacy": self.privacy_measure.name,
            "total": str(self.total),
            "limit": None if self.limit is None else str(self.limit),
            "left": None if self.left is None else str(self.left),
            "workloads": [
                {"spend": str(part.spend), "wanted": part.wanted, "plan": part.plan.as_dict()} for part in self.parts
            ],
        }


def plan_together(
    metric: VerifiedMetric,
    workloads: Sequence[Counts],
    *,
    errors: Sequence[Errors | None] | None = None,
    spend: Amount | None = None,
    importance: Sequence[Amount] | None = None,
    records: int | None = None,
    progress: Progress | None = None,
) -> PlansTogether:
    """Split a spend over workloads that are released one by one, so that stated errors are met at the least cost.

    Args: ``errors``: for each workload the root mean squared errors that its answers may have, as :func:`dxgeom.plan`
    takes them (by table or box where these are asked), None for one that may have any; left out,
    what the queries state. ``spend``: of all releases together,
    as the account adds it up: Σ s ≤ S, or Σ s² ≤ S² under concentrated privacy. Workloads without wanted errors share
    what the others leave; they need it. ``importance``: how many times each of these workloads' squared errors count,
    beside what they would be alone; left out, all alike. ``records``, ``progress``: as in :func:`dxgeom.plan`, of
    what heeds them.

    Guarantee: reads no data. Costs add up over workloads, so the least cost is that of each one's best plan at its
    least spend (rounded up to six digits); shares of the rest make Σ importance/s² least, rounded down.
    Raises: UnsupportedCombination when errors cannot be met within the spend, which says how much they need; and as
    :func:`dxgeom.plan`.
    """
    require_verified(metric)
    _require(workloads, errors, importance)
    if progress is not None:
        require_function(progress, "progress", "pass one of one text, which says what is being built")
    measure, limit = privacy_measure_of(metric.privacy), None if spend is None else exact_amount(spend, "spend")
    wanted = [None] * len(workloads) if errors is None else list(errors)
    plans = [_planned(metric, asked, one, records, progress) for asked, one in zip(workloads, wanted, strict=True)]
    least = [one.least_spend if one.wants_errors else None for one in plans]
    spent = _counted(measure, (one for one in least if one is not None))
    if limit is not None and spent > measure.counted(limit):
        raise UnsupportedCombination(
            f"these errors need a spend of {plain(measure.spend_above(spent))} together, more than {plain(limit)}: "
            "ask for larger ones, or spend more"
        )
    weights = [Fraction(1)] * len(plans) if importance is None else [exact_amount(w, "importance") for w in importance]
    shares = _shares(
        measure, limit, spent, [None if one is not None else w for one, w in zip(least, weights, strict=True)]
    )
    parts = zip(plans, least, shares, strict=True)
    return PlansTogether(
        tuple(PlannedSpend(one, share if own is None else own, own is not None) for one, own, share in parts),
        measure,
        limit,
    )


def _planned(
    metric: VerifiedMetric, question: Any, errors: Any, records: int | None, progress: Progress | None
) -> Plan:
    said = {"errors": errors, "progress": progress}
    if "records" in kind_of(question).heeds:
        said["records"] = records
    return plan(metric, question, **said).uninterrupted()


def _require(workloads: object, errors: object, importance: object) -> None:
    require(workloads, (list, tuple), "workloads", "give a list of queries, such as dx.load_queries returns")
    listed: Any = workloads
    if not listed:
        raise UnsupportedCombination("'workloads' is an empty list: give at least one")
    for one in listed:
        if not kind_of(one, "workloads").counts:
            raise WrongArgument(
                f"'workloads' are queries of counts and sums, as dx.load_queries returns; found {described(one)}"
            )
    for own in errors if isinstance(errors, (list, tuple)) else ():
        require(own, (Sequence, Mapping, np.ndarray, NoneType), "errors", "give a list of them, or by name, or None")
    for given, what in ((errors, "errors"), (importance, "importance")):
        require(given, (list, tuple, NoneType), what, "give a list with one for each workload")
        several: Any = given
        if several is not None and len(several) != len(listed):
            raise UnsupportedCombination(f"'{what}' has one for each of {len(listed)} workloads; found {len(several)}")


def _counted(privacy_measure: PrivacyMeasure, spends: Iterator[Fraction]) -> Fraction:
    return sum((privacy_measure.counted(one) for one in spends), Fraction(0))


def _shares(
    privacy_measure: PrivacyMeasure, limit: Fraction | None, spent: Fraction, weights: Sequence[Fraction | None]
) -> list[Fraction]:
    """What each workload with a weight gets of the rest: Σ w/s² is least where s ∝ w^⅓, or s² ∝ w^½ for squares."""
    sharing = [float(weight) for weight in weights if weight is not None]
    if not sharing:
        return [Fraction(0)] * len(weights)
    if limit is None or spent >= privacy_measure.counted(limit):
        raise UnsupportedCombination(
            "workloads without wanted errors share what the others leave: state a larger 'spend', or errors for all"
        )
    power = 1 / 2 if privacy_measure.squares else 1 / 3
    whole, rest = math.fsum(weight**power for weight in sharing), privacy_measure.counted(limit) - spent
    alike = len(set(sharing)) == 1

    def share_of(weight: Fraction) -> Fraction:
        # A little less where float64 decides, so that shares never add up to more than the rest.
        return Fraction(1, len(sharing)) if alike else Fraction(float(weight) ** power / whole * (1 - 1e-12))

    return [
        Fraction(0) if weight is None else _short(privacy_measure.spend_below(rest * share_of(weight)))
        for weight in weights
    ]


def _short(spend: Fraction, rounded: Callable[[Fraction], int] = math.floor) -> Fraction:
    """To six digits, rounded down unless another way is said."""
    if spend == 0:
        return spend
    unit = Fraction(10) ** (math.floor(math.log10(spend)) + 1 - _DIGITS)
    return rounded(spend / unit) * unit
