"""What a plan's objective cannot be below, by name, each against another class of mechanisms."""

from __future__ import annotations

from collections.abc import Mapping

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.mechanisms.gaussian.mechanism import CAUTION, gaussian_bound, gaussian_space, unbiased_bound
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.table_candidates import MarginalSpace, marginal_space, unbiased_tables_bound
from dxgeom.planner.objectives.objective import Objective
from dxgeom.privacy.measures import CONCENTRATED, privacy_measure_of


def bounds_of(sensitivity: Sensitivity, objective: Objective, known: float) -> Mapping[str, float]:
    """Lower bounds of the objective at spend 1, 0 where none is known.

    "gaussian": no Gaussian noise that honours the metric in the concentrated sense is below. "additive": no noise added
    to the exact answers that honours the metric and, stretched by 1/s, s times the metric for every s ≤ 1: the Gaussian
    bound, and for pure privacy the larger of twice that and of ``known``, the plan's own. "unbiased": no unbiased
    mechanism, additive or not, at every table that holds the records, whatever it is at other spends; weak for
    distances above 1. Rounding to the lattice only adds to an error. Up to the rounding of float64, which is counted
    against them.
    """
    if objective.size is not None:
        return {"gaussian": 0.0, "additive": known, "unbiased": 0.0}
    concentrated = sensitivity.metric.privacy == CONCENTRATED
    least = privacy_measure_of(sensitivity.metric.privacy).least_mean_square
    tables = _tables(sensitivity, objective)
    if tables is not None:
        found = tables.bound * CAUTION
        return {
            "gaussian": found,
            "additive": found if concentrated else max(known, least * found),
            "unbiased": unbiased_tables_bound(tables, concentrated) * CAUTION,
        }
    try:
        space = gaussian_space(sensitivity, objective.factors, objective.name == "max")
    except (TooLarge, NotANormBall, CertificateRefused):
        return {"gaussian": 0.0, "additive": known, "unbiased": 0.0}
    gaussian = known if concentrated and known > 0 else gaussian_bound(space)
    return {
        "gaussian": gaussian,
        "additive": gaussian if concentrated else max(known, least * gaussian),
        "unbiased": unbiased_bound(space, concentrated),
    }


def _tables(sensitivity: Sensitivity, objective: Objective) -> MarginalSpace | None:
    """Whole tables of counts, whose best covariance is known in closed form; None where the queries are none."""
    try:
        space = marginal_space(sensitivity, objective.factors, objective.name == "max")
    except TooLarge:
        return None
    return space if space.overlaps and space.optimal else None
