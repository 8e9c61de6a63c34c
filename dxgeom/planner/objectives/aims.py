"""What is said of very many answers when they are planned: their importance, their errors, and what is made small."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from dxgeom.errors import UnsupportedCombination
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.whole_tables import MarginalQueries

Asked = TypeVar("Asked", MarginalQueries, BoxQueries)


def with_aims(
    queries: Asked,
    importance: Sequence[Amount] | None,
    errors: Sequence[Amount | None] | Mapping[str, Amount] | None,
    place_of: Callable[[str], int],
    count: int,
) -> Asked:
    """The queries with these instead of their own; ``place_of`` a name, among so many that have each their own.

    Raises: UnsupportedCombination.
    """
    if importance is not None:
        queries = replace(queries, importance=tuple(exact_amount(one, "importance") for one in importance))
    if isinstance(errors, Mapping):
        by_place = {place_of(name): error for name, error in errors.items()}
        errors = [by_place.get(place) for place in range(count)]
    if errors is not None:
        wanted = tuple(None if one is None else exact_amount(one, "wanted error") for one in errors)
        queries = replace(queries, errors=wanted)
    if queries.importance is not None and any(queries.errors):
        raise UnsupportedCombination("'errors' already say how important each answer is; leave 'importance' out")
    return queries


def counts_worst(queries: MarginalQueries | BoxQueries, objective: str) -> bool:
    """Whether the worst answer counts. Raises: UnsupportedCombination."""
    if objective not in ("balanced", "mse", "rmse", "max"):
        raise UnsupportedCombination(f"there is no objective '{objective}'; known are balanced, mse, max, rmse")
    return objective == "max" or any(queries.errors)
