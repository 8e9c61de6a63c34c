"""What pure noise for tables of counts cannot be below, by the volume of what it has to hide.

Noise that hides a body K of m dimensions at distance 1, and stretches, has a mean square of at least
m(m + 1)·(Vol K/ω_m)^(2/m), ω_m the volume of the unit ball, and so has its projection onto any subspace for the
projection of K; a larger K only has a larger one.

A change of attribute a from v to v′ moves every table of a and some b by e_v − e_v′, at the place of the record's own
value of b. These places are chosen freely, table by table: for one pair v, v′ the changes are the corners of a
*product* of simplices, whose volume is large, while no ellipsoid in it is. Pairs without common values stand at right
angles, and of their bodies' hull the volume is known. Of all rounds of a tournament among the n values of a, every
direction has its share n/2, so the bounds of the rounds' subspaces add up to that many times the bound of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.parts.tables import SetFamily

_CAUTION: Final = 1 - 1e-9
_SHIFTS: Final = 12
_KNOTS: Final = 16


@final
@dataclass(frozen=True, eq=False)
class _Changes:
    """Changes of one attribute: ``others``, with which some table has it; ``places``: the numbers of the residuals of
    it and another; ``height``: of what a pair of its values moves in its own residual; ``mean_section`` of the rest."""

    attribute: int
    others: NDArray[np.int64]
    places: NDArray[np.int64]
    height: float
    mean_section: float


def _least_mean_square(dimension: int, log_volume: float) -> float:
    """m(m + 1)·(Vol/ω_m)^(2/m): of noise in m dimensions that hides a body of this volume at distance 1."""
    ball = dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2 + 1)
    return dimension * (dimension + 1) * math.exp(2 / dimension * (log_volume - ball)) * _CAUTION


def _log_mean_section(ranks: Sequence[int] | NDArray[np.int64]) -> float:
    """How large the sections of conv(P ∪ −P) are on average, P a product of simplices of ``ranks`` dimensions at some
    height above 0, over P itself: a logarithm, *rounded down*.

    Definition: the section at α between −P and P has the volume Π_b Σ_k C(r_b, k)²·α^k·(1−α)^(r_b−k) times that of P,
    by the mixed volumes of a simplex and its mirror image. Its p-th root, p = Σ r, is concave in α (Brunn-Minkowski):
    the integral over what is linear between some α, where ∫ = (A^p + A^(p−1)·B + … + B^p)/(p + 1), is no larger.
    """
    power = int(np.sum(ranks))
    roots = sum((_log_sections(int(rank)) for rank in ranks), np.zeros(_KNOTS + 1)) / max(1, power)
    steps = np.arange(power + 1)
    pieces = np.logaddexp.reduce(steps[:, None] * roots[:-1] + (power - steps)[:, None] * roots[1:], axis=None)
    return float(pieces) - math.log(_KNOTS * (power + 1))


@cache
def _log_sections(rank: int) -> NDArray[np.float64]:
    """(knots,): log Σ_k C(r, k)²·α^k·(1−α)^(r−k) for α from 0 to a half; beyond it is the same backwards."""
    each, alpha = np.arange(rank + 1)[:, None], np.arange(1, _KNOTS + 1) / (2 * _KNOTS)
    chosen = 2 * (math.lgamma(rank + 1) - _log_factorials(each) - _log_factorials(rank - each))
    inside = np.logaddexp.reduce(chosen + each * np.log(alpha) + (rank - each) * np.log1p(-alpha), axis=0)
    return np.concatenate([[0.0], inside])


def _log_factorials(numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """log n! of each."""
    return np.array([math.lgamma(one + 1) for one in numbers.ravel().tolist()]).reshape(numbers.shape)


def _log_volume_of_hull(log_volume: float, dimension: int, bodies: int) -> float:
    """Of the convex hull of so many bodies of one volume around 0, in subspaces at right angles: (Vol·m!)^k/(k·m)!."""
    return bodies * (log_volume + math.lgamma(dimension + 1)) - math.lgamma(bodies * dimension + 1)


def tables_volume_bound(
    family: SetFamily, constants: NDArray[np.float64], costs: NDArray[np.float64], worst: bool
) -> float:
    """Total squared error, each times its table's cost (asked,), that no pure noise which stretches is below; with
    ``worst`` the worst of them.

    Args: ``constants`` (d,): no two values of an attribute are further apart; ∞ where some are at no distance.
    Guarantee: up to the rounding of float64, for which a billionth is taken off.
    """
    if worst:
        costs = costs / family.cells[family.workload_sets] / len(costs)
    if len(family.levels) < 2 or not np.any(costs > 0):
        return 0.0
    inner, outer, spread = family.inclusions
    each = np.zeros(family.count)
    np.add.at(each, family.workload_sets, costs)
    weights = np.asarray(np.bincount(inner, each[outer] / spread, family.count), dtype=np.float64)
    changes = [one for a in np.flatnonzero(np.isfinite(constants)).tolist() if (one := _changes(family, a, weights))]
    shares = {one.attribute: np.full(len(one.others), 0.5) for one in changes}
    for one in changes:
        shares[one.attribute][~np.isfinite(constants[one.others])] = 1.0
    best = 0.0
    for _ in range(_SHIFTS):
        found = {one.attribute: _of_changes(family, one, weights, shares[one.attribute], constants) for one in changes}
        best = max(best, sum(found.values()))
        shares = _shifted(family, changes, found, constants)
    return best


def _changes(family: SetFamily, attribute: int, weights: NDArray[np.float64]) -> _Changes | None:
    """None where no table has the attribute."""
    levels = [*family.levels, np.zeros((0, 2), dtype=np.int64)]
    alone, pairs = len(levels[0]) + np.arange(len(levels[1])), levels[2]
    own = weights[alone[levels[1][:, 0] == attribute]]
    if not np.any(own > 0):
        return None
    places = len(levels[0]) + len(levels[1]) + np.flatnonzero((pairs == attribute).any(axis=1))
    places = places[weights[places] > 0]
    others = pairs[places - len(levels[0]) - len(levels[1])].sum(axis=1) - attribute
    return _Changes(attribute, others, places, float(own[0]) ** 0.5, _log_mean_section(family.sizes[others] - 1))


def _of_changes(
    family: SetFamily,
    one: _Changes,
    weights: NDArray[np.float64],
    shares: NDArray[np.float64],
    constants: NDArray[np.float64],
) -> float:
    """The bound from the changes of one attribute, of errors each times its share."""
    size, ranks = int(family.sizes[one.attribute]), family.sizes[one.others] - 1
    length = 1 + int(ranks.sum())
    logs = ranks / 2 * np.log(weights[one.places] * shares) + np.log(ranks + 1) / 2 - _log_factorials(ranks)
    volume = math.log(2 * one.height) + one.mean_section + float(logs.sum())
    volume += length * math.log(math.sqrt(2) / constants[one.attribute])
    pairs = size // 2
    rounds = size - 1 if size % 2 == 0 else size
    hull = _log_volume_of_hull(volume, length, pairs)
    return rounds * 2 / size * _least_mean_square(length * pairs, hull)


def _shifted(
    family: SetFamily, changes: Sequence[_Changes], found: dict[int, float], constants: NDArray[np.float64]
) -> dict[int, NDArray[np.float64]]:
    """Of the error in a residual of two, each attribute's changes take up the part in which both gain alike."""
    gain = np.zeros(len(family.sizes))
    for one in changes:
        gain[one.attribute] = found[one.attribute] / (1 + int((family.sizes[one.others] - 1).sum()))
    # Of each dimension of the table's residual, times those of both attributes.
    gain = gain / np.maximum(family.sizes - 1, 1)
    shares = {}
    for one in changes:
        own, theirs = gain[one.attribute], np.where(np.isfinite(constants[one.others]), gain[one.others], 0.0)
        shares[one.attribute] = own / (own + theirs)
    return shares
