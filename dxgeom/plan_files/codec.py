"""What a kind of plan is as a file: its fields, what was decided, and the plan that follows from them, proved anew.

The files that dxgeom writes, as JSON Schema: plans, releases, certificates.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, Union, final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model

from dxgeom.kinds import registry
from dxgeom.plan_files.document import parsed
from dxgeom.plan_files.laws import BASES_FORM, IN_PLACE_OF_LAWS, SCALES, laws_schema
from dxgeom.plan_files.sources import of_file, policy_of, require_same_plan
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.planner.plan import Plan
from dxgeom.policy.policy import Policy
from dxgeom.policy.syntax.schema import DIALECT


class Codec(ABC):
    """The plan files of one kind of question.

    ``document``: the fields of its files; ``decided_by``: which of these say what was decided, and what they are called
    in words.
    """

    decided_by: ClassVar[Mapping[str, str]] = MappingProxyType({"objective": "objective"})
    document: ClassVar[type[BaseModel]]

    @abstractmethod
    def fields(self, plan: Plan, policy: Policy) -> dict[str, Any]:
        """What a file holds between what all begin and end with. Raises: UnsupportedCombination, TooLarge."""

    @abstractmethod
    def rebuilt(self, document: Any, policy: Policy) -> Plan:
        """The plan of a document. Nothing is searched for; what it hides is the policy's. Raises: Wrong."""

    def require_errors(self, document: Any, plan: Plan) -> None:  # noqa: B027 (not all state errors)
        """Raises: Wrong unless the errors that a document states are the plan's; nothing where none are stated."""


class PartCodec(Codec):
    """That of a kind whose plans a file of tasks holds, too, in a ``part``; ``missing``: what is wrong without it."""

    part: ClassVar[type[BaseModel]]
    missing: ClassVar[str]

    @abstractmethod
    def decided(self, plan: Plan) -> dict[str, Any]:
        """What a part holds of a plan. Raises: UnsupportedCombination, TooLarge."""

    @abstractmethod
    def rebuilt_part(self, document: Any, question: Any, how: Planning) -> Plan:
        """The plan of a question in a file of tasks. Raises: Wrong."""


def codec_of(kind: QuestionKind[Any]) -> Codec | None:
    """How plans of a kind are files; None where a file of tasks alone holds them."""
    found: Codec | None = registry.named(kind.codec) if kind.codec else None
    return found


def codec_of_plan(plan: Plan) -> Codec | None:
    """How this very plan is a file; None for what is none that a file holds."""
    asked = registry.kind_of(plan.question)
    found = None if asked is None else codec_of(asked)
    return found if asked is plan.kind else None


def loaded(document: dict[str, Any]) -> Plan:
    """The plan of a document. Raises: Wrong."""
    kinds = [kind for kind in registry.kinds() if kind.codec]
    others = (kind for kind in kinds if kind.field and kind.field in document)
    codec: Codec = registry.named(next(others, kinds[0]).codec)
    said: Any = parsed(codec.document, document)
    policy = policy_of(said.policy)
    plan = codec.rebuilt(said, policy)
    require_same_plan(plan, said.fingerprint)
    codec.require_errors(said, plan)
    return of_file(plan, policy, said)


_STRICT: Final = ConfigDict(extra="forbid", defer_build=True)
_OPEN: Final = ConfigDict(extra="allow")


@final
class ProofForm(BaseModel):
    """Why the axioms hold of one form, and of the forms that it is made of."""

    model_config = _STRICT

    form: str
    size: int
    reason: str
    pairs: int
    triples: int
    verdict: Literal["holds", "within rounding"]
    excess: float
    tolerance: float
    parts: list[ProofForm]


@final
class CertificateForm(BaseModel):
    """What ``check`` or ``verify`` found of a metric, for ``audit``."""

    model_config = _STRICT

    format: Literal["dxgeom certificate 1"]
    kind: Literal["policy", "matrix", "edges"]
    title: str
    fingerprint: str
    size: int
    budget: str
    proof: ProofForm
    distances: list[list[int | float | Literal["inf"]]] = Field(
        description="[record, record, distance] for some pairs."
    )


