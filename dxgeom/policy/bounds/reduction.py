"""Fewer bounds that mean the same: one ceiling for all constants, one list by value, nothing that is undercut."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.bounds.by_value import ByValue, smaller_of_each
from dxgeom.policy.bounds.constant import Constant


def reduced(stated: Sequence[Bound]) -> tuple[tuple[Bound, ...], Fraction | None]:
    """Bounds on one attribute, and a ceiling after their closure, that together have the closure of those stated.

    A ceiling may be applied after the closure: a path through a pair bounded by ε is itself at least ε long. A list by
    value takes the ceiling in.
    """
    ceiling = least_constant(stated)
    lists = [bound for bound in stated if isinstance(bound, ByValue)]
    rest = list(dict.fromkeys(bound for bound in stated if not isinstance(bound, Constant | ByValue)))
    kept = tuple(bound for bound in rest if not _is_undercut(bound, rest, ceiling))
    return ((smaller_of_each(lists, ceiling), *kept), None) if lists else (kept, ceiling)


def shapes(bound: Bound, stated: Sequence[Bound], kept: Sequence[Bound]) -> bool:
    """Whether one of the bounds stated is still part of what was kept of them."""
    if isinstance(bound, Constant):
        return bound.epsilon == least_constant(stated)
    return isinstance(bound, ByValue) or bound in kept


def least_constant(stated: Sequence[Bound]) -> Fraction | None:
    """The smallest ε that is stated for every pair."""
    return min((bound.epsilon for bound in stated if isinstance(bound, Constant)), default=None)


def _is_undercut(bound: Bound, others: Sequence[Bound], ceiling: Fraction | None) -> bool:
    """Whether the ceiling or another bound is at most this one on every pair (and the bounds differ)."""
    if ceiling is not None and ceiling <= bound.extremes[0]:
        return True
    return any(other != bound and other.nowhere_above(bound) for other in others)
