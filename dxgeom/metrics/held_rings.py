"""What rings of people change in queries, each with the least distance that is stated for a person in such a ring.

People who change places so that as many leave each class as come, at most one in a class, change a table by
z = Σ_c (e_{v_c} − e_{u_c}): in class c a record u_c becomes one of v_c. Somebody who was u_c may be the one who is
v_{c′} now, for any two classes c ≠ c′ of the ring. Noise that hides z up to the least of d(u_c, v_{c′}) discloses of
nobody in the ring more than is stated of their own two records.

Distances are those of all pairs of records: a minimum over people does not add up along shortest paths.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.differences import Differences, collected
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.arrays import distinct_rows

MOST_RECORDS: Final = 1024
"""Records are compared pair by pair up to so many;"""
MOST_RINGS: Final = 1_000_000
"""so many rings are gone through,"""
MOST_ENTRIES: Final = 10_000_000
"""with so many entries of differences in all,"""
MOST_DIFFERENCES: Final = 100_000
"""and so many different differences are held."""
_EXACT: Final = 2**52
_Integers: TypeAlias = NDArray[np.int64]
_Floats: TypeAlias = NDArray[np.float64]


def ring_differences(metric: Metric, weights: _Integers, labels: _Integers, people: int) -> Differences:
    """The changes of queries by rings of 2 to ``people`` people, each with its bound.

    Args: ``weights`` (K, N), integers; ``labels`` (N,): the class of each record, −1 where there is no such record.
    Guarantee: *exact* differences, bounds rounded down; every such ring has a row with a bound not above its own.
    Raises: TooLarge; UnboundedLoss where somebody in a ring has two records at distance 0 and a query tells.
    """
    kinds = _Kinds.of(metric, weights, labels)
    sizes = [len(own) for own in kinds.columns]
    most = min(people, len(sizes))
    rings = _rings(sizes, most)
    if rings > MOST_RINGS or rings * len(weights) > MOST_ENTRIES:
        raise TooLarge(
            f"'hold' goes through rings of people one by one, and these are {rings:,}, too many: list counts of fewer "
            "classes, ask fewer queries that tell fewer records apart, or hold 2"
        )
    spread = int(weights.max(initial=0)) - int(weights.min(initial=0))
    if spread * most >= _EXACT:
        raise TooLarge("rings of people change these queries by more than 52-bit integers")
    chosen = (one for size in range(2, most + 1) for one in itertools.combinations(range(len(sizes)), size))
    found = collected((kinds.changes(one) for one in chosen), len(weights))
    if len(found[1]) > MOST_DIFFERENCES:
        raise TooLarge(
            f"rings of people change these queries in {len(found[1]):,} ways, more than the {MOST_DIFFERENCES:,} held: "
            "list counts of fewer classes, ask fewer queries, or hold 2"
        )
    return found


def _rings(sizes: Sequence[int], most: int) -> int:
    """How many choices of two kinds of records in each of 2 to ``most`` classes there are."""
    counts = [1] + [0] * most
    for size in sizes:
        for people in range(most, 0, -1):
            counts[people] += counts[people - 1] * size**2
    return sum(counts[2:])


class _Kinds(NamedTuple):
    """Records of each class that no query tells apart. ``columns``: of each class the weights (kinds, K); ``least``: of
    two classes how near records of a kind of the one are to those of a kind of the other."""

    columns: list[_Integers]
    least: dict[tuple[int, int], _Floats]

    @classmethod
    def of(cls, metric: Metric, weights: _Integers, labels: _Integers) -> _Kinds:
        if len(labels) > MOST_RECORDS:
            raise TooLarge(
                f"'hold' compares at most {MOST_RECORDS:,} possible records, and these are {len(labels):,}: give "
                "attributes fewer values"
            )
        members = [np.flatnonzero(labels == one) for one in range(int(labels.max(initial=-1)) + 1)]
        parts = [(own, *distinct_rows(np.ascontiguousarray(weights[:, own].T))) for own in members]
        least = {}
        for (place, (own, mine, which)), (other, (theirs, yours, what)) in itertools.permutations(enumerate(parts), 2):
            apart = np.asarray(metric.distance(own[:, None], theirs[None, :]), dtype=np.float64)
            near = np.full((len(mine), len(yours)), np.inf)
            np.minimum.at(near, (which[:, None], what[None, :]), apart)
            least[place, other] = near
        return cls([columns for _, columns, _ in parts], least)

    def changes(self, chosen: Sequence[int]) -> Differences:
        """Those of rings through these classes: of each the kind of who leaves and of who comes."""
        sizes = [len(self.columns[one]) for one in chosen]
        each = np.indices((*sizes, *sizes)).reshape(2 * len(sizes), -1)
        leaving, coming = each[: len(sizes)], each[len(sizes) :]
        moved = [self.columns[one][coming[k]] - self.columns[one][leaving[k]] for k, one in enumerate(chosen)]
        bounds = np.full(each.shape[1], np.inf)
        for (here, one), (there, other) in itertools.permutations(enumerate(chosen), 2):
            np.minimum(bounds, self.least[one, other][leaving[here], coming[there]], out=bounds)
        joined = np.isfinite(bounds)
        return np.sum(moved, axis=0)[joined], bounds[joined]
