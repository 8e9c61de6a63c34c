"""A mapping of a file as its model has it, every mistake at its place."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, as_data, key_span_at, kind_of, span_at
from dxgeom.queries.query_kind import NOT_A_WORD, ONE_EACH
from dxgeom.universe.wording import did_you_mean, shown

Model = TypeVar("Model", bound=BaseModel)


def well_formed(model: type[Model], node: Node, what: str, mistakes: Mistakes) -> Model | None:
    """The mapping as its model has it; None where it has a mistake, which is noted.

    ``what``: what the mapping says, for messages, such as "a task that selects".
    """
    known = tuple(model.model_fields)
    if not isinstance(node, Mapping):
        message = f"{what} is a mapping with {' and '.join(map(shown, known))}, found {kind_of(node)}"
        mistakes.add("DX108", node.span, message, "write a colon and a space behind each key")
        return None
    empty = [key for key, value in node.entries if key.text in known and _is_empty(value)]
    for key in empty:
        mistakes.add("DX107", key.span, f"{shown(key.text)} has no value", "write one or remove the key")
    try:
        made = model.model_validate(as_data(node))
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            if str(problem["loc"][0]) not in {key.text for key in empty}:
                _report(node, problem, what, known, mistakes)
        return None
    return None if empty else made


def _report(node: Mapping, problem: Any, what: str, known: tuple[str, ...], mistakes: Mistakes) -> None:
    key, context = str(problem["loc"][0]), problem.get("ctx", {})
    match problem["type"]:
        case "extra_forbidden":
            advice = did_you_mean(key, known)
            mistakes.add("DX105", key_span_at(node, (key,)), f"the key {shown(key)} is not known here", advice)
        case "missing":
            mistakes.add("DX107", node.span, f"the key {shown(key)} is missing", f"{what} says it")
        case str(code) if code == NOT_A_WORD:
            mistakes.add("DX108", span_at(node, (key,)), f"{shown(key)} is a single word or condition", ONE_EACH)
        case code:
            mistakes.add(str(code), span_at(node, (key,)), problem["msg"], str(context.get("advice", "")))


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and not node.text
