"""Models learned under a policy: regressions as estimators, each a mechanism whose release is charged.

Touches mechanisms, the planner's ``release``, policies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.learning.accounts import open_ledger as open_ledger
    from dxgeom.learning.features import Change as Change, FeatureGroup as FeatureGroup, Features as Features
    from dxgeom.learning.logistic import PrivateLogisticRegression as PrivateLogisticRegression
    from dxgeom.learning.losses import (
        GlmLoss as GlmLoss,
        LogisticLoss as LogisticLoss,
        PseudoHuberLoss as PseudoHuberLoss,
    )
    from dxgeom.learning.perturbation import ObjectivePerturbation as ObjectivePerturbation

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
