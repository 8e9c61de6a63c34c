"""Laplace noise on more sums than there are dimensions, from which the answers follow by least squares.

Strategies that are sought on some differences of very many: those that they load too much join, and again. How much
each row of a strategy counts: positive weights w with little error, found by gradient. What else could be asked about
the classes of records: cells, blocks of neighbouring ones, and lower marginals.

Minimise ‖(diag(w)·A)⁺‖² under Σ_k w_k·|A_k x_e| ≤ 1. With as many rows as dimensions this is convex in w; with more it
is not: two rows in the same direction share 1/(w₁² + w₂²), whose level sets are hollow, and in w² loads are concave.
So this is a local minimum from where it starts, with no promise.

Laplace noise in a better basis: as cheap as independent noise, and often a hundredth of its error.

Shapes with closed forms that exist in any dimension: the ellipsoid of least trace, and the box.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.geometry.round_bodies import Box, Ellipsoid
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import minimise_reciprocal_squares
from dxgeom.mechanisms.shapes.round_spaces import RoundSpace, least_trace_ellipsoid
from dxgeom.mechanisms.shapes.strategy_program import (
    WORK,
    descend,
    heaviest_points,
    improved_strategy,
    loads_of,
    longest_first,
    principal_axes,
    spread_of,
)
from dxgeom.metrics.changes import largest_first
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.universe.weight_table import WeightTable, on_shared_classes

_WORK: Final = 4e9
"""Multiplications to look at all differences: so many rounds there are, a few at least."""
_ROUNDS: Final = (3, 8)
_JOINING: Final = 20
"""Differences for each dimension that join at once."""
_ENOUGH: Final = 1.003
"""A largest load of all differences next to that of those in hand that no search would gain on,"""
_GAINED: Final = 0.01
"""and so is a round that gained no larger part."""


def refined(
    space: RoundSpace, strategy: NDArray[np.float64], work: float, most: int = _ROUNDS[1]
) -> NDArray[np.float64]:
    """A strategy as good as the one given, or better, when it is scaled to *all* differences, as nearly all need not
    be looked at to find it.

    Args: ``work``: multiplications to spend on each round, about; ``most``: rounds.
    Returns: scaled such that no difference has a load above 1, up to rounding. Deterministic.
    """
    changes = space.sensitivity.proved
    if not isinstance(changes, PairedChanges):
        return strategy
    rounds = min(most, max(_ROUNDS[0], int(_WORK / (changes.count * strategy.size / 8))))
    points, best, least = space.points, strategy, np.inf
    for turn in range(1, rounds + 1):
        largest, joining = _most_loaded(space, changes, strategy)
        fits = strategy / largest
        spread = spread_of(fits)
        gained = spread < least * (1 - _GAINED)
        if spread < least:
            best, least = fits, spread
        if turn == rounds or (not gained and largest <= _ENOUGH * loads_of(points, strategy).max()):
            break
        points = np.vstack([points, joining])
        strategy = improved_strategy(points, fits, work)
    return best


def _most_loaded(
    space: RoundSpace, changes: PairedChanges, strategy: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The largest load of any difference, and the points (n, m) of those with the largest ones."""
    kinds = changes.kinds.columns[:, space.noisy] / space.scales
    turned = kinds @ (strategy @ space.back).T
    loads = np.concatenate([np.abs(rows).sum(axis=1) / bounds for rows, bounds in changes.steps(turned)])
    top = largest_first(loads, _JOINING * space.dimension)
    rows = changes.rows(top)[:, space.noisy] / changes.bounds[top, None] / space.scales
    return float(loads.max()), np.asarray(rows @ space.back.T)


_SHARPNESS = (50.0, 400.0)
STEPS = 100
_IDLE = 1e-3
"""A row that uses less than this of every bound is left out, where the error stays as it is."""
_HARMLESS = 1 + 1e-4


