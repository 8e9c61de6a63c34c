"""Whether a body contains another, or an image of it: by rules that decide exactly, else by a search that proves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, Literal, TypeAlias, final

import numpy as np
from flint import ctx, fmpq, fmpq_mat
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge, UnsupportedCombination
from dxgeom.geometry.body import ConvexBody, Rows, diagonal, dot, rationals
from dxgeom.geometry.round_bodies import CartesianProduct, FreeSum, blocks_of
from dxgeom.numeric.exact_numbers import (
    ExactNumber,
    at_most_one,
    power,
    rational,
    rational_matrix,
    total,
    value_rounded_up,
)

MOST_CONES = 1 << 16
"""Cones that are looked at before the search gives up."""
MOST_DIMENSIONS = 8
_LONGEST = 2.0**50
_LEGIBLE = 2.0**-40
_STEPS, _TRIES, _SMALLEST_STEP = 30, 500, 1e-5

FloatNorm: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]
ExactNorm: TypeAlias = Callable[[Sequence[fmpq]], ExactNumber]


@final
@dataclass(frozen=True, eq=False)
class Norm:
    """A norm on ℝᵐ, up to the rounding of float64 for points (…, m), and exactly for a rational one."""

    rounded: FloatNorm
    exact: ExactNorm


def is_nowhere_longer(first: Norm, second: Norm, dual: Norm, shape: NDArray[np.float64]) -> bool | None:
    """Whether ‖v‖ of ``first`` is at most that of ``second`` for every v; None when the limits leave it open.

    Space is cut into simplicial cones. If for some n ≠ 0 every edge g of a cone has ‖n‖*·‖g‖₁ ≤ n·g, the cone is done:
    each of its v is a sum of t_g·g with t_g ≥ 0, so ‖n‖*·‖v‖₁ ≤ Σ t_g·‖n‖*·‖g‖₁ ≤ n·v ≤ ‖n‖*·‖v‖₂. The n tried is the
    normal of the plane through the edges' points with ‖g‖₂ = 1. What is not done is halved. An edge with ‖g‖₁ > ‖g‖₂
    ends the search.

    Args: ``dual``: the dual norm of ``second``; ``shape`` (m, m): columns along which the first cones lie, best such
    that ``second`` is nearly round in their coordinates.
    Guarantee: True and False are *proved*: cones are halved in integers, and what a verdict rests on is compared in
    rationals or balls.
    """
    proof, size = _Proof(first, second, dual, shape), len(shape)
    if proof.is_longer(rationals(_far_point(first, second, shape))):
        return False
    if size > MOST_DIMENSIONS or not proof.spans:
        return None
    cones, looked_at = _orthants(size), 0
    while True:
        looked_at += len(cones)
        if looked_at > MOST_CONES or np.abs(cones).max() > _LONGEST:
            return None
        edges = cones @ shape.T
        lengths = second.rounded(edges)
        ratios = first.rounded(edges) / lengths
        furthest = np.unravel_index(ratios.argmax(), ratios.shape)
        if ratios[furthest] > 1 + _LEGIBLE and proof.is_longer(proof.place(cones[furthest])):
            return False
        normals = np.asarray(np.linalg.solve(edges / lengths[:, :, None], np.ones((len(cones), size, 1)))[:, :, 0])
        bounds = dual.rounded(normals) * ratios.max(axis=1)
        likely = bounds <= 1 - _LEGIBLE
        done = np.array(
            [ok and proof.is_done(cone, normal) for ok, cone, normal in zip(likely, cones, normals, strict=True)]
        )
        if done.all():
            return True
        cones = _halved(cones[~done], lengths[~done])


def _far_point(first: Norm, second: Norm, shape: NDArray[np.float64]) -> NDArray[np.float64]:
    """(m,): where ``first`` is long against ``second``: the best of many, searched in ever smaller steps around it."""
    generator = np.random.default_rng(0)
    best = shape[:, 0]
    for step in np.geomspace(2.0, _SMALLEST_STEP, _STEPS):
        tried = np.vstack([best, best + step * generator.standard_normal((_TRIES, len(shape))) @ shape.T])
        tried /= second.rounded(tried)[:, None]
        best = tried[first.rounded(tried).argmax()]
    return best


def _orthants(size: int) -> NDArray[np.float64]:
    """(2^(m−1), m, m): the edges of every other orthant; the norms are symmetric."""
    signs = 1.0 - 2.0 * (np.arange(2 ** (size - 1))[:, None] >> np.arange(size) & 1)
    return np.asarray(signs[:, :, None] * np.eye(size))


def _halved(cones: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each cone cut through its widest pair of edges, between multiples of them that are about as long."""
    units = cones / np.linalg.norm(cones, axis=2, keepdims=True)
    cosines = units @ units.transpose(0, 2, 1)
    widest = cosines.reshape(len(cones), -1).argmin(axis=1)
    row, (one, other) = np.arange(len(cones)), np.unravel_index(widest, cosines.shape[1:])
    steps = np.rint(np.log2(lengths[row, other] / lengths[row, one]))[:, None]
    middle = cones[row, one] * 2.0 ** np.maximum(steps, 0) + cones[row, other] * 2.0 ** np.maximum(-steps, 0)
    halves = np.concatenate([cones, cones])
    halves[row, one] = middle
    halves[row + len(cones), other] = middle
    return halves


