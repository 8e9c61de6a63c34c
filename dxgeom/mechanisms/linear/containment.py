"""Whether noise hides every difference: the one check that all shapes of noise pass before they are used."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, UnsupportedCombination
from dxgeom.mechanisms.linear.inverse import inverse_enclosure
from dxgeom.noise.laws.box import BoxNoise
from dxgeom.noise.laws.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.laws.ellipsoid import EllipsoidNoise
from dxgeom.noise.laws.facet_cones import FacetConeNoise
from dxgeom.noise.laws.laplace import LaplaceNoise
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.numeric.blocks import block_slices
from dxgeom.numeric.rounding import UNIT_ROUNDOFF, quotient_round_up

_ENTRIES_PER_BLOCK = 4_000_000
_MARGINS = (1e-13, 1e-10, 1e-7)
"""By how much more than the load noise is enlarged, each tried when the one before was not enough."""

Places = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Points (E, m) and how far each coordinate may be off."""


def hiding(
    inner: NoiseLaw, image: NDArray[np.float64], differences: NDArray[np.int64], bounds: NDArray[np.float64]
) -> LinearImageNoise:
    """The noise f·image·V, V ~ ``inner``, with the smallest factor f that hides every difference, up to 1e-7.

    Args: ``image`` (m, n) of rank m; ``differences`` (E, m), magnitudes below 2⁵³; ``bounds`` (E,), positive.
    Guarantee: the law returned has ‖Δ_e‖ ≤ b_e for all e, established for the very numbers it holds.
    Raises: CertificateRefused when float64 cannot show it.
    """
    for margin in _MARGINS:
        load = largest_load(LinearImageNoise(inner, image), differences, bounds)
        if not 0 < load < math.inf:
            break
        image = image * (load * (1 + margin))
        law = LinearImageNoise(inner, image)
        if largest_load(law, differences, bounds) <= 1:
            return law
    raise CertificateRefused("the shape of this noise is too badly scaled to prove that it hides every difference")


def largest_load(law: NoiseLaw, differences: NDArray[np.int64], bounds: NDArray[np.float64]) -> float:
    """max_e ‖Δ_e‖/b_e in the norm up to which ``law`` hides shifts, *rounded up*.

    Through a wide map R that norm is min{‖u‖ : R·u = Δ}, and ‖u‖ of least squares, u = Rᵀ(RRᵀ)⁻¹Δ, is never below it.
    """
    rows = max(1, _ENTRIES_PER_BLOCK // differences.shape[1])
    largest = 0.0
    gauge = _Gauge(law)
    for start in range(0, len(bounds), rows):
        here = differences[start : start + rows].astype(np.float64)
        gauges = gauge.upper_bounds((here, np.zeros_like(here)))
        # What overflows is not a number, which this keeps and no comparison accepts.
        largest = float(np.maximum(largest, quotient_round_up(gauges, bounds[start : start + rows]).max()))
    return largest


class _Gauge:
    """The norm ‖·‖ of a law that hides shifts v up to e^‖v‖, *rounded up*; inverses are taken once."""

    def __init__(self, law: NoiseLaw) -> None:
        self._law = law
        match law:
            case LinearImageNoise(inner=inner, map=image):
                self._inverse = inverse_enclosure(image)
                self._parts = [_Gauge(inner)]
            case ProductNoise(parts=parts):
                self._parts = [_Gauge(part) for part in parts]
            case EllipsoidNoise(body=body):
                self._inverse = inverse_enclosure(body.axes)
            case LaplaceNoise() | BoxNoise() | FacetConeNoise():
                pass
            case _:
                raise UnsupportedCombination(f"no bound is known here on the norm behind a {type(law).__name__}")

    def upper_bounds(self, places: Places) -> NDArray[np.float64]:
        match self._law:
            case LinearImageNoise():
                return self._parts[0].upper_bounds(self._pulled_back(places))
            case ProductNoise(parts=parts):
                blocks = zip(self._parts, block_slices(part.dimension for part in parts), strict=True)
                cut = [part.upper_bounds((places[0][:, block], places[1][:, block])) for part, block in blocks]
                return np.asarray(np.sum(cut, axis=0) * (1 + (len(cut) + 1) * UNIT_ROUNDOFF))
            case FacetConeNoise(body=body):
                return _polytope_gauge(body.normals, places)
            case EllipsoidNoise(body=body):
                values, errors = self._pulled_back(places)
                sizes = np.abs(values) + errors
                return np.asarray(np.linalg.norm(sizes, axis=1) * (1 + (body.dimension + 4) * UNIT_ROUNDOFF))
            case LaplaceNoise(scales=scales):
                sizes = (np.abs(places[0]) + places[1]) / scales
                return np.asarray(sizes.sum(axis=1) * (1 + (len(scales) + 4) * UNIT_ROUNDOFF))
            case BoxNoise(body=body):
                sizes = (np.abs(places[0]) + places[1]) / body.half_widths
                return np.asarray(sizes.max(axis=1) * (1 + 4 * UNIT_ROUNDOFF))
            case _:
                raise UnsupportedCombination(f"no bound is known here on the norm behind a {type(self._law).__name__}")

    def _pulled_back(self, places: Places) -> Places:
        values, errors = self._inverse.products(places[0])
        reach = np.abs(self._inverse.middle) + self._inverse.radius
        return values, errors + (places[1] @ reach.T) * (1 + 2.0**-30)


def _polytope_gauge(normals: NDArray[np.float64], places: Places) -> NDArray[np.float64]:
    """max_f n_f·y: each normal off by 2·2⁻⁵³ relative, a dot product of m terms by (m + 1)·2⁻⁵³ of their sizes."""
    values, errors = places
    steepest = np.abs(normals).max(axis=0)
    rounding = (normals.shape[1] + 6) * UNIT_ROUNDOFF
    heights = np.empty(len(values))
    rows = max(1, _ENTRIES_PER_BLOCK // len(normals))
    for start in range(0, len(values), rows):
        heights[start : start + rows] = (values[start : start + rows] @ normals.T).max(axis=1)
    return np.asarray(
        (heights + (np.abs(values) * rounding + errors) @ steepest * (1 + 2.0**-30)) * (1 + 2 * UNIT_ROUNDOFF)
    )
