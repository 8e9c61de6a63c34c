"""What it costs to make a value a quantile, by trying every table there is; slow, obvious, exact."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction
from functools import cache

import numpy as np
from flint import arb, ctx, fmpq

from reference.selection_law import permute_and_flip_chances

FAR = 10**15
"""More than any sum of distances here: what stands for infinity."""


def closure(metric, unit):
    """(M, M): shortest paths over the generating bounds in whole units, each rounded down, by Floyd and Warshall."""
    apart = [[0 if i == j else FAR for j in range(metric.size)] for i in range(metric.size)]
    for pairs in metric.generating_pairs():
        for i, j, bound in zip(pairs.first.tolist(), pairs.second.tolist(), pairs.bound.tolist(), strict=True):
            apart[i][j] = apart[j][i] = min(apart[i][j], Fraction(bound) // unit)
    for k, i, j in itertools.product(range(metric.size), repeat=3):
        apart[i][j] = min(apart[i][j], apart[i][k] + apart[k][j])
    return apart


class Tables:
    """All tables of so many records over the kinds of a metric, as sorted tuples of kinds."""

    def __init__(self, metric, places, unit, records):
        self.places, self.records = list(places), records
        self.apart = closure(metric, unit)
        self.all = list(itertools.combinations_with_replacement(range(metric.size), records))
        self.transport = cache(self.transport)

    def transport(self, one, other):
        """The least cost of moving the records of one table until they are the other."""
        ways = (
            sum(self.apart[i][j] for i, j in zip(one, order, strict=True))
            for order in set(itertools.permutations(other))
        )
        return min(FAR, *ways, FAR)

    def sorted_places(self, table):
        return sorted(self.places[kind] for kind in table)

    def cost(self, table, holds):
        """From a table to the nearest one of which something holds; ``FAR`` where there is none."""
        return min(
            (self.transport(table, other) for other in self.all if holds(self.sorted_places(other))), default=FAR
        )

    def length(self, table, rank, value):
        """The larger of the costs to make the value no more and no less than the quantile."""
        upwards = self.cost(table, lambda places: places[rank - 1] >= value)
        downwards = self.cost(table, lambda places: places[rank - 1] <= value)
        return max(upwards, downwards)

    def counts(self, table):
        return np.bincount(table, minlength=len(self.places)).astype(np.int64)

    def neighbours(self, table):
        """Tables with one record replaced, and from which kind to which."""
        for at, old in enumerate(table):
            for new in range(len(self.places)):
                if new != old and self.apart[old][new] < FAR:
                    yield tuple(sorted((*table[:at], new, *table[at + 1 :]))), old, new


def chances(scores, rate):
    """P ∝ exp(−rate·score) over a dictionary of scores, as balls; what is infinitely far has none."""
    with ctx.workprec(256):
        weights = {
            key: (arb(fmpq(-rate.numerator * score, rate.denominator))).exp()
            for key, score in scores.items()
            if score < FAR
        }
        total = sum(weights.values(), arb(0))
        return {key: weight / total for key, weight in weights.items()}


def joint_chances(rows, rate, adds_up, law):
    """Of each tuple of places, from the lengths of each row, by the definition."""
    if adds_up or len(rows) == 1:
        each = [_alone([int(one) for one in row], rate, law) for row in rows]
        return {
            tuple(key for key, _ in answer): functools.reduce(lambda product, one: product * one[1], answer, 1)
            for answer in itertools.product(*(row.items() for row in each))
        }
    answers = itertools.product(range(len(rows[0])), repeat=len(rows))
    scores = {answer: [int(row[place]) for row, place in zip(rows, answer, strict=True)] for answer in answers}
    return chances({key: FAR if min(each) < 0 else max(each) for key, each in scores.items()}, rate)


def _alone(lengths, rate, law):
    """By place; below 0 or ``FAR`` is a length that has no chance."""
    kept = [place for place, length in enumerate(lengths) if 0 <= length < FAR]
    if law == "exponential":
        return chances({place: lengths[place] for place in kept}, rate)
    return dict(zip(kept, permute_and_flip_chances([-lengths[place] for place in kept], rate), strict=True))