@final
class _Proof:
    """What is known exactly about single cones and edges; an edge belongs to many cones and is looked at once."""

    def __init__(self, first: Norm, second: Norm, dual: Norm, shape: NDArray[np.float64]) -> None:
        self._first, self._second, self._dual = first, second, dual
        self._matrix = rational_matrix(shape.tolist())
        self.spans = self._matrix.rank() == len(shape)
        self._bounds: dict[bytes, tuple[list[fmpq], fmpq]] = {}

    def is_longer(self, place: list[fmpq]) -> bool:
        """Whether ``first`` is longer than ``second`` there."""
        return at_most_one(lambda: self._first.exact(place) / self._second.exact(place)) is False

    def is_done(self, cone: NDArray[np.float64], normal: NDArray[np.float64]) -> bool:
        """Whether n ≠ 0 and ‖n‖*·‖g‖₁ ≤ n·g for every edge g."""
        direction = rationals(normal)
        length = rational(value_rounded_up(self._dual.exact(direction)))
        return any(direction) and all(
            length * bound <= dot(direction, place) for place, bound in map(self._place_and_bound, cone)
        )

    def _place_and_bound(self, edge: NDArray[np.float64]) -> tuple[list[fmpq], fmpq]:
        known = self._bounds.get(key := edge.tobytes())
        if known is None:
            place = self.place(edge)
            known = self._bounds[key] = place, rational(value_rounded_up(self._first.exact(place)))
        return known

    def place(self, edge: NDArray[np.float64]) -> list[fmpq]:
        """The end of an edge, shape·edge."""
        column = self._matrix * fmpq_mat(len(edge), 1, [int(x) for x in edge.tolist()])
        return [column[k, 0] for k in range(len(edge))]


