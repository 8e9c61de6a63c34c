"""From a plan file to a plan that releases: nothing that the file says is believed, all of it is made anew."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dxgeom.arguments import require
from dxgeom.plan_files.aims import objective_of
from dxgeom.plan_files.answering import mechanism_of
from dxgeom.plan_files.asked import queries_of
from dxgeom.plan_files.document import FORMAT, ErrorPart, PlanDocument, parsed
from dxgeom.plan_files.sources import of_file, policy_of, require_same_error, require_same_plan
from dxgeom.plan_files.text.json_text import read_document
from dxgeom.plan_files.wrong import Wrong, refused_as, told_as
from dxgeom.planner.changed_queries import public_records
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.plan import Plan

if TYPE_CHECKING:
    from dxgeom.planner.releases.plans import SavablePlan


_OTHERS: Final = {
    "forms": ("quantile_plans", "loaded_quantiles"),
    "parts": ("tasks.task_plans", "loaded_tasks"),
    "box_noise": ("boxes.box_plans", "loaded_boxes"),
    "table_noise": ("table_plans", "loaded_tables"),
}
"""By a field that only their files have, what reads the others; slow to load, and seldom needed."""


def load_plan(path: str | os.PathLike[str]) -> SavablePlan:
    """Read a plan file, whoever wrote it.

    The policy is compiled and the queries are read anew from what the file says, the sensitivity and the lattice are
    those of these two, and the law has the file's numbers. It stands when its noise is proved to hide every difference,
    and everything that the file states is what was found: fingerprints, steps, biases, and errors up to 1e-9 of
    themselves. No search for a better law is run.

    Returns: the plan, whose ``file`` is this one: its members are at the spend that the file states.
    Guarantee: a plan that loads keeps the promise of the policy in the file, as one that was planned just now.
    Raises: PlanError with a code, the place in the file, and what to do.
    """
    require(path, (str, os.PathLike), "path", "name a file of 'dxgeom plan --output' or dx.save_plan")
    with told_as(os.fspath(path)):
        return loaded(read_document(Path(path)))


def loaded(document: dict[str, Any]) -> SavablePlan:
    """The plan of a document. Raises: Wrong."""
    for field, (module, function) in _OTHERS.items():
        if document.get("format") == FORMAT and field in document:
            found: SavablePlan = getattr(import_module(f"dxgeom.plan_files.{module}"), function)(document)
            return found
    part = parsed(PlanDocument, document)
    policy = policy_of(part.policy)
    queries = queries_of(part.queries, policy)
    metric = policy.compile()
    mechanism = mechanism_of(part.mechanism, metric, queries)
    objective = objective_of(part.objective, queries.count)
    with refused_as("DX307", "records"):
        number = public_records(metric, queries, part.records)
    plan = Plan(metric, queries, objective, mechanism, CandidateComparison(stated=part.search), number)
    require_same_plan(plan, part.fingerprint)
    check_errors(part.errors, plan)
    return of_file(plan, policy, part)


def check_errors(stated: list[ErrorPart], plan: Plan) -> None:
    """Raises: Wrong unless these are the plan's errors at spend 1."""
    if [one.name for one in stated] != list(plan.queries.names):
        raise Wrong("DX307", "errors", "there is one for each query, in their order")
    with refused_as("DX307", "errors"), np.errstate(all="ignore"):
        noise, biases = np.sqrt(plan.mechanism.variances()), plan.mechanism.biases
    for number, (one, rmse, bias) in enumerate(zip(stated, noise, biases, strict=True)):
        for name, said, found in (("rmse", one.rmse, rmse), ("bias", one.bias, bias)):
            require_same_error(said, found, f"errors[{number}].{name}")
