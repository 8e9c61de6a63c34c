"""Whether a body holds a linear image of another: by rules that decide exactly, else by a search that proves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import partial

import numpy as np
from flint import fmpq_mat

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.geometry.bodies.composed_bodies import CartesianProduct, FreeSum, LinearImage, blocks_of
from dxgeom.geometry.bodies.exact_forms import Rows, corners_of, facets_of, power_ball_form, support_exactly
from dxgeom.geometry.bodies.power_ball import PowerBall
from dxgeom.geometry.bodies.round_bodies import Ellipsoid
from dxgeom.geometry.containment.cone_search import Norm, is_nowhere_longer
from dxgeom.numeric.exact_numbers import at_most_one, power, rational_matrix, total


def holds_image(outer: ConvexBody, rows: Rows, inner: ConvexBody) -> bool | None:
    """Whether {rows·v: v ∈ inner} lies in ``outer``; None when that was not found within the limits.

    Maps of bodies are multiplied into the rows; a free sum is held when its parts are, a product holds what all its
    parts hold; parts that the rows make nothing of are left out. Then the first that fits: balls of ℓp and ℓq stretched
    along the same axes, by Hölder's inequality; ellipsoids, whose squares differ by a positive semidefinite matrix; the
    corners of a polytope inside; the facets of a polytope outside; :func:`is_nowhere_longer`.

    Args: ``rows`` (dimension of outer, dimension of inner).
    Guarantee: True and False are *proved*. Raises: as :func:`corners_of`.
    """
    if not _any(rows):
        return True
    match outer, inner:
        case _, LinearImage(inner=source, map=image):
            return holds_image(outer, _product(fmpq_mat(rows), rational_matrix(image.tolist())), source)
        case LinearImage(inner=target, map=image), _:
            return holds_image(target, _product(rational_matrix(image.tolist()).inv(), fmpq_mat(rows)), inner)
        case _, FreeSum(parts=parts):
            return _all(holds_image(outer, [row[block] for row in rows], part) for part, block in blocks_of(parts))
        case CartesianProduct(parts=parts), _:
            return _all(holds_image(part, rows[block], inner) for part, block in blocks_of(parts))
        case (_, CartesianProduct(parts=(part,))):
            return holds_image(outer, rows, part)
        case (FreeSum(parts=(part,)), _):
            return holds_image(part, rows, inner)
        case _, CartesianProduct(parts=parts):
            used, places = _used(parts, [[row[j] for row in rows] for j in range(inner.dimension)])
            if len(used) < len(parts):
                return holds_image(outer, [[row[j] for j in places] for row in rows], CartesianProduct(used))
        case FreeSum(parts=parts), _:
            used, places = _used(parts, rows)
            if len(used) < len(parts):
                return holds_image(FreeSum(used), [rows[i] for i in places], inner)
    return _holds_undivided(outer, rows, inner)


def _holds_undivided(outer: ConvexBody, rows: Rows, inner: ConvexBody) -> bool | None:
    powers = _by_hoelder(outer, rows, inner)
    if powers is not None:
        return powers
    wide, narrow = _axes(outer), _axes(inner)
    if wide is not None and narrow is not None:
        image = fmpq_mat(rows) * narrow
        return _is_positive_semidefinite((wide * wide.transpose() - image * image.transpose()).tolist())
    refusal: TooLarge | CertificateRefused | None = None
    try:
        corners = corners_of(inner)
        if corners is not None:
            images = _product(fmpq_mat(corners), fmpq_mat(rows).transpose())
            return _all(at_most_one(partial(outer.exact_gauge, image)) for image in images)
    except (TooLarge, CertificateRefused) as error:
        refusal = error
    facets = facets_of(outer)
    if facets is not None:
        images = _product(fmpq_mat(facets), fmpq_mat(rows))
        return _all(at_most_one(partial(support_exactly, inner, image)) for image in images)
    if refusal is not None:
        raise refusal
    return _by_search(outer, rows, inner)


def _by_hoelder(outer: ConvexBody, rows: Rows, inner: ConvexBody) -> bool | None:
    """‖t∘u‖_q over ‖u‖_p ≤ 1 is at most max t where p ≤ q, else ‖t‖_s with 1/s = 1/q − 1/p, both attained."""
    wide, narrow = power_ball_form(outer), power_ball_form(inner)
    if wide is None or narrow is None or not _is_along_axes(rows):
        return None
    shares = [
        abs(entry) * radius / reach
        for row, reach in zip(rows, wide[0], strict=True)
        for entry, radius in zip(row, narrow[0], strict=True)
        if entry
    ]
    p, q = narrow[1], wide[1]
    if p <= q:
        return max(shares) <= 1
    exponent = Fraction(q) if math.isinf(p) else 1 / (1 / Fraction(q) - 1 / Fraction(p))
    return at_most_one(lambda: total(power(share, exponent) for share in shares))


def _by_search(outer: ConvexBody, rows: Rows, inner: ConvexBody) -> bool | None:
    """‖rows·v‖ against the norm of ``inner``, or of the polar bodies ‖rowsᵀ·u‖.

    The search is quick where the ball of the norm compared with has no edges; a product has, and the polar of a free
    sum. Where that does not decide, fewer coordinates do.
    """
    outer_gauge, outer_reach = _norms(outer)
    gauge, reach = _norms(inner)
    if (isinstance(outer, FreeSum), outer.dimension) < (isinstance(inner, CartesianProduct), inner.dimension):
        columns = [list(column) for column in zip(*rows, strict=True)]
        shape = np.asarray(np.linalg.inv(np.linalg.cholesky(outer.second_moment)).T)
        return is_nowhere_longer(_after(reach, columns), outer_reach, outer_gauge, shape)
    shape = np.asarray(np.linalg.cholesky(inner.second_moment))
    return is_nowhere_longer(_after(outer_gauge, rows), gauge, reach, shape)


def _norms(body: ConvexBody) -> tuple[Norm, Norm]:
    """The body's norm and its dual."""
    return (
        Norm(body.gauge, body.exact_gauge),
        Norm(body.support_function, partial(support_exactly, body)),
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


def _axes(body: ConvexBody) -> fmpq_mat | None:
    match body:
        case Ellipsoid(axes=axes):
            return rational_matrix(axes.tolist())
        case PowerBall(radii=radii, exponent=2):
            return rational_matrix(np.diag(radii).tolist())
    return None


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