def contains_image(outer: ConvexBody, rows: Rows, inner: ConvexBody, as_stated: bool = False) -> bool | None:
    """Whether {rows·v: v ∈ inner} lies in ``outer``; None when that was not found within the limits.

    Maps of bodies are multiplied into the rows; a free sum is held when its parts are, a product holds what all its
    parts hold; parts that the rows make nothing of are left out. Then the first that fits: balls of ℓp and ℓq stretched
    along the same axes, by Hölder's inequality; ellipsoids, whose squares differ by a positive semidefinite matrix; the
    corners of a polytope inside; the facets of a polytope outside; :func:`is_nowhere_longer`.

    Args: ``rows`` (dimension of outer, dimension of inner); ``as_stated``: hulls inside count as those of their points.
    Guarantee: True and False are *proved*. Raises: as ``exact_corners`` of a body.
    """
    held = partial(contains_image, as_stated=as_stated)
    if not _any(rows):
        return True
    if inner.preimage is not None:
        source, image = inner.preimage
        return held(outer, _product(fmpq_mat(rows), rational_matrix(image.tolist())), source)
    if outer.preimage is not None:
        target, image = outer.preimage
        return held(target, _product(rational_matrix(image.tolist()).inv(), fmpq_mat(rows)), inner)
    if inner.summands is not None:
        blocks = blocks_of(inner.summands)
        return _all(held(outer, [row[block] for row in rows], part) for part, block in blocks)
    if outer.factors is not None:
        return _all(held(part, rows[block], inner) for part, block in blocks_of(outer.factors))
    if inner.factors is not None:
        used, places = _used(inner.factors, [[row[j] for row in rows] for j in range(inner.dimension)])
        if len(used) < max(len(inner.factors), 2):
            left = used[0] if len(used) == 1 else CartesianProduct(used)
            return held(outer, [[row[j] for j in places] for row in rows], left)
    if outer.summands is not None:
        used, places = _used(outer.summands, rows)
        if len(used) < max(len(outer.summands), 2):
            left = used[0] if len(used) == 1 else FreeSum(used)
            return held(left, [rows[i] for i in places], inner)
    return _contains_undivided(outer, rows, inner, as_stated)


def _contains_undivided(outer: ConvexBody, rows: Rows, inner: ConvexBody, as_stated: bool) -> bool | None:
    powers = _by_hoelder(outer, rows, inner)
    if powers is not None:
        return powers
    wide_axes, narrow_axes = outer.axes_of_ball, inner.axes_of_ball
    if wide_axes is not None and narrow_axes is not None:
        wide, narrow = rational_matrix(wide_axes.tolist()), rational_matrix(narrow_axes.tolist())
        image = fmpq_mat(rows) * narrow
        return _is_positive_semidefinite((wide * wide.transpose() - image * image.transpose()).tolist())
    refusal: TooLarge | CertificateRefused | None = None
    try:
        corners = inner.stated_corners() if as_stated else inner.exact_corners()
        if corners is not None:
            images = _product(fmpq_mat(corners), fmpq_mat(rows).transpose())
            return _all(at_most_one(partial(outer.exact_gauge, image)) for image in images)
    except (TooLarge, CertificateRefused) as error:
        refusal = error
    facets = outer.exact_facets()
    if facets is not None:
        images = _product(fmpq_mat(facets), fmpq_mat(rows))
        return _all(at_most_one(partial(inner.exact_support, image)) for image in images)
    if refusal is not None:
        raise refusal
    return _by_search(outer, rows, inner)


def _by_hoelder(outer: ConvexBody, rows: Rows, inner: ConvexBody) -> bool | None:
    """‖t∘u‖_q over ‖u‖_p ≤ 1 is at most max t where p ≤ q, else ‖t‖_s with 1/s = 1/q − 1/p, both attained."""
    wide, narrow = outer.powers, inner.powers
    if wide is None or narrow is None or not _is_along_axes(rows):
        return None
    shares = [
        abs(entry) * radius / length
        for row, length in zip(rows, rationals(wide.radii), strict=True)
        for entry, radius in zip(row, rationals(narrow.radii), strict=True)
        if entry
    ]
    p, q = narrow.exponent, wide.exponent
    if p <= q:
        return max(shares) <= 1
    exponent = Fraction(q) if math.isinf(p) else 1 / (1 / Fraction(q) - 1 / Fraction(p))
    return at_most_one(lambda: total(power(share, exponent) for share in shares))


