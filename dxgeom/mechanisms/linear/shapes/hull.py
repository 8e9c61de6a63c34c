"""K-norm noise shaped by the sensitivity hull: the smallest norm ball that hides every difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dxgeom.geometry.hulls import SpannedSpace, independent_columns, span_of
from dxgeom.geometry.polytope import SymmetricPolytope, hull_of_differences
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.rejection import tightest_rejection
from dxgeom.numeric.qhull import HullLimits

LARGEST_DIMENSION = 7
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
        independent_columns(rows / bounds[:, None], LARGEST_DIMENSION)
    span = span_of(sensitivity.differences, sensitivity.bounds, LARGEST_DIMENSION)
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
