"""Noise in parts by its definition, slowly: every part as a dense matrix of whole numbers, every pair of records, sums
in fractions; and the best that linear estimates can make of what was measured.

Nothing here knows of limits, of prices or of averages, nor that loads multiply over attributes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import null_space

NOTHING = np.ones((1, 1), dtype=np.int64)
ROUNDED_DOWN = 1 + Fraction(1, 2**46)
"""Distances are sums in float64 that are rounded down; those of the rules are larger by less than this."""


class Part(NamedTuple):
    """``matrix`` (m, records); the noise of its numbers: Laplace of ``scale``, or normal: a shift v costs
    vᵀ·``form``·v/(``over``·scale²) in square."""

    matrix: Any
    scale: Fraction | None
    form: Any = None
    over: int = 1

    def load(self, shift):
        """Of what noise hides of a shift, in square where it is normal."""
        if self.form is None:
            return int(np.abs(shift).sum()) / self.scale
        if self.scale is None:
            return float(shift @ self.form @ shift)
        return Fraction(int(shift @ self.form @ shift), self.over) / self.scale**2

    @property
    def precision(self):
        """The inverse of the covariance of its noise."""
        if self.form is None:
            return np.eye(len(self.matrix)) / (2 * float(self.scale) ** 2)
        return self.form / (1.0 if self.scale is None else self.over * float(self.scale) ** 2)


def parts_of(made):
    """Every part with noise of a mechanism, over all records of its universe."""
    return [_part(made, number) for number in made.noisy]


def known_parts(made):
    """The parts that no noise is in, and that answers see: what nobody moves."""
    protected = made.question.protected if made.trees else made.protected
    return [_rows(made, _along(made, number)) for number in np.flatnonzero(~protected).tolist()]


def _part(made, number):
    along = _along(made, number)
    matrix = _rows(made, along)
    if made.bases:
        maps = [_map(made.bases[place], made.queries.sizes[place]) for place in along]
        spreads = made.coordinates.table(number, made.scales)
        wide = np.broadcast_to(spreads, [one.shape[1] for one in maps]).ravel()
        image = reduce(np.kron, maps, np.ones((1, 1))) * wide
        return Part(matrix, None, np.linalg.inv(image @ image.T))
    scale = Fraction(float(made.scales[number]))
    if not made.normal:
        return Part(matrix, scale)
    form = reduce(np.kron, [form for _, form, _ in along.values()], NOTHING)
    return Part(matrix, scale, form, math.prod(radix for _, _, radix in along.values()))


def _map(basis, size):
    return np.hstack([-np.ones((size - 1, 1)), np.eye(size - 1)]) if basis is None else basis


def _along(made, number):
    """Of each attribute that a part sums up: its rows, and of normal noise the form and what it is over."""
    if made.trees:
        levels = enumerate(made.question.blocks[number])
        return {a: _level(made.merged.sizes[a], made.trees[a], level, made.normal) for a, level in levels if level}
    sets = _sets(made.queries.attribute_sets)
    found = {}
    for a in sets[number % len(sets)]:
        size = made.queries.sizes[a]
        differing = number >= len(sets) and size == 2
        found[a] = (np.array([[1, -1]]), None, 1) if differing else _level(size, (size,), 1, made.normal)
    return found


def _sets(asked):
    """All sets inside those asked for, by their length, and then in order."""
    inside = {part for one in asked for length in range(len(one) + 1) for part in combinations(one, length)}
    return sorted(inside, key=lambda one: (len(one), one))


def _level(size, radices, level, normal):
    values = np.arange(size)
    if not radices:
        cuts = np.arange(1, size)[:, None]
        rows = np.where(cuts <= size // 2, values < cuts, values >= cuts).astype(np.int64)
        return rows, np.eye(size - 1, dtype=np.int64), 1
    classes, radix = math.prod(radices[:level]), radices[level - 1]
    rows = (values // math.prod(radices[level:]) == np.arange(classes)[:, None]).astype(np.int64)
    if not normal:
        return rows, None, 1
    siblings = rows.reshape(-1, radix, size)
    rows = (siblings[:, 1:] - siblings[:, :1]).reshape(-1, size)
    own = radix * np.eye(radix - 1, dtype=np.int64) - 1  # radix·(1 + 11ᵀ)⁻¹
    return rows, np.kron(np.eye(len(siblings), dtype=np.int64), own), radix


def _rows(made, along):
    shape = made.queries.universe.shape
    values = np.indices(shape).reshape(len(shape), -1)
    told = [own[values[axis]] for axis, own in sorted(made.codes.items())]
    matrix = np.ones((1, values.shape[1]), dtype=np.int64)
    for a, (rows, _, _) in along.items():
        matrix = (matrix[:, None] * rows[:, told[a]]).reshape(-1, values.shape[1])
    return matrix


def largest_load(made):
    """The largest part of a distance that noise uses, in square where it is normal, over all pairs of records and over
    those that come or go; exactly, but along bases."""
    metric, parts = made.metric.metric, parts_of(made)
    records = parts[0].matrix.shape[1]
    moved = [np.hstack([one.matrix, np.zeros((len(one.matrix), 1), dtype=np.int64)]) for one in parts]
    power, worst = 2 if made.normal else 1, Fraction(0)
    for one, other in combinations(range(min(records + 1, metric.size)), 2):
        distance = float(metric.distance(np.array([one]), np.array([other]))[0])
        if math.isfinite(distance):
            load = sum(part.load(own[:, one] - own[:, other]) for part, own in zip(parts, moved, strict=True))
            worst = max(worst, load / (Fraction(distance) * ROUNDED_DOWN) ** power)
    return worst


def least_variances(made, answers):
    """(K,): of the best unbiased linear estimates of ``answers`` (K, records), from all numbers with noise and what no
    protected record moves."""
    parts = parts_of(made)
    known = np.vstack([np.zeros((1, answers.shape[1])), *known_parts(made)])
    free = null_space(known.astype(np.float64)) if np.any(known) else np.eye(answers.shape[1])
    told = sum(free.T @ one.matrix.T @ one.precision @ one.matrix @ free for one in parts)
    along = answers @ free
    return np.einsum("ki,ij,kj->k", along, np.linalg.pinv(told, rcond=1e-12), along)
