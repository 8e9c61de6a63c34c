"""What is known of the errors of answers that were made to agree."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.additive import AdditiveMechanism


@final
@dataclass(frozen=True, eq=False)
class ConsistentErrors:
    """How far answers that agree are from the truth, in ‖e‖² = Σ e_k²/v_k over the answers with noise, v_k the
    variances that they were weighed by.

    ``released``: the root of E‖e‖²/K of the released answers, at its worst over all data. Theirs is not larger, since
    the truth satisfies what they were made to satisfy and projection on a convex set only shortens the way to its
    points.
    ``moved``: how much further, at most, rounding to integers took these. ``rmse`` (K,): each answer's own root mean
    squared error, at its worst, where only equations were asked for; None where signs or integers make it depend on the
    truth. Rounding of values comes on top, see the release; totals are taken to be true.
    Guarantee: up to the rounding of float64.
    """

    released: float
    moved: float
    rmse: NDArray[np.float64] | None = field(repr=False)

    @property
    def at_most(self) -> float:
        """A bound for the root of ‖e‖²/K of these answers, in root mean square."""
        return self.released + self.moved

    @property
    def in_words(self) -> str:
        """The same as a sentence."""
        each = "" if self.rmse is None else "; each answer's own root mean squared error is exact, up to float64"
        further = f", {self.moved:.3g} of it because integers may be further off" if self.moved else ""
        return (
            f"together they are at most {self.at_most:.3g} standard deviations of the released answers off, in root "
            f"mean square{further}; the released ones are {self.released:.3g}{each}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The errors ready for JSON."""
        rmse = None if self.rmse is None else self.rmse.tolist()
        return {"released": self.released, "moved": self.moved, "at_most": self.at_most, "rmse": rmse}


def errors_of_consistent(
    mechanism: AdditiveMechanism,
    spent: Fraction,
    variances: Sequence[Fraction],
    equations: Sequence[Sequence[Fraction]] | None,
    moves: Sequence[Fraction],
) -> ConsistentErrors:
    """The errors after projection in Σ e²/``variances``.

    Args: ``equations`` (r, K): all that was asked for, None where signs or integers were, too. ``moves`` (K,): what
    rounding to integers changed.
    """
    weights = np.array([float(variance) for variance in variances])
    noisy = weights > 0
    if not np.any(noisy):
        return ConsistentErrors(0.0, 0.0, None if equations is None else np.zeros(len(weights)))
    released = math.sqrt(float(np.mean(mechanism.variances(spent)[noisy] / weights[noisy])))
    off = np.array([float(move) for move in moves])[noisy]
    moved = math.sqrt(float(np.mean(off**2 / weights[noisy])))
    return ConsistentErrors(released, moved, None if equations is None else _each(mechanism, spent, weights, equations))


def _each(
    mechanism: AdditiveMechanism,
    spent: Fraction,
    weights: NDArray[np.float64],
    equations: Sequence[Sequence[Fraction]],
) -> NDArray[np.float64]:
    """(K,): diag(P·Σ·Pᵀ) with P the projection on the equations; a bias is at most |P|·β after it."""
    mixing = mechanism.float_mixing
    spread = np.diag(mechanism.rounding_variances)
    if mechanism.law is not None:
        spread = spread + mixing @ mechanism.law.second_moment @ mixing.T / float(spent) ** 2
    noisy = np.sqrt(weights)
    onto = np.eye(len(weights))
    if equations:
        rows = np.array([[float(entry) for entry in row] for row in equations]) * noisy
        onto = onto - noisy[:, None] * (np.linalg.pinv(rows, rcond=1e-12) @ rows) / np.where(noisy > 0, noisy, 1.0)
    bias = np.abs(onto) @ mechanism.biases
    return np.asarray(np.sqrt(np.maximum(np.einsum("kj,jl,kl->k", onto, spread, onto, optimize=True), 0.0) + bias**2))
