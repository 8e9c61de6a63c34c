"""Figures 2 and 3 of "Structure and sensitivity in differential privacy": what the noise does to estimates.

A simulation in float64 of the paper's experiments, with the corrections of papers/awan2020/page.md; nothing here is
fit for release.

Run: .venv/bin/python papers/awan2020/regressions.py
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from numpy.typing import NDArray

RECORDS = 10_000
LOGISTIC = np.array([0, -1, -1 / 2, -1 / 4, 0, 3 / 4, 3 / 2])
PREDICTORS = 5
LINEAR = np.concatenate([[0], np.linspace(-1.5, 1.5, PREDICTORS)])
CLIP = 8.5
REFERENCE_2 = {
    "ℓ₁": "18.7/2.95/.602/.169/.125",
    "ℓ₂": "12.2/2.10/.451/.125/.115",
    "ℓ∞": "4.58/1.09/.279/.104/.106",
    "ℓ∞, q = .85": "1.63/.742/.246/.104/.093",
}
REFERENCE_3 = {
    ("as printed", "ℓ₁"): ".150/.514/.970",
    ("as printed", "ℓ∞"): ".290/.878/1",
    ("as printed", "cylinders"): ".308/.882/1",
    ("clipped", "ℓ₁"): ".030/.210/.604",
    ("clipped", "ℓ∞"): ".070/.260/.912",
    ("clipped", "cylinders"): ".062/.284/.940",
}


def main() -> None:
    """Both figures."""
    parser = argparse.ArgumentParser(description="Reproduce the paper's regressions.")
    parser.add_argument("--replicates", type=int, default=30, help="replicates of each figure (30)")
    replicates = parser.parse_args().replicates
    logistic(replicates)
    linear(replicates)


def logistic(replicates: int) -> None:
    """Figure 2: objective perturbation, median ℓ₂ distance to the true coefficients."""
    budgets = (1 / 64, 1 / 16, 1 / 4, 1, 2)
    generator = np.random.default_rng(0)
    shapes = {"ℓ₁": (l1_noise, 0.5), "ℓ₂": (l2_noise, 0.5), "ℓ∞": (linf_noise, 0.5), "ℓ∞, q = .85": (linf_noise, 0.85)}
    found: dict[str, list[list[float]]] = {name: [] for name in shapes}
    plain = []
    size = len(LOGISTIC)
    for _ in range(replicates):
        x = generator.uniform(-1, 1, (RECORDS, size))
        y = (generator.random(RECORDS) < 1 / (1 + np.exp(-x @ LOGISTIC))).astype(float)
        plain.append(distance(minimiser(x, y, 0.0, np.zeros(size))))
        for name, (noise, share) in shapes.items():
            row = []
            for epsilon in budgets:
                # Corrected: 1 − q. Printed with q − 1 the weight is negative.
                ridge = size / 4 / np.expm1(epsilon * (1 - share))
                row.append(distance(minimiser(x, y, ridge, noise(generator, size, 2.0) / (epsilon * share))))
            found[name].append(row)
    print(f"Figure 2: median distance at ε = 1/64, 1/16, 1/4, 1, 2; {replicates} replicates, n = {RECORDS:,}")
    for name, rows in found.items():
        words = "/".join(f"{value:.3g}" for value in np.median(rows, axis=0))
        print(f"  {name:<14}{words:<34} reference {REFERENCE_2[name]}")
    print(f"  {'maximum likelihood':<48} {np.median(plain):.3f}, reference .091")


def distance(coefficients: NDArray[np.float64]) -> float:
    """To the truth."""
    return float(np.linalg.norm(coefficients - LOGISTIC))


def minimiser(
    x: NDArray[np.float64], y: NDArray[np.float64], ridge: float, tilt: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Newton's method, with steps halved until the objective falls, on Σ loss + ridge·|θ|²/2 + tilt·θ."""

    def objective(theta: NDArray[np.float64]) -> float:
        scores = x @ theta
        return float(np.sum(np.logaddexp(0, scores) - y * scores) + ridge * theta @ theta / 2 + tilt @ theta)

    theta = np.zeros(x.shape[1])
    for _ in range(200):
        chance = 1 / (1 + np.exp(-np.clip(x @ theta, -500, 500)))
        slope = x.T @ (chance - y) + ridge * theta + tilt
        if np.linalg.norm(slope) < 1e-7:
            break
        bend = (x * (chance * (1 - chance))[:, None]).T @ x + ridge * np.eye(len(theta)) + 1e-12 * np.eye(len(theta))
        step, here, length = np.linalg.solve(bend, slope), objective(theta), 1.0
        while objective(theta - length * step) > here and length > 1e-10:
            length /= 2
        theta = theta - length * step
    return theta


