"""Whether a body contains a linear image of another: by rules that decide exactly, else by a search that proves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import partial

import numpy as np
from flint import fmpq_mat

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.bodies.body import ConvexBody
from dxgeom.geometry.bodies.composed_bodies import CartesianProduct, FreeSum, blocks_of
from dxgeom.geometry.bodies.exact_rows import Rows, rationals
from dxgeom.geometry.containment.cone_search import Norm, is_nowhere_longer
from dxgeom.numeric.exact_numbers import at_most_one, power, rational_matrix, total


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
