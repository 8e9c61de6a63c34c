"""Shapes that are hulls of the changes, exact or coarser, or that a user hands over; and what no plan can be below.

K-norm noise shaped by the sensitivity hull: the smallest norm ball that hides every difference. K-norm noise shaped by
coarsened hulls: of the whole space, or of blocks of a few of its dimensions each. Noise shaped by a body that somebody
chose, as large as the metric needs. What no additive noise can beat that serves every spend by stretching, as all noise
here does.

V/s has to hide s·b_e for every s ≤ 1. Small spends then force the log-density of V to be 1-Lipschitz in the hull's
norm, and both bounds follow. Noise made for one spend and one lattice of answers can do better: for a single count at
ε = 3 the geometric mechanism has half the error of any such noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.errors import NotANormBall
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.hulls import SpannedSpace, coarse_polytope, independent_columns, span_of
from dxgeom.geometry.polytope import SymmetricPolytope, hull_of_differences
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.containment import hiding
from dxgeom.mechanisms.linear.laplace import minimise_reciprocal_squares
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.shapes.round_spaces import RoundSpace
from dxgeom.mechanisms.shapes.strategy_program import MOST_POINTS, loads_of
from dxgeom.metrics.changes import largest_first
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.k_norm import k_norm_noise
from dxgeom.noise.rejection import tightest_rejection
from dxgeom.numeric.qhull import HullLimits
from dxgeom.privacy.measures import privacy_measure_of

LARGEST_HULL_DIMENSION = 7
"""Facets explode beyond: seven dimensions of generic queries already have ten thousand."""
_SOME = 500
"""Of very many differences, to see how many dimensions they span at the least."""


@final
@dataclass(frozen=True, eq=False)
class SensitivityHull:
    """The polytope around all ±Δ_e/b_e in the coordinates of the span's pivot queries."""

    sensitivity: Sensitivity
    span: SpannedSpace
    body: SymmetricPolytope


def sensitivity_hull(sensitivity: Sensitivity, limits: HullLimits | None = None) -> SensitivityHull | None:
    """The hull, or None when no answer needs noise.

    Guarantee: *every* generating difference over its distance is inside; the boundary is proved closed and convex.
    Raises: TooLarge beyond seven dimensions, or where the hull passes ``limits`` or is expected to; NotANormBall for
    nearly dependent queries; CertificateRefused when no provable hull was found.
    """
    if not np.any(sensitivity.of_each_query > 0):
        return None
    if sensitivity.proved.count > _SOME:
        # Nearly all workloads of many queries are refused here, before their differences are listed.
        some = np.linspace(0, sensitivity.proved.count - 1, _SOME).astype(np.int64)
        rows, bounds = sensitivity.proved.rows(some), sensitivity.proved.bounds[some]
        independent_columns(rows / bounds[:, None], LARGEST_HULL_DIMENSION)
    span = span_of(sensitivity.differences, sensitivity.bounds, LARGEST_HULL_DIMENSION)
    differences = sensitivity.differences[:, span.pivots]
    body = hull_of_differences(differences, sensitivity.bounds, limits, sensitivity.corners)
    return SensitivityHull(sensitivity, span, body)


def hull_mechanism(sensitivity: Sensitivity, hull: SensitivityHull | None) -> AdditiveMechanism:
    """d-private K-norm noise with density ∝ exp(−‖v‖_K), K the sensitivity hull.

    ‖Δ_e‖_K ≤ b_e on generating pairs, so by the triangle inequality ‖Δ_ij‖_K ≤ d(i, j) on all, and the density's
    log-ratio is at most that. Answers that follow from others get the same combination of their noise.

    Source: Hardt & Talwar 2010; Awan & Slavković 2020, with their Algorithm 8 replaced: as printed it drops the radius
    and samples from a box that may not contain the body, either of which breaks privacy.
    """
    if hull is None:
        return without_noise("hull", sensitivity)
    return AdditiveMechanism("hull", sensitivity, FacetConeNoise(hull.body), hull.span.combinations)