def _by_search(outer: ConvexBody, rows: Rows, inner: ConvexBody) -> bool | None:
    """‖rows·v‖ against the norm of ``inner``, or of the polar bodies ‖rowsᵀ·u‖.

    The search is quick where the ball of the norm compared with has no edges; a product has, and the polar of a free
    sum. Where that does not decide, fewer coordinates do.
    """
    outer_gauge, outer_dual = _norms(outer)
    gauge, dual = _norms(inner)
    if (outer.summands is not None, outer.dimension) < (inner.factors is not None, inner.dimension):
        columns = [list(column) for column in zip(*rows, strict=True)]
        shape = np.asarray(np.linalg.inv(np.linalg.cholesky(outer.second_moment)).T)
        return is_nowhere_longer(_after(dual, columns), outer_dual, outer_gauge, shape)
    shape = np.asarray(np.linalg.cholesky(inner.second_moment))
    return is_nowhere_longer(_after(outer_gauge, rows), gauge, dual, shape)


def _norms(body: ConvexBody) -> tuple[Norm, Norm]:
    """The body's norm and its dual."""
    return (
        Norm(body.gauge, body.exact_gauge),
        Norm(body.support_function, body.exact_support),
    )


def _after(norm: Norm, rows: Rows) -> Norm:
    """v ↦ ‖rows·v‖."""
    rounded, across = np.array([[int(x.p) / int(x.q) for x in row] for row in rows]), fmpq_mat(rows).transpose()
    return Norm(lambda v: norm.rounded(v @ rounded.T), lambda v: norm.exact(_product(fmpq_mat([v]), across)[0]))


def _used(parts: tuple[ConvexBody, ...], sides: Rows) -> tuple[tuple[ConvexBody, ...], list[int]]:
    """The parts for whose coordinates the sides are not all zero, and these coordinates."""
    kept = [(part, block) for part, block in blocks_of(parts) if _any(sides[block])]
    return tuple(part for part, _ in kept), [place for _, block in kept for place in range(block.start, block.stop)]


def _any(rows: Rows) -> bool:
    return any(entry for row in rows for entry in row)


def _product(first: fmpq_mat, second: fmpq_mat) -> Rows:
    return (first * second).tolist()


def _all(verdicts: Iterable[bool | None]) -> bool | None:
    """False when one is, else None when one is."""
    open_ = False
    for verdict in verdicts:
        if verdict is False:
            return False
        open_ = open_ or verdict is None
    return None if open_ else True


def _is_along_axes(rows: Rows) -> bool:
    """Whether no row and no column has more than one entry."""
    places = [(i, j) for i, row in enumerate(rows) for j, entry in enumerate(row) if entry]
    return len({i for i, _ in places}) == len({j for _, j in places}) == len(places)


def _is_positive_semidefinite(matrix: Rows) -> bool:
    """By elimination: a zero on the diagonal asks for zeros beside it, any other entry there is to be positive."""
    if not matrix:
        return True
    (pivot, *beside), *below = matrix
    if pivot < 0 or (pivot == 0 and any(beside)):
        return False
    if pivot == 0:
        return _is_positive_semidefinite([row[1:] for row in below])
    return _is_positive_semidefinite(
        [[row[k + 1] - row[0] * beside[k] / pivot for k in range(len(beside))] for row in below]
    )


_PRECISION = 256


def contains_point(body: ConvexBody, point: Sequence[float | Fraction]) -> bool:
    """Whether ``‖point‖_K ≤ 1`` for a point whose coordinates are taken as exact rationals.

    Guarantee: True is *proved*; False is *exact* unless a ball of ℓp with p other than 1, 2, ∞ is involved. What 4,096
    bits cannot tell from the boundary of such a body counts as outside, but not where p is whole and the ball alone.
    """
    exact = _exact_point(body, point)
    return at_most_one(lambda: body.exact_gauge(exact)) is True


def gauge_rounded_up(body: ConvexBody, point: Sequence[float | Fraction]) -> float:
    """``‖point‖_K`` of a point whose coordinates are taken as exact rationals, *rounded up*."""
    with ctx.workprec(_PRECISION):
        return value_rounded_up(body.exact_gauge(_exact_point(body, point)))


