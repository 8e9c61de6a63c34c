"""Objective perturbation: the minimiser of a loss plus a random tilt and a ridge, released exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.learning.features import Change, Features
from dxgeom.learning.gradient_noise import best_share, gradient_noise, least_strength, usual_curvature
from dxgeom.learning.objective import GlmLoss, LazyTilt, PerturbedObjective, rounded_minimiser, solved
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Mechanism, require_spend
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rounding import FLOAT_ERROR, stretched
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import round_up
from dxgeom.numeric.sealed import canonical_digest

STEP: Final = Fraction(1, 2**20)
"""Coefficients are released as multiples of this: features are of length 1 or so, and no noise is as small."""
_LEAST: Final = 2.0**-20
_TOLERANCE: Final = 1e-12


@final
@dataclass(frozen=True, eq=False)
class ObjectivePerturbation(Mechanism[ArrayLike, tuple[Fraction, ...]]):
    """θ* = argmin Σ_i ℓ(a_iᵀθ, y_i) + γ‖θ‖²/2 + Vᵀθ, each coordinate rounded to a multiple of 2⁻²⁰.

    V is K-norm noise, K a product of the features' bodies that holds whatever a generating pair can change of a
    gradient, over q of its distance; γ leaves the rest of the distance for what it changes of the Hessian. The data
    are a table (n, m + 1): a record's features, then its response.

    ``changes``: all that the account's metric allows neighbours to differ in, each at no more than its distance.
    ``ridge``: the least γ, public. ``share``: q; None to choose it by ``records`` and spend, which are public.
    ``absence``: whether a record may be absent, which then is among the changes: there may be no record at all.

    Guarantee: replacing record i by j changes the odds of any set of answers by at most e^(spend·d(i, j)). For each
    pair, any θ and any other records, ‖δ(θ)‖_K + log of the ratio of Hessians' determinants ≤ spend·d. The minimiser is
    rounded as if it were known exactly: its error is bounded by ‖∇J‖/γ and refined where rounding would be open, so no
    tolerance of any solver is part of the guarantee. The number of records is public, unless they may be absent.
    Raises: UnsupportedCombination when nothing at all makes the objective strictly convex.
    Source: Awan & Slavković 2020, Algorithm 2, corrected: γ = λ/(e^{(1−q)ε} − 1), the exact minimiser, and V = R·U,
    where its Algorithm 8 drops R.
    """

    name: str
    loss: GlmLoss = field(repr=False)
    features: Features = field(repr=False)
    changes: tuple[Change, ...] = field(repr=False)
    account: Account = field(repr=False)
    ridge: Fraction = Fraction(0)
    share: Fraction | None = None
    absence: bool = False

    def __post_init__(self) -> None:
        if self.absence and self.share is None:
            raise UnsupportedCombination(
                "where the number of records is private, the noise's share of a spend cannot be chosen by it: state "
                "it, share='9/10' for instance"
            )
        fits = all(len(change.reaches) == len(self.features.groups) for change in self.changes)
        if not (self.changes and fits and all(change.distance > 0 for change in self.changes)):
            raise UnsupportedCombination("each change says how far it reaches in each group, at a positive distance")
        if self.share is not None and not 0 < self.share < 1:
            raise UnsupportedCombination(f"the noise's share of a spend lies between 0 and 1, found {self.share}")
        if self.ridge < 0 or (self.ridge == 0 and not any(change.bends for change in self.changes)):
            raise UnsupportedCombination("a ridge is at least 0, and more where no privacy asks for one")

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest(
            "objective perturbation",
            self.account.policy_fingerprint,
            self.name,
            self.loss,
            self.features,
            self.changes,
            self.ridge,
            self.share,
            STEP,
            *(("absence",) if self.absence else ()),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.features.names, "response")

    def noise(self, share: Fraction) -> NoiseLaw:
        """The law of V at spend 1."""
        return _noise(self.features, self.changes, share)

    def strength(self, share: Fraction, spend: Fraction) -> float:
        """γ: what privacy asks for, *rounded up*, or the ridge, or a millionth of λ, where that is more: however much
        is spent, data that a line separates have coefficients that float64 can find."""
        asked = least_strength(self.features, self.changes, self.loss.curvature, share, spend)
        return max(asked, round_up(self.ridge), float(self.loss.curvature) * self.features.longest_square * _LEAST)

    def share_for(self, records: int, spend: Fraction) -> Fraction:
        """q for so many records."""
        if self.share is not None:
            return self.share
        return best_share(
            self.features, records, spend, self.loss.curvature, self.noise, lambda q: self.strength(q, spend)
        )

    def signal_kept(self, records: int, spend: Fraction) -> float:
        """The part of a coefficient that a fit can be expected to keep, against ridge and noise: rough, and public."""
        share = self.share_for(records, spend)
        curved = usual_curvature(self.features, records, self.loss.curvature)
        noise = np.sqrt(np.diag(self.noise(share).second_moment)) / float(spend)
        return float(np.mean(curved / (curved + self.strength(share, spend) + noise)))

    def check(self, data: ArrayLike, spend: Fraction) -> None:
        require_spend(spend)
        features, _ = self._table(data)
        self.check_size(len(features), spend)

    def check_size(self, records: int, spend: Fraction) -> None:
        """Refuse what could not be drawn for so many records. Raises: TooLarge, UnsupportedCombination."""
        share = self.share_for(records, spend)
        self.noise(share).check_size(1 / spend)
        self.strength(share, spend)

    def draws(self, data: ArrayLike, spend: Fraction, count: int, randomness: Randomness) -> list[tuple[Fraction, ...]]:
        """The coefficients, as exact multiples of 2⁻²⁰."""
        self.check(data, spend)
        features, responses = self._table(data)
        share = self.share_for(len(features), spend)
        strength, factor = self.strength(share, spend), 1 / spend
        drawn = self.noise(share).ideal(count, randomness)
        found = []
        for row in range(count):
            tilt = drawn.values[row] * float(factor)
            # Two roundings more: of the factor, and of the product; what float64 cannot tell at all is left open.
            off = drawn.errors[row] * float(factor) * (1 + FLOAT_ERROR) + np.abs(tilt) * 2.0**-51
            error = off if drawn.legible[row] else np.full(len(tilt), np.inf)
            objective = PerturbedObjective(self.loss, features, responses, strength, tilt, error)
            lazy = LazyTilt(stretched(drawn.evaluation(row), factor), drawn.uniforms(row))
            near = solved(objective, _TOLERANCE)
            places = rounded_minimiser(objective, near, STEP, lazy, randomness)
            found.append(tuple(place * STEP for place in places))
        return found

    def _table(self, data: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Features (n, m) and responses (n,). Raises: DataError for what no record has."""
        features, responses = self.features.with_last(data, "response", nobody=self.absence)
        allowed = self.loss.responses
        if allowed is not None and not np.all(np.isin(responses, [float(one) for one in allowed])):
            raise DataError(f"a response is {allowed[0]} or {allowed[1]} to this loss")
        if not np.all(np.isfinite(responses)):
            raise DataError("a response is a finite number")
        return features, responses


@lru_cache(maxsize=64)
def _noise(features: Features, changes: tuple[Change, ...], share: Fraction) -> NoiseLaw:
    return gradient_noise(features, changes, share)
