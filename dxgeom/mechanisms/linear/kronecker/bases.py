"""A basis of what an attribute's values tell beyond their total, in which noise of different size hides its distances.

The general solver finds the best covariance for the counts of the attribute alone, and weights of its pairs that prove
it. The basis is that of the eigenvectors of L = Σ_e q_e Δ_eΔ_eᵀ/d_e², q these weights: in it the covariance is
diagonal, and so is every sum of such over several attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.geometry.inverse import inverse_enclosure
from dxgeom.mechanisms.linear.gaussian.program import best_covariance
from dxgeom.mechanisms.linear.kronecker.distances import ValueDistances
from dxgeom.numeric.sealed import Sealed, cached_property

_FAR: Final = 1e3
"""What is at no finite distance is sought as so many times the longest."""
_LEAST: Final = 1e-9


@final
@dataclass(frozen=True, eq=False)
class WeighedPairs:
    """Weights q (E,) of an attribute's pairs, of sum 1: ``values`` (n−1,) and ``vectors`` (n, n−1), orthonormal and of
    sum 0, of L."""

    distances: ValueDistances
    weights: NDArray[np.float64] = field(repr=False)

    @cached_property
    def _found(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        own, onto = self.distances, centred_basis(self.distances.size)
        points = (onto[own.first] - onto[own.second]) / own.distances[:, None]
        values, turned = np.linalg.eigh((points.T * self.weights) @ points)
        # What no pair at a finite distance tells apart gets hardly any noise, and not none.
        return np.maximum(values, values[-1] * _LEAST), onto @ turned

    @property
    def values(self) -> NDArray[np.float64]:
        """(n−1,): λ."""
        return self._found[0]

    @property
    def vectors(self) -> NDArray[np.float64]:
        """(n, n−1)."""
        return self._found[1]

    @property
    def steps(self) -> NDArray[np.float64]:
        """(E, n−1): (u_lᵀΔ_e)²/d_e²."""
        own = self.distances
        return np.asarray(((self.vectors[own.first] - self.vectors[own.second]) / own.distances[:, None]) ** 2)

    @property
    def basis(self) -> NDArray[np.float64]:
        """(n−1, n−1): what each vector has at the second, third, … value above the first."""
        return np.ascontiguousarray(self.vectors[1:] - self.vectors[0])


def centred_basis(size: int) -> NDArray[np.float64]:
    """(n, n−1): orthonormal columns of sum 0 (Helmert)."""
    steps = np.arange(1, size)
    below = np.where(np.arange(size)[:, None] < steps, 1.0, 0.0)
    below[steps, steps - 1] = -steps
    return below / np.sqrt(steps * (steps + 1.0))


def weighed_pairs(distances: ValueDistances) -> WeighedPairs:
    """Of the weights that prove the best covariance of the attribute's counts, by the general solver.

    Raises: CertificateRefused.
    """
    onto, own = centred_basis(distances.size), distances
    points = (onto[own.first] - onto[own.second]) / own.distances[:, None]
    found = best_covariance(np.vstack([points, onto / (own.distances.max() * _FAR)]), onto)
    weights = np.bincount(found.places, found.weights, len(points) + distances.size)[: len(points)]
    weights = np.maximum(weights, weights.max() * 1e-12)
    return WeighedPairs(distances, weights / weights.sum())


@final
@dataclass(frozen=True, eq=False)
class TurnedShifts(Sealed):
    """What changes are in the coordinates of a ``basis`` (m, m), squared and *rounded up*.

    ``pairs`` (E, m): of a record that moves from one value to the other; ``cells`` (n, m): of one that has a value.
    """

    basis: NDArray[np.float64] = field(repr=False)
    distances: ValueDistances

    @cached_property
    def _shifts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        inverse, size = inverse_enclosure(self.basis), self.distances.size
        cells = np.vstack([-np.ones(size - 1), np.eye(size - 1)])
        values, errors = inverse.products(cells)
        first, second = self.distances.first, self.distances.second
        apart = np.abs(values[first] - values[second]) * (1 + 2.0**-52) + (errors[first] + errors[second])
        return apart, np.abs(values) + errors

    @cached_property
    def pairs(self) -> NDArray[np.float64]:
        """(E, m)."""
        return np.asarray(self._shifts[0] ** 2 * (1 + 2.0**-48))

    @cached_property
    def cells(self) -> NDArray[np.float64]:
        """(n, m)."""
        return np.asarray(self._shifts[1] ** 2 * (1 + 2.0**-48))
