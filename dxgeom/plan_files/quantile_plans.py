"""Plans of quantiles as files: which form answers each question, and of what; the mechanism is made anew from these."""

from __future__ import annotations

from typing import Any, Literal, final

from pydantic import BaseModel, ConfigDict, Field

from dxgeom.plan_files.asked import quantile_queries_of, written_queries
from dxgeom.plan_files.document import Digest, PolicyPart, QueriesPart, Rational, parsed
from dxgeom.plan_files.sources import of_file, policy_of, require_same_plan, sealed_text
from dxgeom.plan_files.text.exact_text import rational_of
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.planner.amounts import Amount
from dxgeom.planner.quantile_plan import QuantilePlan, plan_quantiles
from dxgeom.policy.policy import Policy


@final
class QuantilePlanDocument(BaseModel):
    """A plan of quantiles: everything that decides the law of its releases, and nothing private."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

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


def quantile_plan_text(plan: QuantilePlan, policy: Policy, spend: Amount | None) -> str:
    """The text of the file.

    Raises: UnsupportedCombination for another policy, and for queries that were not read from a text.
    """
    parts = {
        "queries": written_queries(plan.queries, plan.records),
        "forms": [list(part.forms) for part in plan.parts],
        "compared_at_spend": str(plan.compared_at),
    }
    return sealed_text(plan, plan.metric, policy, spend, parts)


def loaded_quantiles(document: dict[str, Any]) -> QuantilePlan:
    """The plan of a document. Nothing is searched for: the forms are the file's, what they hide is the policy's.

    Raises: Wrong.
    """
    part = parsed(QuantilePlanDocument, document)
    policy = policy_of(part.policy)
    queries = quantile_queries_of(part.queries, policy)
    if len(part.forms) != len(queries.asked):
        raise Wrong("DX302", "forms", "there are forms for each query")
    compared = rational_of(part.compared_at_spend, "compared_at_spend")
    with refused_as("DX305", "forms"):
        plan = plan_quantiles(policy.compile(), queries, records=part.queries.records, spend=compared, forms=part.forms)
    require_same_plan(plan, part.fingerprint)
    return of_file(plan, policy, part)
