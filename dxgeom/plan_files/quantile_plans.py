"""Plans of quantiles as files: which form answers each question, and of what; the mechanism is made anew from these."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final, Literal, final

from pydantic import BaseModel, ConfigDict, Field

from dxgeom.plan_files.codec import PartCodec
from dxgeom.plan_files.document import Digest, PolicyPart, QueriesPart, Rational
from dxgeom.plan_files.queries_data import read_as, written_queries
from dxgeom.plan_files.text.exact_text import rational_of
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.planner.kind import Planning
from dxgeom.planner.plan import Plan
from dxgeom.planner.quantile_plan import plan_quantiles
from dxgeom.policy.policy import Policy
from dxgeom.universe.quantile_queries import QuantileQueries

_OTHERS: Final = "these ask for counts and sums, the plan is of quantiles"


@final
class QuantilePlanDocument(BaseModel):
    """A plan of quantiles: everything that decides the law of its releases, and nothing private."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True, strict=True)

    format: Literal["dxgeom plan 1"]
    policy: PolicyPart
    queries: QueriesPart
    forms: list[list[Literal["transport", "laplace"]]] = Field(
        description="For each query, how it, or each of its groups in turn, is answered: by transport cost or with "
        "Laplace noise."
    )
    compared_at_spend: Rational = Field(description="The spend at which the forms were compared.")
    spend: Rational | None = Field(description="The spend of a release, where it was stated with the plan.")
    fingerprint: Digest = Field(description="What ledgers remember the plan's releases by.")
    digest: Digest = Field(description="SHA-256 of all other fields, in their order, as JSON without blanks.")


@final
class FormsPart(BaseModel):
    """A task of quantiles: the form of each, and of each of its groups."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True, strict=True)

    name: str
    forms: list[list[Literal["transport", "laplace"]]]


@final
class QuantileCodec(PartCodec):
    """Plans of quantiles: the forms are the file's."""

    document, part = QuantilePlanDocument, FormsPart
    decided_by = MappingProxyType({"forms": "forms"})
    missing = "there are forms for each query of quantiles"

    def fields(self, plan: Plan, policy: Policy) -> dict[str, Any]:
        queries = written_queries(plan.queries, plan.records, "quantile queries")
        return {"queries": queries, **self.decided(plan), "compared_at_spend": str(plan.compared_at)}

    def rebuilt(self, document: QuantilePlanDocument, policy: Policy) -> Plan:
        queries = read_as(QuantileQueries, document.queries, policy, "quantile queries", _OTHERS)
        if len(document.forms) != len(queries.questions):
            raise Wrong("DX302", "forms", "there are forms for each query")
        spend = rational_of(document.compared_at_spend, "compared_at_spend")
        with refused_as("DX305", "forms"):
            return plan_quantiles(
                policy.compile(), queries, records=document.queries.records, spend=spend, forms=document.forms
            )

    def decided(self, plan: Plan) -> dict[str, Any]:
        return {"forms": [list(part.forms) for part in plan.parts]}

    def rebuilt_part(self, document: FormsPart, question: QuantileQueries, how: Planning) -> Plan:
        if len(document.forms) != len(question.questions):
            raise Wrong("DX302", "", self.missing)
        with refused_as("DX305", "forms"):
            return plan_quantiles(how.metric, question, records=how.wish.records, forms=document.forms)


CODEC: Final = QuantileCodec()