def l1_noise(generator: np.random.Generator, size: int, half_width: float) -> NDArray[np.float64]:
    """K-norm noise at ε = 1 of the ℓ₁ ball of radius size·half_width."""
    return generator.laplace(0, size * half_width, size)


def l2_noise(generator: np.random.Generator, size: int, half_width: float) -> NDArray[np.float64]:
    """K-norm noise at ε = 1 of the ℓ₂ ball of radius √size·half_width."""
    normal = generator.standard_normal(size)
    return np.asarray(normal / np.linalg.norm(normal) * generator.gamma(size) * size**0.5 * half_width)


def linf_noise(generator: np.random.Generator, size: int, half_width: float) -> NDArray[np.float64]:
    """K-norm noise at ε = 1 of the box."""
    return generator.uniform(-half_width, half_width, size) * generator.gamma(size + 1)


def linear(replicates: int) -> None:
    """Figure 3: least squares from a noisy sufficient statistic, share of estimates within the 95 % intervals."""
    budgets = (1 / 4, 1, 4)
    shapes = {"ℓ₁": l1_noise, "ℓ∞": linf_noise, "cylinders": cylinder_noise}
    print(f"Figure 3: coverage at ε = 1/4, 1, 4; {replicates} replicates, n = {RECORDS:,}, p = {PREDICTORS}")
    for kind, bound in (("as printed", 1.0), ("clipped", CLIP)):
        generator = np.random.default_rng(1)
        found: dict[str, list[list[float]]] = {name: [] for name in shapes}
        for _ in range(replicates):
            x = np.column_stack([np.ones(RECORDS), generator.uniform(-1, 1, (RECORDS, PREDICTORS))])
            y = x @ LINEAR + generator.standard_normal(RECORDS)
            low, high = intervals(x, y)
            bounded = y if kind == "as printed" else np.clip(y, -bound, bound) / bound
            for name, noise in shapes.items():
                rows = [noisy_fit(x, bounded, noise, generator, epsilon) * bound for epsilon in budgets]
                found[name].append([float(np.mean((low <= row) & (row <= high))) for row in rows])
        for name, values in found.items():
            words = "/".join(f"{value:.3f}" for value in np.mean(values, axis=0))
            print(f"  {kind:<12}{name:<12}{words:<24} reference {REFERENCE_3[kind, name]}")


def intervals(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """95 % intervals of the last p coefficients, by least squares without noise."""
    gram = np.linalg.inv(x.T @ x)
    fit = gram @ (x.T @ y)
    variance = np.sum((y - x @ fit) ** 2) / (len(y) - len(fit))
    reach = 1.96 * np.sqrt(variance * np.diagonal(gram))
    return (fit - reach)[1:], (fit + reach)[1:]


def noisy_fit(x: NDArray[np.float64], y: NDArray[np.float64], noise, generator, epsilon) -> NDArray[np.float64]:  # type: ignore[no-untyped-def]
    """The last p coefficients from XᵀX and XᵀY with noise; entries are scaled to change by at most 2."""
    size = x.shape[1]
    gram, cross = x.T @ x, x.T @ y
    rows, columns = np.triu_indices(size)
    rows, columns = rows[1:], columns[1:]  # the number of records is public
    added = noise(generator, len(rows) + size, 2.0) / epsilon
    scale = np.where(rows == columns, 0.5, 1.0)
    gram[rows, columns] += added[: len(rows)] * scale
    gram[columns, rows] = gram[rows, columns]
    return np.asarray((np.linalg.pinv(gram) @ (cross + added[len(rows) :]))[1:])


def cylinder_noise(generator: np.random.Generator, size: int, half_width: float) -> NDArray[np.float64]:
    """K-norm noise at ε = 1 of the paper's intersection of cylinders, by rejection from its box.

    Order as in :func:`noisy_fit`: the upper triangle of XᵀX without its first entry, then XᵀY.
    """
    order = [(i, j) for i, j in itertools.combinations_with_replacement(range(PREDICTORS + 1), 2) if (i, j) != (0, 0)]
    place = {pair: index for index, pair in enumerate(order)}
    while True:
        point = generator.uniform(-half_width, half_width, size)
        sizes = np.abs(point)
        products = [(sizes[place[0, i]], sizes[place[0, j]], sizes[place[i, j]]) for i, j in order if 0 < i < j]
        products += [(sizes[place[0, j]], sizes[len(order)], sizes[len(order) + j]) for j in range(1, PREDICTORS + 1)]
        squares = [(sizes[place[0, j]], sizes[place[j, j]]) for j in range(1, PREDICTORS + 1)]
        if all(sum(each) <= 4 for each in products) and all(
            square <= 2 - 2 * max(value - 1, 0) ** 2 for value, square in squares
        ):
            return np.asarray(point * generator.gamma(size + 1))


if __name__ == "__main__":
    main()
