"""The best change of one query by looking at everything: all pairs, all breakpoints, and a linear programme."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linprog


def distances_of(metric):
    every = np.arange(metric.size)
    return metric.distance(every[:, None], every[None, :])


def least_bias(values, distances, scale):
    """The least b with |q' - q| <= b for some q' with |q'_i - q'_j| <= scale·d, by linear programming over (q', b)."""
    size = len(values)
    rows, sides = [], []
    for i in range(size):
        for sign in (1, -1):
            row = np.zeros(size + 1)
            row[i], row[size] = sign, -1
            rows.append(row)
            sides.append(sign * values[i])
    for i, j in itertools.permutations(range(size), 2):
        if np.isfinite(distances[i, j]):
            row = np.zeros(size + 1)
            row[i], row[j] = 1, -1
            rows.append(row)
            sides.append(scale * distances[i, j])
    cost = np.append(np.zeros(size), 1)
    bounds = [(None, None)] * size + [(0, None)]
    return float(linprog(cost, A_ub=np.array(rows), b_ub=np.array(sides), bounds=bounds, method="highs").fun)


def least_squared_error(values, distances, records):
    """min over c of (n·bias(c))² + 2c², trying the valley of every pair's line and every two lines' meeting."""
    pairs = [(i, j) for i, j in itertools.combinations(range(len(values)), 2) if np.isfinite(distances[i, j])]
    rises = np.array([abs(values[i] - values[j]) for i, j in pairs])
    runs = np.array([distances[i, j] for i, j in pairs])
    scales = list(records**2 * rises * runs / (records**2 * runs**2 + 8))
    for a, b in itertools.combinations(range(len(pairs)), 2):
        if runs[a] != runs[b]:
            scales.append((rises[a] - rises[b]) / (runs[a] - runs[b]))
    scales += [rise / run for rise, run in zip(rises, runs, strict=True) if run > 0]
    scales = np.array([scale for scale in scales if scale > 0])
    biases = np.maximum((rises - scales[:, None] * runs).max(axis=1), 0) / 2
    errors = (records * biases) ** 2 + 2 * scales**2
    best = int(errors.argmin())
    return float(errors[best]), float(scales[best]), float(biases[best])
