"""What a kind of plan is as a file: its fields, what was decided, and the plan that follows from them, proved anew."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from pydantic import BaseModel

from dxgeom.kinds import registry
from dxgeom.plan_files.document import parsed
from dxgeom.plan_files.sources import of_file, policy_of, require_same_plan
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.planner.plan import Plan
from dxgeom.policy.policy import Policy


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
