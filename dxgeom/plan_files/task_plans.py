"""Plans of tasks as files: the text of the tasks, and what was decided for each; all is made anew and proved."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, Union, final

from pydantic import BaseModel, ConfigDict, Field

from dxgeom.errors import UnsupportedCombination
from dxgeom.kinds import registry
from dxgeom.plan_files.codec import Codec, PartCodec, codec_of, codec_of_plan
from dxgeom.plan_files.document import Digest, PolicyPart, QueriesPart, Rational
from dxgeom.plan_files.queries_data import read_as, written_queries
from dxgeom.plan_files.text.exact_text import rational_of
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.planner.kind import Planning, QuestionKind, kind_of
from dxgeom.planner.plan import Plan
from dxgeom.planner.wish import Wish
from dxgeom.policy.policy import Policy
from dxgeom.universe.tasks.tasks import Tasks

_STRICT: Final = ConfigDict(extra="forbid", defer_build=True, frozen=True, strict=True)


@final
class FixedPart(BaseModel):
    """A task of which all follows from what is asked."""

    model_config = _STRICT

    name: str
    fingerprint: Digest = Field(description="Of the task's own plan.")


if TYPE_CHECKING:
    DecidedPart: TypeAlias = Any
else:
    DecidedPart = Union[*(codec_of(kind).part for kind in registry.kinds() if kind.within_tasks), FixedPart]
"""What any kind decides of a task."""


@final
class TaskPlanDocument(BaseModel):
    """A plan of tasks: everything that decides the law of its releases, and nothing private."""

    model_config = _STRICT

    format: Literal["dxgeom plan 1"]
    policy: PolicyPart
    queries: QueriesPart = Field(description="The tasks, as their file says them.")
    parts: list[DecidedPart] = Field(description="What was decided for each task, in order.")
    compared_at_spend: Rational = Field(description="The spend at which forms of quantiles were compared.")
    spend: Rational | None = Field(description="The spend of a release, where it was stated with the plan.")
    fingerprint: Digest = Field(description="What ledgers remember the plan's releases by.")
    digest: Digest = Field(description="SHA-256 of all other fields, in their order, as JSON without blanks.")


@final
class TaskCodec(Codec):
    """Plans of tasks: what was decided for each is the file's."""

    document = TaskPlanDocument
    decided_by = MappingProxyType({"parts": "tasks"})

    def fields(self, plan: Plan, policy: Policy) -> dict[str, Any]:
        each = zip(plan.question.parts, plan.parts, strict=True)
        return {
            "queries": written_queries(plan.question, plan.records, "tasks"),
            "parts": [{"name": task.name, **_decided(part)} for task, part in each],
            "compared_at_spend": str(plan.compared_at),
        }

    def rebuilt(self, document: TaskPlanDocument, policy: Policy) -> Plan:
        tasks = read_as(Tasks, document.queries, policy, "tasks", "these are queries, the plan is of tasks")
        if [one.name for one in document.parts] != list(tasks.names):
            raise Wrong("DX302", "parts", "there is one for each task, in their order")
        spend = rational_of(document.compared_at_spend, "compared_at_spend")
        decided = _Decided(document)
        with refused_as("DX305", "parts"):
            how = Planning(policy.compile(), Wish(records=document.queries.records, spend=spend), decided.rebuilt)
            plan = kind_of(tasks).part(tasks, how)
        decided.check_others(plan)
        return plan


def _decided(part: Plan) -> dict[str, Any]:
    codec = codec_of_plan(part)
    if isinstance(codec, PartCodec):
        return codec.decided(part)
    if codec is not None:
        raise UnsupportedCombination(
            f"a file of tasks does not hold {part.kind.called}: plan these queries by themselves, or name no mechanism"
        )
    return {"fingerprint": part.fingerprint} if part.totals is None else _decided(part.totals)


@final
class _Decided:
    """What a file decided for each task, and the plans that follow."""

    def __init__(self, document: TaskPlanDocument) -> None:
        self._parts = {part.name: (number, part) for number, part in enumerate(document.parts)}
        self._used = set[str]()

    def rebuilt(self, kind: QuestionKind[Any], question: Any, how: Planning) -> Plan:
        """What the file decided for a task, made anew. Raises: Wrong."""
        if not kind.codec:
            return self._as_it_was(kind, question, how)
        self._used.add(how.task)
        number, part = self._parts[how.task]
        place, codec = f"parts[{number}]", codec_of(kind)
        if not isinstance(codec, PartCodec) or not isinstance(part, codec.part):
            missing = codec.missing if isinstance(codec, PartCodec) else f"no task of a file has a plan of {kind.about}"
            raise Wrong("DX302", place, missing)
        try:
            found: Plan = codec.rebuilt_part(part, question, how)
            return found
        except Wrong as wrong:
            here = ".".join(filter(None, (place, wrong.place)))
            raise Wrong(wrong.code, here, str(wrong), wrong.advice) from wrong

    def _as_it_was(self, kind: QuestionKind[Any], question: Any, how: Planning) -> Plan:
        """The plan of today, unless the file is of one that an earlier version made of the same question."""
        plan, (_, part) = kind.part(question, how).uninterrupted(), self._parts[how.task]
        if not isinstance(part, FixedPart) or part.fingerprint == plan.fingerprint:
            return plan
        earlier = (one for one in kind.earlier(question, how) if one.fingerprint == part.fingerprint)
        return next(earlier, plan)

    def check_others(self, plan: Plan) -> None:
        """Raises: Wrong where a file says of a task, of which all follows from what is asked, what is not so."""
        for task, one in zip(plan.question.parts, plan.parts, strict=True):
            number, part = self._parts[task.name]
            if task.name in self._used:
                continue
            if not isinstance(part, FixedPart):
                raise Wrong(
                    "DX302", f"parts[{number}]", f"nothing is decided for a task that asks '{task.question.word}'"
                )
            if part.fingerprint != one.fingerprint:
                what = f"this task's plan has the fingerprint {one.fingerprint}"
                raise Wrong("DX307", f"parts[{number}].fingerprint", what)


CODEC: Final = TaskCodec()