def hull_by_rejection(sensitivity: Sensitivity, hull: SensitivityHull | None) -> AdditiveMechanism:
    """The same law, drawn as published: from a simple body around the hull, keeping what fits.

    The hull's volume over that body's is the part of all tries that is kept. Nothing but the time that it takes is
    other than with facet cones, which are quicker wherever they are known.
    Source: Awan & Slavković 2020, Algorithm 8; corrected: see :class:`RejectionNoise`.
    Raises: TooLarge where hardly any try would be kept.
    """
    if hull is None:
        return without_noise("hull-by-rejection", sensitivity)
    law = tightest_rejection(hull.body)
    return AdditiveMechanism("hull-by-rejection", sensitivity, law, hull.span.combinations)


FACETS = 8_000
"""Set up in two or three seconds; ``benchmarks/coarse_hulls.py`` shows what more of them save."""
BLOCK = 4
"""Dimensions of a block: larger hulls hold more of what is gained, and take much longer."""
FACETS_OF_BLOCK = 2_000
"""Of a block; where its hull has more, it is coarsened."""
_GRID = 2.0**40
_SHARE = 1e-12
"""A difference that asks a smaller share of its bound from a block does not shape that block."""


def coarse_hull(
    space: RoundSpace,
    strategy: NDArray[np.float64],
    facets: int = FACETS,
    progress: Callable[[int], None] | None = None,
) -> AdditiveMechanism:
    """d-private K-norm noise, K the hull of the differences that stick out of a shrunk cross-polytope, and of that.

    Definition: C the body of rotated Laplace noise, which holds all differences over their bounds; K the hull of t·C
    and the differences outside t·C, for the smallest t at which K has at most ``facets`` facets. t = 1 is rotated
    Laplace noise, t = 0 the sensitivity hull.

    Args: ``strategy`` B in round coordinates, from ``best_strategy``; the corners of C are the columns of B⁻¹.
    Guarantee: every generating difference is hidden: K is inflated by the largest gauge of any of them, with all
    rounding errors counted against it. The error is exact.
    Raises: TooLarge beyond ten dimensions, or where a cross-polytope has more facets; CertificateRefused when float64
    cannot show the guarantee.
    """
    body = coarse_polytope(space.points, np.asarray(np.linalg.inv(strategy).T), facets, progress)
    return space.mechanism("coarse-hull", FacetConeNoise(body), np.eye(space.dimension))


class _Block(NamedTuple):
    """``columns``: coordinates of the basis; ``body`` around their part of the differences, over their shares."""

    columns: list[int]
    body: SymmetricPolytope


def block_hulls(space: RoundSpace, strategy: NDArray[np.float64]) -> AdditiveMechanism:
    """K-norm noise of a sum of blocks: density ∝ exp(−Σ_b ‖(Bv)_b‖_b), each ‖·‖_b the norm of a small hull.

    The bound of every difference is shared out among the blocks in proportion to what independent Laplace noise in the
    same basis would use. Each block's body is the hull, coarsened if need be, of its part of the differences over their
    shares, and the blocks' sizes are then balanced by the programme of optimal Laplace scales.

    Args: ``strategy`` B in round coordinates, from ``best_strategy``.
    Guarantee: every generating difference is hidden, with all rounding errors counted against it.
    Raises: TooLarge, NotANormBall or CertificateRefused when some block has no provable hull.
    """
    # Whatever the basis loads little is well within every block's hull; what is not is found by the proof.
    heaviest = np.sort(largest_first(loads_of(space.points, strategy), MOST_POINTS))
    places, back = space.points[heaviest] @ strategy.T, np.asarray(np.linalg.inv(strategy))
    groups = _grouped(np.abs(places))
    used = np.stack([np.abs(places[:, group]).sum(axis=1) for group in groups], axis=1)
    shares = used / used.sum(axis=1, keepdims=True)
    blocks = [_block(places, group, shares[:, b]) for b, group in enumerate(groups)]
    gauges = np.stack([block.body.gauge(places[:, block.columns]) for block in blocks], axis=1)
    errors = np.array([_error(block, back) for block in blocks])
    rates = minimise_reciprocal_squares(gauges, errors / errors.max()).rates
    order = [column for group in groups for column in group]
    widths = np.repeat(1 / rates, [len(group) for group in groups])
    inner = ProductNoise(tuple(FacetConeNoise(block.body) for block in blocks))
    return space.mechanism("block-hulls", inner, back[:, order] * widths)


