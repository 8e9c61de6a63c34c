"""The queries language as JSON Schema, for editors that complete and underline while a queries file is written.

Its structure and its words come from the grammar's models.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel

from dxgeom.policy.syntax.schema import DIALECT
from dxgeom.queries.syntax import QUERY_KINDS, QueriesSyntax

_READ_FIRST: Final = (
    *("type", "anyOf", "properties", "required", "additionalProperties"),
    *("items", "minItems", "exclusiveMinimum", "description"),
)
"""The words of JSON Schema that the models use; titles and defaults are for Python only."""


def queries_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of queries files.

    Guarantee: a file that loads is valid, read as YAML 1.2 or 1.1; a valid file may still have other mistakes.
    """
    structure = _structure(QueriesSyntax)
    structure["properties"]["queries"]["items"] = {
        "anyOf": [{"title": kind.word, **_structure(kind.syntax)} for kind in QUERY_KINDS]
    }
    about = "What to ask about the records of a policy's universe."
    return {"$schema": DIALECT, "title": "dxgeom queries", "description": about, **structure}


def _structure(model: type[BaseModel]) -> dict[str, Any]:
    """A model's schema without what only Python needs."""
    schema = model.model_json_schema()
    keys = {
        key: _to_read(schema["properties"][key]) for key in dict.fromkeys([*schema["required"], *model.model_fields])
    }
    return {"type": "object", "properties": keys, "required": schema["required"], "additionalProperties": False}


def _to_read(form: Any) -> Any:
    """The words of a form in the order in which they are read best."""
    if isinstance(form, list):
        return [_to_read(one) for one in form]
    if not isinstance(form, dict):
        return form
    ordered = {word: form[word] for word in _READ_FIRST if word in form} or form
    return {word: _to_read(part) for word, part in ordered.items()}
