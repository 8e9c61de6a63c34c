"""The reference of the two languages, made from their schemas: ``{language} policy`` and ``{language} queries``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from dxgeom.policy.syntax.schema import policy_schema
from dxgeom.queries.schema import queries_schema

Schema = dict[str, Any]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("language", Language)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Language(SphinxDirective):
    """A section for each mapping that a file of the language may hold, with its keys."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """What stands in the page."""
        sections = policy() if self.arguments[0] == "policy" else queries()
        return self.parse_text_to_nodes("\n\n".join(sections), allow_section_headings=True)


def policy() -> Iterator[str]:
    """Sections of a policy file."""
    schema = policy_schema()
    yield from section("The file", schema)
    for inner in schema["$defs"].values():
        yield from section(inner["title"], inner)


def queries() -> Iterator[str]:
    """Sections of a queries file."""
    schema = queries_schema()
    yield from section("The file", schema)
    for inner in schema["properties"]["queries"]["items"]["anyOf"]:
        yield from section(f"Queries by `{inner['title']}`", inner)


def section(title: str, schema: Schema) -> Iterator[str]:
    """One mapping, its keys in a table."""
    yield f"## {title}"
    if "description" in schema:
        said = schema["description"]
        yield said[0].upper() + said[1:]
    required = schema.get("required", ())
    yield "\n".join(
        [
            "| key | what it holds | meaning |",
            "|---|---|---|",
            *(row(*pair, required) for pair in schema["properties"].items()),
        ]
    )


def row(key: str, schema: Schema, required: tuple[str, ...]) -> str:
    """A key; what is needed is marked, what is taken when it is left out is said."""
    held = kind(schema)
    if schema.get("default") not in (None, "", {}, []):
        held += f"; left out: `{schema['default']}`"
    return f"| `{key}`{' (needed)' * (key in required)} | {held} | {escaped(schema.get('description', ''))} |"


def kind(schema: Schema) -> str:
    """What a value may be, in words."""
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return ", or ".join(dict.fromkeys(kind(one) for one in schema[choice]))
    if "$ref" in schema:
        title = schema["$ref"].rsplit("/", 1)[-1].removesuffix("Syntax")
        return f"a mapping: [{TITLES.get(title, title)}](#{TITLES.get(title, title).lower().replace(' ', '-')})"
    if "enum" in schema or "const" in schema:
        words = schema.get("enum") or [schema["const"]]
        return " or ".join(
            dict.fromkeys(f"`{str(word).lower() if isinstance(word, bool) else word}`" for word in words)
        )
    return of_type(schema)


TITLES = {"ListedWords": "Values", "Open": "Words that nobody listed"}


def of_type(schema: Schema) -> str:
    """Lists and mappings say what is in them."""
    match schema.get("type"):
        case "array":
            return f"a list: {kind(schema['items'])}" if "items" in schema else "a list"
        case "object" if isinstance(schema.get("additionalProperties"), dict):
            return f"by name: {kind(schema['additionalProperties'])}"
        case "object":
            return "a mapping of " + ", ".join(f"`{key}`" for key in schema.get("properties", ()))
        case "integer" | ["integer", "string"]:
            return "a whole number" + (" above 0" if "exclusiveMinimum" in schema else "")
        case "number" | ["number", "string"]:
            return "a number" + (" above 0" if "exclusiveMinimum" in schema else "")
        case "boolean":
            return "`true` or `false`"
        case _:
            return "a word"


def escaped(text: str) -> str:
    """So that Markdown shows it as it is, in a cell of a table."""
    for sign in "\\|<>[]*_":
        text = text.replace(sign, "\\" + sign)
    return text
