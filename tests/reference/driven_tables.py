"""What a release of whole tables, or of boxes, shows of two records, found by driving it as ``least_shift`` does.

Every number that the mechanism draws passes through ``NoiseLaw.draw``; there it is replaced by zeros and a single one.
What one record adds is counted here, from the classes of its values.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from scipy.linalg import block_diag

from dxgeom.noise.law import NoiseLaw
from dxgeom.numeric.randomness import InsecureSeededRandomness


class Counted(NamedTuple):
    cells: tuple[np.ndarray, ...]
    total: int


class Joint(NamedTuple):
    """The laws of all that was drawn, one beside the other."""

    concentrated: bool
    second_moment: np.ndarray
    laplace_scales: np.ndarray | None

    @property
    def dimension(self):
        return len(self.second_moment)


def counted(queries, records):
    """The tables of these possible records, one of each; of an absent one nothing."""
    universe = queries.universe
    there = np.array([one for one in records if one < np.prod(universe.shape)], dtype=np.int64)
    codes = np.unravel_index(there, universe.shape)
    cells = []
    for asked, shape in zip(queries.attribute_sets, queries.shapes, strict=True):
        table = np.zeros(shape, dtype=np.int64)
        axes = [queries.columns[place].axis for place in asked]
        if axes:
            np.add.at(table, tuple(queries.classes[axis][codes[axis]] for axis in axes), 1)
        else:
            table[()] = len(there)
        cells.append(table.ravel())
    return Counted(tuple(cells), len(there))


class Drive:
    """Draws nothing but a one at a place, and remembers of which laws it was asked."""

    def __init__(self, place=None):
        self.place, self.laws, self.at = place, [], 0

    def draw(self, law, count, randomness, factor=Fraction(1)):
        self.laws += [(law, factor)] * count
        drawn = np.zeros(count * law.dimension, dtype=np.int64)
        if self.place is not None and self.at <= self.place < self.at + len(drawn):
            drawn[self.place - self.at] = 1
        self.at += len(drawn)
        return drawn.reshape(count, law.dimension)


def answered(mechanism, data, place=None):
    """All numbers answered, flat, and what was drawn."""
    drive = Drive(place)
    with patch.object(NoiseLaw, "draw", lambda law, *given: drive.draw(law, *given)):
        answer = mechanism.drawn(data, Fraction(1), InsecureSeededRandomness(0))
    if hasattr(answer, "numerators"):
        tables = zip(answer.numerators, answer.divisors, strict=True)
        return np.concatenate([np.asarray(table, dtype=float) / divisor for table, divisor in tables]), drive
    return np.asarray(answer, dtype=float), drive


def driven_noise(mechanism):
    """(K, m): what answers take of all that is drawn, and its joint law."""
    nobody = counted(mechanism.queries, [])
    base, drive = answered(mechanism, nobody)
    laws = drive.laws
    assert all(factor == 1 for _, factor in laws)
    taken = [answered(mechanism, nobody, place)[0] - base for place in range(drive.at)]
    scales = [law.laplace_scales for law, _ in laws]
    joint = Joint(
        any(law.concentrated for law, _ in laws),
        block_diag(*(law.second_moment for law, _ in laws)) if laws else np.zeros((0, 0)),
        None if not laws or any(one is None for one in scales) else np.concatenate(scales),
    )
    return np.array(taken).reshape(drive.at, len(base)).T, joint


def driven_tables(mechanism, size):
    """(K, m) and (K, size), and the joint law: as :func:`reference.least_shift.driven`."""
    base, _ = answered(mechanism, counted(mechanism.queries, []))
    weights = [answered(mechanism, counted(mechanism.queries, [record]))[0] - base for record in range(size)]
    taken, joint = driven_noise(mechanism)
    return taken, np.array(weights).T, joint
