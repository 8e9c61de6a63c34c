"""Plans of whole tables of counts as files: the scale of the noise in each part; all else is made anew and proved."""

from __future__ import annotations

from typing import Any, Final, Literal, final

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from dxgeom.mechanisms.parts.table_mechanism import KRONECKER, Bases, TableMechanism
from dxgeom.plan_files.codec import Codec
from dxgeom.plan_files.document import Decimal, Digest, PolicyPart, QueriesPart, Rational
from dxgeom.plan_files.laws import bases_data, bases_of, scales_data, scales_of
from dxgeom.plan_files.queries_data import table_queries_of
from dxgeom.plan_files.sources import require_same_errors
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.planner.marginals.marginal_plan import plan_of_scales
from dxgeom.planner.plan import Plan
from dxgeom.policy.policy import Policy
from dxgeom.queries.unlisted import words_of_tables


@final
class TableNoisePart(BaseModel):
    """The noise in the parts of whole tables."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True, strict=True)

    name: Literal["marginal-gaussian", "marginal-laplace", "kronecker-gaussian"]
    scales: dict[str, Any] = Field(description="The scale of the noise in each part at spend 1, in counts; 0 for none.")
    bases: list[dict[str, Any] | None] | None = Field(
        default=None,
        description="Of kronecker-gaussian: for each column a square matrix, what every vector of its basis has at the "
        "second, third, … value above the first; null where its values are all equally far apart.",
    )
    public: Literal[True] | None = Field(
        default=None, description="True where what the policy's public numbers tell of the tables has no noise."
    )

    @model_serializer(mode="wrap")
    def _written(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without bases or public numbers where there are none, as files of other noise are."""
        fields: dict[str, Any] = written(self)
        return {name: value for name, value in fields.items() if value is not None}


@final
class TablePlanDocument(BaseModel):
    """A plan of whole tables of counts: everything that decides the law of its releases, and nothing private."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True, strict=True)

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


def _noise_data(mechanism: TableMechanism) -> dict[str, Any]:
    data: dict[str, Any] = {"name": mechanism.name, "scales": scales_data(mechanism.scales)}
    if mechanism.name == KRONECKER:
        data["bases"] = bases_data(mechanism.bases)
    if mechanism.public:
        data["public"] = True
    return data


def _bases_of(part: TableNoisePart) -> Bases:
    """Raises: Wrong."""
    if (part.name == KRONECKER) != (part.bases is not None):
        raise Wrong("DX302", "table_noise.bases", f"{KRONECKER} has bases, and no other noise in tables has")
    return bases_of(part.bases or [], "table_noise.bases")


@final
class TableCodec(Codec):
    """Plans of whole tables: the scales are the file's, and they are proved to be enough for what the policy protects,
    every budget in integers."""

    document = TablePlanDocument

    def fields(self, plan: Plan, policy: Policy) -> dict[str, Any]:
        queries = {"written": words_of_tables(plan.queries), "files": {}, "weights": None}
        return {
            "queries": {**queries, "records": plan.queries.records, "fingerprint": plan.queries.fingerprint},
            "objective": plan.objective,
            "table_noise": _noise_data(plan.mechanism),
            "errors": [repr(error) for error in plan.rmse().tolist()],
        }

    def rebuilt(self, document: TablePlanDocument, policy: Policy) -> Plan:
        queries = table_queries_of(document.queries, policy)
        scales = scales_of(document.table_noise.scales, "table_noise.scales")
        bases = _bases_of(document.table_noise)
        with refused_as("DX306", "table_noise"):
            return plan_of_scales(
                policy.compile(),
                queries,
                document.objective,
                document.table_noise.name,
                scales,
                bases,
                document.table_noise.public is not None,
            )

    def require_errors(self, document: TablePlanDocument, plan: Plan) -> None:
        require_same_errors(document.errors, plan)


CODEC: Final = TableCodec()
