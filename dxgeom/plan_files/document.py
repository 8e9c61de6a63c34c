"""What a plan file holds: its fields as models, which are its schema, too."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar, final

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from dxgeom.plan_files.text.exact_text import RATIONAL
from dxgeom.plan_files.text.json_text import digest_of
from dxgeom.plan_files.wrong import Wrong

FORMAT: Final = "dxgeom plan 1"
"""The name and the number of the format. A later version reads this number too, or says in words that it does not."""
_NAME: Final = "dxgeom plan "
_STRICT: Final = ConfigDict(extra="forbid", defer_build=True, frozen=True, strict=True)

Document = TypeVar("Document", bound=BaseModel)
Digest: TypeAlias = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Rational: TypeAlias = Annotated[str, Field(pattern=RATIONAL)]
Decimal: TypeAlias = Annotated[str, Field(pattern=r"^[0-9]{1,20}(\.[0-9]{1,20})?(e[+-][0-9]{1,3})?$")]
Whole: TypeAlias = Annotated[int, Field(ge=-(2**53), le=2**53)]
Place: TypeAlias = Annotated[int, Field(ge=0, le=2**53)]


@final
class PolicyPart(BaseModel):
    """The policy: what its file says, and the content of every file beside it that it names."""

    model_config = _STRICT

    written: dict[str, Any] = Field(description="The mappings, lists and words of the policy file; comments are gone.")
    files: dict[str, str] = Field(description="The content of each data file, by the name that the policy has for it.")
    fingerprint: Digest = Field(description="The policy's own fingerprint: of what it means.")


@final
class TablePart(BaseModel):
    """Queries that look at the same attributes, with a weight for each combination of classes of their values."""

    model_config = _STRICT

    queries: list[Place] = Field(description="The places of these queries in the workload.")
    axes: list[Place] = Field(description="The places of the attributes, rising.")
    classes: list[list[Place]] = Field(description="For each of them the class of every value.")
    weights: list[Whole] | None = Field(description="The weights, query by query; null where each counts one cell.")
    counted: list[Place] | None = Field(description="The cell that each query counts, where it counts just one.")


@final
class RoundingPart(BaseModel):
    """How far values that stand for many numbers can move an answer."""

    model_config = _STRICT

    per_record: Rational = Field(description="At most so far for each record that the query counts.")
    counted_by: Place | None = Field(description="The place of a query that counts all these records.")
    clamped: list[str] = Field(description="Columns whose numbers were clamped to ends that are not the true ones.")
    stepped: list[str] = Field([], description="Columns of whose numbers its condition asks more than the values tell.")


@final
class OriginPart(BaseModel):
    """What an answer is about."""

    model_config = _STRICT

    query: str = Field(description="What the query is called that asked for it.")
    group: list[Annotated[tuple[str, str], Field(strict=False)]] = Field(
        description="Columns and their values that its records have in common."
    )


@final
class RatioPart(BaseModel):
    """A ratio of two answers."""

    model_config = _STRICT

    name: str
    numerator: Place
    denominator: Place
    within: tuple[Rational, Rational] = Field(description="The lowest and the highest that it can be.", strict=False)
    asks: OriginPart | None = Field(description="What it is about; null for a query of its own.")


@final
class WeightsPart(BaseModel):
    """Queries that were made in Python: exact weights."""

    model_config = _STRICT

    names: list[str]
    units: list[Rational] = Field(description="What the weights of each query are multiplied with.")
    shape: list[Place] = Field(description="The number of values of each attribute, or of possible records.")
    tables: list[TablePart]
    importance: list[Rational] | None
    measures: list[str] = Field(description="What each answer is measured in; empty where all are alike.")
    errors: list[Rational | None] = Field(description="The error that each answer may have, where one was asked for.")
    rounding: list[RoundingPart] = Field(description="What rounding of values does to each answer; empty for none.")
    ratios: list[RatioPart] = Field(description="Ratios of two answers that are asked for, too.")
    origins: list[OriginPart] = Field(description="What each answer is about; empty where each is a query of its own.")
    of_universe: bool = Field(description="Whether they know the policy's universe, or are a bare matrix.")


@final
class QueriesPart(BaseModel):
    """What is asked: as a queries file says it, or as exact weights."""

    model_config = _STRICT

    written: dict[str, Any] | None = Field(description="The mappings, lists and words of the queries file.")
    files: dict[str, str] = Field(description="The content of each matrix file that it names.")
    weights: WeightsPart | None = Field(description="The exact weights, where there is no such file.")
    records: Annotated[int, Field(ge=1, le=2**53)] | None = Field(description="The public number of records, if used.")
    fingerprint: Digest = Field(description="SHA-256 of names and exact weights.")


@final
class ChangePart(BaseModel):
    """Other queries that are answered in place of those asked, with a known bias."""

    model_config = _STRICT

    records: Annotated[int, Field(ge=1, le=2**53)] = Field(description="The public number of records.")
    weights: WeightsPart = Field(description="The queries that are answered.")
    shifts: list[Rational] = Field(description="How far a record's weight is from what was asked, at most.")


@final
class SharePart(BaseModel):
    """How many times a public number is taken away of a query, and added to its answer."""

    model_config = _STRICT

    number: Place = Field(description="Its place: that of its combination behind those of all counts before.")
    share: Rational


@final
class MechanismPart(BaseModel):
    """How the queries are answered: y + mixing·round(V), V drawn from ``law``, in steps of the lattice."""

    model_config = _STRICT

    name: str = Field(description="The candidate that it is.")
    steps: list[Rational] = Field(description="The step of each answer's lattice, in its own unit.")
    law: dict[str, Any] | None = Field(description="The law at spend 1; null where no answer needs noise.")
    without_noise: list[Place] | None = Field(
        description="The answers that carry none, where every other carries a coordinate of its own; else null."
    )
    mixing: list[list[Rational]] | None = Field(
        description="How much of each coordinate every answer gets, where some follow from others; else null."
    )
    change: ChangePart | None
    public: list[list[SharePart] | None] | None = Field(
        None,
        description="What public numbers of the policy are taken away of each query, null where none; left out where "
        "they help no query.",
    )
    fingerprint: Digest

    @model_serializer(mode="wrap")
    def _as_written(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: one for name, one in fields(self).items() if (name, one) != ("public", None)}


@final
class ErrorPart(BaseModel):
    """What to expect of an answer at spend 1."""

    model_config = _STRICT

    name: str
    rmse: Decimal = Field(description="Root mean squared error of the law, the shortest decimal that means the float.")
    bias: Decimal = Field(description="How far changed queries can be from those that were asked.")


@final
class PlanDocument(BaseModel):
    """A plan: everything that decides the law of its releases, and nothing private."""

    model_config = _STRICT

    format: Literal["dxgeom plan 1"]
    policy: PolicyPart
    queries: QueriesPart
    objective: dict[str, Any] = Field(description="What was made small.")
    mechanism: MechanismPart
    records: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        description="The public number of records that error bars are for, where it was stated."
    )
    search: Literal["full", "quick", "interrupted"] = Field(
        "full", description="How the search for noise ended; left out where all candidates were looked at."
    )
    spend: Rational | None = Field(description="The spend of a release, where it was stated with the plan.")
    errors: list[ErrorPart] = Field(description="Each answer's error at spend 1; recomputed when the file is loaded.")
    fingerprint: Digest = Field(description="What ledgers remember the plan's releases by.")
    digest: Digest = Field(description="SHA-256 of all other fields, in their order, as JSON without blanks.")

    @model_serializer(mode="wrap")
    def _as_written(self, fields: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without what is left out where nothing is to be said."""
        return {name: one for name, one in fields(self).items() if (name, one) != ("search", "full")}


def parsed(kind: type[Document], document: dict[str, Any]) -> Document:
    """The document, field by field as one of its kind has to be, and as it was written.

    Raises: Wrong.
    """
    said = document.get("format")
    if isinstance(said, str) and said.startswith(_NAME) and said != FORMAT:
        what = f"this version reads '{FORMAT}', the file is a '{said[:40]}'"
        raise Wrong("DX301", "format", what, "plan again with this version, or use the one that wrote the file")
    if said != FORMAT:
        raise Wrong("DX301", "format", f"a plan file says '{FORMAT}' here", "name a file of 'dxgeom plan --output'")
    try:
        part = kind.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise Wrong("DX302", path_text(first["loc"]), str(first["msg"])) from error
    if document["digest"] != digest_of(document):
        raise Wrong("DX307", "digest", "the file was changed after it was written: its digest is another")
    return part


def path_text(steps: tuple[str | int, ...]) -> str:
    """A place in a document as a person writes it."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")
