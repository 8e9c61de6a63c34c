"""Why a plan has the mechanism that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.planner.candidates import Kind, names
from dxgeom.planner.changed_queries import WORTH_A_BIAS

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan


def reason_of(plan: Plan) -> str:
    """Why this mechanism and no other, in one sentence."""
    # A coarsened hull that may have every facet is the hull again.
    same = ("hull", "coarse-hull") if plan.mechanism.name == "hull" else (plan.mechanism.name,)
    others = [one for one in plan.candidates if one.loss is not None and one.name not in same]
    if plan.predicted_mse == 0:
        return f"{plan.mechanism.name}: the policy protects nothing these queries see, so answers are exact"
    if not plan.candidates:
        return f"{plan.mechanism.name}: as its file says; no other was tried here"
    if not others:
        return f"{plan.mechanism.name}: the only candidate"
    next_best = min(others, key=lambda candidate: candidate.loss or 0.0)
    ratio = (next_best.loss or 0.0) / plan.loss
    if abs(ratio - 1) < 1e-6:
        return f"{plan.mechanism.name}: {next_best.name} has the same mean squared error, and this is simpler"
    if 1 < ratio < 1.005:
        return f"{plan.mechanism.name}: {next_best.name} comes within {100 * (ratio - 1):.2g} % of its error"
    if next_best.name in names(Kind.CHANGED_QUERIES) and 1 - WORTH_A_BIAS <= ratio < 1:
        return f"{plan.mechanism.name}: {next_best.name} saves {100 * (1 - ratio):.2g} %, which is not worth a bias"
    compared = f"{ratio:.3g} times" if ratio > 1 else f"only {ratio:.3g} of"
    return f"{plan.mechanism.name}: {next_best.name} has {compared} its mean squared error"
