"""Answers to queries that are products, from noise in products of sums and of differences of values.

Along an attribute the weights of a query are their means over kinds of values, and what they are beside these within
each class of values that are alike. Multiplied out, a query is a sum over parts: differences along some attributes,
kinds along the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.mixing import IntegerMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.contrasts import ContrastNumbers, ContrastPart, told_values
from dxgeom.mechanisms.parts.products import MOST_ENTRIES, ProductQueries

CONTRASTS: Final = "product-gaussian"
_LARGEST: Final = 2.0**61


def in_contrasts(sensitivity: Sensitivity, queries: ProductQueries, parts: Sequence[ContrastPart]) -> AdditiveMechanism:
    """The answers with noise in these parts.

    Guarantee: answers are of the sensitivity's very weights, held against what is measured when the mechanism is made.
    Raises: CertificateRefused where an answer is not made of these numbers; TooLarge.
    """
    measured = ContrastNumbers(sensitivity.metric, queries.classes, tuple(parts))
    count, width = len(queries.units), sum(one.numbers for one in parts)
    if count * width > MOST_ENTRIES:
        raise TooLarge(
            f"{count:,} answers that share {width:,} noisy numbers are not laid out; at most {MOST_ENTRIES:,} pairs are"
        )
    told = told_values(queries.classes)
    over = {axis: math.lcm(*(_divisor(part, axis, told[axis]) for part in parts)) for axis in told}
    whole = math.prod(over.values())
    numerators = np.concatenate([_taken(queries, part, over) for part in parts], axis=1)
    numerators *= np.sign(queries.units)[:, None]
    common = np.gcd(np.gcd.reduce(numerators, axis=1), whole if whole < _LARGEST else 0)
    common = np.where(numerators.any(axis=1), np.maximum(common, 1), 1)
    divisors = [Fraction(1)] * count
    for row in np.flatnonzero(numerators.any(axis=1)).tolist():
        divisors[row] = Fraction(whole * measured.steps_per_count, int(common[row]) * int(abs(queries.units[row])))
    mixing = IntegerMixing(numerators // common[:, None], tuple(divisors), measured)
    return AdditiveMechanism(CONTRASTS, sensitivity, measured.law, mixing)


def _divisor(part: ContrastPart, axis: int, told: int) -> int:
    """Whole multiples of this make what is taken along an attribute whole."""
    contrasted, summed = dict(part.contrasted), dict(part.summed)
    if axis in contrasted:
        return len(contrasted[axis])
    return math.lcm(*np.bincount(summed[axis]).tolist()) if axis in summed else told


def _taken(queries: ProductQueries, part: ContrastPart, over: Mapping[int, int]) -> NDArray[np.int64]:
    """(K, numbers): what each query takes of the part, times the product of ``over``, without its unit."""
    contrasted, summed = dict(part.contrasted), dict(part.summed)
    found, largest = np.ones((len(queries.units), 1), dtype=np.int64), 1
    for axis in (*contrasted, *summed, *(one for one in queries.weights if one not in contrasted | summed)):
        weights = queries.weights[axis]
        if int(np.abs(weights).max(initial=0)) * weights.shape[1] ** 2 * over[axis] >= _LARGEST:
            raise TooLarge("what answers take of noise in these products is not laid out in 64-bit integers")
        if axis in contrasted:
            own = weights[:, contrasted[axis]]
            along = (own[:, 1:] * len(own.T) - own.sum(axis=1)[:, None]) * (over[axis] // len(own.T))
        else:
            kinds = summed.get(axis, np.zeros(weights.shape[1], dtype=np.int64))
            sizes = np.bincount(kinds)
            sums = np.stack([weights[:, kinds == kind].sum(axis=1) for kind in range(len(sizes))], axis=1)
            along = sums * np.array([over[axis] // size for size in sizes.tolist()], dtype=np.int64)
        largest *= int(np.abs(along).max(initial=0)) or 1
        if largest >= _LARGEST:
            raise TooLarge("what answers take of noise in these products is not laid out in 64-bit integers")
        found = (found[:, :, None] * along[:, None, :]).reshape(len(found), -1)
    return found
