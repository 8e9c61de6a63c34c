"""Plans of noise on a list of queries as files: the law and its numbers; that it hides enough is proved anew."""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from dxgeom.plan_files.aims import objective_data, objective_of
from dxgeom.plan_files.answering import mechanism_data, mechanism_of
from dxgeom.plan_files.codec import PartCodec
from dxgeom.plan_files.document import ErrorPart, MechanismPart, PlanDocument
from dxgeom.plan_files.queries_data import queries_data, queries_of
from dxgeom.plan_files.sources import require_same_error
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.planner.changed_queries import public_records
from dxgeom.planner.choose import listed_plan
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.kind import Planning
from dxgeom.planner.plan import Plan
from dxgeom.planner.wish import Wish
from dxgeom.policy.policy import Policy
from dxgeom.universe.queries import LinearQueries


@final
class NoisePart(BaseModel):
    """A task of counts and sums: the noise that was chosen, and what it was to make small."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True, strict=True)

    name: str
    objective: dict[str, Any] = Field(description="What was made small.")
    mechanism: MechanismPart
    errors: list[ErrorPart] = Field(description="Each answer's error at spend 1; recomputed when the file is loaded.")


@final
class ListedCodec(PartCodec):
    """Plans of noise on a list of queries: the law has the file's numbers."""

    document, part = PlanDocument, NoisePart
    missing = "there is noise for a task of counts and sums"

    def fields(self, plan: Plan, policy: Policy) -> dict[str, Any]:
        search = plan.comparison.search
        return {
            "queries": queries_data(plan.queries, policy),
            **self.decided(plan),
            "records": plan.records,
            **({} if search == "full" else {"search": search}),
        }

    def rebuilt(self, document: PlanDocument, policy: Policy) -> Plan:
        queries = queries_of(document.queries, policy)
        how = Planning(policy.compile(), Wish(records=document.records))
        return _rebuilt(document, queries, how, CandidateComparison(recorded_search=document.search))

    def require_errors(self, document: PlanDocument | NoisePart, plan: Plan) -> None:
        if [one.name for one in document.errors] != list(plan.queries.names):
            raise Wrong("DX307", "errors", "there is one for each query, in their order")
        with refused_as("DX307", "errors"), np.errstate(all="ignore"):
            noise, biases = np.sqrt(plan.mechanism.variances()), plan.mechanism.biases
        for number, (one, rmse, bias) in enumerate(zip(document.errors, noise, biases, strict=True)):
            for name, stated, found in (("rmse", one.rmse, rmse), ("bias", one.bias, bias)):
                require_same_error(stated, found, f"errors[{number}].{name}")

    def decided(self, plan: Plan) -> dict[str, Any]:
        biases, errors = plan.mechanism.biases.tolist(), np.sqrt(plan.mechanism.variances()).tolist()
        return {
            "objective": objective_data(plan.objective),
            "mechanism": mechanism_data(plan.mechanism),
            "errors": [
                {"name": name, "rmse": repr(error), "bias": repr(bias)}
                for name, error, bias in zip(plan.queries.names, errors, biases, strict=True)
            ],
        }

    def rebuilt_part(self, document: NoisePart, question: LinearQueries, how: Planning) -> Plan:
        plan = _rebuilt(document, question, how, CandidateComparison())
        self.require_errors(document, plan)
        return plan


def _rebuilt(
    document: PlanDocument | NoisePart, queries: LinearQueries, how: Planning, search: CandidateComparison
) -> Plan:
    mechanism = mechanism_of(document.mechanism, how.metric, queries)
    objective = objective_of(document.objective, queries.count)
    with refused_as("DX307", "records"):
        number = public_records(how.metric, queries, how.wish.records)
    return listed_plan(how.metric, queries, objective, mechanism, search, number)


CODEC: Final = ListedCodec()
