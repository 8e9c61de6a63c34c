"""What a plan's objective cannot be below, by name, each against another class of mechanisms."""

from __future__ import annotations

from collections.abc import Mapping

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge
from dxgeom.mechanisms.linear import gaussian  # whose files are loaded when bounds are asked for
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.planner.objectives.objective import Objective
from dxgeom.privacy.currencies import CONCENTRATED


def bounds_of(sensitivity: Sensitivity, objective: Objective, known: float) -> Mapping[str, float]:
    """Lower bounds of the objective at spend 1, 0 where none is known.

    "gaussian": no Gaussian noise that honours the metric in the concentrated sense is below. "additive": no noise added
    to the exact answers that honours the metric and, stretched by 1/s, s times the metric for every s ≤ 1: the Gaussian
    bound, and for pure privacy the larger of it and of ``known``, the plan's own. "unbiased": no unbiased mechanism,
    additive or not, at every table that holds the records, whatever it is at other spends; weak for distances above 1.
    Rounding to the lattice only adds to an error. Up to the rounding of float64, which is counted against them.
    """
    concentrated = sensitivity.metric.privacy == CONCENTRATED
    try:
        space = gaussian.gaussian_space(sensitivity, objective.factors, objective.name == "max")
    except (TooLarge, NotANormBall, CertificateRefused):
        return {"gaussian": 0.0, "additive": known, "unbiased": 0.0}
    shaped = known if concentrated and known > 0 else gaussian.gaussian_bound(space)
    return {
        "gaussian": shaped,
        "additive": shaped if concentrated else max(known, shaped),
        "unbiased": gaussian.unbiased_bound(space, concentrated),
    }