def weighted_rows(points: NDArray[np.float64], rows: NDArray[np.float64], steps: int = STEPS) -> NDArray[np.float64]:
    """diag(w)·rows with w as above, without the rows that hardly count.

    Args: ``points`` (E, m); ``rows`` (p, m), of rank m, none zero; ``steps``: at most so many at each sharpness.
    Returns: (p' ≤ p, m), scaled such that max_e ‖A x_e‖₁ is 1 up to rounding. Deterministic.
    """
    best = rows / loads_of(points, rows).max()
    for sharpness in _SHARPNESS:
        fresh = _descended(heaviest_points(points, best), best, sharpness, steps)
        fresh = fresh / loads_of(points, fresh).max()
        if spread_of(fresh) < spread_of(best):
            best = fresh
    return _without_idle(points, best)


def _descended(
    points: NDArray[np.float64], rows: NDArray[np.float64], sharpness: float, steps: int
) -> NDArray[np.float64]:
    """Quasi-Newton steps in log w, for rows = Q·T with orthonormal columns Q: with G = Qᵀ·diag(w²)·Q and N = (TTᵀ)⁻¹
    the spread is tr(G⁻¹N)."""
    columns, triangle = np.linalg.qr(rows)
    back = np.linalg.inv(triangle)
    metric = back.T @ back
    sizes = np.abs(points @ rows.T)

    def height(logs: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = np.exp(logs)
        heavy = columns * weights[:, None]
        try:
            inverse = np.linalg.inv(heavy.T @ heavy)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(logs)
        moved = inverse @ metric
        spread = float(np.trace(moved))
        if not spread > 0:  # an inverse that is nearly none has lost its sign
            return np.inf, np.zeros_like(logs)
        loads = sizes @ weights
        top = float(loads.max())
        powers = (loads / top) ** sharpness
        total = float(powers.sum())
        pull = -2 * np.sum(heavy @ (moved @ inverse) * heavy, axis=1) / spread
        push = 2 * weights * ((powers / loads) @ sizes) / total
        return np.log(spread) + 2 * (np.log(top) + np.log(total) / sharpness), pull + push

    return np.asarray(rows * np.exp(descend(height, np.zeros(len(rows)), steps))[:, None])


def _without_idle(points: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    used = np.abs(heaviest_points(points, rows) @ rows.T).max(axis=0)
    kept = rows[used > _IDLE]
    if len(kept) < rows.shape[1]:
        return rows
    kept = kept / loads_of(points, kept).max()
    return kept if spread_of(kept) <= spread_of(rows) * _HARMLESS else rows


Kind: TypeAlias = Literal["cells", "blocks"]
"""Cells and their sums over attributes; or also over blocks of 2, 4, 8, … neighbouring classes of an attribute."""

MOST_ENTRIES = 8_000_000
"""Numbers of all weights, or of all sums, over the classes of records that a workload tells apart: of each matrix 64
megabytes, and as many products as these for each dimension."""
_DETERMINED = 1e-6
"""Relative: what the answers do not determine this well is not asked."""

_Part: TypeAlias = tuple[int, int, int]
"""The classes from one up to another of an axis: (axis, first, end)."""


def determined_rows(space: RoundSpace, kind: Kind) -> NDArray[np.float64]:
    """(p, m): counts of classes of records that follow from the answers, up to constants, in round coordinates.

    For each table of the workload the products, over the attributes it looks at, of one class, or block, or all.
    None (0, m) where there would be too many. Nothing rests on these: they are where a search starts.
    """
    tables = space.sensitivity.queries.tables.tables
    sizes = {axis: int(own.max()) + 1 for table in tables for axis, own in zip(table.axes, table.classes, strict=True)}
    nothing = np.empty((0, space.dimension))
    answers = len(space.noisy)
    if math.prod(sizes.values()) * answers > MOST_ENTRIES:
        return nothing
    tables = on_shared_classes(tables)
    sizes = {axis: int(own.max()) + 1 for table in tables for axis, own in zip(table.axes, table.classes, strict=True)}
    cells = math.prod(sizes.values())
    chosen = {axis: _parts(axis, size, kind) for axis, size in sizes.items()}
    count = sum(math.prod(len(chosen[axis]) + 1 for axis in table.axes) for table in tables)
    if max(count, answers) * cells > MOST_ENTRIES:
        return nothing
    weights = _over_cells(tables, sizes)[space.noisy] / space.scales[:, None]
    places = space.back @ (weights - weights.mean(axis=1, keepdims=True))
    sums = np.array([_count_of(parts, sizes) for parts in _products(tables, chosen)]).reshape(-1, cells)
    sums -= sums.mean(axis=1, keepdims=True)
    rows = np.linalg.lstsq(places.T, sums.T, rcond=None)[0].T
    lengths = np.linalg.norm(sums, axis=1)
    missed = np.linalg.norm(rows @ places - sums, axis=1)
    return np.asarray(rows[(lengths > 0) & (missed <= _DETERMINED * lengths)])


def _parts(axis: int, size: int, kind: Kind) -> list[_Part]:
    widths = [1, *(2**power for power in range(1, size.bit_length()) if 2**power < size)] if kind == "blocks" else [1]
    return [(axis, start, min(start + width, size)) for width in widths for start in range(0, size, width)]


def _products(tables: Sequence[WeightTable], chosen: Mapping[int, list[_Part]]) -> list[tuple[_Part, ...]]:
    """Every combination once, in order; an attribute of which all classes count is left out."""
    found: dict[tuple[_Part, ...], None] = {}
    for table in tables:
        for combination in itertools.product(*([None, *chosen[axis]] for axis in table.axes)):
            found[tuple(part for part in combination if part is not None)] = None
    return list(found)


def _count_of(parts: tuple[_Part, ...], sizes: Mapping[int, int]) -> NDArray[np.float64]:
    """1 for every cell that is in all parts."""
    inside = np.ones(tuple(sizes.values()))
    for place, (axis, size) in enumerate(sizes.items()):
        for one, first, end in parts:
            if one == axis:
                codes = np.arange(size)
                shape = [size if other == place else 1 for other in range(len(sizes))]
                inside = inside * ((codes >= first) & (codes < end)).reshape(shape)
    return inside.ravel()


def _over_cells(tables: Sequence[WeightTable], sizes: Mapping[int, int]) -> NDArray[np.float64]:
    """(K, cells): the weights of all queries on the grid of all classes."""
    count = sum(len(table.queries) for table in tables)
    laid_out = np.empty((count, *sizes.values()))
    for table in tables:
        order = [axis for axis in sizes if axis in table.axes]
        weights = table.weights.transpose(0, *(1 + table.axes.index(axis) for axis in order))
        shape = [size if axis in table.axes else 1 for axis, size in sizes.items()]
        laid_out[table.queries] = weights.reshape(len(weights), *shape)
    return laid_out.reshape(count, -1)


MOST_ROWS = 1_200
_POLISH = WORK / 5
_FEW_STEPS = 8


def strategy_mechanism(space: RoundSpace, sums: NDArray[np.float64]) -> AdditiveMechanism:
    """The matrix mechanism: noise A⁺Z with Z_k ~ Lap(1) on p ≥ m sums A of which the answers are combinations.

    Definition: ‖A Δ_e‖₁ ≤ b_e on all generating pairs, ‖A⁺‖ small; A⁺ the left inverse of least squares. Rows are the
    queries, counts of the classes that these tell apart, of blocks of neighbouring classes and in lower marginals, and
    the rotated Laplace noise's own; several sets of them are weighted by gradient, and the best improved as a whole.

    Guarantee: what is released is y + A⁺Z for the exact answers y, rounded. Let u with A⁺u = Δ: then y + Δ + A⁺Z is the
    same function of Z + u as y + A⁺Z is of Z, so the odds change by at most e^‖u‖₁. For each generating difference that
    u is computed from the very matrix that noise is drawn through, with all rounding errors counted against it; that
    matrix need not be the inverse of anything. The error is exact, the strategy a local optimum only.
    Args: ``sums`` A in round coordinates, from :func:`best_sums`.
    Raises: CertificateRefused when float64 cannot show it.
    Source: Li, Miklau, Hay, McGregor and Rastogi, The matrix mechanism, 2015.
    """
    return space.mechanism("strategy", LaplaceNoise(np.ones(len(sums))), np.asarray(np.linalg.pinv(sums)))


def best_sums(space: RoundSpace, square: NDArray[np.float64]) -> NDArray[np.float64]:
    """The matrix A (p, m) in round coordinates with ‖A x_e‖₁ ≤ 1 for the points x_e, up to rounding.

    Args: ``square`` the rotated Laplace noise's strategy, from ``best_strategy``.
    Raises: CertificateRefused where none is found.
    """
    best = _best_of(space.points, _row_sets(space, square))
    if best is None:
        raise CertificateRefused("no sums that all answers follow from were found within float64")
    if spread_of(best) < spread_of(square):
        best = improved_strategy(space.points, best, _POLISH)
    return refined(space, best, _POLISH)


def quickly_estimated_sums(space: RoundSpace, square: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same after a short search, which fits some differences only: of the order of what a longer one finds."""
    best = _best_of(space.points, _row_sets(space, square), _FEW_STEPS)
    return square if best is None else best


def _row_sets(space: RoundSpace, square: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Sets of rows (p, m), each of rank m, as a search may start from."""
    own = [_queries_themselves(space), determined_rows(space, "cells"), determined_rows(space, "blocks")]
    queries, cells, blocks = (_balanced(space.points, rows) for rows in own)
    sets = [queries, cells, blocks, np.vstack([queries, square]), np.vstack([cells, square])]
    return [rows for rows in sets if _reaches(rows, space.dimension)]


def _queries_themselves(space: RoundSpace) -> NDArray[np.float64]:
    """(k, m): the queries with the scales of optimal Laplace noise, as they are where float64 does not tell these."""
    costs = (space.scales * space.sensitivity.queries.float_steps[space.noisy]) ** 2
    with suppress(CertificateRefused):
        rates = minimise_reciprocal_squares(np.abs(space.points @ space.axes.T), costs / costs.max()).rates
        return np.asarray(rates[:, None] * space.axes)
    return space.axes


def _best_of(
    points: NDArray[np.float64], sets: list[NDArray[np.float64]], steps: int = STEPS
) -> NDArray[np.float64] | None:
    """The set that is best when weighted, in so many ``steps``; None of none."""
    return min((weighted_rows(points, rows, steps) for rows in sets), key=spread_of, default=None)


def _balanced(points: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same rows without zeros, together as heavy as the points allow."""
    rows = rows[np.abs(rows).max(axis=1) > 0]
    return rows if len(rows) == 0 else np.asarray(rows / loads_of(points, rows).max())


def _reaches(rows: NDArray[np.float64], dimension: int) -> bool:
    return dimension <= len(rows) <= MOST_ROWS and bool(np.isfinite(spread_of(rows)))


def ellipsoid_mechanism(space: RoundSpace) -> AdditiveMechanism:
    """K-norm noise of the ellipsoid of least trace around all differences over their bounds.

    Definition: minimise tr M subject to x_eᵀM⁻¹x_e ≤ 1; total weighted squared error (m + 1)·tr M.
    Guarantee: every generating difference is inside, with all rounding errors counted against it; the trace is within a
    relative 1e-4 of the least.
    Raises: CertificateRefused when float64 cannot show it.
    """
    values, axes = np.linalg.eigh(least_trace_ellipsoid(space.points))
    ball = EllipsoidNoise(Ellipsoid(np.eye(space.dimension)))
    return space.mechanism("ellipsoid", ball, axes * np.sqrt(np.maximum(values, values[-1] * 1e-14)))


def box_mechanism(space: RoundSpace) -> AdditiveMechanism:
    """ℓ∞ noise: the smallest box around all differences over their bounds, along the queries or the principal axes.

    Guarantee: every generating difference is inside, with all rounding errors counted against it.
    Raises: CertificateRefused when float64 cannot show it.
    Source: Awan & Slavković 2020, Prop. 4.13.
    """
    cube = BoxNoise(Box(np.ones(space.dimension)))
    return space.mechanism("box", cube, box_image(space))


def box_image(space: RoundSpace) -> NDArray[np.float64]:
    """The matrix (m, m) that makes the cube [−1, 1]ᵐ that box, in round coordinates."""
    bases = [principal_axes(space.points)]
    if space.query_basis is not None:
        bases.append(space.query_basis)
    images = [basis.T * np.abs(space.points @ basis.T).max(axis=0) for basis in bases]
    return min(images, key=lambda image: float(np.sum(image**2)))


def box_moment(dimension: int) -> float:
    """The mean square of each coordinate of the noise of the cube [−1, 1]ᵐ."""
    return (dimension + 1) * (dimension + 2) / 3


@final
@dataclass(frozen=True)
class Effort:
    """How much to spend on improving a strategy: ``work`` multiplications, about, in at most ``steps`` at a time, and
    at most so many ``rounds`` over all differences; ``shifts``: how often attention goes to the answers that are worst.
    """

    work: float
    steps: int
    rounds: int
    shifts: int


THOROUGH: Final = Effort(WORK, 200, 8, 5)
QUICK: Final = Effort(WORK / 30, 50, 1, 3)
"""Where somebody is in a hurry: mostly within a tenth of what a thorough search finds, for a tenth of its time."""
QUICK_EFFORT: Final = Effort(WORK / 100, 20, 0, 0)
"""To see of which order the error of a longer search would be."""


def rotated_laplace(space: RoundSpace, strategy: NDArray[np.float64]) -> AdditiveMechanism:
    """Independent Laplace noise on m combinations of the queries, from which the answers follow.

    Definition: noise B⁻¹V with V_r ~ Lap(1), ‖BΔ_e‖₁ ≤ b_e on all generating pairs, and ‖B⁻¹‖ small. Bases tried: the
    queries themselves, the longest differences one after another, the principal axes; each with optimal scales, and
    the best then improved as a whole. This is the matrix mechanism with as many strategies as dimensions.

    Args: ``strategy`` B in round coordinates, from :func:`best_strategy`.
    Guarantee: every generating difference is hidden, with all rounding errors counted against it; the error is exact,
    the basis a local optimum only.
    Raises: CertificateRefused when float64 cannot show it.
    """
    return space.mechanism(
        "rotated-laplace", LaplaceNoise(np.ones(space.dimension)), np.asarray(np.linalg.inv(strategy))
    )


def best_strategy(space: RoundSpace, effort: Effort = THOROUGH) -> NDArray[np.float64]:
    """The matrix B (m, m) in round coordinates with ‖B x_e‖₁ ≤ 1 for the points x_e, up to rounding."""
    best = improved_strategy(space.points, best_start(space), effort.work, effort.steps)
    again = _optimally_scaled(space.points, best)
    return refined(
        space, min([best, *([] if again is None else [again])], key=spread_of), effort.work / 10, effort.rounds
    )


def best_start(space: RoundSpace) -> NDArray[np.float64]:
    """The best of the bases that the search begins from, each with optimal scales, (m, m)."""
    starts = [longest_first(space.points), principal_axes(space.points)]
    if space.query_basis is not None:
        starts.insert(0, space.query_basis)
    scaled = [found for start in starts if (found := _optimally_scaled(space.points, start)) is not None]
    if not scaled:
        raise CertificateRefused("no basis of this workload has optimal scales within float64")
    return min(scaled, key=spread_of)


def _optimally_scaled(points: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """diag(w)·basis with the w of least error; None where float64 does not suffice to find it."""
    lengths = np.sum(np.linalg.inv(basis) ** 2, axis=0)
    try:
        rates = minimise_reciprocal_squares(np.abs(points @ basis.T), lengths / lengths.max()).rates
    except CertificateRefused:
        return None
    return np.asarray(rates[:, None] * basis)
