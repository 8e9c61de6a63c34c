"""Changed queries as a candidate: which noise suits them, and when they are not worth a try."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.mechanisms import shapes
from dxgeom.mechanisms.linear import biased  # whose files are loaded when one is tried
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.sensitivity import Sensitivity, require_public_number
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.qhull import HullLimits
from dxgeom.planner.amounts import agreed_records
from dxgeom.planner.objectives.objective import Objective
from dxgeom.universe.queries import LinearQueries

WORTH_A_BIAS = 0.01
"""A plan that may choose prefers unbiased answers whose loss is larger by no more than this part."""

WORTH_A_SEARCH = 0.15
"""What a quick plan may lose by looking for no bias."""

MOST_IN_A_HULL = 6
"""More changed queries have Laplace noise only: a hull of seven took minutes, and was then not proved."""

Scaling: TypeAlias = Callable[[Sensitivity, NDArray[np.float64] | None], AdditiveMechanism]


def public_records(metric: VerifiedMetric, queries: LinearQueries, stated: int | None) -> int | None:
    """The number of records that the queries and the caller agree on, None where neither states it.

    Raises: UnsupportedCombination when they disagree, or the policy keeps the number private.
    """
    if stated is not None:
        require_public_number(metric, queries)
    return agreed_records(metric, queries.records, stated, "as the queries say")


def require_something_to_save(sensitivity: Sensitivity, records: int, worth: float = WORTH_A_BIAS) -> None:
    """Raises: TooLarge when no bias can save Laplace noise as much as looking for it has to be worth."""
    if biased.most_saved(sensitivity, records) < worth:
        raise TooLarge(f"with {records:,} records a bias saves Laplace noise less than {100 * worth:g} %")


def with_changed_queries(
    unbiased: AdditiveMechanism,
    hull: AdditiveMechanism | None,
    records: int,
    objective: Objective,
    scaling: Scaling,
    limits: HullLimits | None,
) -> AdditiveMechanism:
    """The better one of Laplace and hull noise for queries changed to suit it.

    Args: ``unbiased``, ``hull``: both noises for the queries as they are, ``hull`` None where it cannot be built; from
    them follows what a scale costs under either. Where no hull of changed queries can be proved, Laplace noise it is.
    Raises: TooLarge, CertificateRefused.
    """
    sensitivity = unbiased.sensitivity
    answered, change = biased.changed(sensitivity, records, objective.factors)
    found = [biased.biased_mechanism(scaling(answered, objective.factors), change)]
    if hull is not None and 1 < len(sensitivity.queries.names) <= MOST_IN_A_HULL:
        noisy = unbiased.ideal_variances > 0
        prices = np.where(noisy, hull.ideal_variances / np.where(noisy, unbiased.ideal_variances, 1.0), 1.0)
        with suppress(TooLarge, NotANormBall, CertificateRefused):
            answered, change = biased.changed(sensitivity, records, objective.factors, prices)
            found.append(
                biased.biased_mechanism(
                    shapes.hull_mechanism(answered, shapes.sensitivity_hull(answered, limits)), change
                )
            )
    return min(found, key=lambda mechanism: objective.loss(mechanism.variances()))
