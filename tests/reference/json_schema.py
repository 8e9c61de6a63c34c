"""A small judge of JSON Schema: the keywords that dxgeom's schemas use, and no others."""

from __future__ import annotations

import re

KINDS = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
NOTES = {"$schema", "$defs", "title", "description", "default"}


FORMATS = {"date": re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch}


def is_valid(value, schema, root=None):
    root = schema if root is None else root
    return all(holds(keyword, value, schema, root) for keyword in schema.keys() - NOTES)


def holds(keyword, value, schema, root):
    stated = schema[keyword]
    match keyword:
        case "type":
            return any(KINDS[kind](value) for kind in ([stated] if isinstance(stated, str) else stated))
        case "const":
            return value == stated
        case "enum":
            return value in stated
        case "pattern":
            return not isinstance(value, str) or re.search(stated, value) is not None
        case "format":
            return not isinstance(value, str) or FORMATS[stated](value) is not None
        case "minimum":
            return not KINDS["number"](value) or value >= stated
        case "maximum":
            return not KINDS["number"](value) or value <= stated
        case "exclusiveMinimum":
            return not KINDS["number"](value) or value > stated
        case "exclusiveMaximum":
            return not KINDS["number"](value) or value < stated
        case "anyOf":
            return any(is_valid(value, one, root) for one in stated)
        case "oneOf":
            return sum(is_valid(value, one, root) for one in stated) == 1
        case "$ref":
            return is_valid(value, root["$defs"][stated.removeprefix("#/$defs/")], root)
    return (
        of_list(keyword, value, schema, root) if isinstance(value, list) else of_mapping(keyword, value, schema, root)
    )


def of_list(keyword, value, schema, root):
    stated = schema[keyword]
    match keyword:
        case "items":
            return all(is_valid(one, stated, root) for one in value)
        case "prefixItems":
            return all(is_valid(one, form, root) for one, form in zip(value, stated, strict=False))
        case "minItems":
            return len(value) >= stated
        case "maxItems":
            return len(value) <= stated
    return known(keyword)


def of_mapping(keyword, value, schema, root):
    stated = schema[keyword]
    if not isinstance(value, dict):
        return known(keyword)
    match keyword:
        case "properties":
            return all(is_valid(value[key], stated[key], root) for key in value.keys() & stated.keys())
        case "required":
            return set(stated) <= value.keys()
        case "minProperties":
            return len(value) >= stated
        case "additionalProperties":
            others = value.keys() - schema.get("properties", {}).keys()
            return not others if stated is False else all(is_valid(value[key], stated, root) for key in others)
    return known(keyword)


def known(keyword):
    """A keyword about values of another kind holds; one that this judge does not know must not pass unseen."""
    about = {"items", "prefixItems", "minItems", "maxItems", "properties", "required", "minProperties"}
    if keyword not in about | {"additionalProperties"}:
        raise NotImplementedError(keyword)
    return True
