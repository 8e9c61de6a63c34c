"""The policy language as JSON Schema, for editors that complete and underline while a policy is written.

Its structure comes from the grammar's models. A schema knows nothing of names, units or files: ``check`` does.
"""

from __future__ import annotations

from typing import Any, Final

from dxgeom.policy.kinds.attribute_kinds import ATTRIBUTE_KINDS
from dxgeom.policy.rule_kinds import RULE_KINDS
from dxgeom.policy.syntax.models import PolicySyntax, listed

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_WORD: Final = ["string", "number", "boolean"]
"""A word may look like a number or a truth value to an editor; here ``No`` and ``010`` are words."""

_NOUNS: Final = listed([kind.noun for kind in ATTRIBUTE_KINDS], " or ")

DESCRIPTIONS: Final[dict[str, dict[str, str]]] = {
    "PolicySyntax": {
        "": "dxgeom policy: what records exist, which differences between them stay hidden, and how strongly.",
        "policy": "The policy's name.",
        "title": "What readers see it called instead of its name.",
        "about": "What the policy protects, in a sentence for its readers.",
        "called": "What those that the records are of are called, in the plural, such as patients; people if left out.",
        "reading": "How a table's file is written, and what its cells mean; left out, a .csv file of UTF-8.",
        "universe": "What records exist.",
        "time": "The periods that answers are about, one after another, by the day in a column.",
        "rules": "Which differences between records stay hidden, and how strongly. Their order has no meaning; "
        "a rule more can only protect more.",
        "budget": "All releases together may spend this multiple of the metric.",
        "delta": "With this chance all releases together may show what a single person has. With attributes of "
        "'open: text' only, whose keys are counted; above 0, below 1, such as 1e-9.",
        "privacy": "'pure': epsilons bound odds, and spends add up. 'concentrated': epsilons bound Rényi divergences, "
        "Gaussian noise is among the answers, and squares of spends add up.",
        "people": "Whose row a row of the data is, and how people with many rows count; 'one row each' states what is "
        "assumed where it is left out.",
        "known": "Counts of records that everybody may know, from elsewhere.",
        "hold": "The stated distances hold for who knows these counts, too: who is unsure of 2 people, or of all.",
        "dataset": "Which data the policy is about: policies about the same data share a ledger.",
        "unconnected": "'allow': records that no chain of rules connects may be told apart exactly.",
        "adaptive": "'allow': whole tables may follow the data, unasked, where noise would be most of them.",
    },
    "TimeSyntax": {
        "": "Time: periods in a row, as one more attribute of the column's name.",
        "column": "The column that holds the day of a row; best the day on which it was loaded.",
        "from": "The first day, as year-month-day.",
        "to": "The last day, the end of a period.",
        "every": "How long a period is; a week has seven days from the first day on.",
        "zone": "Where calendars show the day of moments that know their own zone, such as Europe/Berlin.",
        "written": "How 31 December 2025, 23:59 is written in the column, or a list of ways.",
        "title": "What the attribute is called where people read of it.",
        "before": "false: rows of earlier days are outside. Left out, they are one value more, which no period counts.",
        "after": "false: rows of later days are outside. Left out, they are one value more, which no period counts.",
    },
    "DatasetSyntax": {
        "": "Dataset: which data the policy is about.",
        "name": "The same for all policies and editions that are about the same people.",
        "edition": "Which version of the data. Spends add up across editions.",
        "people": "'disjoint': nobody is in two editions, so each has the whole budget.",
        "budget": "All releases together, under whatever policies, may spend this much; 'none' where nothing bounds "
        "it. Left out, it loads with a warning, and from version 0.3 on it is refused.",
    },
    "PeopleSyntax": {
        "": "People: whose row a row of the data is, and how people with many rows count.",
        "column": "The column that names the person; no attribute is made of it.",
        "count": "'once': each person weighs 1, spread evenly over their rows. 'rows': every row counts, but no "
        "person more than so many. 'single': more than one row of a person is refused.",
        "at_most": "With 'rows': what a person counts at most; the rows of one with more are spread evenly.",
        "in": "'period': with 'once', each person weighs 1 in each period of the policy's time.",
        "order": "With 'rows': only the first by this column are kept, which differs in all rows of a person.",
    },
    "KnownSyntax": {
        "": "Known: counts of records that everybody may know. Listing them gives them away.",
        "totals": "How many records there are of each value of this attribute, or of each combination of a list.",
        "numbers": "A CSV file beside the policy with these totals: a column for each attribute, and 'count'. They "
        "come from elsewhere, never from the data.",
        "where": "A condition on records, as in queries.",
        "count": "How many records satisfy it. It comes from elsewhere, never from the data.",
    },
    "ReadingSyntax": {
        "": "Reading: how a table's file is written, and what its cells mean.",
        "separator": "The sign between cells, such as ';', '|' or tab; left out, the file's name says it.",
        "quote": "The sign around cells that hold separators; 'none' where there is none, and a row is a line.",
        "encoding": "The encoding of the file, such as windows-1252; utf-8 where it is left out.",
        "header": "The line that names the columns, 1 where it is left out; 'none' where no line does.",
        "names": "The names of the columns, with 'header: none'.",
        "sheet": "The sheet of a workbook.",
        "line_breaks": "true: cells may hold line breaks, and a quotation mark that one person opens may swallow rows "
        "of others. Left out, such a table is refused.",
        "decimal": "The sign before the decimals of numbers in cells of text: a point or a comma.",
        "thousands": "The sign between groups of three digits.",
        "trim": "true: blanks at the ends of cells do not count, and a blank cell is empty.",
        "case": "'fold': capital and small letters are the same.",
        "missing": "Words that mean that a cell is empty, in every column that attributes read.",
        "ignore": "Rows that are no records, such as totals: words by the column that has them. No attribute reads it.",
    },
    "UniverseSyntax": {
        "": "Universe: what records exist.",
        "table": "A CSV file beside the policy that lists the possible records; its columns are the attributes.",
        "attributes": f"Every attribute with its values, by name: {_NOUNS}. Beside 'table' only those that are not "
        "words.",
    },
    "SecretsSyntax": {
        "": "Secrets: the pairs of values or records that must stay hidden.",
        "edges": "A CSV file beside the policy; its first two columns are values of the rule's attribute.",
        "partition": "Pairs of records that agree in this attribute, or in all of a list; with 'change', pairs of "
        "values that agree in this further column of the attribute's file.",
    },
    "RuleSyntax": {
        "": "Rule: selects pairs of records and bounds how well they may be told apart.",
        "title": "What readers see it called, such as 'Everyday facts'.",
        "change": "Records that differ only in this attribute; for a list, in each of them on its own.",
        "together": "true: records that differ in any of the listed attributes at once.",
        "measure": "'max': with 'together' and 'per', distance is that of the attribute that changes most.",
        "between": "'everything': all pairs of records, as in ordinary differential privacy.",
        "presence": "true: a record and its absence, so that the number of records is private.",
        "any": "With a time: anything within so many periods in a row, as '30 days' or '4 steps', or within a 'life'.",
        "published": "With presence and a time, in place of epsilon: what may be revealed of a row by its age, as "
        "{at once: 0.5, 7 days: 0.7, ever: 1}.",
        "secrets": "Only the pairs that a file lists, or those inside the blocks of a partition; others follow along "
        "chains of them.",
        "weight": "The column of that file with each pair's own epsilon.",
        "epsilon": "The bound, above 0; smaller protects more. 0.1 moves the odds of a guess by at most 1.11 to 1.",
        "per": "The bound grows with distance: epsilon for every such length, as '10 km', '500 m', '2 steps' or 5.",
        "within": "Only pairs at most so far apart, as '10 km', '500 m', '2 steps' or 5.",
        "beyond": "'linear': beyond 'within' the bound grows in proportion to distance.",
        **{kind.key: kind.about for kind in RULE_KINDS},
        "otherwise": "The epsilon of the values that 'values' or 'individuals' does not list.",
    },
}
"""What editors show: of each model under "" (the part before the colon is its title), and of each of its keys; kinds of
attributes say it themselves."""

