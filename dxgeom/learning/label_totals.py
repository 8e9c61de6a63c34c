"""Where labels alone are protected: the one sum through which they enter, with noise; all else is post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.learning.features import Change, Features
from dxgeom.learning.gradient_noise import gradient_noise, usual_curvature
from dxgeom.learning.losses import LogisticLoss
from dxgeom.learning.objective import PerturbedObjective, solved
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Mechanism, require_spend
from dxgeom.noise.law import WIDEST, NoiseLaw
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import canonical_digest

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
