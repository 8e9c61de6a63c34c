"""The function that covariances are found with: Φ(A, C) = tr (A^½·C·A^½)^½, concave in both, and its derivatives.

A = Σ q_e v_e v_eᵀ of weights on differences, C = Σ λ_k c_k c_kᵀ of weights on answers. Among all Σ with
v_eᵀΣ⁻¹v_e ≤ 1, tr CΣ is at least Φ(A, C)²/Σ q for every q ≥ 0: no Gaussian noise has less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

_DIRECT = 30
"""Up to so many dimensions second derivatives are summed over pairs of these; beyond, over exponentials."""
_STEP = 1.2
_BELOW, _ABOVE = 7.0, 2.0


@final
@dataclass(frozen=True, eq=False)
class Fidelity:
    """Φ where A = U·diag(y²)·Uᵀ and C = 1, in coordinates in which C is the identity.

    ``roots`` (m,): y. ``places`` (n, m): Uᵀv_e of the differences in hand; ``answers`` (K, m): Uᵀc_k.
    Of 2Φ: derivatives by q_e are :attr:`loads`, g_e = v_eᵀΣ⁻¹v_e, and by λ_k :attr:`variances`, c_kᵀΣc_k, with
    Σ = U·diag(y)·Uᵀ, which is the best covariance once all loads are 1 or less.
    """

    roots: NDArray[np.float64]
    places: NDArray[np.float64]
    answers: NDArray[np.float64]

    @property
    def value(self) -> float:
        """Φ."""
        return float(self.roots.sum())

    @property
    def loads(self) -> NDArray[np.float64]:
        """(n,): g."""
        return np.asarray((self.places**2) @ (1 / self.roots))

    @property
    def variances(self) -> NDArray[np.float64]:
        """(K,)."""
        return np.asarray((self.answers**2) @ self.roots)

    def curvature(self, with_answers: bool) -> NDArray[np.float64]:
        """−(second derivatives of 2Φ), by q and, ``with_answers``, by λ after it: positive semidefinite.

        By q_e, q_f: Σ_ij a_i a_j a'_i a'_j/(y_i y_j (y_i + y_j)); by λ: Σ_ij b_i b_j b'_i b'_j y_i y_j/(y_i + y_j);
        mixed: −Σ_ij a_i a_j b_i b_j/(y_i + y_j). Approximate within a hundredth of the largest beyond 30 dimensions,
        where sums over exponentials are used: nothing rests on it.
        """
        halves = np.sqrt(self.roots)
        parts = [self.places / halves]
        if with_answers:
            parts.append(self.answers * halves)
        rows = np.vstack(parts)
        # With b·√y beside a/√y the mixed terms are those of one square, but for their sign.
        signs = np.concatenate([np.full(len(part), 1.0 - 2.0 * place) for place, part in enumerate(parts)])
        return np.asarray(_summed(rows, self.roots) * signs[:, None] * signs)


def fidelity_at(
    weights: NDArray[np.float64], points: NDArray[np.float64], costs: NDArray[np.float64], answers: NDArray[np.float64]
) -> tuple[Fidelity, NDArray[np.float64]]:
    """Φ at weights q (n,) of ``points`` (n, m) and λ (K,), ``costs``, of ``answers`` (K, m), which span ℝᵐ; and the
    matrix (m, m) that takes a point to its place.

    Singular values are taken of the factors, so that small roots are as exact as large ones.
    """
    triangle = np.asarray(np.linalg.qr(answers * np.sqrt(costs)[:, None], mode="r"))
    turned = (points * np.sqrt(weights)[:, None]) @ triangle.T
    _, roots, axes = np.linalg.svd(np.asarray(np.linalg.qr(turned, mode="r")))
    onto = triangle.T @ axes.T
    there = np.linalg.solve(triangle.T, answers.T).T @ axes.T
    return Fidelity(np.maximum(roots, roots[0] * 1e-300), points @ onto, there), onto


def _summed(rows: NDArray[np.float64], roots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ_ij r_i r_j r'_i r'_j/(y_i + y_j) for all pairs of rows."""
    if len(roots) <= _DIRECT:
        first, second = np.triu_indices(len(roots))
        shares = np.where(first == second, 1.0, 2.0) / (roots[first] + roots[second])
        products = rows[:, first] * rows[:, second] * np.sqrt(shares)
        return np.asarray(products @ products.T)
    total = np.zeros((len(rows), len(rows)))
    low, high = -np.log(2 * roots[0]) - _BELOW, -np.log(2 * roots[-1]) + _ABOVE
    for place in np.arange(low, high + _STEP, _STEP):
        # 1/x = ∫ exp(s − x·e^s) ds, by steps.
        damped = rows * np.exp(-np.exp(place) * roots / 2)
        total += (_STEP * np.exp(place)) * (damped @ damped.T) ** 2
    return total