_LIMITS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("UniverseSyntax", ""): {"minProperties": 1},
    ("RuleSyntax", ""): {"minProperties": 2},
    **{("RuleSyntax", kind.key): kind.limits for kind in RULE_KINDS},
}
"""What every file must also obey, and the models leave to later phases."""

_LEFT_OUT: Final = ("title", "default", "description", "limits")
_STRUCTURE: Final = ("type", "required", "additionalProperties")


def policy_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of policy files.

    Guarantee: a file that loads is valid, read as YAML 1.2 or 1.1; a valid file may still have other mistakes.
    """
    schema = PolicySyntax.model_json_schema()
    parts = schema.pop("$defs")
    ways = schema["properties"]["people"]["anyOf"]
    parts["PeopleSyntax"], ways[0] = ways[0], {"$ref": "#/$defs/PeopleSyntax"}
    described = {name: _described(name, part) for name, part in parts.items()}
    return {"$schema": DIALECT, **_described("PolicySyntax", schema), "$defs": described}


def _described(model: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A model's schema with the words of the table, and without what only Python needs."""
    words = DESCRIPTIONS.get(model) or _own_words(schema)
    title, _, about = words[""].partition(": ")
    keys = {}
    for key, form in schema["properties"].items():
        cleaned = _as_written(form)
        default = {} if form.get("default") is None else {"default": form["default"]}
        limits = form.get("limits") or _LIMITS.get((model, key), {})
        keys[key] = {**cleaned, **default, **limits, "description": words[key]}
    rest: dict[str, Any] = {key: schema[key] for key in _STRUCTURE if key in schema}
    return {"title": title, "description": about, **rest, "properties": keys, **_LIMITS.get((model, ""), {})}


def _own_words(schema: dict[str, Any]) -> dict[str, str]:
    """What a kind of attribute says of itself and of its keys."""
    keys = {key: form["description"] for key, form in schema["properties"].items()}
    return {"": f"{schema['title']}: {schema['description']}", **keys}


def _as_written(form: Any) -> Any:
    """A key that may be left out is not one that may be empty, and a word may look like something else."""
    if isinstance(form, list):
        return [_as_written(one) for one in form]
    if not isinstance(form, dict):
        return form
    kept = {key: _as_written(value) for key, value in form.items() if key not in _LEFT_OUT}
    options = [one for one in kept.pop("anyOf", ()) if one != {"type": "null"}]
    kept |= options[0] if len(options) == 1 else {"anyOf": options} if options else {}
    free = kept.get("type") == "string" and "const" not in kept and "enum" not in kept
    return {**kept, "type": _WORD} if free else kept