@final
class AnswerForm(BaseModel):
    """One answer; later versions may say more of it."""

    model_config = _OPEN

    name: str
    value: float
    exact: str = Field(description="The very number that was released, as a rational.")
    rmse: float
    bias: dict[str, float | str | None] = Field(description="How far it can be off apart from noise, by cause.")
    interval: list[float | None]


@final
class ReleasedPolicyForm(BaseModel):
    """The policy that a release was charged under."""

    model_config = _OPEN

    title: str
    fingerprint: str


@final
class QuantileForm(BaseModel):
    """One quantile; later versions may say more of it."""

    model_config = _OPEN

    name: str
    at: str = Field(description="The level, as a rational.")
    value: float | str = Field(description="The number that was released, or the date.")
    label: str = Field(description="The value of the attribute as people write it.")
    rank: int | None = Field(description="Which smallest value it stands for; null where the number is private.")
    of: str = Field(description="The attribute.")


@final
class BoundedForm(BaseModel):
    """An answer of synthetic records; later versions may say more of it."""

    model_config = _OPEN

    name: str
    value: float
    bound: float | None = Field(description="It is not further from the truth; null where nothing is proved.")


@final
class TaskForm(BaseModel):
    """What one task answered; what else is said of it depends on its kind."""

    model_config = _OPEN

    name: str
    kind: str = Field(description="The word that asks for it in a file of tasks.")
    share: str = Field(description="Its part of the spend, as a rational.")
    spent: str


@final
class TableForm(BaseModel):
    """One table of counts; later versions may say more of it."""

    model_config = _OPEN

    table: list[str] = Field(description="The columns that it is over.")
    shape: list[int]
    divisor: str
    cells: list[float] | None = Field(
        description="Numbers over the divisor, whole but for a model's; null where the ledger keeps them."
    )
    rmse: float | None = Field(description="Null where it is not known.")
    half_width: float | None = Field(description="Of the widest bar of its cells; null where there is no bar.")


@final
class BoxForm(BaseModel):
    """One count in a box; later versions may say more of it."""

    model_config = _OPEN

    name: str
    value: float
    low: float
    high: float
    rmse: float


@final
class KeyForm(BaseModel):
    """One key that was reported; later versions may say more of it."""

    model_config = _OPEN

    name: str
    group: dict[str, str] = Field(description="The values that it is made of.")
    value: float
    exact: str = Field(description="The very number that was released, as a rational.")
    interval: list[float]


@final
class ShortfallForm(BaseModel):
    """How far below the best the score of what was picked can be."""

    model_config = _OPEN

    level: float
    at_most: float


@final
class CoefficientForm(BaseModel):
    """One coefficient; later versions may say more of it."""

    model_config = _OPEN

    name: str
    unit: str = Field(description="What it is for.")
    value: float
    low: float | None
    high: float | None


_CHARGED: Final[dict[str, Any]] = {
    "spent": (str, ...),
    "remaining": (str, ...),
    "delta": (str, Field(default="", description="With which chance its odds do not hold; left out where always.")),
    "records": (int | None, ...),
    "public": (str, Field(default="", description="Where the number of records is public, what that tells.")),
    "dropped_rows": (int | None, ...),
    "mechanism": (str, ...),
    "time": (str, ...),
    "secure_randomness": (bool, ...),
    "policy": (ReleasedPolicyForm, ...),
    "queries_fingerprint": (str, ...),
    "plan_fingerprint": (str, ...),
}
"""What every release says of itself, whatever it answers."""


def _release_form(name: str, of: str, *, planned: bool = True, **answered: Any) -> Any:
    """The form of a release, between the format and what every release says; not ``planned``: of a mechanism by itself,
    that was asked nothing."""
    doc = f"A release of {of}; later versions may say more of it."
    said = {word: form for word, form in _CHARGED.items() if planned or word != "queries_fingerprint"}
    began: Any = {"format": (Literal["dxgeom release 1"], ...)}
    return create_model(name, __config__=_OPEN, __doc__=doc, **began, **answered, **said)


