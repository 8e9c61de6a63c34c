"""Noise that hides what one record can change of a gradient, the ridge that hides what it does to Hessians, and how
a spend is shared between both, before any data are looked at.

Where labels alone are protected: the one sum through which they enter, with noise; all else is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, final

import numpy as np
from flint import arb, ctx
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import CertificateRefused, DataError, TooLarge, UnsupportedCombination
from dxgeom.geometry.round_bodies import Box, Ellipsoid
from dxgeom.learning.features import ROUNDED, Change, FeatureGroup, Features
from dxgeom.learning.objective import LogisticLoss, PerturbedObjective, solved
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Mechanism, require_spend
from dxgeom.mechanisms.linear.containment import largest_load
from dxgeom.noise.composed import CartesianProductNoise
from dxgeom.noise.law import WIDEST, NoiseLaw
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise, LaplaceNoise
from dxgeom.numeric.exact_numbers import rational, value_rounded_up
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import round_down, round_up
from dxgeom.numeric.sealed import canonical_digest

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


GRID: Final = 2**20
_ENOUGH: Final = 1e-12


@final
@dataclass(frozen=True, eq=False)
class LabelTotals(Mechanism[ArrayLike, tuple[Fraction, ...]]):
    """T = Σ y_i·a_i with noise, features moved to multiples of 2⁻²⁰. The data are a table (n, m + 1), labels last.

    Guarantee: replacing the label of a record changes the odds of any answers by at most e^(spend·d); records with
    other features are at infinite distance, which the policy has to allow. Losses A(aᵀθ) − y·aᵀθ see labels
    through T alone, so whatever is made of T and the features, with any ridge, solver or tolerance, is post-processing.
    Raises: UnsupportedCombination for changes of anything but labels.
    """

    name: str
    features: Features
    changes: tuple[Change, ...]
    account: Account

    def __post_init__(self) -> None:
        if any(change.bends for change in self.changes) or not self.changes:
            raise UnsupportedCombination("totals of labels hide labels alone")
        if any(group.kind == "ball" for group in self.features.groups):
            raise UnsupportedCombination("totals of labels are of numbers and choices, which a grid leaves in bounds")

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.features.names, "label")

    @cached_property
    def fingerprint(self) -> str:
        meaning = (self.account.policy_fingerprint, self.name, self.features, self.changes, GRID)
        return canonical_digest("label totals", *meaning)

    @cached_property
    def law(self) -> NoiseLaw:
        """The noise at spend 1, in the features' own unit."""
        return gradient_noise(self.features, self.changes, Fraction(1))

    def signal_kept(self, records: int, spend: Fraction) -> float:
        """The part of a coefficient that a fit can be expected to keep, against the noise: a rough, public count."""
        curved = usual_curvature(self.features, records, LogisticLoss().curvature)
        noise = np.sqrt(np.diag(self.law.second_moment)) / float(spend)
        return float(np.mean(curved / (curved + 2 * noise)))

    def check(self, data: ArrayLike, spend: Fraction) -> None:
        require_spend(spend)
        self.law.check_size(GRID / spend, WIDEST)
        self._table(data)

    def draws(self, data: ArrayLike, spend: Fraction, count: int, randomness: Randomness) -> list[tuple[Fraction, ...]]:
        """The noisy totals, as exact rationals."""
        self.check(data, spend)
        features, labels = self._table(data)
        totals = [int(x) for x in np.rint(features[labels == 1] * GRID).astype(np.int64).sum(axis=0)]
        drawn = self.law.draw_whole(count, randomness, GRID / spend)
        return [tuple(Fraction(t + z, GRID) for t, z in zip(totals, noise, strict=True)) for noise in drawn]

    def _table(self, data: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Features and labels. Raises: DataError."""
        features, labels = self.features.with_last(data, "label")
        if not np.all((labels == 0) | (labels == 1)):
            raise DataError("a label is 0 or 1")
        return features, labels


def fitted_to_totals(
    mechanism: LabelTotals,
    features: NDArray[np.float64],
    answer: tuple[Fraction, ...],
    spend: Fraction,
    ridge: Fraction,
) -> NDArray[np.float64]:
    """The coefficients (m,) of a logistic model with these totals: post-processing.

    argmin Σ log(1 + e^(aᵀθ)) − Tᵀθ + ρ‖θ‖²/2, ρ the noise's deviation, or ``ridge`` where that is more: noisy totals
    may be those of no labels at all, and without a ridge there would be no minimiser.
    """
    deviation = float(np.sqrt(np.trace(mechanism.law.second_moment) / len(answer))) / float(spend)
    totals = np.array([float(total) for total in answer])
    nobody = np.zeros(len(features))
    strength = max(deviation, float(ridge))
    return solved(
        PerturbedObjective(LogisticLoss(), features, nobody, strength, -totals, np.zeros(len(totals))), _ENOUGH
    )
