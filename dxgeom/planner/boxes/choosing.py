"""Which way of measuring boxes: attribute by attribute the one with the smallest exact error."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.boxes.factors import Factor, Path, trees
from dxgeom.mechanisms.linear.boxes.mechanism import LAPLACE, NORMAL, BoxMechanism
from dxgeom.mechanisms.linear.boxes.promises import line_gaps, promised_of
from dxgeom.mechanisms.linear.boxes.question import BoxQuestion
from dxgeom.mechanisms.linear.boxes.scales import best_scales, block_variances
from dxgeom.mechanisms.linear.boxes.worst import worst_scales
from dxgeom.metrics.checking.verification import VerifiedMetric, require_verified
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.boxes.box_plan import BoxPlan, loss_of
from dxgeom.planner.options import AUTO
from dxgeom.privacy.currencies import CONCENTRATED
from dxgeom.universe.workloads.box_queries import BoxQueries

_MOST_TREES: Final = 8
_WORTH: Final = 0.99
_TRIED: Final = {NORMAL: (2, _MOST_TREES), LAPLACE: (1, 3)}
"""How often attributes are gone through, and in how many ways each; finding Laplace scales takes ten times as long."""


def plan_boxes(
    metric: VerifiedMetric,
    queries: BoxQueries,
    *,
    objective: str = "balanced",
    mechanism: str = AUTO,
    importance: Sequence[Amount] | None = None,
    errors: Sequence[Amount | None] | Mapping[str, Amount] | None = None,
) -> BoxPlan:
    """Choose how counts in boxes are measured, under any policy whose rules are about single attributes.

    Args: ``objective``: "mse" (or "balanced", the same here) or "max"; ``mechanism``: "auto", "boxes-laplace" or
    "boxes-gaussian"; ``importance``, ``errors``: one for each box, errors also by name, instead of the queries' own.
    With errors the worst answer counts, next to its own.
    Guarantee: reads no data; deterministic; what is chosen honours the metric, proved in integers.
    Raises: UnsupportedCombination; TooLarge where the metric is no sum over attributes; CertificateRefused.
    """
    queries = _with(queries, importance, errors)
    worst = _worst(queries, objective)
    _require_fit(metric, queries)
    built, losses, pressed = {}, {}, None
    for kind in _kinds(metric, mechanism):
        built[kind], pressed = _best(metric, queries, kind, worst)
        losses[kind] = loss_of(built[kind], worst)
    taken = min(losses, key=lambda kind: losses[kind])
    return BoxPlan(metric, queries, built[taken], losses, "max" if worst else "mse", pressed)


def boxes_of_scales(
    metric: VerifiedMetric,
    queries: BoxQueries,
    objective: Literal["mse", "max"],
    mechanism: str,
    factors: Sequence[Factor],
    scales: NDArray[np.float64],
) -> BoxPlan:
    """The plan with these very ``factors`` and ``scales``, as a file has them; nothing is sought.

    Raises: as :func:`plan_boxes`, CertificateRefused where they do not hide what the metric protects.
    """
    _require_fit(metric, queries)
    _kinds(metric, mechanism)
    built = BoxMechanism(mechanism, metric, queries, tuple(factors), scales)
    return BoxPlan(metric, queries, built, {mechanism: loss_of(built, objective == "max")}, objective, None)


def _require_fit(metric: VerifiedMetric, queries: BoxQueries) -> None:
    require_verified(metric)
    if metric.universe is None or not metric.universe.lists_the_same_records(queries.universe):
        raise UnsupportedCombination("the queries are about other records than the metric: load both from one policy")


def _kinds(metric: VerifiedMetric, mechanism: str) -> tuple[str, ...]:
    if mechanism not in (AUTO, NORMAL, LAPLACE):
        raise UnsupportedCombination(
            f"very many boxes are answered by {LAPLACE} or {NORMAL}, and '{mechanism}' needs their weights laid out: "
            "ask for them as dx.LinearQueries.boxes"
        )
    if mechanism == NORMAL and metric.privacy != CONCENTRATED:
        raise UnsupportedCombination("Gaussian noise bounds no odds: it serves policies with 'privacy: concentrated'")
    if mechanism != AUTO:
        return (mechanism,)
    return (NORMAL,) if metric.privacy == CONCENTRATED else (LAPLACE,)


def _with(
    queries: BoxQueries,
    importance: Sequence[Amount] | None,
    errors: Sequence[Amount | None] | Mapping[str, Amount] | None,
) -> BoxQueries:
    if importance is not None:
        queries = replace(queries, importance=tuple(exact_amount(one, "importance") for one in importance))
    if isinstance(errors, Mapping):
        places = {queries.name(place): place for place in range(queries.count)}
        unknown = next((name for name in errors if name not in places), None)
        if unknown is not None:
            raise UnsupportedCombination(f"no box is called '{unknown}': boxes are called by their ends")
        by_place = {places[name]: error for name, error in errors.items()}
        errors = [by_place.get(place) for place in range(queries.count)]
    if errors is not None:
        wanted = tuple(None if one is None else exact_amount(one, "wanted error") for one in errors)
        queries = replace(queries, errors=wanted)
    if queries.importance is not None and any(queries.errors):
        raise UnsupportedCombination("'errors' already say how important each answer is; leave 'importance' out")
    return queries


def _worst(queries: BoxQueries, objective: str) -> bool:
    if objective not in ("balanced", "mse", "rmse", "max"):
        raise UnsupportedCombination(f"there is no objective '{objective}'; known are balanced, mse, max, rmse")
    return objective == "max" or any(queries.errors)


def _best(
    metric: VerifiedMetric, queries: BoxQueries, kind: str, worst: bool
) -> tuple[BoxMechanism, NDArray[np.float64] | None]:
    """One attribute after the other is measured in the way that is best, the others as they are."""
    asked, queries = queries, queries.merged
    gaps = line_gaps(metric, queries)
    ways: list[tuple[Factor, ...]] = [
        ((Path(size),) if line is not None else ()) + trees(size)[:_MOST_TREES]
        for size, line in zip(queries.sizes, gaps, strict=True)
    ]
    least, scales, taken = _descended(metric, queries, kind, ways)
    if not math.isfinite(least):
        raise TooLarge("these boxes are measured in too many blocks: ask for fewer, or of fewer attributes each")
    if not worst:
        return BoxMechanism(kind, metric, asked, tuple(taken), scales), None
    found_worst = worst_scales(_question(metric, queries, taken, kind))
    return BoxMechanism(kind, metric, asked, tuple(taken), found_worst.scales), found_worst.pressed


def _descended(
    metric: VerifiedMetric, queries: BoxQueries, kind: str, ways: Sequence[tuple[Factor, ...]]
) -> tuple[float, NDArray[np.float64], list[Factor]]:
    """From the best of a few ways that are alike for all attributes, to ways that no other of one attribute betters."""
    least, scales, taken = math.inf, np.zeros(0), [own[0] for own in ways]
    for number in range(max(map(len, ways))):
        alike = [own[0] if isinstance(own[0], Path) else own[min(number, len(own) - 1)] for own in ways]
        loss, found = _tried(metric, queries, tuple(alike), kind)
        if loss < least:
            least, scales, taken = loss, found, alike
    times, each = _TRIED[kind]
    for _ in range(times if len(ways) > 1 else 0):
        before = least
        for place, own in enumerate(ways):
            for factor in own[:each]:
                other = [*taken[:place], factor, *taken[place + 1 :]]
                loss, found = _tried(metric, queries, tuple(other), kind) if other != taken else (least, scales)
                if loss < least:
                    least, scales, taken = loss, found, other
        if least > before * _WORTH:
            break
    return least, scales, taken


def _question(metric: VerifiedMetric, queries: BoxQueries, factors: Sequence[Factor], kind: str) -> BoxQuestion:
    return BoxQuestion(queries, tuple(factors), promised_of(metric, queries, factors), kind == NORMAL)


def _tried(
    metric: VerifiedMetric, queries: BoxQueries, factors: Sequence[Factor], kind: str
) -> tuple[float, NDArray[np.float64]]:
    """The total and the scales; infinite where there would be too many blocks."""
    question = _question(metric, queries, factors, kind)
    try:
        scales = best_scales(question)
    except TooLarge:
        return math.inf, np.zeros(0)
    return float(question.weights @ block_variances(question, scales)), scales