_PROVED: Final = Field(description="What holds of each query's errors, whatever the data.")
RELEASES: Final = (
    _release_form("ReleaseForm", "answers to queries", answers=(list[AnswerForm], ...), level=(float, ...)),
    _release_form(
        "QuantileReleaseForm", "quantiles", quantiles=(list[QuantileForm], ...), statements=(list[str], _PROVED)
    ),
    _release_form("TaskReleaseForm", "several tasks", tasks=(list[TaskForm], ...)),
    _release_form(
        "SyntheticReleaseForm",
        "synthetic records",
        answers=(list[BoundedForm], ...),
        level=(float, ...),
        bounds=(str, ...),
        rows=(int, ...),
    ),
    _release_form("BoundedReleaseForm", "answers with bounds", answers=(list[BoundedForm], ...), level=(float, ...)),
    _release_form("TablesReleaseForm", "whole tables of counts", tables=(list[TableForm], ...), level=(float, ...)),
    _release_form("BoxesReleaseForm", "counts in boxes", boxes=(list[BoxForm] | None, ...), level=(float, ...)),
    _release_form(
        "KeysReleaseForm", "counts of keys", answers=(list[KeyForm], ...), count=(int, ...), level=(float, ...)
    ),
    _release_form(
        "ManyKeysReleaseForm",
        "more keys than are written out",
        first_answers=(list[KeyForm], ...),
        count=(int, ...),
        level=(float, ...),
    ),
    _release_form("SelectionReleaseForm", "a selection", picked=(str | list[str], ...), shortfall=(ShortfallForm, ...)),
    _release_form("FitReleaseForm", "a fit", coefficients=(list[CoefficientForm], ...), level=(float, ...)),
    _release_form("MechanismReleaseForm", "a mechanism by itself", planned=False, answer=(Any, ...)),
)


def plan_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of plan files.

    Guarantee: a file that loads is valid; a valid file may still be refused for what it says.
    """
    codecs = filter(None, map(codec_of, registry.kinds()))
    schema = _schema_of(Union[tuple(codec.document for codec in codecs)], "dxgeom plan")  # noqa: UP007 (of what there is)
    laws = laws_schema()
    schema["$defs"] |= laws
    law = {
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in laws if name.endswith("Noise") or name in IN_PLACE_OF_LAWS]
        + [{"type": "null"}]
    }
    schema["$defs"]["MechanismPart"]["properties"]["law"] |= {"anyOf": law["anyOf"]}
    for part in ("TableNoisePart", "BoxNoisePart"):
        schema["$defs"][part]["properties"]["scales"] = {"$ref": f"#/$defs/{SCALES}"}
    schema["$defs"]["TableNoisePart"]["properties"]["bases"] |= {"anyOf": [BASES_FORM, {"type": "null"}]}
    return schema


def release_schema() -> dict[str, Any]:
    """The JSON Schema of releases, whatever they answer."""
    return _schema_of(Union[RELEASES], "dxgeom release")  # noqa: UP007 (of what was made)


def certificate_schema() -> dict[str, Any]:
    """The JSON Schema of certificates."""
    return _schema_of(CertificateForm, "dxgeom certificate")


FILES: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "plan": plan_schema,
    "release": release_schema,
    "certificate": certificate_schema,
}
"""The schema of each kind of file that is written."""


def _schema_of(model: Any, title: str) -> dict[str, Any]:
    structure: dict[str, Any] = _only_what_is_asked(TypeAdapter(model).json_schema())
    return {"$schema": DIALECT, **structure, "title": title}


def _only_what_is_asked(form: Any) -> Any:
    """The same without saying that anything else may be there, too."""
    if isinstance(form, list):
        return [_only_what_is_asked(one) for one in form]
    if not isinstance(form, dict):
        return form
    return {
        word: _only_what_is_asked(part)
        for word, part in form.items()
        if not (word == "additionalProperties" and part is True)
    }
