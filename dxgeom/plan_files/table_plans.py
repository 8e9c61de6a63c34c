"""Plans of whole tables of counts as files: the scale of the noise in each part; all else is made anew and proved."""

from __future__ import annotations

from typing import Any, Literal, final

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from dxgeom.mechanisms.parts.basis_mechanism import KRONECKER, Bases, KroneckerMechanism
from dxgeom.mechanisms.parts.counts_with_noise import CountsWithNoise
from dxgeom.plan_files.asked import table_queries_of
from dxgeom.plan_files.document import Decimal, Digest, PolicyPart, QueriesPart, Rational, parsed
from dxgeom.plan_files.laws import bases_data, bases_of, scales_data, scales_of
from dxgeom.plan_files.sources import of_file, policy_of, require_same_errors, require_same_plan, sealed_text
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.planner.amounts import Amount
from dxgeom.planner.marginals.marginal_plan import MarginalPlan, plan_of_scales
from dxgeom.policy.policy import Policy
from dxgeom.queries.without_histogram.whole_tables import words_of_tables


@final
class TableNoisePart(BaseModel):
    """The noise in the parts of whole tables."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Literal["marginal-gaussian", "marginal-laplace", "kronecker-gaussian"]
    scales: dict[str, Any] = Field(description="The scale of the noise in each part at spend 1, in counts; 0 for none.")
    bases: list[dict[str, Any] | None] | None = Field(
        default=None,
        description="Of kronecker-gaussian: for each column a square matrix, what every vector of its basis has at the "
        "second, third, … value above the first; null where its values are all equally far apart.",
    )

    @model_serializer(mode="wrap")
    def _written(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without bases where there are none, as files of other noise are."""
        fields: dict[str, Any] = written(self)
        return {name: value for name, value in fields.items() if name != "bases" or value is not None}


@final
class TablePlanDocument(BaseModel):
    """A plan of whole tables of counts: everything that decides the law of its releases, and nothing private."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    format: Literal["dxgeom plan 1"]
    policy: PolicyPart
    queries: QueriesPart
    objective: Literal["mse", "max"] = Field(description="What was made small: the total squared error, or the worst.")
    table_noise: TableNoisePart
    spend: Rational | None = Field(description="The spend of a release, where it was stated with the plan.")
    errors: list[Decimal] = Field(
        description="Root mean squared error of each table's least exact cell at spend 1; recomputed when the file is "
        "loaded."
    )
    fingerprint: Digest = Field(description="What ledgers remember the plan's releases by.")
    digest: Digest = Field(description="SHA-256 of all other fields, in their order, as JSON without blanks.")


def table_plan_text(plan: MarginalPlan, policy: Policy, spend: Amount | None) -> str:
    """The text of the file. Raises: UnsupportedCombination for another policy; TooLarge for very many tables."""
    queries = {"written": words_of_tables(plan.queries), "files": {}, "weights": None}
    parts = {
        "queries": {**queries, "records": plan.queries.records, "fingerprint": plan.queries.fingerprint},
        "objective": plan.objective,
        "table_noise": _noise_data(plan.mechanism),
        "errors": [repr(error) for error in plan.rmse().tolist()],
    }
    return sealed_text(plan, plan.metric, policy, spend, parts)


def _noise_data(mechanism: CountsWithNoise) -> dict[str, Any]:
    data: dict[str, Any] = {"name": mechanism.name, "scales": scales_data(mechanism.scales)}
    if isinstance(mechanism, KroneckerMechanism):
        data["bases"] = bases_data(mechanism.bases)
    return data


def _bases_of(part: TableNoisePart) -> Bases:
    """Raises: Wrong."""
    if (part.name == KRONECKER) != (part.bases is not None):
        raise Wrong("DX302", "table_noise.bases", f"{KRONECKER} has bases, and no other noise in tables has")
    return bases_of(part.bases or [], "table_noise.bases")


def loaded_tables(document: dict[str, Any]) -> MarginalPlan:
    """The plan of a document. Nothing is searched for: the scales are the file's, and they are proved to be enough for
    what the policy protects, every budget in integers.

    Raises: Wrong.
    """
    part = parsed(TablePlanDocument, document)
    policy = policy_of(part.policy)
    queries = table_queries_of(part.queries, policy)
    scales = scales_of(part.table_noise.scales, "table_noise.scales")
    bases = _bases_of(part.table_noise)
    with refused_as("DX306", "table_noise"):
        plan = plan_of_scales(policy.compile(), queries, part.objective, part.table_noise.name, scales, bases)
    require_same_plan(plan, part.fingerprint)
    require_same_errors(part.errors, plan, "table")
    return of_file(plan, policy, part)
