"""Noise that hides what one record can change of a gradient, the ridge that hides what it does to Hessians, and how
a spend is shared between both, before any data are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.round_bodies import Box, Ellipsoid
from dxgeom.learning.features import ROUNDED, Change, FeatureGroup, Features
from dxgeom.mechanisms.linear.containment import largest_load
from dxgeom.noise.composed import CartesianProductNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.numeric.exact_numbers import rational, value_rounded_up
from dxgeom.numeric.rounding import round_down, round_up

_MARGIN: Final = 1 + 2.0**-40
_PRECISION: Final = 128


def gradient_noise(features: Features, changes: Sequence[Change], share: Fraction) -> NoiseLaw:
    """The noise, at spend 1, of the smallest product of the groups' bodies that hides every change of the gradient.

    K = Π_g r_g·B_g with r_g = max_e c_eg/(share·d_e), d_e itself for changes that bend nothing: the largest of the
    groups' gauges is ‖·‖_K, and this is as small as products of these bodies get.
    Args: ``share``: q, the part of each distance that is spent on the gradient.
    Guarantee: ‖δ_e‖_K ≤ share·d_e for every change e, proved for the very law returned by the check that plans pass.
    Raises: CertificateRefused when it cannot be shown.
    """
    radii = [
        round_up(max(change.reaches[place] / _allowed(change, share) for change in changes)) * _MARGIN
        for place in range(len(features.groups))
    ]
    parts = _parts(features.groups, radii)
    law = parts[0] if len(parts) == 1 else CartesianProductNoise(tuple(parts))
    for change in changes:
        shifts = _corners(features, change)
        bounds = np.full(len(shifts), round_down(_allowed(change, share)))
        if not largest_load(law, shifts, bounds) <= 1:
            raise CertificateRefused("this noise does not provably hide what one record can change of the gradient")
    return law


def least_strength(
    features: Features, changes: Sequence[Change], curvature: Fraction, share: Fraction, spend: Fraction
) -> float:
    """γ = max_e λ/(e^{(1 − share)·spend·d_e} − 1), *rounded up*; 0 where no change bends anything.

    λ = curvature·max ‖a‖² bounds the one positive eigenvalue of H_i − H_j, of rank 1, in either order: with
    H ⪰ γ on the other records, det(H + H_i) ≤ (1 + λ/γ)·det(H + H_j).
    Raises: TooLarge when no float64 holds it.
    Source: Awan & Slavković 2020, Algorithm 2; corrected: 1 − q, where q − 1 as printed is negative.
    """
    bending = [change.distance for change in changes if change.bends]
    if not bending:
        return 0.0
    nats = (1 - share) * spend * min(bending)
    with ctx.workprec(_PRECISION):
        largest = arb(rational(curvature)) * arb(features.longest_square)
        strength = value_rounded_up(largest / arb(rational(nats)).expm1())
    if not 0 < strength < math.inf:
        raise TooLarge("the ridge that so small a spend needs is beyond float64: spend more of the budget")
    return strength


def _allowed(change: Change, share: Fraction) -> Fraction:
    return share * change.distance if change.bends else change.distance


def _parts(groups: Sequence[FeatureGroup], radii: Sequence[float]) -> list[NoiseLaw]:
    """A law for each group, neighbouring boxes in one."""
    parts: list[NoiseLaw] = []
    widths: list[float] = []
    for group, radius in zip(groups, radii, strict=True):
        if group.kind == "box":
            widths += [radius] * group.size
            continue
        parts += [BoxNoise(Box(np.array(widths)))] if widths else []
        widths = []
        if group.kind == "choice":
            parts.append(LaplaceNoise(np.full(group.size, radius)))
        else:
            parts.append(EllipsoidNoise(Ellipsoid(radius * _MARGIN * (1 + ROUNDED) * np.eye(group.size))))
    return parts + ([BoxNoise(Box(np.array(widths)))] if widths else [])


def _corners(features: Features, change: Change) -> NDArray[np.float64]:
    """The furthest points of a change, group by group: the gauge of a product is the largest of its groups'."""
    rows = []
    for group, block, reach in zip(features.groups, features.blocks, change.reaches, strict=True):
        length = round_up(reach)
        if group.kind == "box":
            rows.append(_row(features, block, np.full(group.size, length)))
        elif group.kind == "ball":  # round: one direction stands for all
            rows.append(_row(features, block, np.eye(group.size)[0] * length * (1 + ROUNDED)))
        else:
            rows += [_row(features, block, corner) for corner in np.eye(group.size) * length]
    return np.array(rows)


def _row(features: Features, block: slice, entries: NDArray[np.float64]) -> NDArray[np.float64]:
    row = np.zeros(features.dimension)
    row[block] = entries
    return row


SHARES: Final = tuple(Fraction(k, 40) for k in range(20, 40))
"""What q is chosen from: a half to 39/40."""
_USUAL_COEFFICIENT: Final = 0.5
_USUAL_BEND: Final = 0.5


def usual_curvature(features: Features, records: int, curvature: Fraction) -> NDArray[np.float64]:
    """(m,): how much so many records may bend a loss in each coordinate, for plans: no guarantee rests on it."""
    usual = np.concatenate([np.full(group.size, group.usual_square) for group in features.groups])
    return np.asarray(records * _USUAL_BEND * float(curvature) * usual)


def best_share(
    features: Features,
    records: int,
    spend: Fraction,
    curvature: Fraction,
    law_of: Callable[[Fraction], NoiseLaw],
    strength_of: Callable[[Fraction], float],
) -> Fraction:
    """q, for the least expected loss by a rough count from public figures alone; whatever it is, the guarantee holds.

    Near the minimiser the loss of a coordinate off by x is η·x²/2, with η = records·(half the curvature)·(the usual
    square of a feature); noise V moves it by V/(η + γ) and the ridge pulls a coefficient of about 1 by γ/(η + γ).
    Args: ``records``: how many there are, which is public here.
    """
    curved = usual_curvature(features, records, curvature)

    def loss(share: Fraction) -> float:
        strength = strength_of(share)
        noise = np.diag(law_of(share).second_moment) / float(spend) ** 2
        pulled = (strength * _USUAL_COEFFICIENT) ** 2
        lost = float(np.sum(curved * (noise + pulled) / (curved + strength) ** 2))
        return lost if math.isfinite(lost) else math.inf

    return min(SHARES, key=loss)
