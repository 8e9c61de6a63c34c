"""Models learned under a policy: regressions as estimators, each a mechanism whose release is charged.

Touches mechanisms, the planner's ``release``, policies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.learning.plain_arrays import open_ledger as open_ledger
    from dxgeom.learning.evaluation import (
        ErrorCount as ErrorCount,
        FewestErrors as FewestErrors,
        private_error as private_error,
        select_model as select_model,
    )
    from dxgeom.learning.linear import PrivateLinearRegression as PrivateLinearRegression
    from dxgeom.learning.logistic import PrivateLogisticRegression as PrivateLogisticRegression
    from dxgeom.learning.perturbation import ObjectivePerturbation as ObjectivePerturbation
    from dxgeom.learning.least_squares import Coefficients as Coefficients
    from dxgeom.learning.gradient_noise import LabelTotals as LabelTotals
    from dxgeom.learning.regression_totals import RegressionTotals as RegressionTotals
    from dxgeom.learning.logistic_plan import (
        FitToCounts as FitToCounts,
        plan_logistic as plan_logistic,
    )
    from dxgeom.learning.linear_plan import (
        plan_linear as plan_linear,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
