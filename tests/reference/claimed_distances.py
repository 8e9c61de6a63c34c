"""Symmetric matrices that claim to be distances: metrics, nearly so, and not at all."""

from __future__ import annotations

import numpy as np

SIZE = 150


def euclidean(seed, size=SIZE):
    points = np.random.default_rng(seed).random((size, 3))
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=-1))


def disturbed(seed, size, relative, how_many):
    """Distances with some entries raised or lowered by a little."""
    generator, matrix = np.random.default_rng(seed), euclidean(seed, size)
    for _ in range(how_many):
        i, j = generator.choice(size, 2, replace=False)
        detours = matrix[i] + matrix[j]
        detours[[i, j]] = np.inf
        matrix[i, j] = matrix[j, i] = detours.min() * (1 + relative)
    return matrix


def integers(seed, low, high):
    return np.triu(np.random.default_rng(seed).integers(low, high, (SIZE, SIZE)), 1).astype(float)


KINDS = {
    "euclidean": lambda seed: euclidean(seed),
    "one part in 10^9 too long": lambda seed: disturbed(seed, SIZE, 1e-9, 5),
    "one unit in the last place too long": lambda seed: disturbed(seed, SIZE, 2.0**-51, 5),
    "no metric at all": lambda seed: np.triu(np.random.default_rng(seed).random((SIZE, SIZE)), 1),
    "few whole numbers": lambda seed: integers(seed, 5, 11),
    "large whole numbers": lambda seed: integers(seed, 2**50, 2**51),
    "a line": lambda seed: np.abs(np.subtract.outer(*2 * [np.sort(np.random.default_rng(seed).random(SIZE))])),
    "tiny beside huge": lambda seed: np.triu(10 ** np.random.default_rng(seed).uniform(-300, 290, (SIZE, SIZE)), 1),
    "all tiny": lambda seed: euclidean(seed) * 1e-290,
    "all huge": lambda seed: euclidean(seed) * 1e290,
    "beyond any exponent": lambda seed: euclidean(seed) * 1e307,
}


def symmetric(matrix):
    return np.maximum(matrix, matrix.T)
