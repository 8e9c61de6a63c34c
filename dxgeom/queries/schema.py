"""The queries language as JSON Schema, for editors that complete and underline while a queries file is written.

Its structure and its words come from the grammar's models.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from dxgeom.policy.syntax.schema import DIALECT
from dxgeom.queries.syntax import QUERY_KINDS, QueriesSyntax
from dxgeom.queries.tasks.grammar import task_kinds
from dxgeom.queries.tasks.task_kind import QUERIES_FORM, TaskKind

_READ_FIRST: Final = (
    *("type", "anyOf", "properties", "required", "additionalProperties"),
    *("items", "minItems", "exclusiveMinimum", "enum", "description"),
)
"""The words of JSON Schema that the models use; titles and defaults are for Python only."""


def queries_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of queries files.

    Guarantee: a file that loads is valid, read as YAML 1.2 or 1.1; a valid file may still have other mistakes.
    """
    structure = _structure(QueriesSyntax)
    one_query = {"anyOf": [{"title": kind.word, **_structure(kind.syntax)} for kind in QUERY_KINDS]}
    structure["properties"]["queries"]["items"] = one_query
    structure["properties"]["tasks"]["items"] = {"anyOf": [_task(kind, one_query) for kind in task_kinds()]}
    structure["anyOf"] = [{"required": [key]} for key in ("queries", "tasks")]
    about = "What to ask about the records of a policy's universe."
    return {"$schema": DIALECT, "title": "dxgeom queries", "description": about, **structure}


def _task(kind: TaskKind, one_query: dict[str, Any]) -> dict[str, Any]:
    """An entry of one kind, with what stands below its word; ``one_query``: the form of a query."""
    structure = _structure(kind.syntax)
    keys = structure["properties"]
    if kind.body is not None:
        below = _structure(kind.body)
        keys[kind.word] = {**below, "description": keys[kind.word].get("description", "")}
        keys = below["properties"]
    for key in kind.lists:
        keys[key] = _of_queries(keys[key], one_query)
    return {"title": kind.word, **structure, "required": [kind.word]}


def _of_queries(form: dict[str, Any], one_query: dict[str, Any]) -> dict[str, Any]:
    """The form of a key that holds a list of queries, or else what its form says."""
    listed = {**QUERIES_FORM, "items": one_query}
    if "anyOf" not in form:
        return {**listed, "description": form["description"]}
    return {**form, "anyOf": [*form["anyOf"], listed]}


def _structure(model: type[BaseModel]) -> dict[str, Any]:
    """A model's schema without what only Python needs."""
    schema = model.model_json_schema()
    required = schema.get("required", [])
    keys = {key: _to_read(schema["properties"][key]) for key in dict.fromkeys([*required, *model.model_fields])}
    needed = {"required": required} if required else {}
    return {"type": "object", "properties": keys, **needed, "additionalProperties": False}


def _to_read(form: Any) -> Any:
    """The words of a form in the order in which they are read best."""
    if isinstance(form, list):
        return [_to_read(one) for one in form]
    if not isinstance(form, dict):
        return form
    ordered = {word: form[word] for word in _READ_FIRST if word in form} or form
    return {word: _to_read(part) for word, part in ordered.items()}
