"""What is asked of whole tables of counts: kinds of noise, importance, errors; what each squared error counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.kronecker.mechanism import KRONECKER
from dxgeom.mechanisms.linear.marginals.mechanism import LAPLACE, NORMAL
from dxgeom.metrics.checking.verification import VerifiedMetric
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.options import AUTO
from dxgeom.privacy.currencies import CONCENTRATED
from dxgeom.universe.workloads.whole_tables import MarginalQueries


def kinds_of(metric: VerifiedMetric, mechanism: str) -> tuple[str, ...]:
    """The kinds of noise that are tried. Raises: UnsupportedCombination."""
    if mechanism not in (AUTO, NORMAL, LAPLACE, KRONECKER):
        raise UnsupportedCombination(
            f"whole tables of counts over universes of any size are answered by {LAPLACE}, {NORMAL} or "
            f"{KRONECKER}, and '{mechanism}' needs a count of every record type: ask for them as dx.LinearQueries"
        )
    if mechanism in (NORMAL, KRONECKER) and metric.privacy != CONCENTRATED:
        raise UnsupportedCombination("Gaussian noise bounds no odds: it serves policies with 'privacy: concentrated'")
    if mechanism != AUTO:
        return (mechanism,)
    return (LAPLACE, NORMAL, KRONECKER) if metric.privacy == CONCENTRATED else (LAPLACE,)


def with_aims(
    queries: MarginalQueries,
    importance: Sequence[Amount] | None,
    errors: Sequence[Amount | None] | Mapping[str, Amount] | None,
) -> MarginalQueries:
    """The queries with these instead of their own. Raises: UnsupportedCombination."""
    if importance is not None:
        queries = replace(queries, importance=tuple(exact_amount(one, "importance") for one in importance))
    if isinstance(errors, Mapping):
        by_place = {queries.table(name): error for name, error in errors.items()}
        errors = [by_place.get(place) for place in range(len(queries.asked))]
    if errors is not None:
        wanted = tuple(None if one is None else exact_amount(one, "wanted error") for one in errors)
        queries = replace(queries, errors=wanted)
    if queries.importance is not None and any(queries.errors):
        raise UnsupportedCombination("'errors' already say how important each answer is; leave 'importance' out")
    return queries


def counts_worst(queries: MarginalQueries, objective: str) -> bool:
    """Whether the worst answer counts. Raises: UnsupportedCombination."""
    if objective not in ("balanced", "mse", "rmse", "max"):
        raise UnsupportedCombination(f"there is no objective '{objective}'; known are balanced, mse, max, rmse")
    return objective == "max" or any(queries.errors)


def costs_of(queries: MarginalQueries) -> NDArray[np.float64]:
    """(tables,): what the squared error of each cell counts."""
    if any(queries.errors):
        sharpest = min(one for one in queries.errors if one is not None)
        return np.array([float(1 / (100 * sharpest) ** 2 if one is None else 1 / one**2) for one in queries.errors])
    if queries.importance is not None:
        return np.array([float(one) for one in queries.importance])
    return np.ones(len(queries.asked))
