"""Adding shaped noise to exact integer answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.sensitivity import Sensitivity
from dxgeom.noise.law import NoiseLaw
from dxgeom.numeric.randomness import Randomness


@final
@dataclass(frozen=True, eq=False)
class AdditiveMechanism:
    """Answer k is released as ``steps[k]·(y_k + Σ_j spread[k, j]·Z_j)`` with y_k an exact integer, Z = round(V).

    ``law``: of V in ℝᵐ, None when no answer needs noise. ``spread`` (K, m): rationals; a unit row for an answer that
    carries its own noise, a combination for one that follows from others, zeros for one that nobody can influence.

    Guarantee: replacing record i by j changes the odds of any output by at most e^{d(i, j)} at spend 1, by
    e^{s·d(i, j)} at spend s, where V is stretched by 1/s. Both round(V) and the combinations are post-processing.
    """

    name: str
    sensitivity: Sensitivity = field(repr=False)
    law: NoiseLaw | None = field(repr=False)
    spread: NDArray[Any] = field(repr=False)

    def __str__(self) -> str:
        return self.name

    @cached_property
    def float_spread(self) -> NDArray[np.float64]:
        """``spread`` in answer units, float64 (K, m)."""
        steps = self.sensitivity.queries.float_steps
        return np.asarray(self.spread.astype(np.float64) * steps[:, None])

    def variances(self, spend: Fraction = Fraction(1)) -> NDArray[np.float64]:
        """(K,): mean squared error of each answer in its own unit squared.

        The ideal noise's moment is exact. Rounding to the lattice adds about g²/12 per noisy coordinate, less when a
        large spend makes the noise hardly wider than a step. Rounded weights are not in here: see ``weight_errors``.
        """
        if self.law is None:
            return np.zeros(len(self.spread))
        moment = self.law.second_moment / float(spend) ** 2 + np.eye(self.law.dimension) / 12
        return np.asarray(np.einsum("ki,ij,kj->k", self.float_spread, moment, self.float_spread))

    @property
    def rounding_share(self) -> float:
        """The part of the total mean squared error, at spend 1, that comes from rounding to the lattice."""
        total = float(self.variances().sum())
        return 0.0 if total == 0 else float(np.sum(self.float_spread**2)) / 12 / total

    def check_spend(self, spend: Fraction) -> None:
        """Refuse a spend so small that the noise could leave 64-bit integers, before anything is charged.

        Raises: TooLarge.
        """
        if self.law is not None:
            self.law.check_size(1 / spend)

    def answer(
        self, counts: NDArray[np.int64], randomness: Randomness, spend: Fraction = Fraction(1)
    ) -> tuple[Fraction, ...]:
        """One noisy answer per query, as exact rationals. Charges no ledger: that is the plan's work."""
        exact = self.sensitivity.queries.integer_answers(counts)
        steps = self.sensitivity.queries.steps
        noise = [] if self.law is None else [int(z) for z in self.law.draw(1, randomness, 1 / spend)[0]]
        return tuple(
            step * (integer + sum((share * z for share, z in zip(row, noise, strict=True)), Fraction(0)))
            for step, integer, row in zip(steps, exact, self.spread, strict=True)
        )


def identity_spread(noisy: NDArray[np.bool_]) -> NDArray[Any]:
    """The spread (K, m) in which each noisy query carries its own coordinate and the others carry none."""
    spread = np.full((len(noisy), int(noisy.sum())), Fraction(0), dtype=object)
    for coordinate, query in enumerate(np.flatnonzero(noisy)):
        spread[query, coordinate] = Fraction(1)
    return spread
