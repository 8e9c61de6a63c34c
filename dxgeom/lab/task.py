"""A task about one secret, as a small file: which mechanism answers, about what, and what a good answer is."""

from __future__ import annotations

import os
from collections.abc import Mapping as Map
from collections.abc import Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias, final

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema

from dxgeom.errors import QueryError
from dxgeom.policy.source.fields import Positive, exact_field, wrong_field
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.text import Language, PolicyText
from dxgeom.policy.source.yaml_tree import (
    Mapping,
    Node,
    as_data,
    is_policy,
    key_span_at,
    kind_of,
    node_at,
    note_no_mapping,
    read_language,
    span_at,
)
from dxgeom.policy.syntax.schema import DIALECT
from dxgeom.policy.syntax.writing import text_of_data
from dxgeom.universe.wording import did_you_mean, shown

WORDS: Final = (
    *("truncated_geometric", "finite_laplace", "halved_exponential", "optimal", "bracketed", "planar"),
    *("staircase", "layered", "privacy_first", "ladder", "composed"),
)
"""Every mechanism that a task can name."""
_BEGIN: Final = "begin with 'answer:' and a mechanism, such as 'answer: staircase'"
_TASKS: Final = Language("task", "dx.lab.task_from_dict", "data", QueryError)
_PRIOR: Final = "write 'even', the name of a column of numbers, or a weight for each value"


def _answer(value: Any) -> str:
    if value not in WORDS:
        raise wrong_field("DX108", "'answer' names a mechanism", did_you_mean(str(value), WORDS))
    return str(value)


def _prior(value: Any) -> str | Map[str, Fraction]:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict) or not value:
        raise wrong_field("DX108", "'prior' says how likely each value is", _PRIOR)
    weights = {str(name): exact_field(weight, _PRIOR) for name, weight in value.items()}
    if min(weights.values()) < 0 or not any(weights.values()):
        raise wrong_field("DX109", "weights are not negative, and not all 0", _PRIOR)
    return MappingProxyType(weights)


def _not_negative(value: Any) -> Fraction:
    number = exact_field(value)
    if number < 0:
        raise wrong_field("DX109", "this number is at least 0", "write a plain decimal such as 5 or 0.25")
    return number


def _of(value: Any) -> str | Map[str, Any]:
    """An attribute, or a statistic of a data set: a word, or a word with a number or with edges."""
    proper = isinstance(value, str) or (isinstance(value, dict) and len(value) == 1)
    if not proper:
        raise wrong_field("DX108", "'of' is an attribute or a statistic", "write 'of: age', or 'of: {stars: 2}'")
    return value if isinstance(value, str) else MappingProxyType(value)


_NUMBER: Final = WithJsonSchema({"type": ["number", "string"], "minimum": 0})
_WEIGHTS: Final[dict[str, Any]] = {
    "anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": ["number", "string"]}}]
}
LossWord: TypeAlias = Literal["absolute", "squared", "wrong", "distance"]


@final
class SecretTask(BaseModel):
    """What is asked about one secret.

    ``answer``: the mechanism. ``of``: the attribute that is asked about, or the statistic of a data set. ``loss``: what
    an answer costs that is off, ``prior``: how likely each value is. ``guess``: "best" replaces each answer by the one
    that costs least after it. ``step``: of the planar lattice; ``width``: of layers; ``stretch``: of a spanner.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True, arbitrary_types_allowed=True)

    answer: Annotated[str, PlainValidator(_answer), WithJsonSchema({"enum": list(WORDS)})] = Field(
        description="The mechanism that answers."
    )
    of: Annotated[Any, PlainValidator(_of), WithJsonSchema({"type": ["string", "object"]})] = Field(
        None, description="The attribute that is asked about, or the statistic of a data set."
    )
    loss: LossWord | None = Field(None, description="What an answer costs that is off.")
    prior: Annotated[Any, PlainValidator(_prior), WithJsonSchema(_WEIGHTS)] = Field(
        "even", description="How likely each value is: even, a column of numbers, or weights."
    )
    guess: Literal["best"] | None = Field(
        None, description="Each answer is replaced by the one that costs least after it."
    )
    step: Positive | None = Field(None, description="How wide the lattice of planar answers is.")
    width: Annotated[Fraction | None, PlainValidator(_not_negative), _NUMBER] = Field(
        None, description="How far around an answer counts as the answer, in layers."
    )
    stretch: Positive | None = Field(None, description="How much longer than distances a spanner's paths may be.")

    @property
    def stated(self) -> tuple[str, ...]:
        """The keys that say something beyond the mechanism."""
        return tuple(sorted(self.model_fields_set - {"answer"}))


def load_task(path: str | os.PathLike[str]) -> SecretTask:
    """Read a task file. Raises: QueryError with every mistake in it, each with its line, column and code."""
    return _task_of(_TASKS.read(path))


def task_from_dict(data: Map[str, Any], *, file: str = "task") -> SecretTask:
    """The task that Python data states: the words and numbers that a task file would hold. Raises: QueryError."""
    return _task_of(text_of_data(data, _TASKS, file, None))


def task_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of task files."""
    schema = SecretTask.model_json_schema()
    about = "What to answer about one secret of a policy, or one data set."
    properties = {
        key: {word: part for word, part in one.items() if word != "title"} for key, one in schema["properties"].items()
    }
    return {
        "$schema": DIALECT,
        "title": "dxgeom task",
        "description": about,
        "type": "object",
        "properties": properties,
        "required": ["answer"],
        "additionalProperties": False,
    }


def _task_of(text: PolicyText) -> SecretTask:
    mistakes = Mistakes(text)
    root = read_language(mistakes, "task", _BEGIN)
    task = None if root is None else _checked(root, mistakes)
    if task is None or mistakes:
        raise QueryError(mistakes.all)
    return task


def _checked(root: Node, mistakes: Mistakes) -> SecretTask | None:
    if not isinstance(root, Mapping):
        note_no_mapping(root, "task", _BEGIN, mistakes)
        return None
    if is_policy(root, mistakes):
        return None
    try:
        return SecretTask.model_validate(as_data(root))
    except ValidationError as error:
        for problem in error.errors(include_url=False, include_input=False):
            note_problem(root, problem, mistakes, tuple(SecretTask.model_fields), _BEGIN)
        return None


def note_problem(root: Mapping, problem: Any, mistakes: Mistakes, known: Sequence[str], missing: str) -> None:
    """Note what pydantic found wrong with a file, at its place. Args: ``known``: the keys that there are at that place;
    ``missing``: what to do where one of them is missing."""
    path = tuple(problem["loc"])
    key, node, context = str(path[-1]), node_at(root, path), problem.get("ctx", {})
    match problem["type"]:
        case "extra_forbidden":
            unknown = f"the key {shown(key)} is not known here"
            mistakes.add("DX105", key_span_at(root, path), unknown, did_you_mean(key, tuple(known)))
        case "missing":
            mistakes.add("DX107", span_at(root, path[:-1]), f"the key {shown(key)} is missing", missing)
        case str(code) if code.startswith("DX"):
            found = f"{shown(key)}: {problem['msg']}, found {kind_of(node)}"
            mistakes.add(code, span_at(root, path), found, str(context.get("advice", "")))
        case _:
            wanted = str(context.get("expected", "something else"))
            mistakes.add("DX108", span_at(root, path), f"{shown(key)}: found {kind_of(node)}, expected {wanted}")
