"""A logistic model under a policy: what neighbours can change of its gradient, its mechanism and its data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnboundedLoss, UnsupportedCombination
from dxgeom.learning.features import Change, FeatureGroup, Features
from dxgeom.learning.gradient_noise import LabelTotals
from dxgeom.learning.objective import LogisticLoss
from dxgeom.learning.perturbation import ObjectivePerturbation
from dxgeom.learning.policy_rows import (
    EncodedAttribute,
    FeatureRows,
    codes_of,
    feature_rows,
    require_inside,
    table_of_label,
)
from dxgeom.mechanisms.contract.mechanism import account_of, require_not_held
from dxgeom.metrics.combinations import CapMetric, GroupedMetric, PresenceMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric, gathered
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.rounding import round_down
from dxgeom.policy.policy import Policy
from dxgeom.universe.universe import Universe

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


NAME: Final = "logistic regression"
_SHARE: Final = Fraction(9, 10)
"""Of the noise, where the number of records is private: it must not be chosen by that."""


@final
@dataclass(frozen=True, eq=False)
class PolicyModel:
    """A logistic model of one attribute by others of a policy, all others where ``named`` is None.

    Raises: UnsupportedCombination for a policy whose records are listed or are a block's, under which people count
    once, and for a label that has not two values.
    """

    metric: VerifiedMetric
    label: str
    named: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        universe = self.metric.universe
        if universe is None or universe.listed is not None:
            raise UnsupportedCombination(
                "a model is told from attributes, each on its own: take a policy that lists its attributes, not a "
                "table of records"
            )
        if self.metric.people is not None and self.metric.people.in_shares:
            spread = "a person who counts once" if self.metric.people.count == "once" else "a person here"
            raise UnsupportedCombination(
                f"a model is fitted to rows, and {spread} is spread over many, each of which bends the objective: let "
                "people count by 'rows' with an 'order', or be 'single'; a linear regression takes them as they are"
            )
        if self.metric.block is not None:
            raise UnsupportedCombination("a model is fitted to all records, not to those of a block")
        _ = self.feature_rows
        if universe.attribute(self.label).size != 2:
            raise UnsupportedCombination(f"a label has two values, '{self.label}' has not")

    @property
    def universe(self) -> Universe:
        """The records."""
        if self.metric.universe is None:
            raise UnsupportedCombination("this metric knows no records")
        return self.metric.universe

    @cached_property
    def feature_rows(self) -> FeatureRows:
        """How rows become features."""
        return feature_rows(self.universe, self.label, self.named)

    @cached_property
    def layout(self) -> RecordLayout:
        """The attributes' features."""
        return RecordLayout(self.feature_rows.encodings)

    @cached_property
    def features(self) -> Features:
        """The intercept's and the attributes' groups."""
        return Features(self.layout.groups)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What neighbours can change."""
        return logistic_changes(self.metric.metric, self.layout)

    @property
    def label_alone(self) -> bool:
        """Whether nothing but labels is protected: features are told apart exactly."""
        return not any(change.bends for change in self.changes)

    @property
    def columns(self) -> tuple[str, ...]:
        """The raw columns of features, in the attributes' order."""
        return self.feature_rows.columns

    def mechanism(self, ridge: Fraction, share: Fraction | None) -> ObjectivePerturbation | LabelTotals:
        """Objective perturbation, or noisy totals where labels alone are protected.

        Raises: UnsupportedCombination where nothing at all is protected; UnboundedLoss, TooLarge.
        """
        if not self.changes:
            raise UnsupportedCombination("no rule protects anything that this model sees")
        account = account_of(require_not_held(self.metric, "a fit"))
        if self.label_alone:
            return LabelTotals(f"{NAME} by labels", self.features, self.changes, account)
        absence = self.universe.presence
        share = _SHARE if absence and share is None else share
        return ObjectivePerturbation(NAME, LogisticLoss(), self.features, self.changes, account, ridge, share, absence)

    def rows(self, table: Any) -> NDArray[np.float64]:
        """(n, m): features of a table's rows. Raises: ArrayError for rows outside the universe."""
        return self.feature_rows.rows(table)

    def of_counts(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """(n, m + 1): features and labels, 0 or 1, of the records that a histogram counts, one after another."""
        indices = np.flatnonzero(counts[: self.universe.record_types])
        codes = np.unravel_index(np.repeat(indices, counts[indices]), self.universe.shape)
        features = [
            one.table[own] for one, own in zip(self.feature_rows.encodings, codes, strict=True) if one is not None
        ]
        return np.column_stack([np.ones(len(codes[0])), *features, codes[self.layout.label] == 1])

    def labels(self, X: Any, y: Any) -> NDArray[np.bool_]:
        """(n,): who has the label's second value, by ``y``, or where that is None by the table. Raises: ArrayError for
        rows that have neither value."""
        place = self.layout.label
        (codes,) = codes_of(self.universe, [place], X if y is None else table_of_label(self.universe, self.label, y))
        require_inside(self.universe, place, codes)
        return np.asarray(codes == 1)


def policy_model(policy: Any, label: Any, named: Sequence[str] | None = None) -> PolicyModel:
    """The model of a policy, or of what it compiles to. Raises: UnsupportedCombination."""
    return PolicyModel(metric_of(policy, label), label, None if named is None else tuple(named))


def metric_of(policy: Any, label: Any) -> VerifiedMetric:
    """What a policy compiles to, or is already. Raises: UnsupportedCombination for anything else."""
    metric = policy.compile() if isinstance(policy, Policy) else policy
    if not isinstance(metric, VerifiedMetric) or not isinstance(label, str):
        raise UnsupportedCombination(
            "under a policy, policy= is what dx.load_policy gives, and label= names the attribute to be predicted"
        )
    return metric
