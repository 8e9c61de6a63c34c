"""How far apart values are said to be is how far the numbers are that the audit itself counts for them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dxgeom.audit.counted_blocks import AboveFirst, AtCuts, FirstOfTwo, InClasses
from dxgeom.errors import CertificateRefused

ALONG = {
    "two classes": (InClasses(2, 3), 6),
    "classes, the last not full": (InClasses(4, 3), 10),
    "the first of two": (FirstOfTwo(), 2),
    "siblings": (AboveFirst(1, 5, 1), 5),
    "a level of a tree": (AboveFirst(2, 3, 2), 12),
    "a level of a tree, not full": (AboveFirst(2, 3, 2), 11),
    "a line": (AtCuts(9), 9),
    "an even line": (AtCuts(10), 10),
    "a short line": (AtCuts(2), 2),
}


def size(along, numbers):
    """Σ|s|; of siblings the square of what is left of each group without its mean, times how many they are."""
    if along.over == 1:
        return int(np.abs(numbers).sum())
    groups = np.hstack([np.zeros((along.groups, 1), dtype=int), numbers.reshape(along.groups, -1)])
    means = [Fraction(int(group.sum()), along.radix) for group in groups]
    pairs = zip(groups.tolist(), means, strict=True)
    return along.over * sum(((number - mean) ** 2 for group, mean in pairs for number in group), Fraction(0))


@pytest.mark.parametrize("name", ALONG)
def test_sizes_are_those_of_the_numbers_that_are_counted(name):
    along, values = ALONG[name]
    each = along.summed(np.eye(values, dtype=np.int64))
    assert each.shape == (values, along.numbers)
    assert along.most == max(size(along, own) for own in each)
    for one in range(values):
        apart = along.apart(np.full(values, one), np.arange(values))
        assert apart.tolist() == [size(along, each[one] - own) for own in each]


@pytest.mark.parametrize("name", [name for name in ALONG if ALONG[name][0].widths])
def test_moves_are_as_far_as_the_divided_values_say(name):
    along, values = ALONG[name]
    kinds = {}
    for one in range(values):
        for other in range(values):
            kind = tuple(one // width == other // width for width in along.widths)
            kinds.setdefault(kind, set()).add(int(along.apart(np.array([one]), np.array([other]))[0]))
    assert all(len(sizes) == 1 for sizes in kinds.values())


@pytest.mark.parametrize("along", [InClasses(2, 3), FirstOfTwo(), AboveFirst(2, 3, 1), AtCuts(6)])
def test_numbers_of_fewer_values_than_an_attribute_has_are_refused(along):
    with pytest.raises(CertificateRefused, match="other values"):
        along.summed(np.ones(7, dtype=np.int64))
