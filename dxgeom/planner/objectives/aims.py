"""What is said of answers when they are planned: their importance, their errors, and what is made small."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, final

import numpy as np

from dxgeom.arguments import require
from dxgeom.errors import UnsupportedCombination
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.objectives.error_sizes import SIZES
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.counts import Counts
from dxgeom.universe.workloads.whole_tables import MarginalQueries

if TYPE_CHECKING:
    from dxgeom.planner.candidates import CandidateResult
    from dxgeom.planner.wish import Wish

Asked = TypeVar("Asked", MarginalQueries, BoxQueries)
Errors: TypeAlias = Sequence[Any] | Mapping[str, Amount]
Aim = Literal["mse", "max"]


@final
@dataclass(frozen=True, eq=False)
class TriedNoise:
    """What was decided of noise in parts.

    ``objective``: what was made small. ``losses``: the objective at spend 1 of each kind of noise that was tried, by
    name, rounding left out; the least is taken, or the one that was named. ``bound``: what no additive noise that
    stretches to every spend has less than, 0 where none is known; found when it is asked for. ``others``: what became
    of other noise, where such was looked at before. ``left_out``: why a search that would raise the bound is not made;
    empty where none is left out.
    """

    objective: Aim
    losses: Mapping[str, float]
    bound: Callable[[], float] = field(repr=False)
    others: tuple[CandidateResult, ...] = field(default=(), repr=False)
    left_out: Callable[[], str] = field(default=str, repr=False)


def with_aims(queries: Asked, wish: Wish) -> Asked:
    """The queries with the importance and errors that are wished for instead of their own.

    Raises: UnsupportedCombination.
    """
    if wish.importance is not None:
        queries = replace(queries, importance=each_importance(queries, wish.importance))
    if wish.errors is not None:
        queries = replace(queries, errors=each_error(queries, wish.errors))
    if queries.importance is not None and any(queries.errors):
        raise UnsupportedCombination("'errors' already say how important each answer is; leave 'importance' out")
    return queries


def each_importance(queries: Counts, importance: Sequence[Amount]) -> tuple[Fraction, ...]:
    """(each,): what squared errors count. Raises: UnsupportedCombination."""
    return tuple(exact_amount(one, "importance") for one in _one_each(importance, queries, "importance", "importance"))


def each_error(queries: Counts, errors: Errors) -> tuple[Fraction | None, ...]:
    """(each,): the error that it may have, None for any. Raises: UnsupportedCombination."""
    if isinstance(errors, Mapping):
        by_place = {queries.place(name): error for name, error in errors.items()}
        errors = [by_place.get(place) for place in range(queries.each)]
    return tuple(
        None if one is None else exact_amount(one, "wanted error")
        for one in _one_each(errors, queries, "errors", "wanted error")
    )


def _one_each(amounts: Sequence[Any], queries: Counts, argument: str, what: str) -> Sequence[Any]:
    require(amounts, (Sequence, np.ndarray), argument, f"give a list with one {what} for each {queries.one}")
    if len(amounts) != queries.each:
        each = f"each of {queries.each:,} {queries.several}"
        known = what == "wanted error"
        advice = f"; or write errors={{{queries.name(0)!r}: 50}} for some of them" if known else ""
        raise UnsupportedCombination(f"there is one {what} for {each}, found {len(amounts):,}{advice}")
    return amounts


def counts_worst(queries: Counts, objective: str) -> bool:
    """Whether the worst answer counts. Raises: UnsupportedCombination."""
    if objective in SIZES:
        raise UnsupportedCombination(
            f"objective '{objective}' is for counts and sums one by one; whole tables and boxes know balanced, mse, "
            "max, rmse"
        )
    if objective not in ("balanced", "mse", "rmse", "max"):
        raise UnsupportedCombination(f"there is no objective '{objective}'; known are balanced, mse, max, rmse")
    return objective == "max" or any(queries.errors)
