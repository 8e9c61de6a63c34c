"""The largest value of a sum of tables that share variables, by eliminating one variable after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Scope: TypeAlias = tuple[int, ...]


class Elimination(NamedTuple):
    """``order`` in which variables go; ``cells``: the most entries that a table has on the way, for each case."""

    order: tuple[int, ...]
    cells: int


class Largest(NamedTuple):
    """``values`` (P,): the maxima; ``choice``: for each variable the value (P,) that attains them."""

    values: NDArray[np.float64]
    choice: dict[int, NDArray[np.int64]]


def elimination_of(scopes: Sequence[Scope], sizes: Mapping[int, int]) -> Elimination:
    """Always the variable next whose elimination makes the smallest table."""
    left, order, most = [set(scope) for scope in scopes], [], 1
    while variables := set().union(*left):
        joined = {one: set().union(*(scope for scope in left if one in scope)) for one in sorted(variables)}
        cells = {one: math.prod(sizes[other] for other in scope) for one, scope in joined.items()}
        chosen = min(cells, key=lambda one: cells[one])
        most = max(most, cells[chosen])
        order.append(chosen)
        left = [scope for scope in left if chosen not in scope] + [joined[chosen] - {chosen}]
    return Elimination(tuple(order), most)


def largest_sum(tables: Sequence[tuple[Scope, NDArray[np.float64]]], order: Sequence[int]) -> Largest:
    """max over the variables of Σ tables, for each of P cases.

    Args: each table has the cases first and then one axis per variable of its scope, in increasing order of variables;
    ``order``: all variables.
    Guarantee: exact but for the additions, each of which is rounded to nearest; every summand goes through fewer
    additions than there are tables.
    """
    left = list(tables)
    steps: list[tuple[int, Scope, NDArray[np.int64]]] = []
    for variable in order:
        involved = [table for table in left if variable in table[0]]
        scope = tuple(sorted({one for variables, _ in involved for one in variables}))
        total = _added(involved, scope)
        place = 1 + scope.index(variable)
        others = tuple(one for one in scope if one != variable)
        steps.append((variable, others, total.argmax(axis=place)))
        left = [table for table in left if variable not in table[0]] + [(others, total.max(axis=place))]
    choice: dict[int, NDArray[np.int64]] = {}
    for variable, others, best in reversed(steps):
        choice[variable] = best[(np.arange(len(best)), *(choice[other] for other in others))]
    return Largest(_added(left, ()), choice)


def _added(tables: Sequence[tuple[Scope, NDArray[np.float64]]], scope: Scope) -> NDArray[np.float64]:
    total: NDArray[np.float64] | None = None
    for variables, entries in tables:
        sizes = iter(entries.shape[1:])
        spread = entries.reshape(len(entries), *(next(sizes) if one in variables else 1 for one in scope))
        total = spread if total is None else total + spread
    return np.zeros(1) if total is None else total