def _grouped(sizes: NDArray[np.float64]) -> list[list[int]]:
    """Coordinates that change together are put together, greedily."""
    together = sizes.T @ sizes
    left = list(range(len(together)))
    groups = []
    while left:
        group = [left.pop(0)]
        while len(group) < BLOCK and left:
            nearest = max(left, key=lambda other: float(together[group, other].sum()))
            left.remove(nearest)
            group.append(nearest)
        groups.append(group)
    return groups


def _block(places: NDArray[np.float64], group: list[int], shares: NDArray[np.float64]) -> _Block:
    asked = shares > _SHARE
    points = places[asked][:, group] / shares[asked, None]
    fineness = float(_GRID / np.abs(points).max())
    distinct = np.unique(np.rint(points * fineness), axis=0) / fineness
    # A difference over its share is as long in all blocks as in the whole basis: within the unit cross-polytope.
    return _Block(group, coarse_polytope(distinct, np.eye(len(group)), FACETS_OF_BLOCK))


def _error(block: _Block, back: NDArray[np.float64]) -> float:
    map_back = back[:, block.columns]
    return float(np.einsum("ki,ij,kj->", map_back, block.body.noise_second_moment, map_back))


_PROBES = 64
_SAME = 1e-9
_LENGTHS = 1e100
"""Lengths between one over this and this are squared and multiplied in float64."""


def body_mechanism(sensitivity: Sensitivity, body: ConvexBody) -> AdditiveMechanism:
    """K-norm noise with K = f·``body``, the body in answer units with a coordinate for each query.

    Definition: f is the smallest factor, up to a relative 1e-7, with ‖Δ_e‖_K ≤ b_e on all generating pairs. Answers
    that nobody can influence carry no noise; what is left hides the shifts of the others as K does.
    Guarantee: every generating difference is hidden, with all rounding errors counted against it: it is shown for the
    law that draws, by that law's own upper bounds on its norm. Of a polytope given by halfspaces the error is rounded
    up, of any other body it is exact up to the rounding of float64.
    Raises: WrongArgument for what is no body; NotANormBall for a body of another dimension, or one that is not
    symmetric; TooLarge where no law draws the body's noise; CertificateRefused when no finite factor, or no envelope,
    can be proved.
    """
    require_norm_ball(body, len(sensitivity.queries.names))
    noisy = sensitivity.of_each_query > 0
    if not np.any(noisy):
        return without_noise("body", sensitivity)
    in_steps = np.diag(1 / sensitivity.queries.float_steps)[noisy]
    law = hiding(k_norm_noise(body), in_steps, sensitivity.proved, noisy)
    return AdditiveMechanism("body", sensitivity, law, DiagonalMixing(noisy))


