"""From an estimator under a policy and its table to a mechanism and its data."""

from __future__ import annotations

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
from dxgeom.learning.under_policy.encoding import EncodedAttribute, encoded
from dxgeom.learning.under_policy.rows import codes_of_column, column_of, require_inside
from dxgeom.mechanisms.contract.mechanism import account_of
from dxgeom.metrics.checking.verification import VerifiedMetric
from dxgeom.policy.policy import Policy
from dxgeom.universe.universe import Universe

NAME: Final = "logistic regression"


@final
@dataclass(frozen=True, eq=False)
class PolicyModel:
    """A logistic model of one attribute by all others of a policy.

    Raises: UnsupportedCombination for a policy under which the number of records is private, where people have many
    rows, whose records are listed, or whose label has not two values.
    """

    metric: VerifiedMetric
    label: str

    def __post_init__(self) -> None:
        universe = self.metric.universe
        if universe is None or universe.absent is not None or universe.listed is not None:
            raise UnsupportedCombination(
                "learning under a policy needs its attributes, each on its own, and a public number of records: take a "
                "policy without 'presence' and without a table of records"
            )
        if self.metric.people is not None and self.metric.people.count != "single":
            raise UnsupportedCombination("a model is fitted to one row of each person: let people be 'single'")
        if self.metric.block is not None:
            raise UnsupportedCombination("a model is fitted to all records, not to those of a block")
        if self.label not in universe.names:
            raise UnsupportedCombination(
                f"the policy has no attribute '{self.label}', its are {', '.join(universe.names)}"
            )
        if universe.attribute(self.label).size != 2 or len(universe.names) < 2:
            raise UnsupportedCombination(
                f"a label has two values and is told from other attributes; '{self.label}' has not"
            )

    @property
    def universe(self) -> Universe:
        """The records."""
        if self.metric.universe is None:
            raise UnsupportedCombination("this metric knows no records")
        return self.metric.universe

    @cached_property
    def layout(self) -> RecordLayout:
        """The attributes' features."""
        each = (None if one.name == self.label else encoded(one) for one in self.universe.attributes)
        return RecordLayout(tuple(each))

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
        each = zip(self.layout.attributes, self.universe.reading.attributes, strict=True)
        return tuple(dict.fromkeys(name for one, reading in each if one is not None for name in reading.columns))

    def mechanism(self, ridge: Fraction, share: Fraction | None) -> ObjectivePerturbation | LabelTotals:
        """Objective perturbation, or noisy totals where labels alone are protected.

        Raises: UnsupportedCombination where nothing at all is protected; UnboundedLoss, TooLarge.
        """
        if not self.changes:
            raise UnsupportedCombination("no rule protects anything that this model sees")
        account = account_of(self.metric)
        if self.label_alone:
            return LabelTotals(f"{NAME} by labels", self.features, self.changes, account)
        return ObjectivePerturbation(NAME, LogisticLoss(), self.features, self.changes, account, ridge, share)

    def rows(self, table: Any) -> NDArray[np.float64]:
        """(n, m): features of a table's rows. Raises: ArrayError for rows outside the universe."""
        found = []
        for place, one in enumerate(self.layout.attributes):
            if one is not None:
                found.append(self._features(table, place, one))
        return np.column_stack([np.ones(len(found[0])), *found])

    def labels(self, column: Any) -> NDArray[np.bool_]:
        """(n,): who has the label's second value. Raises: ArrayError for rows that have neither."""
        place = self.layout.label
        codes = codes_of_column(self.universe, place, [np.asarray(column)])
        require_inside(self.universe, place, codes)
        return np.asarray(codes == 1)

    def _features(self, table: Any, place: int, one: EncodedAttribute) -> NDArray[np.float64]:
        cells = [column_of(table, name) for name in self.universe.reading.attributes[place].columns]
        codes = codes_of_column(self.universe, place, cells)
        require_inside(self.universe, place, codes)
        return one.table[codes]


def policy_model(policy: Any, label: Any) -> PolicyModel:
    """The model of a policy, or of what it compiles to. Raises: UnsupportedCombination."""
    metric = policy.compile() if isinstance(policy, Policy) else policy
    if not isinstance(metric, VerifiedMetric) or not isinstance(label, str):
        raise UnsupportedCombination(
            "under a policy, policy= is what dx.load_policy gives, and label= names the attribute to be predicted"
        )
    return PolicyModel(metric, label)
