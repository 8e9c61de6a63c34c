"""Counts in boxes planned without their weights: where these are too many, or where that errs less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.amounts import Amount
from dxgeom.planner.boxes.box_plan import BoxPlan
from dxgeom.planner.boxes.choosing import plan_boxes
from dxgeom.planner.candidates import CandidateResult
from dxgeom.planner.options import BOX_NOISE, PlanOptions
from dxgeom.planner.plan import Plan
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.spans import boxes_of


def in_boxes_instead(
    metric: VerifiedMetric,
    queries: LinearQueries,
    options: PlanOptions,
    objective: str,
    importance: Sequence[Amount] | None,
    errors: Sequence[Amount | None] | Mapping[str, Amount] | None,
    found: Plan | TooLarge,
) -> BoxPlan | None:
    """The plan of the same counts as boxes, where it is the one to take; None else.

    ``found``: what became of noise in the answers. That is better left where it was found with noise in boxes among its
    candidates; where these were too many to lay out, or nothing could be built, boxes are compared by their loss.
    """
    if not isinstance(found, TooLarge) and (found.interrupted is not None or not _boxes_left_out(found)):
        return None
    if options != PlanOptions(progress=options.progress, quick=options.quick) or len(queries.by_measure) > 1:
        return None
    if isinstance(errors, Mapping):
        unknown = [name for name in errors if name not in queries.names]
        if unknown:
            raise UnsupportedCombination(f"no query is called '{unknown[0]}', so it can have no error")
        errors = [errors.get(name) for name in queries.names]
    try:
        made = plan_boxes(metric, boxes_of(queries), objective=objective, importance=importance, errors=errors)
    except (TooLarge, UnsupportedCombination):  # as for answers, or no boxes: what became of these is told
        return None
    if isinstance(found, TooLarge):
        return replace(made, others=(CandidateResult("laplace", None, reason=f"not built: {found}"),))
    if made.wants_errors or made.loss >= found.loss:
        return None
    return replace(made, others=tuple(one for one in found.candidates if one.name != made.mechanism.name))


def _boxes_left_out(found: Plan) -> bool:
    return any(one.name in BOX_NOISE and one.loss is None for one in found.comparison.told)