def require_norm_ball(body: ConvexBody, count: int) -> None:
    """A body that was written for this one plan may be no norm ball at all; a few directions tell the common mistakes.

    Nothing rests on them: a body's own class promises that its exact gauge is a norm.
    Raises: WrongArgument, NotANormBall.
    """
    require(body, ConvexBody, "body", "take one of dxgeom.geometry, as Box, Ellipsoid or HalfspacePolytope")
    if body.dimension != count:
        raise NotANormBall(
            f"the body has {body.dimension} coordinates and there are {count} queries: give it one for each, in their "
            "order and their units"
        )
    probes = np.vstack([np.eye(count), np.random.default_rng(0).standard_normal((_PROBES, count))])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        there, back = body.gauge(probes), body.gauge(-probes)
    if not (np.all(np.isfinite(there)) and np.all(there > 0)):
        raise NotANormBall("the body is flat or has no bound in some direction: its gauge is positive and finite")
    if not np.all((there > 1 / _LENGTHS) & (there < _LENGTHS)):
        raise NotANormBall(
            "the body is too large or too small for float64: only its shape counts, state it in lengths near 1"
        )
    if not np.allclose(there, back, rtol=_SAME, atol=0):
        raise NotANormBall("the body is not symmetric about 0: its gauge is the same at v and at -v")


_CAUTION = 1 - 1e-9
"""The bounds below are computed in float64; this keeps them below the exact ones."""


def coordinate_bounds(sensitivity: Sensitivity) -> NDArray[np.float64]:
    """(K,): 2·(g_k·max_e |Δ_e,k|/b_e)²: each answer alone needs at least Laplace noise of its own sensitivity."""
    own = sensitivity.of_each_query * sensitivity.queries.float_steps
    return np.asarray(2 * own**2 * _CAUTION)


def covariance_bound(space: RoundSpace) -> float:
    """What the trace of no covariance Σ with x_eᵀΣ⁻¹x_e ≤ 1 for all points is below. Any weights of the points give a
    bound."""
    return space.least_trace * _CAUTION * space.unit**2


def second_moment_bound(space: RoundSpace) -> float:
    """The same for S = E[V Vᵀ] of any noise V, times ``least_mean_square`` of the measure: 2 for pure privacy.

    Along every direction u the noise's shadow u·V hides the shadows u·x_e of all points, each at distance 1, so
    uᵀSu ≥ 2·(u·x_e)² for every u and e, which is S ⪰ 2·x_e·x_eᵀ, or x_eᵀ(S/2)⁻¹x_e ≤ 1: S/2 is one of those
    covariances. *Attained* by Laplace noise where the points are an orthogonal basis. No sum of Laplace errors over
    orthogonal lines is larger, nor the volume bound of a cross-polytope with its corners among the points.
    """
    return covariance_bound(space) * privacy_measure_of(space.sensitivity.metric.privacy).least_mean_square


def volume_bound(hull: SensitivityHull, importance: NDArray[np.float64] | None = None) -> float:
    """m(m + 1)·(Vol K / ω_m)^(2/m), ω_m the volume of the unit ball, in answer units, within the span.

    A density that is log-Lipschitz in ‖·‖_K is at most 1/(m!·Vol K) everywhere and falls no faster than exp(−‖·‖_K);
    its mean square is at least that of a ball of K's volume. The polytope's vertices were moved to a grid, so it may
    exceed the true hull K by that much: it is taken off. Inflation is not part of the true hull and is left out.
    With ``importance`` (K,) each answer's squared error counts so many times: its unit is stretched by the root.
    """
    body, steps = hull.body, hull.sensitivity.queries.float_steps
    if importance is not None:
        steps = steps * np.sqrt(importance)
    dimension = body.dimension
    combinations = hull.span.combinations.astype(np.float64) * steps[:, None]
    stretch = math.sqrt(max(float(np.linalg.det(combinations.T @ combinations)), 0.0))
    excess = float(np.max(np.abs(body.normals * body.inflation) @ (body.units * body.moved)))
    volume = body.volume * (max(0.0, 1 - excess) / body.inflation) ** dimension * stretch
    ball = math.pi ** (dimension / 2) / math.gamma(dimension / 2 + 1)
    return float(dimension * (dimension + 1) * (volume / ball) ** (2 / dimension)) * _CAUTION
