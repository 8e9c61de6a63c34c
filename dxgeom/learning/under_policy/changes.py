"""What a policy's neighbours can change of a gradient: read off the metric's own form, pair by generating pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnboundedLoss
from dxgeom.learning.perturbed.features import Change, FeatureGroup
from dxgeom.learning.under_policy.encoding import EncodedAttribute
from dxgeom.metrics.combinations import CapMetric, GroupedMetric, PresenceMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric, gathered
from dxgeom.numeric.rounding import round_down

_MOST_PAIRS: Final = 5_000_000
_MOST_DISTANCES: Final = 16


@final
@dataclass(frozen=True, eq=False)
class RecordLayout:
    """``attributes``: the features' attributes by their place among the universe's, None at that of the ``label``.

    The first group of all is the intercept; then come those of each attribute, in order.
    """

    attributes: tuple[EncodedAttribute | None, ...]

    @property
    def label(self) -> int:
        """The place of the label."""
        return self.attributes.index(None)

    @property
    def shape(self) -> tuple[int, ...]:
        """The attributes' sizes; a label has two values."""
        return tuple(2 if one is None else len(one.table) for one in self.attributes)

    @property
    def groups(self) -> tuple[FeatureGroup, ...]:
        """All groups of features."""
        own = [group for one in self.attributes if one is not None for group in one.groups]
        return (FeatureGroup(("intercept",), "box"), *own)

    def reaches(self, places: Sequence[int], own: Fraction, others: Fraction) -> tuple[Fraction, ...]:
        """``own`` for the groups of the attributes at these places, ``others`` for all others."""
        each = [
            own if place in places else others
            for place, one in enumerate(self.attributes)
            if one is not None
            for _ in one.groups
        ]
        return (others, *each)


def logistic_changes(metric: Metric, layout: RecordLayout) -> tuple[Change, ...]:
    """All that generating pairs can change of a logistic loss's gradient, each at its distance.

    A record's gradient is p·a with p = σ(aᵀθ) − y. Of two records with one label, p and p′ are of one sign and below 1:
    p·a − p′·a′ lies in the hull of 0, a, −a′ and a − a′, and p − p′ within ±1 where the features are the same. Of
    two labels alone, p − p′ is 1 whatever θ, and the Hessian does not change. Of any two records, within ±a ± a′. Of a
    record that comes or goes it is p·a, and the Hessian changes by its own.
    Raises: UnboundedLoss where records at distance 0 have other features; TooLarge for metrics of too many pairs whose
    form tells nothing.
    """
    found = tuple(_walk(metric, layout))
    if not all(change.distance > 0 for change in found):
        raise UnboundedLoss(
            "some attribute's values are at distance 0, and a model would tell them apart: give the pair a positive "
            "epsilon, or leave the attribute out of the policy"
        )
    return tuple(dict.fromkeys(found))


def _walk(metric: Metric, layout: RecordLayout) -> Iterator[Change]:
    everywhere = tuple(range(len(layout.attributes)))
    match metric:
        case SumMetric(parts=parts) if metric.shape == layout.shape:
            yield from _of_parts(parts, layout)
        case GroupedMetric(parts=parts, groups=groups) if metric.shape == layout.shape:
            yield from _of_parts(parts, layout)
            for group in groups:
                yield _together(group.places, group.epsilon, layout)
        case CapMetric(inner=inner, epsilon=epsilon):
            yield from _walk(inner, layout)
            yield _together(everywhere, epsilon, layout)
        case PresenceMetric(inner=inner, epsilon=epsilon):
            # Between records further apart than that, the way through absence is the shorter one.
            nearer = Fraction(round_down(epsilon))
            yield from (change for change in _walk(inner, layout) if change.distance < 2 * nearer)
            yield Change(nearer, layout.reaches((), Fraction(1), Fraction(1)))
        case DiscreteMetric(epsilon=epsilon):
            yield _together(everywhere, epsilon, layout)
        case _:
            refusal = "this policy's metric has too many pairs to look at one by one for learning"
            pairs = gathered(metric.generating_pairs(), _MOST_PAIRS, refusal)
            if pairs.bound.size:
                yield _together(everywhere, Fraction(float(pairs.bound.min())), layout)


def _of_parts(parts: Sequence[Metric], layout: RecordLayout) -> Iterator[Change]:
    for place, (part, one) in enumerate(zip(parts, layout.attributes, strict=True)):
        pairs = gathered(part.generating_pairs(), _MOST_PAIRS, f"attribute {place} has too many pairs of values")
        if not pairs.bound.size:
            continue
        if one is None:
            yield Change(Fraction(float(pairs.bound.min())), layout.reaches((), Fraction(1), Fraction(1)), bends=False)
        else:
            yield from _of_attribute(place, one, pairs.first, pairs.second, pairs.bound, layout)


def _of_attribute(
    place: int,
    one: EncodedAttribute,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    bounds: NDArray[np.float64],
    layout: RecordLayout,
) -> Iterator[Change]:
    """A change for each distance, of values whose features differ at all."""
    differ = np.any(one.table[first] != one.table[second], axis=1)
    first, second, bounds = first[differ], second[differ], bounds[differ]
    distances = np.unique(bounds)
    if len(distances) > _MOST_DISTANCES:
        bounds = np.full(len(bounds), distances[0])
        distances = distances[:1]
    for distance in distances.tolist():
        here = bounds == distance
        own = _own_reach(one, first[here], second[here])
        yield Change(Fraction(distance), layout.reaches((place,), own, Fraction(1)))


def _own_reach(one: EncodedAttribute, first: NDArray[np.int64], second: NDArray[np.int64]) -> Fraction:
    """The largest gauge, in the groups' own bodies, of a, a′ and a − a′; at least 1; *exact*."""
    largest, start = Fraction(1), 0
    for group in one.groups:
        here = slice(start, start + group.size)
        start += group.size
        for i, j in {(int(i), int(j)) for i, j in zip(first, second, strict=True)}:
            ends = [[Fraction(x) for x in one.table[code, here].tolist()] for code in (i, j)]
            sizes = [abs(a - b) for a, b in zip(*ends, strict=True)]
            largest = max(largest, sum(sizes) if group.kind == "choice" else max(sizes))
    return largest


def _together(places: Sequence[int], epsilon: Fraction, layout: RecordLayout) -> Change:
    """Records that may differ in these attributes at once."""
    label = layout.label in places
    reaches = layout.reaches(places, Fraction(2), Fraction(2 if label else 1))
    return Change(Fraction(round_down(epsilon)), reaches)