def _exact_point(body: ConvexBody, point: Sequence[float | Fraction]) -> list[fmpq]:
    if len(point) != body.dimension or not all(math.isfinite(x) for x in point):
        raise NotANormBall(f"a point of this body has {body.dimension} finite coordinates, found {list(point)}")
    return [rational(Fraction(x)) for x in point]


def contains(outer: ConvexBody, inner: ConvexBody, *, as_stated: bool = True) -> bool:
    """Whether every point of ``inner`` is in ``outer``.

    Args: ``as_stated``: a hull inside counts as that of the points that it was made around; otherwise as the body that
    noise is drawn by, which was rounded outward by a few units in the last place.
    Guarantee: True and False are *proved*, by the rules of :func:`contains_image`.
    Raises: TooLarge when neither is found: where round bodies touch, or a search takes too long; TooLarge or
    CertificateRefused when the corners of a body cannot be listed; UnsupportedCombination for different dimensions.
    """
    if outer.dimension != inner.dimension:
        raise UnsupportedCombination(
            f"bodies of {outer.dimension} and {inner.dimension} coordinates cannot contain each other"
        )
    verdict = contains_image(outer, diagonal([fmpq(1)] * outer.dimension), inner, as_stated)
    if verdict is None:
        raise TooLarge(
            f"whether this {type(outer).__name__} holds this {type(inner).__name__} of {inner.dimension} coordinates "
            "was not found within the limits: compare with a body that leaves more room, or fewer coordinates at once"
        )
    return verdict


def noise_error(body: ConvexBody, image: NDArray[np.float64] | None = None) -> float:
    """E‖image·V‖² of the body's K-norm noise V, up to the rounding of float64; ``image`` (K, m): identity if None."""
    moment = body.noise_second_moment
    return float(np.trace(moment if image is None else image @ moment @ image.T))


def conditional_variances(body: ConvexBody, directions: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """(n,): the variance of the body's K-norm noise along each direction, given that it falls on that line.

    Definition: 2·|e|²/‖e‖_K², the variance of a Laplace law of scale |e|/‖e‖_K. A body inside another has the smaller
    one along every line; one that has it along every line lies inside.
    Args: ``directions`` (n, m), not 0; the axes if None. *Approximate within* float64.
    Source: Awan & Slavković 2020, Lemma 4.4, Theorem 4.5 and Corollary 4.9.
    """
    along = np.eye(body.dimension) if directions is None else np.asarray(directions, dtype=np.float64)
    if along.ndim != 2 or along.shape[1] != body.dimension or not np.all(np.any(along != 0, axis=1)):
        raise NotANormBall(f"directions here are rows of {body.dimension} coordinates, not all of them 0")
    return np.asarray(2 * np.sum(along**2, axis=1) / body.gauge(along) ** 2)


def least_noise(
    bodies: Sequence[ConvexBody],
    image: NDArray[np.float64] | None = None,
    *,
    by: Literal["mean square", "conditional variance"] = "mean square",
) -> ConvexBody:
    """The body whose noise is smallest; of equals the first.

    By "mean square" that is :func:`noise_error`: a smaller body need not have smaller noise then, a thin rectangle
    loses to a larger hexagon around it. By "conditional variance" it is the sum of :func:`conditional_variances` along
    the axes, as seen through ``image``: then a body inside another is never behind it.
    Raises: UnsupportedCombination for another criterion.
    """
    if by not in _CRITERIA:
        raise UnsupportedCombination(f"bodies are compared by {' or by '.join(_CRITERIA)}, found {by!r}")
    return min(bodies, key=lambda body: _CRITERIA[by](body, image))


def _along_axes(body: ConvexBody, image: NDArray[np.float64] | None) -> float:
    seen = np.ones(body.dimension) if image is None else np.sum(np.asarray(image) ** 2, axis=0)
    return float(conditional_variances(body) @ seen)


_CRITERIA: Final = {"mean square": noise_error, "conditional variance": _along_axes}
