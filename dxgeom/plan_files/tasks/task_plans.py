"""Plans of tasks as files: the text of the tasks, and what was decided for each; all is made anew and proved."""

from __future__ import annotations

from typing import Any, Literal, final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.plan_files.aims import objective_data, objective_of
from dxgeom.plan_files.answering import mechanism_data, mechanism_of
from dxgeom.plan_files.asked import tasks_of, written_queries
from dxgeom.plan_files.document import (
    Digest,
    ErrorPart,
    MechanismPart,
    PolicyPart,
    QueriesPart,
    Rational,
    parsed,
)
from dxgeom.plan_files.loading import check_errors
from dxgeom.plan_files.sources import of_file, policy_of, require_same_plan, sealed_text
from dxgeom.plan_files.text.exact_text import rational_of
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.planner.amounts import Amount
from dxgeom.planner.changed_queries import public_records
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.plan import Plan
from dxgeom.planner.quantile_plan import QuantilePlan, plan_quantiles
from dxgeom.planner.tasks.planners import PartPlan
from dxgeom.planner.tasks.task_plan import TaskPlan, plan_tasks
from dxgeom.policy.policy import Policy
from dxgeom.universe.quantile_queries import QuantileQueries
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.tasks import TaskWithShare

_STRICT = ConfigDict(extra="forbid", frozen=True, strict=True)


@final
class NoisePart(BaseModel):
    """A task of counts and sums: the noise that was chosen, and what it was to make small."""

    model_config = _STRICT

    name: str
    objective: dict[str, Any] = Field(description="What was made small.")
    mechanism: MechanismPart
    errors: list[ErrorPart] = Field(description="Each answer's error at spend 1; recomputed when the file is loaded.")


@final
class FormsPart(BaseModel):
    """A task of quantiles: the form of each, and of each of its groups."""

    model_config = _STRICT

    name: str
    forms: list[list[Literal["transport", "laplace"]]]


@final
class FixedPart(BaseModel):
    """A task of which all follows from what is asked."""

    model_config = _STRICT

    name: str
    fingerprint: Digest = Field(description="Of the task's own plan.")


@final
class TaskPlanDocument(BaseModel):
    """A plan of tasks: everything that decides the law of its releases, and nothing private."""

    model_config = _STRICT

    format: Literal["dxgeom plan 1"]
    policy: PolicyPart
    queries: QueriesPart = Field(description="The tasks, as their file says them.")
    parts: list[NoisePart | FormsPart | FixedPart] = Field(description="What was decided for each task, in order.")
    compared_at_spend: Rational = Field(description="The spend at which forms of quantiles were compared.")
    spend: Rational | None = Field(description="The spend of a release, where it was stated with the plan.")
    fingerprint: Digest = Field(description="What ledgers remember the plan's releases by.")
    digest: Digest = Field(description="SHA-256 of all other fields, in their order, as JSON without blanks.")


def task_plan_text(plan: TaskPlan, policy: Policy, spend: Amount | None) -> str:
    """The text of the file.

    Raises: UnsupportedCombination for another policy, for tasks that were not read from a text, and for noise that no
    file can hold.
    """
    parts = {
        "queries": written_queries(plan.tasks, plan.records),
        "parts": [
            {"name": task.name, **_decided(part)} for task, part in zip(plan.tasks.parts, plan.parts, strict=True)
        ],
        "compared_at_spend": str(plan.compared_at),
    }
    return sealed_text(plan, plan.metric, policy, spend, parts)


def errors_data(plan: Plan) -> list[dict[str, str]]:
    """Each answer's error at spend 1, as a file holds it."""
    biases, errors = plan.mechanism.biases.tolist(), np.sqrt(plan.mechanism.variances()).tolist()
    return [
        {"name": name, "rmse": repr(error), "bias": repr(bias)}
        for name, error, bias in zip(plan.queries.names, errors, biases, strict=True)
    ]


def _decided(part: PartPlan) -> dict[str, Any]:
    match part:
        case Plan():
            decided = {"objective": objective_data(part.objective), "mechanism": mechanism_data(part.mechanism)}
            return {**decided, "errors": errors_data(part)}
        case QuantilePlan():
            return {"forms": [list(one.forms) for one in part.parts]}
    return {"fingerprint": part.fingerprint} if part.totals is None else _decided(part.totals)


def loaded_tasks(document: dict[str, Any]) -> TaskPlan:
    """The plan of a document. Nothing is searched for: what was decided is the file's, what it hides is the policy's.

    Raises: Wrong.
    """
    part = parsed(TaskPlanDocument, document)
    policy = policy_of(part.policy)
    tasks = tasks_of(part.queries, policy)
    if [one.name for one in part.parts] != list(tasks.names):
        raise Wrong("DX302", "parts", "there is one for each task, in their order")
    compared, metric = rational_of(part.compared_at_spend, "compared_at_spend"), policy.compile()
    decided = _Decided(metric, part)
    with refused_as("DX305", "parts"):
        plan = plan_tasks(metric, tasks, decided.planned, records=part.queries.records, spend=compared)
    decided.check_others(plan)
    require_same_plan(plan, part.fingerprint)
    return of_file(plan, policy, part)


@final
class _Decided:
    """What a file decided for each task, and the plans that follow."""

    def __init__(self, metric: VerifiedMetric, document: TaskPlanDocument) -> None:
        self._metric, self._records = metric, document.queries.records
        self._parts = {part.name: (number, part) for number, part in enumerate(document.parts)}

    def planned(self, task: TaskWithShare, queries: LinearQueries | QuantileQueries) -> Plan | QuantilePlan:
        """The plan of queries that a task asks, as the file decided it. Raises: Wrong."""
        number, part = self._parts[task.name]
        place = f"parts[{number}]"
        if isinstance(queries, QuantileQueries):
            if not isinstance(part, FormsPart) or len(part.forms) != len(queries.asked):
                raise Wrong("DX302", place, "there are forms for each query of quantiles")
            with refused_as("DX305", f"{place}.forms"):
                return plan_quantiles(self._metric, queries, records=self._records, forms=part.forms)
        if not isinstance(part, NoisePart):
            raise Wrong("DX302", place, "there is noise for a task of counts and sums")
        try:
            return self._noise(part, queries)
        except Wrong as wrong:
            raise Wrong(wrong.code, f"{place}.{wrong.place}", str(wrong), wrong.advice) from wrong

    def _noise(self, part: NoisePart, queries: LinearQueries) -> Plan:
        mechanism = mechanism_of(part.mechanism, self._metric, queries)
        objective = objective_of(part.objective, queries.count)
        with refused_as("DX307", "records"):
            number = public_records(self._metric, queries, self._records)
        plan = Plan(self._metric, queries, objective, mechanism, CandidateComparison(), number)
        check_errors(part.errors, plan)
        return plan

    def check_others(self, plan: TaskPlan) -> None:
        """Raises: Wrong where a file says of a task, of which all follows from what is asked, what is not so."""
        for task, one in zip(plan.tasks.parts, plan.parts, strict=True):
            number, part = self._parts[task.name]
            if isinstance(one, Plan | QuantilePlan) or one.totals is not None:
                continue
            if not isinstance(part, FixedPart):
                raise Wrong("DX302", f"parts[{number}]", f"nothing is decided for a task that asks '{task.asked.word}'")
            if part.fingerprint != one.fingerprint:
                what = f"this task's plan has the fingerprint {one.fingerprint}"
                raise Wrong("DX307", f"parts[{number}].fingerprint", what)
