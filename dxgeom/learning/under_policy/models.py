"""From an estimator under a policy and its table to a mechanism and its data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.learning.perturbed.features import Change, Features
from dxgeom.learning.perturbed.losses import LogisticLoss
from dxgeom.learning.perturbed.perturbation import ObjectivePerturbation
from dxgeom.learning.totals.label_totals import LabelTotals
from dxgeom.learning.under_policy.changes import RecordLayout, logistic_changes
from dxgeom.learning.under_policy.feature_rows import FeatureRows, feature_rows
from dxgeom.learning.under_policy.rows import codes_of_column, require_inside
from dxgeom.mechanisms.contract.mechanism import account_of
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.policy.policy import Policy
from dxgeom.universe.universe import Universe

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
        if self.metric.people is not None and self.metric.people.count == "once":
            raise UnsupportedCombination(
                "a model is fitted to rows, and a person who counts once is spread over many, each of which bends the "
                "objective: let people count by 'rows', or be 'single'; a linear regression takes them as they are"
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
        account = account_of(self.metric)
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

    def labels(self, column: Any) -> NDArray[np.bool_]:
        """(n,): who has the label's second value. Raises: ArrayError for rows that have neither."""
        place = self.layout.label
        codes = codes_of_column(self.universe, place, [np.asarray(column)])
        require_inside(self.universe, place, codes)
        return np.asarray(codes == 1)


def policy_model(policy: Any, label: Any, named: Sequence[str] | None = None) -> PolicyModel:
    """The model of a policy, or of what it compiles to. Raises: UnsupportedCombination."""
    metric = policy.compile() if isinstance(policy, Policy) else policy
    if not isinstance(metric, VerifiedMetric) or not isinstance(label, str):
        raise UnsupportedCombination(
            "under a policy, policy= is what dx.load_policy gives, and label= names the attribute to be predicted"
        )
    return PolicyModel(metric, label, None if named is None else tuple(named))
