"""The function that covariances are found with: Φ(A, C) = tr (A^½·C·A^½)^½, concave in both, and its derivatives.

A = Σ q_e v_e v_eᵀ of weights on differences, C = Σ λ_k c_k c_kᵀ of weights on answers. Among all Σ with
v_eᵀΣ⁻¹v_e ≤ 1, tr CΣ is at least Φ(A, C)²/Σ q for every q ≥ 0: no Gaussian noise has less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

_SINGLE: Final = 48
"""Dimensions from which on products are in single precision, where roots are not further apart than this."""
_TAME: Final = 1e-6


@final
@dataclass(frozen=True, eq=False)
class Curvature:
    """−(second derivatives of 2Φ), positive semidefinite: what it does to directions, never laid out.

    ``rows`` (n, m), ``kernel`` (m, m) and ``signs`` (n,): entry e, f is ±Σ_ij r_ei r_ej r_fi r_fj·kernel_ij. In single
    precision in many dimensions: nothing but the length of a search rests on it.
    """

    rows: NDArray[Any]
    kernel: NDArray[Any]
    signs: NDArray[np.float64]

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """(n,)."""
        squares = self.rows**2
        return np.asarray(np.einsum("ei,ei->e", squares @ self.kernel, squares, dtype=np.float64))

    def times(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,): the product with a direction (n,), in O(n·m²)."""
        weighted = self.rows * (self.signs * direction).astype(self.rows.dtype)[:, None]
        middle = (weighted.T @ self.rows) * self.kernel
        return np.asarray(self.signs * np.einsum("ei,ei->e", self.rows @ middle, self.rows, dtype=np.float64))


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

    def curvature(self, with_answers: bool) -> Curvature:
        """By q and, ``with_answers``, by λ after it.

        By q_e, q_f: Σ_ij a_i a_j a'_i a'_j/(y_i y_j (y_i + y_j)); by λ: Σ_ij b_i b_j b'_i b'_j y_i y_j/(y_i + y_j);
        mixed: −Σ_ij a_i a_j b_i b_j/(y_i + y_j).
        """
        halves = np.sqrt(self.roots)
        parts = [self.places / halves]
        if with_answers:
            parts.append(self.answers * halves)
        # With b·√y beside a/√y the mixed terms are those of one square, but for their sign.
        signs = np.concatenate([np.full(len(part), 1.0 - 2.0 * place) for place, part in enumerate(parts)])
        kernel = 1 / np.add.outer(self.roots, self.roots)
        kind: Any = np.float32 if len(halves) > _SINGLE and self.roots[-1] > _TAME * self.roots[0] else np.float64
        return Curvature(np.vstack(parts).astype(kind), kernel.astype(kind), signs)


def fidelity_at(
    weights: NDArray[np.float64],
    points: NDArray[np.float64],
    costs: NDArray[np.float64],
    answers: NDArray[np.float64],
    rough: bool = False,
) -> tuple[Fidelity, NDArray[np.float64]]:
    """Φ at weights q (n,) of ``points`` (n, m) and λ (K,), ``costs``, of ``answers`` (K, m), which span ℝᵐ; and the
    matrix (m, m) that takes a point to its place.

    Singular values are taken of the factors, so that small roots are as exact as large ones; ``rough`` ones, which
    take a tenth of the time, of their squares.
    """
    triangle = triangle_of(answers * np.sqrt(costs)[:, None])
    turned = (points * np.sqrt(weights)[:, None]) @ triangle.T
    if rough:
        roots, axes = rough_roots(turned)
    else:
        _, roots, rows = np.linalg.svd(np.asarray(np.linalg.qr(turned, mode="r")))
        axes = rows.T
    onto = triangle.T @ axes
    there = np.linalg.solve(triangle.T, answers.T).T @ axes
    return Fidelity(np.maximum(roots, roots[0] * 1e-300), points @ onto, there), onto


def triangle_of(answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """(m, m): R with RᵀR = Σ_k c_k c_kᵀ."""
    return np.asarray(np.linalg.qr(answers, mode="r"))


def rough_roots(turned: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Singular values (m,) of a matrix (n, m), falling, and its right singular vectors as columns, by its square."""
    squares, axes = np.linalg.eigh(turned.T @ turned)
    return np.sqrt(np.maximum(squares[::-1], squares[-1] * 1e-28)), axes[:, ::-1]
