"""Records that nobody has, drawn after a plan is fixed, and how many of them lie in each cell of any table.

They come from the operating system's randomness, never from a stored seed, so that no plan can be written for them.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

BITS: Final = 61
"""Numbers in a product are below two to this; of p attributes a row that is not 0 is not seen with a chance p/2⁶¹."""


@final
@dataclass(frozen=True, eq=False)
class RandomChange:
    """Records of a universe of any size that come, less those that go: a sum of products of numbers of each attribute.

    ``terms``: of each term the attribute whose values change, None where records come from nowhere, and of each
    attribute how many have each value; these sum to 1, those of the attribute that changes to 0.
    """

    terms: tuple[tuple[int | None, tuple[NDArray[Any], ...]], ...] = field(repr=False)
    sizes: tuple[int, ...]

    def margin(self, axes: Sequence[int]) -> NDArray[Any]:
        """How many have each combination of values of the attributes at these rising places, in Python's integers."""
        found = np.zeros([self.sizes[axis] for axis in axes], dtype=object)
        for changed, factors in self.terms:
            if changed is None or changed in axes:  # what sums to 0 is nothing in a table that does not look at it
                found = found + reduce(np.multiply.outer, (factors[axis] for axis in axes), np.array(1, dtype=object))
        return np.asarray(found, dtype=object)


def whole_numbers(count: int, bits: int = BITS) -> NDArray[np.int64]:
    """(count,): each below two to so many ``bits``, at most 62."""
    words = np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64)
    return (words >> np.uint64(64 - bits)).astype(np.int64)


def from_nowhere(sizes: Sequence[int]) -> RandomChange:
    """Records that come, of any values."""
    return RandomChange(((None, tuple(map(_of_sum_one, sizes))),), tuple(sizes))


def within_components(labels: Sequence[NDArray[np.int64]]) -> RandomChange:
    """Records that change, one attribute at a time, each of which stays within its component: ``labels`` of its values.

    Attributes whose values are all alone change nothing.
    """
    sizes, terms = [len(own) for own in labels], []
    for axis, own in enumerate(labels):
        around = _next_within(own)
        if np.any(around != np.arange(len(own))):
            factors = [*map(_of_sum_one, sizes)]
            drawn = whole_numbers(len(own)).astype(object)
            factors[axis] = drawn - drawn[around]
            terms.append((axis, tuple(factors)))
    return RandomChange(tuple(terms), tuple(sizes))


def _next_within(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """(N,): for each place another one with the same label, all of these in one round; the place itself where it is
    alone. What is the same at a place and the next one, for all, is the same within each label."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=labels[order][0] - 1))
    before = np.roll(order, 1)
    before[starts] = order[np.append(starts[1:], len(order)) - 1]
    found = np.empty_like(order)
    found[order] = before
    return found


def _of_sum_one(size: int) -> NDArray[Any]:
    drawn = whole_numbers(size).astype(object)
    drawn[-1] += 1 - drawn.sum()
    return drawn
